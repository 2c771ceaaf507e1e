from __future__ import annotations

from typing import Any

import pytest

from resay import Request
from resay.adapters import CheckContext
from resay.adapters.apis import MESSAGES, Event
from resay.providers.base import Gathered
from support.apis import BLOCKED, PASSED, REWRITTEN, after, hold, messages_stream, read

QUESTION = {"role": "user", "content": "Who?"}
SCHEMA = {"type": "object", "properties": {}}
LOOK_UP = {"name": "look_up", "description": "Looks up.", "input_schema": SCHEMA}
NESTED = {"name": "look_up", "description": "Looks up.", "parameters": SCHEMA}


def request_of(**body: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 300, "messages": [QUESTION], **body}


def context_of(**body: Any) -> CheckContext:
    return MESSAGES.read(request_of(**body)).context


def request_read(**body: Any) -> Request:
    return context_of(**body).request


def sampled(
    changes: dict[str, Any] | None = None, temperature: float | None = None, **body: Any
) -> dict[str, Any]:
    """Return the request for a sample, as a policy that changes parameters has it."""
    api_request = MESSAGES.read(request_of(**body))
    request = api_request.request.for_sampling(temperature=temperature, params=changes)
    return dict(MESSAGES.sample(api_request, request, 1))


def test_the_system_prompt_is_a_message():
    assert request_read(system="Be brief.").messages[0] == {
        "role": "system",
        "content": "Be brief.",
    }
    blocks = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    assert request_read(system=blocks).messages == (
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
        QUESTION,
    )


def test_blocks_are_messages():
    document = {"type": "document", "source": {"type": "text", "data": "Ada"}}
    base64 = {"type": "base64", "media_type": "image/png", "data": "AA"}
    use = {"type": "tool_use", "id": "t_1", "name": "look_up", "input": {"of": "é"}}
    messages = [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Who?"},
                {"type": "image", "source": base64},
                {"type": "image", "source": {"type": "url", "url": "https://i"}},
                document,
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "Let me see."},
                use,
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t_1", "content": "Ada"},
                {"type": "text", "text": "Well?"},
            ],
        },
    ]

    assert request_read(messages=messages).messages == (
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Who?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
                {"type": "image_url", "image_url": {"url": "https://i"}},
                document,
            ],
        },
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "Let me see."}],
            "tool_calls": [
                {
                    "id": "t_1",
                    "type": "function",
                    "function": {"name": "look_up", "arguments": '{"of": "é"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "t_1", "content": "Ada"},
        {"role": "user", "content": [{"type": "text", "text": "Well?"}]},
    )


def test_results_alone_are_no_message_of_the_user():
    result = {"type": "tool_result", "tool_use_id": "t_1", "content": "Ada"}
    new_request = request_read(messages=[QUESTION, {"role": "user", "content": [result]}])

    assert new_request.messages[1:] == ({"role": "tool", "tool_call_id": "t_1", "content": "Ada"},)
    assert new_request.question == "Who?"


def test_parameters_go_by_the_names_of_chat_completions():
    context = context_of(
        temperature=0.2,
        top_k=5,
        stop_sequences=["."],
        tools=[LOOK_UP],
        tool_choice={"type": "any", "disable_parallel_tool_use": True},
        output_config={"format": {"type": "json_schema", "schema": SCHEMA}, "effort": "low"},
        thinking={"type": "adaptive"},
        container="c_1",
        metadata={"user_id": "u"},
        stream=True,
    )

    assert context.request.params == {
        "max_tokens": 300,
        "temperature": 0.2,
        "stop": ["."],
        "tools": [{"type": "function", "function": NESTED}],
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": SCHEMA},
        },
        "container": "c_1",
    }
    assert context.wants_object
    assert context.has_side_effects


def test_the_older_way_to_ask_for_an_object_is_read():
    assert context_of(output_format={"type": "json_schema", "schema": SCHEMA}).wants_object


@pytest.mark.parametrize(
    ("choice", "meaning"),
    [
        ({"type": "auto"}, "auto"),
        ({"type": "any"}, "required"),
        ({"type": "none"}, "none"),
        ({"type": "tool", "name": "f"}, {"type": "function", "function": {"name": "f"}}),
    ],
)
def test_choices_of_tools_go_by_the_names_of_chat_completions(choice: Any, meaning: Any):
    context = context_of(tools=[LOOK_UP, LOOK_UP], tool_choice=choice)

    assert context.request.params["tool_choice"] == meaning
    assert context.object_tools == ()
    # And back again, where a policy chooses.
    assert sampled({"tool_choice": meaning}, tools=[LOOK_UP])["tool_choice"] == choice


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "look_up"}])
def test_the_only_tool_that_has_to_be_called_gives_an_object(choice: Any):
    context = context_of(tools=[LOOK_UP], tool_choice=choice)

    assert context.object_tools == ("look_up",)
    assert not context.has_side_effects


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"tools": [{"type": "web_search_20260318", "name": "web_search"}]}, "run its tools"),
        ({"tools": [LOOK_UP, {"type": "code_execution_20260521"}]}, "run its tools"),
        ({"mcp_servers": [{"type": "url"}]}, "run its tools"),
        ({"tools": [{"type": "what_nobody_knows", "name": "x"}]}, "does not know a tool"),
        ({"container": "c_1"}, "container"),
    ],
)
def test_what_cannot_be_asked_again(body: dict[str, Any], words: str):
    assert words in (MESSAGES.read(request_of(**body)).context.unrepeatable or "")


