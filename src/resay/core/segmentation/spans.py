"""Spans: the start and the end of a part of a text."""

from __future__ import annotations

from collections.abc import Iterable

Span = tuple[int, int]
"""The start and end (exclusive) of a part of a text, in code points."""


def blanked(text: str, spans: Iterable[Span]) -> str:
    """Return a text with spaces in place of some of it, so that offsets stay.

    Args:
        text: The text.
        spans: What is blanked, in order.
    """
    pieces: list[str] = []
    position = 0
    for start, end in spans:
        pieces += text[position:start], " " * (end - start)
        position = end
    return "".join([*pieces, text[position:]])
