from __future__ import annotations

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
    SimpleChatEngine,
)
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.memory import ChatMemoryBuffer

from resay import ConfigurationError, HallucinationBlocked
from resay_llamaindex import (
    VERDICT_KEY,
    GuardedChatEngine,
    GuardedLLM,
    GuardedQueryEngine,
    verdict_of,
)

pytestmark = pytest.mark.anyio

N = 3
NATIVE = {"max": N, "via": "native"}
# These are about samples; what is compared with documents has its own tests.
BY_SAMPLES = {"sampling": NATIVE, "references": {"from": []}}
JUDGED = {"chain": [{"method": "prompt", "mode": "per_sample"}], **BY_SAMPLES}
UNJUDGED = {"chain": [{"method": "ngram"}], **BY_SAMPLES}
MESSAGE = "No answer today."
BLOCK = {"action": {"do": "block", "message": MESSAGE}}
RAISE = {"action": {"do": "block", "exit": "raise"}}
MADE_UP, KNOWN = "What is the Zorblatt?", "What is Canberra?"
MODES = ["simple", "context", "condense_plus_context", "condense_question"]


@pytest.fixture(params=MODES)
def mode(request):
    return request.param


@pytest.fixture
def make(index):
    def make(mode: str, llm, streaming: bool = False) -> BaseChatEngine:
        memory = ChatMemoryBuffer.from_defaults(token_limit=4000)
        retriever = index.as_retriever()
        if mode == "simple":
            return SimpleChatEngine.from_defaults(llm=llm, memory=memory)
        if mode == "context":
            return ContextChatEngine.from_defaults(retriever, llm=llm, memory=memory)
        if mode == "condense_plus_context":
            return CondensePlusContextChatEngine.from_defaults(retriever, llm=llm, memory=memory)
        engine = index.as_query_engine(llm=llm, streaming=streaming)
        return CondenseQuestionChatEngine.from_defaults(engine, llm=llm, memory=memory)

    return make


async def tokens_of(response):
    if response.achat_stream is not None:
        return [token async for token in response.async_response_gen()]
    return list(response.response_gen)


async def test_gives_the_answer_with_its_verdict(call, llm, make, mode, provider):
    engine = GuardedChatEngine(make(mode, llm), JUDGED)
    response = await call(engine, "chat", MADE_UP)
    verdict = verdict_of(response)
    assert (verdict.decision, verdict.samples) == ("flagged", N)
    assert verdict.sentences[0].text in response.response
    assert [m.role.value for m in engine.chat_history] == ["user", "assistant"]
    assert not [m for m in engine.chat_history if VERDICT_KEY in m.additional_kwargs]


async def test_a_conversation_goes_on(call, llm, make, mode, provider, seen):
    engine = GuardedChatEngine(make(mode, llm), UNJUDGED)
    await call(engine, "chat", MADE_UP)
    response = await call(engine, "chat", KNOWN)
    assert verdict_of(response) is not None
    assert len(engine.chat_history) == 4
    # A conversation is condensed by one more call, which is not sampled.
    condensed = 1 if mode.startswith("condense") else 0
    # A query engine writes its samples one by one.
    requests = N if mode == "condense_question" else 1
    assert provider.calls == 2 * (1 + requests) + condensed
    assert len([e for e in seen if e.class_name() == "HallucinationVerdictEvent"]) == 2
    assert not [r for r in provider.requests if VERDICT_KEY in repr(r.body)]
    engine.reset()
    assert engine.chat_history == []


@pytest.mark.parametrize(
    ("mode", "stream"),
    [("simple", "after"), ("simple", "buffer"), ("context", "after")]
    + [(mode, "hold") for mode in MODES if mode != "condense_question"],
    indirect=["mode"],
)
async def test_streams(call, llm, make, mode, stream):
    engine = GuardedChatEngine(make(mode, llm), JUDGED | {"stream_mode": stream})
    response = await call(engine, "stream_chat", MADE_UP)
    text = "".join(await tokens_of(response))
    verdict = verdict_of(response)
    assert verdict.flagged
    assert text[verdict.sentences[0].start : verdict.sentences[0].end] == verdict.sentences[0].text
    assert engine.chat_history[-1].content == text


async def test_streams_where_the_query_engine_does(llm, make):
    engine = GuardedChatEngine(make("condense_question", llm, streaming=True), JUDGED)
    response = engine.stream_chat(MADE_UP)
    text = "".join(response.response_gen)
    assert verdict_of(response).flagged
    assert verdict_of(response).sentences[0].text in text


async def test_a_withheld_answer_is_not_remembered(call, llm, make, mode):
    engine = GuardedChatEngine(make(mode, llm), JUDGED | BLOCK)
    response = await call(engine, "chat", MADE_UP)
    assert response.response == MESSAGE
    assert engine.chat_history[-1].content == MESSAGE
    assert response.metadata[VERDICT_KEY]["action"] == "block"


async def test_blocking_may_raise(call, llm, make, mode):
    engine = GuardedChatEngine(make(mode, llm), JUDGED | RAISE)
    with pytest.raises(HallucinationBlocked):
        await call(engine, "chat", MADE_UP)


@pytest.mark.parametrize("mode", ["simple", "context", "condense_plus_context"], indirect=True)
async def test_an_engine_with_a_guarded_llm_keeps_its_policy(call, llm, make, mode, provider):
    guarded = GuardedLLM(llm, UNJUDGED)
    engine = GuardedChatEngine(make(mode, guarded))
    assert engine.guard is guarded.guard
    response = await call(engine, "chat", MADE_UP)
    assert [s.method for s in verdict_of(response).steps] == ["ngram"]
    assert provider.calls == 1 + 1


async def test_an_engine_with_a_guarded_query_engine_keeps_its_policy(call, llm, index, provider):
    inside = GuardedQueryEngine(index.as_query_engine(llm=llm), UNJUDGED)
    memory = ChatMemoryBuffer.from_defaults(token_limit=4000)
    asking = CondenseQuestionChatEngine.from_defaults(inside, llm=llm, memory=memory)
    engine = GuardedChatEngine(asking)
    response = await call(engine, "chat", MADE_UP)
    assert [s.method for s in verdict_of(response).steps] == ["ngram"]
    assert provider.calls == 1 + N


class Opaque(BaseChatEngine):
    reset = chat = achat = stream_chat = astream_chat = chat_history = None


@pytest.mark.parametrize(("wrong", "problem"), [("x", "not 'str'"), (Opaque(), "cannot be found")])
async def test_what_cannot_work_is_refused_at_once(wrong, problem):
    with pytest.raises(ConfigurationError, match=problem):
        GuardedChatEngine(wrong)
