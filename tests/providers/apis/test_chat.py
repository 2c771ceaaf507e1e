from __future__ import annotations

import json
from typing import Any

import pytest

from resay import Request
from resay.adapters.apis import CHAT_COMPLETIONS, Event, Outcome
from support.apis import BLOCKED, PASSED, REWRITTEN, chat_stream, in_words

QUESTION = {"role": "user", "content": "Who?"}
LOOK_UP = {"type": "function", "function": {"name": "look_up"}}
TOKENS = {"content": [{"token": "A", "logprob": -0.5, "bytes": [65], "top_logprobs": []}]}


def request_of(**body: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [QUESTION], **body}


def choice(index: int, text: str, **fields: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {"index": index, "message": message, "finish_reason": "stop", **fields}


def test_an_apis_request_is_a_request():
    api_request = CHAT_COMPLETIONS.read(request_of(n=3, stream=True, temperature=0.2, stop=None))

    assert api_request.request == Request((QUESTION,), None, {"temperature": 0.2})
    assert (api_request.n, api_request.streams) == (3, True)
    assert api_request.context.unrepeatable is None


@pytest.mark.parametrize("choice", ["required", LOOK_UP])
def test_the_only_tool_that_has_to_be_called_gives_an_object(choice: Any):
    api_request = CHAT_COMPLETIONS.read(request_of(tools=[LOOK_UP], tool_choice=choice))

    assert api_request.context.object_tools == ("look_up",)


@pytest.mark.parametrize("body", [{"tools": [{"type": "web"}]}, {"web_search_options": {"a": 1}}])
def test_tools_that_the_provider_runs_cannot_be_asked_again(body: dict[str, Any]):
    assert CHAT_COMPLETIONS.read(request_of(**body)).context.unrepeatable


def test_samples_are_asked_for_together():
    api_request = CHAT_COMPLETIONS.read(
        request_of(n=2, stream=True, seed=1, top_p=0.5, temperature=0)
    )

    body = CHAT_COMPLETIONS.sample(api_request, api_request.request.for_sampling(), 3)

    assert body == request_of(top_p=0.5, n=3)


def test_a_judge_is_asked_for_itself():
    request = Request((QUESTION,), None, {"max_tokens": 1})

    assert CHAT_COMPLETIONS.fresh({"model": "m"}, request) == request_of(max_tokens=1)


def test_log_probabilities_are_asked_for_and_taken_out():
    assert CHAT_COMPLETIONS.with_logprobs(request_of(top_logprobs=5), 2) == request_of(
        top_logprobs=5, logprobs=True
    )
    response = {"choices": [choice(0, "A", logprobs=TOKENS)]}

    (answer,) = CHAT_COMPLETIONS.completions(response)

    assert [token.logprob for token in answer.logprobs] == [-0.5]
    stripped = CHAT_COMPLETIONS.without_logprobs(response)
    assert stripped == {"choices": [choice(0, "A", logprobs=None)]}


def test_of_several_answers_each_has_its_verdict_and_all_have_the_worst():
    response = {"id": "c_1", "choices": [choice(0, "zebra"), choice(1, "Canberra")]}

    answered = CHAT_COMPLETIONS.answered(response, [BLOCKED, PASSED])

    first, second = answered["choices"]
    assert first["message"]["content"] == "Withheld."
    assert "zebra" not in in_words([Event(answered)])
    assert second == {**choice(1, "Canberra"), "hallucination": PASSED.data}
    assert answered["hallucination"] == first["hallucination"] == BLOCKED.data


def test_of_several_answers_some_are_written_again():
    extra = {"citations": ["https://zebra"]}
    response = {"id": "c_1", **extra, "choices": [choice(0, "zebra"), choice(1, "Canberra")]}

    answered = CHAT_COMPLETIONS.answered(response, [REWRITTEN, PASSED])

    first, second = answered["choices"]
    assert (first["message"]["content"], first["finish_reason"]) == ("Anew.", "stop")
    assert first["logprobs"] is None
    assert second["message"]["content"] == "Canberra"
    assert "zebra" not in in_words([Event(answered)])
    assert answered["hallucination"] == first["hallucination"] == REWRITTEN.data


def test_that_an_answer_was_written_again_is_worth_knowing():
    response = {"choices": [choice(0, "zebra"), choice(1, "zebra")]}
    passed = Outcome({**PASSED.data, "action": "allow"})
    flagged = Outcome({"decision": "flagged"}, "Anew.", complete=True)
    withheld = Outcome({"decision": "inconclusive"}, "Withheld.")

    for better, worse in ((passed, REWRITTEN), (REWRITTEN, flagged), (flagged, withheld)):
        for outcomes in ([better, worse], [worse, better]):
            answered = CHAT_COMPLETIONS.answered(response, outcomes)
            assert answered["hallucination"] == worse.data


def test_events_of_several_answers_are_told_apart():
    event = chat_stream([["a"]])[1]
    (answer,) = event.body["choices"]
    both = Event({**event.body, "choices": [answer, {**answer, "index": 1}]})

    apart = CHAT_COMPLETIONS.split(both)

    assert apart == [(0, event), (1, event)]
    assert CHAT_COMPLETIONS.with_index(event, 1).body["choices"] == [{**answer, "index": 1}]


def test_the_end_of_each_of_several_answers_has_its_verdict():
    last = chat_stream([["a"]])[-2]
    other = Event({**last.body, "choices": [{**last.body["choices"][0], "index": 1}]})
    passed = Outcome({"decision": "consistent"})

    first, second = CHAT_COMPLETIONS.ending([last, other], {0: BLOCKED, 1: passed})

    assert first.body["choices"][0]["finish_reason"] == "content_filter"
    assert second.body["choices"][0]["hallucination"] == passed.data


def test_what_a_stream_cost_is_told_after_its_end():
    usage = {"prompt_tokens": 5, "completion_tokens": 7}
    event = Event({"choices": [], "usage": usage})

    ((_, chunk),) = CHAT_COMPLETIONS.chunks(event)

    assert chunk.usage is not None
    assert (chunk.usage.prompt_tokens, chunk.usage.completion_tokens) == (5, 7)
    *begun, end, done = chat_stream([["a"]])
    closing = CHAT_COMPLETIONS.closing(begun, [end, event, done], BLOCKED)
    assert closing[1:] == [event, Event("[DONE]")]


def test_a_stream_of_which_nothing_was_seen_can_be_spoken_in():
    given = [
        *CHAT_COMPLETIONS.saying([], "Withheld."),
        *CHAT_COMPLETIONS.closing([], [], BLOCKED),
    ]

    (answer,) = given[0].body["choices"]
    assert answer["delta"] == {"role": "assistant", "content": "Withheld."}
    assert given[0].body["object"] == "chat.completion.chunk"


@pytest.mark.parametrize("extra", [{}, {"reasoning_content": ""}, {"refusal": None}])
def test_text_is_no_word_beside_the_text(extra: dict[str, Any]):
    delta = {"role": "assistant", "content": "A", **extra}
    event = Event({"id": "c", "choices": [{"index": 0, "delta": delta}]})

    assert not CHAT_COMPLETIONS.has_other_words(event)
    frame = CHAT_COMPLETIONS.opening_frame(event)
    assert frame.body["choices"][0]["delta"] == {"role": "assistant"}


def test_a_thought_is_and_leaves_no_word_in_the_frame():
    delta = {"role": "assistant", "reasoning_content": "Zorblatt"}
    event = Event({"id": "c", "choices": [{"index": 0, "delta": delta}]})
    frame = CHAT_COMPLETIONS.opening_frame(event)

    assert CHAT_COMPLETIONS.has_other_words(event)
    assert frame.body["id"] == "c"
    assert frame.body["choices"][0]["delta"] == {"role": "assistant"}


@pytest.mark.parametrize("name", ["conversation", "previous_response_id", "thread_id"])
def test_what_a_gateway_keeps_is_not_asked_again(name: str):
    assert CHAT_COMPLETIONS.read(request_of(**{name: "x"})).context.unrepeatable


PARTS = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
    {"type": "text", "text": "It is so. "},
    {"type": "text", "text": "It was then."},
]


def test_the_words_of_a_content_may_be_in_parts() -> None:
    message = {"role": "assistant", "content": PARTS}
    response = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    (completion,) = CHAT_COMPLETIONS.completions(response)
    assert completion.text == "It is so. It was then."
    outcome = Outcome({"action": "block"}, "withheld")
    (choice,) = CHAT_COMPLETIONS.answered(response, [outcome])["choices"]
    assert choice["message"]["content"] == "withheld"


def test_the_words_of_a_piece_may_be_in_parts() -> None:
    delta = {"content": PARTS}
    event = Event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    ((index, chunk),) = CHAT_COMPLETIONS.chunks(event)
    assert (index, chunk.text) == (0, "It is so. It was then.")
    silent = CHAT_COMPLETIONS.remainder(event)
    assert silent is not None
    assert "It was then." not in json.dumps(silent.body)
    assert CHAT_COMPLETIONS.has_other_words(event)
