"""The journal in an SQLite file."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache
from itertools import chain
from math import ceil, floor
from pathlib import Path
from typing import TypeVar

from resay.adapters.sqlite import open_database, transaction
from resay_server.journal.compression import compress, decompress
from resay_server.journal.database import TextSearch
from resay_server.journal.entry import SortKey
from resay_server.journal.errors import JournalError, RefusedError
from resay_server.journal.migrations import (
    BUCKET_S,
    DELETE_VERSION,
    FULL_TEXT_TABLE,
    LATEST,
    MIGRATIONS,
    READ_VERSION,
    SET_VERSION,
    SQLITE_FULL_TEXT,
    SQLITE_MIGRATIONS,
    VERSIONS_TABLE,
    newer_version,
)
from resay_server.journal.rollups import (
    CHANGED,
    ENTRIES,
    INSERT_ROLLUP,
    LATE_S,
    MARK_BUILT,
    MAX_ROWS,
    ROLLUPS,
    bucket_times,
    consists_of_buckets,
    rollups_of,
    summary_rows,
)
from resay_server.journal.rows import ContentFree, Row
from resay_server.journal.statements import insert

T = TypeVar("T")

# The time limit for one statement to wait for other processes' writes.
_BUSY_TIMEOUT_S = 5.0
_SET_UP = (
    "PRAGMA synchronous = NORMAL",
    # Overwrite deleted content.
    "PRAGMA secure_delete = ON",
    # Delete feedback with its entry.
    "PRAGMA foreign_keys = ON",
    "PRAGMA journal_size_limit = 4000000",
)
_BUILT = (
    "SELECT bucket FROM resay_journal_rollups"
    " WHERE bucket >= ? AND bucket < ? AND field = '' ORDER BY bucket"
)
_EXISTS = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
# The key of an entry's words encodes its time, so that SQLite can find the newest first. This is
# the number of keys per millisecond.
_KEYS_PER_MS = 1 << 20
_LAST_TIME_S = 8.7e9
_INDEX_ENTRY = (
    "INSERT INTO resay_journal_words (key, entry_id, words) SELECT"  # noqa: S608 - our own names
    f" coalesce((SELECT max(w.key) + 1 FROM resay_journal_words w WHERE w.key >= e.key"
    f" AND w.key < e.key + {_KEYS_PER_MS}), e.key), e.id, ?"
    f" FROM (SELECT id, CAST(min(time, {_LAST_TIME_S}) * 1000 AS INTEGER) * {_KEYS_PER_MS} AS key"
    " FROM resay_journal_entries WHERE id = ?) e WHERE true ON CONFLICT DO NOTHING"
)
# The number of index pages written at once: few enough not to block others for long.
_MERGED_PAGES = 500
_MERGE = f"INSERT INTO {FULL_TEXT_TABLE} ({FULL_TEXT_TABLE}, rank) VALUES ('merge', ?)"  # noqa: S608 - our own names


@cache
def _has_full_text() -> bool:
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE tried USING fts5 (words)")
        except sqlite3.OperationalError:
            return False
    return True


_REJECTIONS = (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.InterfaceError, OverflowError)


class SqliteDatabase:
    """Stores the journal in an SQLite file, which several processes may share.

    The file is readable by its owner only, and in write-ahead mode, which needs a local disk.

    Args:
        path: The file; it and its folder are created if missing. `~` is the home folder.
    """

    def __init__(self, path: str) -> None:
        # The process may change its working folder later.
        self._path = Path(path).expanduser().absolute()

    def __repr__(self) -> str:
        return repr(str(self._path))

    def open(self) -> SqliteSession:
        """Return a session for the running event loop."""
        return SqliteSession(self._path)

    def integer_part(self, expression: str) -> str:
        """Return the expression for the integer part of a number."""
        return f"CAST({expression} AS INTEGER)"

    def percentile(self, name: str, percent: int) -> str:
        """Return the expression for a percentile, from the ranks in the query."""
        return f"min(CASE WHEN {name}_rank * 100 >= entries * {percent} THEN {name}_s END)"

    @property
    def needs_ranks(self) -> bool:
        """Whether percentiles need ranks: SQLite has no function for them."""
        return True

    def text_search(
        self, terms: Sequence[str], since: float | None, until: float | None
    ) -> TextSearch:
        """Return the search for entries with all of some terms."""
        key = _key_column()
        time_conditions: list[str] = []
        if since is not None:
            time_conditions.append(f"{key} >= {floor(_milliseconds(since)) * _KEYS_PER_MS}")
        if until is not None:
            time_conditions.append(f"{key} < {ceil(_milliseconds(until)) * _KEYS_PER_MS}")
        if _has_full_text():
            tables = f"{FULL_TEXT_TABLE} f JOIN resay_journal_words w ON w.key = f.rowid"
            condition = f"{FULL_TEXT_TABLE} MATCH ?"
            quoted = [f'"{term[:-1]}"*' if term.endswith("*") else f'"{term}"' for term in terms]
            parameters = (" ".join(quoted),)
        else:
            tables = "resay_journal_words w"
            condition = " AND ".join(["' ' || w.words || ' ' LIKE ? ESCAPE '!'"] * len(terms))
            patterns = [f"% {term} %".replace("_", "!_").replace("* ", "") for term in terms]
            parameters = tuple(patterns)
        return TextSearch(
            tables=tables,
            condition=condition,
            parameters=parameters,
            time_conditions=tuple(time_conditions),
            order=("key",),
        )

    def newest_matches(
        self, search: TextSearch, before: SortKey | None, limit: int
    ) -> tuple[str, Row]:
        """Return the query for the newest matching entries."""
        key = _key_column()
        conditions, parameters = [search.condition, *search.time_conditions], search.parameters
        if before is not None:
            # If that entry was deleted, others of its millisecond may be returned again.
            own_key = "SELECT key FROM resay_journal_words WHERE entry_id = ?"
            end = (floor(_milliseconds(before.time)) + 1) * _KEYS_PER_MS
            conditions.append(f"{key} < coalesce(({own_key}), {end:d})")
            parameters = (*parameters, before.id)
        return (
            f"SELECT w.entry_id, w.key FROM {search.tables} WHERE {' AND '.join(conditions)}"  # noqa: S608 - our own names
            f" ORDER BY {key} DESC LIMIT ?",
            (*parameters, limit),
        )

    @property
    def index_statement(self) -> str:
        """The statement that indexes an entry."""
        return _INDEX_ENTRY


def _key_column() -> str:
    return "f.rowid" if _has_full_text() else "w.key"


def _milliseconds(moment: float) -> float:
    """Return a time in milliseconds, as the keys of words encode it."""
    return max(0.0, min(moment, _LAST_TIME_S)) * 1000


class SqliteSession:
    """Two connections, each in its own thread, so that long reads do not block writes.

    Like aiosqlite, but with executor threads, which do not keep the process alive if a session was
    not closed.
    """

    def __init__(self, path: Path) -> None:
        self._writing = _Connection(path)
        self._reading = _Connection(path)
        self._merging = False

    async def insert(self, rows: Sequence[Row], terms: Sequence[str | None]) -> None:
        """Write all entries or none."""
        await self._writing.do(lambda connection: _insert(connection, rows, terms))

    async def change(self, sql: str, parameters: Row) -> int:
        """Run one statement that writes or deletes."""
        return await self._writing.do(
            lambda connection: connection.execute(sql, parameters).rowcount
        )

    async def read(self, sql: str, parameters: Row) -> list[Row]:
        """Run a query."""

        def work(connection: sqlite3.Connection) -> list[Row]:
            rows = connection.execute(sql, parameters)
            return [tuple(map(decompress, row)) for row in rows]

        return await self._reading.do(work)

    async def build_rollups(self, now: float) -> bool:
        """Build some of the missing rollups."""

        def work(connection: sqlite3.Connection) -> bool:
            with transaction(connection):
                return build_rollups(connection, now)

        return await self._writing.do(work)

    async def summary_from_rollups(
        self, since: float, until: float, step_s: float, by: str | None
    ) -> list[Row] | None:
        """Return the rows of slices made of whole buckets; None for other slices."""
        if not consists_of_buckets(since, until, step_s):
            return None

        def work(connection: sqlite3.Connection) -> list[Row]:
            # A consistent snapshot of rollups and entries.
            with transaction(connection, "BEGIN"):
                return _summary_rows(connection, since, until, step_s, by)

        return await self._reading.do(work)

    async def purge(self) -> bool:
        """Rewrite the index without deleted words, and empty the write-ahead log."""

        def work(connection: sqlite3.Connection) -> bool:
            if _has_full_text():
                before = connection.total_changes
                # A negative number starts to rewrite the whole index.
                pages = _MERGED_PAGES if self._merging else -_MERGED_PAGES
                connection.execute(_MERGE, (pages,))
                self._merging = connection.total_changes - before >= 2
            if not self._merging:
                # While a reader is active, the log is left for the next time.
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return self._merging

        return await self._writing.do(work)

    async def aclose(self) -> None:
        """Close both connections."""
        await self._reading.aclose()
        await self._writing.aclose()


def build_rollups(connection: sqlite3.Connection, now: float) -> bool:
    """Build some of the missing rollups, in the caller's transaction.

    Args:
        connection: The file.
        now: Seconds since the epoch, to tell which buckets are over.

    Returns:
        Whether there may be more to build.
    """
    rows_read = 0
    changed = connection.execute(CHANGED, ((now - LATE_S) // BUCKET_S,)).fetchall()
    for (bucket,) in changed:
        if rows_read >= MAX_ROWS:
            return True
        entries = connection.execute(ENTRIES, bucket_times(bucket, bucket + 1)).fetchall()
        rows_read += len(entries)
        if entries:
            connection.executemany(INSERT_ROLLUP, list(rollups_of(bucket, entries)))
        connection.execute(MARK_BUILT, (bucket,))
    return False


def _summary_rows(
    connection: sqlite3.Connection, since: float, until: float, step_s: float, by: str | None
) -> list[Row]:
    """Return the rows of a summary's query for slices made of whole buckets."""
    first, end = int(since) // BUCKET_S, int(until) // BUCKET_S
    rollups = connection.execute(ROLLUPS, (first, end, by or ""))
    built = [bucket for (bucket,) in connection.execute(_BUILT, (first, end))]
    entries = chain.from_iterable(
        connection.execute(ENTRIES, bucket_times(start, stop))
        for start, stop in _ranges_between(built, first, end)
    )
    return summary_rows(rollups, entries, since, step_s, by)


