"""A benchmark's results as JSON, Markdown or a table on the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

Row = Mapping[str, Any]
"""One result, JSON-ready. Its optional key `paper` contains the published figures under the same
keys; they are displayed on a line of their own below it."""

_NOTHING = "–"


def shown(value: object, digits: int | None = None) -> str:
    """Format a value for display, numbers with a fixed number of decimals."""
    if value is None:
        return _NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)) and digits is not None:
        return f"{value:.{digits}f}"
    return str(value)


@dataclass(frozen=True, slots=True)
class Column:
    """A displayed column; keys of a row without a column are only in the JSON.

    Attributes:
        key: The key of its values in a row.
        title: Its heading.
        digits: The number of decimals; None for text.
    """

    key: str
    title: str
    digits: int | None = None

    def show(self, value: object) -> str:
        """Format a value as text."""
        return shown(value, self.digits)


@dataclass(frozen=True, slots=True)
class ResultTable:
    """The results of a benchmark.

    Attributes:
        benchmark: The benchmark's name.
        columns: The displayed columns; one without any value is left out.
        rows: The results.
        notes: What a reader needs to know to interpret them.
        about: Further keys of the JSON document, such as the number of passages.
    """

    benchmark: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def to_json(self) -> str:
        """Return everything as one JSON document."""
        document = {
            "benchmark": self.benchmark,
            **self.about,
            "rows": [dict(row) for row in self.rows],
            "notes": list(self.notes),
        }
        return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)

    def to_markdown(self) -> str:
        """Return a Markdown table with the notes as a list below it."""
        columns = self._shown()
        rule = ["---" if column.digits is None else "---:" for column in columns]
        lines = [[column.title for column in columns], rule]
        lines += [list(cells) for cells, _ in self._lines(columns)]
        table = ["| " + " | ".join(map(_escape, cells)) + " |" for cells in lines]
        notes = ["", *(f"- {note}" for note in self.notes)] if self.notes else []
        return "\n".join([*table, *notes])

    def to_rich(self) -> RichTable:
        """Return a table for `rich`, without the notes."""
        columns = self._shown()
        table = RichTable(title=self.benchmark, title_justify="left")
        for column in columns:
            table.add_column(column.title, justify="left" if column.digits is None else "right")
        for cells, published in self._lines(columns):
            table.add_row(*map(Text, cells), style="dim" if published else None)
        return table

    def _shown(self) -> tuple[Column, ...]:
        return tuple(
            column
            for column in self.columns
            if any(row.get(column.key) is not None for row in self.rows)
        )

    def _lines(self, columns: tuple[Column, ...]) -> Iterator[tuple[tuple[str, ...], bool]]:
        """Yield the cells of each line, and whether they are published figures."""
        for row in self.rows:
            yield tuple(column.show(row.get(column.key)) for column in columns), False
            published: Row | None = row.get("paper")
            if published:
                cells = (
                    c.show(published[c.key]) if c.key in published else "" for c in columns[1:]
                )
                yield ("  paper", *cells), True


def _escape(cell: str) -> str:
    return cell.strip().replace("|", r"\|")


def print_table(table: ResultTable, console: Console) -> None:
    """Print a table with its notes.

    Args:
        table: The table.
        console: The console to print on.
    """
    console.print(table.to_rich())
    for note in table.notes:
        console.print(Text(f"- {note}", "dim"))
