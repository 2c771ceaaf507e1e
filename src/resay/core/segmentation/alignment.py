"""Finds sentences that were split elsewhere in the text that they come from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from resay._internal.patterns import lazy_pattern
from resay.core.collapsed_text import CollapsedText
from resay.core.segmentation.blocks import Layout, parse_layout
from resay.core.segmentation.spans import Span

_ALNUM = lazy_pattern(r"[^\W_]")


class UnalignedError(ValueError):
    """A sentence does not occur in the text after the previous one.

    Attributes:
        index: The index of the sentence, from 0.
    """

    def __init__(self, index: int) -> None:
        super().__init__(f"sentence {index} does not occur in the text after the one before it")
        self.index = index


def align(sentences: Sequence[str], text: str) -> list[Span]:
    """Find sentences in a text, in order, each after the end of the previous one.

    White space inside a sentence may differ. If all of them occur in prose, they are matched there,
    so that a sentence is not mistaken for the same words in an earlier heading or code; otherwise
    each is matched at its first occurrence.

    Args:
        sentences: The sentences; none may be blank.
        text: The text.

    Returns:
        The start and end of each, in code points.

    Raises:
        UnalignedError: A sentence does not occur.
    """
    collapsed = CollapsedText(text)
    needles = [" ".join(sentence.split()) for sentence in sentences]
    try:
        return _find_all(collapsed, needles, _Unscored(parse_layout(text)))
    except UnalignedError:
        return _find_all(collapsed, needles, None)


class _Unscored:
    """Markers, and blocks without sentences."""

    def __init__(self, layout: Layout) -> None:
        blocks = [(block.start, block.end) for block in layout.blocks if block.kind != "prose"]
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted([*blocks, *layout.markers]):
            if not self._ends or end > self._ends[-1]:
                self._starts.append(start)
                self._ends.append(end)

    def end_around(self, position: int) -> int | None:
        """Return the end of the span around a position, or None if the position is in prose."""
        index = bisect_right(self._starts, position) - 1
        return self._ends[index] if index >= 0 and position < self._ends[index] else None


def _find_all(
    collapsed: CollapsedText, needles: Sequence[str], unscored: _Unscored | None
) -> list[Span]:
    """Return the spans of texts, each after the one before it.

    Args:
        collapsed: The text that they are from.
        needles: The texts, with their white space collapsed.
        unscored: Where none of them begins; None if they may begin anywhere.

    Raises:
        UnalignedError: A text does not occur.
    """
    spans: list[Span] = []
    position = 0
    for index, needle in enumerate(needles):
        start = _find(collapsed, needle, position, unscored)
        if start < 0:
            raise UnalignedError(index)
        position = start + len(needle)
        spans.append(collapsed.span(start, position))
    return spans


def _find(collapsed: CollapsedText, needle: str, position: int, unscored: _Unscored | None) -> int:
    start = collapsed.text.find(needle, position)
    letter = _ALNUM.search(needle)
    if unscored is None or letter is None:
        return start
    while start >= 0:
        end = unscored.end_around(collapsed.origin(start + letter.start()))
        if end is None:
            break
        beyond = collapsed.collapsed(end) - letter.start()
        start = collapsed.text.find(needle, max(start + 1, beyond))
    return start