@pytest.mark.parametrize(
    "kind",
    [
        None,
        "custom",
        "bash_20250124",
        "browser_toolset_20260801",
        "computer_toolset_20260801",
        "memory_20250818",
        "text_editor_20250728",
    ],
)
def test_tools_that_the_application_runs_can_be_asked_again(kind: str | None):
    assert MESSAGES.read(request_of(tools=[{**LOOK_UP, "type": kind}])).context.unrepeatable is None


def test_a_sample_is_the_same_request_without_what_nobody_reads():
    fields = {
        "system": "Be brief.",
        "top_k": 5,
        "thinking": {"type": "disabled"},
        "tools": [LOOK_UP],
        "cache_control": {"type": "ephemeral"},
    }

    body = sampled(**fields, stream=True, metadata={"user_id": "u"}, temperature=None)

    assert body == request_of(**fields)
    api_request = MESSAGES.read(request_of(temperature=0))
    assert "temperature" not in MESSAGES.sample(api_request, api_request.request.for_sampling(), 1)
    assert sampled(top_k=1, top_p=0, extra={"seed": 1, "x": 2}) == request_of(extra={"x": 2})
    assert sampled({"top_k": 3}, top_k=1)["top_k"] == 3


def test_what_the_policy_changes_is_asked_by_the_apis_own_names():
    changes = {
        "max_completion_tokens": 50,
        "stop": ".",
        "seed": 1,
        "response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}},
        "tools": [{"type": "function", "function": {**NESTED, "name": "find"}}],
    }

    body = sampled(changes, 0.9, tools=[LOOK_UP], output_config={"effort": "low"})

    assert body == request_of(
        max_tokens=50,
        temperature=0.9,
        stop_sequences=["."],
        tools=[{**LOOK_UP, "name": "find"}],
        output_config={
            "effort": "low",
            "format": {"type": "json_schema", "schema": SCHEMA},
        },
    )


def test_a_model_that_thinks_is_asked_for_no_temperature_but_the_callers():
    thinking = {"type": "enabled", "budget_tokens": 1024}

    assert "temperature" not in sampled(None, 0.9, thinking=thinking)
    api_request = MESSAGES.read(request_of(thinking=thinking, temperature=1))
    body = MESSAGES.sample(api_request, api_request.request.for_sampling(temperature=0.9), 1)
    assert body["temperature"] == 1


