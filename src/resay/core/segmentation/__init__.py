"""Text segmentation: the boundaries of blocks, and of the sentences in them.

All offsets are in code points, and everything takes time linear in the length of the text, for any
text. `align` finds sentences that were split elsewhere.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from resay.core.segmentation.blocks import Layout, parse_layout

__all__ = ["Span", "UnalignedError", "align"]

Span = tuple[int, int]
_TOKEN = re.compile(r"\S+")
_ALNUM = re.compile(r"[^\W_]")


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
    collapsed = _CollapsedText(text)
    needles = [" ".join(sentence.split()) for sentence in sentences]
    try:
        return collapsed.find_all(needles, _Unscored(parse_layout(text)))
    except UnalignedError:
        return collapsed.find_all(needles, None)


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
        at = bisect_right(self._starts, position) - 1
        return self._ends[at] if at >= 0 and position < self._ends[at] else None


class _CollapsedText:
    """A text with its white space collapsed, and a mapping back to the original."""

    def __init__(self, text: str) -> None:
        tokens: list[str] = []
        self._original: list[int] = []
        self._starts: list[int] = []
        position = 0
        for match in _TOKEN.finditer(text):
            tokens.append(match.group())
            self._original.append(match.start())
            self._starts.append(position)
            position += match.end() - match.start() + 1
        self._text = " ".join(tokens)

    def find_all(self, needles: list[str], unscored: _Unscored | None) -> list[Span]:
        spans: list[Span] = []
        position = 0
        for index, needle in enumerate(needles):
            found = self._find(needle, position, unscored)
            if found < 0:
                raise UnalignedError(index)
            position = found + len(needle)
            spans.append((self._origin(found), self._origin(position - 1) + 1))
        return spans

    def _find(self, needle: str, position: int, unscored: _Unscored | None) -> int:
        found = self._text.find(needle, position)
        letter = _ALNUM.search(needle)
        if unscored is None or letter is None:
            return found
        while found >= 0:
            end = unscored.end_around(self._origin(found + letter.start()))
            if end is None:
                break
            beyond = self._collapsed(end) - letter.start()
            found = self._text.find(needle, max(found + 1, beyond))
        return found

    def _origin(self, position: int) -> int:
        token = bisect_right(self._starts, position) - 1
        return self._original[token] + position - self._starts[token]

    def _collapsed(self, origin: int) -> int:
        """Return the first position that corresponds to `origin` or to text after it."""
        token = bisect_right(self._original, origin) - 1
        if token < 0:
            return 0
        inside = self._starts[token] + origin - self._original[token]
        return min([inside, *self._starts[token + 1 : token + 2]])
