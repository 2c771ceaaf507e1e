"""The clauses of a statement, with their quantities and what these may be of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.core.normalization import normalized
from resay.core.quantities import Quantity, quantities
from resay.core.segmentation.spans import blanked
from resay.scorers.actions.claims import lower_case
from resay.scorers.actions.words import ActionWords
from resay.scorers.common.contrast import Wording
from resay.scorers.common.words import stems_of, words_of
from resay.scorers.conversation.cues import cues_of

_PUNCTUATION: Final = lazy_pattern(r"[,;!?](?=\s)|\.(?=\s)|[、，；。]|\s[–—-]\s|[()]")
_NUMBERED_NAME: Final = lazy_pattern(r"(?:\A|\s)[^\W\d_]*[A-ZÀ-ÖØ-ÞА-Я][\w'’-]*[ -]\Z")
_NEXT_WORD: Final = lazy_pattern(
    r"(?:[ \u00a0]|(?=[\u3400-\u9fff]))([\u3400-\u9fff]{1,2}|[^\W\d_][\w'’-]*)"
)


@dataclass(frozen=True)
class Clause:
    """A clause of a statement.

    Attributes:
        text: Its words, in their normal form.
        language: Its language.
        sentence: The stems of its sentence.
        around: The stems of what it may be about: of the sentence, and the statement's context.
        beside: Its quantities, and those that no "and" or "but" divides from them.
        edges: How that which nothing divides from it begins and ends.
        subject: The stems of the first name in the statement, which may be what it is about.
    """

    text: str
    language: str
    sentence: frozenset[str]
    around: frozenset[str]
    beside: tuple[Quantity, ...] = ()
    edges: str = ""
    subject: frozenset[str] = frozenset()

    @cached_property
    def values(self) -> tuple[Quantity, ...]:
        """Its quantities."""
        return tuple(_values_in(self.text))

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of its words beside the quantities."""
        return frozenset(stems_of(without(self.values, self.text)))

    @cached_property
    def wording(self) -> Wording:
        """Its wording."""
        return Wording(self.text, self.language)

    @cached_property
    def conditions(self) -> frozenset[str]:
        """The stems of what is said beside its value, which may be a condition of it."""
        return frozenset(stems_of(without(quantities(self.edges), self.edges)))

    def counted(self, value: Quantity) -> str | None:
        """Return the stem of what a bare number counts; None if nothing follows it."""
        word = _NEXT_WORD.match(self.text, value.end)
        stems = stems_of(word[1]) if word else []
        return stems[0] if stems else None

    def before(self, value: Quantity) -> frozenset[str]:
        """Return the stems of the words before a quantity."""
        return frozenset(stems_of(self.text[: value.start]))

    def length_of_counted(self, value: Quantity) -> int:
        """Return the length of the word that says what a bare number counts, with its space."""
        word = None if value.unit or value.year_or_date else _NEXT_WORD.match(self.text, value.end)
        return len(word[0]) if word else 0


def _values_in(text: str) -> Iterator[Quantity]:
    """Yield the quantities of a text that are no parts of names, such as that of "Lumo 3"."""
    for value in quantities(text):
        is_bare = not value.unit and value.year is None and value.kind == "number"
        if not (is_bare and _NUMBERED_NAME.search(text[: value.start])):
            yield value


def without(values: Sequence[Quantity], text: str) -> str:
    """Return a text with blanks in place of its quantities."""
    return blanked(text, [(value.start, value.end) for value in values])


def clauses_of(text: str, context: frozenset[str], words: ActionWords) -> list[Clause]:
    """Return the clauses of a statement, in its normal form, without what takes back another.

    Args:
        text: The statement.
        context: The stems of what it may be about, beside its own words.
        words: The words of its language.
    """
    written = normalized(text)
    repeats = cues_of(words.code).repeats.search(lower_case(written))
    if repeats is not None:
        written = f"{written[: repeats.start()]} {written[repeats.end() :]}"
    admission, colon, stated = written.partition(": ")
    if colon and cues_of(words.code).corrects.search(lower_case(admission)):
        written = stated
    sentence = frozenset(stems_of(without(quantities(written), written)))
    subject = _first_name(written)
    joins = [match.start() for match in words.joins.finditer(lower_case(written))]
    marks = [match.end() for match in _PUNCTUATION.finditer(written)]
    clauses: list[Clause] = []
    for first, last in pairwise(sorted({0, *joins, len(written)})):
        beside = tuple(_values_in(written[first:last]))
        cuts = {first, *(mark for mark in marks if first < mark < last), last}
        spans = list(pairwise(sorted(cuts)))
        # What commas enclose in the middle is an aside.
        edges = [written[start:end] for start, end in (spans[0], spans[-1])]
        for start, end in spans:
            if words_of(written[start:end]).search(written[start:end]):
                clauses.append(
                    Clause(
                        text=written[start:end],
                        language=words.code,
                        sentence=sentence,
                        around=context | sentence,
                        beside=beside,
                        edges=" ".join(edges),
                        subject=subject,
                    )
                )
    return clauses


def _first_name(text: str) -> frozenset[str]:
    """Return the stems of the first word with a capital that is no common word; none if all are."""
    for match in words_of(text).finditer(text):
        stems = stems_of(match[0]) if match[0][:1].isupper() else []
        if stems:
            return frozenset(stems)
    return frozenset()
