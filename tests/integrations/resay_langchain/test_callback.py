from __future__ import annotations

import asyncio
import logging
import threading
from itertools import cycle
from typing import Any
from uuid import UUID

import httpx
import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_openai import ChatOpenAI

from resay import ConfigurationError, Guard, Verdict
from resay_langchain import HallucinationCallback, VerdictCollector, guard_runnable
from resay_langchain import verdict_of as read_verdict
from simulation import Hang, ServerError
from support.langchain import JUDGED, KNOWN, MADE_UP, PROMPT, RAISE, REPLACE, UNCACHED, UNJUDGED, N

pytestmark = pytest.mark.anyio

LOGPROBS = UNCACHED | {"chain": [{"method": "logprobs"}]}


def weather(city: str) -> str:
    """Say what the weather is like."""
    return f"Sunny in {city}."


# Verdicts of guards


async def test_collects_the_verdict_on_a_plain_text(ask, model):
    collector = VerdictCollector()
    chain = guard_runnable(PROMPT | model | StrOutputParser(), JUDGED)
    text = await ask(chain, {"question": MADE_UP}, {"callbacks": [collector]})
    assert isinstance(text, str)
    assert collector.last is not None
    assert collector.last.flagged
    assert [text[s.start : s.end] for s in collector.last.sentences] == [
        s.text for s in collector.last.sentences
    ]
    assert collector.verdicts == [collector.last]


async def test_collects_nothing_where_there_is_nothing(ask, model):
    collector = VerdictCollector()
    assert (collector.last, collector.verdicts) == (None, [])
    await ask(model, KNOWN, {"callbacks": [collector]})
    assert (collector.last, collector.verdicts) == (None, [])


async def test_collects_verdicts_in_order(ask, model):
    collector = VerdictCollector()
    guarded = guard_runnable(model, JUDGED)
    messages = [await ask(guarded, q, {"callbacks": [collector]}) for q in (MADE_UP, KNOWN)]
    assert collector.verdicts == [read_verdict(message) for message in messages]
    assert [verdict.flagged for verdict in collector.verdicts] == [True, False]


@pytest.mark.parametrize("way", ["batch", "abatch"])
async def test_collects_from_many_runs_at_once(model, way):
    collector, guarded = VerdictCollector(), guard_runnable(model, UNJUDGED)
    config = {"callbacks": [collector]}
    if way == "batch":
        messages = guarded.batch([MADE_UP] * 10, config)
    else:
        messages = await guarded.abatch([MADE_UP] * 10, config)
    expected = [repr(read_verdict(message)) for message in messages]
    assert sorted(repr(verdict) for verdict in collector.verdicts) == sorted(expected)


async def test_collects_a_withheld_verdict_without_its_words(ask, model):
    collector = VerdictCollector()
    await ask(guard_runnable(model, REPLACE), MADE_UP, {"callbacks": [collector]})
    assert collector.last is not None
    assert {s.text for s in collector.last.sentences} == {""}


# Answers that nobody guards


@pytest.fixture
def observed(provider, litellm):
    """Makes a callback that reaches the provider."""

    def make(policy: Any = JUDGED, **kwargs: Any) -> HallucinationCallback:
        given = {"model": "openai/simulated", "params": provider.params, **kwargs}
        return HallucinationCallback(policy, **given)

    return make


@pytest.mark.all_turns
async def test_checks_an_answer_after_the_fact(ask, model, observed, provider):
    callback = observed()
    message = await ask(model, MADE_UP, {"callbacks": [callback]})
    await callback.await_all()
    (verdict,) = callback.verdicts.values()
    assert verdict.flagged
    assert (verdict.samples, verdict.via) == (N, "native")
    assert [message.text[s.start : s.end] for s in verdict.sentences] == [
        s.text for s in verdict.sentences
    ]
    assert "hallucination" not in message.response_metadata
    # litellm asks for all samples in one request.
    assert provider.calls == 1 + 1 + N


