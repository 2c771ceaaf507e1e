"""Flagged answers that are written again, in every place where LlamaIndex's users meet them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core import SummaryIndex
from llama_index.core.agent.workflow import AgentStream, FunctionAgent
from llama_index.core.callbacks import CallbackManager, LlamaDebugHandler
from llama_index.core.callbacks.schema import CBEventType
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
    SimpleChatEngine,
)
from llama_index.core.indices.query.query_transform.base import IdentityQueryTransform
from llama_index.core.llms import ChatMessage, ImageBlock, MockLLM, TextBlock
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.query_engine import RetrieverQueryEngine, TransformQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from pydantic import BaseModel

from resay import Answer, ConfigurationError, Guard, HallucinationBlocked
from resay_llamaindex import (
    VERDICT_KEY,
    GuardedChatEngine,
    GuardedLLM,
    GuardedQueryEngine,
    as_retriever,
    verdict_of,
)
from simulation import Invention, SimulatedProvider, Subject, World

pytestmark = [
    pytest.mark.anyio,
    # LlamaIndex's workflows look at every attribute of an agent, those that pydantic gave up too.
    pytest.mark.filterwarnings("ignore:The `.*` attribute is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the 'model_.*' attribute:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning"),
]

N = 3
MADE_UP, KNOWN = "What is the Zorblatt?", "What is Canberra?"
MESSAGE = "No answer today."
BLOCKING = {"do": "block", "message": MESSAGE}
RAISING = {"do": "block", "exit": "raise"}
FACTS = (
    "The Zorblatt was built in 1890 by Ada Moor.",
    "Every year 4000 people visit the Zorblatt.",
    "A copy of the Zorblatt stands in Oslo, made by Ada Moor.",
)
EVENT = "HallucinationVerdictEvent"
PIXEL = (
    b"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    b"rkJggg=="
)


class Shelf(BaseRetriever):
    """Finds what is right about the Zorblatt, or something of no use."""

    def __init__(self, *texts: str) -> None:
        super().__init__()
        self.texts = texts or (" ".join(FACTS),)
        self.searches: list[str] = []

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.searches.append(query_bundle.query_str)
        nodes = [TextNode(text=t, id_=f"node-{i}") for i, t in enumerate(self.texts)]
        return [NodeWithScore(node=node, score=1.0) for node in nodes]


USELESS = "The library opens at nine."


def policy(mode: str = "repair", via: str = "auto", **further: Any) -> dict[str, Any]:
    action = {"do": "regenerate", "mode": mode, **further.pop("action", {})}
    return {
        "chain": [{"method": "prompt", "mode": "per_sample"}],
        "sampling": {"max": N, "via": via},
        "action": action,
        "cache": {"store": "none"},
    } | further


def repaired(text: str | None) -> bool:
    """Whether a text says what the documents say, and nothing else."""
    rest = text or ""
    for fact in FACTS:
        rest = rest.replace(fact, "")
    return bool(text) and not rest.strip()


def sources(response: Any) -> list[str]:
    return [source.id for source in verdict_of(response).regeneration.sources]


def ask(text: str) -> list[ChatMessage]:
    return [ChatMessage(role="user", content=text)]


def drafts(seen: list[Any]) -> list[str]:
    return [e.response.message.content for e in seen if is_main_end(e)]


def is_main_end(event: Any) -> bool:
    return event.class_name() == "LLMChatEndEvent" and event.tags.get("resay") == "main"


@pytest.fixture(params=["sync", "async", "litellm"])
async def chat(
    request: pytest.FixtureRequest, make_llm: Any, litellm: Any
) -> AsyncIterator[Callable[..., Any]]:
    """Chat by both sides of an LLM that is asked again itself, and by one that litellm replaces."""
    through_litellm = request.param == "litellm"
    clients = {"http_client": None, "async_http_client": None} if through_litellm else {}
    llm = make_llm(**clients)

    async def chat(given: Any, retriever: Any, messages: list[ChatMessage], **kwargs: Any) -> Any:
        if through_litellm:
            given = given | {"sampling": given["sampling"] | {"via": "litellm"}}
        guarded = GuardedLLM(llm, given, retriever=retriever)
        if request.param == "sync":
            response = guarded.chat(messages, **kwargs)
        else:
            response = await guarded.achat(messages, **kwargs)
        assert verdict_of(response).via == ("litellm" if through_litellm else "native")
        return response

    yield chat
    if through_litellm:
        await llm._aclient.close()


@pytest.mark.parametrize("mode", ["repair", "rewrite"])
async def test_the_response_is_the_repaired_one(chat, seen, mode):
    response = await chat(policy(mode), Shelf(), ask(MADE_UP))
    verdict = verdict_of(response)
    (draft,) = drafts(seen)
    assert repaired(response.message.content)
    assert response.additional_kwargs[VERDICT_KEY]["action"] == "regenerate"
    assert (verdict.decision, verdict.regenerated, sources(response)) == (
        "consistent",
        True,
        ["node-0"],
    )
    assert verdict.regeneration.draft == draft
    assert response.additional_kwargs["total_tokens"] > 0
    assert (response.raw, response.logprobs) == (None, None)
    assert verdict_of(response.message) == verdict
    assert [e.verdict["action"] for e in seen if e.class_name() == EVENT] == ["regenerate"]
    told = response.additional_kwargs.pop(VERDICT_KEY)
    response.message.additional_kwargs.pop(VERDICT_KEY)
    assert told
    assert not [s for s in draft.split(". ") if s in repr(response)]


@pytest.mark.parametrize(
    ("sampling", "told"),
    [
        ({}, {"temperature": 1}),
        ({"temperature": 0.9, "params": {"top_p": 0.5}}, {"temperature": 0.9, "top_p": 0.5}),
    ],
)
async def test_an_llm_that_repeats_itself_gives_samples_of_the_new_answer_that_differ(
    call, make_llm, sampling, told
):
    wordings = ["The Zorblatt is a clock in Riga.", "In Riga, the Zorblatt is a clock."]
    made_up = [Invention("The Zorblatt was built in {year} by {person}.")]
    world = World([Subject("Zorblatt", facts=[wordings], inventions=made_up)])
    given = policy(
        "rewrite",
        action={"resample": True},
        sampling={"max": 6, "confidence": None, "via": "native", **sampling},
    )
    with SimulatedProvider(seed=5, world=world) as provider:
        llm = make_llm(api_base=provider.base_url, temperature=0, additional_kwargs={"seed": 7})
        guarded = GuardedLLM(llm, given, retriever=Shelf(f"{wordings[0]} {FACTS[0]}"))
        response = await call(guarded, "chat", ask(MADE_UP), temperature=0.05)
        bodies = [request.body for request in provider.requests]
    assert response.additional_kwargs[VERDICT_KEY]["action"] == "regenerate"
    assert verdict_of(response).decision == "consistent"
    assert FACTS[0] in response.message.content
    asked = [b for b in bodies if "these documents" in b["messages"][-1]["content"]]
    (written, *samples) = [
        {k: body[k] for k in ("seed", "temperature", "top_p") if k in body} for body in asked
    ]
    # Samples that are all the same would prove nothing, and the verdict would say so.
    assert written == {"seed": 7, "temperature": 0.05}
    assert samples == [told] * 6


async def test_judges_whose_answers_are_to_differ_are_not_the_llm_that_repeats_itself(
    call, make_llm, provider
):
    given = {
        "chain": [{"method": "fibe", "answers": 3}],
        "sampling": {"via": "native", "params": {"max_tokens": 9}},
        "cache": {"store": "none"},
    }
    llm = make_llm(temperature=0, additional_kwargs={"seed": 7})
    await call(GuardedLLM(llm, given), "chat", ask(KNOWN))
    _, *asked = [request.body for request in provider.requests]
    told = [[b.get(k) for k in ("temperature", "seed")] for b in asked]
    # The exam is made and marked by what it is known to say.
    assert told.count([1, None]) == 3
    assert told.count([0, 7]) == len(told) - 3 > 0
    # The limit of samples is not that of judges, who are given one for what they have to write.
    assert all(body["max_tokens"] > 9 for body in asked)


async def test_what_is_a_field_of_the_llm_is_not_said_in_the_call_again(
    call, make_llm, provider, monkeypatch
):
    llm = make_llm(temperature=0)
    known = type(llm)._get_model_kwargs

    def strict(self: Any, **kwargs: Any) -> dict[str, Any]:
        # As Ollama's does.
        if "temperature" in kwargs:
            raise TypeError("temperature")
        return known(self, **kwargs)

    monkeypatch.setattr(type(llm), "_get_model_kwargs", strict)
    sampling = {"max": N, "via": "native", "temperature": 0.9}
    given = policy("rewrite", action={"resample": True, "attempts": 1}, sampling=sampling)
    await call(GuardedLLM(llm, given, retriever=Shelf()), "chat", ask(MADE_UP))
    bodies = [request.body for request in provider.requests]
    told = [b["temperature"] for b in bodies if "these documents" in b["messages"][-1]["content"]]
    assert told == [0, *[0.9] * N]


async def test_judges_take_a_temperature_of_their_own(call, make_llm, provider):
    given = {
        "chain": [{"method": "fibe", "answers": 3, "temperature": 0.5}],
        "sampling": {"via": "native"},
        "cache": {"store": "none"},
    }
    await call(GuardedLLM(make_llm(temperature=0), given), "chat", ask(KNOWN))
    assert [r.body["temperature"] for r in provider.requests].count(0.5) == 3


@pytest.mark.parametrize("mode", ["repair", "rewrite"])
@pytest.mark.parametrize("stream", ["hold", "buffer"])
@pytest.mark.parametrize("method", ["stream_chat", "stream_complete"])
async def test_a_stream_gives_the_repaired_answer(call, llm, mode, stream, method):
    guarded = GuardedLLM(llm, policy(mode, stream_mode=stream), retriever=Shelf())
    asked = ask(MADE_UP) if method == "stream_chat" else MADE_UP
    pieces = await call(guarded, method, asked)
    texts = [p.message.content if method == "stream_chat" else p.text for p in pieces]
    *_, last = pieces
    assert repaired(texts[-1])
    assert "".join(p.delta for p in pieces) == texts[-1]
    assert (last.delta, last.raw) == ("", None)
    for (before, after), piece in zip(pairwise(texts), pieces[1:], strict=True):
        assert after == before + piece.delta
    assert last.additional_kwargs[VERDICT_KEY]["action"] == "regenerate"


@pytest.mark.parametrize("mode", ["repair", "rewrite"])
@pytest.mark.parametrize("stream", ["hold", "buffer"])
@pytest.mark.parametrize("method", ["chat", "stream_chat"])
async def test_no_event_but_those_with_tags_has_the_draft(
    call, llm, seen, monkeypatch, mode, stream, method
):
    def wordless(answer: Answer) -> dict[str, Any]:
        return {**answer.verdict.to_dict(content=False), "action": answer.action}

    # The verdict has the draft on purpose.
    monkeypatch.setattr("resay_llamaindex._outcome.answer_data", wordless)
    guarded = GuardedLLM(llm, policy(mode, stream_mode=stream), retriever=Shelf())
    await call(guarded, method, ask(MADE_UP))
    told = [repr(e) for e in seen if not e.tags]
    (draft,) = set(drafts(seen))
    assert not repaired(draft)
    assert not [s for s in draft.split(". ") if any(s in text for text in told)]
    assert [text for text in told if FACTS[0] in text]
    assert not [text for text in told if "document-" in text or "in doubt" in text]


async def test_completions_are_repaired(call, llm):
    response = await call(GuardedLLM(llm, policy(), retriever=Shelf()), "complete", MADE_UP)
    assert repaired(response.text)
    assert response.additional_kwargs[VERDICT_KEY]["action"] == "regenerate"


async def test_what_is_consistent_is_left_alone(call, llm):
    shelf = Shelf()
    response = await call(GuardedLLM(llm, policy(), retriever=shelf), "chat", ask(KNOWN))
    assert response.additional_kwargs[VERDICT_KEY]["action"] == "allow"
    assert response.raw is not None
    assert shelf.searches == []


@pytest.mark.parametrize(
    ("otherwise", "action", "shown"),
    [("annotate", "annotate", "Zorblatt"), (BLOCKING, "block", MESSAGE)],
)
async def test_what_stays_flagged_gets_what_the_policy_says(call, llm, otherwise, action, shown):
    unrepaired = policy(action={"otherwise": otherwise})
    guarded = GuardedLLM(llm, unrepaired, retriever=Shelf(USELESS))
    response = await call(guarded, "chat", ask(MADE_UP))
    assert response.additional_kwargs[VERDICT_KEY]["action"] == action
    assert shown in response.message.content


async def test_what_cannot_be_repaired_may_raise(call, llm):
    raising = policy(action={"otherwise": RAISING})
    guarded = GuardedLLM(llm, raising, retriever=Shelf(USELESS))
    for method in ("chat", "stream_chat"):
        with pytest.raises(HallucinationBlocked):
            await call(guarded, method, ask(MADE_UP))


async def test_the_writer_is_asked_with_the_whole_conversation(chat, provider):
    asked = [
        ChatMessage(role="system", content="Be brief."),
        ChatMessage(role="user", content="Hello."),
        ChatMessage(role="assistant", content="Hello to you."),
        ChatMessage(
            role="user",
            blocks=[TextBlock(text=MADE_UP), ImageBlock(image=PIXEL, image_mimetype="image/png")],
        ),
    ]
    response = await chat(policy("rewrite"), Shelf(), asked, max_tokens=150)
    assert repaired(response.message.content)
    bodies = [r.body for r in provider.requests]
    written = [b for b in bodies if "these documents" in str(b["messages"][-1]["content"])]
    assert written
    (main,) = [b for b in bodies if len(b["messages"]) == 4 and b.get("temperature") == 0.1][:1]
    for body in written:
        assert body["messages"][:3] == main["messages"][:3]
        text, image, rules = body["messages"][3]["content"]
        assert text["text"] == MADE_UP
        sent = main["messages"][3]["content"][1]["image_url"]["url"]
        assert image["image_url"]["url"] == sent == f"data:image/png;base64,{PIXEL.decode()}"
        assert "Rules:" in rules["text"]
        assert body["max_tokens"] == 150


async def test_a_conversation_with_tools_is_sent_on_to_the_writer(call, llm, provider):
    def weather(city: str) -> str:
        """Say what the weather is like."""
        return f"Sunny in {city}."

    from llama_index.core.tools import FunctionTool

    guarded = GuardedLLM(llm, policy("rewrite"), retriever=Shelf())
    tools = [FunctionTool.from_defaults(weather), FunctionTool.from_defaults(weather, name="other")]
    first = await call(guarded, "chat_with_tools", tools, user_msg="[[tool]] weather in Paris")
    assert verdict_of(first).decision == "skipped"
    (selected,) = guarded.get_tool_calls_from_response(first)
    result = ChatMessage(
        role="tool", content="Sunny.", additional_kwargs={"tool_call_id": selected.tool_id}
    )
    asked = [*ask("[[tool]] weather in Paris"), first.message, result, *ask(MADE_UP)]
    response = await call(guarded, "chat", asked)
    assert repaired(response.message.content)
    bodies = [r.body for r in provider.requests]
    (written,) = [b for b in bodies if "these documents" in str(b["messages"][-1]["content"])]
    roles = [message["role"] for message in written["messages"]]
    assert roles == ["user", "assistant", "tool", "user"]
    assert written["messages"][1]["tool_calls"][0]["function"]["name"] == selected.tool_name
    assert written["messages"][2]["tool_call_id"] == selected.tool_id
    assert "tools" not in written


async def test_what_is_asked_to_repair_is_tagged_and_told_to_no_callbacks(call, make_llm, seen):
    handler = LlamaDebugHandler(print_trace_on_end=False)
    llm = make_llm(callback_manager=CallbackManager([handler]))
    response = await call(GuardedLLM(llm, policy(), retriever=Shelf()), "chat", ask(MADE_UP))
    assert repaired(response.message.content)
    assert len(handler.get_llm_inputs_outputs()) == 1
    starts = [e for e in seen if e.class_name() == "LLMChatStartEvent" and e.tags]
    writing = [e for e in starts if "in doubt" in str(e.messages[-1].content)]
    assert writing
    assert {e.tags["resay"] for e in writing} == {"judge"}
    searches = [e for e in seen if e.class_name() == "RetrievalStartEvent"]
    assert {e.tags["resay"] for e in searches} == {"retrieval"}


async def read(response: Any) -> str:
    if hasattr(response, "async_response_gen"):
        return "".join([token async for token in response.async_response_gen()])
    return "".join(response.response_gen)


@pytest.mark.all_turns
async def test_an_engines_response_is_the_repaired_one(call, llm):
    own, named = Shelf(USELESS), Shelf()
    inside = RetrieverQueryEngine.from_args(own, llm=llm)
    response = await call(GuardedQueryEngine(inside, policy(), retriever=named), "query", MADE_UP)
    assert repaired(response.response)
    assert sources(response) == ["node-0"]
    assert response.metadata[VERDICT_KEY]["action"] == "regenerate"
    assert [found.node.get_content() for found in response.source_nodes] == [USELESS]
    assert response.metadata.keys() == {"node-0", VERDICT_KEY}
    assert own.searches == [MADE_UP]
    assert named.searches


class Turning(Shelf):
    """Finds nothing of use for the question, and what is right for any other."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = super()._retrieve(query_bundle)
        if query_bundle.query_str == MADE_UP:
            return [NodeWithScore(node=TextNode(text=USELESS, id_="useless"), score=1.0)]
        return found


