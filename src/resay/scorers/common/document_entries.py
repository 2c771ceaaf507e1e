"""Divides documents into entries of the same form: rows, objects, lines and parts of a list.

"Parking – Omar Reyes – 2280" is an entry of three fields. Entries of one group have fields of the
same kinds, so that what one says in a field may be taken for what another says there. In prose,
sentences about different names form a group, if each has a name behind the same word: "A by X is a
novel. B by Y is a play."
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from resay._internal.patterns import lazy_pattern
from resay.core.names import capital_runs, without_article
from resay.core.normalization import normalized
from resay.core.quantities import quantities
from resay.scorers.common.document_records import Record

_LINE = lazy_pattern(r"[^\n]+")
# Not the comma of 1,250, nor the colon of 10:00.
_SEPARATOR = lazy_pattern(r"\s-\s|[\t|、，；：・]|[:,;](?=\s)|(?<!\d)[:,]|[:,](?!\d)")
_SENTENCE = lazy_pattern(r".+?(?:[.!?](?=\s)|$)")
_PART = lazy_pattern(r"[^,;]+")
_BETWEEN = lazy_pattern(r"\s-\s")
_QUOTED = lazy_pattern(r"\A\W{0,3}\"([^\"\n]{2,80})\"")
_WORD_BEFORE = lazy_pattern(r"([^\W\d_]+)\s\Z")
_PARENTHESES = lazy_pattern(r"\s\([^()]*\)")
_MAX_FIELD_WORDS = 12
_MAX_FIELDS = 8
_MAX_NAME_WORDS = 4


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry.

    Attributes:
        record: The index of its record.
        fields: By what kind of field it is, what it says there; the first one names it.
        text: The line, sentence or record that it is in.
    """

    record: int
    fields: Mapping[Hashable, str]
    text: str


def entry_groups(records: Sequence[Record], owners: Sequence[int]) -> list[list[Entry]]:
    """Return the groups of entries in documents, each of several.

    Args:
        records: The records of the documents.
        owners: By index of a record, the index of its document.
    """
    groups: defaultdict[Hashable, list[Entry]] = defaultdict(list)
    for index, record in enumerate(records):
        if record.cells:
            fields: dict[Hashable, str] = {
                head: normalized(content) for head, content in record.cells if content
            }
            # Objects of the same form may be documents of their own.
            groups[record.heads].append(Entry(index, fields, record.text))
            continue
        for form, listed, text in _listed(normalized(record.text)):
            groups[index, form].append(Entry(index, listed, text))
    several = [entries for entries in groups.values() if len(entries) > 1]
    return [
        entries for entries in several if records[entries[0].record].cells or _are_alike(entries)
    ]


def _are_alike(entries: Sequence[Entry]) -> bool:
    """Whether entries of prose have the same kind of thing in a field behind the first.

    "Severity: high. Fixed in: 2.4.7" tells two things of one.
    """
    kinds = list(entries[0].fields)[1:]
    return any(_are_of_a_kind([entry.fields.get(kind, "") for entry in entries]) for kind in kinds)


def _are_of_a_kind(fields: Sequence[str]) -> bool:
    units = [{quantity.unit for quantity in quantities(field)} for field in fields]
    with_units = [of_field for of_field in units if of_field]
    if with_units:
        # One of them may be "room temperature".
        return len(with_units) > 1 and bool(set[str].intersection(*with_units))
    words = [field.split() for field in fields]
    if max(map(len, words)) > _MAX_NAME_WORDS:
        return False
    return all(not word[0][0].islower() for word in words if word)


def _listed(text: str) -> Iterator[tuple[Hashable, Mapping[Hashable, str], str]]:
    """Yield the form and the fields of entries in prose, and the line or sentence of each."""
    for line in _LINE.findall(text):
        fields, form = _fields_of(line)
        if len(fields) > 1:
            yield form, fields, line
        for sentence in _SENTENCE.findall(line):
            if sentence.strip() != line.strip():
                fields, form = _fields_of(sentence)
                if len(fields) > 1 and ":" in form:
                    yield ("sentence", form), fields, sentence
            for pair in _pairs_in(sentence):
                yield "pair", pair, sentence
            fields = _names_of(sentence)
            if len(fields) > 1:
                yield "names", fields, sentence


def _fields_of(text: str) -> tuple[dict[Hashable, str], str]:
    """Return the fields of a line or sentence by their positions, and its separators."""
    fields: dict[Hashable, str] = {}
    signs: list[str] = []
    start = 0
    for match in _SEPARATOR.finditer(text):
        fields[len(fields)] = _PARENTHESES.sub("", text[start : match.start()]).strip(" .")
        signs.append(match[0].strip() or match[0])
        start = match.end()
    fields[len(fields)] = _PARENTHESES.sub("", text[start:]).strip(" .")
    is_short = all(len(field.split()) <= _MAX_FIELD_WORDS for field in fields.values())
    if not is_short or len(fields) > _MAX_FIELDS or not all(fields.values()):
        return {}, ""
    return fields, "".join(signs)


def _pairs_in(sentence: str) -> Iterator[Mapping[Hashable, str]]:
    """Yield the pairs of "2025: Alpha - Jun Park, Delta - Mira Holt"."""
    _, colon, listed = sentence.rpartition(": ")
    for part in _PART.findall(listed if colon else sentence):
        sides = _BETWEEN.split(part.strip(" ."))
        if len(sides) == 2 and all(sides):
            yield {0: sides[0], 1: sides[1]}


def _names_of(sentence: str) -> dict[Hashable, str]:
    """Return the name or title that a sentence begins with, and names by the words before them."""
    fields: dict[Hashable, str] = {}
    quoted = _QUOTED.match(sentence)
    if quoted is None:
        return {}
    fields[""] = quoted[1]
    for start, end in capital_runs(sentence[quoted.end() :]):
        start, end = start + quoted.end(), end + quoted.end()
        name = without_article(sentence[start:end])
        word = _WORD_BEFORE.search(sentence, max(start - 20, 0), end - len(name))
        if name and word is not None and word[1].islower():
            fields.setdefault(word[1], name)
    return fields
