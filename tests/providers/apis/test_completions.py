from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Request, TokenLogprob
from resay.adapters.apis import COMPLETIONS, Event, Outcome
from resay.core.logprobs import TopLogprob
from support.apis import (
    BLOCKED,
    BLOCKS,
    JSON,
    PASSED,
    REWRITTEN,
    Blocks,
    after,
    buffer,
    hold,
    in_words,
    joined,
    read,
    received,
    regenerated,
    rewrite,
    sent,
    spoiled,
    without_verdicts,
)

PROMPT = "Canberra was"
LISTED = {
    "tokens": [" zebra"],
    "token_logprobs": [-0.5],
    "top_logprobs": [{" zebra": -0.5, " lion": -1.5}],
    "text_offset": [12],
}


def request_of(**body: Any) -> dict[str, Any]:
    return {"model": "m", "prompt": PROMPT, **body}


def response_of(*texts: str, **fields: Any) -> dict[str, Any]:
    choices = [
        {"index": i, "text": text, "logprobs": LISTED, "finish_reason": "length", **fields}
        for i, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
    envelope = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m"}
    return {**envelope, "choices": choices, "usage": usage, "kept_by_some": "zebra"}


def piece(text: str, reason: str | None = None, index: int = 0, **fields: Any) -> Event:
    choice = {"index": index, "text": text, "logprobs": None, "finish_reason": reason, **fields}
    envelope = {"id": "cmpl-7", "object": "text_completion", "created": 1, "model": "m"}
    return Event({**envelope, "choices": [choice]})


def stream_of(blocks: Blocks, last: str = "") -> list[Event]:
    events = [piece(text) for texts in blocks for text in texts]
    return [*events, piece(last, "stop"), Event("[DONE]")]


# Requests


def test_a_prompt_is_a_message_of_the_user():
    api_request = COMPLETIONS.read(
        request_of(n=3, stream=True, temperature=0.2, stop=None, suffix="!")
    )

    assert api_request.request.messages == ({"role": "user", "content": PROMPT},)
    assert api_request.request.params == {"temperature": 0.2, "suffix": "!"}
    assert (api_request.n, api_request.streams) == (3, True)
    assert api_request.context.unrepeatable is api_request.context.unchecked is None
    assert COMPLETIONS.read(request_of(prompt=[PROMPT])).request == Request(
        api_request.request.messages
    )


@pytest.mark.parametrize(
    ("body", "n", "reason"),
    [
        ({"prompt": ["One?", "Two?"]}, 2, "several prompts"),
        ({"prompt": ["One?", "Two?"], "n": 3}, 6, "several prompts"),
        ({"prompt": [[1, 2], [3]]}, 2, "several prompts"),
        ({"prompt": [1, 2, 3]}, 1, "not given as a text"),
        ({"prompt": [[1, 2, 3]], "n": 2}, 2, "not given as a text"),
        ({"prompt": None}, 1, "not given as a text"),
        ({"prompt": []}, 1, "not given as a text"),
        ({"prompt": {"text": "Who?"}}, 1, "not given as a text"),
        ({"echo": True}, 1, "repeats the prompt"),
        ({"echo": True, "prompt": [PROMPT], "n": 2}, 2, "repeats the prompt"),
    ],
    ids=str,
)
def test_what_cannot_be_checked_says_why(body: dict[str, Any], n: int, reason: str):
    api_request = COMPLETIONS.read(request_of(**body))

    assert api_request.n == n
    assert api_request.context.uncheckable is not None
    assert reason in api_request.context.uncheckable
    assert api_request.context.unrepeatable == api_request.context.uncheckable
    assert api_request.field == ("echo" if "echo" in body else "prompt")


@pytest.mark.parametrize(("asked", "top"), [(0, 0), (3, 3), (True, 1)])
def test_a_number_of_alternatives_asks_for_log_probabilities(asked: Any, top: int):
    params = COMPLETIONS.read(request_of(logprobs=asked)).request.params

    assert params == {"logprobs": True, "top_logprobs": top}


@pytest.mark.parametrize("asked", [None, False, -1, "3"])
def test_anything_else_does_not(asked: Any):
    assert not COMPLETIONS.read(request_of(logprobs=asked)).request.params


@pytest.mark.parametrize(("top", "own", "asked"), [(0, None, 0), (3, None, 3), (20, None, 5)])
def test_log_probabilities_are_asked_for(top: int, own: Any, asked: int):
    body = request_of() if own is None else request_of(logprobs=own)

    assert COMPLETIONS.with_logprobs(body, top) == {**body, "logprobs": asked}


def test_a_sample_is_asked_for_natively_with_the_same_prompt():
    body = request_of(
        prompt=[PROMPT],
        suffix=" by the lake.",
        best_of=5,
        n=2,
        logprobs=3,
        seed=1,
        stream=True,
        stream_options={"include_usage": True},
        temperature=0,
        max_tokens=40,
        stop=["\n"],
        prompt_logprobs=1,
        min_p=0.1,
    )
    api_request = COMPLETIONS.read(body)

    sample = COMPLETIONS.sample(api_request, api_request.request.for_sampling(), 1)

    fields = ("model", "prompt", "suffix", "max_tokens", "stop", "min_p")
    assert sample == {name: body[name] for name in fields}
    params = {"max_completion_tokens": 9, "top_p": 0.9}
    request = api_request.request.for_sampling(temperature=0.7, params=params)
    several = COMPLETIONS.sample(api_request, request, 4)
    assert several == {**sample, "n": 4, "temperature": 0.7, "top_p": 0.9, "max_tokens": 9}


def test_a_question_of_its_own_is_a_prompt():
    body = request_of(suffix="!", max_tokens=16)
    parts = [{"type": "text", "text": "Is it"}, {"type": "text", "text": "so?"}]
    for content in ("Is it\nso?", parts):
        request = COMPLETIONS.fresh(body, Request(({"role": "user", "content": content},)))
        assert request == {"model": "m", "prompt": "Is it\nso?", "max_tokens": 1024}
    new_request = COMPLETIONS.read(body).request
    assert COMPLETIONS.fresh(body, new_request) == {
        "model": "m",
        "prompt": PROMPT,
        "max_tokens": 16,
    }


def test_a_conversation_is_written_down():
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Is it so?"},
        {"role": "assistant", "content": "Perhaps."},
        {"role": "user", "content": "Yes or no?"},
    ]
    params = {"logprobs": True, "top_logprobs": 2, "temperature": 0.0}

    request = COMPLETIONS.fresh(request_of(max_tokens=2000), Request(tuple(messages), None, params))

    assert request == {
        "model": "m",
        "prompt": "System: Be brief.\n\nUser: Is it so?\n\nAssistant: Perhaps.\n\n"
        "User: Yes or no?\n\nAssistant:",
        "stop": ["\n\nUser:"],
        "max_tokens": 2000,
        "logprobs": 2,
        "temperature": 0.0,
    }


