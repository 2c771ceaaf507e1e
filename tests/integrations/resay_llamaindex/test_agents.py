from __future__ import annotations

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.agent.workflow import AgentStream, FunctionAgent, ReActAgent
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import QueryEngineTool
from pydantic import BaseModel

from resay import HallucinationBlocked
from resay_llamaindex import VERDICT_KEY, GuardedLLM, GuardedQueryEngine, verdict_of

pytestmark = [
    pytest.mark.anyio,
    # LlamaIndex's workflows look at every attribute of an agent, those that pydantic gave up too.
    pytest.mark.filterwarnings("ignore:The `.*` attribute is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the 'model_.*' attribute:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning"),
    # LlamaIndex's StructuredLLM calls pydantic's old `json`.
    pytest.mark.filterwarnings("ignore:The `json` method is deprecated"),
]

N = 3
NATIVE = {"max": N, "via": "native"}
# These are about samples; what is compared with documents has its own tests.
BY_SAMPLES = {"sampling": NATIVE, "references": {"from": []}}
JUDGED = {"chain": [{"method": "prompt", "mode": "per_sample"}], **BY_SAMPLES}
UNJUDGED = {"chain": [{"method": "ngram"}], **BY_SAMPLES}
MESSAGE = "No answer today."
BLOCK = {"action": {"do": "block", "message": MESSAGE}}
RAISE = {"action": {"do": "block", "exit": "raise"}}
MADE_UP, TOOL = "What is the Zorblatt?", "[[tool]] weather in Paris"
EVENT = "HallucinationVerdictEvent"


def weather(city: str) -> str:
    """Say what the weather is like."""
    return f"Sunny in {city}."


def forecast(city: str) -> str:
    """Say what the weather will be like."""
    return f"Rain in {city}."


async def run(agent, question, **kwargs):
    """Run an agent; return its output and what it streamed."""
    handler = agent.run(user_msg=question, **kwargs)
    streamed = [e async for e in handler.stream_events() if isinstance(e, AgentStream)]
    return await handler, streamed


@pytest.fixture(params=[True, False], ids=["streaming", "whole"])
def streaming(request):
    return request.param


def agent(llm, policy, streaming, kind=FunctionAgent):
    return kind(tools=[weather, forecast], llm=GuardedLLM(llm, policy), streaming=streaming)


async def test_the_output_has_the_verdict(llm, streaming, seen):
    output, streamed = await run(agent(llm, JUDGED, streaming), MADE_UP)
    verdict = verdict_of(output)
    assert (verdict.decision, verdict.samples) == ("flagged", N)
    assert verdict.sentences[0].text in output.response.content
    if streaming:
        assert "".join(e.delta for e in streamed) == output.response.content
    assert len([e for e in seen if e.class_name() == EVENT]) == 1


async def test_tools_are_called_and_only_the_answer_is_sampled(llm, provider, streaming, seen):
    output, _ = await run(agent(llm, UNJUDGED, streaming), TOOL)
    assert [call.tool_name for call in output.tool_calls] == ["weather"]
    assert "Sunny in Paris." in output.response.content
    decisions = [e.verdict["decision"] for e in seen if e.class_name() == EVENT]
    assert (decisions[0], len(decisions)) == ("skipped", 2)
    assert provider.calls == 1 + (1 + 1)
    assert not [r for r in provider.requests if VERDICT_KEY in repr(r.body)]


async def test_a_withheld_answer_is_neither_shown_nor_remembered(llm, streaming):
    memory = ChatMemoryBuffer.from_defaults(token_limit=4000)
    output, streamed = await run(agent(llm, JUDGED | BLOCK, streaming), MADE_UP, memory=memory)
    assert output.response.content == MESSAGE
    assert memory.get_all()[-1].content == MESSAGE
    assert "Zorblatt" not in repr((output.response, output.raw, streamed))


async def test_blocking_may_raise(llm, streaming):
    with pytest.raises(HallucinationBlocked):
        await run(agent(llm, JUDGED | RAISE, streaming), MADE_UP)


async def test_a_conversation_does_not_send_verdicts(llm, provider, streaming):
    memory = ChatMemoryBuffer.from_defaults(token_limit=4000)
    guarded = agent(llm, UNJUDGED, streaming)
    await run(guarded, MADE_UP, memory=memory)
    await run(guarded, TOOL, memory=memory)
    assert verdict_of(memory.get_all()[1]) is not None
    assert provider.calls == 3 * (1 + 1) - 1
    assert not [r for r in provider.requests if VERDICT_KEY in repr(r.body)]


async def test_an_agent_that_reasons_in_words(llm, streaming):
    output, _ = await run(agent(llm, JUDGED, streaming, ReActAgent), MADE_UP)
    assert verdict_of(output).flagged


class Bridge(BaseModel):
    """A bridge."""

    name: str
    year: int


async def test_structured_output_of_an_agent_is_checked(llm, seen):
    guarded = GuardedLLM(llm, UNJUDGED)
    structured = FunctionAgent(tools=[weather], llm=guarded, output_cls=Bridge)
    output, _ = await run(structured, MADE_UP)
    assert Bridge.model_validate(output.structured_response)
    samples = [e.verdict["samples"] for e in seen if e.class_name() == EVENT]
    assert samples == [N, N]


async def test_a_guarded_engine_is_a_tool(llm, index, seen):
    engine = GuardedQueryEngine(index.as_query_engine(llm=llm), UNJUDGED)
    tool = QueryEngineTool.from_defaults(engine, name="library", description="Knows the town.")
    guarded = FunctionAgent(tools=[tool], llm=GuardedLLM(llm, UNJUDGED))
    output, _ = await run(guarded, "[[tool]] What is the Zorblatt?")
    (call,) = output.tool_calls
    assert call.tool_name == "library"
    decided = [e for e in seen if e.class_name() == EVENT]
    assert [e.verdict["samples"] for e in decided] == [0, N, N]
