"""Reading JSON that nobody promised anything about."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

# What servers that are not strict take for yes.
_YES = frozenset({"1", "on", "t", "true", "y", "yes"})
_UNNAMED = "a part of the answer cannot be read"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_DIGITS = re.compile(r"[0-9]{1,9}")


def mapping(value: object) -> Mapping[str, Any]:
    """Return a value if it is an object, else an empty one."""
    # What json reads is a dict; to see what else may be a mapping takes ten times as long.
    if type(value) is dict:
        return cast("dict[str, Any]", value)
    if value is None:
        return {}
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def listed(value: object) -> Sequence[Any]:
    """Return a value if it is a list, else an empty one."""
    return cast("Sequence[Any]", value) if isinstance(value, (list, tuple)) else ()


def mappings(value: object) -> list[Mapping[str, Any]]:
    """Return the objects in a list."""
    items: Sequence[object] = listed(value)
    if not items:
        return []
    # Most lists have one, and nothing need be made of that.
    if len(items) == 1 and type(items[0]) is dict:
        return [cast("dict[str, Any]", items[0])]
    return [
        mapping(cast("object", item))
        for item in items
        if type(item) is dict or isinstance(item, Mapping)
    ]


def text(value: object) -> str:
    """Return a value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def number(value: object) -> int:
    """Return a value if it is a whole number of at least 0, else 0."""
    return value if isinstance(value, int) and value >= 0 else 0


def count(value: object) -> int:
    """Return a number as servers read it that are not strict (`2.0`, `"2"`); 0 for what is none."""
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return number(int(value))
    return number(value)


def is_yes(value: object) -> bool:
    """Return whether servers that are not strict take a value for yes: `1` and `"true"`, say."""
    if isinstance(value, str):
        return value.lower() in _YES
    return isinstance(value, (bool, int, float)) and value == 1


def named(kind: object) -> str:
    """Return what a part is called that cannot be read, as far as that is a name."""
    known = isinstance(kind, str) and _NAME.fullmatch(kind)
    return f"a part of the answer cannot be read ({kind})" if known else _UNNAMED


def as_json(value: object) -> str:
    """Return what was read of JSON as JSON."""
    return json.dumps(value, ensure_ascii=False)