@given(spoiled(request_of(n=2, logprobs=1, echo=False, stop=["a"])))
def test_a_request_with_anything_in_it_is_read(body: Any):
    if isinstance(body, dict):
        api_request = COMPLETIONS.read(body)
        COMPLETIONS.with_logprobs(body, 3)
        COMPLETIONS.sample(api_request, api_request.request.for_sampling(), 2)
        COMPLETIONS.fresh(body, api_request.request)


# Responses


def test_a_response_is_read():
    response = response_of(" zebra", " lion")

    first, second = COMPLETIONS.completions(response)

    assert (first.text, second.text, first.finish_reason) == (" zebra", " lion", "length")
    top = (TopLogprob(" zebra", -0.5), TopLogprob(" lion", -1.5))
    assert first.logprobs == (TokenLogprob(" zebra", -0.5, top=top),)
    assert first.raw is response
    usage = COMPLETIONS.usage(response)
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (1, 5, 7)
    (without_logprobs,) = COMPLETIONS.completions(
        COMPLETIONS.without_logprobs(response_of(" zebra"))
    )
    assert not without_logprobs.logprobs


def test_a_response_that_passed_has_its_verdict_and_is_as_it_was():
    response = response_of(" zebra")

    assert COMPLETIONS.answered(response, [PASSED]) == {**response, "hallucination": PASSED.data}


@pytest.mark.parametrize(
    ("outcome", "said", "reason"),
    [(BLOCKED, "Withheld.", "content_filter"), (REWRITTEN, "Anew.", "stop")],
)
def test_no_word_is_left_of_what_is_replaced(outcome: Outcome, said: str, reason: str):
    response = response_of(" zebra", token_ids=[7], prompt_logprobs=[{"7": {"zebra": 1}}])

    answered = COMPLETIONS.answered(response, [outcome])

    (answer,) = COMPLETIONS.completions(answered)
    assert (answer.text, answer.finish_reason, answer.logprobs) == (said, reason, ())
    assert "zebra" not in in_words([Event(answered)])
    assert answered["hallucination"] == outcome.data
    assert [answered[name] for name in ("id", "model", "usage")] == [
        "cmpl-1",
        "m",
        response["usage"],
    ]


def test_each_of_several_answers_has_its_verdict():
    answered = COMPLETIONS.answered(response_of(" one", " two"), [PASSED, BLOCKED])

    assert [choice["text"] for choice in answered["choices"]] == [" one", "Withheld."]
    verdicts = [choice["hallucination"]["decision"] for choice in answered["choices"]]
    assert verdicts == ["consistent", "flagged"]
    assert answered["hallucination"] == BLOCKED.data


# Streams


