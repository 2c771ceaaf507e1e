from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

import openai
from llama_index.core import Settings
from llama_index.core.base.llms.types import (
    ImageBlock,
    TextBlock,
    ThinkingBlock,
)
from llama_index.core.llms import ChatMessage, ChatResponse, CustomLLM, LLMMetadata, MockLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.prompts import PromptTemplate
from llama_index.core.tools import FunctionTool

from resay import ConfigurationError, DeadlineExceededError, Guard, HallucinationBlocked, Policy
from resay_llamaindex import VERDICT_KEY, GuardedLLM, verdict_of
from simulation import Hang, Refused, ServerError, SimulatedProvider

pytestmark = pytest.mark.anyio

N = 3
NATIVE = {"max": N, "via": "native"}
# These are about samples; what is compared with documents has its own tests.
BY_SAMPLES = {"sampling": NATIVE, "references": {"from": []}}
JUDGED = {"chain": [{"method": "prompt", "mode": "per_sample"}], **BY_SAMPLES}
UNJUDGED = {"chain": [{"method": "ngram"}], **BY_SAMPLES}
MESSAGE = "No answer today."
REPLACE = JUDGED | {"action": {"do": "block", "message": MESSAGE}}
RAISE = JUDGED | {"action": {"do": "block", "exit": "raise"}}

MADE_UP, KNOWN = "What is the Zorblatt?", "What is Canberra?"


def ask(text: str) -> list[ChatMessage]:
    return [ChatMessage(role="user", content=text)]


def bodies(provider: SimulatedProvider, *, judged: bool = False) -> list[dict[str, Any]]:
    """What was sent, main call and samples alone or what the judge was asked alone."""
    sent = [dict(request.body or {}) for request in provider.requests]
    return [b for b in sent if ("<claims-" in str(b["messages"][-1]["content"])) is judged]


@pytest.mark.all_turns
async def test_gives_the_response_with_its_verdict(call, llm, provider):
    response = await call(GuardedLLM(llm, JUDGED), "chat", ask(MADE_UP))
    verdict = verdict_of(response)
    assert isinstance(response, ChatResponse)
    assert (verdict.decision, verdict.samples, verdict.via) == ("flagged", N, "native")
    assert all(s.text in response.message.content for s in verdict.sentences)
    assert response.additional_kwargs[VERDICT_KEY]["action"] == "annotate"
    assert verdict_of(response.message) == verdict
    assert response.raw.choices[0].message.content == response.message.content
    assert provider.calls == 1 + 1 + N


async def test_an_answer_that_repeats_is_consistent(call, llm):
    response = await call(GuardedLLM(llm, JUDGED), "chat", ask(KNOWN))
    assert verdict_of(response).decision == "consistent"
    assert response.additional_kwargs[VERDICT_KEY]["action"] == "allow"


@pytest.mark.all_turns
async def test_completions_are_guarded_too(call, llm):
    response = await call(GuardedLLM(llm, JUDGED), "complete", MADE_UP)
    assert verdict_of(response).flagged
    assert verdict_of(response).sentences[0].text in response.text


@pytest.mark.all_turns
async def test_predictions_are_guarded_too(call, llm, seen):
    template = PromptTemplate("What is the {thing}?")
    text = await call(GuardedLLM(llm, REPLACE), "predict", template, thing="Zorblatt")
    assert text == MESSAGE
    assert [e.verdict["flagged"] for e in seen if e.class_name() == EVENT] == [True]


async def test_counts_the_tokens_of_the_check(call, llm, provider):
    response = await call(GuardedLLM(llm, JUDGED), "chat", ask(MADE_UP))
    usage, main = verdict_of(response).usage, response.additional_kwargs
    assert (usage.calls, usage.cost_usd) == (1 + N, None)
    assert usage.prompt_tokens == provider.prompt_tokens - main["prompt_tokens"]
    assert usage.completion_tokens == provider.completion_tokens - main["completion_tokens"]


