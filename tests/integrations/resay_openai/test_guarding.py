from __future__ import annotations

import json
from typing import Any

import httpx
import openai
import pytest

from resay import Guard, HallucinationBlocked, Policy, UncheckableError
from resay.adapters import marked
from resay.errors import ConfigurationError
from resay_openai import (
    VERDICT_KEY,
    GuardedAsyncOpenAI,
    GuardedAzureOpenAI,
    GuardedOpenAI,
    guard_client,
    verdict_of,
)
from simulation import RateLimited, RefusedLogprobs, ServerError, SimulatedProvider
from support.known_world import KNOWN, MADE_UP

pytestmark = pytest.mark.anyio

UNCACHED = {"cache": {"store": "none"}}
NGRAM = UNCACHED | {"chain": [{"method": "ngram"}], "sampling": {"max": 3, "min": 3}}
JUDGED = UNCACHED | {
    "chain": [{"method": "prompt", "mode": "per_sample"}],
    "sampling": {"max": 3, "confidence": None},
}
MESSAGE = "No answer today."
REPLACE = JUDGED | {"action": {"do": "block", "message": MESSAGE}}
RAISE = JUDGED | {"action": {"do": "block", "exit": "raise"}}
LOOK_UP = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
TOOLS = [{"type": "function", "function": {"name": "look_up", "parameters": LOOK_UP}}]


def asking(question: str) -> list[Any]:
    return [{"role": "user", "content": question}]


def chat(client: Any, question: str, **kwargs: Any) -> Any:
    return client.chat.completions.create(model="simulated", messages=asking(question), **kwargs)


def respond(client: Any, question: str, **kwargs: Any) -> Any:
    return client.responses.create(model="simulated", input=question, **kwargs)


def samples(provider: SimulatedProvider) -> list[Any]:
    """The requests for samples by their bodies: for one more answer, or several, like the first."""
    bodies: list[Any] = [request.body for request in provider.requests]
    return [body for body in bodies if body.get("n") or body.get("store") is False]


@pytest.mark.all_turns
async def test_made_up_answers_are_flagged(make, done, provider) -> None:
    client = make(JUDGED)
    answer = await done(chat(client, MADE_UP))
    verdict = verdict_of(answer)
    assert verdict.flagged
    assert verdict.via == "native"
    assert "".join(answer.choices[0].message.content.split()) == "".join(
        "".join(sentence.text for sentence in verdict.sentences).split()
    )
    assert answer.hallucination["action"] == "annotate"
    assert answer.model_dump()[VERDICT_KEY] == answer.hallucination
    assert json.loads(answer.to_json())[VERDICT_KEY]["decision"] == "flagged"
    assert samples(provider)[0]["n"] == 3


async def test_known_answers_are_consistent(make, done) -> None:
    assert verdict_of(await done(chat(make(JUDGED), KNOWN))).decision == "consistent"


@pytest.mark.all_turns
async def test_responses_are_guarded_too(make, done, provider) -> None:
    client = make(JUDGED)
    made_up, known = await done(respond(client, MADE_UP)), await done(respond(client, KNOWN))
    assert verdict_of(made_up).flagged
    assert verdict_of(known).decision == "consistent"
    # Three samples for each, none of which the provider keeps.
    sampled = [body for body in samples(provider) if body["input"] in (MADE_UP, KNOWN)]
    assert len(sampled) == 6
    assert all(body["store"] is False for body in sampled)


@pytest.mark.all_turns
async def test_the_raw_json_has_the_verdict(make, done) -> None:
    answer = await done(
        make(JUDGED).chat.completions.with_raw_response.create(
            model="simulated", messages=asking(MADE_UP)
        )
    )
    assert json.loads(answer.text)[VERDICT_KEY]["decision"] == "flagged"
    assert verdict_of(answer.parse()).flagged


async def test_a_withheld_answer_is_replaced(make, done) -> None:
    answer = await done(chat(make(REPLACE), MADE_UP))
    assert answer.choices[0].finish_reason == "content_filter"
    assert answer.choices[0].message.content == MESSAGE
    assert "Zorblatt was" not in answer.to_json()
    assert verdict_of(answer).flagged


async def test_a_withheld_response_is_replaced(make, done) -> None:
    answer = await done(respond(make(REPLACE), MADE_UP))
    assert answer.status == "incomplete"
    assert answer.incomplete_details.reason == "content_filter"
    assert answer.output_text == MESSAGE
    assert "Zorblatt was" not in answer.to_json()


