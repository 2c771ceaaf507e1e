from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    after_agent,
    after_model,
    hook_config,
)
from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy
from langchain.chat_models import init_chat_model
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from openai import InternalServerError
from pydantic import BaseModel

from resay import ConfigurationError, Guard, HallucinationBlocked, PolicyError
from resay_langchain import (
    GuardedChatModel,
    HallucinationMiddleware,
    VerdictCollector,
    guard_runnable,
)
from resay_langchain import verdict_of as read_verdict
from simulation import ServerError
from support.langchain import (
    JUDGED,
    KNOWN,
    MADE_UP,
    MESSAGE,
    PATIENT,
    RAISE,
    REPLACE,
    UNCACHED,
    UNJUDGED,
    N,
    Recorder,
    bodies,
    needs_events_v3,
    needs_hearing_agents,
    verdict_of,
)

pytestmark = pytest.mark.anyio

WEATHER = "[[tool]] weather in Paris"
EXITS = ["replace", "end"]
# What only the made-up answer says, in any of its forms.
DRAFT = ("was built", "people visit", "A copy of it")


@tool
def weather(city: str) -> str:
    """Say what the weather is like."""
    return f"Sunny in {city}."


@tool
def time_of_day(city: str) -> str:
    """Say what time it is."""
    return f"Noon in {city}."


@tool(return_direct=True)
def quote(text: str) -> str:
    """Repeat some words."""
    return f"They said: {text}"


class Facts(BaseModel):
    """What is known of a building."""

    name: str
    built: int


class Place(BaseModel):
    """Where a building is."""

    city: str


def asked(*questions: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(question) for question in questions]}


def guarded(model: Any, policy: Any = JUDGED, tools: Any = (), **kwargs: Any) -> Any:
    behaviour = {k: kwargs.pop(k) for k in ("exit_behavior", "violation_message") if k in kwargs}
    inside = kwargs.pop("inside", [])
    outside = kwargs.pop("outside", [])
    middleware = [*outside, HallucinationMiddleware(policy, **behaviour), *inside]
    return create_agent(model, list(tools), middleware=middleware, **kwargs)


@pytest.mark.all_turns
async def test_the_verdict_is_in_the_state_and_in_the_message(ask, model, provider):
    result = await ask(guarded(model), asked(MADE_UP))
    verdict = result["hallucination"]
    assert (verdict["decision"], verdict["action"], verdict["samples"]) == (
        "flagged",
        "annotate",
        N,
    )
    assert verdict_of(result["messages"][-1]) == verdict
    assert [s["text"] in result["messages"][-1].text for s in verdict["sentences"]] == [True] * len(
        verdict["sentences"]
    )
    assert provider.calls == 1 + 1 + N
    found = read_verdict(result)
    assert found is not None
    assert found.flagged


async def test_an_answer_that_repeats_is_consistent(ask, model):
    result = await ask(guarded(model, exit_behavior="error"), asked(KNOWN))
    assert (result["hallucination"]["decision"], result["hallucination"]["action"]) == (
        "consistent",
        "allow",
    )
    assert result.keys() == {"messages", "hallucination"}


@pytest.mark.all_turns
async def test_calling_a_tool_costs_no_sample_and_the_answer_is_checked(ask, model, provider):
    agent = guarded(model, tools=[weather, time_of_day])
    result = await ask(agent, asked(WEATHER))
    _, called, output, answer = result["messages"]
    assert called.tool_calls[0]["name"] == "weather"
    assert isinstance(output, ToolMessage)
    assert verdict_of(called)["decision"] == "skipped"
    assert result["hallucination"] == verdict_of(answer)
    assert result["hallucination"]["samples"] == N
    sentences = len(result["hallucination"]["sentences"])
    assert provider.calls == 1 + 1 + 1 + N * sentences


