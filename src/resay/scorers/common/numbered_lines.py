"""Parses a line of free text for each of several numbered items."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

from resay._internal.patterns import lazy_pattern
from resay.scorers.common.item_numbers import as_number, attributed, number_of
from resay.scorers.common.judge_json import json_values, without_fences

T = TypeVar("T")

_LINE = lazy_pattern(
    r"^[\W_]*(?:(?:claim|sentence|aussage|affirmation|afirmación|affermazione|afirmação|陈述|主張)\s*)?"
    r"(\d{1,6})[\W_]+(\S.*)$",
    re.IGNORECASE,
)


def parse_numbered(text: str, count: int, parse: Callable[[str], T | None]) -> list[T | None]:
    """Parse one line of free text for each of several numbered items.

    Accepts lines such as `1: When did it open?`, `2. **None**`, `- Claim 3 - ...`, and JSON: an
    object by number, a list in order, or a list of objects. A number that is missing, out of range
    or answered twice in different ways is undetermined.

    Args:
        text: The answer.
        count: Number of items, numbered from 1.
        parse: Parses one line; returns None if it cannot.

    Returns:
        One entry per item, None for undetermined.
    """
    entries: list[tuple[int, T]] = []
    for number, line in _numbered_lines(text, count):
        value = parse(line)
        if value is not None:
            entries.append((number, value))
    return attributed(entries, count)


def _numbered_lines(text: str, count: int) -> list[tuple[int, str]]:
    for value in json_values(text):
        lines = _lines_in_json(value, count)
        if lines:
            return lines
    matches = [_LINE.match(line) for line in without_fences(text).splitlines()]
    return [(int(match[1]), match[2]) for match in matches if match is not None]


def _lines_in_json(data: Any, count: int) -> list[tuple[int, str]]:
    if isinstance(data, dict):
        return _lines_in_object(cast("dict[Any, Any]", data), count)
    items = cast("list[Any]", data) if isinstance(data, list) else []
    if len(items) == count and all(isinstance(item, str) for item in items):
        return list(enumerate(items, 1))
    lines: list[tuple[int, str]] = []
    for item in items:
        fields = cast("dict[Any, Any]", item) if isinstance(item, dict) else {}
        number = number_of(fields)
        texts = [v for v in fields.values() if isinstance(v, str) and as_number(v) != number]
        if number is not None and len(texts) == 1:
            lines.append((number, texts[0]))
    return lines


def _lines_in_object(fields: dict[Any, Any], count: int) -> list[tuple[int, str]]:
    lines: list[tuple[int, str]] = []
    for key, value in fields.items():
        number = as_number(str(key))
        if number is not None and isinstance(value, str):
            lines.append((number, value))
    if not lines and len(fields) == 1:
        # {"answers": [...]}
        return _lines_in_json(next(iter(fields.values())), count)
    return lines