@pytest.mark.parametrize("ask", [chat, respond])
async def test_a_withheld_answer_may_raise(make, done, provider, ask) -> None:
    with pytest.raises(HallucinationBlocked) as caught:
        await done(ask(make(RAISE, max_retries=2), MADE_UP))
    assert caught.value.verdict.flagged
    # An SDK would ask again for an error of its own.
    main = [r for r in provider.requests if r.body not in samples(provider)]
    assert len([r for r in main if r.headers.get("x-stainless-retry-count") != "0"]) == 0


def text_of(events: list[Any]) -> str:
    chunks = [event for event in events if getattr(event, "choices", None)]
    deltas = [e.delta for e in events if getattr(e, "type", "") == "response.output_text.delta"]
    return "".join([c.choices[0].delta.content or "" for c in chunks] + deltas)


def verdicts_in(events: list[Any]) -> list[int]:
    return [place for place, event in enumerate(events) if verdict_of(event)]


@pytest.mark.parametrize("mode", ["after", "hold", "buffer"])
@pytest.mark.parametrize("ask", [chat, respond])
async def test_a_stream_ends_with_its_verdict(make, done, mode, ask) -> None:
    events = await done(ask(make(JUDGED | {"stream_mode": mode}), KNOWN, stream=True))
    (place,) = verdicts_in(events)
    assert place == len(events) - 1
    verdict = verdict_of(events[place])
    assert verdict.decision == "consistent"
    assert "".join(text_of(events).split()) == "".join(
        "".join(sentence.text for sentence in verdict.sentences).split()
    )


@pytest.mark.parametrize("mode", ["after", "hold", "buffer"])
async def test_usage_comes_after_the_verdict(make, done, mode) -> None:
    client = make(JUDGED | {"stream_mode": mode})
    told = {"include_usage": True}
    events = await done(chat(client, KNOWN, stream=True, stream_options=told))
    assert verdicts_in(events) == [len(events) - 2]
    assert events[-1].choices == []
    assert events[-1].usage.completion_tokens > 0


@pytest.mark.parametrize("mode", ["hold", "buffer"])
@pytest.mark.parametrize("ask", [chat, respond])
async def test_no_flagged_word_is_streamed(make, done, mode, ask) -> None:
    events = await done(ask(make(REPLACE | {"stream_mode": mode}), MADE_UP, stream=True))
    assert text_of(events) == MESSAGE
    assert "Zorblatt was" not in "".join(event.to_json() for event in events)
    assert verdict_of(events[-1]).flagged


@pytest.mark.parametrize("mode", ["hold", "buffer"])
async def test_no_flagged_argument_is_streamed(make, done, mode) -> None:
    client = make(NGRAM | {"action": {"do": "block", "message": MESSAGE}, "stream_mode": mode})
    visitors = {"type": "object", "properties": {"visitors": {"type": "integer"}}}
    tools = [{"type": "function", "function": {"name": "count", "parameters": visitors}}]
    asked = {"tools": tools, "tool_choice": "required", "stream": True}
    events = await done(chat(client, MADE_UP, **asked))
    assert verdict_of(events[-1]).flagged
    assert text_of(events) == MESSAGE
    assert not [event for event in events if event.choices[0].delta.tool_calls]
    assert "visitors" not in "".join(event.choices[0].delta.to_json() for event in events)


async def test_a_stream_that_was_passed_on_ends_as_filtered(make, done) -> None:
    events = await done(chat(make(REPLACE | {"stream_mode": "after"}), MADE_UP, stream=True))
    assert "Zorblatt" in text_of(events)
    assert text_of(events).endswith(f"\n\n{MESSAGE}")
    assert events[-1].choices[0].finish_reason == "content_filter"


async def test_a_message_is_a_paragraph_of_its_own_in_responses_and_completions_too(
    make, done, provider
) -> None:
    client = make(REPLACE | {"stream_mode": "after"})
    events = await done(respond(client, MADE_UP, stream=True))
    assert events[-1].response.output_text.endswith(f".\n\n{MESSAGE}")
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == events[-1].response.output_text
    several = await done(chat(client, MADE_UP, stream=True, n=2))
    for index in (0, 1):
        contents = []
        for event in several:
            contents += [c.delta.content or "" for c in event.choices if c.index == index]
        assert "".join(contents).endswith(f".\n\n{MESSAGE}")


