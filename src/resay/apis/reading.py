"""Reading JSON that nobody promised anything about."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

__all__ = ["as_json", "listed", "mapping", "mappings", "number", "text"]


def mapping(value: object) -> Mapping[str, Any]:
    """Return a value if it is an object, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def listed(value: object) -> Sequence[Any]:
    """Return a value if it is a list, else an empty one."""
    return cast("Sequence[Any]", value) if isinstance(value, (list, tuple)) else ()


def mappings(value: object) -> list[Mapping[str, Any]]:
    """Return the objects in a list."""
    items: list[object] = [*listed(value)]
    return [mapping(cast("object", item)) for item in items if isinstance(item, Mapping)]


def text(value: object) -> str:
    """Return a value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def number(value: object) -> int:
    """Return a value if it is a whole number of at least 0, else 0."""
    return value if isinstance(value, int) and value >= 0 else 0


def as_json(value: object) -> str:
    """Return what was read of JSON as JSON."""
    return json.dumps(value, ensure_ascii=False)
