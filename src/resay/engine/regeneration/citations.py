"""The citation marks in a model's text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from resay._internal.patterns import lazy_pattern

_MARK = lazy_pattern(r"(?<![ \t])[ \t]*\[(\?|\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\](?!\()")


@dataclass(frozen=True, slots=True)
class CitedText:
    """A model's text, without its citation marks.

    Attributes:
        text: The text.
        marks: The documents cited, with the places: pairs of a code-point offset and a document
            number from 1, or 0 for a sentence that says that the documents have no answer.
    """

    text: str
    marks: tuple[tuple[int, int], ...] = ()

    def citations(self, start: int, end: int) -> tuple[int, ...]:
        """Return the document numbers cited in a span of the text, or right after it."""
        return tuple(dict.fromkeys(n for n in self._numbers(start, end) if n))

    def abstains(self, start: int, end: int) -> bool:
        """Return whether a span of the text is marked as having no answer in the documents."""
        return 0 in self._numbers(start, end)

    def _numbers(self, start: int, end: int) -> list[int]:
        return [number for at, number in self.marks if start < at <= end + 1]


def parse_citations(text: str, count: int) -> CitedText:
    """Parse a text with citation marks.

    Args:
        text: The model's text.
        count: The number of documents. Marks with higher numbers, and other brackets, are not
            citations and stay in the text.
    """
    pieces: list[str] = []
    marks: list[tuple[int, int]] = []
    length = position = 0
    for match in _MARK.finditer(text):
        numbers = [int(number) for number in re.findall(r"\d+", match[1])]
        if not all(1 <= number <= count for number in numbers):
            continue
        numbers = numbers or [0]
        pieces.append(text[position : match.start()])
        length += len(pieces[-1])
        marks += [(length, number) for number in numbers]
        position = match.end()
    pieces.append(text[position:])
    return CitedText("".join(pieces), tuple(marks))
