"""Inline code: text between runs of backticks of the same length."""

from __future__ import annotations

from collections.abc import Iterator

from resay._internal.patterns import lazy_pattern
from resay.core.segmentation.spans import Span

LONGEST_CODE_SPAN = 400
"""The maximum length of inline code; between backticks that are further apart is none."""
_TICKS = lazy_pattern(r"`+")


def backtick_pairs(text: str) -> Iterator[tuple[Span, Span | None]]:
    """Yield each run of backticks with the next run of the same length, from left to right.

    Args:
        text: The text.

    Yields:
        The spans of the runs that open and close; None for the second if there is none. Runs
        between those of a pair are left out.
    """
    runs = [match.span() for match in _TICKS.finditer(text)]
    partners: list[int | None] = [None] * len(runs)
    next_of_length: dict[int, int] = {}
    for index in reversed(range(len(runs))):
        start, end = runs[index]
        partners[index] = next_of_length.get(end - start)
        next_of_length[end - start] = index
    index = 0
    while index < len(runs):
        partner = partners[index]
        if partner is None:
            yield runs[index], None
            index += 1
        else:
            yield runs[index], runs[partner]
            index = partner + 1


def hide_code_spans(text: str) -> str:
    """Return a text with letters in place of inline code: nothing in it ends a sentence.

    Args:
        text: The text.
    """
    if "`" not in text:
        return text
    parts: list[str] = []
    position = 0
    for opener, closer in backtick_pairs(text):
        if closer is None:
            continue
        start, end = opener[1], closer[0]
        # ``such quotes'' are TeX, not code.
        if end - start > LONGEST_CODE_SPAN or "''" in text[start:end]:
            continue
        parts += text[position:start], "X" * (end - start)
        position = end
    parts.append(text[position:])
    return "".join(parts)
