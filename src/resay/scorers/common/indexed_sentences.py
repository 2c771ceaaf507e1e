"""Splits the texts of an index into sentences, and their quantities by clause."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from operator import attrgetter

from resay._internal.patterns import lazy_pattern
from resay.core.normalization import NormalizedText
from resay.core.quantities import Quantity, may_negate, negations, quantities
from resay.core.segmentation.periods import is_abbreviation
from resay.scorers.common.contrast import Wording
from resay.scorers.common.words import is_plain, is_quick, stems_of, word_stems, words_of

# Starts with a single character class, which the regex engine finds quickly.
_SENTENCE_END = lazy_pattern(r"[.!?。！？।؟។៕။።۔\n](?:(?<=[.!?])\s+|(?<![.!?]))")
# A text of more sentences is not a direct answer.
_MAX_SENTENCES_OF_ANSWER = 2

_START = attrgetter("start")


@dataclass(frozen=True, slots=True)
class IndexedSentence:
    """One sentence of a sample.

    Attributes:
        sample: Position of its sample.
        words: Its words, in lower case.
        stems: Their stems.
        quantities: Its quantities.
        text: The sentence, in the form in which texts are compared.
        written: The sentence as written.
        start: Its offset in the form of the sample in which it is compared.
        negated: Whether it is negated.
        alone: Whether the sample has at most two sentences, and so is a direct answer.
        plain: Whether these are the words of the sentence by itself, and those of its parts.
    """

    sample: int
    words: tuple[str, ...]
    stems: frozenset[str]
    quantities: tuple[Quantity, ...]
    text: str
    written: str
    start: int
    negated: bool
    alone: bool
    plain: bool

    @property
    def is_heading(self) -> bool:
        """Whether it is a heading in Markdown."""
        return self.text.startswith("#")

    def as_written(self, quantity: Quantity) -> str:
        """Return one of its quantities as written."""
        return self.text[quantity.start - self.start : quantity.end - self.start]


@dataclass(frozen=True, slots=True)
class ClauseQuantities:
    """Quantities with the words of the clause or list item that contains them."""

    words: frozenset[str]
    quantities: tuple[Quantity, ...]


def sentences_of(
    text: str, original: NormalizedText, written: str, sample: int
) -> Iterator[IndexedSentence]:
    """Split a sample into sentences that have words, with a fast pattern.

    Args:
        text: Its text in the form in which texts are compared, without links and item numbers.
        original: The same form, and where its characters come from.
        written: The text as written, with its citation marks.
        sample: Its position.
    """
    bounds = [0]
    for match in _SENTENCE_END.finditer(text):
        is_full_stop = match[0][0] == "."
        if not (is_full_stop and is_abbreviation(text, match.start(), bounds[-1])):
            bounds.append(match.end())
    bounds.append(len(text))
    quantities_by_sentence: list[list[Quantity]] = [[] for _ in bounds]
    for quantity in quantities(text):
        quantities_by_sentence[bisect_right(bounds, quantity.start) - 1].append(quantity)
    find_words = words_of(text).findall
    words_by_sentence = [find_words(text[start:end].lower()) for start, end in pairwise(bounds)]
    has_plain_words = is_quick(text)
    is_answer = sum(map(bool, words_by_sentence)) <= _MAX_SENTENCES_OF_ANSWER
    for i, words in enumerate(words_by_sentence):
        if not words:
            continue
        sentence = text[bounds[i] : bounds[i + 1]]
        start, end = original.span(bounds[i], bounds[i + 1])
        yield IndexedSentence(
            sample=sample,
            words=tuple(words),
            stems=frozenset(chain.from_iterable(map(word_stems, words))),
            quantities=tuple(quantities_by_sentence[i]),
            text=sentence,
            written=written[start:end],
            start=bounds[i],
            negated=may_negate(words) and bool(negations(sentence)),
            alone=is_answer,
            plain=has_plain_words or is_plain(sentence),
        )


def quantities_by_clause(
    wording: Wording, parsed: Sequence[Quantity], start: int = 0
) -> list[ClauseQuantities]:
    """Return the quantities of a sentence by clause or item.

    Args:
        wording: The wording of the sentence.
        parsed: The quantities, with offsets in the text that has the sentence.
        start: Its offset in that text.
    """
    if not parsed:
        return []
    text, spans = wording.text, wording.spans
    # "Almonds: 21 g protein, 50 g fat" is all about almonds.
    head = text.partition(":")[0] if ": " in text else ""
    if len(spans) == 1 and not head:
        return [ClauseQuantities(_without_digits(wording.stems), tuple(parsed))]
    clauses: list[ClauseQuantities] = []
    first = 0
    for clause_start, clause_end in spans:
        last = first
        while last < len(parsed) and parsed[last].start < start + clause_end:
            last += 1
        if last > first:
            words = plain_stems(f"{head} {text[clause_start:clause_end]}")
            clauses.append(ClauseQuantities(words, tuple(parsed[first:last])))
            first = last
    return clauses


def quantities_by_cell(header: Sequence[str], row: IndexedSentence) -> Iterator[ClauseQuantities]:
    """Yield the quantities of a table row with the headers of their row and column.

    Args:
        header: The cells of the table's first row.
        row: The row.
    """
    cells = row.text.split("|")
    row_header = next((cell for cell in cells if cell.strip()), "")
    start = row.start
    for column, cell in enumerate(cells):
        end = start + len(cell)
        inside = quantities_within(row.quantities, start, end)
        if inside:
            column_header = header[column] if column < len(header) else ""
            words = plain_stems(f"{row_header} {cell} {column_header}")
            yield ClauseQuantities(words, inside)
        start = end + 1


def quantities_within(parsed: Sequence[Quantity], start: int, end: int) -> tuple[Quantity, ...]:
    """Return the quantities that begin in the range from start to end.

    Args:
        parsed: Quantities in order.
        start: The start of the range.
        end: Its end (exclusive).
    """
    first = bisect_left(parsed, start, key=_START)
    return tuple(parsed[first : bisect_left(parsed, end, key=_START)])


def plain_stems(text: str) -> frozenset[str]:
    """Return the stems of a text without those that begin with a digit."""
    return _without_digits(stems_of(text))


def _without_digits(stems: Iterable[str]) -> frozenset[str]:
    return frozenset([stem for stem in stems if not stem[0].isdigit()])
