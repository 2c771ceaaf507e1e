"""The state file of batches: which requests were submitted, and their answers."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anyio.to_thread

from resay._internal.sqlite import open_database, transaction
from resay.errors import ConfigurationError
from resay.providers.apis.values import mapping
from resay.providers.batching.base import LostBatch

T = TypeVar("T")

_VERSION = 1
_BUSY_TIMEOUT_S = 30.0
_SET_UP = (
    # Paid requests must survive a power failure.
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "CREATE TABLE IF NOT EXISTS batches"
    " (submission TEXT PRIMARY KEY, batch TEXT, made REAL NOT NULL)",
    "CREATE TABLE IF NOT EXISTS requests"
    " (id TEXT PRIMARY KEY, submission TEXT NOT NULL, body TEXT)",
    "CREATE INDEX IF NOT EXISTS requests_submission ON requests (submission)",
    f"PRAGMA user_version = {_VERSION}",
)
_SELECT_REQUESTS = (
    "SELECT id, body, submission, batch FROM requests JOIN batches USING (submission)"
    " WHERE id IN (SELECT value FROM json_each(?))"
)
_SELECT_TIME = "SELECT made FROM batches WHERE submission = ?"
_COUNT_REQUESTS = "SELECT count(*) FROM requests WHERE submission = ?"
_SELECT_BATCH_IDS = "SELECT batch FROM batches WHERE batch IS NOT NULL"
_INSERT_BATCH = "INSERT INTO batches (submission, made) VALUES (?, ?)"
_INSERT_REQUEST = "INSERT OR REPLACE INTO requests (id, submission) VALUES (?, ?)"
_SET_BATCH_ID = "UPDATE batches SET batch = ? WHERE submission = ?"
_SET_BODY = "UPDATE requests SET body = ? WHERE id = ?"
_DELETE_UNANSWERED = "DELETE FROM requests WHERE submission = ? AND body IS NULL"
_DELETE_EMPTY_BATCH = (
    "DELETE FROM batches WHERE submission = ?"
    " AND NOT EXISTS (SELECT 1 FROM requests WHERE requests.submission = batches.submission)"
)
_DELETE_EXPIRED = (
    "DELETE FROM requests WHERE submission IN (SELECT submission FROM batches WHERE made < ?)",
    "DELETE FROM batches WHERE made < ?",
)


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request that was submitted before.

    Attributes:
        body: The response; None if there is none yet.
        submission: The submission name of its batch.
        batch: Its batch's id; None if the process ended before recording it.
    """

    body: Mapping[str, Any] | None
    submission: str
    batch: str | None


class BatchState:
    """The state file, an SQLite database. Several processes may share it, on a local disk.

    Args:
        path: The file; it and its folder are created if missing.
        ttl_s: Seconds until a batch and its answers are deleted.
        clock: Seconds since the epoch.
    """

    def __init__(self, path: str, *, ttl_s: float, clock: Callable[[], float] = time.time) -> None:
        self._path = Path(path).expanduser()
        self._ttl_s = ttl_s
        self._clock = clock
        # Serializes the work, which runs in any worker thread.
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    async def look_up(self, ids: Sequence[str]) -> dict[str, RecordedRequest]:
        """Return those requests that were submitted before, by id."""
        parameters = (json.dumps(ids),)
        rows = await self._run(lambda c: c.execute(_SELECT_REQUESTS, parameters).fetchall())
        requests: dict[str, RecordedRequest] = {}
        for request_id, body, submission, batch in rows:
            requests[request_id] = RecordedRequest(
                body=None if body is None else mapping(json.loads(body)),
                submission=submission,
                batch=batch,
            )
        return requests

    async def reserve(self, submission: str, ids: Iterable[str]) -> None:
        """Record that requests are about to be submitted."""
        rows = [(request_id, submission) for request_id in ids]

        def write(connection: sqlite3.Connection) -> None:
            connection.execute(_INSERT_BATCH, (submission, self._clock()))
            connection.executemany(_INSERT_REQUEST, rows)

        await self._run(write)

    async def set_batch_id(self, submission: str, batch: str) -> None:
        """Record the batch id that the provider returned."""
        await self._run(lambda c: c.execute(_SET_BATCH_ID, (batch, submission)))

    async def lost_batch(self, submission: str) -> LostBatch:
        """Return what identifies a batch whose id was not recorded."""

        def read(connection: sqlite3.Connection) -> LostBatch:
            (started_at,) = connection.execute(_SELECT_TIME, (submission,)).fetchone()
            (count,) = connection.execute(_COUNT_REQUESTS, (submission,)).fetchone()
            batch_ids = frozenset(batch for (batch,) in connection.execute(_SELECT_BATCH_IDS))
            return LostBatch(
                submission=submission,
                started_at=started_at,
                requests=count,
                other_batches=batch_ids,
            )

        return await self._run(read)

    async def store(self, bodies: Mapping[str, Mapping[str, Any]]) -> None:
        """Store responses."""
        rows = [(json.dumps(body), request_id) for request_id, body in bodies.items()]
        await self._run(lambda c: c.executemany(_SET_BODY, rows))

    async def close_batch(self, submission: str) -> None:
        """Delete a batch's unanswered requests, because no more answers will arrive."""

        def write(connection: sqlite3.Connection) -> None:
            connection.execute(_DELETE_UNANSWERED, (submission,))
            connection.execute(_DELETE_EMPTY_BATCH, (submission,))

        await self._run(write)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        # Not cancellable: everything submitted has to be recorded.
        return await anyio.to_thread.run_sync(self._run_locked, work)

    def _run_locked(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._open()
                with transaction(self._connection, "BEGIN"):
                    return work(self._connection)
            except sqlite3.Error as error:
                raise self._unusable_error(f": {error}") from error
            except OSError as error:
                raise self._unusable_error() from error

    def _open(self) -> sqlite3.Connection:
        connection = open_database(self._path, (), busy_timeout_s=_BUSY_TIMEOUT_S)
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version not in (0, _VERSION):
                raise self._unusable_error(f": it has version {version}, and {_VERSION} is needed")
            for statement in _SET_UP:
                connection.execute(statement)
            with transaction(connection):
                for statement in _DELETE_EXPIRED:
                    connection.execute(statement, (self._clock() - self._ttl_s,))
        except BaseException:
            connection.close()
            raise
        return connection

    def _unusable_error(self, reason: str = "") -> ConfigurationError:
        return ConfigurationError(
            f"`calls.state` is {str(self._path)!r}, which cannot be used{reason}; name a file on a"
            " local disk that can be written"
        )
