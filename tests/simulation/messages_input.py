"""The conversation of a request to Anthropic's Messages API, as the messages of a chat.

What the simulated model has no use for (thinking, what the provider's own tools did) is taken and
left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from simulation.body import InvalidRequestError, Location
from simulation.messages import is_readable

__all__ = ["messages_of", "refused", "system_of"]

Block = Mapping[str, Any]
Message = dict[str, Any]

_ROLES = ("user", "assistant", "system")
_LISTED = """
advisor_tool_result bash_code_execution_tool_result browser_state code_execution_tool_result
compaction container_upload fallback mcp_tool_listing mcp_tool_result mcp_tool_use
redacted_thinking server_tool_use text_editor_code_execution_tool_result thinking tool_addition
tool_reference tool_removal tool_search_tool_result web_fetch_tool_result web_search_tool_result
"""
_LEFT_OUT = tuple(_LISTED.split())
_READ = ("text", "image", "document", "search_result", "tool_use", "tool_result")


def refused(where: Location, _: str, message: str) -> InvalidRequestError:
    """Word a refusal; see `simulation.body.Refuse`."""
    return InvalidRequestError(f"{'.'.join(map(str, where))}: {message}")


def system_of(system: object) -> list[Message]:
    """Return the message that a system prompt is, in a list; none without one.

    Raises:
        InvalidRequestError: It is neither a text nor a list of text blocks.
    """
    if system is None:
        return []
    content = _read(system, ("system",), only=("text",))
    return [{"role": "system", "content": content}]


def messages_of(given: Sequence[object]) -> list[Message]:
    """Return the chat messages that a conversation stands for.

    Raises:
        InvalidRequestError: It is empty, a message or a block cannot be read, or results of tools
            and calls do not match.
    """
    if not given:
        raise refused(("messages",), "", "at least one message is required")
    messages: list[Message] = []
    waiting: list[str] = []
    for index, message in enumerate(given):
        turn = _turn(message, ("messages", index))
        _check_results(turn, waiting, index)
        waiting = [call["id"] for one in turn for call in one.get("tool_calls", ())]
        messages += turn
    if waiting:
        raise _unanswered(waiting, len(given) - 1)
    return messages


def _turn(message: object, where: Location) -> list[Message]:
    """Return the chat messages of one turn: results of tools are messages of their own."""
    fields = _object(message, where)
    role = fields.get("role")
    if role not in _ROLES:
        known = ", ".join(map(repr, _ROLES))
        raise refused((*where, "role"), "", f"Input should be one of {known}")
    content, inside = fields.get("content"), (*where, "content")
    blocks = _blocks(content, inside)
    results = [
        _result(block, (*inside, index))
        for index, block in enumerate(blocks)
        if block["type"] == "tool_result"
    ]
    calls = [
        _call(block, (*inside, index))
        for index, block in enumerate(blocks)
        if block["type"] == "tool_use"
    ]
    said = _read(content, inside, only=(*_READ, *_LEFT_OUT))
    if content in ("", []) and role != "assistant":
        raise refused(where, "", f"{role} messages must have non-empty content")
    if calls:
        return [{"role": role, "content": said or None, "tool_calls": calls}]
    return results if results and not said else [*results, {"role": role, "content": said}]


def _read(content: object, where: Location, *, only: Sequence[str]) -> str | list[Message]:
    """Return what can be read in a content, as chats have it."""
    if isinstance(content, str):
        return content
    parts: list[Message] = []
    for index, block in enumerate(_blocks(content, where)):
        if block["type"] not in only:
            raise _unexpected(block["type"], (*where, index), only)
        parts += _parts(block, (*where, index))
    return parts


def _blocks(content: object, where: Location) -> list[Block]:
    if isinstance(content, str):
        return []
    if content is None:
        raise refused(where, "", "Field required")
    if not isinstance(content, list):
        raise refused(where, "", "Input should be a valid string or list")
    found = [_object(b, (*where, i)) for i, b in enumerate(cast("list[object]", content))]
    for index, block in enumerate(found):
        if block.get("type") not in (*_READ, *_LEFT_OUT):
            raise _unexpected(block.get("type"), (*where, index), (*_READ, *_LEFT_OUT))
    return found


def _parts(block: Block, where: Location) -> list[Message]:
    kind = block["type"]
    if kind == "text":
        return [_text(block.get("text"), where)]
    if kind == "search_result":
        content = _read(block.get("content"), (*where, "content"), only=("text",))
        return [*cast("list[Message]", content)]
    if kind not in ("image", "document"):
        return []
    source = _object(block.get("source"), (*where, "source"))
    if source.get("type") == "text":
        return [_text(source.get("data"), (*where, "source"))]
    if source.get("type") == "content":
        content = _read(source.get("content"), (*where, "source"), only=("text", "image"))
        return [_text(content, where)] if isinstance(content, str) else content
    part = _as_in_chats(kind, source)
    if not is_readable(part):
        raise refused((*where, "source"), "", "Input is missing or cannot be read")
    return [part]


def _text(text: object, where: Location) -> Message:
    if not isinstance(text, str):
        raise refused((*where, "text"), "", "Input should be a valid string")
    if not text:
        raise refused(where[:1], "", "text content blocks must be non-empty")
    return {"type": "text", "text": text}


def _as_in_chats(kind: str, source: Block) -> Message:
    if source.get("type") != "base64":
        # Chats know no documents at an address; nobody looks into either.
        where = source.get("url") if source.get("type") == "url" else source.get("file_id")
        return {"type": "file", "file": {"file_id": where}}
    data = f"data:{source.get('media_type')};base64,{source.get('data')}"
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": data}}
    return {"type": "file", "file": {"filename": "document", "file_data": data}}


def _call(block: Block, where: Location) -> Message:
    for name, kind in {"id": str, "name": str, "input": dict}.items():
        if not isinstance(block.get(name), kind):
            raise refused(
                (*where, "tool_use", name), "", f"Input should be a valid {kind.__name__}"
            )
    function = {"name": block["name"], "arguments": json.dumps(block["input"])}
    return {"id": block["id"], "type": "function", "function": function}


def _result(block: Block, where: Location) -> Message:
    called = block.get("tool_use_id")
    if not isinstance(called, str):
        raise refused((*where, "tool_result", "tool_use_id"), "", "Field required")
    inside = (*where, "tool_result", "content")
    content = _read(block.get("content") or "", inside, only=(*_READ[:4], "tool_reference"))
    return {"role": "tool", "tool_call_id": called, "content": content}


def _check_results(turn: Sequence[Message], waiting: Sequence[str], index: int) -> None:
    answered = [message["tool_call_id"] for message in turn if message["role"] == "tool"]
    strange = [one for one in answered if one not in waiting]
    if strange:
        raise InvalidRequestError(
            f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks:"
            f" {strange[0]}. Each `tool_result` block must have a corresponding `tool_use` block in"
            " the previous message."
        )
    left = [one for one in waiting if one not in answered]
    if left:
        raise _unanswered(left, index - 1)


def _unanswered(calls: Sequence[str], index: int) -> InvalidRequestError:
    return InvalidRequestError(
        f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately"
        f" after: {', '.join(calls)}. Each `tool_use` block must have a corresponding `tool_result`"
        " block in the next message."
    )


def _object(value: object, where: Location) -> Block:
    if not isinstance(value, dict):
        raise refused(where, "", "Input should be an object")
    return cast("Block", value)


def _unexpected(kind: object, where: Location, known: Sequence[str]) -> InvalidRequestError:
    tags = ", ".join(map(repr, known))
    return refused(
        where,
        "",
        f"Input tag {kind!r} found using 'type' does not match any of the expected tags: {tags}",
    )