def _ranges_between(built: Sequence[int], first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of buckets without rollups."""
    start = first
    for bucket in (*built, end):
        if start < bucket:
            yield start, bucket
        start = bucket + 1


class _Connection:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._closed = False
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="resay-journal")

    async def do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            future = self._executor.submit(self._do, work)
        except RuntimeError as error:
            if self._closed:
                raise JournalError(f"the journal is closed: {error}") from error
            # At interpreter shutdown, executors accept no work and their threads have ended. Do it
            # here: nothing else needs the event loop.
            return self._do(work)
        return await asyncio.wrap_future(future)

    # Closing runs after pending work, and completes even if the event loop stops waiting.
    async def aclose(self) -> None:
        self._closed = True
        try:
            closed = self._executor.submit(self._close)
        except RuntimeError:
            # The process is ending.
            self._close()
        else:
            self._executor.shutdown(wait=False)
            await asyncio.wrap_future(closed)

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            self._connection = self._connection or _connect(self._path)
            return work(self._connection)
        except _REJECTIONS as error:
            raise RefusedError(
                f"the journal {self._name} rejected the operation: {error}"
            ) from error
        except (sqlite3.Error, OSError) as error:
            # A new connection also finds a file that was moved or restored.
            self._close()
            raise JournalError(f"cannot use the journal {self._name}: {_reason(error)}") from error

    @property
    def _name(self) -> str:
        return repr(str(self._path))

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _insert(
    connection: sqlite3.Connection, rows: Sequence[Row], terms: Sequence[str | None]
) -> None:
    statement = insert(1)
    with transaction(connection):
        for row, words in zip(rows, terms, strict=True):
            written = connection.execute(statement, tuple(map(_compressed, row))).rowcount
            # Only for new entries: an existing one may have been stored with other text.
            if words and written:
                connection.execute(_INDEX_ENTRY, (words, row[0]))


def _compressed(value: object) -> object:
    return compress(value) if isinstance(value, ContentFree) else value


def _connect(path: Path) -> sqlite3.Connection:
    # At interpreter shutdown, the event loop's thread uses the connection.
    connection = open_database(path, _SET_UP, busy_timeout_s=_BUSY_TIMEOUT_S)
    try:
        _migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _migrate(connection: sqlite3.Connection) -> None:
    if _version(connection) == LATEST and not _lacks_full_text(connection):
        return
    with transaction(connection):
        # Another process may have been faster.
        current = _version(connection)
        for version, statements in enumerate(MIGRATIONS[current:], current + 1):
            for statement in (*statements, *SQLITE_MIGRATIONS.get(version, ())):
                connection.execute(statement)
        if _lacks_full_text(connection):
            for statement in SQLITE_FULL_TEXT:
                connection.execute(statement)
        connection.execute(DELETE_VERSION)
        connection.execute(SET_VERSION, (LATEST,))


def _lacks_full_text(connection: sqlite3.Connection) -> bool:
    return _has_full_text() and not _has_table(connection, FULL_TEXT_TABLE)


def _has_table(connection: sqlite3.Connection, table: str) -> bool:
    return connection.execute(_EXISTS, (table,)).fetchone() is not None


def _version(connection: sqlite3.Connection) -> int:
    if not _has_table(connection, VERSIONS_TABLE):
        return 0
    (version,) = connection.execute(READ_VERSION).fetchone()
    if version > LATEST:
        raise newer_version(version)
    return version


def _reason(error: sqlite3.Error | OSError) -> str:
    # SQLite's messages name files and tables, never values.
    if isinstance(error, sqlite3.Error):
        return str(error)
    return error.strerror or type(error).__name__