async def test_samples_answer_the_whole_conversation(model, observed, provider):
    callback = observed(UNJUDGED)
    (PROMPT | model).invoke({"question": KNOWN}, {"callbacks": [callback]})
    assert callback.wait(30)
    main, samples = [request.body for request in provider.requests]
    assert samples["n"] == N
    assert samples["messages"] == main["messages"]


@pytest.mark.parametrize("name", ["openai/simulated", "litellm_proxy/simulated"])
async def test_a_result_that_is_an_error_is_sent_like_others(
    model, observed, provider, name
) -> None:
    callback = observed(UNJUDGED, model=name)
    messages = [
        AIMessage("", tool_calls=[{"id": "1", "name": "look_up", "args": {}}]),
        ToolMessage("disk", tool_call_id="1", status="error"),
        HumanMessage(KNOWN),
    ]
    model.invoke(messages, config={"callbacks": [callback]})
    assert callback.wait(30)
    main, *others = [request.body for request in provider.requests]
    assert others
    for body in others:
        assert body["messages"][1] == main["messages"][1]


async def test_the_callback_reads_which_results_are_errors(observed) -> None:
    callback = observed({"chain": ["actions"]})
    user = HumanMessage([{"type": "tool_result", "tool_use_id": "0", "content": "none"}, "Save."])
    for status in ("success", "error"):
        call = {"id": "1", "name": "save_note", "args": {}}
        returned = ToolMessage("disk", tool_call_id="1", status=status)
        run = UUID(int=["success", "error"].index(status))
        callback.on_chat_model_start(
            {}, [[user, AIMessage("", tool_calls=[call]), returned]], run_id=run
        )
        answer = ChatGeneration(message=AIMessage("I saved the note."))
        callback.on_llm_end(LLMResult(generations=[[answer]]), run_id=run)
    await callback.await_all()
    decisions = {run.int: verdict.decision for run, verdict in callback.verdicts.items()}
    assert decisions == {0: "consistent", 1: "flagged"}


@pytest.mark.parametrize("streaming", [False, True])
async def test_checks_streamed_answers_too(model, observed, streaming):
    callback = observed(UNJUDGED)
    config = {"callbacks": [callback]}
    if streaming:
        text = "".join([chunk.text async for chunk in model.astream(MADE_UP, config)])
    else:
        text = "".join(chunk.text for chunk in model.stream(MADE_UP, config))
    await callback.await_all()
    (verdict,) = callback.verdicts.values()
    assert verdict.sentences[0].text in text


async def test_tells_of_each_verdict_and_its_run(model, observed):
    told: list[tuple[Verdict, UUID]] = []
    ended: list[UUID] = []

    class Ends(BaseCallbackHandler):
        run_inline = True

        def on_llm_end(self, response, *, run_id, **kwargs):
            ended.append(run_id)

    callback = observed(on_verdict=lambda verdict, run_id: told.append((verdict, run_id)))
    for question in (MADE_UP, KNOWN):
        await model.ainvoke(question, {"callbacks": [callback, Ends()]})
        await callback.await_all()
    assert [run_id for _, run_id in told] == ended
    assert [verdict.flagged for verdict, _ in told] == [True, False]
    assert callback.verdicts == {run_id: verdict for verdict, run_id in told}


async def test_a_hook_that_fails_is_logged_without_content(model, observed, caplog):
    def fail(verdict: Verdict, run_id: UUID) -> None:
        raise ValueError(verdict.sentences[0].text)

    callback = observed(UNJUDGED, on_verdict=fail)
    with caplog.at_level(logging.DEBUG, logger="resay_langchain"):
        for _ in range(2):
            await model.ainvoke(MADE_UP, {"callbacks": [callback]})
    await callback.await_all()
    assert len(callback.verdicts) == 2
    told = [r.getMessage() for r in caplog.records if r.name.startswith("resay_langchain")]
    assert told == ["on_verdict raised ValueError"] * 2
    assert "Zorblatt" not in caplog.text