async def test_a_run_that_ends_with_a_tool_says_that_nothing_was_checked(ask, model):
    agent = guarded(model, tools=[quote], checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    first = await ask(agent, asked(MADE_UP), thread)
    assert first["hallucination"]["decision"] == "flagged"
    second = await ask(agent, asked("[[tool]] Repeat this."), thread)
    assert second["messages"][-1].text.startswith("They said:")
    # What was found about an earlier answer says nothing about this one.
    assert second["hallucination"]["decision"] == "skipped"


class AnswerThenCall(AgentMiddleware):
    """Has the model answer, and then call a tool all the same."""

    def wrap_model_call(self, request, handler):
        again = isinstance(request.messages[-1], AIMessage)
        return handler(request.override(tool_choice="required") if again else request)

    @hook_config(can_jump_to=["model"])
    def after_model(self, state, runtime):
        return None if state["messages"][-1].tool_calls else {"jump_to": "model"}


async def test_a_tool_call_does_not_hide_the_verdict_on_an_answer(model):
    agent = guarded(model, tools=[quote], inside=[AnswerThenCall()])
    result = agent.invoke(asked(MADE_UP))
    _, answer, called, _ = result["messages"]
    assert verdict_of(called)["decision"] == "skipped"
    assert result["hallucination"] == verdict_of(answer)
    assert result["hallucination"]["flagged"]


@pytest.mark.parametrize("exit_behavior", EXITS)
async def test_a_withheld_answer_is_replaced(ask, model, exit_behavior):
    agent = guarded(model, exit_behavior=exit_behavior, violation_message=MESSAGE)
    result = await ask(agent, asked(MADE_UP))
    assert [m.text for m in result["messages"]] == [MADE_UP, MESSAGE]
    assert result["hallucination"]["action"] == "block"
    assert {s["text"] for s in result["hallucination"]["sentences"]} == {""}
    assert not [words for words in DRAFT if words in repr(result)]


@pytest.mark.parametrize(
    ("policy", "behaviour"),
    [(RAISE, {}), (JUDGED, {"exit_behavior": "error"}), (REPLACE, {"exit_behavior": "error"})],
)
async def test_blocking_may_raise(ask, model, policy, behaviour):
    with pytest.raises(HallucinationBlocked) as caught:
        await ask(guarded(model, policy, **behaviour), asked(MADE_UP))
    assert caught.value.verdict.flagged


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ({}, MESSAGE),
        ({"exit_behavior": "replace"}, MESSAGE),
        ({"exit_behavior": "end", "violation_message": "Not now."}, "Not now."),
        ({"violation_message": "Not now."}, "Not now."),
    ],
)
async def test_the_policys_message_stands_unless_another_is_given(model, behaviour, message):
    result = await guarded(model, REPLACE, **behaviour).ainvoke(asked(MADE_UP))
    assert result["messages"][-1].text == message


async def test_an_inconclusive_verdict_is_dealt_with_as_the_policy_says(ask, model, provider):
    provider.set_faults(ServerError(after=1))
    policy = PATIENT | {"on_error": "block"}
    result = await ask(guarded(model, policy, exit_behavior="replace"), asked(MADE_UP))
    assert result["hallucination"]["decision"] == "inconclusive"
    assert result["hallucination"]["action"] == "block"
    assert not [words for words in DRAFT if words in repr(result)]


def hooks(seen: list[str]) -> list[Any]:
    @after_model
    def second_look(state: AgentState[Any], runtime: Any) -> None:
        seen.append("after_model")

    @after_agent
    def at_the_end(state: AgentState[Any], runtime: Any) -> None:
        seen.append("after_agent")

    return [second_look, at_the_end]


@pytest.mark.parametrize(
    ("exit_behavior", "ran"),
    [("replace", ["after_model", "after_agent"]), ("end", ["after_agent"])],
)
async def test_end_leaves_out_what_follows_and_replace_does_not(ask, model, exit_behavior, ran):
    seen: list[str] = []
    agent = guarded(model, exit_behavior=exit_behavior, outside=hooks(seen))
    await ask(agent, asked(MADE_UP))
    assert seen == ran
    seen.clear()
    await ask(agent, asked(KNOWN))
    assert seen == ["after_model", "after_agent"]


# Streams


