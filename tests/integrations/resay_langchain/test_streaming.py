"""What reaches whoever watches a guarded model stream, in every way there is."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnablePassthrough
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import Field

from resay import HallucinationBlocked
from resay_langchain import GuardedChatModel, guard_runnable
from simulation import Invention, SimulatedProvider, Subject, World
from support.langchain import (
    JUDGED,
    KNOWN,
    MADE_UP,
    MESSAGE,
    PROMPT,
    RAISE,
    REPLACE,
    UNJUDGED,
    N,
    Recorder,
    needs_events_v3,
    verdict_of,
)

pytestmark = [
    pytest.mark.anyio,
    # LangChain's own marks on the third version of its events, and on its log.
    pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainBetaWarning"),
    pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainDeprecationWarning"),
]

MODES = ["hold", "after", "buffer"]


def graph_of(model: Runnable[Any, Any]) -> Any:
    async def chat(state: MessagesState) -> dict[str, list[BaseMessage]]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("chat", chat)
    graph.add_edge(START, "chat")
    graph.add_edge("chat", END)
    return graph.compile()


def text_in(value: object) -> str:
    """Everything a value holds, in words."""
    return json.dumps(value, default=repr, ensure_ascii=False)


async def by_stream(model: GuardedChatModel) -> list[str]:
    # A thread of its own, since this one has an event loop.
    return await asyncio.to_thread(lambda: [text_in(chunk) for chunk in model.stream(MADE_UP)])


async def by_astream(model: GuardedChatModel) -> list[str]:
    return [text_in(chunk) async for chunk in model.astream(MADE_UP)]


async def by_parsed_astream(model: GuardedChatModel) -> list[str]:
    chain = PROMPT | model | StrOutputParser()
    return [text_in(chunk) async for chunk in chain.astream({"question": MADE_UP})]


async def by_events_v2(model: GuardedChatModel) -> list[str]:
    events = model.astream_events(MADE_UP, version="v2")
    return [text_in(event) async for event in events]


async def by_events_of_a_chain(model: GuardedChatModel) -> list[str]:
    chain = PROMPT | model | StrOutputParser()
    events = chain.astream_events({"question": MADE_UP}, version="v2")
    return [text_in(event) async for event in events]


async def by_events_v3(model: GuardedChatModel) -> list[str]:
    stream = await model.astream_events(MADE_UP, version="v3")
    return [text_in(event) async for event in stream]


async def by_log(model: GuardedChatModel) -> list[str]:
    return [text_in(patch.ops) async for patch in model.astream_log(MADE_UP)]


def by_graph(mode: str) -> Callable[[GuardedChatModel], Any]:
    async def watch(model: GuardedChatModel) -> list[str]:
        asked = {"messages": [("user", MADE_UP)]}
        parts = graph_of(model).astream(asked, stream_mode=mode)
        return [text_in(part) async for part in parts]

    watch.__name__ = f"by_graph_{mode}"
    return watch


async def by_graph_events(model: GuardedChatModel) -> list[str]:
    asked = {"messages": [("user", MADE_UP)]}
    events = graph_of(model).astream_events(asked, version="v2")
    return [text_in(event) async for event in events]


async def by_graph_events_v3(model: GuardedChatModel) -> list[str]:
    run = await graph_of(model).astream_events({"messages": [("user", MADE_UP)]}, version="v3")
    return [await message.text async for message in run.messages]


WATCHERS = [
    by_stream,
    by_astream,
    by_parsed_astream,
    by_events_v2,
    by_events_of_a_chain,
    pytest.param(by_events_v3, marks=needs_events_v3),
    by_log,
    *(by_graph(mode) for mode in ("messages", "updates", "values", "custom", "debug", "tasks")),
    by_graph_events,
    pytest.param(by_graph_events_v3, marks=needs_events_v3),
]


class Loud(ChatOpenAI):
    """Remembers what it said, and whether that was for a check."""

    said: list[tuple[bool, str]] = Field(default_factory=list)

    def _note(self, text: str) -> None:
        self.said.append((self.disable_streaming is True, text))

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        result = super()._generate(*args, **kwargs)
        for generation in result.generations:
            self._note(generation.text)
        return result

    async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
        result = await super()._agenerate(*args, **kwargs)
        for generation in result.generations:
            self._note(generation.text)
        return result

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        chunks = list(super()._stream(*args, **kwargs))
        self._note("".join(chunk.text for chunk in chunks))
        yield from chunks

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        chunks = [chunk async for chunk in super()._astream(*args, **kwargs)]
        self._note("".join(chunk.text for chunk in chunks))
        for chunk in chunks:
            yield chunk

    @property
    def answer(self) -> str:
        (text,) = (text for quiet, text in self.said if not quiet)
        return text

    @property
    def samples(self) -> list[str]:
        return [text for quiet, text in self.said if quiet and "1: " not in text]


@pytest.fixture
async def loud(provider: SimulatedProvider) -> AsyncIterator[Loud]:
    with httpx.Client() as client:
        async with httpx.AsyncClient() as async_client:
            yield Loud(
                model="simulated",
                base_url=provider.base_url,
                api_key="simulated",
                http_client=client,
                http_async_client=async_client,
            )


FACTS = [["It is in the north.", "In the north it is."], ["It is made of wood."]]
INVENTIONS = [Invention("It was built by {person}.")]


def names_in(text: str) -> set[str]:
    """The people and places that a text makes up."""
    return set(re.findall(r"\b[A-Z][a-z]{4,}\b", text)) - {"Every", "Zorblatt"}


# Where no sentence is flagged by itself, the verdict repeats nothing of a sample either.
UNREPEATED = JUDGED | {"threshold": {"sentence": None, "passage": 0.5}}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("watch", WATCHERS, ids=lambda w: w.__name__)
async def test_nothing_of_a_check_reaches_a_stream(watch, mode, loud):
    seen = "\n".join(await watch(GuardedChatModel(loud, UNREPEATED | {"stream_mode": mode})))
    assert len(loud.samples) == N
    made_up = names_in(" ".join(loud.samples)) - names_in(loud.answer)
    assert made_up
    assert not [name for name in made_up if name in seen]
    assert "<claims-" not in seen
    assert "resay:" not in seen
    if "custom" not in watch.__name__:
        assert all(name in seen for name in names_in(loud.answer))


@pytest.mark.parametrize("mode", ["hold", "buffer"])
@pytest.mark.parametrize("watch", WATCHERS, ids=lambda w: w.__name__)
async def test_a_withheld_draft_reaches_no_stream(watch, mode, loud):
    seen = "\n".join(await watch(GuardedChatModel(loud, REPLACE | {"stream_mode": mode})))
    assert names_in(loud.answer)
    assert not [name for name in names_in(loud.answer) if name in seen]
    if "custom" not in watch.__name__:
        assert MESSAGE in seen


FOUND = (
    "The Zorblatt was built in 1890 by Ada Moor. Every year 4000 people visit the Zorblatt. A copy"
    " of the Zorblatt stands in Oslo, made by Ada Moor."
)


class Shelf(BaseRetriever):
    def _get_relevant_documents(self, query: str, **kwargs: Any) -> list[Document]:
        return [Document(FOUND)]


@pytest.mark.usefixtures("wordless_verdicts")
@pytest.mark.parametrize("writing", ["repair", "rewrite"])
@pytest.mark.parametrize("mode", ["hold", "buffer"])
@pytest.mark.parametrize("watch", WATCHERS, ids=lambda w: w.__name__)
async def test_a_draft_that_is_written_again_reaches_no_stream(watch, mode, writing, loud):
    action = {"do": "regenerate", "mode": writing}
    model = GuardedChatModel(
        loud, JUDGED | {"stream_mode": mode, "action": action}, retriever=Shelf()
    )
    seen = "\n".join(await watch(model))
    withheld = names_in(loud.answer) - names_in(FOUND)
    assert withheld
    assert not [name for name in withheld if name in seen]
    for secret in ("Context:", "<claims-", "these documents", "in doubt", "<document-", "resay:"):
        assert secret not in seen
    if "custom" not in watch.__name__:
        assert "Ada Moor" in seen


async def test_held_sentences_come_one_by_one_and_the_verdict_last(make_model):
    model = GuardedChatModel(make_model(stream_usage=True), JUDGED)
    chunks = [chunk async for chunk in model.astream(MADE_UP)]
    *sentences, last = chunks
    verdict = verdict_of(last)
    assert [chunk.text.strip() for chunk in sentences] == [s["text"] for s in verdict["sentences"]]
    assert [chunk.chunk_position for chunk in chunks] == [None] * len(sentences) + ["last"]
    assert len({chunk.id for chunk in chunks}) == 1
    assert (last.text, last.response_metadata["finish_reason"]) == ("", "stop")
    assert last.usage_metadata["output_tokens"] > 0


async def test_sentences_before_a_flagged_one_are_shown_and_the_rest_is_withheld(make_model):
    world = World([Subject("Zorblatt", facts=FACTS, inventions=INVENTIONS)])
    with SimulatedProvider(seed=1, world=world) as provider:
        loud = Loud(model="simulated", base_url=provider.base_url, api_key="x", max_retries=0)
        # A thread of its own, since this one has an event loop.
        policy = REPLACE | {"sampling": {"max": N, "via": "native"}}
        guarded = GuardedChatModel(loud, policy)
        chunks = await asyncio.to_thread(lambda: list(guarded.stream(MADE_UP)))
    shown, notice, withheld = "".join(c.text for c in chunks).partition(MESSAGE)
    assert (notice, withheld) == (MESSAGE, "")
    assert shown.endswith("\n\n")
    assert loud.answer.startswith(shown.rstrip())
    assert len(shown) < len(loud.answer)
    assert not names_in(shown)
    assert verdict_of(chunks[-1])["action"] == "block"


async def test_passed_on_chunks_are_the_models_own(make_model):
    model = make_model(stream_usage=True, temperature=0)
    plain = [chunk async for chunk in model.astream(KNOWN)]
    guarded = GuardedChatModel(model, UNJUDGED | {"stream_mode": "after"})
    *chunks, last = [chunk async for chunk in guarded.astream(KNOWN)]
    assert [chunk.content for chunk in chunks] == [chunk.content for chunk in plain]
    assert [c.usage_metadata for c in chunks] == [c.usage_metadata for c in plain]
    assert (last.text, last.chunk_position) == ("", "last")
    assert verdict_of(last)["samples"] == N


@pytest.mark.parametrize("mode", MODES)
async def test_raising_ends_the_stream(make_model, mode):
    guarded = GuardedChatModel(make_model(), RAISE | {"stream_mode": mode})
    recorder = Recorder()
    with pytest.raises(HallucinationBlocked):
        async for _ in guarded.astream(MADE_UP, {"callbacks": [recorder]}):
            pass
    assert recorder.verdicts[0]["action"] == "block"
    with pytest.raises(HallucinationBlocked):
        list(guarded.stream(MADE_UP))


async def test_a_stream_left_early_leaves_nothing_behind(make_model, provider):
    guarded = GuardedChatModel(make_model(), JUDGED)
    others = asyncio.all_tasks()
    stream = guarded.astream(MADE_UP)
    assert (await anext(stream)).text
    await stream.aclose()
    # LangChain closes the generators inside by way of the event loop.
    await asyncio.sleep(0)
    if started := asyncio.all_tasks() - others:
        await asyncio.wait(started)
    provider.wait_idle()
    before = provider.calls
    await asyncio.sleep(0)
    assert provider.calls == before


async def test_a_model_that_does_not_stream_is_streamed_all_the_same():
    fake = FakeListChatModel(responses=["It was opened in 1932."])
    model = GuardedChatModel(fake.model_copy(update={"disable_streaming": True}), UNJUDGED)
    chunks = [chunk async for chunk in model.astream(MADE_UP)]
    assert "".join(chunk.text for chunk in chunks) == "It was opened in 1932."
    assert verdict_of(chunks[-1])["decision"] == "consistent"


async def test_a_chain_streams_the_released_text_through_its_parser(make_model):
    chain = guard_runnable(PROMPT | make_model() | StrOutputParser(), UNJUDGED)
    pieces = [piece async for piece in chain.astream({"question": MADE_UP})]
    assert len(pieces) > 2
    assert "Zorblatt" in "".join(pieces)


async def test_an_output_with_keys_is_streamed_with_its_verdict(make_model):
    answer = PROMPT | make_model() | StrOutputParser()
    chain = guard_runnable(RunnablePassthrough.assign(answer=answer), UNJUDGED)
    parts = [part async for part in chain.astream({"question": MADE_UP})]
    whole = sum(parts[1:], parts[0])
    assert whole.keys() == {"question", "answer", "hallucination"}
    assert whole["hallucination"]["flagged"]


async def test_tool_calls_are_streamed_whole(make_model):
    def weather(city: str) -> str:
        """Say what the weather is like."""
        return city

    bound = GuardedChatModel(make_model(), JUDGED).bind_tools([weather])
    chunks = [chunk async for chunk in bound.astream("[[tool]] weather in Paris")]
    whole = sum(chunks[1:], chunks[0])
    assert whole.tool_calls[0]["name"] == "weather"
    assert verdict_of(whole)["decision"] == "skipped"