@pytest.mark.parametrize("mode", ["after", "hold", "buffer"])
async def test_a_withheld_stream_may_raise(make, done, mode) -> None:
    with pytest.raises(HallucinationBlocked):
        await done(chat(make(RAISE | {"stream_mode": mode}), MADE_UP, stream=True))


async def test_the_helpers_final_answers_have_the_verdict_where_others_do(provider) -> None:
    asked = {"model": "simulated", "messages": asking(MADE_UP)}
    with GuardedOpenAI(policy=JUDGED, base_url=provider.base_url, api_key="k") as client:
        with client.chat.completions.stream(**asked) as events:
            finals = [events.get_final_completion()]
        # A copy of a client has its own.
        with client.with_options(timeout=30).chat.completions.stream(**asked, n=2) as events:
            finals.append(events.get_final_completion())
            several = finals[-1].choices
        with client.responses.stream(model="simulated", input=MADE_UP) as events:
            finals.append(events.get_final_response())
    async with (
        GuardedAsyncOpenAI(policy=JUDGED, base_url=provider.base_url, api_key="k") as client,
        client.chat.completions.stream(**asked) as events,
    ):
        finals.append(await events.get_final_completion())
    for final in finals:
        assert final.hallucination == final.to_dict()["hallucination"]
        assert final.hallucination["decision"] == "flagged"
        assert verdict_of(final).flagged
    assert [choice.hallucination["decision"] for choice in several] == ["flagged"] * 2


def test_a_helper_s_message_goes_back_without_its_verdict(provider) -> None:
    with GuardedOpenAI(policy=NGRAM, base_url=provider.base_url, api_key="k") as client:
        messages = asking(MADE_UP)
        with client.chat.completions.stream(model="simulated", messages=messages) as events:
            messages.append(events.get_final_completion().choices[0].message)
        messages += asking(KNOWN)
        client.chat.completions.create(model="simulated", messages=messages)
    assert len(provider.requests) == 4
    assert "hallucination" not in str([request.body for request in provider.requests])


async def test_each_of_several_answers_has_its_own_verdict(make, done, provider) -> None:
    answer = await done(chat(make(NGRAM), MADE_UP, n=3))
    verdicts = [verdict_of(choice) for choice in answer.choices]
    for choice, verdict in zip(answer.choices, verdicts, strict=True):
        assert verdict.sentences[0].text in choice.message.content
    # The two others are samples, and only the third is drawn.
    assert [verdict.samples for verdict in verdicts] == [3, 3, 3]
    assert len(provider.requests) == 4
    assert verdict_of(answer).decision == "flagged"


@pytest.mark.parametrize("mode", ["after", "hold", "buffer"])
async def test_several_answers_stream(make, done, mode) -> None:
    events = await done(chat(make(NGRAM | {"stream_mode": mode}), MADE_UP, n=2, stream=True))
    ended = [e for e in events if e.choices and e.choices[0].finish_reason]
    assert sorted(e.choices[0].index for e in ended) == [0, 1]
    assert all(verdict_of(event).flagged for event in ended)


async def test_only_those_of_several_answers_that_fail_are_withheld(make, done) -> None:
    blocking = NGRAM | {"action": {"do": "block", "message": MESSAGE}, "stream_mode": "buffer"}
    answer = await done(chat(make(blocking), MADE_UP, n=2))
    events = await done(chat(make(blocking), MADE_UP, n=2, stream=True))
    assert [choice.message.content for choice in answer.choices] == [MESSAGE, MESSAGE]
    for index in (0, 1):
        own = [e for e in events if e.choices and e.choices[0].index == index]
        assert "".join(e.choices[0].delta.content or "" for e in own) == MESSAGE
        assert own[-1].choices[0].finish_reason == "content_filter"


@pytest.mark.parametrize(
    ("kwargs", "reason"),
    [
        ({"conversation": "conv_1"}, "conversation"),
        ({"tools": [{"type": "web_search"}]}, "tools"),
        ({"background": True}, "background"),
    ],
)
async def test_what_must_not_be_asked_again_is_not(make, done, provider, kwargs, reason) -> None:
    answer = await done(respond(make(JUDGED), MADE_UP, **kwargs))
    verdict = verdict_of(answer)
    assert verdict.skipped
    assert reason in verdict.reason
    assert len(provider.requests) == 1


