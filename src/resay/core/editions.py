"""Editions of documents: which of two is newer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, Final

from resay._internal.patterns import lazy_pattern

_METADATA_KEYS: Final = (
    "edition",
    "version",
    "revision",
    "date",
    "updated",
    "updated_at",
    "last_modified",
    "modified",
    "valid_from",
    "published",
)
_NUMBER: Final = lazy_pattern(r"\d{1,18}")
_FIRST_YEAR: Final = 1_000


def edition_of(metadata: Mapping[str, Any], key: str | None = None) -> str | None:
    """Return the edition or date that a document's metadata names.

    Args:
        metadata: The metadata.
        key: The metadata key; None for the first existing one of the usual keys.
    """
    for name in (key,) if key else _METADATA_KEYS:
        value = metadata.get(name)
        if isinstance(value, bool) or not isinstance(value, (str, int, float, date)):
            continue
        edition = str(value).strip()
        if edition:
            return edition
    return None


def newness(edition: str) -> tuple[int, ...]:
    """Return a sort key for editions, newest last: their numbers, beginning with the year.

    Args:
        edition: `2024-03-01`, `01.03.2024`, `v2.10`, `3rd edition`.
    """
    numbers = [int(digits) for digits in _NUMBER.findall(edition)]
    if numbers and numbers[-1] >= _FIRST_YEAR > numbers[0]:
        numbers.reverse()
    return tuple(numbers)
