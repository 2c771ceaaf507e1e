"""Answers kept in a file."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from resay._internal.importing import load_optional
from resay.providers.caching.stores import StoreError

if TYPE_CHECKING:
    from aiosqlite import Connection

_MB = 1_000_000
# How long one statement waits for other processes that write.
_PATIENCE_S = 0.5

_SET_UP = (
    "PRAGMA synchronous = NORMAL",
    "PRAGMA secure_delete = ON",
    "PRAGMA journal_size_limit = 4000000",
    "CREATE TABLE IF NOT EXISTS resay_answers"
    " (key TEXT PRIMARY KEY, data BLOB NOT NULL, expires REAL NOT NULL)",
    "CREATE INDEX IF NOT EXISTS resay_answers_expires ON resay_answers (expires)",
)
_GET = (
    "SELECT key, data FROM resay_answers"
    " WHERE key IN (SELECT value FROM json_each(?)) AND expires > ?"
)
_SET = "INSERT OR REPLACE INTO resay_answers (key, data, expires) VALUES (?, ?, ?)"
_DROP_EXPIRED = "DELETE FROM resay_answers WHERE expires <= ?"
_DROP_OLDEST = (
    "DELETE FROM resay_answers WHERE key IN (SELECT key FROM resay_answers ORDER BY expires LIMIT"
    " (SELECT 1 + count(*) / 10 FROM resay_answers))"
)
_SIZE = (
    "SELECT (page_count - freelist_count) * page_size"
    " FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
)


class _Lease:
    """The connection of one event loop while anybody there uses it."""

    def __init__(self) -> None:
        self.turn = anyio.Lock()
        self.users = 0
        self.connection: Connection | None = None


class SqliteStore:
    """Keeps answers in an SQLite file, which several processes may share.

    The file is made readable to its owner only, in write-ahead mode, which needs a local disk.
    Expired answers and, where it grows too large, the oldest are overwritten and removed. It is
    open only while somebody uses it, so there is nothing to close.

    Args:
        path: The file; it and its folder are made where they are missing. `~` is the home folder.
        ttl_s: Seconds an answer is kept.
        max_mb: How many megabytes (10^6 bytes) the answers may take, at least 1.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        ttl_s: float = 86_400.0,
        max_mb: float = 256.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = Path(path).expanduser()
        self._ttl_s = ttl_s
        self._max_bytes = max_mb * _MB
        self._clock = clock
        self._leases: dict[asyncio.AbstractEventLoop, _Lease] = {}

    def __repr__(self) -> str:
        return f"SqliteStore({str(self._path)!r})"

    async def get_many(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Return what is there under these keys and has not expired.

        Raises:
            StoreError: The file cannot be read.
        """
        async with self._connected() as connection:
            given = (json.dumps(list(keys)), self._clock())
            return {
                key: bytes(data) for key, data in await connection.execute_fetchall(_GET, given)
            }

    async def set_many(self, entries: Mapping[str, bytes]) -> None:
        """Keep these, in place of what is there under their keys.

        Raises:
            StoreError: The file cannot be written.
        """
        now = self._clock()
        rows = [(key, data, now + self._ttl_s) for key, data in entries.items()]
        async with self._connected() as connection:
            await connection.execute("BEGIN IMMEDIATE")
            try:
                await connection.execute(_DROP_EXPIRED, (now,))
                await connection.executemany(_SET, rows)
                await self._make_room(connection)
                await connection.commit()
            except BaseException:
                await connection.rollback()
                raise

    async def aclose(self) -> None:
        """Do nothing: the file is open only while it is used."""

    async def _make_room(self, connection: Connection) -> None:
        dropped = 1
        while dropped and await _size(connection) > self._max_bytes:
            async with connection.execute(_DROP_OLDEST) as cursor:
                dropped = cursor.rowcount

    # A connection has a thread of its own, which keeps the process from ending and is lost to other
    # loops when the one that waits for it closes. So nobody holds one longer than needed.
    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[Connection, None]:
        loop = asyncio.get_running_loop()
        lease = self._leases.setdefault(loop, _Lease())
        lease.users += 1
        try:
            # One at a time, because a transaction belongs to a connection.
            async with lease.turn:
                # Short, and a transaction that is broken off half-way would stay open.
                with anyio.CancelScope(shield=True):
                    lease.connection = lease.connection or await self._open()
                    yield lease.connection
        except (sqlite3.Error, OSError) as error:
            raise StoreError(_reason(error)) from error
        finally:
            lease.users -= 1
            if not lease.users:
                del self._leases[loop]
                with anyio.CancelScope(shield=True):
                    await _close(lease.connection)

    async def _open(self) -> Connection:
        aiosqlite = load_optional(
            "aiosqlite", package="aiosqlite", extra="sqlite", purpose="the cache store 'sqlite'"
        )
        await anyio.to_thread.run_sync(_make_private, self._path)
        connection: Connection = await aiosqlite.connect(
            self._path, timeout=_PATIENCE_S, isolation_level=None
        )
        try:
            await _set_up(connection)
        except BaseException:
            await _close(connection)
            raise
        return connection


async def _set_up(connection: Connection) -> None:
    # Somebody else may be at it; where it fails for good, the file still works.
    with suppress(sqlite3.OperationalError):
        await connection.execute("PRAGMA journal_mode = WAL")
    for statement in _SET_UP:
        await connection.execute(statement)


async def _size(connection: Connection) -> int:
    (row,) = await connection.execute_fetchall(_SIZE)
    return row[0]


async def _close(connection: Connection | None) -> None:
    if connection is not None:
        await connection.close()


def _make_private(path: Path) -> None:
    """Make the file before SQLite does, which would let everybody read it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Never open one that is there: closing it again would drop SQLite's locks on it.
    if not path.exists():
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    # aiosqlite leaves a thread behind for a moment when it cannot open a file, and the thread
    # breaks when the loop is closed by then.
    if not path.is_file() or not os.access(path, os.R_OK):
        raise StoreError("not a file that can be read")


def _reason(error: sqlite3.Error | OSError) -> str:
    # SQLite's messages speak of files and tables; those of the system name what is in the repr.
    return (
        str(error) if isinstance(error, sqlite3.Error) else error.strerror or type(error).__name__
    )
