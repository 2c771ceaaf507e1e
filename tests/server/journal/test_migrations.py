"""Journals that an older version made are read, and changed in place."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from resay.adapters.settings import JournalContent
from resay_server.journal import Entry, Journal, SampledEntry
from resay_server.journal.migrations import (
    MIGRATIONS,
    POSTGRES_MIGRATIONS,
    SET_VERSION,
    SQLITE_MIGRATIONS,
)
from resay_server.journal.rows import COLUMNS, row_of
from resay_server.journal.statements import insert
from support.journal import entry

pytestmark = pytest.mark.anyio
HALF_HOUR = 1800.0
DAY = 1_700_006_400.0


def execute(url: str, *statements: tuple[str, tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Execute statements, and return the rows of the last."""
    rows: list[tuple[Any, ...]] = []
    if url.startswith("sqlite:///"):
        path = url.removeprefix("sqlite:///")
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for sql, parameters in statements:
                rows = connection.execute(sql, parameters).fetchall()
        return rows
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for sql, parameters in statements:
            cursor = connection.execute(sql.replace("?", "%s").encode(), parameters or None)
            rows = cursor.fetchall() if cursor.description else []
    return rows


def make_tables(url: str, version: int) -> None:
    """Create the tables of an older version."""
    specific = SQLITE_MIGRATIONS if url.startswith("sqlite:///") else POSTGRES_MIGRATIONS
    statements: list[tuple[str, tuple[Any, ...]]] = []
    for number, shared in enumerate(MIGRATIONS[:version], 1):
        statements += [(sql, ()) for sql in (*shared, *specific.get(number, ()))]
    execute(url, *statements, (SET_VERSION, (version,)))


def buckets(url: str, table: str) -> list[int]:
    """Return the half hours of the day that a table has rows for."""
    rows = execute(url, (f"SELECT DISTINCT bucket FROM {table} ORDER BY bucket", ()))
    return [bucket - int(DAY / HALF_HOUR) for (bucket,) in rows]


async def test_rollups_and_sampled_entries_of_version_5_are_kept(
    url: str, opened: Callable[..., Journal]
) -> None:
    make_tables(url, 5)
    old = [entry(id=f"e-{i}", time=DAY + i * HALF_HOUR) for i in range(2)]
    insertions = [_insertion(one, "none") for one in old]
    draw = (
        "INSERT INTO resay_journal_draws (entry_id, time, method, weight) VALUES (?, ?, ?, ?)",
        ("e-1", DAY, "random", 2.5),
    )
    # The first half hour has a rollup, with a count that no entry has.
    rollup = (
        "INSERT INTO resay_journal_rollups SELECT stretch, '', NULL, 7, 0, 0, 0, 0, 0, 0, 0, 0,"
        " ?, ? FROM resay_journal_changed WHERE stretch = ?"
    )
    times = b"\0" * 8 * 7
    first = int(DAY / HALF_HOUR)
    execute(
        url,
        *insertions,
        draw,
        (rollup, (times, times, first)),
        ("DELETE FROM resay_journal_changed WHERE stretch = ?", (first,)),
    )
    journal = opened()
    assert await journal.sampled() == [SampledEntry("e-1", "random", 2.5, DAY)]
    slices = await journal.summary(DAY, DAY + 2 * HALF_HOUR, HALF_HOUR)
    assert [part.entries for part in slices] == [7, 1]
    # A late entry deletes the rollup, and it is built again.
    await journal.append(entry(id="late", time=DAY + 1))
    await journal.flush()
    slices = await journal.summary(DAY, DAY + 2 * HALF_HOUR, HALF_HOUR)
    assert [part.entries for part in slices] == [2, 1]
    assert buckets(url, "resay_journal_rollups") == [0, 1]
    assert buckets(url, "resay_journal_changed") == []


@pytest.mark.parametrize("version", range(7))
async def test_tables_of_every_version_are_migrated(
    url: str, opened: Callable[..., Journal], version: int
) -> None:
    if version:
        make_tables(url, version)
        execute(url, _insertion(entry(id="old", time=DAY), "all"))
    journal = opened(content="all")
    await journal.append(entry(id="new", time=DAY + HALF_HOUR))
    await journal.flush()
    await journal.add_sampled([SampledEntry("new", "random", 1.0)])
    expected = ["new", "old"] if version else ["new"]
    assert [one.id for one in await journal.recent()] == expected
    assert [one.id for one in await journal.recent(words="zqsentencezq")][:1] == ["new"]
    assert [one.entry_id for one in await journal.sampled()] == ["new"]
    slices = await journal.summary(DAY, DAY + 2 * HALF_HOUR, HALF_HOUR)
    assert sum(part.entries for part in slices) == len(expected)


def _insertion(old: Entry, content: JournalContent) -> tuple[str, tuple[Any, ...]]:
    """Return the statement that wrote an entry when none had evidence."""
    *row, _ = row_of(old, content)
    return insert(1, COLUMNS), tuple(map(_plain, row))


def _plain(value: object) -> object:
    return str(value) if isinstance(value, str) else value
