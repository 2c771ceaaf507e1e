"""Claims of actions are judged alike wherever the messages come from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI

import resay
from actions.judging import cases
from actions.seams import CHAIN, SEAMS, asked_by
from actions.upstream import FixedAnswer, fixed_answers
from resay import Guard, Verdict
from resay_anthropic import guard_client
from resay_langchain import HallucinationCallback, guard_runnable
from resay_openai import GuardedOpenAI

SOME = ("booking-wrong_number", "mail-queued", "code-tests_before", "devices-shutters")
CLEAN = ("calendar-read", "payments-refund", "files-denied")
GUARD = Guard(CHAIN)
SAVE = {"id": "call_1", "type": "function", "function": {"name": "save_note", "arguments": "{}"}}


@pytest.fixture
def upstream() -> Iterator[FixedAnswer]:
    with fixed_answers() as answer:
        yield answer


def flagged_reasons(verdict: Verdict) -> list[str | None]:
    return [claim.reason for claim in verdict.claims if claim.flagged]


def last() -> Verdict:
    verdict = resay.last_verdict()
    assert verdict is not None
    return verdict


@pytest.mark.parametrize("name", SEAMS)
def test_every_seam_has_the_calls_of_the_conversation(name: str) -> None:
    chosen = [case for case in cases() if case["id"] in (*SOME, *CLEAN)]
    assert len(chosen) == len(SOME) + len(CLEAN)
    with asked_by(name) as ask:
        for case in chosen:
            by_guard = GUARD.check(case["answer"], question=case["messages"])
            by_seam = ask(case)
            assert by_seam.decision == by_guard.decision, case["id"]
            assert flagged_reasons(by_seam) == flagged_reasons(by_guard)


def test_text_beside_a_call_is_compared_with_the_calls_so_far(upstream: FixedAnswer) -> None:
    upstream.calls = [SAVE]
    messages: list[Any] = [{"role": "user", "content": "Save the note, and mail it to Ada."}]
    with GuardedOpenAI(policy=CHAIN, base_url=f"{upstream.url}/v1", api_key="x") as client:
        upstream.text = "I have mailed the note to Ada. Now I'll save it."
        client.chat.completions.create(model="fixed", messages=messages)
        assert [s.text for s in last().sentences if s.flagged] == ["I have mailed the note to Ada."]
        upstream.text = "I'll save the note now."
        client.chat.completions.create(model="fixed", messages=messages)
        assert last().decision == "skipped"
        assert last().reason == "the answer calls tools; not scored: 1 text fragment"


def test_tools_that_the_provider_runs_count(upstream: FixedAnswer) -> None:
    upstream.text = "I searched the web: the baths open at 7."
    with GuardedOpenAI(policy=CHAIN, base_url=f"{upstream.url}/v1", api_key="x") as client:
        upstream.before = [
            {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "b"}}
        ]
        client.responses.create(
            model="fixed", input="When do the baths open?", tools=[{"type": "web_search"}]
        )
        assert last().decision == "consistent"
    own = anthropic.Anthropic(base_url=upstream.url, api_key="x", max_retries=0)
    question: list[Any] = [{"role": "user", "content": "When do the baths open?"}]
    tool: Any = {"type": "web_search_20250305", "name": "web_search"}
    with guard_client(own, CHAIN) as client:
        upstream.before = [
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "b"}},
            {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
        ]
        client.messages.create(model="fixed", max_tokens=9, messages=question, tools=[tool])
        assert last().decision == "consistent"


def test_a_result_that_is_marked_as_an_error_failed(upstream: FixedAnswer) -> None:
    upstream.text = "I saved the note."
    own = anthropic.Anthropic(base_url=upstream.url, api_key="x", max_retries=0)
    call: dict[str, Any] = {"type": "tool_use", "id": "t", "name": "save_note", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "disk", "is_error": True}
    messages: list[Any] = [
        {"role": "user", "content": "Save the note."},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    with guard_client(own, CHAIN) as client:
        client.messages.create(model="fixed", max_tokens=9, messages=messages)
    assert last().claims[0].parts[0].verdict == "failed"
    model = ChatOpenAI(model="fixed", base_url=f"{upstream.url}/v1", api_key="x")  # type: ignore[arg-type] - a key is a text, too
    guard_runnable(model, CHAIN).invoke(
        [
            HumanMessage("Save the note."),
            AIMessage("", tool_calls=[{"id": "t", "name": "save_note", "args": {}}]),
            ToolMessage("disk", tool_call_id="t", status="error"),
        ]
    )
    assert last().claims[0].parts[0].verdict == "failed"


def test_calls_of_turns_that_the_provider_keeps_are_unknown(upstream: FixedAnswer) -> None:
    upstream.text = "I have mailed the note to Ada."
    with GuardedOpenAI(policy=CHAIN, base_url=f"{upstream.url}/v1", api_key="x") as client:
        client.responses.create(model="fixed", input="And?", previous_response_id="r_1")
    assert last().decision == "skipped"


def test_a_callback_reads_the_text_beside_calls(upstream: FixedAnswer) -> None:
    verdicts: list[Verdict] = []
    upstream.text, upstream.calls = "I have mailed the note to Ada.", [SAVE]
    callback = HallucinationCallback(
        CHAIN, model="openai/fixed", on_verdict=lambda verdict, run_id: verdicts.append(verdict)
    )
    model = ChatOpenAI(model="fixed", base_url=f"{upstream.url}/v1", api_key="x")  # type: ignore[arg-type] - a key is a text, too
    model.invoke("Mail the note to Ada.", config={"callbacks": [callback]})
    assert callback.wait(10)
    assert [verdict.decision for verdict in verdicts] == ["flagged"]


def test_reasoning_claims_nothing() -> None:
    messages = [{"role": "user", "content": "Mail the note to Ada."}]
    answer = "<think>I have mailed the note to Ada.</think>\n\nI can mail it once you confirm."
    verdict = GUARD.check(answer, question=messages)
    assert verdict.decision == "skipped"
    assert not verdict.claims or all(
        claim.start > answer.index("</think>") for claim in verdict.claims
    )


def test_without_a_conversation_nothing_is_compared() -> None:
    verdict = GUARD.check("I have mailed the note to Ada.")
    assert (verdict.decision, verdict.reason) == (
        "skipped",
        "actions: the conversation with its tool calls is unknown",
    )