@pytest.mark.parametrize("nested", [False, True])
async def test_an_engines_own_retriever_is_searched_if_no_other_is_named(call, llm, nested):
    handler = LlamaDebugHandler(print_trace_on_end=False)
    shelf = Turning()
    shelf.callback_manager = CallbackManager([handler])
    inside = RetrieverQueryEngine.from_args(shelf, llm=llm)
    if nested:
        inside = TransformQueryEngine(inside, IdentityQueryTransform())
    response = await call(GuardedQueryEngine(inside, policy()), "query", MADE_UP)
    assert repaired(response.response)
    assert sources(response) == ["node-0"]
    assert [found.node.node_id for found in response.source_nodes] == ["useless"]
    # Its callbacks hear of the user's question alone, not of words of the draft.
    assert len(shelf.searches) > 1
    assert len(handler.get_event_pairs(CBEventType.RETRIEVE)) == 1


@pytest.mark.parametrize("stream", ["hold", "buffer"])
@pytest.mark.parametrize("mode", ["repair", "rewrite"])
async def test_an_engine_streams_the_repaired_answer(call, llm, mode, stream):
    inside = RetrieverQueryEngine.from_args(Turning(), llm=llm, streaming=True)
    engine = GuardedQueryEngine(inside, policy(mode, stream_mode=stream))
    response = await call(engine, "query", MADE_UP)
    assert repaired(await read(response))
    assert response.metadata[VERDICT_KEY]["action"] == "regenerate"
    assert len(response.source_nodes) == 1


