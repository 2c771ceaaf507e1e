"""The messages of a conversation: what they say, and which of them OpenAI's API would refuse.

Parts that are not text (images, files, audio) are checked and otherwise left alone: the simulated
model reads texts only. They may stand in messages of every role, as at servers like vLLM; OpenAI
takes them from the user only.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from simulation.body import InvalidRequestError

__all__ = ["audio_tokens", "check_messages", "is_readable", "text_of"]

Message = Mapping[str, Any]

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_DATA_URL = re.compile(r"data:[\w.+-]+/[\w.+-]+(?:;[\w=-]+)*;base64,(?P<data>.*)", re.DOTALL)
_BYTES_PER_AUDIO_TOKEN = 1024


def text_of(message: Message) -> str:
    """Return the text of a chat message whose content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(filter(None, map(_part_text, _parts_of(message))))


def audio_tokens(message: Message) -> int:
    """Return how many tokens the audio in a message counts as: one for each begun KiB."""
    recorded = [p["input_audio"]["data"] for p in _parts_of(message) if p["type"] == "input_audio"]
    sizes = [len(base64.b64decode(data)) for data in recorded]
    return sum(-(-size // _BYTES_PER_AUDIO_TOKEN) for size in sizes)


def check_messages(messages: Sequence[Message]) -> None:
    """Check the messages of a request.

    Raises:
        InvalidRequestError: One has an unknown role, no content, or a part that cannot be read; or
            the results of tools do not follow the calls they answer.
    """
    for index, message in enumerate(messages):
        _check_message(message, f"messages[{index}]")
    _check_results(messages)


def is_readable(part: Message) -> bool:
    """Return whether a content part of a known type holds what it should."""
    kind = part["type"]
    return _PARTS[kind](part.get(kind))


def _parts_of(message: Message) -> list[Message]:
    content = message.get("content")
    parts = cast("list[object]", content) if isinstance(content, list) else []
    return [cast("Message", part) for part in parts if isinstance(part, dict)]


def _part_text(part: Message) -> str:
    text = part.get("text")
    return text if isinstance(text, str) else ""


def _check_message(message: Message, where: str) -> None:
    role = message.get("role")
    if role not in _ROLES:
        supported = ", ".join(map(repr, _ROLES))
        raise InvalidRequestError(
            f"Invalid value: {role!r}. Supported values are: {supported}.", f"{where}.role"
        )
    if role == "assistant" and message.get("tool_calls") is not None:
        _check_calls(message["tool_calls"], f"{where}.tool_calls")
    _check_content(message, f"{where}.content")


def _check_content(message: Message, where: str) -> None:
    content: object = message.get("content")
    if isinstance(content, str) or (content is None and _may_be_silent(message)):
        return
    if not isinstance(content, list) or not content:
        raise InvalidRequestError(
            f"Invalid type for {where!r}: expected a string or a list of content parts.", where
        )
    for index, part in enumerate(cast("list[object]", content)):
        _check_part(part, f"{where}[{index}]")


def _may_be_silent(message: Message) -> bool:
    speaks_otherwise = ("tool_calls", "function_call", "refusal", "audio")
    assistant = message["role"] == "assistant"
    return message["role"] == "function" or (
        assistant and any(message.get(name) for name in speaks_otherwise)
    )


def _check_part(part: object, where: str) -> None:
    if not isinstance(part, dict):
        raise InvalidRequestError(f"Invalid type for {where!r}: expected an object.", where)
    fields = cast("Message", part)
    kind = fields.get("type")
    if not isinstance(kind, str) or kind not in _PARTS:
        raise InvalidRequestError(
            f"Invalid value: {kind!r}. Supported values are: {', '.join(map(repr, _PARTS))}.",
            f"{where}.type",
        )
    if not is_readable(fields):
        raise InvalidRequestError(
            f"Invalid {f'{where}.{kind}'!r}: it is missing or cannot be read.", f"{where}.{kind}"
        )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_image(value: object) -> bool:
    url = cast("Message", value).get("url") if isinstance(value, dict) else None
    if not isinstance(url, str):
        return False
    return url.startswith(("http://", "https://")) or _is_data_url(url)


def _is_file(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    fields = cast("Message", value)
    data = fields.get("file_data")
    if isinstance(data, str):
        return isinstance(fields.get("filename"), str) and _is_data_url(data)
    return isinstance(fields.get("file_id"), str)


def _is_audio(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    fields = cast("Message", value)
    data = fields.get("data")
    return fields.get("format") in ("wav", "mp3") and isinstance(data, str) and _is_base64(data)


def _is_data_url(url: str) -> bool:
    match = _DATA_URL.fullmatch(url)
    return match is not None and _is_base64(match["data"])


def _is_base64(data: str) -> bool:
    try:
        return bool(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return False


_PARTS: Mapping[str, Callable[[object], bool]] = {
    "text": _is_text,
    "refusal": _is_text,
    "image_url": _is_image,
    "file": _is_file,
    "input_audio": _is_audio,
}


def _check_calls(calls: object, where: str) -> None:
    if not isinstance(calls, list) or not calls:
        raise InvalidRequestError(f"Invalid {where!r}: expected at least one call.", where)
    for index, call in enumerate(cast("list[object]", calls)):
        if not _is_call(call):
            raise InvalidRequestError(
                f"Invalid {f'{where}[{index}]'!r}: a call has an 'id', the 'type' 'function' and a"
                " 'function' with a 'name' and 'arguments', which are strings.",
                f"{where}[{index}]",
            )


def _is_call(call: object) -> bool:
    if not isinstance(call, dict):
        return False
    fields = cast("Message", call)
    function = fields.get("function")
    if not isinstance(function, dict) or fields.get("type") != "function":
        return False
    said = cast("Message", function)
    texts = (fields.get("id"), said.get("name"), said.get("arguments"))
    return all(isinstance(text, str) for text in texts)


def _check_results(messages: Sequence[Message]) -> None:
    waiting: list[str] = []
    called: list[str] = []
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            _check_result(message, called, f"messages[{index}]")
            waiting = [one for one in waiting if one != message["tool_call_id"]]
            continue
        _check_nothing_waits(waiting)
        calls = message.get("tool_calls") if message["role"] == "assistant" else None
        called = [call["id"] for call in calls or ()]
        waiting = called
    _check_nothing_waits(waiting)


def _check_result(message: Message, called: Sequence[str], where: str) -> None:
    if message.get("tool_call_id") not in called:
        raise InvalidRequestError(
            f"Invalid {where!r}: a message with role 'tool' must follow the message whose"
            " 'tool_calls' have its 'tool_call_id'.",
            f"{where}.tool_call_id",
        )


def _check_nothing_waits(waiting: Sequence[str]) -> None:
    if waiting:
        raise InvalidRequestError(
            "An assistant message with 'tool_calls' must be followed by tool messages responding"
            f" to each 'tool_call_id'. Missing: {', '.join(waiting)}.",
            "messages",
        )