@given(BLOCKS, st.sampled_from(["", " end."]))
def test_what_passed_on_is_given_as_it_is_but_for_the_verdict(blocks: Blocks, last: str):
    events = received(sent(stream_of(blocks, last)))

    assert read(COMPLETIONS, events).text == joined(blocks) + last
    for given_events in (after(COMPLETIONS, events, PASSED), buffer(COMPLETIONS, events, PASSED)):
        changed = [b for a, b in zip(events, given_events, strict=True) if a != b]
        assert len(changed) == 1
        assert '"hallucination": {"decision": "consistent"}' in in_words(changed)
        assert read(COMPLETIONS, given_events) == read(COMPLETIONS, events)


@given(BLOCKS, st.lists(st.integers(1, 9), max_size=4), st.sampled_from(["", " end."]))
def test_held_text_is_given_as_it_is_released(blocks: Blocks, lengths: list[int], last: str):
    events = stream_of(blocks, last)
    held = hold(COMPLETIONS, events, lengths, PASSED)

    answer = read(COMPLETIONS, received(sent(held)))
    assert (answer.text, answer.finish_reason) == (read(COMPLETIONS, events).text, "stop")
    assert '"hallucination": {"decision": "consistent"}' in in_words(held)


@given(st.integers(0, 12), st.booleans(), st.sampled_from(["", " moon"]))
def test_nothing_withheld_is_given(cut: int, shows: bool, last: str):
    events = [piece("Known. ", token_ids=[1]), *stream_of([["Zanzibar ", "moon"]] * 2, last)][:cut]
    shown = "Known. " if shows and cut else ""

    given_events = hold(COMPLETIONS, events, [len(shown)], BLOCKED)

    words = in_words(given_events)
    assert not [word for word in ("Zanzibar", "moon", "token_ids") if word in words]
    answer = read(COMPLETIONS, given_events)
    assert (answer.text, answer.finish_reason) == (shown + "Withheld.", "content_filter")
    assert '"hallucination": {"decision": "flagged"}' in words


@pytest.mark.parametrize("last", ["", " and more."])
def test_a_message_after_the_answer_is_the_last_that_is_said(last: str):
    answer = read(COMPLETIONS, after(COMPLETIONS, stream_of([["It is ", "so."]], last), BLOCKED))

    assert (answer.text, answer.finish_reason) == ("It is so.\n\nWithheld.", "content_filter")


@given(BLOCKS, st.booleans())
def test_an_answer_that_was_written_again_is_given(blocks: Blocks, shows: bool):
    new = regenerated("One. It is not known.", "One. Two.")
    events = stream_of([["One. ", "Two."], *blocks])

    given_events = rewrite(COMPLETIONS, events, ["One. "] * shows, new)

    answer = read(COMPLETIONS, given_events)
    assert (answer.text, answer.finish_reason) == (new.text, "stop")
    assert "Two." not in in_words(without_verdicts(given_events))


def test_what_a_stream_cost_is_told_behind_it():
    usage = {"prompt_tokens": 5, "completion_tokens": 7}
    usage_event = Event({"id": "cmpl-7", "model": "m", "choices": [], "usage": usage})
    events = [piece("So.", token_ids=[1]), piece("", "stop"), usage_event, Event("[DONE]")]

    for given_events in (
        hold(COMPLETIONS, events, [3], PASSED),
        hold(COMPLETIONS, events, [], BLOCKED),
        after(COMPLETIONS, events, BLOCKED),
    ):
        *_, cost, done = given_events
        ((_, chunk),) = COMPLETIONS.chunks(cost)
        assert chunk.usage is not None
        assert (chunk.usage.prompt_tokens, chunk.usage.completion_tokens) == (5, 7)
        assert done.data == "[DONE]"


def test_answers_that_come_together_are_told_apart():
    both = Event({"choices": [{"index": i, "text": text} for i, text in enumerate("ab")]})

    apart = COMPLETIONS.split(both)

    assert [(index, read(COMPLETIONS, [own]).text) for index, own in apart] == [(0, "a"), (1, "b")]
    again = COMPLETIONS.with_index(apart[1][1], 1)
    assert [index for index, _ in COMPLETIONS.chunks(again)] == [1]


@given(st.data())
def test_events_with_anything_in_them_are_read(data: st.DataObject):
    events = stream_of([["a", "b"]], "c")
    index = data.draw(st.integers(0, len(events) - 1))
    body = data.draw(spoiled(events[index].body) | JSON)
    events[index] = Event(body if isinstance(body, dict) else str(body))

    for event in events:
        COMPLETIONS.chunks(event)
        COMPLETIONS.usage(event.body)
        COMPLETIONS.opening_frame(event)
        COMPLETIONS.has_other_words(event)
        COMPLETIONS.without_logprobs(event.body)
        for _, own in COMPLETIONS.split(event):
            COMPLETIONS.with_index(own, 1)
    for outcome in (PASSED, BLOCKED, REWRITTEN):
        after(COMPLETIONS, events, outcome)
        hold(COMPLETIONS, events, [1], outcome)
        buffer(COMPLETIONS, events, outcome)