async def test_what_comes_before_a_response_is_asked_for_again(make, done, provider) -> None:
    client = make(NGRAM)
    first = await done(respond(client, KNOWN))
    answer = await done(respond(client, "Go on.", previous_response_id=first.id))
    assert not verdict_of(answer).skipped
    sampled = [body for body in samples(provider) if body["input"] == "Go on."]
    assert {body["previous_response_id"] for body in sampled} == {first.id}


async def test_calls_of_tools_are_not_checked(make, done, provider) -> None:
    answer = await done(chat(make(JUDGED), "[[tool]] Canberra", tools=TOOLS))
    assert answer.choices[0].message.tool_calls
    assert verdict_of(answer).reason == "the answer calls tools"
    assert len(provider.requests) == 1


PARAMETERS = {"customer": {"type": "string"}, "amount": {"type": "integer"}}
REFUND = {"type": "object", "properties": PARAMETERS, "required": list(PARAMETERS)}
REFUNDS = [{"type": "function", "function": {"name": "refund", "parameters": REFUND}}]
# The amount is nowhere, and each sample makes up another one.
CALLING = "[[tool]] Canberra"
ARGUMENTS = NGRAM | {"tools": "arguments"}


def refund_in(message: Any) -> Any:
    (call,) = message.tool_calls
    return json.loads(call.function.arguments)


async def test_the_arguments_of_calls_are_compared_where_the_policy_says_so(
    make, done, provider
) -> None:
    answer = await done(chat(make(ARGUMENTS), CALLING, tools=REFUNDS))
    amount = refund_in(answer.choices[0].message)["amount"]
    assert answer.choices[0].finish_reason == "tool_calls"
    assert answer.hallucination["action"] == "annotate"
    verdict = verdict_of(answer)
    (flagged,) = verdict.flagged_sentences
    assert flagged.text == f"refund.amount: {amount}"
    assert "appears in neither the conversation nor a tool's result" in (flagged.reason or "")
    assert all(body["tools"] == REFUNDS for body in samples(provider))
    assert len(samples(provider)) > 0


async def test_flagged_calls_are_withheld(make, done) -> None:
    blocking = ARGUMENTS | {"action": {"do": "block", "message": MESSAGE}}
    answer = await done(chat(make(blocking), CALLING, tools=REFUNDS))
    assert answer.choices[0].message.tool_calls is None
    assert answer.choices[0].message.content == MESSAGE
    assert answer.choices[0].finish_reason == "content_filter"
    with pytest.raises(HallucinationBlocked):
        await done(
            chat(
                make(ARGUMENTS | {"action": {"do": "block", "exit": "raise"}}),
                CALLING,
                tools=REFUNDS,
            )
        )


@pytest.mark.parametrize("mode", ["hold", "buffer"])
async def test_streams_withhold_flagged_calls(make, done, mode) -> None:
    blocking = ARGUMENTS | {"action": {"do": "block", "message": MESSAGE}, "stream_mode": mode}
    events = await done(chat(make(blocking), CALLING, tools=REFUNDS, stream=True))
    deltas = [choice.delta for event in events for choice in event.choices]
    assert not any(delta.tool_calls for delta in deltas)
    assert "".join(delta.content or "" for delta in deltas) == MESSAGE


@pytest.mark.parametrize("mode", ["hold", "buffer", "after"])
async def test_streams_pass_calls_on_with_their_verdict(make, done, mode) -> None:
    annotating = ARGUMENTS | {"stream_mode": mode}
    events = await done(chat(make(annotating), CALLING, tools=REFUNDS, stream=True))
    pieces = [c for e in events for choice in e.choices for c in choice.delta.tool_calls or ()]
    given = json.loads("".join(piece.function.arguments or "" for piece in pieces))
    (verdict,) = [found for event in events if (found := verdict_of(event))]
    (flagged,) = verdict.flagged_sentences
    assert flagged.text == f"refund.amount: {given['amount']}"


async def test_each_of_several_answers_with_calls_is_compared(make, done) -> None:
    answer = await done(chat(make(ARGUMENTS), CALLING, tools=REFUNDS, n=2))
    for choice in answer.choices:
        (flagged,) = verdict_of(choice).flagged_sentences
        assert flagged.text == f"refund.amount: {refund_in(choice.message)['amount']}"


