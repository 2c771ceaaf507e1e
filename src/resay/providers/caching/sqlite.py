"""The cache store in an SQLite file."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar
from weakref import WeakSet

from resay._internal.event_loops import PerLoop
from resay._internal.sqlite import open_database, transaction
from resay.providers.caching.stores import StoreError

T = TypeVar("T")
_Job = Callable[[], None] | None

_MB = 1_000_000
# How long a statement waits for other processes that write.
_BUSY_TIMEOUT_S = 0.5
# How long pending writes may delay the end of the process.
_EXIT_TIMEOUT_S = 5.0

_SET_UP = (
    "PRAGMA synchronous = NORMAL",
    "PRAGMA secure_delete = ON",
    "PRAGMA journal_size_limit = 4000000",
    "CREATE TABLE IF NOT EXISTS resay_answers"
    " (key TEXT PRIMARY KEY, data BLOB NOT NULL, expires REAL NOT NULL)",
    "CREATE INDEX IF NOT EXISTS resay_answers_expires ON resay_answers (expires)",
)
_SELECT = (
    "SELECT key, data FROM resay_answers"
    " WHERE key IN (SELECT value FROM json_each(?)) AND expires > ?"
)
_INSERT = "INSERT OR REPLACE INTO resay_answers (key, data, expires) VALUES (?, ?, ?)"
_DELETE_EXPIRED = "DELETE FROM resay_answers WHERE expires <= ?"
_DELETE_OLDEST = (
    "DELETE FROM resay_answers WHERE key IN (SELECT key FROM resay_answers ORDER BY expires LIMIT"
    " (SELECT 1 + count(*) / 10 FROM resay_answers))"
)
_SIZE = (
    "SELECT (page_count - freelist_count) * page_size"
    " FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
)
# Deleted answers stay in the file until a checkpoint overwrites them from the write-ahead log.
_CHECKPOINT = "PRAGMA wal_checkpoint(TRUNCATE)"


class SqliteStore:
    """Store answers in an SQLite file, which several processes may share.

    The file is created readable to its owner only, in write-ahead mode, which needs a local disk.
    Expired answers and, if the file grows too large, the oldest are overwritten and removed. The
    file stays open until the last event loop that used it shuts down, or the process ends.

    Args:
        path: The file; it and its folder are created if missing. `~` is the home folder.
        ttl_s: Lifetime of an answer, in seconds.
        max_mb: Maximum size of all answers, in megabytes (10^6 bytes), at least 1.
        clock: Seconds since the epoch.
        deferred: Whether answers are written in batches, after `set_many` returned. They can be
            read at once; a process that is killed may lose some. If a write fails, the next call
            raises the error.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        ttl_s: float = 86_400.0,
        max_mb: float = 256.0,
        clock: Callable[[], float] = time.time,
        deferred: bool = False,
    ) -> None:
        self._path = Path(path).expanduser()
        self._ttl_s = ttl_s
        self._max_bytes = max_mb * _MB
        self._clock = clock
        self._deferred = deferred
        self.begin()
        _stores.add(self)

    def begin(self) -> None:
        """Reset to nothing open and nothing pending: on creation, and in a forked process."""
        self._lock = threading.Lock()
        self._unwritten: dict[str, tuple[bytes, float]] = {}
        self._pending_error: StoreError | None = None
        self._loops = 0
        self._users: PerLoop[None] = PerLoop(self._enter, self._leave)
        self._reading = _Worker(self._path)
        self._writing = _Worker(self._path)

    def __repr__(self) -> str:
        return f"SqliteStore({str(self._path)!r})"

    async def get_many(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Return the unexpired entries with these keys.

        Raises:
            StoreError: The file cannot be read.
        """
        await self._users.get()
        self._raise_pending_error()
        now = self._clock()
        with self._lock:
            pending = {key: self._unwritten[key] for key in keys if key in self._unwritten}
        entries = {key: data for key, (data, expires) in pending.items() if expires > now}
        written = [key for key in keys if key not in pending]
        if written:
            parameters = (json.dumps(written), now)
            rows = await self._reading.run(lambda c: c.execute(_SELECT, parameters).fetchall())
            for key, data in rows:
                entries[key] = bytes(data)
        return entries

    async def set_many(self, entries: Mapping[str, bytes]) -> None:
        """Store entries, replacing those with the same keys.

        Raises:
            StoreError: The file cannot be written.
        """
        await self._users.get()
        expires = self._clock() + self._ttl_s
        if not self._deferred:
            rows = [(key, data, expires) for key, data in entries.items()]
            await self._writing.run(lambda connection: self._write(connection, rows))
            return
        self._raise_pending_error()
        with self._lock:
            is_idle = not self._unwritten
            for key, data in entries.items():
                self._unwritten[key] = data, expires
        # If answers are waiting already, the job that writes them takes these too.
        if is_idle:
            self._writing.submit(self._write_pending).add_done_callback(self._record_error)

    async def aclose(self) -> None:
        """Write pending answers, and close the file if no other event loop uses it."""
        await self._users.aclose()

    def _enter(self) -> None:
        with self._lock:
            self._loops += 1

    async def _leave(self, _: None) -> None:
        with self._lock:
            self._loops -= 1
            is_last = not self._loops
        if is_last:
            for worker in self._workers:
                await asyncio.wrap_future(worker.close())

    @property
    def _workers(self) -> tuple[_Worker, _Worker]:
        # In the order of closing. SQLite tidies up when the last connection is closed, but not if
        # two are closed at the same time: each finds the other still open.
        return self._writing, self._reading

    @property
    def connections(self) -> tuple[sqlite3.Connection | None, ...]:
        """The open connections."""
        return self._reading.connection, self._writing.connection

    def finish(self) -> None:
        """Write pending answers and close the file when the process ends."""
        for worker in self._workers:
            with suppress(Exception):
                worker.close().result(_EXIT_TIMEOUT_S)

    def _raise_pending_error(self) -> None:
        """Raise the error of a deferred write since the last call, once."""
        error, self._pending_error = self._pending_error, None
        if error is not None:
            raise error

    def _write_pending(self, connection: sqlite3.Connection) -> None:
        while True:
            with self._lock:
                batch = dict(self._unwritten)
            if not batch:
                return
            self._write(connection, [(key, *entry) for key, entry in batch.items()])
            with self._lock:
                for key, entry in batch.items():
                    # Newer data may have been set in the meantime.
                    if self._unwritten[key] is entry:
                        del self._unwritten[key]

    def _record_error(self, job: Future[None]) -> None:
        error = job.exception()
        if error is None:
            return
        # Answers that could not be written are dropped and requested again.
        with self._lock:
            self._unwritten.clear()
            self._pending_error = StoreError(_reason(error))

    def _write(
        self, connection: sqlite3.Connection, rows: Sequence[tuple[str, bytes, float]]
    ) -> None:
        with transaction(connection):
            deleted = connection.execute(_DELETE_EXPIRED, (self._clock(),)).rowcount
            connection.executemany(_INSERT, rows)
            deleted += self._delete_oldest(connection)
        if deleted:
            with suppress(sqlite3.OperationalError):
                connection.execute(_CHECKPOINT).fetchall()

    def _delete_oldest(self, connection: sqlite3.Connection) -> int:
        total, deleted = 0, 1
        while deleted and connection.execute(_SIZE).fetchone()[0] > self._max_bytes:
            deleted = connection.execute(_DELETE_OLDEST).rowcount
            total += deleted
        return total


class _Worker:
    """A connection with a thread of its own.

    The thread is a daemon, unlike those of an executor: it does not keep the process alive, and
    still works while exit handlers run.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[_Job] | None = None
        self._connection: sqlite3.Connection | None = None

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run work with the connection.

        Raises:
            StoreError: The file cannot be used.
        """
        try:
            return await asyncio.wrap_future(self.submit(work))
        except (sqlite3.Error, OSError) as error:
            raise StoreError(_reason(error)) from error

    @property
    def connection(self) -> sqlite3.Connection | None:
        """The open connection, if any."""
        return self._connection

    def submit(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Queue work to run after all earlier jobs."""
        future: Future[T] = Future()

        def job() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                self._connection = self._connection or _open(self._path)
                result = work(self._connection)
            except BaseException as error:
                # A new connection also copes with a file that was moved or restored.
                self._disconnect()
                future.set_exception(error)
            else:
                future.set_result(result)

        with self._lock:
            self._running().put(job)
        return future

    def close(self) -> Future[None]:
        """Close the connection and end the thread, after all earlier jobs."""
        future: Future[None] = Future()

        def job() -> None:
            self._disconnect()
            future.set_result(None)

        with self._lock:
            if self._jobs is None:
                future.set_result(None)
            else:
                self._jobs.put(job)
                self._jobs.put(None)
                self._jobs = None
        return future

    def _running(self) -> SimpleQueue[_Job]:
        if self._jobs is None:
            self._jobs = SimpleQueue()
            threading.Thread(
                target=_work, args=(self._jobs,), name="resay-cache", daemon=True
            ).start()
        return self._jobs

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


_stores: WeakSet[SqliteStore] = WeakSet()
_inherited: list[sqlite3.Connection | None] = []


def _work(jobs: SimpleQueue[_Job]) -> None:
    while (job := jobs.get()) is not None:
        job()


@atexit.register
def _finish() -> None:
    for store in list(_stores):
        store.finish()


def _begin_again() -> None:
    for store in list(_stores):
        # A fork copies connections, which the child must neither use nor close, but not threads.
        _inherited.extend(store.connections)
        store.begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_again)


def _open(path: Path) -> sqlite3.Connection:
    if path.exists() and not path.is_file():
        raise StoreError("not a file that can be read")
    return open_database(path, _SET_UP, busy_timeout_s=_BUSY_TIMEOUT_S)


def _reason(error: BaseException) -> str:
    # SQLite's messages name files and tables; those of the system name the path in the repr.
    if isinstance(error, (sqlite3.Error, StoreError)):
        return str(error)
    message = error.strerror if isinstance(error, OSError) else None
    return message or type(error).__name__