async def test_a_withheld_response_keeps_nothing_of_its_words(call, make_llm, seen):
    llm = make_llm(logprobs=True, top_logprobs=1)
    response = await call(GuardedLLM(llm, REPLACE), "chat", ask(MADE_UP))
    drafts = [
        e.response
        for e in seen
        if e.class_name() == "LLMChatEndEvent" and e.tags and e.tags.get("resay") != "judge"
    ]
    assert response.message.content == MESSAGE
    assert (response.raw, response.logprobs) == (None, None)
    assert response.additional_kwargs["completion_tokens"] > 0
    assert response.additional_kwargs[VERDICT_KEY]["action"] == "block"
    words = {w for draft in drafts for w in draft.message.content.split() if len(w) > 6}
    told = [e for e in seen if e.class_name() == EVENT]
    assert words
    assert not [w for w in words if w in repr(response) or w in repr(told)]


EVENT = "HallucinationVerdictEvent"


@pytest.mark.all_turns
async def test_blocking_may_raise(call, llm, seen):
    with pytest.raises(HallucinationBlocked) as caught:
        await call(GuardedLLM(llm, RAISE), "chat", ask(MADE_UP))
    assert caught.value.verdict.flagged
    (event,) = (e for e in seen if e.class_name() == EVENT)
    assert event.verdict["action"] == "block"
    assert {s["text"] for s in event.verdict["sentences"]} == {""}


async def test_events_tell_who_asks(call, llm, seen):
    await call(GuardedLLM(llm, JUDGED), "chat", ask(MADE_UP))
    starts = [e for e in seen if e.class_name() == "LLMChatStartEvent"]
    roles = [e.tags.get("resay") for e in starts]
    assert sorted(map(str, roles)) == sorted(["None", "main"] + ["sample"] + ["judge"] * N)
    (event,) = (e for e in seen if e.class_name() == EVENT)
    (outer,) = (e for e in starts if not e.tags)
    assert event.verdict["flagged"]
    assert event.span_id == outer.span_id
    assert not event.tags


async def test_the_applications_callbacks_see_the_answer_once(call, make_llm):
    from llama_index.core.callbacks import CallbackManager, LlamaDebugHandler

    handler = LlamaDebugHandler(print_trace_on_end=False)
    guarded = GuardedLLM(make_llm(callback_manager=CallbackManager([handler])), JUDGED)
    await call(guarded, "chat", ask(MADE_UP))
    assert len(handler.get_llm_inputs_outputs()) == 1


def weather(city: str) -> str:
    """Say what the weather is like."""
    return f"Sunny in {city}."


TOOL = FunctionTool.from_defaults(weather)


async def test_a_tool_call_passes_and_no_sample_is_paid_for(call, llm, provider):
    guarded = GuardedLLM(llm, JUDGED)
    tools = [TOOL, FunctionTool.from_defaults(weather, name="forecast")]
    history = ask("[[tool]] weather in Paris")
    response = await call(guarded, "chat_with_tools", tools, chat_history=history)
    (selected,) = guarded.get_tool_calls_from_response(response)
    assert selected.tool_name == "weather"
    assert verdict_of(response).decision == "skipped"
    assert response.additional_kwargs[VERDICT_KEY]["action"] == "allow"
    assert provider.calls == 1
    assert len(history) == 1


async def test_an_answer_in_words_is_checked_where_tools_are_offered(call, llm, provider):
    guarded = GuardedLLM(llm, JUDGED)
    response = await call(guarded, "chat_with_tools", [TOOL], user_msg=MADE_UP)
    assert verdict_of(response).flagged
    assert [len(body["tools"]) for body in bodies(provider)] == [1, 1]


@pytest.mark.all_turns
async def test_one_forced_tool_is_an_object(call, llm):
    guarded = GuardedLLM(llm, UNJUDGED)
    response = await call(
        guarded, "chat_with_tools", [TOOL], user_msg="weather in Paris", tool_required=True
    )
    verdict = verdict_of(response)
    assert (verdict.structured, verdict.samples) == (True, N)
    assert [s.text for s in verdict.sentences] == ['city: "Paris"']


