"""Conversations with tool calls in the formats of other APIs than chat completions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

Message = Mapping[str, Any]


def anthropic_request(messages: Iterable[Message]) -> dict[str, Any]:
    """Return a conversation as the fields of a request to Anthropic's Messages API."""
    system: list[str] = []
    turns: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "system":
            system.append(message["content"])
            continue
        role, blocks = _blocks(message)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return {"messages": turns, **({"system": "\n".join(system)} if system else {})}


def _blocks(message: Message) -> tuple[str, list[dict[str, Any]]]:
    content = message["content"]
    if message["role"] == "tool":
        result = {"tool_use_id": message["tool_call_id"], "content": content}
        return "user", [{"type": "tool_result", **result}]
    blocks: list[dict[str, Any]] = [{"type": "text", "text": content}] if content else []
    for call in message.get("tool_calls", ()):
        function = call["function"]
        arguments = json.loads(function["arguments"])
        blocks.append(
            {"type": "tool_use", "id": call["id"], "name": function["name"], "input": arguments}
        )
    return message["role"], blocks


def responses_items(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Return a conversation as the items of a request to OpenAI's Responses API."""
    items: list[dict[str, Any]] = []
    for message in messages:
        content = message["content"]
        if message["role"] == "tool":
            result = {"call_id": message["tool_call_id"], "output": content}
            items.append({"type": "function_call_output", **result})
            continue
        if content:
            items.append({"role": message["role"], "content": content})
        items += (
            {"type": "function_call", "call_id": call["id"], **call["function"]}
            for call in message.get("tool_calls", ())
        )
    return items
