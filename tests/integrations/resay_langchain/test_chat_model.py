"""A guarded chat model in the places where LangChain wants a chat model."""

from __future__ import annotations

import pickle
from itertools import chain, count, cycle
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel, FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import ConfigurableField, RunnableBranch, RunnableLambda

from resay import ConfigurationError, Guard, HallucinationBlocked, Policy, PolicyError
from resay_langchain import GuardedChatModel, guard_runnable
from resay_langchain import verdict_of as read_verdict
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
    bodies,
    verdict_of,
)

pytestmark = pytest.mark.anyio


def weather(city: str) -> str:
    """Say what the weather is like."""
    return city


async def test_it_is_a_chat_model_with_the_manners_of_the_one_inside(make_model):
    model = make_model(custom_get_token_ids=lambda text: list(text.encode()))
    guarded = GuardedChatModel(model, UNJUDGED)
    assert isinstance(guarded, BaseChatModel)
    assert guarded._get_ls_params() == model._get_ls_params()
    assert guarded.profile == model.profile
    assert guarded.model_name == "simulated"
    assert guarded.get_num_tokens("one two") == 7
    assert guarded.get_token_ids("a") == [97]
    assert guarded._llm_type == "guarded-openai-chat"
    with pytest.raises(AttributeError, match="nonsense"):
        _ = guarded.nonsense
    assert "simulated" not in repr(guarded.policy)


@pytest.mark.parametrize(
    ("args", "fields", "error", "problem"),
    [
        (("gpt",), {}, ConfigurationError, "takes a chat model, not 'str'"),
        ((None, {"chain": []}), {}, PolicyError, "chain"),
        ((None,), {"polcy": {}}, ConfigurationError, "'polcy' is not a field"),
        ((None,), {"timeout": 3}, ConfigurationError, "set it on the model inside"),
    ],
)
async def test_bad_input_is_refused_with_a_reason(model, args, fields, error, problem):
    first, *others = args
    with pytest.raises(error, match=problem):
        GuardedChatModel(first or model, *others, **fields)


async def test_parameters_of_requests_go_to_a_copy_of_the_model(model, provider):
    guarded = GuardedChatModel(model, UNJUDGED, temperature=0.3, max_tokens=40, stop=["#"])
    await guarded.ainvoke(KNOWN)
    sent = bodies(provider)[0]
    assert (sent["temperature"], sent["max_completion_tokens"], sent["stop"]) == (0.3, 40, ["#"])
    assert model.temperature is None


async def test_the_policy_may_come_from_the_environment(model, tmp_path, monkeypatch):
    path = tmp_path / "policy.yaml"
    path.write_text("chain: [{method: ngram}]\n")
    assert GuardedChatModel(model).policy == Policy.default()
    monkeypatch.setenv("RESAY_POLICY", str(path))
    assert GuardedChatModel(model).policy == Policy.load(path)
    assert Guard().policy == Policy.load(path)


async def test_a_guard_around_a_guard_takes_its_place(model, provider):
    twice = GuardedChatModel(GuardedChatModel(model, JUDGED), UNJUDGED)
    assert verdict_of(await twice.ainvoke(MADE_UP))["steps"][0]["method"] == "ngram"
    assert provider.calls == 1 + 1


async def test_the_ways_around_invoke_are_guarded_too(model):
    guarded = GuardedChatModel(model, UNJUDGED)
    result = guarded.generate([[HumanMessage(MADE_UP)], [HumanMessage(KNOWN)]])
    assert [verdict_of(g[0].message)["flagged"] for g in result.generations] == [True, False]
    result = await guarded.agenerate([[HumanMessage(MADE_UP)]])
    assert verdict_of(result.generations[0][0].message)["flagged"]
    prompts = [PROMPT.invoke({"question": KNOWN})]
    result = await guarded.agenerate_prompt(prompts)
    assert verdict_of(result.generations[0][0].message)["decision"] == "consistent"


async def test_a_child_run_without_a_chain_belongs_to_the_models_own(model):
    recorder = Recorder()
    guarded = GuardedChatModel(model, UNJUDGED)
    await guarded.agenerate([[HumanMessage(MADE_UP)]], callbacks=[recorder])
    ((own, _),) = recorder.named("GuardedChatModel").items()
    samples = recorder.named("resay:sample").values()
    assert {run.parent for run in samples} == {own}
    assert recorder.verdicts[0]["flagged"]


class Listener(BaseCallbackHandler):
    """What an application shows on a screen, say."""

    run_inline = True

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.messages: list[AIMessage] = []

    def on_llm_new_token(self, token: Any, **kwargs: Any) -> None:
        self.tokens.append(token)

    def on_llm_end(self, response: Any, **kwargs: Any) -> None:
        self.messages.append(response.generations[0][0].message)


async def test_callbacks_of_the_model_inside_hear_of_the_guarded_answer(ask, make_model):
    listener = Listener()
    guarded = GuardedChatModel(make_model(streaming=True, callbacks=[listener]), REPLACE)
    await ask(guarded, MADE_UP)
    assert MESSAGE in [message.content for message in listener.messages]
    assert "".join(listener.tokens) in ("", MESSAGE)


