"""Texts that are compared whatever their white space is."""

from __future__ import annotations

from bisect import bisect_right

from resay._internal.patterns import lazy_pattern

_TOKEN = lazy_pattern(r"\S+")


class CollapsedText:
    """A text with single spaces in place of its white space, and where its words stood before.

    Args:
        text: The text.

    Attributes:
        text: The text with its white space collapsed.
    """

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
        self.text = " ".join(tokens)

    def origin(self, position: int) -> int:
        """Return the position in the original text of one in the collapsed text."""
        token = bisect_right(self._starts, position) - 1
        return self._original[token] + position - self._starts[token]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in the original text of one in the collapsed text, which is not empty."""
        return self.origin(start), self.origin(end - 1) + 1

    def collapsed(self, origin: int) -> int:
        """Return the first position that corresponds to `origin` or to text after it."""
        token = bisect_right(self._original, origin) - 1
        if token < 0:
            return 0
        inside = self._starts[token] + origin - self._original[token]
        return min([inside, *self._starts[token + 1 : token + 2]])
