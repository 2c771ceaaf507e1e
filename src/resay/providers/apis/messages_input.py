"""Messages of Anthropic's Messages API, and what they are in the shape of chat completions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from resay.core.query import Message
from resay.providers.apis.base import Body
from resay.providers.apis.reading import as_json, listed, mapping, mappings, text

__all__ = ["nested_messages", "own_messages"]

_TOLD = ("developer", "system")
_IMAGE = "data:"


def nested_messages(body: Body) -> tuple[Message, ...]:
    """Return the messages of a request, its system prompt first."""
    said: list[Message] = []
    if body.get("system"):
        said.append({"role": "system", "content": _content(body["system"])})
    for message in mappings(body.get("messages")):
        said += _said(message)
    return tuple(said)


def _content(content: Any) -> Any:
    return [_part(block) for block in mappings(content)] if listed(content) else content


def _said(message: Mapping[str, Any]) -> list[Message]:
    """Return a message as those of a chat, in which the results of tools have their own."""
    role, content = message.get("role"), message.get("content")
    if not role:
        return []
    if not listed(content):
        return [{"role": role, "content": content}]
    blocks = mappings(content)
    told = [_result(block) for block in blocks if block.get("type") == "tool_result"]
    calls = [_call(block) for block in blocks if block.get("type") == "tool_use"]
    parts = [_part(block) for block in blocks if block.get("type") not in _NO_PARTS]
    if calls:
        return [*told, {"role": role, "content": parts or None, "tool_calls": calls}]
    return [*told, {"role": role, "content": parts}] if parts or not told else told


_NO_PARTS = ("redacted_thinking", "thinking", "tool_result", "tool_use")


def _result(block: Mapping[str, Any]) -> Message:
    told = {"tool_call_id": block.get("tool_use_id"), "content": _content(block.get("content"))}
    return {"role": "tool", **told}


def _call(block: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": text(block.get("name")), "arguments": as_json(block.get("input"))}
    return {"id": block.get("id"), "type": "function", "function": function}


def _part(block: Mapping[str, Any]) -> Mapping[str, Any]:
    kind, source = block.get("type"), mapping(block.get("source"))
    if kind == "text":
        return {"type": "text", "text": text(block.get("text"))}
    url = _url(source) if kind == "image" else ""
    return {"type": "image_url", "image_url": {"url": url}} if url else block


def _url(source: Mapping[str, Any]) -> str:
    if source.get("type") == "base64":
        return f"data:{text(source.get('media_type'))};base64,{text(source.get('data'))}"
    return text(source.get("url"))


def own_messages(messages: Sequence[Message]) -> dict[str, Any]:
    """Return messages in the shape of chat completions as what a request says of them."""
    told = [message for message in messages if message.get("role") in _TOLD]
    system = "\n\n".join(filter(None, (_words(message) for message in told)))
    said: list[dict[str, Any]] = []
    for message in messages:
        if message.get("role") not in _TOLD:
            _add(said, _own_message(message))
    return {**({"system": system} if system else {}), "messages": said}


def _words(message: Message) -> str:
    content = message.get("content")
    parts = [text(part.get("text")) for part in mappings(content)]
    return text(content) or "\n".join(parts)


def _add(said: list[dict[str, Any]], message: dict[str, Any]) -> None:
    """Add a message; what tools have returned stands in one with what the user says to it."""
    before: dict[str, Any] = said[-1] if said else {}
    if before.get("role") != message["role"] or not _tells_results(before):
        said.append(message)
        return
    said[-1] = {**before, "content": [*before["content"], *_blocks(message["content"])]}


def _tells_results(message: Message) -> bool:
    return any(block.get("type") == "tool_result" for block in mappings(message.get("content")))


def _own_message(message: Message) -> dict[str, Any]:
    role, content = message.get("role"), message.get("content")
    if role == "tool":
        told = {"tool_use_id": message.get("tool_call_id"), "content": _own_content(content)}
        return {"role": "user", "content": [{"type": "tool_result", **told}]}
    calls = [_own_call(call) for call in mappings(message.get("tool_calls"))]
    if calls:
        return {"role": role, "content": [*_blocks(_own_content(content)), *calls]}
    return {"role": role, "content": _own_content(content)}


def _blocks(content: Any) -> list[Any]:
    if text(content):
        return [{"type": "text", "text": content}]
    return [*listed(content)]


def _own_content(content: Any) -> Any:
    return [_own_block(part) for part in mappings(content)] if listed(content) else content


def _own_block(part: Mapping[str, Any]) -> Mapping[str, Any]:
    if part.get("type") != "image_url":
        return part
    return {"type": "image", "source": _source(text(mapping(part.get("image_url")).get("url")))}


def _source(url: str) -> dict[str, Any]:
    kind, _, data = url.removeprefix(_IMAGE).partition(";base64,")
    if url.startswith(_IMAGE) and data:
        return {"type": "base64", "media_type": kind, "data": data}
    return {"type": "url", "url": url}


def _own_call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = mapping(call.get("function"))
    given = _read(text(function.get("arguments")))
    return {"type": "tool_use", "id": call.get("id"), "name": function.get("name"), "input": given}


def _read(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    # Deep nesting is refused with a RecursionError.
    except (ValueError, RecursionError):
        return {}