async def test_an_index_is_searched(call, llm):
    index = SummaryIndex([TextNode(text=" ".join(FACTS), id_="facts")])
    guarded = GuardedLLM(llm, policy(), retriever=index)
    with pytest.raises(ConfigurationError, match="a Guard has its own"):
        GuardedLLM(llm, guarded.guard, retriever=index)
    response = await call(guarded, "chat", ask(MADE_UP))
    assert repaired(response.message.content)
    assert sources(response) == ["facts"]


@pytest.mark.parametrize("named", [False, True])
async def test_an_engine_with_a_guarded_llm_keeps_its_policy(call, llm, named):
    useless = Shelf(USELESS)
    inside = GuardedLLM(llm, policy(), retriever=useless if named else Shelf())
    engine = RetrieverQueryEngine.from_args(Shelf(USELESS), llm=inside)
    guarded = GuardedQueryEngine(engine, retriever=Shelf() if named else None)
    response = await call(guarded, "query", MADE_UP)
    assert repaired(response.response)
    assert useless.searches == []


@pytest.fixture
def make_engine():
    def make(mode: str, llm: Any, retriever: Any, streaming: bool = False) -> Any:
        memory = ChatMemoryBuffer.from_defaults(token_limit=4000)
        if mode == "simple":
            return SimpleChatEngine.from_defaults(llm=llm, memory=memory)
        if mode == "context":
            return ContextChatEngine.from_defaults(retriever, llm=llm, memory=memory)
        if mode == "condense_plus_context":
            return CondensePlusContextChatEngine.from_defaults(retriever, llm=llm, memory=memory)
        engine = RetrieverQueryEngine.from_args(retriever, llm=llm, streaming=streaming)
        return CondenseQuestionChatEngine.from_defaults(engine, llm=llm, memory=memory)

    return make


