"""Read the values in JSON bodies, whatever their types are."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from resay._internal.patterns import lazy_pattern

Body = Mapping[str, Any]
"""A JSON object as sent or received. It is never modified, only copied."""

# Strings that lenient servers accept as true.
_TRUE = frozenset({"1", "on", "t", "true", "y", "yes"})
_UNNAMED = "a part of the answer cannot be read"
_NAME = lazy_pattern(r"[A-Za-z0-9_.-]{1,64}")
_DIGITS = lazy_pattern(r"[0-9]{1,9}")
_WORD = lazy_pattern(r"\w")


def mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is an object, else an empty one."""
    # JSON objects are parsed as dicts; the check for other mappings takes ten times as long.
    if type(value) is dict:
        return cast("dict[str, Any]", value)
    if value is None:
        return {}
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def listed(value: object) -> Sequence[Any]:
    """Return the value if it is a list, else an empty one."""
    return cast("Sequence[Any]", value) if isinstance(value, (list, tuple)) else ()


def mappings(value: object) -> Sequence[Mapping[str, Any]]:
    """Return the objects in a list."""
    # Without a call: it is asked several times about each event of a stream.
    items = cast("list[object]", value) if type(value) is list else listed(value)
    # Most lists have one object, as in each event of a stream: they are returned as they are.
    if len(items) == 1 and type(items[0]) is dict:
        return cast("list[dict[str, Any]]", items)
    return [
        mapping(cast("object", item))
        for item in items
        if type(item) is dict or isinstance(item, Mapping)
    ]


def text(value: object) -> str:
    """Return the value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def number(value: object) -> int:
    """Return the value if it is an integer of at least 0, else 0."""
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return max(value, 0)


def count(value: object) -> int:
    """Return a number as lenient servers parse it (`2.0`, `"2"`); 0 for anything else."""
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return number(int(value))
    return number(value)


def tokens_in(usage: Mapping[str, Any]) -> tuple[int, int]:
    """Return the prompt and completion tokens that a usage reports, 0 for what it leaves out.

    Servers of one API also use the names of another.
    """
    prompt = count(usage.get("prompt_tokens")) or count(usage.get("input_tokens"))
    completion = count(usage.get("completion_tokens")) or count(usage.get("output_tokens"))
    return prompt, completion


def is_yes(value: object) -> bool:
    """Return whether lenient servers accept a value as true: `1` and `"true"`, for example."""
    if isinstance(value, str):
        return value.lower() in _TRUE
    return isinstance(value, (bool, int, float)) and value == 1


def named(kind: object) -> str:
    """Return a message about a part that cannot be parsed, with its type if it is a name."""
    is_name = isinstance(kind, str) and _NAME.fullmatch(kind)
    return f"a part of the answer cannot be read ({kind})" if is_name else _UNNAMED


def words_elsewhere(value: Mapping[str, Any], fields: Collection[str]) -> str | None:
    """Return a message about the first unknown field that contains words; None if none does.

    Args:
        value: A part of an answer.
        fields: Its fields that are read, or that contain no words of the answer.
    """
    for name, content in value.items():
        if name not in fields and _has_words(content):
            return named(name)
    return None


def _has_words(value: object) -> bool:
    # Without recursion, because values may be nested deeply.
    pending: list[object] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str) and _WORD.search(item):
            return True
        pending += listed(item)
        pending += mapping(item).values()
    return False


def is_garbled(value: object, kind: type) -> bool:
    """Return whether a value is there, but not of the type that its field has."""
    return bool(value) and not isinstance(value, kind)


def as_json(value: object) -> str:
    """Return parsed JSON as text again."""
    return json.dumps(value, ensure_ascii=False)


# `json.dumps` would create one for every value.
_ENCODER = json.JSONEncoder(ensure_ascii=False)


def json_bytes(value: object) -> bytes:
    """Return a value as JSON that any strict parser accepts."""
    try:
        return _ENCODER.encode(value).encode()
    # A lone surrogate, such as a token may end with, can only be written as an escape.
    except UnicodeEncodeError:
        return json.dumps(value).encode()
