from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.callbacks import CallbackManager, LlamaDebugHandler
from llama_index.core.indices.query.query_transform.base import IdentityQueryTransform
from llama_index.core.prompts import PromptTemplate
from llama_index.core.query_engine import (
    CitationQueryEngine,
    RetrieverQueryEngine,
    TransformQueryEngine,
)
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from pydantic import BaseModel

from resay import ConfigurationError, HallucinationBlocked
from resay_llamaindex import VERDICT_KEY, GuardedLLM, GuardedQueryEngine, verdict_of
from simulation import Refused, SimulatedProvider

pytestmark = pytest.mark.anyio

N = 3
# These are about samples; what is compared with documents has its own tests.
BY_SAMPLES = {"sampling": {"max": N}, "references": {"from": []}}
JUDGED = {"chain": [{"method": "prompt", "mode": "per_sample"}], **BY_SAMPLES}
UNJUDGED = {"chain": [{"method": "ngram"}], **BY_SAMPLES}
REFERENCES = {
    "chain": [{"method": "similarity", "evidence": "references"}],
    "sampling": {"max": N},
}
MESSAGE = "No answer today."
BLOCK = {"action": {"do": "block", "message": MESSAGE}}
RAISE = {"action": {"do": "block", "exit": "raise"}}
MADE_UP, KNOWN = "What is the Zorblatt?", "What is Canberra?"
MODES = ["compact", "refine", "simple_summarize", "tree_summarize"]
EVENT = "HallucinationVerdictEvent"


def answers(provider: SimulatedProvider) -> list[dict[str, Any]]:
    """What was sent for answers and samples."""
    sent = [dict(request.body or {}) for request in provider.requests]
    return [b for b in sent if "<claims-" not in str(b["messages"][-1]["content"])]


class Counting(BaseRetriever):
    """Finds one node, and counts how often it is asked."""

    def __init__(self, nodes: int = 1) -> None:
        super().__init__()
        self.calls = 0
        self._found = [
            NodeWithScore(node=TextNode(text="The library opens at nine."), score=1.0)
        ] * nodes

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.calls += 1
        return self._found


async def read(response: Any) -> list[str]:
    if isinstance(response, StreamingResponse):
        return list(response.response_gen)
    return [token async for token in response.async_response_gen()]


@pytest.mark.parametrize("mode", MODES)
async def test_gives_the_response_with_its_verdict(call, llm, index, provider, mode):
    engine = GuardedQueryEngine(index.as_query_engine(llm=llm, response_mode=mode), JUDGED)
    response = await call(engine, "query", MADE_UP)
    verdict = verdict_of(response)
    assert isinstance(response, Response)
    assert (verdict.decision, verdict.samples, verdict.via) == ("flagged", N, "native")
    assert len(response.source_nodes) == 2
    assert response.metadata[response.source_nodes[0].node_id] == {"page": 1}
    assert all(s.text in response.response for s in verdict.sentences)
    calls_each = 2 if mode == "refine" else 1
    assert len(answers(provider)) == calls_each * (1 + N)
    assert verdict.usage.calls == provider.calls - calls_each


async def test_retrieves_once(call, llm, provider):
    retriever = Counting()
    inside = RetrieverQueryEngine.from_args(retriever, llm=llm)
    response = await call(GuardedQueryEngine(inside, JUDGED), "query", KNOWN)
    assert verdict_of(response).decision == "consistent"
    assert retriever.calls == 1
    asked = [body["messages"] for body in answers(provider)]
    assert asked == [asked[0]] * (1 + N)
    assert [b["temperature"] for b in answers(provider)].count(1.0) == N


@pytest.mark.all_turns
async def test_the_nodes_are_the_references(call, llm):
    inside = RetrieverQueryEngine.from_args(Counting(), llm=llm)
    policy = REFERENCES | {"chain": [{"method": "prompt", "evidence": "references"}]}
    response = await call(GuardedQueryEngine(inside, policy), "query", KNOWN)
    verdict = verdict_of(response)
    assert (verdict.samples, verdict.inconclusive) == (0, False)
    assert {c.evidence for s in verdict.sentences if (c := s.contradicted_by)} <= {"reference"}


@pytest.mark.all_turns
async def test_where_nothing_is_found_nobody_is_asked(call, llm, provider):
    inside = RetrieverQueryEngine.from_args(Counting(0), llm=llm)
    response = await call(GuardedQueryEngine(inside, JUDGED), "query", KNOWN)
    assert str(response) == "Empty Response"
    assert verdict_of(response).decision == "skipped"
    assert provider.calls == 0


@pytest.mark.parametrize("guarded", [False, True])
async def test_blocking_replaces_the_response(call, llm, index, guarded, seen):
    inside = index.as_query_engine(llm=GuardedLLM(llm, JUDGED | RAISE) if guarded else llm)
    response = await call(GuardedQueryEngine(inside, JUDGED | BLOCK), "query", MADE_UP)
    assert str(response) == MESSAGE
    assert response.metadata[VERDICT_KEY]["action"] == "block"
    assert "Zorblatt" not in repr(response.metadata)
    assert len(response.source_nodes) == 2
    # The guard inside left it to this one.
    assert [e.verdict["action"] for e in seen if e.class_name() == EVENT] == ["block"]