async def streamed(agent: Any, mode: str) -> list[Any]:
    """What comes out of a stream, asynchronously and synchronously."""
    parts = [part async for part in agent.astream(asked(MADE_UP), stream_mode=mode)]
    return [*parts, *agent.stream(asked(MADE_UP), stream_mode=mode)]


@pytest.mark.parametrize("exit_behavior", EXITS)
@pytest.mark.parametrize("mode", ["messages", "updates", "values", "custom", "debug"])
@pytest.mark.parametrize("tools", [[], [weather]], ids=["no tools", "tools"])
async def test_no_stream_shows_a_withheld_draft(make_model, exit_behavior, mode, tools):
    agent = guarded(make_model(streaming=True), exit_behavior=exit_behavior, tools=tools)
    parts = await streamed(agent, mode)
    assert not [words for words in DRAFT if words in repr(parts)]
    assert (mode == "custom") == (parts == [])


@pytest.mark.parametrize("policy", [JUDGED, JUDGED | {"stream_mode": "after"}, UNJUDGED])
@pytest.mark.parametrize("tools", [[], [weather]], ids=["no tools", "tools"])
async def test_streamed_messages_are_the_answer_alone(model, policy, tools):
    agent = guarded(model, policy, tools=tools)
    state: dict[str, Any] = {}
    chunks: list[Any] = []
    async for mode, part in agent.astream(asked(MADE_UP), stream_mode=["messages", "values"]):
        if mode == "messages":
            chunks.append(part[0])
        else:
            state = part
    answer = state["messages"][-1]
    assert {chunk.id for chunk in chunks} == {answer.id}
    assert "".join(chunk.text for chunk in chunks) == answer.text
    assert [verdict_of(c) for c in chunks if c.response_metadata.get("hallucination")] == [
        state["hallucination"]
    ]


@needs_hearing_agents
async def test_the_policy_says_when_text_is_streamed(model):
    counts = {}
    for mode in ("after", "hold", "buffer"):
        agent = guarded(model, JUDGED | {"stream_mode": mode})
        parts = [part async for part in agent.astream(asked(MADE_UP), stream_mode="messages")]
        counts[mode] = len([chunk for chunk, _ in parts if chunk.text])
    # Words, sentences, and all at once.
    assert counts["after"] > 2 * counts["hold"]
    assert 1 < counts["hold"] <= 3
    assert counts["buffer"] == 1


@needs_hearing_agents
@pytest.mark.parametrize("exit_behavior", [None, "replace"])
async def test_events_show_one_model(make_model, exit_behavior):
    agent = guarded(make_model(streaming=True), exit_behavior=exit_behavior)
    events = [event async for event in agent.astream_events(asked(MADE_UP), version="v2")]
    started = [e for e in events if e["event"] == "on_chat_model_start"]
    assert len(started) == 1
    (verdict,) = (e for e in events if e["event"] == "on_custom_event")
    assert verdict["name"] == "resay_verdict"
    if exit_behavior:
        assert not [words for words in DRAFT if words in repr(events)]


@needs_events_v3
@pytest.mark.filterwarnings("ignore:.*v3.*")
@pytest.mark.parametrize("tools", [[], [weather]], ids=["no tools", "tools"])
@pytest.mark.parametrize("exit_behavior", [None, "replace"])
async def test_the_third_kind_of_events_shows_one_message(model, exit_behavior, tools):
    agent = guarded(model, exit_behavior=exit_behavior, violation_message=None, tools=tools)
    run = await agent.astream_events(asked(MADE_UP), version="v3")
    texts = [str(await message.text) async for message in run.messages]
    state = await run.output()
    assert texts == [state["messages"][-1].text]
    assert any(words in texts[0] for words in DRAFT) is (exit_behavior is None)


@needs_hearing_agents
async def test_callbacks_hear_of_every_call(ask, model):
    recorder, collector = Recorder(), VerdictCollector()
    result = await ask(guarded(model), asked(MADE_UP), {"callbacks": [recorder, collector]})
    ((run, _),) = recorder.named("GuardedChatModel").items()
    for name, calls in (("resay:sample", 1), ("resay:judge", N)):
        children = recorder.named(name).values()
        assert len(children) == calls
        assert {child.parent for child in children} == {run}
    assert collector.last == read_verdict(result)


