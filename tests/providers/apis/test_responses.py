from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from resay import Request
from resay.adapters import CheckContext
from resay.adapters.apis import RESPONSES, Event
from support.apis import BLOCKED, PASSED, REWRITTEN, after, hold, read, responses_stream

QUESTION = {"role": "user", "content": "Who?"}
LOOK_UP = {"type": "function", "name": "look_up", "parameters": {"type": "object"}, "strict": True}
NESTED = {"name": "look_up", "parameters": {"type": "object"}, "strict": True}
SCHEMA = {"name": "answer", "schema": {"type": "object"}, "strict": True}


def request_of(**body: Any) -> dict[str, Any]:
    return {"model": "m", "input": "Who?", **body}


def context_of(**body: Any) -> CheckContext:
    return RESPONSES.read(request_of(**body)).context


def request_read(**body: Any) -> Request:
    return context_of(**body).request


def sampled(changes: dict[str, Any] | None = None, **body: Any) -> dict[str, Any]:
    """Return the request for a sample, as a policy that changes parameters has it."""
    api_request = RESPONSES.read(request_of(**body))
    return dict(RESPONSES.sample(api_request, api_request.request.for_sampling(params=changes), 1))


def test_instructions_and_input_are_messages():
    assert request_read(instructions="Be brief.").messages == (
        {"role": "system", "content": "Be brief."},
        QUESTION,
    )


def test_items_are_messages():
    image = {"type": "input_image", "image_url": "data:image/png;base64,AA", "detail": "low"}
    file = {"type": "input_file", "file_id": "file_1"}
    call = {"type": "function_call", "call_id": "c_1", "name": "look_up", "arguments": "{}"}
    items = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "input_text", "text": "Who?"}, image, file]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Let me see."}],
        },
        call,
        {**call, "call_id": "c_2"},
        {"type": "function_call_output", "call_id": "c_1", "output": "Ada"},
        {"type": "item_reference", "id": "msg_1"},
    ]

    messages = request_read(input=items).messages

    function = {"name": "look_up", "arguments": "{}"}
    assert messages == (
        {"role": "developer", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Who?"},
                {
                    "type": "image_url",
                    "image_url": {"url": "data:image/png;base64,AA", "detail": "low"},
                },
                file,
            ],
        },
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "Let me see."}],
            "tool_calls": [
                {"id": "c_1", "type": "function", "function": function},
                {"id": "c_2", "type": "function", "function": function},
            ],
        },
        {"role": "tool", "tool_call_id": "c_1", "content": "Ada"},
    )


def test_calls_of_custom_tools_are_messages():
    items = [
        {"type": "custom_tool_call", "call_id": "c_1", "name": "run", "input": "ls"},
        {"type": "custom_tool_call_output", "call_id": "c_1", "output": "none"},
    ]

    calling, result = request_read(input=items).messages

    custom = {"name": "run", "input": "ls"}
    assert calling["tool_calls"] == [{"id": "c_1", "type": "custom", "custom": custom}]
    assert result == {"role": "tool", "tool_call_id": "c_1", "content": "none"}


def test_parameters_go_by_the_names_of_chat_completions():
    context = context_of(
        max_output_tokens=50,
        temperature=0.2,
        text={"format": {"type": "json_schema", **SCHEMA}, "verbosity": "low"},
        reasoning={"effort": "low", "summary": "auto"},
        tools=[LOOK_UP],
        tool_choice={"type": "function", "name": "look_up"},
        include=["message.output_text.logprobs", "reasoning.encrypted_content"],
        top_logprobs=2,
        previous_response_id="resp_0",
        truncation="auto",
        stream=True,
    )

    assert context.request.params == {
        "max_completion_tokens": 50,
        "temperature": 0.2,
        "response_format": {"type": "json_schema", "json_schema": SCHEMA},
        "verbosity": "low",
        "reasoning_effort": "low",
        "tools": [{"type": "function", "function": NESTED}],
        "tool_choice": {"type": "function", "function": {"name": "look_up"}},
        "logprobs": True,
        "top_logprobs": 2,
        "previous_response_id": "resp_0",
    }
    assert context.wants_object
    assert context.has_side_effects
    assert context.request.model is None


def test_plain_text_is_no_object():
    assert not context_of(text={"format": {"type": "text"}}).wants_object


@pytest.mark.parametrize(
    "choice",
    [
        "required",
        {"type": "function", "name": "look_up"},
        {"type": "allowed_tools", "mode": "required", "tools": [LOOK_UP]},
    ],
)
def test_the_only_tool_that_has_to_be_called_gives_an_object(choice: Any):
    context = context_of(tools=[LOOK_UP], tool_choice=choice)

    assert context.object_tools == ("look_up",)
    assert not context.has_side_effects


