"""Input of OpenAI's Responses API, and what it is in the shape of chat completions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from resay.core.query import Message
from resay.providers.apis.base import Body
from resay.providers.apis.reading import listed, mapping, mappings, text

__all__ = ["nested_messages", "own_items"]

# What a call of each kind of tool is called as an item, and what it is given.
_CALLS = {"custom": ("custom_tool_call", "input"), "function": ("function_call", "arguments")}


def nested_messages(body: Body) -> tuple[Message, ...]:
    """Return the messages of a request, its instructions first."""
    said: list[Message] = []
    if text(body.get("instructions")):
        said.append({"role": "system", "content": body["instructions"]})
    if text(body.get("input")):
        said.append({"role": "user", "content": body["input"]})
    for item in mappings(body.get("input")):
        message = _message(item)
        if message is not None:
            _add(said, message)
    return tuple(said)


def _add(said: list[Message], message: Message) -> None:
    """Add a message. Calls belong to what the assistant said just before, or called."""
    if "tool_calls" not in message or not said or said[-1].get("role") != "assistant":
        said.append(message)
        return
    calls = [*said[-1].get("tool_calls", ()), *message["tool_calls"]]
    said[-1] = {**said[-1], "tool_calls": calls}


def _message(item: Mapping[str, Any]) -> Message | None:
    kind = item.get("type")
    if kind == "function_call":
        return _calling(item, "function", {"arguments": text(item.get("arguments"))})
    if kind == "custom_tool_call":
        return _calling(item, "custom", {"input": text(item.get("input"))})
    if kind in ("function_call_output", "custom_tool_call_output"):
        told = {"tool_call_id": item.get("call_id"), "content": _content(item.get("output"))}
        return {"role": "tool", **told}
    if "role" in item and kind in (None, "message"):
        return {"role": item["role"], "content": _content(item.get("content"))}
    return None


def _calling(item: Mapping[str, Any], kind: str, given: Mapping[str, str]) -> Message:
    called = {"name": text(item.get("name")), **given}
    call = {"id": item.get("call_id"), "type": kind, kind: called}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _content(content: Any) -> Any:
    return [_part(part) for part in mappings(content)] if listed(content) else content


def _part(part: Mapping[str, Any]) -> Mapping[str, Any]:
    kind = part.get("type")
    if kind in ("input_text", "output_text"):
        return {"type": "text", "text": text(part.get("text"))}
    if kind == "input_image" and part.get("image_url"):
        detail = {"detail": part["detail"]} if part.get("detail") else {}
        return {"type": "image_url", "image_url": {"url": part["image_url"], **detail}}
    return part


def own_items(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return messages in the shape of chat completions as the items of a request."""
    calls = [call for message in messages for call in mappings(message.get("tool_calls"))]
    custom = [call.get("id") for call in calls if call.get("type") == "custom"]
    return [item for message in messages for item in _items(message, custom)]


def _items(message: Message, custom: Sequence[Any]) -> list[dict[str, Any]]:
    role, content = message.get("role"), message.get("content")
    if listed(content):
        content = [_own_part(part, role) for part in mappings(content)]
    if role == "tool":
        call_id = message.get("tool_call_id")
        item, _ = _CALLS["custom" if call_id in custom else "function"]
        return [{"type": f"{item}_output", "call_id": call_id, "output": content or ""}]
    called = [_own_call(call) for call in mappings(message.get("tool_calls"))]
    return called if called and not content else [{"role": role, "content": content}, *called]


def _own_call(call: Mapping[str, Any]) -> dict[str, Any]:
    kind = "custom" if call.get("type") == "custom" else "function"
    item, given = _CALLS[kind]
    called = mapping(call.get(kind))
    told = {"name": text(called.get("name")), given: text(called.get(given))}
    return {"type": item, "call_id": call.get("id"), **told}


def _own_part(part: Mapping[str, Any], role: object) -> Mapping[str, Any]:
    kind = part.get("type")
    if kind == "text":
        own = "output_text" if role == "assistant" else "input_text"
        return {"type": own, "text": text(part.get("text"))}
    if kind == "image_url":
        image = mapping(part.get("image_url"))
        detail = {"detail": image["detail"]} if image.get("detail") else {}
        return {"type": "input_image", "image_url": image.get("url"), **detail}
    return part