@pytest.mark.parametrize("mode", ["context", "condense_plus_context", "condense_question"])
async def test_a_chat_engine_searches_with_its_own_retriever(call, llm, make_engine, mode):
    engine = GuardedChatEngine(make_engine(mode, llm, Turning()), policy())
    response = await call(engine, "chat", MADE_UP)
    assert repaired(response.response)
    assert sources(response) == ["node-0"]
    assert engine.chat_history[-1].content == response.response
    assert not [m for m in engine.chat_history if VERDICT_KEY in m.additional_kwargs]


@pytest.mark.parametrize("guarded", [False, True])
async def test_a_chat_engine_searches_where_it_is_told(call, llm, make_engine, guarded):
    writer = GuardedLLM(llm, policy(), retriever=Shelf(USELESS)) if guarded else llm
    inside = make_engine("simple", writer, None)
    given = None if guarded else policy()
    engine = GuardedChatEngine(inside, given, retriever=Shelf())
    response = await call(engine, "chat", MADE_UP)
    assert repaired(response.response)
    response = await call(engine, "stream_chat", MADE_UP)
    if response.achat_stream is not None:
        text = "".join([token async for token in response.async_response_gen()])
    else:
        text = "".join(response.response_gen)
    assert repaired(text)
    assert engine.chat_history[-1].content == text