# Other middleware

RETRY = {"max_retries": 2, "initial_delay": 0.0, "jitter": False, "on_failure": "error"}


@pytest.mark.parametrize("tools", [[], [weather]], ids=["no tools", "tools"])
async def test_a_failed_call_is_tried_again_by_itself(ask, model, provider, tools):
    provider.set_faults(ServerError(first=2))
    agent = guarded(model, PATIENT, tools=tools, inside=[ModelRetryMiddleware(**RETRY)])
    result = await ask(agent, asked(MADE_UP))
    assert result["hallucination"]["samples"] == N
    assert provider.calls == 2 + 1 + 1 + N


@pytest.mark.parametrize("response_format", [None, ProviderStrategy(Facts), ToolStrategy(Facts)])
@pytest.mark.parametrize("behaviour", ["error", "replace"])
async def test_a_verdict_is_never_tried_again(ask, model, provider, response_format, behaviour):
    inside = [ModelRetryMiddleware(**RETRY)]
    agent = guarded(
        model, PATIENT, exit_behavior=behaviour, inside=inside, response_format=response_format
    )
    if behaviour == "error":
        with pytest.raises(HallucinationBlocked):
            await ask(agent, asked(MADE_UP))
    else:
        assert (await ask(agent, asked(MADE_UP)))["hallucination"]["action"] == "block"
    assert provider.calls == (1 + 1 if response_format else 1 + 1 + N)


async def test_a_fallback_outside_is_guarded_too(ask, make_model, provider):
    provider.set_faults(ServerError(first=1))
    other = make_model(temperature=0.5)
    agent = guarded(make_model(), PATIENT, outside=[ModelFallbackMiddleware(other)])
    result = await ask(agent, asked(MADE_UP))
    assert result["hallucination"]["decision"] == "flagged"
    assert [body.get("temperature") for body in bodies(provider)] == [None, 0.5, 0.5]


async def test_all_three_in_the_documented_order(ask, make_model, provider):
    provider.set_faults(ServerError(first=3))
    agent = guarded(
        make_model(),
        PATIENT,
        outside=[ModelFallbackMiddleware(make_model())],
        inside=[ModelRetryMiddleware(**RETRY)],
    )
    result = await ask(agent, asked(MADE_UP))
    assert result["hallucination"]["samples"] == N
    assert provider.calls == 3 + 1 + 1 + N


@pytest.mark.parametrize(
    ("policy", "behaviour", "action"),
    [(PATIENT, {}, "annotate"), (PATIENT | {"on_error": "block"}, EXITS[0], "block")],
)
async def test_an_answer_of_an_unguarded_model_does_not_pass_as_checked(
    ask, make_model, provider, policy, behaviour, action
):
    provider.set_faults(ServerError(first=1))
    exits = {"exit_behavior": behaviour} if behaviour else {}
    agent = guarded(make_model(), policy, inside=[ModelFallbackMiddleware(make_model())], **exits)
    result = await ask(agent, asked(MADE_UP))
    verdict = result["hallucination"]
    assert (verdict["decision"], verdict["action"]) == ("inconclusive", action)
    assert "after any middleware that asks another model" in verdict["reason"]
    assert verdict_of(result["messages"][-1]) == verdict
    assert any(words in repr(result) for words in DRAFT) is (action == "annotate")


async def test_an_object_of_an_unguarded_model_is_withheld_too(ask, make_model, provider):
    for strategy in (ToolStrategy(Facts), ProviderStrategy(Facts)):
        provider.set_faults(ServerError(first=1))
        agent = guarded(
            make_model(),
            PATIENT | {"on_error": "block"},
            inside=[ModelFallbackMiddleware(make_model())],
            exit_behavior="replace",
            response_format=strategy,
        )
        result = await ask(agent, asked(MADE_UP))
        assert result["hallucination"]["decision"] == "inconclusive"
        assert result.get("structured_response") is None
        assert len(result["messages"]) == 2
    provider.set_faults(ServerError(first=1))
    inside = [ModelFallbackMiddleware(make_model())]
    agent = guarded(make_model(), RAISE | {"on_error": "block"}, inside=inside)
    with pytest.raises(HallucinationBlocked):
        await ask(agent, asked(MADE_UP))