async def test_history_does_not_send_verdicts_back(model, provider):
    guarded = GuardedChatModel(model, UNJUDGED)
    first = await guarded.ainvoke(MADE_UP)
    await guarded.ainvoke([HumanMessage(MADE_UP), first, HumanMessage("Are you sure?")])
    sent = bodies(provider)[1 + 1 :]
    assert len(sent) == 1 + 1
    assert all("hallucination" not in repr(body) for body in sent)
    assert all(body["messages"][1] == sent[0]["messages"][1] for body in sent)


async def test_words_that_come_with_a_call_are_passed_on():
    said = AIMessage("Let me look.", tool_calls=[{"name": "weather", "args": {}, "id": "1"}])
    guarded = GuardedChatModel(GenericFakeChatModel(messages=cycle([said])), UNJUDGED)
    message = await guarded.ainvoke("How is the weather?")
    assert (message.text, message.tool_calls) == (said.text, said.tool_calls)
    assert verdict_of(message)["reason"] == "the answer calls tools"


@pytest.mark.parametrize("action", ["annotate", "block"])
async def test_arguments_of_calls_are_compared_where_the_policy_says_so(action):
    amounts = ({"amount": amount} for amount in count(11))
    calls = ([{"name": "pay", "args": given, "id": "1"}] for given in amounts)
    said = (AIMessage("", tool_calls=call) for call in calls)
    policy = UNJUDGED | {"tools": "arguments", "action": {"do": action}}
    message = await GuardedChatModel(GenericFakeChatModel(messages=said), policy).ainvoke("Pay.")
    verdict = verdict_of(message)
    assert verdict["decision"] == "flagged"
    withheld = action == "block"
    flagged = [s["text"] for s in verdict["sentences"] if s["flagged"]]
    assert flagged == ["" if withheld else "pay.amount: 11"]
    assert [c["args"] for c in message.tool_calls] == ([] if withheld else [{"amount": 11}])


BLOCKS = [
    {"type": "reasoning", "reasoning": "The user asks about Zorblatt; I make something up."},
    {"type": "text", "text": "The Zorblatt was built in 1932."},
    {"type": "image", "base64": "aGk=", "mime_type": "image/png"},
]


async def test_thoughts_and_images_pass_and_only_the_text_is_checked():
    fake = GenericFakeChatModel(messages=cycle([AIMessage(content_blocks=BLOCKS)]))
    message = await GuardedChatModel(fake, UNJUDGED).ainvoke(MADE_UP)
    assert message.content_blocks == BLOCKS
    sentences = verdict_of(message)["sentences"]
    assert [s["text"] for s in sentences] == ["The Zorblatt was built in 1932."]


@pytest.mark.parametrize("beside", [True, False])
async def test_a_refusal_outside_the_text_is_checked(beside):
    refusal = "The Zorblatt was built in 1932, and more than that is not for me to tell."
    parts = [] if beside else [{"type": "refusal", "refusal": refusal}]
    said = AIMessage(parts or "", additional_kwargs={"refusal": refusal} if beside else {})
    others = [AIMessage(f"Nobody knows {what} was ever made.") for what in ("when it", "how it")]
    fake = GenericFakeChatModel(messages=chain([said], cycle(others)))
    policy = UNJUDGED | {"action": {"do": "block"}, "sampling": {"max": N, "start": "after"}}
    message = await GuardedChatModel(fake, policy).ainvoke(MADE_UP)
    assert verdict_of(message)["decision"] == "flagged"
    assert refusal not in str(message)


async def test_a_message_without_words_is_skipped():
    fake = GenericFakeChatModel(messages=cycle([AIMessage(content_blocks=BLOCKS[::2])]))
    message = await GuardedChatModel(fake, UNJUDGED | {"on_error": "block"}).ainvoke(MADE_UP)
    assert message.content_blocks == BLOCKS[::2]
    assert verdict_of(message)["reason"] == "the answer contains no words"


async def test_a_question_with_an_image_is_asked_again_with_it(model, provider):
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    question = HumanMessage([{"type": "text", "text": MADE_UP}, image])
    message = await GuardedChatModel(model, UNJUDGED).ainvoke([question])
    assert verdict_of(message)["samples"] == N
    asked = [(request.body or {})["messages"] for request in provider.requests]
    assert asked == [asked[0]] * 2
    assert asked[0][0]["content"][1] == image


class Broken(FakeListChatModel):
    """A model whose provider is down."""

    def _call(self, *args: Any, **kwargs: Any) -> str:
        raise ConnectionError("nobody there")