def test_tools_that_may_be_called_give_no_object():
    assert context_of(tools=[LOOK_UP], tool_choice="auto").object_tools == ()
    assert context_of(tools=[LOOK_UP, LOOK_UP], tool_choice="required").object_tools == ()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"conversation": "conv_1"}, "conversation"),
        ({"conversation": {"id": "conv_1"}}, "conversation"),
        ({"background": True}, "background"),
        ({"tools": [{"type": "web_search"}]}, "run its tools"),
        ({"tools": [LOOK_UP, {"type": "mcp"}]}, "run its tools"),
        ({"tools": [{"type": "what_nobody_knows"}, {"type": "mcp"}]}, "run its tools"),
        ({"tools": [LOOK_UP, {"type": "what_nobody_knows"}]}, "does not know a tool"),
    ],
)
def test_what_cannot_be_asked_again(body: dict[str, Any], words: str):
    assert words in (RESPONSES.read(request_of(**body)).context.unrepeatable or "")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"background": False},
        {"previous_response_id": "resp_0"},
        {"tools": [LOOK_UP, {"type": "custom", "name": "run"}, {"type": "local_shell"}]},
    ],
)
def test_what_can_be_asked_again(body: dict[str, Any]):
    assert RESPONSES.read(request_of(**body)).context.unrepeatable is None


def test_a_sample_is_the_same_request_without_what_nobody_reads():
    fields = {
        "instructions": "Be brief.",
        "previous_response_id": "resp_0",
        "prompt_cache_key": "k",
        "safety_identifier": "u",
        "truncation": "auto",
        "max_output_tokens": 50,
        "tools": [LOOK_UP],
        "text": {"format": {"type": "json_schema", **SCHEMA}},
    }
    extra = {
        "include": ["reasoning.encrypted_content", "message.output_text.logprobs"],
        "top_logprobs": 2,
        "metadata": {"a": "b"},
        "stream": True,
        "stream_options": {"include_obfuscation": False},
        "seed": 1,
        "temperature": 0,
        "store": True,
    }

    body = sampled(reasoning={"effort": "low", "summary": "auto"}, **fields, **extra)

    assert body == request_of(**fields, reasoning={"effort": "low"}, store=False)


def test_what_the_policy_changes_is_asked_by_the_apis_own_names():
    changes = {
        "max_tokens": 5,
        "temperature": 0.9,
        "reasoning_effort": "high",
        "stop": ["."],
        "tool_choice": "none",
        "response_format": {"type": "json_schema", "json_schema": SCHEMA},
    }

    body = sampled(changes, reasoning={"effort": "low"}, text={"verbosity": "low"}, tools=[LOOK_UP])

    assert body == request_of(
        # The API refuses fewer tokens.
        max_output_tokens=16,
        temperature=0.9,
        reasoning={"effort": "high"},
        tool_choice="none",
        text={"verbosity": "low", "format": {"type": "json_schema", **SCHEMA}},
        tools=[LOOK_UP],
        store=False,
    )


def test_a_changed_tool_is_asked_by_the_apis_own_names():
    api_request = RESPONSES.read(request_of(tools=[LOOK_UP]))
    custom = {"type": "custom", "custom": {"name": "run"}}
    tools = [{"type": "function", "function": {**NESTED, "name": "find"}}, custom]
    request = replace(api_request.request, params={"tools": tools})

    body = RESPONSES.sample(api_request, request, 1)

    assert body["tools"] == [{**LOOK_UP, "name": "find"}, {"type": "custom", "name": "run"}]


def test_a_judge_is_asked_for_itself():
    request = Request(
        ({"role": "system", "content": "Judge."}, QUESTION),
        None,
        {"max_tokens": 1, "temperature": 0, "logprobs": True, "top_logprobs": 3, "seed": 2},
    )

    assert RESPONSES.fresh({"model": "m"}, request) == {
        "model": "m",
        "input": [{"role": "system", "content": "Judge."}, QUESTION],
        "store": False,
        "max_output_tokens": 16,
        "temperature": 0,
        "include": ["message.output_text.logprobs"],
        "top_logprobs": 3,
    }


def test_what_is_asked_beside_may_go_on_from_a_response():
    new_request = Request((QUESTION,), None, {"previous_response_id": "resp_0"})

    request = RESPONSES.fresh({"model": "m"}, new_request)

    assert (request["previous_response_id"], request["store"]) == ("resp_0", False)


def test_log_probabilities_are_asked_for_beside_what_is():
    body = request_of(include=["reasoning.encrypted_content"], top_logprobs=5)

    assert RESPONSES.with_logprobs(body, 2) == {
        **body,
        "include": ["reasoning.encrypted_content", "message.output_text.logprobs"],
    }
    assert RESPONSES.with_logprobs(request_of(), 0) == request_of(
        include=["message.output_text.logprobs"]
    )


TOKENS = [{"token": "A", "logprob": -0.5, "bytes": [65], "top_logprobs": []}]


def part(text: str, logprobs: list[Any]) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": logprobs}


