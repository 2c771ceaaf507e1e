"""The rows of a batch, each with its number and its id."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Generator
from contextlib import closing
from typing import NamedTuple

from resay_lab.batch.columns import Columns
from resay_lab.batch.filters import Where
from resay_lab.batch.inputs import Rows, mapping_of


class Row(NamedTuple):
    """One row of the input.

    Attributes:
        number: Its position in the input, from 0. Blank lines do not count.
        id: Its id: a hash of its content, with a counter for equal rows; None if the input has an
            id column.
        raw: Its content, as a JSON object.
    """

    number: int
    id: str | None
    raw: bytes


def numbered(
    rows: Rows, columns: Columns, where: Where | None = None
) -> Generator[Row, None, None]:
    """Yield the selected rows, each with its number and its id.

    Args:
        rows: The input.
        columns: The names of its columns.
        where: The filter; None for all rows.
    """
    named: bool | None = None
    with closing(_Counted()) as seen:
        for number, raw in enumerate(rows):
            if named is None:
                named = columns.id is not None or "id" in (mapping_of(raw) or {})
            name = None if named else seen.name(raw)
            if where is None or where.wants(mapping_of(raw)):
                yield Row(number, name, raw)


class _Counted:
    """Name rows by their content, equal ones with a counter.

    The hashes are stored in a temporary SQLite file: they grow with the input, and the memory of
    the process must not.
    """

    def __init__(self) -> None:
        # Rows are read by one thread at a time, but not always the same one.
        self._file = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._file.execute("PRAGMA journal_mode=OFF")
        self._file.execute("CREATE TABLE seen (hash BLOB PRIMARY KEY, n INTEGER) WITHOUT ROWID")
        self._file.execute("BEGIN")

    def name(self, raw: bytes) -> str:
        digest = hashlib.blake2b(raw, digest_size=8).digest()
        if self._file.execute("INSERT OR IGNORE INTO seen VALUES (?, 1)", (digest,)).rowcount:
            return digest.hex()
        self._file.execute("UPDATE seen SET n = n + 1 WHERE hash = ?", (digest,))
        (n,) = self._file.execute("SELECT n FROM seen WHERE hash = ?", (digest,)).fetchone()
        return f"{digest.hex()}-{n}"

    def close(self) -> None:
        self._file.close()