async def test_tool_calls_of_an_unguarded_model_go_on(ask, make_model, provider):
    provider.set_faults(ServerError(first=1))
    policy = JUDGED | {"on_error": "block"}
    inside = [ModelFallbackMiddleware(make_model())]
    agent = guarded(make_model(), policy, tools=[quote], inside=inside)
    result = await ask(agent, asked("[[tool]] Repeat this."))
    assert result["messages"][-1].text.startswith("They said:")
    assert result["hallucination"]["decision"] == "skipped"


@pytest.mark.all_turns
async def test_an_exception_of_the_model_is_the_providers_own(ask, model, provider):
    provider.set_faults(ServerError())
    with pytest.raises(InternalServerError):
        await ask(guarded(model, PATIENT), asked(MADE_UP))
    assert provider.calls == 1


class OtherGuard(HallucinationMiddleware):
    """Another of its kind, which needs a name of its own."""


async def test_two_guards_check_once(ask, model, provider):
    other = OtherGuard(UNJUDGED)
    assert other.name == "OtherGuard"
    agent = guarded(model, JUDGED, outside=[other])
    result = await ask(agent, asked(MADE_UP))
    assert result["hallucination"]["steps"][0]["method"] == "ngram"
    assert provider.calls == 1 + 1


async def test_a_guard_around_the_agent_is_the_only_one(ask, model, provider):
    agent = guarded(model)
    states: list[dict[str, Any]] = []

    def answer(question: str) -> AIMessage:
        states.append(agent.invoke(asked(question)))
        return states[-1]["messages"][-1]

    message = await ask(guard_runnable(RunnableLambda(answer), UNJUDGED), MADE_UP)
    assert verdict_of(message)["samples"] == N
    assert provider.calls == len(states) == 1 + N
    assert not [state for state in states if "hallucination" in state]


# The agent's model


async def test_the_middlewares_policy_wins_over_the_models_own(ask, model, provider):
    for inner in (GuardedChatModel(model, UNJUDGED), guard_runnable(model, UNJUDGED)):
        before = provider.calls
        result = await ask(guarded(inner), asked(MADE_UP))
        assert result["hallucination"]["steps"][0]["method"] == "prompt"
        assert provider.calls == before + 1 + 1 + N


async def test_a_model_with_fallbacks_is_guarded_whichever_answers(ask, make_model, provider):
    provider.set_faults(ServerError(first=1))
    model = make_model().with_fallbacks([make_model()])
    result = await ask(guarded(model, PATIENT, tools=[weather]), asked(MADE_UP))
    assert result["hallucination"]["decision"] == "flagged"
    assert provider.calls == 2 + 1 + N


async def test_a_model_that_cannot_be_seen_is_refused(ask):
    hidden = init_chat_model(configurable_fields=("model",))
    with pytest.raises(
        ConfigurationError, match="'_ConfigurableModel', and Resay finds no chat model"
    ):
        await ask(guarded(hidden), asked(MADE_UP))


async def test_a_policy_that_the_model_cannot_serve_is_refused(ask, model, provider):
    policy = UNCACHED | {"chain": [{"method": "logprobs"}]}
    with pytest.raises(ConfigurationError, match="logprobs=True"):
        await ask(guarded(model, policy), asked(MADE_UP))
    assert provider.calls == 0


# Structured answers

FORMATS: list[Any] = [
    None,
    ToolStrategy(Facts),
    ToolStrategy(Facts | Place),
    ProviderStrategy(Facts),
    AutoStrategy(Facts),
    Facts,
]


