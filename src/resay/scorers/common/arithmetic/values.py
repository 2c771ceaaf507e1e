"""The numbers and dates of documents, each with what it is a value of.

A cell is a value of its row, under its head; in prose, a value is one of the subject of its clause:
of the name at its beginning, of what precedes the colon, or of the subject of the clause before it
("It is 503 m long").
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from resay._internal.patterns import lazy_pattern
from resay.core.names import capital_runs, without_article
from resay.core.normalization import NormalizedText, normalized
from resay.core.quantities import Quantity, quantities
from resay.lang.language import all_words
from resay.scorers.common.contrast import parts_of
from resay.scorers.common.document_records import Record
from resay.scorers.common.indexed_sentences import (
    IndexedSentence,
    quantities_within,
    sentences_of,
)
from resay.scorers.common.words import ignored_words, stems_of

# Each number of a sentence is compared with its words; one with more numbers is a list.
_MAX_NUMBERS = 40
# A subject without a name is known by its first words.
_SUBJECT_WORDS = 2
# What precedes a colon, at the beginning of a sentence or behind one that ends in a unit.
_HEAD = lazy_pattern(r"(?:\A|(?<=[.;\n] ))\s{0,4}([^\W\d_][^.:;(\n]{0,60}?)[ \u00a0]?:\s")
_CODE = lazy_pattern(r"([^\W\d_]{3,}) (1?\d|[A-Z])(?![\w.,:])")
# "University of Halm", "Zug nach Altberg".
_NAME_AFTER = lazy_pattern(
    r"\s[^\W\d_A-Z]{1,4}\s[A-Z\u00c0-\u00de\u0391-\u042f][^\W_]*(?:\s[A-Z][^\W_]*)*"
)
_WORD = lazy_pattern(r"[^\W_]+")
_NAME_WITHIN = lazy_pattern(r"(?<=[\w,;(] )[A-Z\u00c0-\u00de\u0391-\u042f][^\W_]*")
_HEAD_WORD = lazy_pattern(r"[^\W\d_]+|[$€£%]")


@dataclass(frozen=True, slots=True)
class Value:
    """A number or date of a document.

    Attributes:
        quantity: It.
        written: It as written.
        record: The index of its record.
        labels: The stems of the words beside it that tell what it is a value of.
        subject: Those of the subject that its clause takes over from the one before.
        identity: Those of the name of what it is a value of; empty if it has none.
        words: The stems of the words that tell which value it is: its head, or its clause.
        column: What values of the same kind have in common.
        sentence: What values of the same row or sentence have in common.
        year: The year that it is of, if its row or sentence has one other.
        is_listed: Whether it is in a table, or behind a colon: its labels are no other words.
    """

    quantity: Quantity
    written: str
    record: int
    labels: frozenset[str]
    subject: frozenset[str]
    identity: frozenset[str]
    words: frozenset[str]
    column: tuple[object, ...]
    sentence: tuple[int, int]
    year: int | None
    is_listed: bool


def values_of(
    records: Sequence[Record], owners: Sequence[int], names: Collection[str]
) -> Iterator[Value]:
    """Yield the values of records in order.

    Args:
        records: The records.
        owners: By index of a record, the index of its document.
        names: The words that are names where they begin a sentence; see `names_in`.
    """
    for index, record in enumerate(records):
        if record.cells:
            yield from _of_row(record, index, owners[index])
        else:
            yield from _of_prose(record.text, index, names)


def names_in(records: Sequence[Record]) -> frozenset[str]:
    """Return the words with capitals that are in cells, or not at the beginning of a sentence.

    Args:
        records: The records.
    """
    names: set[str] = set()
    for record in records:
        for _, content in record.cells:
            names.update(_WORD.findall(content))
        if not record.cells:
            names.update(_NAME_WITHIN.findall(record.text))
    return frozenset(names)


def _of_row(record: Record, index: int, owner: int) -> Iterator[Value]:
    parsed = [_in_cell(head, normalized(content)) for head, content in record.cells]
    texts: list[str] = []
    identity = frozenset[str]()
    for position, (_, content) in enumerate(record.cells):
        if position == 0 or not parsed[position]:
            texts.append(normalized(content))
        if not identity and not parsed[position]:
            # The first text is the name of the row, with the number before it.
            identity = frozenset(stems_of(" ".join(texts)))
    labels = frozenset(stems_of(" ".join(texts)))
    heads = record.heads
    years = [q.year for cell in parsed for q in cell if q.year is not None]
    for position, (head, content) in enumerate(record.cells):
        text = normalized(content)
        for quantity in parsed[position]:
            others = [year for year in years if year != quantity.year]
            yield Value(
                quantity=quantity,
                written=text[quantity.start : quantity.end],
                record=index,
                labels=labels,
                subject=frozenset(),
                identity=identity or labels,
                words=frozenset(stems_of(f"{record.name} {head} {text[quantity.end :]}")),
                column=(owner, heads, head),
                sentence=(index, 0),
                year=others[0] if len(others) == 1 else None,
                is_listed=True,
            )


def _in_cell(head: str, text: str) -> list[Quantity]:
    """Return the quantities of a cell; a number without a unit has that of its head."""
    parsed: list[Quantity] = []
    for quantity in values_in(text):
        written = text[quantity.start : quantity.end]
        is_bare = quantity.kind == "number" and not quantity.unit and quantity.year is None
        if is_bare and written == text.strip():
            for word in _HEAD_WORD.findall(normalized(head)):
                measured = quantities(f"{written} {word}")
                if len(measured) == 1 and measured[0].unit and measured[0].unit != "share":
                    quantity = measured[0]._replace(start=quantity.start, end=quantity.end)
                    break
        parsed.append(quantity)
    return parsed


def _of_prose(text: str, index: int, names: Collection[str]) -> Iterator[Value]:
    original = NormalizedText.of(text)
    subject = identity = frozenset[str]()
    for position, sentence in enumerate(sentences_of(original.text, original, text, index)):
        if len(sentence.quantities) > _MAX_NUMBERS:
            continue
        years = [q.year for q in sentence.quantities if q.year is not None]
        for head, segment_start, segment_end in _segments(sentence.text):
            head_stems = frozenset(stems_of(head))
            if head_stems:
                subject = identity = head_stems
            segment = sentence.text[segment_start:segment_end]
            for clause_start, clause_end in parts_of(segment):
                start, end = segment_start + clause_start, segment_start + clause_end
                clause = sentence.text[start:end]
                inside = _values_within(sentence, start, end)
                is_first = start == 0 and not head_stems
                nameable = _without(clause, inside, sentence.start + start)
                own = _name_of(nameable, names if is_first else None)
                inherited = frozenset[str]() if own else subject
                if not head_stems and (own or not subject):
                    identity = own
                    subject = own or frozenset(stems_of(clause)[:_SUBJECT_WORDS])
                if not inside:
                    continue
                labels = frozenset(stems_of(clause))
                words = labels if len(labels) > 1 else frozenset(stems_of(sentence.text))
                for quantity in inside:
                    others = [year for year in years if year != quantity.year]
                    counted = ""
                    if not quantity.unit:
                        following = stems_of(sentence.text[quantity.end - sentence.start : end])
                        counted = following[0] if following else ""
                    written = sentence.as_written(quantity)
                    yield Value(
                        quantity=quantity,
                        written=written,
                        record=index,
                        labels=labels,
                        subject=inherited | head_stems,
                        identity=own or _code_of(clause, written) | identity,
                        words=head_stems | words,
                        column=(quantity.unit, counted),
                        sentence=(index, position),
                        year=others[0] if len(others) == 1 else None,
                        is_listed=bool(head_stems),
                    )


def _values_within(sentence: IndexedSentence, start: int, end: int) -> list[Quantity]:
    """Return the quantities of a stretch of a sentence but those within names."""
    inside = quantities_within(sentence.quantities, sentence.start + start, sentence.start + end)
    return [
        quantity for quantity in inside if not _is_in_code(sentence.text, quantity, sentence.start)
    ]


def values_in(text: str) -> list[Quantity]:
    """Return the quantities in a text but those within names such as "X200", which are no values.

    Args:
        text: The text, in the form in which texts are compared.
    """
    return [quantity for quantity in quantities(text) if not _is_in_code(text, quantity, 0)]


def _is_in_code(text: str, quantity: Quantity, offset: int) -> bool:
    """Whether a capital, perhaps with a hyphen, is directly before a number: "X200", "A-12".

    Args:
        text: The text.
        quantity: The quantity.
        offset: The start of the text, from which the quantity's own is counted.
    """
    if quantity.unit or quantity.year_or_date or quantity.kind != "number":
        return False
    before = text[max(quantity.start - offset - 2, 0) : quantity.start - offset].rstrip("-")
    # Scripts without spaces have letters before any number.
    return before[-1:].isascii() and before[-1:].isupper()


def _segments(sentence: str) -> Iterator[tuple[str, int, int]]:
    """Yield the heads in a sentence, each with the start and end of what is said under it.

    "Fees: zone A 180, zone B 120" is all about fees.
    """
    matches = list(_HEAD.finditer(sentence))
    first = matches[0].start() if matches else len(sentence)
    if first > 0:
        yield "", 0, first
    for match, following in zip_longest(matches, matches[1:]):
        yield match[1], match.end(), following.start() if following else len(sentence)


def _without(text: str, parsed: Sequence[Quantity], offset: int) -> str:
    """Return a text with blanks in place of its quantities."""
    blanked = list(text)
    for quantity in parsed:
        start, end = quantity.start - offset, quantity.end - offset
        blanked[start:end] = " " * (min(end, len(text)) - start)
    return "".join(blanked)


def _code_of(clause: str, written: str) -> frozenset[str]:
    """Return the words of a code that says what a value is of: "class 2", "zone B"."""
    for match in _CODE.finditer(clause.replace(written, " ", 1)):
        if match[1].lower() not in ignored_words():
            return frozenset((*stems_of(match[1]), match[2].lower()))
    return frozenset()


def _name_of(clause: str, names: Collection[str] | None) -> frozenset[str]:
    """Return the stems of the name at the beginning of a clause; none if there is no name.

    Args:
        clause: The clause.
        names: If it begins a sentence, whose first word has a capital in any case: the words that
            are names if they are alone there.
    """
    for start, end in capital_runs(clause):
        name = without_article(clause[start:end]).rstrip()
        if not name or name.lower() in ignored_words():
            continue
        is_one_word = " " not in clause[start:end].rstrip()
        if names is not None and start == 0 and is_one_word and name not in names:
            continue
        words = clause[:start].split()
        before = [word for word in words if stems_of(word) and not word[0].isdigit()]
        begins = bool(words) and words[0].lower() in all_words("comparison", "articles")
        if len(before) > 1 or (before and before[0] != words[-1] and not begins):
            # "Received the Linné Medal", but not "the tunnel Silo" or "the church of All Souls".
            return frozenset()
        while following := _NAME_AFTER.match(clause, end):
            end = following.end()
        return frozenset(stems_of(f"{clause[:start]} {name} {clause[start:end]}"))
    return frozenset()