def test_a_judge_is_asked_for_itself():
    messages = ({"role": "system", "content": "Judge."}, QUESTION)

    request = MESSAGES.fresh({"model": "m"}, Request(messages, None, {"logprobs": True, "seed": 2}))
    limited = MESSAGES.fresh(
        {"model": "m"}, Request((QUESTION,), None, {"max_completion_tokens": 5})
    )

    assert request == {"model": "m", "system": "Judge.", "messages": [QUESTION], "max_tokens": 1024}
    assert limited == {"model": "m", "messages": [QUESTION], "max_tokens": 5}


def test_what_is_asked_beside_may_be_as_long_as_the_main_call():
    request = Request((QUESTION,))

    assert MESSAGES.fresh(request_of(max_tokens=9000), request)["max_tokens"] == 9000
    assert MESSAGES.fresh(request_of(max_tokens=5), request)["max_tokens"] == 1024
    assert MESSAGES.fresh({}, request)["max_tokens"] == 1024


def test_the_container_that_goes_on_is_told_where_another_answer_is_given():
    *begun, end, over = messages_stream([["a", "b"]])
    delta = {**end.body["delta"], "container": {"id": "c_1"}}
    ends = [Event({**end.body, "delta": delta}, end.name), over]

    end, _ = MESSAGES.closing(begun, ends, REWRITTEN)[-2:]

    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    assert end.body["delta"] == {"container": {"id": "c_1"}, **stop}


def test_there_are_no_log_probabilities():
    body = request_of()

    assert not MESSAGES.gives_logprobs
    assert MESSAGES.with_logprobs(body, 5) is body
    assert MESSAGES.without_logprobs(body) is body


def test_cached_prompts_cost_something():
    usage = {"input_tokens": 1, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 4}

    assert MESSAGES.usage({"usage": {**usage, "output_tokens": 8}}).prompt_tokens == 7


def test_a_stream_costs_what_its_start_and_its_end_say():
    gathered = Gathered()
    for event in messages_stream([["a", "b"]], "hm"):
        for _, chunk in MESSAGES.chunks(event):
            gathered.add(chunk)

    usage = gathered.usage
    assert usage is not None
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (1, 5, 7)
    assert usage.cost_usd is None


def test_an_error_is_no_answer():
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

    assert MESSAGES.completions(error) == ()
    events = [*messages_stream([["a"]])[:4], Event(error, "error")]
    assert after(MESSAGES, events, PASSED) == events


def test_a_stream_without_its_reason_has_its_verdict_at_the_end():
    events = [e for e in messages_stream([["a"]]) if e.name != "message_delta"]

    assert after(MESSAGES, events, PASSED)[-1].body["hallucination"] == PASSED.data


def test_a_text_that_a_block_begins_with_counts():
    events = messages_stream([["a", "b"]])
    begun = next(e for e in events if e.name == "content_block_start")
    block = {"type": "text", "text": ">"}
    index = events.index(begun)
    events[index] = Event({**begun.body, "content_block": block}, begun.name)

    assert read(MESSAGES, events).text == ">ab"
    held = hold(MESSAGES, events, [1, 1], PASSED)
    assert [e.body["content_block"] for e in held if e.name == begun.name] == [block]
    assert read(MESSAGES, held).text == ">ab"


def test_what_is_withheld_in_one_piece_says_nothing_of_why_it_stopped():
    response = {"content": [], "stop_reason": "stop_sequence", "stop_sequence": "Oslo"}

    answered = MESSAGES.answered(response, [BLOCKED])

    assert answered["stop_sequence"] is None
    assert answered["stop_reason"] == "refusal"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"type": "message_start", "message": {}}, False),
        ({"type": "content_block_start", "content_block": {"type": "text"}}, False),
        ({"type": "content_block_start", "content_block": {"type": "redacted_thinking"}}, False),
        ({"type": "content_block_start", "content_block": {"type": "tool_use"}}, True),
        ({"type": "content_block_delta", "delta": {"type": "text_delta"}}, False),
        ({"type": "content_block_delta", "delta": {"type": "signature_delta"}}, False),
        ({"type": "content_block_delta", "delta": {"type": "thinking_delta"}}, True),
    ],
)
def test_words_that_are_no_text_are_told_apart(data: dict[str, Any], words: bool):
    assert MESSAGES.has_other_words(Event(data)) is words