@pytest.mark.parametrize(
    "wrap",
    [
        lambda m: m.with_fallbacks([m]),
        lambda m: m.with_retry(stop_after_attempt=1),
        lambda m: m.with_config(tags=["mine"]),
        lambda m: RunnableBranch((lambda _: False, PROMPT | m), m),
        lambda m: m.configurable_alternatives(ConfigurableField("which"), other=m),
        lambda m: RunnableLambda(lambda text: text) | m,
    ],
    ids=["fallbacks", "retry", "config", "branch", "alternatives", "sequence"],
)
async def test_every_composition_is_guarded_where_the_model_stands(wrap, model, provider):
    message = await guard_runnable(wrap(model), UNJUDGED).ainvoke(MADE_UP)
    assert verdict_of(message)["flagged"]
    assert provider.calls == 1 + 1


async def test_steps_before_the_model_run_once(model):
    runs: list[str] = []

    def rewrite(question: str) -> str:
        runs.append(question)
        return question

    chain = guard_runnable(RunnableLambda(rewrite) | model | StrOutputParser(), UNJUDGED)
    await chain.ainvoke(MADE_UP)
    assert runs == [MADE_UP]


async def test_models_that_do_not_write_the_output_are_left_alone(model, provider):
    rewriting = PROMPT | model | StrOutputParser() | RunnableLambda(lambda _: MADE_UP)
    message = await guard_runnable(rewriting | model, UNJUDGED).ainvoke({"question": KNOWN})
    assert verdict_of(message)["flagged"]
    assert provider.calls == 1 + 1 + 1


async def test_a_verdict_is_not_retried(make_model, provider):
    chain = guard_runnable(make_model().with_retry(stop_after_attempt=3), RAISE)
    with pytest.raises(HallucinationBlocked):
        await chain.ainvoke(MADE_UP)
    assert provider.calls == 1 + 1 + N


async def test_the_answer_of_a_fallback_is_compared_with_its_own(make_model, provider):
    chain = guard_runnable(Broken(responses=[""]).with_fallbacks([make_model()]), UNJUDGED)
    message = await chain.ainvoke(MADE_UP)
    assert verdict_of(message)["samples"] == N
    assert provider.calls == 1 + 1


async def test_a_verdict_is_read_back(model):
    message = await GuardedChatModel(model, UNJUDGED).ainvoke(MADE_UP)
    verdict = read_verdict(message)
    assert verdict is not None
    assert verdict.flagged
    assert read_verdict(pickle.loads(pickle.dumps(message))) == verdict
    output = await guard_runnable({"answer": model} | RunnableLambda(dict), UNJUDGED).ainvoke(
        MADE_UP
    )
    assert read_verdict(output).flagged
    assert read_verdict("a text") is None
    assert read_verdict(AIMessage("x", response_metadata={"hallucination": {"a": 1}})) is None


async def test_samples_are_found_again_for_the_same_model_and_question(make_model, provider):
    model = make_model()
    cached = {key: value for key, value in UNJUDGED.items() if key != "cache"}
    first = await guard_runnable(PROMPT | model, cached).ainvoke({"question": MADE_UP})
    again = await guard_runnable(PROMPT | model, cached).ainvoke({"question": MADE_UP})
    assert verdict_of(first)["samples"] == verdict_of(again)["samples"] == N
    assert provider.calls == 1 + 1 + 1
    await guard_runnable(PROMPT | make_model(), cached).ainvoke({"question": MADE_UP})
    assert provider.calls == 1 + 1 + 1 + 1 + 1


class Rich(FakeListChatModel):
    """Answers with a block of a kind that nobody knows; of its streams it is all at once."""

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        blocks = [{"type": "text", "text": "Of steel."}, {"type": "rich", "text": "By Zorblatt."}]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=blocks))])

    def _stream(self, *args: Any, **kwargs: Any) -> Any:
        (generation,) = self._generate().generations
        yield ChatGenerationChunk(message=AIMessageChunk(content=generation.message.content))


@pytest.mark.parametrize("stream", [False, True])
def test_a_text_in_a_block_of_an_unknown_kind_ends_by_on_error(stream: bool) -> None:
    def asked(policy: Any) -> AIMessage:
        model = Rich(responses=["unused"])
        guarded = GuardedChatModel(model, UNJUDGED | policy)
        if not stream:
            return guarded.invoke("Who built the bridge?")
        first, *others = guarded.stream("Who built the bridge?")
        return sum(others, first)

    passed = read_verdict(asked({"threshold": {"passage": 1.0}}))
    assert passed is not None
    assert passed.inconclusive
    assert "Zorblatt" not in str(asked({"action": {"do": "block"}, "on_error": "block"}).content)


@pytest.mark.parametrize(("policy", "is_kept"), [(JUDGED, True), (REPLACE, False)])
async def test_langchains_cache_keeps_no_draft_that_may_be_withheld(make_model, policy, is_kept):
    cache = InMemoryCache()
    guarded = GuardedChatModel(make_model(cache=cache), policy)
    message = await guarded.ainvoke(MADE_UP)
    assert verdict_of(message)["flagged"]
    assert any("Zorblatt" in str(answers) for answers in cache._cache.values()) is is_kept