async def test_calls_are_not_drawn_again_where_the_provider_runs_tools(
    make, done, provider
) -> None:
    logprobs = ARGUMENTS | {"chain": [{"method": "logprobs"}]}
    hosted = [{"type": "web_search"}]
    answer = await done(respond(make(logprobs), MADE_UP, tools=hosted))
    # Words are checked by what needs no samples.
    assert verdict_of(answer).flagged
    assert len(provider.requests) == 1
    blocks = make(ARGUMENTS | {"action": {"do": "block"}})
    for way in ({}, {"stream": True}):
        with pytest.raises(UncheckableError, match="tools") as caught:
            await done(respond(blocks, MADE_UP, tools=hosted, **way))
        assert caught.value.field == "tools"
    assert len(provider.requests) == 1


async def test_words_are_checked_where_tools_are_offered(make, done) -> None:
    answer = await done(chat(make(JUDGED), MADE_UP, tools=TOOLS))
    assert verdict_of(answer).flagged


async def test_a_tool_that_has_to_be_called_is_an_object(make, done) -> None:
    forced = {"type": "function", "function": {"name": "look_up"}}
    answer = await done(chat(make(JUDGED), KNOWN, tools=TOOLS, tool_choice=forced))
    assert verdict_of(answer).structured


async def test_policies_come_in_any_form(make, done, tmp_path, monkeypatch) -> None:
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(NGRAM))
    for policy in (path, str(path), NGRAM, Policy.of(NGRAM), Guard(NGRAM)):
        assert make(policy).guard.policy == Policy.of(NGRAM)
    monkeypatch.setenv("RESAY_POLICY", str(path))
    assert make(None).guard.policy == Policy.of(NGRAM)


@pytest.mark.all_turns
async def test_other_options_keep_the_policy(make) -> None:
    client = make(NGRAM)
    other = client.with_options(timeout=3)
    assert other.guard is client.guard
    assert type(other) is type(client)
    assert other.timeout == 3
    assert other.with_policy(JUDGED).guard.policy == Policy.of(JUDGED)
    assert other.with_policy(JUDGED).timeout == 3


async def test_inside_a_guard_it_does_nothing(make, done, provider) -> None:
    with marked():
        answer = await done(chat(make(JUDGED), MADE_UP))
    assert verdict_of(answer) is None
    assert len(provider.requests) == 1


@pytest.mark.all_turns
async def test_failing_samples_do_not_lose_the_answer(make, done, provider) -> None:
    provider.set_faults(ServerError(after=1))
    policy = NGRAM | {"sampling": {"max": 3, "start": "after"}, "limits": {"retries": 0}}
    answer = await done(chat(make(policy, max_retries=2), MADE_UP))
    assert verdict_of(answer).inconclusive
    assert "Zorblatt" in answer.choices[0].message.content
    # One request for all samples and one for each, none of them tried again by the SDK.
    assert all(r.headers["x-stainless-retry-count"] == "0" for r in provider.requests)


@pytest.mark.all_turns
async def test_retries_of_the_main_call_ask_for_no_more_samples(make, done, provider) -> None:
    held = NGRAM | {"sampling": {"max": 3, "min": 3, "start": "together"}}
    # The sample, if it is first, is tried again by the guard; whichever is, each comes once.
    provider.set_faults(RateLimited(first=2, retry_after_s=0.01))
    answer = await done(chat(make(held, max_retries=3), MADE_UP))
    assert verdict_of(answer).samples == 3
    assert len([r for r in provider.requests if r.status == 200]) == 2


async def test_samples_are_asked_for_as_the_main_call_is(make, done, provider) -> None:
    client = make(NGRAM)
    await done(
        chat(
            client,
            MADE_UP,
            temperature=0.7,
            seed=4,
            metadata={"a": "b"},
            extra_body={"top_k": 5},
            extra_headers={"x-mine": "1", "Idempotency-Key": "once"},
        )
    )
    (sample,) = [r for r in provider.requests if r.body.get("n") == 3]
    assert sample.body["temperature"] == 0.7
    assert sample.body["top_k"] == 5
    assert sample.headers["x-mine"] == "1"
    assert not {"seed", "metadata", "stream"} & set(sample.body)
    assert "once" not in sample.headers.values()


async def test_probabilities_are_asked_for_and_not_shown(make, done, provider) -> None:
    client = make(UNCACHED | {"chain": [{"method": "logprobs"}]})
    answer = await done(chat(client, MADE_UP))
    assert not verdict_of(answer).inconclusive
    assert provider.requests[0].body["logprobs"] is True
    assert answer.choices[0].logprobs is None
    mine = await done(chat(client, KNOWN, logprobs=True))
    assert mine.choices[0].logprobs.content
    streamed = await done(chat(client, MADE_UP, stream=True))
    assert not any(event.choices[0].logprobs for event in streamed if event.choices)
    assert verdict_of(streamed[-1]).score is not None