def response_of(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": list(parts)}
    return {"id": "resp_1", "status": "completed", "output": [message], **fields}


def test_log_probabilities_are_those_of_all_the_text():
    (whole,) = RESPONSES.completions(response_of(part("A", TOKENS), part("A", TOKENS)))
    (half,) = RESPONSES.completions(response_of(part("A", TOKENS), part("B", [])))

    assert [token.logprob for token in whole.logprobs] == [-0.5, -0.5]
    assert half.logprobs == ()


def test_log_probabilities_that_nobody_asked_for_are_taken_out():
    response = response_of(part("A", TOKENS), top_logprobs=5)
    events = [
        {"type": "response.output_text.delta", "delta": "A", "logprobs": TOKENS},
        {"type": "response.content_part.done", "part": part("A", TOKENS)},
        {"type": "response.output_item.done", "item": response["output"][0]},
        {"type": "response.completed", "response": response},
    ]

    assert RESPONSES.without_logprobs(response) == response_of(part("A", []), top_logprobs=0)
    assert "-0.5" not in str([RESPONSES.without_logprobs(event) for event in events])


@pytest.mark.parametrize("status", ["queued", "in_progress", "failed", "cancelled"])
def test_a_response_that_is_none_yet_answers_nothing(status: str):
    assert RESPONSES.completions(response_of(status=status)) == ()


def test_a_response_says_why_it_is_incomplete():
    response = response_of(
        part("A", []), status="incomplete", incomplete_details={"reason": "max_output_tokens"}
    )

    assert RESPONSES.completions(response)[0].finish_reason == "max_output_tokens"


def test_a_message_that_replaces_another_can_be_sent_back():
    first, second = (
        RESPONSES.answered(response_of(part("A", []), id=name), [REWRITTEN])["output"][0]["id"]
        for name in ("resp_1", "resp_2")
    )

    # Neither as the provider's own, which wants its thoughts, nor as another's.
    assert len({first, second, "msg_1"}) == 3
    assert all(made.startswith("msg_") and len(made) <= 64 for made in (first, second))


def test_a_stream_tells_what_it_cost_once():
    events = responses_stream([["a", "b"]], "hm")

    usages = [chunk.usage for event in events for _, chunk in RESPONSES.chunks(event)]

    (usage,) = [usage for usage in usages if usage is not None]
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (1, 5, 7)


def test_the_pieces_of_a_stream_have_their_log_probabilities():
    delta = {"type": "response.output_text.delta", "delta": "A", "logprobs": TOKENS}

    ((_, chunk),) = RESPONSES.chunks(Event(delta))

    assert [token.logprob for token in chunk.logprobs] == [-0.5]


def test_events_are_numbered_in_their_order():
    given = hold(RESPONSES, responses_stream([["a ", "b"]], "hm"), [2, 1], PASSED)

    assert [e.body["sequence_number"] for e in given] == list(range(len(given)))
    assert all(event.name == event.body["type"] for event in given)


def test_a_failed_stream_ends_as_it_does():
    error = Event({"type": "error", "message": "overloaded", "code": None}, "error")
    failed = {"id": "resp_7", "status": "failed", "output": []}
    last = Event({"type": "response.failed", "response": failed}, "response.failed")
    begun = responses_stream([["a"]])[:3]

    assert after(RESPONSES, [*begun, error], PASSED)[-1].body["message"] == "overloaded"
    given = after(RESPONSES, [*begun, last], BLOCKED)[-1]
    assert given.name == "response.failed"
    assert given.body["response"]["hallucination"] == BLOCKED.data


def test_a_text_that_a_part_begins_with_counts():
    events = responses_stream([["a", "b"]])
    begun = next(e for e in events if e.name == "response.content_part.added")
    index = events.index(begun)
    events[index] = Event({**begun.body, "part": part(">", [])}, begun.name)

    assert read(RESPONSES, events).text == ">ab"
    held = hold(RESPONSES, events, [1, 1], PASSED)
    assert [e.body["part"] for e in held if e.name == begun.name] == [part(">", [])]
    assert read(RESPONSES, held).text == ">ab"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"type": "response.created", "response": {}}, False),
        ({"type": "response.output_item.added", "item": {"type": "message"}}, False),
        ({"type": "response.output_item.added", "item": {"type": "reasoning"}}, False),
        (
            {"type": "response.output_item.done", "item": {"type": "reasoning", "summary": [1]}},
            True,
        ),
        ({"type": "response.output_item.added", "item": {"type": "function_call"}}, True),
        ({"type": "response.content_part.added", "part": {"type": "output_text"}}, False),
        ({"type": "response.output_text.delta", "delta": "A"}, False),
        ({"type": "response.reasoning_summary_text.delta", "delta": "A"}, True),
    ],
)
def test_words_that_are_no_text_are_told_apart(data: dict[str, Any], words: bool):
    assert RESPONSES.has_other_words(Event(data)) is words


def test_events_without_numbers_are_given_none():
    event = Event({"type": "response.created"})

    assert RESPONSES.numbered(event, 4) is event
