"""Portkey's webhook, called as the source of its gateway has it (plugins/default/webhook.ts)."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import pytest

from resay_server.gateway.sample_tags import SampleTags
from simulation import Hang, SimulatedProvider
from support.gateway import Gateways, Served
from support.known_world import MADE_UP

ANSWER = "The Zorblatt was built in 1931 by Marta Vogel."
NGRAM = """
chain: [{method: ngram}]
sampling: {max: 3, min: 3}
cache: {store: none}
"""
ANNOTATE = NGRAM + "threshold: {passage: 0.0, sentence: 0.0}\n"
LENIENT = NGRAM + "threshold: {passage: 1.0, sentence: 1.0}\n"
MESSAGE = ANNOTATE + "action: {do: block, message: Withheld.}\n"
RAISE = ANNOTATE + "action: {do: block, exit: raise}\n"
MARKS = ANNOTATE + "action: {do: annotate, marks: inline}\n"
REQUEST = {"model": "chat", "messages": [{"role": "user", "content": MADE_UP}], "max_tokens": 90}
COMPLETION: Mapping[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1760000000,
    "model": "chat-2026-01-01",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": ANSWER},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 9, "completion_tokens": 12, "total_tokens": 21},
}
ANTHROPIC: Mapping[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "chat",
    "content": [{"type": "text", "text": ANSWER}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 9, "output_tokens": 12},
}


def after(**changes: Any) -> dict[str, Any]:
    """Return what Portkey sends after a call."""
    body = {
        "request": {
            "json": REQUEST,
            "text": MADE_UP,
            "isStreamingRequest": False,
            "isTransformed": False,
        },
        "response": {"json": COMPLETION, "text": ANSWER, "statusCode": 200, "isTransformed": False},
        "provider": "openai",
        "requestType": "chatComplete",
        "metadata": {"_user": "visitor"},
        "eventType": "afterRequestHook",
    }
    return body | changes


def before(**changes: Any) -> dict[str, Any]:
    """Return what Portkey sends before a call."""
    response = {"json": {}, "text": "", "statusCode": None, "isTransformed": False}
    return after(eventType="beforeRequestHook", response=response, **changes)


def called(served: Served, body: Mapping[str, Any], **headers: str) -> dict[str, Any]:
    response = served.post("/webhooks/portkey", json=body, headers=headers)
    assert response.status_code == 200, response.text
    return response.json()


def test_a_request_costs_nothing(gateways: Gateways, simulated: SimulatedProvider) -> None:
    reply = called(gateways.start(RAISE), before())
    assert reply["verdict"] is True
    assert reply["data"]["decision"] == "skipped"
    assert simulated.calls == 0


def test_a_request_is_refused_whose_answer_could_not_be_checked(gateways: Gateways) -> None:
    request = {**REQUEST, "tools": [{"type": "web_search"}]}
    reply = called(gateways.start(RAISE), before(request={"json": request}))
    assert reply["verdict"] is False
    assert "could not be checked" in reply["data"]["reason"]


def test_an_answer_is_checked_with_samples_of_its_request(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    served = gateways.start(LENIENT)
    reply = called(served, after())
    assert reply["verdict"] is True
    assert reply["data"]["decision"] == "consistent"
    assert "transformedData" not in reply
    assert len(simulated.requests) > 0
    for request in simulated.requests:
        sent = request.body or {}
        assert (sent["model"], sent["messages"]) == ("chat", REQUEST["messages"])
    (seen,) = served.seen(1)
    assert (seen.model, seen.question, seen.status) == ("chat", MADE_UP, 200)
    assert seen.usage.calls == 0
    assert seen.check_usage.calls == simulated.calls


@pytest.mark.parametrize(
    ("policy", "verdict", "action", "shown"),
    [
        (ANNOTATE, True, "annotate", None),
        (MESSAGE, False, "block", "Withheld."),
        (RAISE, False, "block", None),
    ],
)
def test_a_flagged_answer_is_treated_as_the_policy_says(
    gateways: Gateways, policy: str, verdict: bool, action: str, shown: str | None
) -> None:
    reply = called(gateways.start(policy), after())
    assert reply["verdict"] is verdict
    assert (reply["data"]["decision"], reply["data"]["action"]) == ("flagged", action)
    assert reply["data"]["score"] > 0
    assert "Zorblatt" not in json.dumps(reply)
    if shown is None:
        assert "transformedData" not in reply
        return
    transformed = reply["transformedData"]["response"]["json"]
    assert transformed["choices"][0]["message"]["content"] == shown
    assert transformed["id"] == COMPLETION["id"]


def test_marks_are_in_the_answer_that_portkey_passes_on(gateways: Gateways) -> None:
    reply = called(gateways.start(MARKS), after())
    message = reply["transformedData"]["response"]["json"]["choices"][0]["message"]
    assert message["content"] != ANSWER
    assert "1931" in message["content"]
    assert reply["verdict"] is True


def test_messages_of_anthropics_api_are_checked(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    served = gateways.start(MESSAGE)
    samples = "chain: [{method: facts}]\nreferences: {by: words, unmentioned: flag}\n"
    document = "<documents><document>The Zorblatt was built in 1631.</document></documents>"
    request = {
        "model": "chat",
        "max_tokens": 90,
        "messages": [{"role": "user", "content": f"{document}\n\n{MADE_UP}"}],
    }
    served = gateways.start(samples + "action: {do: block, message: Withheld.}\n")
    body = after(requestType="messages", request={"json": request}, response={"json": ANTHROPIC})
    reply = called(served, body)
    assert reply["verdict"] is False
    content = reply["transformedData"]["response"]["json"]["content"]
    assert [block["text"] for block in content] == ["Withheld."]
    assert simulated.calls == 0


@pytest.mark.parametrize(
    ("on_error", "verdict"), [("allow", True), ("annotate", True), ("block", False)]
)
def test_a_check_that_takes_too_long_ends_by_on_error(
    gateways: Gateways, simulated: SimulatedProvider, on_error: str, verdict: bool
) -> None:
    simulated.set_faults(Hang())
    served = gateways.start(ANNOTATE + f"on_error: {on_error}\n", limits={"webhook_s": 0.3})
    began_s = time.monotonic()
    reply = called(served, after())
    assert time.monotonic() - began_s < 3
    assert reply["verdict"] is verdict
    assert reply["data"]["decision"] == "inconclusive"
    assert reply["data"]["reason"].startswith("the check took longer than 0.3 s")
    (seen,) = served.seen(1)
    assert seen.verdict is not None
    assert seen.verdict.inconclusive


def test_samples_that_come_back_are_not_checked(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    """The upstream may be Portkey, which has the gateway check its samples."""
    served = gateways.start(RAISE)
    called(served, after(), **{"x-portkey-metadata": '{"_user": "visitor"}'})
    drawn = simulated.calls
    tags = [json.loads(r.headers["x-portkey-metadata"]) for r in simulated.requests]
    assert len(tags) == drawn > 0
    for metadata in tags:
        assert called(served, after(metadata=metadata))["verdict"] is True
    forged = {"resay_sample": SampleTags("another key").create()}
    assert called(served, after(metadata=forged))["data"]["decision"] == "inconclusive"
    assert simulated.calls == drawn


@pytest.mark.parametrize(
    "changes",
    [
        {"requestType": "embed"},
        {"response": {"json": None, "text": ""}},
        {"response": {"json": {"error": {"message": "no"}}, "statusCode": 500}},
        {"response": None},
    ],
)
def test_what_has_no_answer_passes(gateways: Gateways, changes: dict[str, Any]) -> None:
    reply = called(gateways.start(RAISE), after(**changes))
    assert reply["verdict"] is True
    assert reply["data"]["decision"] == "skipped"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "eventType: required, but missing; request: required, but missing"),
        (after(eventType="someHook"), "eventType"),
        (after(request={"json": "secret words"}), "request.json"),
    ],
)
def test_a_body_that_is_not_portkeys_is_refused(
    gateways: Gateways, body: dict[str, Any], message: str
) -> None:
    response = gateways.start(RAISE).post("/webhooks/portkey", json=body)
    assert response.status_code == 400
    assert message in response.json()["error"]["message"]
    assert "secret" not in response.text


def test_keys_and_policies_apply_as_elsewhere(gateways: Gateways) -> None:
    policies = {"strict": gateways.policy(RAISE, "strict.yaml")}
    served = gateways.start(LENIENT, policies=policies, keys=[{"name": "portkey", "env": "PATH"}])
    assert served.post("/webhooks/portkey", json=after()).status_code == 401
    assert served.post("/webhooks/portkey", content=b"{" * 9).status_code == 401