async def test_blocking_may_raise(call, llm, index, seen):
    engine = GuardedQueryEngine(index.as_query_engine(llm=llm), JUDGED | RAISE)
    with pytest.raises(HallucinationBlocked):
        await call(engine, "query", MADE_UP)
    assert [e.verdict["action"] for e in seen if e.class_name() == EVENT] == ["block"]


@pytest.mark.parametrize(
    ("stream", "question"),
    [("hold", KNOWN), ("hold", MADE_UP), ("after", MADE_UP), ("buffer", MADE_UP)],
)
async def test_streams(call, llm, index, seen, stream, question):
    inside = index.as_query_engine(llm=llm, streaming=True)
    engine = GuardedQueryEngine(inside, JUDGED | {"stream_mode": stream})
    response = await call(engine, "query", question)
    assert isinstance(response, (StreamingResponse, AsyncStreamingResponse))
    assert len(response.source_nodes) == 2
    assert verdict_of(response) is None
    tokens = await read(response)
    verdict = verdict_of(response)
    assert verdict.flagged is (question == MADE_UP)
    assert "".join(tokens).count(verdict.sentences[0].text) == 1
    assert verdict.sentences[-1].end == len("".join(tokens))
    if stream == "buffer":
        assert len(tokens) == 1
    assert len([e for e in seen if e.class_name() == EVENT]) == 1


@pytest.mark.parametrize("stream", ["hold", "buffer"])
async def test_a_stream_may_be_withheld(call, llm, index, stream):
    inside = index.as_query_engine(llm=llm, streaming=True)
    engine = GuardedQueryEngine(inside, JUDGED | BLOCK | {"stream_mode": stream})
    response = await call(engine, "query", MADE_UP)
    assert (await read(response))[-1] == MESSAGE
    assert verdict_of(response).flagged


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_guarded_llm_inside_does_nothing(call, llm, index, provider, streaming):
    inside = index.as_query_engine(llm=GuardedLLM(llm, UNJUDGED), streaming=streaming)
    response = await call(GuardedQueryEngine(inside), "query", MADE_UP)
    if streaming:
        await read(response)
    assert [s.method for s in verdict_of(response).steps] == ["ngram"]
    assert provider.calls == 1 + N


async def test_callbacks_see_the_answer_once(call, make_llm, index):
    handler = LlamaDebugHandler(print_trace_on_end=False)
    manager = CallbackManager([handler])
    inside = index.as_query_engine(llm=make_llm(callback_manager=manager))
    inside._response_synthesizer.callback_manager = manager
    await call(GuardedQueryEngine(inside, JUDGED), "query", MADE_UP)
    assert len(handler.get_llm_inputs_outputs()) == 1


async def test_events_tell_who_asks(call, llm, index, seen):
    await call(GuardedQueryEngine(index.as_query_engine(llm=llm), JUDGED), "query", MADE_UP)
    starts = [e for e in seen if e.class_name() == "SynthesizeStartEvent"]
    assert sorted(e.tags["resay"] for e in starts) == ["main"] + ["sample"] * N
    (event,) = (e for e in seen if e.class_name() == EVENT)
    assert event.span_id.startswith("GuardedQueryEngine")


async def test_changed_prompts_are_used_for_samples_too(call, llm, index, provider):
    inside = index.as_query_engine(llm=llm)
    engine = GuardedQueryEngine(inside, UNJUDGED)
    template = PromptTemplate("{context_str} In short: {query_str}")
    assert engine.get_prompts().keys() == inside.get_prompts().keys()
    engine.update_prompts({"response_synthesizer:text_qa_template": template})
    await call(engine, "query", KNOWN)
    asked = [b["messages"][-1]["content"] for b in answers(provider)]
    assert len(asked) == 1 + N
    assert all("In short: " in text for text in asked)


class City(BaseModel):
    """A city."""

    name: str
    year: int


@pytest.mark.parametrize("mode", ["tree_summarize", "structured llm"])
async def test_objects_are_compared_field_by_field(call, llm, index, provider, mode):
    if mode == "tree_summarize":
        inside = index.as_query_engine(llm=llm, response_mode=mode, output_cls=City)
    else:
        inside = index.as_query_engine(llm=llm.as_structured_llm(City))
    response = await call(GuardedQueryEngine(inside, UNJUDGED), "query", MADE_UP)
    assert isinstance(response, PydanticResponse)
    assert isinstance(response.response, City)
    assert (verdict_of(response).structured, verdict_of(response).samples) == (True, N)
    assert provider.calls == 1 + N


class Asking(BaseQueryEngine):
    """An engine that cannot retrieve."""

    def __init__(self, inner: Any) -> None:
        super().__init__(None)
        self.inner = inner
        self.calls = 0

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {}

    def _query(self, query_bundle: QueryBundle) -> Any:
        self.calls += 1
        return self.inner.query(query_bundle)

    async def _aquery(self, query_bundle: QueryBundle) -> Any:
        self.calls += 1
        return await self.inner.aquery(query_bundle)