@pytest.mark.parametrize("response_format", FORMATS, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("tools", [[], [weather]], ids=["no tools", "tools"])
@pytest.mark.parametrize("name", ["simulated", "gpt-4.1-mini"])
async def test_the_request_is_the_same_with_and_without_the_guard(
    make_model, provider, response_format, tools, name
):
    model = make_model().model_copy(update={"model_name": name})
    kwargs = {"system_prompt": "Be brief.", "response_format": response_format}
    # A model that is made to call a tool may do so for ever.
    once = [ModelCallLimitMiddleware(run_limit=1)]
    await create_agent(model, tools, middleware=once, **kwargs).ainvoke(asked(MADE_UP))
    await guarded(model, UNJUDGED, tools=tools, outside=once, **kwargs).ainvoke(asked(MADE_UP))
    plain, ours, *samples = bodies(provider)
    assert ours == plain
    assert all(sample == plain | {"n": N} for sample in samples)


class Named(GenericFakeChatModel):
    """A model that has its name under `model`, as Anthropic's do."""

    model: str

    def bind_tools(self, tools, **kwargs):
        return self.bind(**kwargs)


@pytest.mark.parametrize(("name", "native"), [("gpt-5", True), ("other", False)])
async def test_the_name_of_a_model_decides_about_its_strategy(ask, name, native):
    answers = cycle([AIMessage('{"name": "Zorblatt", "built": 1932}')])
    once = [ModelCallLimitMiddleware(run_limit=1)]
    agent = guarded(
        Named(model=name, messages=answers), UNJUDGED, outside=once, response_format=Facts
    )
    result = await ask(agent, asked(MADE_UP))
    assert (result.get("structured_response") is not None) is native


@pytest.mark.parametrize("response_format", FORMATS[1:], ids=lambda f: type(f).__name__)
async def test_an_object_is_compared_field_by_field(model, provider, response_format):
    result = await guarded(model, response_format=response_format).ainvoke(asked(MADE_UP))
    fields = {s["text"].partition(":")[0]: s for s in result["hallucination"]["sentences"]}
    assert isinstance(result["structured_response"], Facts)
    assert fields["built"]["flagged"]
    assert not fields["name"]["flagged"]
    assert provider.calls == 1 + 1


@pytest.mark.parametrize("response_format", FORMATS[1:], ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("exit_behavior", EXITS)
async def test_a_withheld_object_ends_the_run(ask, model, provider, response_format, exit_behavior):
    seen: list[str] = []
    agent = guarded(
        model,
        exit_behavior=exit_behavior,
        violation_message=MESSAGE,
        response_format=response_format,
        inside=hooks(seen),
    )
    result = await ask(agent, asked(MADE_UP))
    assert result.get("structured_response") is None
    assert result["messages"][-1].text == MESSAGE
    assert result["hallucination"]["action"] == "block"
    assert "built" not in repr(result["messages"])
    assert seen == ["after_model", "after_agent"]
    assert provider.calls == 1 + 1


async def test_an_object_that_cannot_be_judged_is_withheld_once(ask, model, provider):
    provider.set_faults(ServerError(after=1))
    policy = PATIENT | {"on_error": "block"}
    agent = guarded(model, policy, exit_behavior="replace", response_format=ToolStrategy(Facts))
    result = await ask(agent, asked(MADE_UP))
    assert result.get("structured_response") is None
    assert result["hallucination"]["decision"] == "inconclusive"


# Documents


class WithContext(AgentState[Any]):
    context: list[Document]


REFERENCES = UNCACHED | {"chain": [{"method": "ngram", "evidence": "references"}]}
FACT = "The weather in Paris: sunny, with 21 degrees and no wind."


@tool(response_format="content_and_artifact")
def weather_report(city: str) -> tuple[str, list[Document]]:
    """Say what the weather is like."""
    return FACT, [Document(FACT)]


async def test_documents_of_tools_are_references(ask, model, provider):
    result = await ask(guarded(model, REFERENCES, tools=[weather_report]), asked(WEATHER))
    verdict = result["hallucination"]
    assert verdict["decision"] in ("consistent", "flagged")
    assert verdict["steps"][0]["method"] == "ngram"
    assert provider.calls == 2


async def test_documents_in_the_state_are_references(ask, model, provider):
    agent = guarded(model, REFERENCES, state_schema=WithContext)
    found = {"context": [Document("Canberra is the capital of Australia.")]}
    result = await ask(agent, asked(KNOWN) | found)
    assert result["hallucination"]["decision"] in ("consistent", "flagged")
    assert provider.calls == 1
    nothing = await ask(agent, asked(KNOWN) | {"context": []})
    assert nothing["hallucination"]["decision"] == "inconclusive"


# Runs that go on


async def test_every_turn_of_a_conversation_has_its_verdict(ask, model):
    agent = guarded(model, tools=[weather], checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    decisions = []
    for question in (MADE_UP, KNOWN, f"{MADE_UP} Tell me more."):
        result = await ask(agent, asked(question), thread)
        decisions.append(result["hallucination"]["flagged"])
    assert decisions == [True, False, True]
    state = agent.get_state(thread).values
    # A checkpoint turns tuples into lists.
    assert read_verdict(state) == read_verdict(result)
    answers = [m for m in state["messages"] if isinstance(m, AIMessage)]
    assert [verdict_of(m)["flagged"] for m in answers] == decisions


async def test_a_withheld_answer_does_not_end_later_runs(ask, model):
    agent = guarded(model, tools=[weather], exit_behavior="end", checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    first = await ask(agent, asked(MADE_UP), thread)
    assert first["hallucination"]["action"] == "block"
    second = await ask(agent, asked(WEATHER), thread)
    assert [m.text for m in second["messages"]].count("Sunny in Paris.") == 1
    assert "hallucination_ends" not in second


@needs_hearing_agents
async def test_a_run_may_be_interrupted(ask, model):
    approval = HumanInTheLoopMiddleware(interrupt_on={"weather": True})
    agent = guarded(model, tools=[weather], inside=[approval], checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    stopped = await ask(agent, asked(WEATHER), thread)
    assert stopped["__interrupt__"]
    assert stopped["hallucination"]["decision"] == "skipped"
    decision = Command(resume={"decisions": [{"type": "approve"}]})
    result = await ask(agent, decision, thread)
    assert result["hallucination"]["samples"] == N


async def test_many_agents_share_one_object(provider, make_model):
    shared = HallucinationMiddleware(UNJUDGED, exit_behavior="replace")
    agents = [create_agent(make_model(), [], middleware=[shared]) for _ in range(8)]
    questions = [MADE_UP if i % 2 else KNOWN for i in range(8)]
    results = await asyncio.gather(
        *(agent.ainvoke(asked(q)) for agent, q in zip(agents, questions, strict=True))
    )
    for question, result in zip(questions, results, strict=True):
        verdict = result["hallucination"]
        withheld = verdict["action"] == "block"
        assert result["messages"][0].text == question
        assert verdict_of(result["messages"][-1]) == verdict
        if not withheld:
            text = result["messages"][-1].text
            assert [text[s["start"] : s["end"]] for s in verdict["sentences"]] == [
                s["text"] for s in verdict["sentences"]
            ]
    assert provider.calls == 8 * (1 + 1)


# What is refused


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: HallucinationMiddleware(exit_behavior="jump"), "not 'jump'"),
        (lambda: HallucinationMiddleware(JUDGED, violation_message="No."), "withholds none"),
        (
            lambda: HallucinationMiddleware(exit_behavior="end", violation_message=""),
            "violation_message",
        ),
        (lambda: HallucinationMiddleware({"chain": []}), "chain"),
    ],
)
def test_what_cannot_work_is_refused_at_once(make: Callable[[], object], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        make()


def test_a_policy_that_is_not_valid_says_so() -> None:
    with pytest.raises(PolicyError):
        HallucinationMiddleware({"chain": [{"method": "guess"}]})


def test_a_guard_is_taken_as_it_is() -> None:
    given = Guard(JUDGED)
    assert HallucinationMiddleware(given).policy is given.policy


def test_the_middleware_is_loaded_when_it_is_asked_for() -> None:
    module = importlib.import_module("resay_langchain")
    assert "HallucinationMiddleware" in module.__all__
