"""LiteLLM's generic guardrail API, asked as LiteLLM does. The real proxy is in tests/proxy."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from resay_server.gateway import GatewayConfig
from resay_server.gateway.conversations import Conversations
from resay_server.gateway.sample_tags import SampleTags
from simulation import ServerError, SimulatedProvider
from support.clock import Clock
from support.gateway import Gateways, Served
from support.known_world import MADE_UP
from support.repaired import KNOWN as CLOCK
from support.repaired import RIGHT, WORLD

PATH = "/beta/litellm_basic_guardrail_api"
NGRAM = """
chain: [{method: ngram}]
sampling: {max: 3, min: 3}
threshold: {passage: 1.0, sentence: 1.0}
"""
STRICT = NGRAM.replace("1.0", "0.0")
BLOCK = STRICT + "action: {do: block, exit: raise}\n"
MESSAGE = STRICT + "action: {do: block, message: Withheld.}\n"
JUDGED = "chain: [{method: zero_shot}]\n"
REPAIR = """
chain: [{method: prompt, mode: per_sample}]
sampling: {max: 3, confidence: null}
action: {do: regenerate, retriever: {kind: folder, path: SHELF}}
"""
ANSWER = "The Zorblatt was built in 1931 by Marta Vogel."
KEY = "0123456789abcdef"


@pytest.fixture
def simulated() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=5, world=WORLD) as provider:
        yield provider


def told(input_type: str, texts: list[str], **more: Any) -> dict[str, Any]:
    """Return what LiteLLM 1.106 sends."""
    known = {
        "input_type": input_type,
        "litellm_call_id": "call-1",
        "litellm_trace_id": "trace-1",
        "structured_messages": None,
        "images": None,
        "tools": None,
        "texts": texts,
        "request_data": {"user_api_key_hash": "hash-1", "user_api_key_alias": None},
        "request_headers": {"authorization": "[present]", "user-agent": "x"},
        "litellm_version": "1.106.2",
        "additional_provider_specific_params": {},
        "tool_calls": None,
        "model": "chat",
    }
    return known | more


def asking(question: str = MADE_UP, **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": question}]
    return told("request", [question], structured_messages=messages, **more)


def answering(*texts: str, **more: Any) -> dict[str, Any]:
    return told("response", list(texts) or [ANSWER], **{"model": "chat-2026-01-01", **more})


def post(served: Served, body: Mapping[str, Any], **headers: str) -> dict[str, Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = served.post(PATH, json=body, headers=named)
    assert response.status_code == 200, response.text
    return response.json()


def called(served: Served, *texts: str, **more: Any) -> dict[str, Any]:
    """Ask as LiteLLM does around one call."""
    assert post(served, asking(**more)) == {"action": "NONE"}
    return post(served, answering(*texts, **more))


def models(simulated: SimulatedProvider) -> set[str]:
    """Return the models that were asked."""
    return {(request.body or {})["model"] for request in simulated.requests}


def test_what_is_asked_costs_nothing(gateways: Gateways, simulated: SimulatedProvider) -> None:
    served = gateways.start(STRICT)
    assert post(served, asking()) == {"action": "NONE"}
    assert simulated.calls == 0


def test_an_answer_is_checked_by_what_was_asked(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    served = gateways.start(NGRAM)
    reply = called(served)
    assert reply["action"] == "NONE"
    (verdict,) = reply["hallucination"]
    assert verdict["decision"] == "consistent"
    assert verdict["samples"] == 3
    assert models(simulated) == {"chat"}
    for request in simulated.requests:
        assert (request.body or {})["messages"] == [{"role": "user", "content": MADE_UP}]
    seen = served.seen(2)[1]
    assert (seen.model, seen.question, seen.status) == ("chat", MADE_UP, 200)
    assert seen.verdict
    # The answer was paid for elsewhere.
    assert seen.usage.calls == 0
    assert seen.check_usage.calls == simulated.calls


def test_a_flagged_answer_passes_where_it_is_only_annotated(gateways: Gateways) -> None:
    reply = called(gateways.start(STRICT))
    assert reply["action"] == "NONE"
    assert reply["hallucination"][0]["action"] == "annotate"


def test_a_flagged_answer_is_blocked(gateways: Gateways) -> None:
    served = gateways.start(BLOCK)
    reply = called(served)
    assert reply["action"] == "BLOCKED"
    assert "withheld" in reply["blocked_reason"]
    assert "Zorblatt" not in json.dumps(reply)
    assert served.seen(2)[1].action == "block"


def test_a_message_stands_in_its_place(gateways: Gateways) -> None:
    reply = called(gateways.start(MESSAGE))
    assert (reply["action"], reply["texts"]) == ("GUARDRAIL_INTERVENED", ["Withheld."])
    assert "Zorblatt" not in json.dumps(reply)


def test_a_flagged_answer_is_written_again(gateways: Gateways) -> None:
    shelf = gateways.folder / "shelf"
    shelf.mkdir()
    (shelf / "clocks.md").write_text(f"{CLOCK} {RIGHT}\n")
    reply = called(gateways.start(REPAIR.replace("SHELF", str(shelf))), ANSWER)
    assert (reply["action"], reply["texts"]) == ("GUARDRAIL_INTERVENED", [RIGHT])
    assert reply["hallucination"][0]["action"] == "regenerate"


def test_each_text_is_checked_by_itself(gateways: Gateways) -> None:
    mixed = MESSAGE.replace("0.0", "0.6")
    served = gateways.start(mixed)
    assert post(served, asking()) == {"action": "NONE"}
    reply = post(served, answering(ANSWER, "", "The Zorblatt is a clock in Riga."))
    assert len(reply["hallucination"]) == 3
    assert [v["samples"] for v in reply["hallucination"]] == [3, 0, 3]
    assert len(reply.get("texts") or ["", "", ""]) == 3


def test_one_policy_is_chosen_by_the_proxys_configuration(gateways: Gateways) -> None:
    policies = {"strict": gateways.policy(BLOCK, "strict.yaml")}
    served = gateways.start(NGRAM, policies=policies)
    params = {"additional_provider_specific_params": {"policy": "strict"}}
    assert called(served, **params)["action"] == "BLOCKED"
    assert served.seen(2)[1].policy == "strict"
    assert called(served)["action"] == "NONE"
    # A proxy's clients can set parameters, but no headers.
    reply = post(served, answering(**params), x_resay_policy="default")
    assert reply["action"] == "NONE"


def test_the_model_may_have_another_name_at_the_upstream(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    params = {"additional_provider_specific_params": {"model": "gpt"}}
    called(gateways.start(NGRAM), **params)
    assert models(simulated) == {"gpt"}


def test_nobody_has_the_conversation_of_another(gateways: Gateways) -> None:
    served = gateways.start(NGRAM)
    post(served, asking())
    for other in (
        answering(litellm_call_id="call-2"),
        answering(request_data={"user_api_key_hash": "hash-2"}),
        answering(litellm_call_id=None),
    ):
        (verdict,) = post(served, other)["hallucination"]
        assert verdict["decision"] == "inconclusive"
        assert "pre_call" in verdict["reason"]
    (verdict,) = post(served, answering(), x_resay_tenant="t")["hallucination"]
    assert verdict["decision"] == "inconclusive"


def test_without_the_question_what_needs_none_works(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    policies = {
        "judged": gateways.policy(JUDGED, "judged.yaml"),
        "block": gateways.policy(NGRAM + "on_error: block\n", "block.yaml"),
    }
    served = gateways.start(NGRAM, policies=policies)
    judged = post(served, answering(), x_resay_policy="judged")
    assert judged["hallucination"][0]["decision"] == "flagged"
    assert models(simulated) == {"chat-2026-01-01"}
    calls = simulated.calls
    assert post(served, answering())["action"] == "NONE"
    withheld = post(served, answering(), x_resay_policy="block")
    assert withheld["action"] == "GUARDRAIL_INTERVENED"
    assert simulated.calls == calls


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("chain: [{method: logprobs}]\n", "probabilities"),
        ("chain: [{method: prompt, evidence: references}]\n", "references"),
    ],
)
def test_what_litellm_does_not_tell_leaves_it_inconclusive(
    gateways: Gateways, policy: str, words: str
) -> None:
    served = gateways.start(policies={"other": gateways.policy(policy, "other.yaml")})
    post(served, asking())
    (verdict,) = post(served, answering(), x_resay_policy="other")["hallucination"]
    assert verdict["decision"] == "inconclusive"
    assert words in verdict["reason"]


def test_samples_that_come_back_are_not_checked(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    """The upstream may be the proxy that asks: it has the gateway check its own samples."""
    served = gateways.start(BLOCK)
    called(served)
    before = simulated.calls
    tags = {request.headers["x-litellm-call-id"] for request in simulated.requests}
    assert len(tags) == before
    for tag in tags:
        assert post(served, asking(litellm_call_id=tag)) == {"action": "NONE"}
        assert post(served, answering(litellm_call_id=tag)) == {"action": "NONE"}
    assert simulated.calls == before


def test_a_tag_that_is_not_ours_opens_nothing(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    forged = SampleTags("some key").create()
    served = gateways.start(NGRAM)
    for name in (forged, "resay.", "resay.9999999999.0000000000000000.0"):
        post(served, asking(litellm_call_id=name))
        (verdict,) = post(served, answering(litellm_call_id=name))["hallucination"]
        assert verdict["decision"] == "inconclusive"
    # Nor does it draw samples, as between two gateways that would have no end.
    assert simulated.calls == 0


def test_gateways_with_one_key_know_each_others_tags(gateways: Gateways) -> None:
    keys = [{"name": "proxy", "sha256": hashlib.sha256(KEY.encode()).hexdigest()}]
    served = gateways.start(BLOCK, upstream={"api_key": "upstreams"}, keys=keys)
    tag = SampleTags("upstreams").create()
    assert post(served, answering(litellm_call_id=tag), x_api_key=KEY) == {"action": "NONE"}
    assert served.post(PATH, json=answering()).status_code == 401


def test_whatever_breaks_there_is_an_answer(gateways: Gateways) -> None:
    with SimulatedProvider(faults=[ServerError()]) as provider:
        gateways.upstream = provider.root_url
        served = gateways.start(NGRAM + "limits: {retries: 0}\n")
        reply = called(served)
    assert reply["action"] == "NONE"
    assert reply["hallucination"][0]["decision"] == "inconclusive"


def test_tools_that_the_provider_runs_are_not_run_again(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    served = gateways.start(BLOCK)
    refused = post(served, asking(tools=[{"type": "web_search_preview"}]))
    assert refused["action"] == "BLOCKED"
    assert "'tools'" in refused["blocked_reason"]
    # A proxy that asks only afterwards gets the answer's verdict.
    (verdict,) = post(served, answering())["hallucination"]
    assert verdict["decision"] == "inconclusive"
    assert simulated.calls == 0
    skipping = gateways.start(NGRAM)
    allowed = post(skipping, asking(tools=[{"type": "web_search_preview"}]))
    assert allowed["action"] == "NONE"
    assert post(skipping, answering())["hallucination"][0]["decision"] == "skipped"


def test_a_single_text_is_a_question(gateways: Gateways) -> None:
    served = gateways.start(NGRAM)
    post(served, asking() | {"structured_messages": None})
    assert post(served, answering())["hallucination"][0]["decision"] == "consistent"
    post(served, told("request", ["a", "b"], litellm_call_id="call-9"))
    (verdict,) = post(served, answering(litellm_call_id="call-9"))["hallucination"]
    assert verdict["decision"] == "inconclusive"


BAD: Sequence[tuple[dict[str, Any], str]] = [
    ({}, "input_type: required"),
    ({"input_type": "both"}, "input_type"),
    (answering() | {"texts": "secret"}, "texts"),
    (answering() | {"texts": ["t"] * 129}, "texts"),
    (answering(additional_provider_specific_params={"polcy": "p"}), "polcy"),
    (answering(additional_provider_specific_params={"api_base": "secret"}), "api_base"),
    (answering(additional_provider_specific_params={"policy": "nope"}), "'nope'"),
]


def test_what_cannot_be_read_is_refused(gateways: Gateways) -> None:
    served = gateways.start(NGRAM)
    for body, words in BAD:
        response = served.post(PATH, json=body)
        assert response.status_code == 400
        message = response.json()["error"]["message"]
        assert words in message
        assert "secret" not in message


def test_tags_are_known_for_an_hour_and_only_with_the_secret() -> None:
    clock = Clock()
    tags, others = SampleTags("secret", clock), SampleTags("other", clock)
    tag = tags.create()
    assert tags.recognizes(tag)
    assert SampleTags("secret", clock).recognizes(tag)
    assert not others.recognizes(tag)
    assert not SampleTags(None, clock).recognizes(tag)
    assert tags.create() != tag
    changed = tag.replace(tag.split(".")[1], "9999999999")
    assert not tags.recognizes(changed)
    clock.now += 3_601
    assert not tags.recognizes(tag)
    assert SampleTags.has_tag_prefix(tag)
    assert not SampleTags.has_tag_prefix("5ab1")


def test_conversations_are_remembered_for_a_while() -> None:
    clock = Clock()
    memory = Conversations(max_count=2, max_bytes=100, ttl_s=10, clock=clock)
    memory.remember("a", {"n": 1})
    assert memory.recall("a") == {"n": 1}
    memory.remember("a", {"n": 2})
    assert memory.recall("a") == {"n": 2}
    clock.now += 5
    memory.remember("b", {"n": 3})
    clock.now += 6
    assert memory.recall("a") is None
    assert memory.recall("b") == {"n": 3}


def test_conversations_are_forgotten_when_there_are_too_many_or_too_long_ones() -> None:
    memory = Conversations(max_count=2, max_bytes=100)
    for name in "abc":
        memory.remember(name, {"n": name})
    assert memory.recall("a") is None
    assert memory.recall("c") == {"n": "c"}
    memory.remember("d", {"n": "x" * 80})
    assert (memory.recall("b"), len(memory)) == (None, 2)
    memory.remember("e", {"n": "x" * 80})
    assert (memory.recall("d"), len(memory)) == (None, 1)
    big = Conversations()
    big.remember("a", {"n": "x" * 5_000_000})
    assert big.recall("a") is None


def test_the_gateway_file_of_the_page_is_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "checking.md"
    _, text, *_ = re.findall(r"^```yml\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    monkeypatch.setenv("LITELLM_KEY", "sk-litellm")
    (tmp_path / "gateway.yaml").write_text(text)
    assert GatewayConfig.load(tmp_path / "gateway.yaml").keys[0].name == "litellm"


def test_it_is_asked_like_any_other_path(gateways: Gateways) -> None:
    served = gateways.start(NGRAM)
    assert httpx.get(served.url + PATH).status_code == 404
    assert served.post(PATH + "/", json=asking()).status_code == 200
