"""What holds for the requests and responses of every API."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.adapters.apis import Event
from support.apis import ALL, BLOCKED, JSON, PASSED, REWRITTEN, Spoken, in_words, spoiled

every_api = pytest.mark.parametrize("spoken", ALL, ids=repr)

REQUESTS: dict[str, dict[str, Any]] = {
    "/chat/completions": {
        "model": "m",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Who?"}]}],
        "tools": [{"type": "function", "function": {"name": "look_up"}}],
        "tool_choice": {"type": "function", "function": {"name": "look_up"}},
        "n": 2,
        "top_logprobs": 3,
    },
    "/responses": {
        "model": "m",
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": [{"type": "input_image", "image_url": "https://i"}]},
            {"type": "function_call", "call_id": "c", "name": "look_up", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "no"},
        ],
        "tools": [{"type": "function", "name": "look_up", "parameters": {}}],
        "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function"}]},
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {}}, "verbosity": "low"},
        "reasoning": {"effort": "low", "summary": "auto"},
        "include": ["message.output_text.logprobs"],
        "top_logprobs": 3,
    },
    "/messages": {
        "model": "m",
        "max_tokens": 9,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "u"}}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n"}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]},
        ],
        "tools": [{"name": "look_up", "input_schema": {}}, {"type": "bash_20250124"}],
        "tool_choice": {"type": "tool", "name": "look_up"},
        "output_config": {"format": {"type": "json_schema", "schema": {}}},
        "thinking": {"type": "enabled"},
    },
}

WORDS: dict[str, Any] = {"type": "summary_text", "text": "zebra", "reasoning": "zebra"}
RESPONSES: dict[str, dict[str, Any]] = {
    "/chat/completions": {
        "id": "c_1",
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "zebra",
                    "tool_calls": [{"function": {"name": "f", "arguments": '{"a": "zebra"}'}}],
                    "reasoning_content": "zebra",
                },
                "logprobs": {"content": [{"token": "zebra", "logprob": -1}]},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 7},
    },
    "/responses": {
        "id": "resp_1",
        "model": "m",
        "created_at": 1,
        "status": "completed",
        "temperature": 0.5,
        "output_text": "zebra",
        "output": [
            {"id": "rs_1", "type": "reasoning", "summary": [WORDS]},
            {
                "id": "msg_1",
                "type": "message",
                "content": [
                    {
                        "type": "output_text",
                        "text": "zebra",
                        "logprobs": [{"token": "zebra", "logprob": -1}],
                        "annotations": [{"title": "zebra"}],
                    },
                    {"type": "refusal", "refusal": "zebra"},
                ],
            },
            {"id": "fc_1", "type": "function_call", "name": "f", "arguments": '{"a": "zebra"}'},
        ],
        "usage": {"input_tokens": 5, "output_tokens": 7},
    },
    "/messages": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [
            {"type": "thinking", "thinking": "zebra"},
            {"type": "text", "text": "zebra", "citations": [{"cited_text": "zebra"}]},
            {"type": "tool_use", "id": "t", "name": "f", "input": {"a": "zebra"}},
        ],
        "stop_reason": "stop_sequence",
        "stop_sequence": "zebra",
        "usage": {"input_tokens": 5, "output_tokens": 7},
    },
}


@every_api
def test_a_response_is_read(spoken: Spoken):
    response = RESPONSES[spoken.api.path]

    (answer,) = spoken.api.completions(response)

    # A refusal is an answer too.
    assert answer.text == ("zebrazebra" if spoken.api.path == "/responses" else "zebra")
    assert [(call.name, call.arguments) for call in answer.calls] == [("f", '{"a": "zebra"}')]
    assert answer.raw is response
    usage = spoken.api.usage(response)
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (1, 5, 7)
    assert usage.cost_usd is None


@every_api
def test_a_response_that_passed_has_its_verdict_and_is_as_it_was(spoken: Spoken):
    response = RESPONSES[spoken.api.path]

    answered = spoken.api.answered(response, [PASSED])

    assert answered == {**response, "hallucination": {"decision": "consistent"}}


@every_api
def test_no_word_is_left_of_a_response_that_is_withheld(spoken: Spoken):
    response = RESPONSES[spoken.api.path]

    answered = spoken.api.answered(response, [BLOCKED])

    (answer,) = spoken.api.completions(answered)
    assert answer.text == "Withheld."
    assert answer.finish_reason == spoken.filtered
    assert "zebra" not in in_words([Event(answered)])
    assert answered["hallucination"] == {"decision": "flagged"}
    for field in ("id", "model", "usage"):
        assert answered[field] == response[field]


@every_api
def test_an_answer_that_was_written_again_is_all_that_is_given(spoken: Spoken):
    response = RESPONSES[spoken.api.path]

    answered = spoken.api.answered(response, [REWRITTEN])

    (answer,) = spoken.api.completions(answered)
    assert (answer.text, answer.finish_reason) == ("Anew.", spoken.finished)
    assert not answer.calls
    assert "zebra" not in in_words([Event(answered)])
    assert answered["hallucination"] == REWRITTEN.data
    for field in ("id", "model", "usage"):
        assert answered[field] == response[field]


CUT_SHORT: dict[str, dict[str, Any]] = {
    "/chat/completions": {
        "choices": [{"message": {"content": "zebra"}, "finish_reason": "length"}],
    },
    "/responses": {
        **RESPONSES["/responses"],
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
    },
    "/messages": {**RESPONSES["/messages"], "stop_reason": "max_tokens"},
}


@every_api
def test_it_is_complete_where_the_draft_was_cut_short(spoken: Spoken):
    answered = spoken.api.answered(CUT_SHORT[spoken.api.path], [REWRITTEN])

    (answer,) = spoken.api.completions(answered)
    assert answer.finish_reason == spoken.finished
    assert "incomplete" not in str({k: v for k, v in answered.items() if v is not None})


@every_api
def test_a_request_is_never_changed(spoken: Spoken):
    body = REQUESTS[spoken.api.path]
    before = in_words([Event(body)])
    api_request = spoken.api.read(body)

    spoken.api.sample(api_request, api_request.request.for_sampling(temperature=0.7), 1)
    spoken.api.with_logprobs(body, 5)

    assert in_words([Event(body)]) == before


@every_api
@given(st.data())
def test_requests_with_anything_in_them_are_read(spoken: Spoken, data: st.DataObject):
    body = data.draw(spoiled(REQUESTS[spoken.api.path]))
    body = body if isinstance(body, dict) else {}

    api_request = spoken.api.read(body)

    assert api_request.request.question is not None
    request = api_request.request.for_sampling(temperature=0.7, params={"max_tokens": 5})
    spoken.api.sample(api_request, request, 1)
    spoken.api.fresh(body, request)
    spoken.api.with_logprobs(body, 2)
    assert api_request.context.has_side_effects in (True, False)
    assert api_request.context.wants_object in (True, False)


@every_api
@given(st.data())
def test_responses_with_anything_in_them_are_read(spoken: Spoken, data: st.DataObject):
    body = data.draw(spoiled(RESPONSES[spoken.api.path]) | JSON)
    body = body if isinstance(body, dict) else {}

    answers = spoken.api.completions(body)

    assert all(isinstance(answer.text, str) for answer in answers)
    assert spoken.api.usage(body).calls == 1
    spoken.api.without_logprobs(body)
    if answers:
        for outcome in (PASSED, BLOCKED, REWRITTEN):
            answered = spoken.api.answered(body, [outcome] * len(answers))
            assert answered["hallucination"] == outcome.data