async def test_leaves_alone_what_is_no_answer_in_words(ask, make_model, observed, provider):
    callback = observed()
    config = {"callbacks": [callback]}
    model = make_model()
    await ask(model.bind_tools([weather]), "[[tool]] weather in Paris", config)
    await ask(model.bind(response_format={"type": "json_object"}), f"JSON: {KNOWN}", config)
    silent = GenericFakeChatModel(messages=cycle([AIMessage(" ")]))
    await ask(silent, KNOWN, config)
    assert callback.wait(30)
    assert callback.verdicts == {}
    assert provider.calls == 2


async def test_leaves_alone_what_is_guarded(ask, model, observed, provider):
    callback = observed()
    config = {"callbacks": [callback]}
    message = await ask(guard_runnable(model, JUDGED), MADE_UP, config)
    assert message.response_metadata["hallucination"]["samples"] == N
    assert callback.wait(30)
    assert callback.verdicts == {}
    assert provider.calls == 1 + 1 + N


async def test_a_call_that_fails_is_nobodys_answer(ask, model, observed, provider):
    provider.set_faults(ServerError())
    callback = observed()
    with pytest.raises(Exception, match="500"):
        await ask(model, MADE_UP, {"callbacks": [callback]})
    assert callback.wait(30)
    assert callback.verdicts == {}


@pytest.mark.all_turns
async def test_nobody_waits_for_a_check(ask, model, observed, provider):
    provider.set_faults(Hang(after=1))
    callback = observed(UNJUDGED)
    message = await ask(model, MADE_UP, {"callbacks": [callback]})
    assert "Zorblatt" in message.text
    assert callback.wait(0) is False
    assert callback.verdicts == {}
    provider.wait_calls(2)
    provider.clear_faults()
    provider.release()
    assert callback.wait(30)
    assert len(callback.verdicts) == 1


async def test_samples_that_fail_are_no_verdict(ask, model, observed, provider):
    provider.set_faults(ServerError(after=1))
    callback = observed(UNJUDGED | {"limits": {"retries": 0}})
    await ask(model, MADE_UP, {"callbacks": [callback]})
    assert callback.wait(30)
    (verdict,) = callback.verdicts.values()
    assert verdict.inconclusive


class CountsCalls:
    """A provider that counts how many calls it is in at once."""

    def __init__(self, expected: int) -> None:
        self.all_in = threading.Event()
        self.go_on = asyncio.Event()
        self.now = self.most = 0
        self._expected = expected

    async def takes_n(self, query: Any) -> bool:
        return False

    async def complete(self, query: Any, *, n: int = 1) -> Any:
        self.loop = asyncio.get_running_loop()
        self.now += 1
        self.most = max(self.most, self.now)
        if self.now == self._expected:
            self.all_in.set()
        await self.go_on.wait()
        self.now -= 1
        raise RuntimeError("no answer")


ALONE = UNCACHED | {
    "chain": [{"method": "ngram"}],
    "sampling": {"max": 1},
    "limits": {"retries": 0},
}


async def test_no_more_checks_run_at_once_than_may(model):
    counting = CountsCalls(2)
    callback = HallucinationCallback(Guard(ALONE, provider=counting), concurrency=2, keep=3)
    for _ in range(2):
        await model.ainvoke(KNOWN, {"callbacks": [callback]})
    assert counting.all_in.wait(30)
    for _ in range(4):
        await model.ainvoke(KNOWN, {"callbacks": [callback]})
    # Two are at work, three wait, and one is not checked.
    assert callback.dropped == 1
    counting.loop.call_soon_threadsafe(counting.go_on.set)
    assert callback.wait(30)
    assert counting.most == 2
    assert len(callback.verdicts) == 3
    assert {verdict.decision for verdict in callback.verdicts.values()} == {"inconclusive"}


async def test_runs_that_never_end_are_forgotten(observed):
    callback = observed(UNJUDGED, keep=2)
    runs = [UUID(int=i) for i in range(5)]
    answer = LLMResult(generations=[[ChatGeneration(message=AIMessage("It was in 1932."))]])
    for run in runs:
        callback.on_chat_model_start({}, [[HumanMessage(KNOWN)]], run_id=run)
    for run in runs:
        callback.on_llm_end(answer, run_id=run)
    assert callback.wait(30)
    assert sorted(callback.verdicts) == runs[3:]


