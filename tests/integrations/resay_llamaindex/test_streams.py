from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

import httpx
import openai
from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool

from resay import DeadlineExceededError, HallucinationBlocked
from resay_llamaindex import VERDICT_KEY, GuardedLLM, verdict_of
from simulation import BrokenStream, CutConnection, Hang, SimulatedProvider

pytestmark = pytest.mark.anyio

N = 3
JUDGED = {
    "chain": [{"method": "prompt", "mode": "per_sample"}],
    "sampling": {"max": N, "via": "native"},
}
MESSAGE = "No answer today."
BLOCK = {"action": {"do": "block", "message": MESSAGE}}
RAISE = {"action": {"do": "block", "exit": "raise"}}
MADE_UP, KNOWN = "What is the Zorblatt?", "What is Canberra?"
MODES = ["hold", "after", "buffer"]
EVENT = "HallucinationVerdictEvent"


def ask(text: str) -> list[ChatMessage]:
    return [ChatMessage(role="user", content=text)]


def main_answer(seen: list[Any]) -> str:
    """What the LLM inside said to the main call."""
    ends = [e for e in seen if e.class_name() == "LLMChatEndEvent"]
    (main,) = (e for e in ends if e.tags.get("resay") == "main")
    return main.response.message.content


@pytest.mark.parametrize(
    ("mode", "question"), [("hold", KNOWN), *((mode, MADE_UP) for mode in MODES)]
)
async def test_a_stream_is_the_main_answer_and_ends_with_its_verdict(
    call, llm, provider, seen, mode, question
):
    pieces = await call(
        GuardedLLM(llm, JUDGED | {"stream_mode": mode}), "stream_chat", ask(question)
    )
    verdict = verdict_of(pieces[-1])
    text = "".join(piece.delta for piece in pieces)
    assert verdict.flagged is (question == MADE_UP)
    assert (verdict.samples, pieces[-1].delta) == (N, "")
    assert text == pieces[-1].message.content == main_answer(seen)
    assert not [p for p in pieces[:-1] if verdict_of(p)]
    for before, after in pairwise(pieces):
        assert after.message.content == before.message.content + after.delta
    assert len([e for e in seen if e.class_name() == EVENT]) == 1


@pytest.mark.parametrize(
    ("mode", "pieces"), [("hold", "few"), ("after", "many"), ("buffer", "one")]
)
async def test_the_policy_says_when_text_is_released(call, llm, mode, pieces):
    guarded = GuardedLLM(llm, JUDGED | {"stream_mode": mode})
    responses = await call(guarded, "stream_complete", KNOWN)
    released = [p for p in responses if p.delta]
    sentences = verdict_of(responses[-1]).sentences
    if pieces == "one":
        assert len(released) == 1
    elif pieces == "few":
        assert len(released) == len(sentences) > 1
    else:
        assert len(released) > len(sentences)


@pytest.mark.parametrize("mode", MODES)
async def test_a_withheld_stream_ends_with_the_message_alone(call, llm, seen, mode):
    guarded = GuardedLLM(llm, JUDGED | BLOCK | {"stream_mode": mode})
    pieces = await call(guarded, "stream_chat", ask(MADE_UP))
    last = pieces[-1]
    assert (last.message.content, last.raw) == (MESSAGE, None)
    assert last.additional_kwargs[VERDICT_KEY]["action"] == "block"
    assert "".join(p.delta for p in pieces).endswith(MESSAGE)
    flagged = [s for s in main_answer_parts(seen) if s not in "".join(p.delta for p in pieces)]
    assert bool(flagged) is (mode != "after")
    words = {w for part in main_answer_parts(seen) for w in part.split() if len(w) > 6}
    assert words
    assert not [w for w in words if w in repr(last)]


def main_answer_parts(seen: list[Any]) -> list[str]:
    progress = [e for e in seen if e.class_name() == "LLMChatInProgressEvent"]
    told = [e.response.message.content for e in progress if e.tags.get("resay") == "main"]
    ends = [e for e in seen if e.class_name() == "LLMChatEndEvent"]
    whole = [e.response.message.content for e in ends if e.tags.get("resay") == "main"]
    return [s for text in [*told, *whole] for s in text.split(". ")]


@pytest.mark.parametrize("mode", MODES)
async def test_blocking_may_raise(call, llm, seen, mode):
    guarded = GuardedLLM(llm, JUDGED | RAISE | {"stream_mode": mode})
    with pytest.raises(HallucinationBlocked):
        await call(guarded, "stream_chat", ask(MADE_UP))
    (event,) = (e for e in seen if e.class_name() == EVENT)
    assert event.verdict["action"] == "block"


@pytest.mark.all_turns
async def test_completions_stream_too(call, llm):
    guarded = GuardedLLM(llm, JUDGED)
    pieces = await call(guarded, "stream_complete", MADE_UP)
    assert "".join(p.delta for p in pieces) == pieces[-1].text
    assert verdict_of(pieces[-1]).flagged


def weather(city: str) -> str:
    """Say what the weather is like."""
    return f"Sunny in {city}."


