"""Reads the transcripts of coding agents: files of JSON lines, one for each event.

Claude Code writes messages of Anthropic's API, `{"type": "assistant", "message": {...}}`, and Codex
items of OpenAI's Responses API, `{"type": "response_item", "payload": {...}}`. Other lines, and
what is not written whole yet, are passed over.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

from resay.core.references import joined_text
from resay.core.request import Message
from resay.errors import ConfigurationError

# What is before the last part of a longer file belongs to turns that are long over.
_MAX_BYTES: Final = 64 * 1024 * 1024
_ROLES: Final = frozenset({"assistant", "developer", "system", "user"})


def read_transcript(path: Path) -> list[Message]:
    """Read the messages of a transcript, oldest first.

    Calls of tools and their results stay in the format of the agent's API, as blocks in the content
    of messages. Those of subagents come without the subagents' own words.

    Args:
        path: The file.

    Raises:
        ConfigurationError: It cannot be read.
    """
    try:
        data = _end_of(path)
    except OSError as error:
        raise ConfigurationError(f"cannot read the transcript: {error.strerror}") from None
    messages: list[Message] = []
    for line in data.split(b"\n"):
        message = _message_of(line)
        if message is not None:
            messages.append(message)
    return messages


def last_text(messages: list[Message]) -> str:
    """Return the text of the last message with words, if the assistant wrote it; else nothing."""
    for message in reversed(messages):
        text = _words(message)
        if text:
            return text if message.get("role") == "assistant" else ""
    return ""


def before_last(messages: list[Message], text: str) -> list[Message]:
    """Return the messages without the last one, if that is the assistant's with a text.

    Args:
        messages: The messages.
        text: The text.
    """
    if (
        messages
        and messages[-1].get("role") == "assistant"
        and _words(messages[-1]) == text.strip()
    ):
        return messages[:-1]
    return messages


def _words(message: Message) -> str:
    content: Any = message.get("content")
    if isinstance(content, str):
        return content.strip()
    blocks = [block for block in _mappings(content) if block.get("type") in ("text", "output_text")]
    return joined_text(blocks).strip()


def _end_of(path: Path) -> bytes:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _MAX_BYTES, 0))
        return file.read()


def _message_of(line: bytes) -> Message | None:
    try:
        event: Any = json.loads(line)
    # The last line may not be written whole; deep nesting is refused with a RecursionError.
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, Mapping):
        return None
    event = cast("Mapping[str, Any]", event)
    if event.get("type") == "response_item":
        return _codex_message(event.get("payload"))
    return _claude_message(event)


def _claude_message(event: Mapping[str, Any]) -> Message | None:
    message: Any = event.get("message")
    # `isMeta`: what Claude Code itself adds to the conversation, such as the feedback of hooks.
    if not isinstance(message, Mapping) or event.get("isMeta") is True:
        return None
    message = cast("Mapping[str, Any]", message)
    role, content = message.get("role"), message.get("content")
    if not isinstance(role, str) or role not in _ROLES:
        return None
    if event.get("isSidechain") is True:
        calls = [block for block in _mappings(content) if "tool" in str(block.get("type"))]
        return {"role": "assistant", "content": calls} if calls else None
    return {"role": role, "content": content}


def _codex_message(item: Any) -> Message | None:
    if not isinstance(item, Mapping):
        return None
    item = cast("Mapping[str, Any]", item)
    role = item.get("role")
    if isinstance(role, str) and role in _ROLES:
        return {"role": role, "content": item.get("content")}
    if "_call" in str(item.get("type")):
        return {"role": "assistant", "content": [item]}
    return None


def _mappings(content: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(content, list):
        for block in cast("list[object]", content):
            if isinstance(block, Mapping):
                yield cast("Mapping[str, Any]", block)
