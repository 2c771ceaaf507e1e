"""Verdicts for whoever calls, through each of the seams."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import logging
import pickle
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import httpx
import litellm
import pytest
from anthropic import Anthropic, AsyncAnthropic
from langchain.agents import create_agent
from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI
from llama_index.core import SummaryIndex
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.schema import TextNode
from llama_index.llms.openai_like import OpenAILike
from openai import AsyncOpenAI, OpenAI

import resay
import resay_anthropic
import resay_openai
from resay import Guard, HallucinationBlocked, ProviderError, Verdict
from resay.adapters import GuardRuntime, OnVerdict
from resay_langchain import GuardedChatModel, HallucinationMiddleware, guard_runnable
from resay_litellm import HallucinationCallback, HallucinationGuardrail
from resay_llamaindex import GuardedChatEngine, GuardedLLM, GuardedQueryEngine
from resay_openai import GuardedAsyncOpenAI, GuardedOpenAI
from simulation import SimulatedProvider

pytestmark = pytest.mark.anyio

QUESTION = "Tell me about the Sydney Harbour Bridge."
ASKED: Any = [{"role": "user", "content": QUESTION}]
POLICY: dict[str, Any] = {
    "cache": {"store": "none"},
    "chain": [{"method": "ngram"}],
    "sampling": {"max": 2},
    # What an engine retrieves would decide without samples.
    "references": {"from": []},
}
RAISING = POLICY | {"action": {"do": "block", "exit": "raise"}}
BODY: Any = {"model": "simulated", "messages": ASKED}


class Seam:
    """One way to ask, with a listener of its own."""

    def __init__(
        self, provider: SimulatedProvider, listener: OnVerdict | None, policy: Any, stack: Any
    ) -> None:
        self.to = {"base_url": provider.base_url, "api_key": "k", "max_retries": 0}
        self.root = self.to | {"base_url": provider.root_url}
        self.guarding = {"policy": policy, "on_verdict": listener}
        self.stack: AsyncExitStack = stack

    def closing(self, client: Any) -> Any:
        if inspect.iscoroutinefunction(client.close):
            self.stack.push_async_callback(client.close)
        else:
            self.stack.callback(client.close)
        return client

    @property
    def chat(self) -> Any:
        http, ahttp = httpx.Client(verify=False), httpx.AsyncClient(verify=False)
        self.closing(http)
        self.stack.push_async_callback(ahttp.aclose)
        return ChatOpenAI(model="simulated", http_client=http, http_async_client=ahttp, **self.to)

    @property
    def llm(self) -> GuardedLLM:
        http, ahttp = httpx.Client(verify=False), httpx.AsyncClient(verify=False)
        self.closing(http)
        self.stack.push_async_callback(ahttp.aclose)
        llm = OpenAILike(
            model="simulated",
            api_base=self.to["base_url"],
            api_key="k",
            is_chat_model=True,
            max_retries=0,
            http_client=http,
            async_http_client=ahttp,
        )
        return GuardedLLM(llm, **self.guarding)


Ask = Callable[[Seam], Any]


def openai(seam: Seam) -> Any:
    client = seam.closing(GuardedOpenAI(**seam.guarding, **seam.to))
    return client.chat.completions.create(**BODY)


async def openai_stream(seam: Seam) -> Any:
    client = seam.closing(GuardedAsyncOpenAI(**seam.guarding, **seam.to))
    return await client.responses.create(model="simulated", input=QUESTION, stream=True)


def openai_client(seam: Seam) -> Any:
    client = resay_openai.guard_client(OpenAI(**seam.to), **seam.guarding)
    return seam.closing(client).chat.completions.create(**BODY, stream=True)


async def openai_http(seam: Seam) -> Any:
    http = resay_openai.guard_http_client(httpx.AsyncClient(), **seam.guarding)
    client = seam.closing(AsyncOpenAI(**seam.to, http_client=http))
    return await client.chat.completions.create(**BODY)


def anthropic(seam: Seam) -> Any:
    client = resay_anthropic.guard_client(Anthropic(**seam.root), **seam.guarding)
    return seam.closing(client).messages.create(**BODY, max_tokens=99)


async def anthropic_stream(seam: Seam) -> Any:
    client = resay_anthropic.guard_client(AsyncAnthropic(**seam.root), **seam.guarding)
    return await seam.closing(client).messages.create(**BODY, max_tokens=99, stream=True)


def langchain(seam: Seam) -> Any:
    return GuardedChatModel(seam.chat, **seam.guarding).invoke(QUESTION)


async def langchain_async(seam: Seam) -> Any:
    chain = ChatPromptTemplate.from_template("{q}") | seam.chat
    return await guard_runnable(chain, **seam.guarding).ainvoke({"q": QUESTION})


def langchain_stream(seam: Seam) -> Any:
    return GuardedChatModel(seam.chat, **seam.guarding).stream(QUESTION)


def langchain_chain_stream(seam: Seam) -> Any:
    chain = ChatPromptTemplate.from_template("{q}") | seam.chat
    return guard_runnable(chain, **seam.guarding).astream({"q": QUESTION})


def llamaindex(seam: Seam) -> Any:
    return seam.llm.complete(QUESTION)


async def llamaindex_async(seam: Seam) -> Any:
    return await seam.llm.achat([ChatMessage(QUESTION)])


def llamaindex_stream(seam: Seam) -> Any:
    return seam.llm.stream_chat([ChatMessage(QUESTION)])


async def llamaindex_astream(seam: Seam) -> Any:
    return await seam.llm.astream_complete(QUESTION)


def llamaindex_query_engine(seam: Seam) -> Any:
    engine = SummaryIndex([TextNode(text="Its doors are green.")]).as_query_engine(seam.llm.llm)
    return GuardedQueryEngine(engine, **seam.guarding).query(QUESTION)


async def llamaindex_chat_engine(seam: Seam) -> Any:
    # Also one whose LLM is guarded, and keeps its policy.
    engine = SimpleChatEngine.from_defaults(
        llm=GuardedLLM(seam.llm.llm, POLICY), memory=ChatMemoryBuffer.from_defaults(token_limit=999)
    )
    return await GuardedChatEngine(engine, on_verdict=seam.guarding["on_verdict"]).achat(QUESTION)


SEAMS: list[Ask] = [
    *(openai, openai_stream, openai_client, openai_http, anthropic, anthropic_stream),
    *(langchain, langchain_async, langchain_stream, langchain_chain_stream),
    *(llamaindex, llamaindex_async, llamaindex_stream, llamaindex_astream),
    *(llamaindex_query_engine, llamaindex_chat_engine),
]


async def read(answer: Any) -> None:
    if inspect.isawaitable(answer):
        answer = await answer
    if hasattr(answer, "__aiter__"):
        async for _ in answer:
            pass
    elif hasattr(answer, "__next__"):
        for _ in answer:
            pass


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


@pytest.mark.parametrize("ask", SEAMS)
async def test_every_seam_tells_once_where_it_was_called(simulated, stack, ask) -> None:
    heard: list[tuple[Verdict, threading.Thread]] = []
    seam = Seam(simulated, lambda v: heard.append((v, threading.current_thread())), POLICY, stack)
    with resay.verdicts() as found:
        await read(ask(seam))
    ((verdict, thread),) = heard
    assert thread is threading.current_thread()
    assert resay.last_verdict() is verdict
    assert found == [verdict]
    assert verdict.samples


@pytest.mark.parametrize("ask", [openai, openai_stream, anthropic, langchain_stream, llamaindex])
async def test_of_what_is_withheld_with_an_exception_too(simulated, stack, ask) -> None:
    heard: list[Verdict] = []
    with pytest.raises(HallucinationBlocked) as raised:
        await read(ask(Seam(simulated, heard.append, RAISING, stack)))
    assert heard == [raised.value.verdict] == [resay.last_verdict()]


@pytest.mark.parametrize("ask", [openai, openai_stream, openai_client])
async def test_of_what_is_skipped_too(simulated, stack, ask) -> None:
    heard: list[Verdict] = []
    skipping = POLICY | {"when": {"roles": ["tool"]}}
    await read(ask(Seam(simulated, heard.append, skipping, stack)))
    assert [verdict.decision for verdict in heard] == ["skipped"]
    assert resay.last_verdict() is heard[0]


@pytest.mark.parametrize("ask", [openai, openai_stream, langchain_async])
async def test_what_a_listener_returns_is_awaited(simulated, stack, ask) -> None:
    heard: list[Verdict] = []

    async def listen(verdict: Verdict) -> None:
        await asyncio.sleep(0)
        heard.append(verdict)

    await read(ask(Seam(simulated, listen, POLICY, stack)))
    assert heard == [resay.last_verdict()]


@pytest.mark.parametrize("ask", [openai, openai_stream])
async def test_a_listener_that_fails_loses_nothing(simulated, stack, ask, caplog) -> None:
    def fail(verdict: Verdict) -> None:
        raise ValueError(verdict.reason)

    with caplog.at_level(logging.WARNING, "resay"):
        await read(ask(Seam(simulated, fail, POLICY, stack)))
    verdict = resay.last_verdict()
    assert verdict
    assert "on_verdict raised ValueError" in caplog.text
    assert verdict.reason not in caplog.text


def test_a_listener_may_ask_a_guard(simulated) -> None:
    guarded = GuardedOpenAI(policy=POLICY, base_url=simulated.base_url, api_key="k")
    heard: list[str | None] = []

    def ask_again(_: Verdict) -> None:
        heard.append(guarded.chat.completions.create(**BODY).choices[0].message.content)

    with guarded, guarded.with_policy(POLICY, on_verdict=ask_again) as asking:
        asking.chat.completions.create(**BODY)
    assert len(heard) == 1
    assert heard[0]


async def test_requests_at_the_same_time_do_not_mix(simulated, stack) -> None:
    client = Seam(simulated, None, POLICY, stack)
    asking = client.closing(GuardedAsyncOpenAI(**client.guarding, **client.to))

    async def one() -> tuple[Any, Any, list[Verdict]]:
        with resay.verdicts() as found:
            answer = await asking.chat.completions.create(**BODY)
            return resay_openai.verdict_of(answer), resay.last_verdict(), found

    before = resay.last_verdict()
    with resay.verdicts() as all_of_them:
        seen = await asyncio.gather(*(one() for _ in range(5)))
    # What is told has the words of samples too, and so is not the same object.
    for in_answer, last, found in seen:
        assert found == [last]
        assert last.to_dict() == in_answer.to_dict()
    assert len({id(last) for _, last, _ in seen}) == 5
    assert len(all_of_them) == 5
    assert resay.last_verdict() is before


async def test_frameworks_that_ask_in_tasks_of_their_own(simulated, stack) -> None:
    heard: list[Verdict] = []
    seam = Seam(simulated, heard.append, POLICY, stack)
    agent = create_agent(seam.chat, tools=[], middleware=[HallucinationMiddleware(**seam.guarding)])
    with resay.verdicts() as found:
        await agent.ainvoke({"messages": ASKED})
        await asyncio.to_thread(agent.invoke, {"messages": ASKED})
    assert found == heard
    assert len(found) == 2


async def test_the_callback_of_litellm(simulated, monkeypatch) -> None:
    heard: list[Verdict] = []
    callback = HallucinationCallback(POLICY, on_verdict=heard.append)
    monkeypatch.setattr(litellm, "callbacks", [callback])
    response: Any = await litellm.acompletion(
        "openai/simulated", ASKED, base_url=simulated.base_url, api_key="k"
    )
    assert [verdict.decision for verdict in heard] == [response.hallucination["decision"]]


SAMPLES = ["It has 11 lamps.", "It has 2."]


def test_the_guardrail_of_litellm_names_who_is_told(tmp_path, monkeypatch) -> None:
    (tmp_path / "listening.py").write_text("heard = []")
    monkeypatch.syspath_prepend(tmp_path)
    guardrail = HallucinationGuardrail(
        POLICY, on_verdict="listening:heard.append", guardrail_name="hallucination"
    )
    verdict = guardrail.resay_guard.check("It has 31 lamps.", samples=SAMPLES)
    assert importlib.import_module("listening").heard == [verdict]


def test_a_guard_is_pickled_with_those_who_are_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    copied = pickle.loads(pickle.dumps(Guard(POLICY, on_verdict=print)))
    copied.check("It has 31 lamps.", samples=SAMPLES)
    assert "FLAGGED" in capsys.readouterr().out
    with pytest.raises(resay.ConfigurationError, match="cannot pickle this guard"):
        pickle.dumps(Guard(POLICY, on_verdict=lambda _: None))


class Failing:
    """Has no answer."""

    async def takes_n(self, query: resay.Request) -> bool:
        return False

    async def complete(self, query: resay.Request, *, n: int = 1) -> Any:
        raise ProviderError("no answer")


async def test_a_guard_tells_of_checks_streams_and_nothing_without_a_verdict(simulated) -> None:
    heard: list[Verdict] = []
    checks = Guard(POLICY, on_verdict=heard.append)
    verdict = await checks.acheck("It has 31 lamps.", samples=SAMPLES)
    assert heard == [verdict]
    too: list[Verdict] = []
    first = Guard(POLICY, model="openai/simulated", on_verdict=heard.append)
    asks = GuardRuntime(first).with_listener(too.append)
    where = {"api_base": simulated.base_url, "api_key": "k"}
    with asks.stream(QUESTION, params=where) as stream:
        list(stream)
    assert heard[1:] == too == [stream.answer.verdict] == [resay.last_verdict()]
    with pytest.raises(ProviderError):
        await Guard(POLICY, provider=Failing(), on_verdict=heard.append).aask(QUESTION)
    assert len(heard) == 2
