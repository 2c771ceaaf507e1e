"""The journal in a file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import zlib
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from resay.reporting.journal.database import (
    FORGET_VERSION,
    LATEST,
    MIGRATIONS,
    READ_VERSION,
    SET_VERSION,
    VERSIONS_TABLE,
    Bare,
    JournalError,
    RefusedError,
    Row,
    insert,
    newer,
)
from resay.reporting.journal.rollups import TABLES, fits, roll_up, summed_up

# What such verdicts have in common, the most common last. A file may hold verdicts that were packed
# with it for years: it is never changed. A better one comes beside it, with another first byte.
_COMMON = (
    b'"regeneration":{"mode":"repair","attempts":[{"why":"passage 0.55 > 0.50","queries":[],'
    b'"documents":[],"score_before":0.0,"score_after":0.0,"decision":"consistent","note":null,'
    b'"usage":{"calls":1,"prompt_tokens":100,"completion_tokens":20,"cost_usd":0.0,"cancelled":0},'
    b'"elapsed_s":0.1}],"adopted":0,"score":0.0,"reason":"","draft":"","edits":[{"before":"",'
    b'"after":"","start":0,"end":10,"sources":[]}],"sources":[{"id":"","text":"","score":0.0,'
    b'"metadata":{}}]}'
    b'"unscored":[{"text":"","start":0,"end":10,"kind":"code"}]"via":"parallel""via":"native"'
    b'"decision":"inconclusive","skipped","contradicted_by":{"source":"sample","index":0,"text":""}'
    b'"kind":"opinion"null,"spans":[[0,10]],"unit":"clause","band":"doubtful"'
    b'{"decision":"flagged","score":{"decision":"consistent","score":0.1,"reason":"1 of 2 sentences'
    b" > 0.50, passage 0.25 <= 0.50 with 5 samples"
    b'","sentences":[{"text":"","start":0,"end":50,"score":0.1,"flagged":true,"by":"prompt",'
    b'"why":null,"contradicted_by":null,"citations":[],"scores":{"ngram":0.1,"nli":0.1,"prompt":0.1}'
    b',"band":"contradicted"},{"text":"","start":51,"end":100,"score":0.0,"flagged":false,"by":'
    b'"ngram","why":null,"contradicted_by":null,"citations":[],"scores":{"ngram":0.0},"band":'
    b'"supported"}],"samples":10,"steps":[{"method":"ngram","sentences":2,"score":0.0,"usage":'
    b'{"calls":0,"prompt_tokens":0,"completion_tokens":0,"cost_usd":0.0,"cancelled":0},"elapsed_s":'
    b'0.0,"failures":{},"undetermined":0,"note":null,"why":null,"skipped":null}],"usage":{"calls":'
    b'10,"prompt_tokens":0,"completion_tokens":0,"cost_usd":null,"cancelled":0},"elapsed_s":0.0,'
    b'"via":null,"regeneration":null,"unscored":[],"claims":[{"text":"","start":0,"end":50,"spans":'
    b'[[0,50]],"unit":"sentence","kind":"fact","score":0.1,"flagged":true,"by":"prompt","why":null,'
    b'"contradicted_by":null,"scores":{"prompt":0.1},"sentence":0,"band":"contradicted","grounds":'
    b'[],"unsupported":[]},{"text":"","start":51,"end":100,"spans":[[51,100]],"unit":"sentence",'
    b'"kind":"fact","score":0.0,"flagged":false,"by":"ngram","why":null,"contradicted_by":null,'
    b'"scores":{"ngram":0.0},"sentence":1,"band":"supported","grounds":[],"unsupported":[]}],'
    b'"references":[],"flagged":false,"inconclusive":false}'
)
_FIRST = b"\x01"
# Less than it takes to check the verdict, and little is gained by more.
_LEVEL = 6


def packed(text: str) -> bytes:
    """Return JSON as bytes, of which there are fewer."""
    packer = zlib.compressobj(_LEVEL, zdict=_COMMON)
    return _FIRST + packer.compress(text.encode()) + packer.flush()


def unpacked(value: Any) -> Any:
    """Return what was packed; any other value as it is."""
    if not isinstance(value, bytes):
        return value
    return zlib.decompressobj(zdict=_COMMON).decompress(value.removeprefix(_FIRST)).decode()


T = TypeVar("T")

# How long one statement waits for other processes that write.
_PATIENCE_S = 5.0
_SET_UP = (
    "PRAGMA synchronous = NORMAL",
    # What is removed is overwritten.
    "PRAGMA secure_delete = ON",
    # Feedback goes with its entry.
    "PRAGMA foreign_keys = ON",
    "PRAGMA journal_size_limit = 4000000",
)
_EXISTS = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
# What a file has beside the tables of all databases, by the version that needs it.
_OWN = {2: TABLES}
_REFUSED = (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.InterfaceError, OverflowError)


class SqliteStore:
    """Keeps the journal in an SQLite file, which several processes may share.

    The file is made readable to its owner only, in write-ahead mode, which needs a local disk.

    Args:
        path: The file; it and its folder are made where they are missing. `~` is the home folder.
    """

    def __init__(self, path: str) -> None:
        # The working folder of today may not be that of tomorrow.
        self._path = Path(path).expanduser().absolute()

    def __repr__(self) -> str:
        return repr(str(self._path))

    def open(self) -> SqliteSession:
        """Return a session for the running event loop."""
        return SqliteSession(self._path)

    def whole(self, sql: str) -> str:
        """Return the expression for the whole part of a number."""
        return f"CAST({sql} AS INTEGER)"


class SqliteSession:
    """Two connections, each in a thread of its own: who reads for long keeps nobody from writing.

    The standard library's module does here what aiosqlite would: it runs one connection in one
    thread. But threads of an executor keep no process from ending when a session was not closed.
    """

    def __init__(self, path: Path) -> None:
        self._writing = _Desk(path)
        self._reading = _Desk(path)

    async def insert(self, rows: Sequence[Row]) -> None:
        """Write entries, all or none of them."""
        await self._writing.do(lambda connection: _insert(connection, rows))

    async def change(self, sql: str, row: Row) -> int:
        """Run one statement that writes or deletes."""
        return await self._writing.do(lambda connection: connection.execute(sql, row).rowcount)

    async def read(self, sql: str, row: Row) -> list[Row]:
        """Run a query."""
        rows = await self._reading.do(lambda connection: connection.execute(sql, row).fetchall())
        return [tuple(map(unpacked, row)) for row in rows]

    async def roll_up(self, now: float) -> bool:
        """Make some of the rollups that are missing."""

        def work(connection: sqlite3.Connection) -> bool:
            with _transaction(connection):
                return roll_up(connection, now)

        return await self._writing.do(work)

    async def summed_up(
        self, since: float, until: float, step_s: float, by: str | None
    ) -> list[Row] | None:
        """Return the figures of slices made of whole stretches; None of others."""
        if not fits(since, until, step_s):
            return None

        def work(connection: sqlite3.Connection) -> list[Row]:
            # Rollups and entries of one moment.
            with _transaction(connection, "BEGIN"):
                return summed_up(connection, since, until, step_s, by)

        return await self._reading.do(work)

    async def forget(self) -> None:
        """Empty the write-ahead log, which holds what the file no longer does."""
        # Where somebody reads just now it stays for the next time.
        await self._writing.do(
            lambda connection: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        )

    async def aclose(self) -> None:
        """Close both connections."""
        await self._reading.aclose()
        await self._writing.aclose()


class _Desk:
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
            # Python takes no more work for threads once the process is ending, and its threads
            # have ended. What is left is done here: nobody else needs the event loop.
            return self._do(work)
        return await asyncio.wrap_future(future)

    # It runs after what is being done, and to its end although the loop waits no longer.
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
        except _REFUSED as error:
            raise RefusedError(f"the journal {self._name} refuses it: {error}") from error
        except (sqlite3.Error, OSError) as error:
            # A new connection finds a file that was moved or put back, too.
            self._close()
            raise JournalError(
                f"the journal {self._name} cannot be used: {_reason(error)}"
            ) from error

    @property
    def _name(self) -> str:
        return repr(str(self._path))

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _insert(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    with _transaction(connection):
        connection.executemany(insert(1), [tuple(map(_smaller, row)) for row in rows])


def _smaller(value: object) -> object:
    return packed(value) if isinstance(value, Bare) else value


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Generator[None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite ends it by itself where the disk is full, for one.
        with suppress(sqlite3.OperationalError):
            connection.execute("ROLLBACK")
        raise


def _connect(path: Path) -> sqlite3.Connection:
    _make_private(path)
    # One thread after the other uses it, at the end of the process that of the event loop.
    connection = sqlite3.connect(
        path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False
    )
    try:
        # Somebody else may be at it; where it fails for good, the file still works.
        with suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL")
        for statement in _SET_UP:
            connection.execute(statement)
        _migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _migrate(connection: sqlite3.Connection) -> None:
    if _version(connection) == LATEST:
        return
    with _transaction(connection):
        # Another process may have been faster.
        version = _version(connection)
        for number, statements in enumerate(MIGRATIONS[version:], version + 1):
            for statement in (*statements, *_OWN.get(number, ())):
                connection.execute(statement)
        connection.execute(FORGET_VERSION)
        connection.execute(SET_VERSION, (LATEST,))


def _version(connection: sqlite3.Connection) -> int:
    if connection.execute(_EXISTS, (VERSIONS_TABLE,)).fetchone() is None:
        return 0
    (version,) = connection.execute(READ_VERSION).fetchone()
    if version > LATEST:
        raise newer(version)
    return version


def _make_private(path: Path) -> None:
    """Make the file before SQLite does, which would let everybody read it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Never open one that is there: closing it again would drop SQLite's locks on it.
    if not path.exists():
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _reason(error: sqlite3.Error | OSError) -> str:
    # SQLite's messages speak of files and tables, never of values.
    return (
        str(error) if isinstance(error, sqlite3.Error) else error.strerror or type(error).__name__
    )
