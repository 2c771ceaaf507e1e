"""Conversations with tool calls in the formats of APIs.

A case has `messages` in the format of chat completions, and may have `tools`, in the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

Message = Mapping[str, Any]


def tools_of(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameter with a case's tools for chat completions, if it has some."""
    return {"tools": case["tools"]} if "tools" in case else {}


def anthropic_request(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return a case as the fields of a request to Anthropic's Messages API."""
    tools: list[dict[str, Any]] = []
    for tool in case.get("tools", ()):
        function = dict(tool["function"])
        tools.append({"input_schema": function.pop("parameters"), **function})
    request = _anthropic_messages(case["messages"])
    return {**request, "tools": tools} if tools else request


def _anthropic_messages(messages: Iterable[Message]) -> dict[str, Any]:
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


def responses_request(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return a case as the fields of a request to OpenAI's Responses API."""
    tools = [{"type": "function", **tool["function"]} for tool in case.get("tools", ())]
    request = {"input": _responses_items(case["messages"])}
    return {**request, "tools": tools} if tools else request


def _responses_items(messages: Iterable[Message]) -> list[dict[str, Any]]:
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