async def test_the_verdict_is_never_sent(call, llm, provider):
    guarded = GuardedLLM(llm, JUDGED)
    first = await call(guarded, "chat", ask(MADE_UP))
    history = [*ask(MADE_UP), first.message, *ask(KNOWN)]
    before = copy.deepcopy(history)
    response = await call(guarded, "chat", history)
    assert verdict_of(response).decision == "consistent"
    # The LLM inside would leave it out too; one that does not must be kept from it.
    await call(llm, "chat", history)
    assert history == before
    assert not [r for r in provider.requests if VERDICT_KEY in repr(r.body)]


async def test_an_llm_that_takes_a_prompt_does_not_see_the_verdict(call):
    seen: list[str] = []

    class Echo(CustomLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(is_chat_model=False)

        @llm_completion_callback()
        def complete(self, prompt, formatted=False, **kwargs):
            from llama_index.core.llms import CompletionResponse

            seen.append(prompt)
            return CompletionResponse(text=f"This is answer number {len(seen)}.")

        @llm_completion_callback()
        def stream_complete(self, prompt, formatted=False, **kwargs):
            raise NotImplementedError

    guarded = GuardedLLM(Echo(), UNJUDGED)
    first = await call(guarded, "chat", ask(MADE_UP))
    assert verdict_of(first).samples == N
    await call(guarded, "chat", [*ask(MADE_UP), first.message, *ask(MADE_UP)])
    assert len(seen) == 2 * (1 + N)
    assert not [prompt for prompt in seen if VERDICT_KEY in prompt]


async def test_samples_are_free_where_the_main_call_is_not(call, make_llm, provider):
    llm = make_llm(temperature=0, additional_kwargs={"seed": 1, "store": True})
    response = await call(GuardedLLM(llm, JUDGED), "chat", ask(MADE_UP), top_p=0.9)
    assert verdict_of(response).decision == "flagged"
    # By its synchronous side the calls go out in any order.
    main, *samples = sorted(bodies(provider), key=lambda body: body["temperature"])
    assert (main["temperature"], main["seed"], main["top_p"]) == (0, 1, 0.9)
    assert [(s["temperature"], s["top_p"]) for s in samples] == [(1.0, 0.9)]
    assert not [s for s in samples if "seed" in s or "store" in s]


async def test_samples_are_not_decoded_greedily(call, make_llm, provider):
    llm = make_llm(additional_kwargs={"top_p": 0.0, "extra_body": {"top_k": 1, "user_id": "u"}})
    await call(GuardedLLM(llm, UNJUDGED), "chat", ask(MADE_UP))
    greedy = [body for body in bodies(provider) if "top_k" in body or "top_p" in body]
    assert len(greedy) == 1
    assert [body["user_id"] for body in bodies(provider)] == ["u", "u"]


async def test_the_policy_says_how_to_sample(call, make_llm, provider):
    sampling = NATIVE | {"temperature": 0.7, "params": {"max_tokens": 50}}
    llm = make_llm(additional_kwargs={"temperature": 0.3})
    await call(GuardedLLM(llm, UNJUDGED | {"sampling": sampling}), "chat", ask(MADE_UP))
    main, *samples = sorted(bodies(provider), key=lambda body: body["temperature"])
    assert (main["temperature"], main.get("max_tokens")) == (0.3, None)
    assert [(s["temperature"], s["max_tokens"]) for s in samples] == [(0.7, 50)]


async def test_a_temperature_of_ones_own_is_kept(call, make_llm, provider):
    await call(GuardedLLM(make_llm(temperature=0.5), UNJUDGED), "chat", ask(MADE_UP))
    assert [body["temperature"] for body in bodies(provider)] == [0.5, 0.5]


async def test_nested_guards_act_once(call, llm, provider):
    outer = GuardedLLM(GuardedLLM(llm, RAISE), UNJUDGED)
    response = await call(outer, "chat", ask(MADE_UP))
    assert verdict_of(response) is not None
    assert provider.calls == 1 + N


async def test_the_message_of_the_llm_is_not_changed(call):
    llm = MockLLM(max_tokens=4)
    plain = await call(llm, "chat", ask("one two three four"))
    response = await call(GuardedLLM(llm, UNJUDGED), "chat", ask("one two three four"))
    assert response.message.content == plain.message.content
    assert verdict_of(response).decision == "consistent"
    assert verdict_of(plain) is None


async def test_thoughts_are_no_part_of_the_answer(call):
    class Thinking(MockLLM):
        def chat(self, messages, **kwargs):
            blocks = [ThinkingBlock(content="Hm."), TextBlock(text="The bridge is red.")]
            return ChatResponse(message=ChatMessage(role="assistant", blocks=blocks))

        async def achat(self, messages, **kwargs):
            return self.chat(messages)

    response = await call(GuardedLLM(Thinking(), UNJUDGED), "chat", ask(MADE_UP))
    assert [s.text for s in verdict_of(response).sentences] == ["The bridge is red."]
    assert [b.block_type for b in response.message.blocks] == ["thinking", "text"]


async def test_images_in_a_question_are_sent_with_samples_too(call, llm, provider):
    blocks = [TextBlock(text=MADE_UP), ImageBlock(image=b"R0lGODdh", image_mimetype="image/gif")]
    message = ChatMessage(role="user", blocks=blocks)
    response = await call(GuardedLLM(llm, JUDGED), "chat", [message])
    assert verdict_of(response).flagged
    parts = [[p["type"] for p in b["messages"][0]["content"]] for b in bodies(provider)]
    assert parts == [["text", "image_url"]] * 2


async def test_an_empty_message_is_not_checked(call, llm, provider):
    class Silent(MockLLM):
        def chat(self, messages, **kwargs):
            return ChatResponse(message=ChatMessage(role="assistant", content=""))

        async def achat(self, messages, **kwargs):
            return self.chat(messages)

    policy = REPLACE | {"on_error": "block"}
    response = await call(GuardedLLM(Silent(), policy), "chat", ask(MADE_UP))
    assert (verdict_of(response).decision, response.message.content) == ("skipped", "")


@pytest.mark.parametrize("on_error", ["annotate", "block"])
async def test_a_failing_check_loses_the_answer_only_where_the_policy_says_so(
    call, make_llm, on_error
):
    policy = REPLACE | {"limits": {"retries": 0}, "on_error": on_error}
    with SimulatedProvider(seed=5, faults=[ServerError(only="judge")]) as failing:
        guarded = GuardedLLM(make_llm(api_base=failing.base_url), policy)
        response = await call(guarded, "chat", ask(KNOWN))
    assert verdict_of(response).inconclusive
    assert response.additional_kwargs[VERDICT_KEY]["action"] == on_error
    assert (response.message.content == MESSAGE) is (on_error == "block")


@pytest.mark.all_turns
async def test_errors_of_the_llm_come_as_they_are(call, make_llm):
    with SimulatedProvider(faults=[Refused()]) as refusing:
        guarded = GuardedLLM(make_llm(api_base=refusing.base_url), JUDGED)
        with pytest.raises(openai.APIStatusError):
            await call(guarded, "chat", ask(MADE_UP))


@pytest.mark.all_turns
async def test_a_deadline_holds(call, make_llm):
    with SimulatedProvider(faults=[Hang()]) as hanging:
        policy = UNJUDGED | {"limits": {"deadline_s": 0.1}}
        guarded = GuardedLLM(make_llm(api_base=hanging.base_url), policy)
        with pytest.raises(DeadlineExceededError, match=r"within 0\.1 s"):
            await call(guarded, "chat", ask(MADE_UP))


async def test_many_at_once_are_not_mixed_up(llm, provider):
    guarded = GuardedLLM(llm, UNJUDGED)
    questions = [MADE_UP, KNOWN] * 10
    responses = await asyncio.gather(*(guarded.achat(ask(q)) for q in questions))
    for response in responses:
        content = response.message.content
        assert response.raw.choices[0].message.content == content
        assert verdict_of(response).samples == N
        for sentence in verdict_of(response).sentences:
            assert content[sentence.start : sentence.end] == sentence.text
    assert len(bodies(provider)) == 20 + 2


async def test_it_is_an_llm_like_the_one_inside(make_llm, monkeypatch):
    llm = make_llm(system_prompt="Be brief.")
    guarded = GuardedLLM(llm, JUDGED)
    monkeypatch.setattr(Settings, "_llm", None)
    Settings.llm = guarded
    assert Settings.llm is guarded
    assert guarded.metadata == llm.metadata
    assert guarded.system_prompt == "Be brief."
    assert guarded.class_name() == "guarded_llm"
    dumped = guarded.model_dump()
    assert dumped["llm"]["model"] == "simulated"
    assert GuardedLLM(llm, dumped["policy"]).policy == guarded.policy == Policy.of(JUDGED)


async def test_a_guard_may_be_shared(llm):
    guard = Guard(UNJUDGED)
    assert GuardedLLM(llm, guard).guard is guard
    assert GuardedLLM(llm).policy == Policy.configured()


REFERENCES = {"chain": [{"method": "ngram", "evidence": "references"}]}
LOGPROBS = {"chain": [{"method": "logprobs"}]}
LITELLM = UNJUDGED | {"sampling": {"via": "litellm"}}
TWO_WAYS = UNJUDGED | {"sampling": {"model": "openai/other", "via": "native"}}


@pytest.mark.parametrize(
    ("wrong", "policy", "problem"),
    [
        ("a model", UNJUDGED, "takes an LLM of LlamaIndex, not 'str'"),
        (None, REFERENCES, "GuardedQueryEngine"),
        (MockLLM(), LOGPROBS, "which MockLLM may not return"),
        (MockLLM(), LITELLM, "`sampling.via` is 'litellm', but MockLLM is not known"),
        (None, LITELLM, "`sampling.via` is 'litellm', but OpenAILike uses a custom client"),
        (None, TWO_WAYS, "omit `via: native`"),
    ],
)
async def test_what_cannot_work_is_refused_at_once(llm, wrong, policy, problem):
    with pytest.raises(ConfigurationError, match=problem):
        GuardedLLM(wrong or llm, policy)


async def test_an_llm_without_functions_says_so():
    guarded = GuardedLLM(MockLLM(), UNJUDGED)
    with pytest.raises(ConfigurationError, match="MockLLM does not support function calling"):
        guarded.chat_with_tools([TOOL], user_msg=MADE_UP)


@pytest.mark.parametrize("method", ["chat", "stream_chat"])
async def test_probabilities_of_tokens_are_asked_for(call, llm, simulated, provider, method):
    policy = {"chain": [{"method": "logprobs", "pool": "maximum"}]}
    response = await call(GuardedLLM(llm, policy), method, ask(MADE_UP))
    last = response if method == "chat" else response[-1]
    assert verdict_of(last).decision in ("consistent", "flagged")
    assert provider.calls == 1


@pytest.mark.parametrize("method", ["chat", "stream_chat"])
async def test_refused_probabilities_do_not_lose_the_answer(call, make_llm, method):
    from simulation import RefusedLogprobs

    with SimulatedProvider(faults=[RefusedLogprobs()]) as refusing:
        guarded = GuardedLLM(make_llm(api_base=refusing.base_url), LOGPROBS)
        response = await call(guarded, method, ask(MADE_UP))
    last = response if method == "chat" else response[-1]
    assert last.message.content
    assert verdict_of(last).inconclusive
