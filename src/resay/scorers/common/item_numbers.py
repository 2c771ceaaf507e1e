"""Reads the numbers of the items that a judge was asked about, and what is said of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from resay._internal.patterns import lazy_pattern
from resay.lang.language import all_alternatives, all_phrases

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

ITEM_WORDS = all_alternatives("judge", "items")
NUMBERS = (
    r"\d{1,6}(?:\s*(?:[-–—~〜]|\bto\b|\bthrough\b|\bbis\b|\bà\b|\bhasta\b)\s*\d{1,6}"
    r"|\s*(?:[,;&、，]|,?\s*\b(?:and|und|et|y|e|en|и)\b)\s*#?\d{1,6}){0,60}"
)
_RANGE = lazy_pattern(r"(\d{1,6})\s*(?:[-–—~〜]|to|through|bis|à|hasta)\s*(\d{1,6})", re.IGNORECASE)
_NUMBER = lazy_pattern(r"\d{1,6}")
_MAX_RANGE = 200
KEY_NUMBER = lazy_pattern(
    rf"(?:[^\W\d_]{{1,15}})?[\s._#:-]{{0,3}}(?P<numbers>{NUMBERS})\.?", re.IGNORECASE
)
_ITEM_KEYS = all_phrases("judge", "item_keys")


def numbers_in(written: str) -> tuple[int, ...]:
    """Return the numbers that a list such as `1, 3-5` names; of an impossible range, the first.

    What follows it is not about an item then: "2 - 1932 was the year". Lists of texts are read by
    `resay.scorers.common.text_numbers`, where both ends of such a range are texts.
    """
    numbers: list[int] = []
    position = 0
    while match := _NUMBER.search(written, position):
        number_range = _RANGE.match(written, match.start())
        if number_range is None:
            numbers.append(int(match[0]))
            position = match.end()
            continue
        first, last = int(number_range[1]), int(number_range[2])
        if not first < last <= first + _MAX_RANGE:
            return (*numbers, first)
        numbers += range(first, last + 1)
        position = number_range.end()
    return tuple(numbers)


def plain_key(key: object) -> str:
    """Return the name of a JSON field without the differences between `claim_id` and `Claim ID`."""
    return re.sub(r"[\s_.-]+", "", str(key).casefold())


def number_of(data: Mapping[Any, Any]) -> int | None:
    """Return the number of the item that a JSON object is about.

    Args:
        data: The object.
    """
    values = [as_number(value) for key, value in data.items() if plain_key(key) in _ITEM_KEYS]
    return only_value(values)


def as_number(value: object) -> int | None:
    """Return the number that a JSON value stands for, such as `3`, `"3"` or `"claim 3"`.

    Args:
        value: The value.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return value if 0 <= value < 1_000_000 else None
    if isinstance(value, float):
        return int(value) if value.is_integer() and 0 <= value < 1_000_000 else None
    if not isinstance(value, str):
        return None
    match = KEY_NUMBER.fullmatch(value.strip().strip("[]()*\"'"))
    numbers = numbers_in(match["numbers"]) if match else ()
    return numbers[0] if len(numbers) == 1 else None


def only_value(values: Iterable[V | None]) -> V | None:
    """Return the value that all of several have which are not None; None if they differ."""
    stated = [value for value in values if value is not None]
    return stated[0] if len({repr(value) for value in stated}) == 1 else None


def agreed(entries: Iterable[tuple[K, V]]) -> dict[K, V]:
    """Return the value of each key, without keys that have different values.

    Args:
        entries: The keys and values.
    """
    values_by_key: dict[K, list[V]] = {}
    for key, value in entries:
        values = values_by_key.setdefault(key, [])
        if value not in values:
            values.append(value)
    return {key: values[0] for key, values in values_by_key.items() if len(values) == 1}


def attributed(entries: Sequence[tuple[int, T]], count: int) -> list[T | None]:
    """Return the value of each item; None if it has none, or several that differ.

    Args:
        entries: Numbers of items with values.
        count: Number of items.
    """
    numbers = {number for number, _ in entries}
    first = 1
    if 0 in numbers and count not in numbers:
        # Counted from 0, if all are there; otherwise nobody knows which item is meant.
        if numbers != set(range(count)):
            return [None] * count
        first = 0
    values = agreed(entries)
    return [values.get(number) for number in range(first, first + count)]