@pytest.mark.parametrize("streaming", [True, False])
async def test_an_agents_output_is_the_repaired_one(llm, streaming):
    def weather(city: str) -> str:
        """Say what the weather is like."""
        return f"Sunny in {city}."

    guarded = GuardedLLM(llm, policy(), retriever=Shelf())
    handler = FunctionAgent(tools=[weather], llm=guarded, streaming=streaming).run(user_msg=MADE_UP)
    streamed = [e async for e in handler.stream_events() if isinstance(e, AgentStream)]
    output = await handler
    assert repaired(output.response.content)
    assert verdict_of(output).regenerated
    if streaming:
        assert "".join(e.delta for e in streamed) == output.response.content


async def test_objects_are_not_written_again(call, llm, seen):
    class Bridge(BaseModel):
        """A bridge."""

        name: str
        year: int

    shelf = Shelf()
    guarded = GuardedLLM(llm, policy(), retriever=shelf)
    response = await call(guarded.as_structured_llm(Bridge), "chat", ask("Make up a bridge."))
    assert isinstance(response.raw, Bridge)
    assert verdict_of(response).flagged
    assert (response.additional_kwargs[VERDICT_KEY]["action"], shelf.searches) == ("annotate", [])


async def test_a_guard_brings_its_own_retriever(call, llm):
    ready = Guard(policy(), retriever=as_retriever(Shelf()))
    response = await call(GuardedLLM(llm, ready), "chat", ask(MADE_UP))
    assert repaired(response.message.content)


