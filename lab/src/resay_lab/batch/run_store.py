"""The stored state of a run.

It is a SQLite database beside the output, `OUT.run`, with two tables: `run` holds fingerprints that
identify the run, and its totals once it has finished; `finished` holds the finished rows until the
output exists. Its lock keeps other runs away.
"""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from resay.errors import ConfigurationError
from resay_lab.batch.progress import Tally
from resay_lab.batch.scoring import Scored

_SYNC_S = 1.0
# The columns of `finished` are the fields of `Scored`; a cost that is not known is NULL.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS run (manifest TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS finished (
    number INTEGER PRIMARY KEY,
    decision TEXT NOT NULL,
    calls INTEGER NOT NULL,
    cost_usd REAL,
    error TEXT NOT NULL,
    line BLOB NOT NULL
);
"""


class RunStore:
    """The stored state of a run.

    Args:
        path: The database's file.
        database: The database, which is locked.
    """

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self._path = path
        self._database = database
        self._synced = time.monotonic()
        # A byte for each row of the input: whether an earlier session finished it.
        self._finished_before = bytearray()
        self.tally = Tally()
        self.finished: Tally | None = None

    @classmethod
    @contextmanager
    def of(
        cls, out: Path, manifest: dict[str, Any], *, resume: bool
    ) -> Generator[RunStore, None, None]:
        """Begin or resume a run, and keep others from doing the same meanwhile."""
        path = out.with_name(f"{out.name}.run")
        if out.exists() and not path.exists():
            remedy = "there is no run to resume" if resume else "choose another output"
            raise ConfigurationError(f"{str(out)!r} exists; {remedy}, or delete it")
        with closing(_opened(path, out)) as database:
            store = cls(path, database)
            store._open(out, manifest, resume=resume)
            yield store

    def _open(self, out: Path, manifest: dict[str, Any], *, resume: bool) -> None:
        stored = self._read_manifest()
        if stored is None:
            self._write_manifest(manifest)
            return
        if not resume:
            state = f"{str(out)!r} exists" if out.exists() else "an unfinished run exists"
            raise ConfigurationError(
                f"{state}; use --resume, choose another output, or delete it and"
                f" {str(self._path)!r}"
            )
        for key, value in manifest.items():
            if stored.get(key) != value:
                raise ConfigurationError(
                    f"the run in {str(self._path)!r} was started with a different {key}; results"
                    f" would be mixed. Rerun with the original {key}, or start a new run"
                )
        totals = stored.get("finished")
        if totals is not None and out.exists():
            self.finished = Tally.from_dict(totals)
            self._shrink()
        else:
            self._recover()

    def _read_manifest(self) -> dict[str, Any] | None:
        row = self._database.execute("SELECT manifest FROM run").fetchone()
        return None if row is None else json.loads(row[0])

    def _write_manifest(self, manifest: Mapping[str, Any]) -> None:
        self._database.execute("DELETE FROM run")
        self._database.execute("INSERT INTO run VALUES (?)", [json.dumps(manifest)])

    def _recover(self) -> None:
        """Count the rows finished in earlier sessions."""
        columns = "number, decision, calls, cost_usd, error"
        rows = self._database.execute(f"SELECT {columns} FROM finished ORDER BY number")  # noqa: S608
        for number, decision, calls, cost_usd, error in rows:
            self._finished_before.extend(bytes(number - len(self._finished_before)) + b"\1")
            self.tally.add(decision, calls, math.nan if cost_usd is None else cost_usd, error)

    def has(self, number: int) -> bool:
        """Return whether an earlier session finished a row."""
        return number < len(self._finished_before) and bool(self._finished_before[number])

    def append(self, batch: Sequence[Scored]) -> None:
        """Store finished rows. A process that is killed afterwards does not lose them."""
        stored: list[Scored] = []
        with _transaction(self._database):
            for scored in batch:
                inserted = self._database.execute(
                    "INSERT OR IGNORE INTO finished VALUES (?, ?, ?, ?, ?, ?)", scored
                )
                if inserted.rowcount:
                    stored.append(scored)
        for scored in stored:
            self.tally.add(scored.decision, scored.calls, scored.cost_usd, scored.error)
        if time.monotonic() - self._synced > _SYNC_S:
            self.sync()

    def sync(self) -> None:
        """Make sure that the rows survive a power failure."""
        self._database.execute("PRAGMA wal_checkpoint(FULL)")
        self._synced = time.monotonic()

    def lines(self) -> Iterator[bytes]:
        """Yield the finished rows in the order of the input, as JSON."""
        for (line,) in self._database.execute("SELECT line FROM finished ORDER BY number"):
            yield line

    def finish(self) -> None:
        """Record that the output exists, and delete its rows."""
        with _transaction(self._database):
            manifest = self._read_manifest() or {}
            self._write_manifest({**manifest, "finished": self.tally.to_dict()})
            self._database.execute("DELETE FROM finished")
        self._shrink()

    def _shrink(self) -> None:
        """Leave nothing of deleted rows in the file."""
        self._database.execute("VACUUM")
        self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _opened(path: Path, out: Path) -> sqlite3.Connection:
    try:
        database = sqlite3.connect(path, timeout=0, isolation_level=None)
        try:
            # The lock is held from the first access until the connection or its process ends.
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            database.execute("PRAGMA journal_mode = WAL")
            # A commit is written, but not synchronized: `RunStore.sync` does that now and then.
            database.execute("PRAGMA synchronous = NORMAL")
            database.executescript(_SCHEMA)
        except BaseException:
            database.close()
            raise
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise ConfigurationError(f"another run is writing {str(out)!r}") from None
        raise ConfigurationError(f"cannot open {str(path)!r}: {error}") from None
    except sqlite3.DatabaseError:
        raise ConfigurationError(f"{str(path)!r} was not written by a batch run") from None
    return database


@contextmanager
def _transaction(database: sqlite3.Connection) -> Generator[None, None, None]:
    database.execute("BEGIN")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")
