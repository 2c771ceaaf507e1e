"""Which batch has which requests, and what they were answered: one file, kept over crashes."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anyio.to_thread

from resay.errors import ConfigurationError
from resay.providers.apis.reading import mapping
from resay.providers.batching.base import Sought

T = TypeVar("T")

_VERSION = 1
_PATIENCE_S = 30.0
_SET_UP = (
    # What was paid for is not to be forgotten with the power.
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "CREATE TABLE IF NOT EXISTS batches"
    " (submission TEXT PRIMARY KEY, batch TEXT, made REAL NOT NULL)",
    "CREATE TABLE IF NOT EXISTS requests"
    " (id TEXT PRIMARY KEY, submission TEXT NOT NULL, body TEXT)",
    "CREATE INDEX IF NOT EXISTS requests_submission ON requests (submission)",
    f"PRAGMA user_version = {_VERSION}",
)
_LOOK_UP = (
    "SELECT id, body, submission, batch FROM requests JOIN batches USING (submission)"
    " WHERE id IN (SELECT value FROM json_each(?))"
)
_BEGUN = "SELECT made FROM batches WHERE submission = ?"
_COUNT = "SELECT count(*) FROM requests WHERE submission = ?"
_KNOWN = "SELECT batch FROM batches WHERE batch IS NOT NULL"
_INTEND = "INSERT INTO batches (submission, made) VALUES (?, ?)"
_HOLD = "INSERT OR REPLACE INTO requests (id, submission) VALUES (?, ?)"
_NAME = "UPDATE batches SET batch = ? WHERE submission = ?"
_KEEP = "UPDATE requests SET body = ? WHERE id = ?"
_DROP_OPEN = "DELETE FROM requests WHERE submission = ? AND body IS NULL"
_DROP_ONE = "DELETE FROM requests WHERE id = ? AND body IS NULL"
_DROP_EMPTY = (
    "DELETE FROM batches WHERE submission = ?"
    " AND NOT EXISTS (SELECT 1 FROM requests WHERE requests.submission = batches.submission)"
)
_EXPIRE = (
    "DELETE FROM requests WHERE submission IN (SELECT submission FROM batches WHERE made < ?)",
    "DELETE FROM batches WHERE made < ?",
)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a request that was submitted before.

    Attributes:
        body: The response; None where it is not there yet.
        submission: What its batch was submitted as.
        batch: Its batch's id; None where the process ended before that was known.
    """

    body: Mapping[str, Any] | None
    submission: str
    batch: str | None


class Ledger:
    """The file. Several processes may share it, on a local disk.

    Args:
        path: The file; it and its folder are made where they are missing.
        ttl_s: Seconds until a batch and its answers are forgotten.
        clock: Seconds since the epoch.
    """

    def __init__(self, path: str, *, ttl_s: float, clock: Callable[[], float] = time.time) -> None:
        self._path = Path(path).expanduser()
        self._ttl_s = ttl_s
        self._clock = clock
        # One after the other, each in whatever thread is free.
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    async def look_up(self, ids: Sequence[str]) -> dict[str, Known]:
        """Return what is known of those requests that were submitted before."""
        rows = await self._do(lambda c: c.execute(_LOOK_UP, (json.dumps(ids),)).fetchall())
        return {
            name: Known(None if body is None else mapping(json.loads(body)), submission, batch)
            for name, body, submission, batch in rows
        }

    async def intend(self, submission: str, ids: Iterable[str]) -> None:
        """Note that requests are about to be submitted."""
        held = [(name, submission) for name in ids]

        def write(connection: sqlite3.Connection) -> None:
            connection.execute(_INTEND, (submission, self._clock()))
            connection.executemany(_HOLD, held)

        await self._do(write)

    async def submitted(self, submission: str, batch: str) -> None:
        """Note the id that the provider gave."""
        await self._do(lambda c: c.execute(_NAME, (batch, submission)))

    async def sought(self, submission: str) -> Sought:
        """Return what is known of a batch whose id was not noted."""

        def read(connection: sqlite3.Connection) -> Sought:
            (begun,) = connection.execute(_BEGUN, (submission,)).fetchone()
            (count,) = connection.execute(_COUNT, (submission,)).fetchone()
            known = frozenset(batch for (batch,) in connection.execute(_KNOWN))
            return Sought(submission, begun, count, known)

        return await self._do(read)

    async def keep(self, bodies: Mapping[str, Mapping[str, Any]]) -> None:
        """Keep responses."""
        rows = [(json.dumps(body), name) for name, body in bodies.items()]
        await self._do(lambda c: c.executemany(_KEEP, rows))

    async def forget(self, ids: Iterable[str]) -> None:
        """Forget requests that were not answered, so that they can be submitted again."""
        rows = [(name,) for name in ids]
        await self._do(lambda c: c.executemany(_DROP_ONE, rows))

    async def close_batch(self, submission: str) -> None:
        """Forget what of a batch was not answered, as no answer comes any more."""

        def write(connection: sqlite3.Connection) -> None:
            connection.execute(_DROP_OPEN, (submission,))
            connection.execute(_DROP_EMPTY, (submission,))

        await self._do(write)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    async def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        # Not given up half-way: what was submitted is to be noted.
        return await anyio.to_thread.run_sync(self._work, work)

    def _work(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._opened()
                with self._connection:
                    return work(self._connection)
            except (sqlite3.Error, OSError) as error:
                raise self._unusable(
                    str(error) if isinstance(error, sqlite3.Error) else None
                ) from (error)

    def _opened(self) -> sqlite3.Connection:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._path.exists():
            # Made before SQLite does it, which would let everybody read it.
            with suppress(FileExistsError):
                os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        connection = sqlite3.connect(self._path, timeout=_PATIENCE_S, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version not in (0, _VERSION):
                raise self._unusable(f"it is of version {version}, which this Resay does not know")
            for statement in _SET_UP:
                connection.execute(statement)
            with connection:
                for statement in _EXPIRE:
                    connection.execute(statement, (self._clock() - self._ttl_s,))
        except BaseException:
            connection.close()
            raise
        return connection

    def _unusable(self, why: str | None) -> ConfigurationError:
        return ConfigurationError(
            f"`calls.state` is {str(self._path)!r}, which cannot be used"
            f"{': ' + why if why else ''}; name a file on a local disk that can be written"
        )
