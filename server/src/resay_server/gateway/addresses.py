"""Addresses in clients' requests."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

_SCHEME = re.compile(r"\s*[a-z][a-z0-9+.-]*:", re.IGNORECASE)


_DATA = "data:"


# Texts, ids of other items, and a model's input or output: no addresses in them are fetched.
_TEXT_FIELDS = frozenset(
    {
        "arguments",
        "call_id",
        "content",
        "context",
        "id",
        "input",
        "name",
        "output",
        "reasoning_content",
        "refusal",
        "role",
        "signature",
        "text",
        "thinking",
        "title",
        "tool_call_id",
        "tool_use_id",
        "type",
    }
)


_CALL_FIELDS = frozenset({"function_call", "thinking_blocks", "tool_calls"})


_TEXT_TYPES = frozenset(
    {
        "custom_tool_call",
        "function_call",
        "input_text",
        "output_text",
        "reasoning",
        "redacted_thinking",
        "refusal",
        "search_result",
        "summary_text",
        "text",
        "thinking",
        "tool_use",
    }
)


# Fields with the parts of messages and tool results, whatever type they claim to have.
_NESTED_FIELDS = frozenset({"content", "output"})


_ADDRESSES = frozenset(
    {"audio_url", "file_uri", "file_url", "image_url", "uri", "url", "video_url"}
)


_MEDIA = _ADDRESSES | {"audio", "document", "file", "image", "input_audio", "source", "video"}


def contains_address(value: object, name: str) -> bool:
    """Return whether a value contains an address outside of texts.

    Args:
        value: A value sent by a client.
        name: The name of its field.
    """
    if isinstance(value, str):
        return name not in _TEXT_FIELDS and _is_address(value, name)
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        names = fields.keys() - _CALL_FIELDS
        if fields.get("type") in _TEXT_TYPES and not _contains_media(fields):
            names &= _NESTED_FIELDS
        return any(contains_address(fields[name], name) for name in names)
    if isinstance(value, (list, tuple)):
        return any(contains_address(item, name) for item in cast("Sequence[object]", value))
    return False


def _contains_media(part: Mapping[str, object]) -> bool:
    """Return whether a part that claims to be text contains media as well."""
    media = _MEDIA & part.keys()
    # The `source` of a search result only says where it comes from.
    return bool(media - {"source"} if part.get("type") == "search_result" else media)


def _is_address(value: str, name: str) -> bool:
    if value.lower().startswith(_DATA):
        return False
    return name in _ADDRESSES or "://" in value or _SCHEME.match(value) is not None