@pytest.mark.parametrize("streaming", [False, True])
async def test_an_engine_that_cannot_retrieve_is_asked_again(call, llm, index, streaming):
    inside = Asking(index.as_query_engine(llm=llm, streaming=streaming))
    engine = GuardedQueryEngine(inside, JUDGED, llm=llm)
    response = await call(engine, "query", MADE_UP)
    assert verdict_of(response).flagged
    assert len(response.source_nodes) == 2
    if streaming:
        assert verdict_of(response).sentences[0].text in (await read(response))[0]


@pytest.mark.parametrize("kind", ["citation", "transform"])
async def test_other_engines_that_retrieve(call, llm, index, provider, kind):
    if kind == "citation":
        inside = CitationQueryEngine.from_args(index, llm=llm, retriever=Counting())
    else:
        plain = RetrieverQueryEngine.from_args(Counting(), llm=llm)
        inside = TransformQueryEngine(plain, IdentityQueryTransform())
    response = await call(GuardedQueryEngine(inside, JUDGED), "query", MADE_UP)
    assert verdict_of(response).flagged
    assert [b["temperature"] for b in answers(provider)].count(1.0) == N


@pytest.mark.parametrize("between", [False, True])
async def test_nested_engines_act_once(call, llm, provider, between):
    retriever = Counting()
    plain = RetrieverQueryEngine.from_args(retriever, llm=llm)
    inside: BaseQueryEngine = GuardedQueryEngine(plain, JUDGED | RAISE)
    if between:
        inside = TransformQueryEngine(inside, IdentityQueryTransform())
    response = await call(GuardedQueryEngine(inside, UNJUDGED), "query", MADE_UP)
    assert [s.method for s in verdict_of(response).steps] == ["ngram"]
    assert (provider.calls, retriever.calls) == (1 + N, 1)
    assert [b["temperature"] for b in answers(provider)].count(1.0) == N


@pytest.mark.all_turns
async def test_answers_from_given_nodes_are_guarded(call, llm, provider):
    retriever = Counting()
    engine = GuardedQueryEngine(RetrieverQueryEngine.from_args(retriever, llm=llm), JUDGED)
    bundle = QueryBundle(MADE_UP)
    nodes = await call(engine, "retrieve", bundle)
    further = [NodeWithScore(node=TextNode(text="A source more."))]
    response = await call(engine, "synthesize", bundle, nodes, further)
    assert verdict_of(response).flagged
    assert response.source_nodes == [*nodes, *further]
    assert retriever.calls == 1


async def test_many_at_once_are_not_mixed_up(llm, index):
    engine = GuardedQueryEngine(index.as_query_engine(llm=llm), UNJUDGED)
    responses = await asyncio.gather(*(engine.aquery(q) for q in [MADE_UP, KNOWN] * 5))
    for response in responses:
        for sentence in verdict_of(response).sentences:
            assert response.response[sentence.start : sentence.end] == sentence.text


@pytest.mark.all_turns
async def test_errors_come_as_they_are(call, make_llm, index):
    import openai

    with SimulatedProvider(faults=[Refused()]) as refusing:
        llm = make_llm(api_base=refusing.base_url)
        engine = GuardedQueryEngine(index.as_query_engine(llm=llm), JUDGED)
        with pytest.raises(openai.APIStatusError):
            await call(engine, "query", MADE_UP)


@pytest.mark.parametrize(
    ("wrap", "policy", "problem"),
    [
        (lambda e: "an engine", UNJUDGED, "not 'str'"),
        (Asking, JUDGED, "pass `llm`, or name a judge"),
        (lambda e: e, UNJUDGED | {"sampling": {"model": "openai/other"}}, "`sampling.model` is"),
        (lambda e: e, UNJUDGED | {"sampling": {"via": "litellm"}}, "`sampling.via` is 'litellm'"),
        (lambda e: e, {"chain": [{"method": "logprobs"}]}, "query engines do not pass on"),
    ],
)
async def test_what_cannot_work_is_refused_at_once(llm, index, wrap, policy, problem):
    with pytest.raises(ConfigurationError, match=problem):
        GuardedQueryEngine(wrap(index.as_query_engine(llm=llm)), policy)


@pytest.mark.parametrize("streaming", [False, True])
async def test_what_is_flagged_is_marked(call, llm, index, streaming):
    policy = {**JUDGED, "action": {"do": "annotate", "marks": "inline"}}
    engine = GuardedQueryEngine(index.as_query_engine(llm=llm, streaming=streaming), policy)

    response = await call(engine, "query", MADE_UP)
    text = "".join(await read(response)) if streaming else response.response

    plain = response.metadata[VERDICT_KEY]["response"]
    marked = ""
    position = 0
    for sentence in verdict_of(response).flagged_sentences:
        marked += f"{plain[position : sentence.end]} [{sentence.band}]"
        position = sentence.end
    assert position > 0
    assert text == marked + plain[position:]
