"""agentgateway's webhook, called as its source has it (crates/agentgateway/.../webhook.rs)."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import pytest

from simulation import Hang, SimulatedProvider
from support.gateway import Gateways, Served
from support.known_world import MADE_UP

ANSWER = "The Zorblatt was built in 1931 by Marta Vogel."
FLAGS = """
chain: [{method: ngram}]
sampling: {max: 3, min: 3}
cache: {store: none}
threshold: {passage: 0.0, sentence: 0.0}
"""
MESSAGE = FLAGS + "action: {do: block, message: Withheld.}\n"
RAISE = FLAGS + "action: {do: block, exit: raise}\n"
BY_WORDS = "chain: [{method: facts}]\nreferences: {by: words, unmentioned: flag}\n"
HEADERS = {"x-request-id": "call-1", "x-resay-model": "chat"}


def asked(served: Served, question: str = MADE_UP, **headers: str) -> dict[str, Any]:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": question}]
    return _action(served, "/request", {"body": {"messages": messages}}, headers)


def answered(served: Served, *answers: str, **headers: str) -> dict[str, Any]:
    choices = [{"message": {"role": "assistant", "content": text}} for text in answers or [ANSWER]]
    return _action(served, "/response", {"body": {"choices": choices}}, headers)


def _action(
    served: Served, path: str, body: Mapping[str, Any], headers: Mapping[str, str]
) -> dict[str, Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = served.post(path, json=body, headers={**HEADERS, **named})
    assert response.status_code == 200, response.text
    (action,) = response.json().values()
    return action


def test_an_answer_is_checked_by_the_question_before_it(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    served = gateways.start(FLAGS)
    assert asked(served) == {"reason": "the model has not answered yet"}
    assert simulated.calls == 0
    # Where only the reason is there, the answer passes.
    assert answered(served).keys() == {"reason"}
    assert simulated.calls > 0
    for request in simulated.requests:
        sent = request.body or {}
        assert sent["model"] == "chat"
        assert sent["messages"][-1] == {"role": "user", "content": MADE_UP}
    seen = served.seen(2)[1]
    assert (seen.model, seen.question) == ("chat", MADE_UP)
    assert seen.verdict is not None
    assert seen.verdict.flagged


def test_a_message_stands_in_its_place(gateways: Gateways) -> None:
    served = gateways.start(MESSAGE)
    asked(served)
    action = answered(served)
    assert action["body"] == {
        "choices": [{"message": {"role": "assistant", "content": "Withheld."}}]
    }
    assert "status_code" not in action


def test_an_answer_is_rejected(gateways: Gateways) -> None:
    served = gateways.start(RAISE)
    asked(served)
    action = answered(served)
    assert action["status_code"] == 422
    assert "withheld" in action["body"]
    assert "Zorblatt" not in json.dumps(action)


def test_a_request_is_rejected_that_names_no_question(gateways: Gateways) -> None:
    policy = "chain: [{method: p_true, judge: openai/judge}]\naction: block\n"
    served = gateways.start(policy)
    body = {"body": {"messages": [{"role": "system", "content": "Be brief."}]}}
    action = _action(served, "/request", body, {})
    assert action["status_code"] == 400
    assert "could not be checked" in action["body"]


def test_each_of_several_answers_is_checked(gateways: Gateways) -> None:
    served = gateways.start(BY_WORDS + "action: {do: block, message: Withheld.}\n")
    document = "<documents><document>The Zorblatt was built in 1631.</document></documents>"
    asked(served, f"{document}\n\n{MADE_UP}")
    right = "The Zorblatt was built in 1631."
    action = answered(served, right, ANSWER)
    contents = [choice["message"]["content"] for choice in action["body"]["choices"]]
    assert contents == [right, "Withheld."]


def test_without_the_question_the_answer_is_inconclusive(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    served = gateways.start(FLAGS + "on_error: block\n")
    action = answered(served, x_request_id="another")
    assert "needs the question" in action["reason"]
    assert "x-request-id" in action["reason"]
    assert "body" in action
    assert simulated.calls == 0


def test_no_tenant_gets_the_question_of_another(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    served = gateways.start(FLAGS)
    asked(served, x_resay_tenant="one")
    assert "needs the question" in answered(served, x_resay_tenant="two")["reason"]
    assert simulated.calls == 0


@pytest.mark.parametrize(("on_error", "passes"), [("annotate", True), ("block", False)])
def test_a_check_that_takes_too_long_ends_by_on_error(
    gateways: Gateways, simulated: SimulatedProvider, on_error: str, passes: bool
) -> None:
    simulated.set_faults(Hang())
    served = gateways.start(FLAGS + f"on_error: {on_error}\n", limits={"webhook_s": 0.3})
    asked(served)
    began_s = time.monotonic()
    action = answered(served)
    assert time.monotonic() - began_s < 3
    assert ("body" not in action) is passes
    assert action["reason"].startswith("the check took longer than 0.3 s")


def test_samples_that_come_back_are_not_checked(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    """The upstream may be agentgateway, which has this gateway check its samples."""
    served = gateways.start(RAISE)
    asked(served)
    answered(served)
    drawn = simulated.calls
    ids = {request.headers["x-request-id"] for request in simulated.requests}
    assert len(ids) == drawn > 0
    for name in ids:
        assert asked(served, x_request_id=name).keys() == {"reason"}
        assert answered(served, x_request_id=name).keys() == {"reason"}
    assert simulated.calls == drawn


@pytest.mark.parametrize("path", ["/request", "/response"])
def test_a_body_that_is_not_agentgateways_is_refused(gateways: Gateways, path: str) -> None:
    response = gateways.start(FLAGS).post(path, json={"body": "secret words"})
    assert response.status_code == 400
    assert "secret" not in response.text