# Whom to ask

DERIVED = UNJUDGED | {"limits": {"retries": 0}}


async def test_asks_the_model_that_answered(provider, litellm, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "simulated")
    callback = HallucinationCallback(DERIVED)
    with httpx.Client() as client:
        model = ChatOpenAI(model="simulated", max_retries=0, http_client=client)
        model.invoke(MADE_UP, {"callbacks": [callback]})
    assert callback.wait(30)
    (verdict,) = callback.verdicts.values()
    assert verdict.samples == N
    assert [request.body["model"] for request in provider.requests] == ["simulated"] * 2


@pytest.mark.parametrize(
    ("fields", "reason"),
    [({}, "'openai_api_base' of its own"), ({"default_headers": {"a": "b"}}, "of its own")],
)
async def test_does_not_send_a_conversation_elsewhere(ask, make_model, provider, fields, reason):
    callback = HallucinationCallback(DERIVED)
    await ask(make_model(**fields), MADE_UP, {"callbacks": [callback]})
    assert callback.wait(30)
    (verdict,) = callback.verdicts.values()
    assert verdict.inconclusive
    assert reason in verdict.reason
    assert provider.calls == 1


async def test_does_not_ask_whom_it_does_not_know(ask):
    callback = HallucinationCallback(DERIVED)
    fake = GenericFakeChatModel(messages=cycle([AIMessage("It was opened in 1932.")]))
    await ask(fake, MADE_UP, {"callbacks": [callback]})
    assert callback.wait(30)
    (verdict,) = callback.verdicts.values()
    assert verdict.inconclusive
    assert "cannot be asked again" in verdict.reason


async def test_does_not_ask_without_a_key(provider, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
    callback = HallucinationCallback(DERIVED)
    with httpx.Client() as client:
        model = ChatOpenAI(
            model="simulated", api_key="simulated", max_retries=0, http_client=client
        )
        model.invoke(KNOWN, {"callbacks": [callback]})
    assert callback.wait(30)
    (verdict,) = callback.verdicts.values()
    assert "OPENAI_API_KEY" in verdict.reason
    assert provider.calls == 1


# What is refused


@pytest.mark.parametrize(
    ("policy", "kwargs", "problem"),
    [
        (REPLACE, {}, "only observes.*do: block"),
        (RAISE, {}, "only observes"),
        (JUDGED | {"on_error": "block"}, {}, "only observes.*on_error: block"),
        (JUDGED | {"on_unscored": "block"}, {}, "only observes.*on_unscored: block"),
        ({"chain": [{"method": "ngram", "evidence": "references"}]}, {}, "sees no documents"),
        (JUDGED, {"concurrency": 0}, "concurrency is 0"),
        (JUDGED, {"keep": 0}, "keep is 0"),
    ],
)
def test_what_cannot_work_is_refused_at_once(policy, kwargs, problem):
    with pytest.raises(ConfigurationError, match=problem):
        HallucinationCallback(policy, **kwargs)


async def test_what_cannot_be_checked_says_why(ask, model, observed):
    callback = observed(LOGPROBS)
    await ask(model, MADE_UP, {"callbacks": [callback]})
    assert callback.wait(30)
    (verdict,) = callback.verdicts.values()
    assert verdict.inconclusive
    assert "cannot be checked" in verdict.reason


async def test_log_probabilities_of_the_answer_are_looked_at(ask, make_model, observed, provider):
    callback = observed(LOGPROBS)
    await ask(make_model(logprobs=True), MADE_UP, {"callbacks": [callback]})
    assert callback.wait(30)
    (verdict,) = callback.verdicts.values()
    assert verdict.steps[0].method == "logprobs"
    assert not verdict.inconclusive
    assert provider.calls == 1