@pytest.mark.parametrize("stream", [False, True])
async def test_who_gives_no_probabilities_still_answers(make, done, provider, stream) -> None:
    provider.set_faults(RefusedLogprobs())
    client = make(UNCACHED | {"chain": [{"method": "logprobs"}]})
    given = await done(chat(client, KNOWN, stream=stream))
    assert verdict_of(given[-1] if stream else given).inconclusive


async def test_another_judge_and_another_model_are_asked_through_litellm(
    make, done, provider, litellm, monkeypatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "simulated")
    monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
    policy = UNCACHED | {
        "chain": [{"method": "prompt", "mode": "per_sample", "judge": "openai/judge"}],
        "sampling": {"max": 2, "model": "openai/other"},
    }
    answer = await done(respond(make(policy), MADE_UP, max_output_tokens=200))
    verdict = verdict_of(answer)
    assert verdict.via == "litellm"
    assert verdict.samples == 2
    asked = [r.body["model"] for r in provider.requests]
    assert asked.count("simulated") == 1
    assert {"other", "judge"} <= set(asked)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"chain": [{"method": "ngram", "evidence": "references"}]}, "references"),
        (NGRAM | {"sampling": {"via": "litellm"}}, "via"),
        (NGRAM | {"sampling": {"via": "native", "model": "openai/other"}}, "sampling.model"),
    ],
)
async def test_what_cannot_be_had_of_a_client_is_refused(make, policy, message) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make(policy)


async def test_samples_are_shared_by_equal_requests_of_one_payer(make, done, provider) -> None:
    policy = {"chain": [{"method": "ngram"}], "sampling": {"max": 3, "min": 3}}
    client = make(policy)
    for _ in range(2):
        await done(chat(client, MADE_UP))
    assert len(provider.requests) == 3
    await done(chat(client.with_options(api_key="another"), MADE_UP))
    await done(chat(client, MADE_UP, temperature=0.9))
    assert len(provider.requests) == 7


@pytest.mark.parametrize("guarded", [True, False], ids=["guarded", "guard_client"])
def test_azure(provider, guarded) -> None:
    # The simulated provider has no deployments.
    def rewrite(request: httpx.Request) -> None:
        assert "/deployments/simulated/" in request.url.path
        request.url = request.url.copy_with(path="/v1/chat/completions")

    given: Any = {
        "azure_endpoint": provider.root_url,
        "api_version": "2024-10-21",
        "api_key": "k",
        "http_client": httpx.Client(event_hooks={"request": [rewrite]}),
    }
    if guarded:
        client = GuardedAzureOpenAI(policy=NGRAM, **given)
    else:
        client = guard_client(openai.AzureOpenAI(**given), NGRAM)
    with client:
        assert type(client) is GuardedAzureOpenAI
        assert verdict_of(chat(client, MADE_UP)).samples == 3
    assert len(provider.requests) == 2


class Mine(openai.OpenAI):
    """A client whose constructor is nobody else's."""

    def __init__(self, place: str, **kwargs: Any) -> None:
        super().__init__(base_url=place, api_key="k", **kwargs)
        self.place = place

    def copy(self, **kwargs: Any) -> Any:
        return Mine(self.place, http_client=self._client)

    with_options = copy


async def test_any_client_can_be_guarded(provider) -> None:
    with Mine(provider.base_url) as client:
        guarded = guard_client(client, NGRAM)
        assert isinstance(guarded, Mine)
        assert verdict_of(chat(guarded, MADE_UP)).flagged
        assert verdict_of(chat(client, MADE_UP)) is None
        other = guarded.with_options()
        assert (type(other), other.place) == (type(guarded), provider.base_url)
        assert verdict_of(chat(other, MADE_UP)).flagged


async def test_a_guarded_client_is_not_guarded_twice(make, done, provider) -> None:
    client = guard_client(make(JUDGED), NGRAM)
    answer = await done(chat(client, MADE_UP))
    assert verdict_of(answer).flagged
    assert len(provider.requests) == 2


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="not 'str'"):
        guard_client("client")  # type: ignore[type-var] - on purpose


@pytest.mark.all_turns
async def test_other_requests_are_left_alone(make, done, provider) -> None:
    client = make(JUDGED)
    models = client.models.list()
    assert await done(models)
    assert len(provider.requests) == 1
