"""Marks in the text of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """A text of our own in an answer.

    Attributes:
        position: The offset in the response after whose text it stands, in code points.
        text: Its text.
    """

    position: int
    text: str


def with_marks(text: str, marks: Sequence[Mark], start: int = 0) -> str:
    """Return a piece of a response with the marks that stand in it or right after it.

    Args:
        text: The piece. One without text has no marks.
        marks: The marks of the response, in order.
        start: The offset of the piece in the response.
    """
    pieces: list[str] = []
    offset = 0
    for mark in marks:
        position = mark.position - start
        if 0 < position <= len(text):
            pieces += [text[offset:position], mark.text]
            offset = position
    return "".join([*pieces, text[offset:]])


def shifted_span(span: tuple[int, int], marks: Sequence[Mark]) -> tuple[int, int]:
    """Return where words of a response are once it has its marks.

    Args:
        span: The start and the end of the words in the response.
        marks: The marks of the response.
    """
    start, end = span
    before_start = sum(len(mark.text) for mark in marks if mark.position <= start)
    before_end = sum(len(mark.text) for mark in marks if mark.position < end)
    # A span without words is after the mark at its position, as what follows it.
    return start + before_start, end + max(before_end, before_start if start == end else 0)
