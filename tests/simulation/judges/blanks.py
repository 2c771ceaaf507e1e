"""What can be asked about in a sentence: its numbers, dates and names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from resay.testing.world import FUNCTION_WORDS, MONTHS, WORD, fold

__all__ = ["Expression", "Kind", "blanks", "expressions", "subject_end", "with_gaps"]

Kind = Literal["year", "month", "number", "name"]

_ARTICLES = frozenset(["the", "a", "an"])
_GAP = "…"


@dataclass(frozen=True, slots=True)
class Expression:
    """A number, a part of a date or a name.

    Attributes:
        text: How it stands in the sentence.
        kind: What it is.
        start: Where it begins in the sentence, in code points.
    """

    text: str
    kind: Kind
    start: int

    @property
    def end(self) -> int:
        """Where it ends (exclusive), in code points."""
        return self.start + len(self.text)


def expressions(sentence: str) -> list[Expression]:
    """Return the numbers, months and names of a sentence, in order."""
    found: list[Expression] = []
    for match in WORD.finditer(sentence):
        kind = _kind(match[0])
        if kind is None:
            continue
        last = found[-1] if found else None
        if last and last.kind == kind == "name" and sentence[last.end : match.start()] == " ":
            found[-1] = Expression(f"{last.text} {match[0]}", kind, last.start)
        else:
            found.append(Expression(match[0], kind, match.start()))
    return found


def _kind(word: str) -> Kind | None:
    if word[0].isdigit():
        return "year" if word.isdecimal() and 1000 <= int(word) < 2100 else "number"
    if word in MONTHS:
        return "month"
    return "name" if word[0].isupper() and fold(word) not in FUNCTION_WORDS else None


def subject_end(sentence: str) -> int:
    """Return where the subject of a sentence ends: its first word, or the name it begins with."""
    first = WORD.search(sentence)
    if first is None:
        return 0
    names = (e for e in expressions(sentence) if e.kind == "name")
    name = next(names, None)
    begins = first.start() if fold(first[0]) not in _ARTICLES else first.end() + 1
    return name.end if name and name.start == begins else first.end()


def blanks(sentence: str) -> Iterator[Expression]:
    """Return the expressions behind the subject of a sentence."""
    end = subject_end(sentence)
    return (expression for expression in expressions(sentence) if expression.start >= end)


def with_gaps(sentence: str) -> str:
    """Return a sentence with gaps in the place of its blanks."""
    text, position = "", 0
    for blank in blanks(sentence):
        text += sentence[position : blank.start] + _GAP
        position = blank.end
    return text + sentence[position:]
