"""What is asked of the main call's model beside it, by judges and to write an answer again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from resay import Request
from support.apis import ALL, MESSAGE, Spoken

every_api = pytest.mark.parametrize("spoken", ALL, ids=repr)

TALK: dict[str, dict[str, Any]] = {
    "/chat/completions": {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Who?"},
            {"role": "assistant", "content": "Ada."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "And this?"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
                    {"type": "image_url", "image_url": {"url": "https://i"}},
                ],
            },
        ],
    },
    "/responses": {
        "model": "m",
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": "Who?"},
            {"role": "assistant", "content": [{"type": "output_text", "text": "Ada."}]},
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "And this?"},
                    {"type": "input_image", "image_url": "data:image/png;base64,AA"},
                    {"type": "input_image", "image_url": "https://i"},
                    {"type": "input_file", "file_id": "f"},
                ],
            },
        ],
    },
    "/messages": {
        "model": "m",
        "max_tokens": 9000,
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "Who?"},
            {"role": "assistant", "content": [{"type": "text", "text": "Ada."}]},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "And this?"},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": "AA"},
                    },
                    {"type": "image", "source": {"type": "url", "url": "https://i"}},
                    {"type": "document", "source": {"type": "text", "data": "Ada"}},
                ],
            },
        ],
    },
}


@every_api
def test_a_conversation_goes_on_as_it_is(spoken: Spoken):
    body = TALK[spoken.api.path]
    new_request = replace(
        spoken.api.read(body).request, params={"temperature": 0.2, "max_tokens": 50}
    )

    request = spoken.api.fresh(body, new_request)

    limit = "max_output_tokens" if spoken.api.path == "/responses" else "max_tokens"
    assert (request["temperature"], request[limit]) == (0.2, 50)
    # What was sent as instructions, or a system prompt, may be a message.
    assert spoken.api.read(request).request.messages == new_request.messages
    name = "input" if spoken.api.path == "/responses" else "messages"
    assert request[name][-1] == body[name][-1]


@every_api
def test_a_text_may_be_added_to_what_the_user_says(spoken: Spoken):
    body = TALK[spoken.api.path]
    new_request = spoken.api.read(body).request
    *before, last = new_request.messages
    added = {"type": "text", "text": "By these documents."}
    messages = (*before, {**last, "content": [*last["content"], added]})

    request = spoken.api.fresh(body, replace(new_request, messages=messages, params={}))

    content = request["input" if spoken.api.path == "/responses" else "messages"][-1]["content"]
    kind = "input_text" if spoken.api.path == "/responses" else "text"
    assert content[-1] == {"type": kind, "text": "By these documents."}
    assert spoken.api.read(request).request.messages == messages


CALLED: dict[str, dict[str, Any]] = {
    "/chat/completions": {
        "model": "m",
        "messages": [
            {"role": "user", "content": "Who?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "t",
                        "type": "function",
                        "function": {"name": "look_up", "arguments": '{"of": "é"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "t", "content": "Ada"},
        ],
        "tools": [{"type": "function", "function": {"name": "look_up"}}],
    },
    "/responses": {
        "model": "m",
        "input": [
            {"role": "user", "content": "Who?"},
            {
                "type": "function_call",
                "call_id": "t",
                "name": "look_up",
                "arguments": '{"of": "é"}',
            },
            {"type": "function_call_output", "call_id": "t", "output": "Ada"},
            {"type": "custom_tool_call", "call_id": "u", "name": "run", "input": "ls"},
            {"type": "custom_tool_call_output", "call_id": "u", "output": "none"},
        ],
        "tools": [{"type": "function", "name": "look_up", "parameters": {}}],
    },
    "/messages": {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "Who?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Let me see."},
                    {"type": "tool_use", "id": "t", "name": "look_up", "input": {"of": "é"}},
                    {"type": "tool_use", "id": "u", "name": "look_up", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t", "content": "Ada"},
                    {"type": "tool_result", "tool_use_id": "u", "content": "None"},
                    {"type": "text", "text": "Well?"},
                ],
            },
        ],
        "tools": [{"name": "look_up", "input_schema": {}}],
    },
}


@every_api
def test_a_conversation_in_which_tools_were_called_goes_on_without_calling_any(spoken: Spoken):
    body = CALLED[spoken.api.path]
    new_request = replace(spoken.api.read(body).request, params={})

    request = spoken.api.fresh(body, new_request)

    name = "input" if spoken.api.path == "/responses" else "messages"
    assert request[name] == body[name]
    assert request["tools"] == body["tools"]
    assert request["tool_choice"] == ({"type": "none"} if spoken is MESSAGE else "none")
    # A judge's question has nothing to do with them.
    judged = spoken.api.fresh(body, Request(({"role": "user", "content": "Is it so?"},)))
    assert not {"tools", "tool_choice"} & judged.keys()


@every_api
def test_what_is_asked_beside_changes_nothing_that_the_provider_keeps(spoken: Spoken):
    all_params = {"conversation": "c", "container": "c", "background": True, "thread_id": "t"}
    names = {
        "/chat/completions": {"conversation", "container", "thread_id"},
        "/responses": {"conversation", "background"},
    }
    params = {name: all_params[name] for name in names.get(spoken.api.path, {"container"})}

    request = spoken.api.fresh({}, Request(({"role": "user", "content": "Who?"},), None, params))

    assert not params.keys() & request.keys()
