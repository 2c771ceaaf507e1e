"""Finds sentences that were split elsewhere in the text that they come from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from resay._internal.patterns import lazy_pattern
from resay.core.segmentation.blocks import Layout, parse_layout
from resay.core.segmentation.spans import Span

_TOKEN = lazy_pattern(r"\S+")
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
        index = bisect_right(self._starts, position) - 1
        return self._ends[index] if index >= 0 and position < self._ends[index] else None


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
        """Return the spans of texts, each after the one before it.

        Args:
            needles: The texts, with their white space collapsed.
            unscored: Where none of them begins; None if they may begin anywhere.

        Raises:
            UnalignedError: A text does not occur.
        """
        spans: list[Span] = []
        position = 0
        for index, needle in enumerate(needles):
            start = self._find(needle, position, unscored)
            if start < 0:
                raise UnalignedError(index)
            position = start + len(needle)
            spans.append((self._origin(start), self._origin(position - 1) + 1))
        return spans

    def _find(self, needle: str, position: int, unscored: _Unscored | None) -> int:
        start = self._text.find(needle, position)
        letter = _ALNUM.search(needle)
        if unscored is None or letter is None:
            return start
        while start >= 0:
            end = unscored.end_around(self._origin(start + letter.start()))
            if end is None:
                break
            beyond = self._collapsed(end) - letter.start()
            start = self._text.find(needle, max(start + 1, beyond))
        return start

    def _origin(self, position: int) -> int:
        """Return the position in the original text of one in the collapsed text."""
        token = bisect_right(self._starts, position) - 1
        return self._original[token] + position - self._starts[token]

    def _collapsed(self, origin: int) -> int:
        """Return the first position that corresponds to `origin` or to text after it."""
        token = bisect_right(self._original, origin) - 1
        if token < 0:
            return 0
        inside = self._starts[token] + origin - self._original[token]
        return min([inside, *self._starts[token + 1 : token + 2]])