TOOLS = [FunctionTool.from_defaults(weather, name=name) for name in ("weather", "forecast")]


@pytest.mark.parametrize("mode", MODES)
async def test_calls_of_tools_pass(call, llm, provider, mode):
    guarded = GuardedLLM(llm, JUDGED | {"stream_mode": mode})
    question = "[[tool]] weather in Paris"
    pieces = await call(guarded, "stream_chat_with_tools", TOOLS, user_msg=question)
    (selected,) = guarded.get_tool_calls_from_response(pieces[-1])
    assert (selected.tool_name, selected.tool_kwargs) == ("weather", {"city": "Paris"})
    assert verdict_of(pieces[-1]).reason == "the answer calls tools"
    assert provider.calls == 1


def pay(customer: str, amount: int) -> str:
    """Pay somebody."""
    return f"{amount} to {customer}"


@pytest.mark.parametrize("mode", MODES)
async def test_arguments_of_calls_are_compared_where_the_policy_says_so(call, llm, mode):
    guarded = GuardedLLM(llm, JUDGED | {"stream_mode": mode, "tools": "arguments"})
    tools = [FunctionTool.from_defaults(pay)]
    pieces = await call(guarded, "stream_chat_with_tools", tools, user_msg="[[tool]] Canberra")
    (selected,) = guarded.get_tool_calls_from_response(pieces[-1])
    verdict = verdict_of(pieces[-1])
    (flagged,) = verdict.flagged_sentences
    assert flagged.text == f"pay.amount: {selected.tool_kwargs['amount']}"


async def test_events_of_a_stream_tell_who_asks(call, llm, seen):
    await call(GuardedLLM(llm, JUDGED), "stream_chat", ask(MADE_UP))
    progress = [e for e in seen if e.class_name() == "LLMChatInProgressEvent"]
    outside = [e for e in progress if not e.tags]
    assert outside
    assert {e.tags.get("resay") for e in progress} == {None, "main"}
    (event,) = (e for e in seen if e.class_name() == EVENT)
    assert event.span_id == outside[0].span_id


async def test_leaving_a_stream_early_ends_everything(llm, provider):
    guarded = GuardedLLM(llm, JUDGED | {"stream_mode": "after"})
    stream = await guarded.astream_chat(ask(MADE_UP))
    async for _ in stream:
        break
    await stream.aclose()
    responses = guarded.stream_chat(ask(MADE_UP))
    next(responses)
    responses.close()
    again = await guarded.achat(ask(KNOWN))
    assert verdict_of(again).decision == "consistent"


async def test_a_stream_may_be_read_by_several_tasks(llm):
    stream = await GuardedLLM(llm, JUDGED).astream_chat(ask(MADE_UP))
    pieces: list[Any] = []
    while piece := await asyncio.create_task(next_of(stream)):
        pieces.append(piece)
    assert verdict_of(pieces[-1]).flagged


async def next_of(stream: Any) -> Any:
    return await anext(stream, None)


@pytest.mark.parametrize("mode", MODES)
async def test_a_broken_stream_raises_what_the_llm_raises(call, make_llm, mode):
    with SimulatedProvider(faults=[CutConnection(only="chat")]) as broken:
        guarded = GuardedLLM(make_llm(api_base=broken.base_url), JUDGED | {"stream_mode": mode})
        with pytest.raises((httpx.HTTPError, openai.APIError)):
            await call(guarded, "stream_chat", ask(MADE_UP))


@pytest.mark.parametrize("mode", MODES)
async def test_a_stream_that_hangs_is_overdue(call, make_llm, mode):
    with SimulatedProvider(faults=[Hang(only="chat")]) as hanging:
        policy = JUDGED | {"limits": {"deadline_s": 0.1}, "stream_mode": mode}
        guarded = GuardedLLM(make_llm(api_base=hanging.base_url), policy)
        with pytest.raises(DeadlineExceededError):
            await call(guarded, "stream_chat", ask(MADE_UP))


async def test_nested_guards_stream_once(call, llm, provider):
    outer = GuardedLLM(GuardedLLM(llm, JUDGED | RAISE), JUDGED)
    pieces = await call(outer, "stream_chat", ask(MADE_UP))
    assert verdict_of(pieces[-1]).flagged
    asked = [str(r.body["messages"][-1]["content"]) for r in provider.requests]
    assert asked.count(MADE_UP) == 1 + N


@pytest.mark.parametrize("mode", ["hold", "after"])  # with `buffer`, nothing is streamed
async def test_the_providers_error_is_the_applications(call, llm, provider, seen, mode):
    provider.set_faults(BrokenStream(error={"error": {"message": "Try later."}}, first=1))
    later = {"sampling": JUDGED["sampling"] | {"start": "after"}}
    guarded = GuardedLLM(llm, JUDGED | BLOCK | later | {"stream_mode": mode, "on_error": "block"})
    with pytest.raises(openai.APIError, match="Try later"):
        await call(guarded, "stream_chat", ask(MADE_UP))
    assert not [event for event in seen if event.class_name() == EVENT]
