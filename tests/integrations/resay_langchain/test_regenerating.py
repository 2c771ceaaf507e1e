"""Flagged answers that are written again, in every place where LangChain's users meet them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tools import tool
from pydantic import BaseModel, Field

import resay
from resay import ConfigurationError, Guard, HallucinationBlocked
from resay_langchain import (
    GuardedChatModel,
    HallucinationCallback,
    HallucinationMiddleware,
    VerdictCollector,
    as_retriever,
    guard_runnable,
)
from resay_langchain import verdict_of as read_verdict
from simulation import Invention, SimulatedProvider, Subject, World
from support.langchain import (
    JUDGED,
    KNOWN,
    MADE_UP,
    MESSAGE,
    PROMPT,
    N,
    Recorder,
    needs_hearing_agents,
    verdict_of,
)

pytestmark = pytest.mark.anyio

FACTS = (
    "The Zorblatt was built in 1890 by Ada Moor.",
    "Every year 4000 people visit the Zorblatt.",
    "A copy of the Zorblatt stands in Oslo, made by Ada Moor.",
)
BLOCKING = {"do": "block", "message": MESSAGE}
RAISING = {"do": "block", "exit": "raise"}


class Shelf(BaseRetriever):
    """Finds what is right about the Zorblatt, or something of no use."""

    texts: Sequence[str] = (" ".join(FACTS),)
    searches: list[str] = Field(default_factory=list)

    def _get_relevant_documents(self, query: str, **kwargs: Any) -> list[Document]:
        self.searches.append(query)
        return [Document(text, id=f"doc-{i}") for i, text in enumerate(self.texts)]


USELESS = ("The library opens at nine.",)


def policy(mode: str = "repair", via: str = "auto", **further: Any) -> dict[str, Any]:
    action = {"do": "regenerate", "mode": mode, **further.pop("action", {})}
    return JUDGED | {"action": action, "sampling": {"max": N, "via": via}} | further


PATIENT = {"sampling": {"max": N, "start": "after"}}


def sources(verdict: dict[str, Any]) -> list[str]:
    return [source["id"] for source in verdict["regeneration"]["sources"]]


def repaired(text: str) -> bool:
    """Whether a text says what the documents say, and nothing else."""
    rest = text
    for fact in FACTS:
        rest = rest.replace(fact, "")
    return bool(text.strip()) and not rest.strip()


@pytest.mark.usefixtures("litellm")
@pytest.mark.parametrize("mode", ["repair", "rewrite"])
@pytest.mark.parametrize("via", ["litellm", "native"])
async def test_the_message_is_the_repaired_one(make_model_at, provider, mode, via):
    shelf, recorder = Shelf(), Recorder()
    inside = make_model_at(provider, plain=via == "litellm")
    model = GuardedChatModel(inside, policy(mode, via), retriever=shelf)
    message = await model.ainvoke(MADE_UP, {"callbacks": [recorder]})
    verdict = verdict_of(message)
    draft = verdict["regeneration"]["draft"]
    assert repaired(message.content)
    assert (verdict["action"], verdict["decision"], verdict["via"]) == (
        "regenerate",
        "consistent",
        via,
    )
    assert [s["text"] for s in verdict["sentences"]] == [
        message.content[s["start"] : s["end"]] for s in verdict["sentences"]
    ]
    assert draft.startswith(("The Zorblatt", "Every year", "A copy"))
    assert draft != message.content
    assert sources(verdict) == ["doc-0"]
    assert shelf.searches
    assert recorder.verdicts == [verdict]
    assert read_verdict(message).regenerated


@pytest.mark.parametrize(
    ("sampling", "told"),
    [
        ({}, {}),
        ({"temperature": 0.9, "params": {"top_p": 0.5}}, {"temperature": 0.9, "top_p": 0.5}),
    ],
)
async def test_a_model_that_repeats_itself_gives_samples_of_the_new_answer_that_differ(
    ask, make_model, sampling, told
):
    wordings = ["The Zorblatt is a clock in Riga.", "In Riga, the Zorblatt is a clock."]
    made_up = [Invention("The Zorblatt was built in {year} by {person}.")]
    world = World([Subject("Zorblatt", facts=[wordings], inventions=made_up)])
    shelf = Shelf(texts=[f"{wordings[0]} {FACTS[0]}"])
    repeating = {"temperature": 0, "seed": 7, "cache": InMemoryCache()}
    given = policy(
        "rewrite",
        action={"resample": True},
        sampling={"max": 6, "confidence": None, "via": "native", **sampling},
        # One after the other, so that a cache would have what the first was answered.
        limits={"concurrency": 1},
    )
    with SimulatedProvider(seed=5, world=world) as provider:
        model = make_model(base_url=provider.base_url, **repeating)
        message = await ask(GuardedChatModel(model, given, retriever=shelf), MADE_UP)
        bodies = [request.body for request in provider.requests]
    verdict = verdict_of(message)
    assert (verdict["action"], verdict["decision"]) == ("regenerate", "consistent")
    assert FACTS[0] in message.text
    asked = [b for b in bodies if "these documents" in b["messages"][-1]["content"]]
    (written, *samples) = [
        {k: body[k] for k in ("seed", "temperature", "top_p") if k in body} for body in asked
    ]
    # Samples that are all the same would prove nothing, and the verdict would say so.
    assert written == {"seed": 7, "temperature": 0}
    assert samples == [told] * 6


async def test_judges_whose_answers_are_to_differ_are_not_the_model_that_repeats_itself(
    ask, make_model, provider
):
    given = JUDGED | {
        "chain": [{"method": "fibe", "answers": 3}],
        "sampling": {"via": "native", "params": {"max_tokens": 9}},
    }
    await ask(GuardedChatModel(make_model(temperature=0, seed=7), given), KNOWN)
    _, *asked = [request.body for request in provider.requests]
    told = [[b.get(k) for k in ("temperature", "seed", "max_tokens")] for b in asked]
    # The exam is made and marked by what it is known to say.
    assert told.count([None, None, None]) == 3
    assert told.count([0, 7, None]) == len(told) - 3 > 0


@pytest.mark.parametrize("mode", ["repair", "rewrite"])
async def test_both_ways_to_ask_give_it(ask, make_model, mode):
    model = GuardedChatModel(make_model(logprobs=True), policy(mode), retriever=Shelf())
    message = await ask(model, MADE_UP)
    assert repaired(message.content)
    assert "logprobs" not in message.response_metadata
    assert message.usage_metadata["output_tokens"] > 0


async def test_where_it_came_from_is_kept_and_what_belonged_to_the_old_words_is_not(ask):
    thoughts = "I will make up a name."
    draft = AIMessage(
        [{"type": "reasoning", "reasoning": thoughts}, {"type": "text", "text": "Ada built it."}],
        id="m1",
        additional_kwargs={"reasoning_content": thoughts},
        response_metadata={
            "model_name": "small",
            "finish_reason": "length",
            "logprobs": {"content": [{"token": "Ada", "logprob": -1.0}]},
        },
        usage_metadata={"input_tokens": 7, "output_tokens": 5, "total_tokens": 12},
    )
    model = Writer(draft=draft, written="It was built in 1890 by Ada Moor. [1]")
    guarded = GuardedChatModel(model, policy("rewrite", **PATIENT), retriever=Shelf())
    message = await ask(guarded, MADE_UP)
    assert (message.content, message.id) == ("It was built in 1890 by Ada Moor.", "m1")
    assert message.additional_kwargs == {}
    assert message.usage_metadata == draft.usage_metadata
    told = {k: v for k, v in message.response_metadata.items() if k != "hallucination"}
    assert told == {"model_name": "small", "finish_reason": "stop"}


@pytest.mark.parametrize(
    ("name", "said", "told"),
    [
        ("finish_reason", "STOP", "STOP"),
        ("finish_reason", "MAX_TOKENS", "stop"),
        ("stop_reason", "max_tokens", "end_turn"),
        ("stopReason", "end_turn", "end_turn"),
        ("done_reason", "length", "stop"),
    ],
)
async def test_it_ends_as_an_answer_does(ask, name, said, told):
    draft = AIMessage("Ada built it.", response_metadata={name: said})
    model = Writer(draft=draft, written="It was built in 1890 by Ada Moor. [1]")
    guarded = GuardedChatModel(model, policy("rewrite", **PATIENT), retriever=Shelf())
    message = await ask(guarded, MADE_UP)
    assert verdict_of(message)["action"] == "regenerate"
    assert message.response_metadata[name] == told


class Writer(BaseChatModel):
    """Makes up its samples, supports what documents say, and writes what it is told to."""

    draft: AIMessage
    written: str
    asked: list[list[Any]] = Field(default_factory=list)
    given: list[dict[str, Any]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "writer"

    def _generate(
        self, messages: list[Any], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        self.asked.append(messages)
        self.given.append({**kwargs, "stop": stop})
        answer = self._answer(str(messages[-1].text))
        return ChatResult(generations=[ChatGeneration(message=answer)])

    def _answer(self, question: str) -> AIMessage:
        if "Answer by these documents:" in question:
            return AIMessage(self.written)
        if "<documents-" in question:
            documents, _, claims = question.partition("<claims-")
            found = re.findall(r'number="(\d+)">\n(.*?)\n</document-', documents, re.DOTALL)
            known = [int(n) for n, text in found if "1890" in text and "1890" in claims]
            return AIMessage(json.dumps([{"claim": 1, "supported_by": known}]))
        if "<context-" in question:
            context, _, sentence = question.partition("<claims-")
            return AIMessage("1: Yes" if "1890" in context and "1890" in sentence else "1: No")
        if len(self.asked) == 1:
            return self.draft
        return AIMessage(f"Nobody number {len(self.asked)} knows.")

    @property
    def request(self) -> list[Any]:
        """The conversation with which it was asked to write."""
        return next(asked for asked in self.asked if "these documents" in str(asked[-1].text))


async def test_the_writer_is_asked_with_the_whole_conversation(ask):
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    draft = AIMessage("Ada built it.")
    model = Writer(draft=draft, written="It was built in 1890 by Ada Moor. [1]")
    guarded = GuardedChatModel(model, policy("rewrite", **PATIENT), retriever=Shelf())
    conversation = [
        SystemMessage("Be brief."),
        HumanMessage("Hello."),
        AIMessage("Hello to you."),
        HumanMessage([{"type": "text", "text": "Who built it?"}, image]),
    ]
    message = await ask(guarded, conversation, stop=["\n\n\n"], colour="blue")
    system, hello, back, question = model.request
    assert message.content == "It was built in 1890 by Ada Moor."
    assert [(m.type, m.text) for m in (system, hello, back)] == [
        ("system", "Be brief."),
        ("human", "Hello."),
        ("ai", "Hello to you."),
    ]
    assert question.content[:2] == [{"type": "text", "text": "Who built it?"}, image]
    assert "Answer by these documents:" in question.content[2]["text"]
    assert model.given[model.asked.index(model.request)] == {"colour": "blue", "stop": ["\n\n\n"]}


@pytest.mark.usefixtures("litellm")
async def test_what_goes_through_litellm_has_the_whole_conversation_too(make_model_at):
    with SimulatedProvider(seed=5) as provider:
        model = make_model_at(provider, plain=True)
        guarded = GuardedChatModel(model, policy("rewrite", "litellm"), retriever=Shelf())
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
        asked = HumanMessage([{"type": "text", "text": "Tell me about the Zorblatt."}, image])
        message = await guarded.ainvoke([SystemMessage("Be brief."), asked], max_tokens=150)
    assert verdict_of(message)["via"] == "litellm"
    bodies = [request.body for request in provider.requests]
    written = [b for b in bodies if "these documents" in str(b["messages"][-1]["content"])]
    assert written
    for body in written:
        system, question = body["messages"]
        assert system == {"role": "system", "content": "Be brief."}
        assert question["content"][1] == image
        assert "Rules:" in question["content"][2]["text"]
        assert 150 in (body.get("max_tokens"), body.get("max_completion_tokens"))


@pytest.mark.parametrize("mode", ["repair", "rewrite"])
@pytest.mark.parametrize("stream", ["hold", "buffer"])
@pytest.mark.parametrize("way", ["stream", "astream"])
async def test_a_stream_gives_the_repaired_answer(make_model, mode, stream, way):
    inside = make_model(stream_usage=True, logprobs=True)
    model = GuardedChatModel(inside, policy(mode, stream_mode=stream), retriever=Shelf())
    if way == "stream":
        chunks = list(model.stream(MADE_UP))
    else:
        chunks = [chunk async for chunk in model.astream(MADE_UP)]
    whole = sum(chunks[1:], chunks[0])
    assert repaired(whole.text)
    assert (chunks[-1].text, chunks[-1].chunk_position) == ("", "last")
    told = whole.response_metadata
    assert (told["finish_reason"], told["model_name"]) == ("stop", "simulated")
    assert "logprobs" not in told
    assert whole.usage_metadata["output_tokens"] > 0
    assert verdict_of(whole)["action"] == "regenerate"


async def test_held_sentences_before_the_first_doubtful_one_stay(make_model_at):
    known = [["The Zorblatt is in the north."], ["The Zorblatt is made of wood."]]
    made_up = [Invention("The Zorblatt was built by {person}.")]
    world = World([Subject("Zorblatt", facts=known, inventions=made_up)])
    said = [*(text for (text,) in known), "The Zorblatt was built by Ada Moor."]
    shelf = Shelf(texts=[" ".join(said)])
    with SimulatedProvider(seed=1, world=world) as provider:
        inside = make_model_at(provider, plain=False)
        model = GuardedChatModel(inside, policy(), retriever=shelf)
        chunks = [chunk async for chunk in model.astream(MADE_UP)]
    *shown, rest, last = chunks
    assert [chunk.text.strip() in said[:2] for chunk in shown] == [True] * len(shown)
    assert shown
    assert said[2] in rest.text
    assert verdict_of(last)["action"] == "regenerate"
    assert "".join(chunk.text for chunk in chunks).count("Zorblatt") == 3


async def test_what_is_consistent_is_left_alone(ask, make_model):
    shelf = Shelf()
    message = await ask(GuardedChatModel(make_model(), policy(), retriever=shelf), KNOWN)
    assert verdict_of(message)["action"] == "allow"
    assert "Canberra" in message.text
    assert shelf.searches == []


@pytest.mark.parametrize(
    ("otherwise", "action", "shown"),
    [("annotate", "annotate", "Zorblatt"), (BLOCKING, "block", MESSAGE)],
)
async def test_what_cannot_be_repaired_gets_what_the_policy_says(
    ask, make_model, otherwise, action, shown
):
    unmended = policy(action={"otherwise": otherwise})
    model = GuardedChatModel(make_model(), unmended, retriever=Shelf(texts=USELESS))
    message = await ask(model, MADE_UP)
    assert verdict_of(message)["action"] == action
    assert shown in message.text


async def test_what_cannot_be_repaired_may_raise(ask, make_model):
    raising = policy(action={"otherwise": RAISING})
    shelf = Shelf(texts=USELESS)
    with pytest.raises(HallucinationBlocked):
        await ask(GuardedChatModel(make_model(), raising, retriever=shelf), MADE_UP)
    chain = guard_runnable(PROMPT | make_model() | StrOutputParser(), raising, retriever=shelf)
    with pytest.raises(HallucinationBlocked):
        await ask(chain, {"question": MADE_UP})
    with pytest.raises(HallucinationBlocked):
        _ = [piece async for piece in chain.astream({"question": MADE_UP})]


async def test_a_batch_is_repaired_one_by_one(make_model):
    model = GuardedChatModel(make_model(), policy(), retriever=Shelf())
    for messages in (model.batch([MADE_UP, KNOWN]), await model.abatch([MADE_UP, KNOWN])):
        assert [verdict_of(m)["action"] for m in messages] == ["regenerate", "allow"]
        assert repaired(messages[0].text)


async def test_a_chain_gives_the_repaired_text(ask, make_model):
    collector = VerdictCollector()
    chain = guard_runnable(PROMPT | make_model() | StrOutputParser(), policy(), retriever=Shelf())
    text = await ask(chain, {"question": MADE_UP}, {"callbacks": [collector]})
    assert repaired(text)
    assert collector.last.regenerated
    pieces = [piece async for piece in chain.astream({"question": MADE_UP})]
    assert repaired("".join(pieces))


async def test_an_output_with_keys_has_the_repaired_text_and_its_verdict(ask, make_model):
    answer = PROMPT | make_model() | StrOutputParser()
    chain = guard_runnable(RunnablePassthrough.assign(answer=answer), policy(), retriever=Shelf())
    output = await ask(chain, {"question": MADE_UP})
    assert repaired(output["answer"])
    assert output["hallucination"]["action"] == "regenerate"


async def test_who_writes_must_be_known():
    writing = RunnableLambda(lambda asked: "Ada built it.")
    named = policy(chain=[{"method": "prompt", "judge": "openai/other"}])
    with pytest.raises(ConfigurationError, match=r"regenerates by the model .* name a `writer`"):
        guard_runnable(writing, named, retriever=Shelf())
    action = {"writer": "openai/other", "recheck": [{"method": "prompt"}]}
    named = policy(chain=[{"method": "ngram"}], action=action)
    with pytest.raises(ConfigurationError, match="name a judge for the checks of `recheck`"):
        guard_runnable(writing, named, retriever=Shelf())


@pytest.mark.all_turns
async def test_a_runnable_that_is_run_again_as_a_whole_is_repaired(ask, make_model):
    # What comes last is no model, so that all of it is run again; the model in it writes.
    chain = make_model() | RunnableLambda(lambda message: message)
    collector = VerdictCollector()
    repairing = guard_runnable(chain, policy("rewrite"), retriever=Shelf())
    message = await ask(repairing, MADE_UP, {"callbacks": [collector]})
    assert repaired(message.text)
    assert collector.last.regenerated


@tool
def weather(city: str) -> str:
    """Say what the weather is like."""
    return f"Sunny in {city}."


@tool
def time_of_day(city: str) -> str:
    """Say what time it is."""
    return f"Noon in {city}."


def agent(model: Any, given: Any, tools: Any = (), **kwargs: Any) -> Any:
    middleware = HallucinationMiddleware(given, **kwargs)
    return create_agent(model, list(tools), middleware=[middleware])


async def test_an_agents_last_message_is_the_repaired_one(ask, make_model):
    made = agent(make_model(), policy(), retriever=Shelf())
    state = await ask(made, {"messages": [HumanMessage(MADE_UP)]})
    question, answer = state["messages"]
    assert (question.text, repaired(answer.text)) == (MADE_UP, True)
    assert state["hallucination"]["action"] == "regenerate"
    assert state["hallucination"]["regeneration"]["draft"] != answer.text


async def test_an_agents_turns_that_call_tools_are_untouched(ask, make_model):
    shelf = Shelf()
    made = agent(make_model(), policy(), [weather, time_of_day], retriever=shelf)
    state = await ask(made, {"messages": [HumanMessage("[[tool]] weather in Paris")]})
    calls = state["messages"][1]
    assert [call["name"] for call in calls.tool_calls] == ["weather"]
    assert verdict_of(calls)["decision"] == "skipped"
    assert verdict_of(calls)["regeneration"] is None
    asked = {"messages": [*state["messages"], HumanMessage(MADE_UP)]}
    state = await ask(made, asked)
    assert repaired(state["messages"][-1].text)
    assert state["messages"][1].tool_calls == calls.tool_calls


@needs_hearing_agents
async def test_an_agent_streams_the_repaired_answer(make_model):
    made = agent(make_model(), policy(), retriever=Shelf())
    asked = {"messages": [HumanMessage(MADE_UP)]}
    parts = [part async for part, _ in made.astream(asked, stream_mode="messages")]
    assert repaired("".join(part.text for part in parts if part.type == "AIMessageChunk"))


@pytest.mark.parametrize("exit_behavior", ["replace", "end", "error"])
async def test_an_agent_does_what_it_is_told_with_what_stays_flagged(
    ask, make_model, exit_behavior
):
    for texts in (FACTS, USELESS):
        made = agent(
            make_model(),
            policy(),
            exit_behavior=exit_behavior,
            violation_message=MESSAGE,
            retriever=Shelf(texts=texts),
        )
        asked = {"messages": [HumanMessage(MADE_UP)]}
        if texts is USELESS and exit_behavior == "error":
            with pytest.raises(HallucinationBlocked):
                await ask(made, asked)
        else:
            state = await ask(made, asked)
            answer = state["messages"][-1].text
            assert answer == MESSAGE if texts is USELESS else repaired(answer)


async def test_objects_are_not_written_again(ask, make_model):
    class Bridge(BaseModel):
        """A bridge."""

        name: str
        year: int

    shelf, recorder = Shelf(), Recorder()
    model = GuardedChatModel(make_model(), policy(), retriever=shelf)
    found = await ask(
        model.with_structured_output(Bridge), "Make up a bridge.", {"callbacks": [recorder]}
    )
    assert isinstance(found, Bridge)
    assert recorder.verdicts[0]["decision"] == "flagged"
    assert (recorder.verdicts[0]["action"], shelf.searches) == ("annotate", [])


@pytest.mark.all_turns
async def test_searches_are_runs_that_no_stream_shows(ask, make_model):
    class Listening(Recorder):
        searches: list[Any] = []  # noqa: RUF012 - one object is made

        def on_retriever_start(self, serialized, query, *, tags, parent_run_id, **kwargs):
            self.searches.append((query, tags, self.runs[parent_run_id].name))

    listening = Listening()
    model = GuardedChatModel(make_model(), policy(), retriever=Shelf())
    await ask(model, MADE_UP, {"callbacks": [listening]})
    assert listening.searches
    for query, tags, parent in listening.searches:
        assert "Zorblatt" in query
        assert {"resay:retrieval", "nostream"} <= set(tags)
        assert parent == "GuardedChatModel"
    events = [event async for event in model.astream_events(MADE_UP, version="v2")]
    assert not [e for e in events if "retriever" in e["event"]]


class Everything(BaseCallbackHandler):
    """Remembers all it is told, apart from what is told of what a guard asks."""

    run_inline = True

    def __init__(self):
        self.seen: list[str] = []
        self.asides: set[Any] = set()

    def _note(self, told, run_id, tags=(), **kwargs):
        if any(tag.startswith("resay:") for tag in tags or ()):
            self.asides.add(run_id)
        if run_id not in self.asides:
            self.seen.append(repr((told, kwargs)))

    def on_chain_start(self, serialized, inputs, *, run_id, **kwargs):
        self._note(inputs, run_id, **kwargs)

    def on_chat_model_start(self, serialized, messages, *, run_id, **kwargs):
        self._note(messages, run_id, **kwargs)

    def on_retriever_start(self, serialized, query, *, run_id, **kwargs):
        self._note(query, run_id, **kwargs)

    def on_llm_new_token(self, token, *, run_id, **kwargs):
        self._note(token, run_id, **kwargs)

    def on_llm_end(self, response, *, run_id, **kwargs):
        self._note(response, run_id)

    def on_chain_end(self, outputs, *, run_id, **kwargs):
        self._note(outputs, run_id)

    def on_retriever_end(self, documents, *, run_id, **kwargs):
        self._note(documents, run_id)

    def on_custom_event(self, name, data, *, run_id, **kwargs):
        self._note(data, run_id)


@pytest.mark.usefixtures("wordless_verdicts")
@pytest.mark.parametrize("via", ["auto", "native"])
async def test_no_run_but_those_of_the_check_has_the_draft(ask, make_model, via):
    everything = Everything()
    drafts: list[str] = []

    class Noting(type(make_model())):
        def _generate(self, *args, **kwargs):
            result = super()._generate(*args, **kwargs)
            drafts.append(result.generations[0].text)
            return result

        async def _agenerate(self, *args, **kwargs):
            result = await super()._agenerate(*args, **kwargs)
            drafts.append(result.generations[0].text)
            return result

    plain = make_model()
    inside = Noting(**{k: getattr(plain, k) for k in type(plain).model_fields})
    model = GuardedChatModel(inside, policy(via=via) | PATIENT, retriever=Shelf())
    message = await ask(PROMPT | model, {"question": MADE_UP}, {"callbacks": [everything]})
    draft = drafts[0]
    assert verdict_of(message)["action"] == "regenerate"
    assert message.text not in draft
    for sentence in draft.split(". "):
        assert not [told for told in everything.seen if sentence in told]
    assert [told for told in everything.seen if FACTS[0] in told]
    assert everything.asides


async def test_a_retriever_of_the_applications_own_that_uses_langchains_is_not_shown(make_model):
    shelf = Shelf()

    async def search(query: str) -> list[str]:
        return [document.page_content for document in await shelf.ainvoke(query)]

    model = GuardedChatModel(make_model(), policy(), retriever=search)
    events = [event async for event in model.astream_events(MADE_UP, version="v2")]
    assert shelf.searches
    assert not [e for e in events if "retriever" in e["event"]]


async def test_many_at_once_are_not_mixed_up(make_model):
    model = GuardedChatModel(make_model(), policy(), retriever=Shelf())
    messages = await asyncio.gather(*(model.ainvoke(q) for q in [MADE_UP, KNOWN] * 3))
    actions = [verdict_of(message)["action"] for message in messages]
    assert actions == ["regenerate", "allow"] * 3


async def test_a_guard_brings_its_own_retriever(ask, make_model):
    ready = Guard(policy(), retriever=as_retriever(Shelf()))
    message = await ask(GuardedChatModel(make_model(), ready), MADE_UP)
    assert repaired(message.text)


def fake() -> Any:
    return GenericFakeChatModel(messages=cycle([AIMessage("Yes.")]))


Make = Callable[[], object]


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: GuardedChatModel(fake(), policy()), "there is no retriever"),
        (lambda: guard_runnable(fake() | StrOutputParser(), policy()), "there is no retriever"),
        (lambda: HallucinationMiddleware(policy()), "there is no retriever"),
        (lambda: GuardedChatModel(fake(), policy(), retriever=7), "type 'int'"),
        (lambda: GuardedChatModel(fake(), Guard(), retriever=Shelf()), "a Guard has its own"),
        (lambda: HallucinationCallback(policy()), r"says `action: \{do: regenerate\}`"),
        (
            lambda: HallucinationMiddleware(
                Guard(policy(), retriever=as_retriever(Shelf())), exit_behavior="end"
            ),
            "set `otherwise` in its policy",
        ),
        (
            lambda: HallucinationMiddleware(policy(), violation_message=MESSAGE, retriever=Shelf()),
            "this policy withholds none",
        ),
    ],
)
def test_what_cannot_work_is_refused_at_once(make: Make, problem: str):
    with pytest.raises(ConfigurationError, match=problem):
        make()


async def test_a_policy_may_name_its_retriever(ask, make_model, monkeypatch):
    monkeypatch.setattr(resay, "shelf_of_this_test", lambda query: list(FACTS), raising=False)
    named = policy(action={"retriever": "resay:shelf_of_this_test"})
    message = await ask(GuardedChatModel(make_model(), named), MADE_UP)
    assert repaired(message.text)
