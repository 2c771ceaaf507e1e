"""Lists behind a colon in the prose of documents: "Affected lines: 2, 5, 9"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from resay._internal.patterns import lazy_pattern
from resay.scorers.common.document_records import Record
from resay.scorers.common.words import stems_of

_ITEM_END = lazy_pattern(r"\s*[,;]\s+(?:and\s)?|\s+(?:and|und|et|y|e|en|och)\s+")
_LIST = lazy_pattern(r"([^\W\d_][^.:;\n]{0,60}?)[ \u00a0]?:\s([^.:\n]{1,400})")


@dataclass(frozen=True, slots=True)
class Listing:
    """A list behind a colon.

    Attributes:
        record: The index of its record.
        head: What precedes the colon.
        stems: The stems of the head.
        count: How many items it has.
    """

    record: int
    head: str
    stems: frozenset[str]
    count: int


def listings_in(records: Sequence[Record]) -> Iterator[Listing]:
    """Yield the lists behind colons in the prose of records, in order."""
    for index, record in enumerate(records):
        # Without a colon, the pattern would look for one behind each letter.
        if record.cells or ":" not in record.text:
            continue
        for match in _LIST.finditer(record.text):
            items = [item for item in _ITEM_END.split(match[2].strip()) if item.strip()]
            yield Listing(
                record=index,
                head=match[1].strip(),
                stems=frozenset(stems_of(match[1])),
                count=len(items),
            )