class Hidden(RetrieverQueryEngine):
    """An engine whose LLM and retriever cannot be found."""

    def __init__(self) -> None:
        inside = RetrieverQueryEngine.from_args(Shelf(), llm=MockLLM())
        vars(self).update(_inside=inside, callback_manager=inside.callback_manager)


NAMED = {"chain": [{"method": "ngram"}]}
Make = Callable[[], object]


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: GuardedLLM(MockLLM(), policy()), "there is no retriever"),
        (lambda: GuardedLLM(MockLLM(), policy(), retriever=7), "type 'int'"),
        (lambda: GuardedQueryEngine(Hidden(), policy(**NAMED)), "there is no retriever"),
        (
            lambda: GuardedQueryEngine(Hidden(), policy(**NAMED), retriever=Shelf()),
            "pass `llm`, or name a `writer`",
        ),
        (
            lambda: GuardedQueryEngine(
                Hidden(),
                policy(action={"writer": "m", "recheck": [{"method": "prompt"}]}, **NAMED),
                retriever=Shelf(),
            ),
            "name a judge for the checks of `recheck`",
        ),
        (
            lambda: GuardedChatEngine(
                SimpleChatEngine.from_defaults(
                    llm=MockLLM(), memory=ChatMemoryBuffer.from_defaults(token_limit=4000)
                ),
                policy(),
            ),
            "there is no retriever",
        ),
    ],
)
def test_what_cannot_work_is_refused_at_once(make: Make, problem: str):
    with pytest.raises(ConfigurationError, match=problem):
        make()
