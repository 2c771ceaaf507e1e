"""Counted things in words."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: `1 sentence`, `2 sentences`.

    Args:
        count: The number.
        noun: What is counted, in the singular.
        plural: Its plural; by default with an "s".
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
