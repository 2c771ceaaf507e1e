"""Divides documents into records: the rows of their tables, the objects of their JSON, their prose.

A value of one row supports nothing about another, as a value of one document supports nothing about
the subject of another. Each record is written as a sentence, every value with its head:
`Plan Team, Price $40, Seats 5.`
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from resay._internal.patterns import lazy_pattern
from resay.core.claims import cells_of
from resay.core.passage import Passage

# Larger documents are compared as they are.
_MAX_RECORDS = 2_000
_WORD_BOUNDARY = lazy_pattern(r"(?<=[a-z\d])(?=[A-Z])|[_\-.]+")
# As "2026-05-04 06:12": a date and a time.
_ISO_TIME = lazy_pattern(
    r"\A(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?\Z"
)
_FENCE = lazy_pattern(r"```\w*[^\S\n]*\n(.*)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Record:
    """A row, an object, or prose.

    Attributes:
        text: It as a sentence, every value with its head; prose as it is.
        cells: The heads and contents of a row or an object; none of prose.
        name: What its list is called, if it has a name.
    """

    text: str
    cells: tuple[tuple[str, str], ...] = ()
    name: str = ""

    @property
    def heads(self) -> tuple[str, ...]:
        """Its name and its heads, which the rows of a table have in common."""
        return (self.name, *(head for head, _ in self.cells))

    @classmethod
    def of_cells(cls, cells: Sequence[tuple[str, str]], name: str = "") -> Record:
        """Return the record of a row or an object."""
        contents = [f"{head} {content}".strip() for head, content in cells if content.strip()]
        beginning = f"{name}: " if name else ""
        text = f"{beginning}{', '.join(contents)}." if contents else ""
        return cls(text=text, cells=tuple(cells), name=name)


def records_of(text: str) -> list[Record]:
    """Return the records of a document; the text alone if it has none.

    Args:
        text: Prose, perhaps with tables in Markdown; JSON; or rows separated by tabs or commas.
    """
    records = _json_records(text) or _csv_records(text) or _with_table_rows(text)
    return records if records and len(records) <= _MAX_RECORDS else [Record(text)]


def _json_records(text: str) -> list[Record]:
    source = text.strip()
    fence = _FENCE.fullmatch(source)
    if fence is not None:
        source = fence[1].strip()
    if source[:1] not in ("{", "["):
        return []
    try:
        value = json.loads(source)
        return [record for record in _objects_in(value, "") if record.text]
    # It is no JSON, or nested so deeply that it or its objects cannot be read.
    except (ValueError, RecursionError):
        return []


def _objects_in(value: object, name: str) -> Iterator[Record]:
    """Yield the objects that hold no list of objects, and what others say beside theirs."""
    if isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _objects_in(item, name)
        return
    if not isinstance(value, dict):
        yield Record.of_cells([("", _plain(value))], name)
        return
    cells: list[tuple[str, str]] = []
    inner: list[tuple[str, list[object]]] = []
    for head, content in _flat(cast("Mapping[str, object]", value), ""):
        items: list[object] = []
        if isinstance(content, list):
            items = cast("list[object]", content)
        if any(isinstance(item, (dict, list)) for item in items):
            inner.append((head, items))
        else:
            cells.append((head, _plain(cast("object", content))))
    if cells:
        yield Record.of_cells(cells, name)
    for head, items in inner:
        yield from _objects_in(items, head)


def _flat(value: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    """Yield the contents of an object with their heads; those of inner objects have both heads."""
    for key, content in value.items():
        head = f"{prefix} {_words(key)}".strip()
        if isinstance(content, list) and len(cast("list[object]", content)) == 1:
            # A list of one object is a part of what holds it: an order of one item.
            (content,) = cast("list[object]", content)
        if isinstance(content, dict):
            yield from _flat(cast("Mapping[str, object]", content), head)
        else:
            yield head, content


def _plain(value: object) -> str:
    if isinstance(value, list):
        items = cast("list[object]", value)
        return " and ".join(_plain(item) for item in items)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return _ISO_TIME.sub(r"\1 \2 UTC" if value.endswith("Z") else r"\1 \2", value)
    return "none" if value is None else str(value)


def _csv_records(text: str) -> list[Record]:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    for delimiter, fewest in (("\t", 1), (";", 1), (",", 1)):
        if len(lines) < 2 or lines[0].count(delimiter) < fewest:
            continue
        try:
            rows = list(csv.reader(lines, delimiter=delimiter))
        # A field is too long, for one: an open quotation mark joins lines.
        except csv.Error:
            continue
        # Commas of prose are not as many in each line, and have spaces behind them.
        is_table = len({len(row) for row in rows}) == 1 and f"{delimiter} " not in lines[0]
        # Two columns may be prose, unless one of them has numbers.
        is_clear = len(rows[0]) > 2 or delimiter == "\t"
        if is_table and (is_clear or _has_numbers(rows)):
            return _rows(rows)
    return []


def _has_numbers(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a column has a head without digits, and numbers below it."""
    for head, *cells in zip(*rows, strict=True):
        is_head = not any(map(str.isdigit, head))
        if is_head and all(cell.strip()[:1].isdigit() for cell in cells):
            return True
    return False


def _with_table_rows(text: str) -> list[Record]:
    """Return the rows of the tables in a text, and the prose around them."""
    if text.count("|") < 4:
        return []
    passage = Passage.of(text)
    records: list[Record] = []
    heads: dict[int, str] = {}
    for sentence in passage.sentences:
        if sentence.unit not in ("head", "row"):
            continue
        cells = {column: cell.text.strip(" *`") for column, cell in cells_of(sentence)}
        if sentence.unit == "head":
            heads = cells
        else:
            row = [(heads.get(column, ""), cell) for column, cell in cells.items()]
            records.append(Record.of_cells(row))
    if not records:
        return []
    prose = "".join(piece.text for piece in passage.pieces if piece.kind != "table").strip()
    return [*records, Record(prose)] if prose else records


def _rows(rows: Sequence[Sequence[str]]) -> list[Record]:
    """Return each row after the first, which has the heads."""
    if len(rows) < 2:
        return []
    first, *others = rows
    heads = [head.replace("_", " ") for head in first]
    return [Record.of_cells(list(zip(heads, row, strict=False))) for row in others]


def _words(key: str) -> str:
    return _WORD_BOUNDARY.sub(" ", key).strip()
