"""The journal in an SQLite file, with rollups of past stretches of time beside its entries.

A rollup holds the data that `summary` needs of one half hour: counts, sums, and the sorted
latencies, so that percentiles are exact. It is built once the half hour is over. Triggers delete it
when any program writes or deletes an entry of that time. Until it is built again, the entries
themselves are read, so the results are the same with and without rollups.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache
from itertools import chain
from math import ceil, floor, fsum, inf, isqrt
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

from resay._internal.sqlite import open_database, transaction
from resay.reporting.journal.database import (
    FORGET_VERSION,
    LATEST,
    MIGRATIONS,
    READ_VERSION,
    SET_VERSION,
    VERSIONS_TABLE,
    ContentFree,
    JournalError,
    RefusedError,
    Row,
    Search,
    insert,
    newer,
)
from resay.reporting.journal.entry import SortKey

K = TypeVar("K")
WIDTH_S = 1800
"""The length of a rollup's stretch of time, in seconds."""
# Entries made before the end of a stretch may be written a moment after it.
LATE_S = 60.0
# The number of entries read at once: few enough not to block other users of the file for long.
MOST_ROWS = 20_000
_FEW = 2000
_FIELDS = ("model", "policy", "tenant", "api")
_DECISIONS = ("consistent", "flagged", "inconclusive", "skipped")
_COUNTS = len(_DECISIONS) + 3

_STRETCH = f"CAST({{}}.time / {WIDTH_S} AS INTEGER)"
TABLES = (
    "CREATE TABLE resay_journal_rollups ("
    " stretch INTEGER NOT NULL,"
    " field TEXT NOT NULL,"
    " name TEXT,"
    " consistent INTEGER NOT NULL,"
    " flagged INTEGER NOT NULL,"
    " inconclusive INTEGER NOT NULL,"
    " skipped INTEGER NOT NULL,"
    " blocked INTEGER NOT NULL,"
    " regenerated INTEGER NOT NULL,"
    " unpriced INTEGER NOT NULL,"
    " cost_usd REAL NOT NULL,"
    " check_cost_usd REAL NOT NULL,"
    # NULL if all entries of the stretch have this name.
    " latencies BLOB,"
    " checks BLOB)",
    "CREATE INDEX resay_journal_rollups_by_stretch ON resay_journal_rollups (stretch, field)",
    # The stretches whose entries changed since their rollups were made.
    "CREATE TABLE resay_journal_changed (stretch INTEGER PRIMARY KEY)",
    f"INSERT INTO resay_journal_changed SELECT DISTINCT {_STRETCH.format('e')}"  # noqa: S608 - our own names
    " FROM resay_journal_entries e",
    *(
        f"CREATE TRIGGER resay_journal_rollups_{event.lower()} AFTER {event}"  # noqa: S608 - our own names
        " ON resay_journal_entries BEGIN"
        f" DELETE FROM resay_journal_rollups WHERE stretch = {_STRETCH.format(which)};"
        f" INSERT OR IGNORE INTO resay_journal_changed VALUES ({_STRETCH.format(which)}); END"
        for event, which in (("INSERT", "NEW"), ("DELETE", "OLD"))
    ),
)
# The newest first, since they are read most.
CHANGED = "SELECT stretch FROM resay_journal_changed WHERE stretch < ? ORDER BY stretch DESC"
SETTLED = "DELETE FROM resay_journal_changed WHERE stretch = ?"
ENTRIES = (
    "SELECT time, model, policy, tenant, api, decision, action, latency_s, check_s,"
    " main_cost_usd, check_cost_usd FROM resay_journal_entries WHERE time >= ? AND time < ?"
)
KEEP = f"INSERT INTO resay_journal_rollups VALUES ({', '.join(['?'] * (7 + _COUNTS))})"  # noqa: S608 - our own names
_DONE = (
    "SELECT stretch FROM resay_journal_rollups"
    " WHERE stretch >= ? AND stretch < ? AND field = '' ORDER BY stretch"
)
KEPT = (
    "SELECT stretch, name, consistent, flagged, inconclusive, skipped, blocked, regenerated,"
    " unpriced, cost_usd, check_cost_usd,"
    " coalesce(latencies, (SELECT w.latencies FROM resay_journal_rollups w"
    "  WHERE w.stretch = r.stretch AND w.field = '')),"
    " coalesce(checks, (SELECT w.checks FROM resay_journal_rollups w"
    "  WHERE w.stretch = r.stretch AND w.field = ''))"
    " FROM resay_journal_rollups r WHERE stretch >= ? AND stretch < ? AND field = ?"
)


class _Figures:
    """Statistics of some entries."""

    __slots__ = ("check_costs", "checks", "costs", "counts", "latencies")

    def __init__(self) -> None:
        self.counts = [0] * _COUNTS
        self.costs: list[float] = []
        self.check_costs: list[float] = []
        # Each array is sorted.
        self.latencies: list[array[float]] = []
        self.checks: list[array[float]] = []

    def add_entries(self, entries: Sequence[Row]) -> None:
        """Add entries, as rows of `ENTRIES`."""
        for *_, decision, action, _latency, _check, main, check in entries:
            if decision in _DECISIONS:
                self.counts[_DECISIONS.index(decision)] += 1
            self.counts[-3] += action == "block"
            self.counts[-2] += action == "regenerate"
            self.counts[-1] += main is None or check is None
            self.costs.append((main or 0.0) + (check or 0.0))
            self.check_costs.append(check or 0.0)
        self.latencies.append(array("d", sorted(entry[7] for entry in entries)))
        self.checks.append(array("d", sorted(entry[8] for entry in entries)))

    def add_kept(self, row: Row) -> None:
        """Add a rollup, as a row of `KEPT` without its stretch and name."""
        *counts, cost, check_cost, latencies, checks = row
        self.counts = [a + b for a, b in zip(self.counts, counts, strict=True)]
        self.costs.append(cost)
        self.check_costs.append(check_cost)
        self.latencies.append(_unpacked(latencies))
        self.checks.append(_unpacked(checks))

    def to_keep(self) -> Row:
        """Return the values of a rollup."""
        (latencies,), (checks,) = self.latencies, self.checks
        sums = fsum(self.costs), fsum(self.check_costs)
        return (*self.counts, *sums, _packed(latencies), _packed(checks))

    def shown(self) -> Row:
        """Return the values of a row of a summary's query."""
        *counts, unpriced = self.counts
        entries = sum(map(len, self.latencies))
        ranks = [(entries * percent + 99) // 100 for percent in (50, 95)]
        percentiles = (*nearest(self.latencies, ranks), *nearest(self.checks, ranks))
        costs = fsum(self.costs), fsum(self.check_costs)
        return (entries, *counts, *percentiles, *costs, unpriced)


def roll_up(connection: sqlite3.Connection, now: float) -> bool:
    """Build some of the missing rollups, in the caller's transaction.

    Args:
        connection: The file.
        now: Seconds since the epoch, to tell which stretches are over.

    Returns:
        Whether there may be more to build.
    """
    read = 0
    changed = connection.execute(CHANGED, ((now - LATE_S) // WIDTH_S,)).fetchall()
    for (stretch,) in changed:
        if read >= MOST_ROWS:
            return True
        span = (float(stretch * WIDTH_S), float((stretch + 1) * WIDTH_S))
        entries = connection.execute(ENTRIES, span).fetchall()
        read += len(entries)
        if entries:
            connection.executemany(KEEP, list(rollups_of(stretch, entries)))
        connection.execute(SETTLED, (stretch,))
    return False


def rollups_of(stretch: int, entries: Sequence[Row]) -> Iterator[Row]:
    """Yield the rollups of a stretch, as values for `KEEP`: the total, and those by each field."""
    whole = _Figures()
    whole.add_entries(entries)
    yield (stretch, "", None, *whole.to_keep())
    for number, field in enumerate(_FIELDS, 1):
        parts = _parted(entries, itemgetter(number))
        for name, part in parts.items():
            figures = _Figures()
            figures.add_entries(part)
            *kept, latencies, checks = figures.to_keep()
            alone = len(parts) == 1
            runs = (None, None) if alone else (latencies, checks)
            yield (stretch, field, name, *kept, *runs)


def fits(since: float, until: float, step_s: float) -> bool:
    """Return whether slices are made of whole stretches."""
    return not any(value % WIDTH_S for value in (since, until, step_s))


def summed_up(
    connection: sqlite3.Connection, since: float, until: float, step_s: float, by: str | None
) -> list[Row]:
    """Return the rows of a summary's query for slices made of whole stretches.

    Args:
        connection: The file, in a transaction, for a consistent snapshot.
        since: The start of the span, in seconds since the epoch.
        until: The end of the span.
        step_s: The length of a slice, in seconds.
        by: The field to group the entries of a step by; None for one slice per step.
    """
    first, end = int(since) // WIDTH_S, int(until) // WIDTH_S
    kept = connection.execute(KEPT, (first, end, by or ""))
    done = [stretch for (stretch,) in connection.execute(_DONE, (first, end))]
    entries = chain.from_iterable(
        connection.execute(ENTRIES, (float(start * WIDTH_S), float(stop * WIDTH_S)))
        for start, stop in _gaps(done, first, end)
    )
    return slices_of(kept, entries, since, step_s, by)


def slices_of(
    kept: Iterable[Row], entries: Iterable[Row], since: float, step_s: float, by: str | None
) -> list[Row]:
    """Return the rows of a summary's query from rollups and entries.

    Args:
        kept: The rollups, as rows of `KEPT`.
        entries: The entries of the other stretches, as rows of `ENTRIES`.
        since: The start of the span, in seconds since the epoch.
        step_s: The length of a slice, in seconds.
        by: The field to group the entries of a step by; None for one slice per step.
    """
    first, step = int(since) // WIDTH_S, int(step_s) // WIDTH_S
    slices: dict[tuple[int, str | None], _Figures] = {}
    for stretch, name, *row in kept:
        slices.setdefault(((stretch - first) // step, name), _Figures()).add_kept(tuple(row))
    column = _FIELDS.index(by) + 1 if by else None

    def key_of(entry: Row) -> tuple[int, str | None]:
        return int((entry[0] - since) // step_s), None if column is None else entry[column]

    for key, part in _parted(entries, key_of).items():
        slices.setdefault(key, _Figures()).add_entries(part)
    return [(*key, *figures.shown()) for key, figures in slices.items()]


def _gaps(done: Sequence[int], first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of stretches without rollups."""
    start = first
    for stretch in (*done, end):
        if start < stretch:
            yield start, stretch
        start = stretch + 1


def _parted(entries: Iterable[Row], key: Callable[[Row], K]) -> Mapping[K, list[Row]]:
    parts: dict[K, list[Row]] = {}
    for entry in entries:
        parts.setdefault(key(entry), []).append(entry)
    return parts


def nearest(runs: Sequence[array[float]], ranks: Sequence[int]) -> list[float]:
    """Return the values with some ranks among all values of sorted runs; the least has rank 1.

    Every n-th value of each run is a mark. The marks bound the value of a rank, and only the values
    between its bounds are sorted.
    """
    total = sum(map(len, runs))
    if total <= _FEW:
        values = sorted(chain.from_iterable(runs))
        return [values[rank - 1] for rank in ranks]
    every = isqrt(total // len(runs)) or 1
    marks: list[float] = []
    for run in runs:
        marks += run[every - 1 :: every]
    marks.sort()
    return [_of_rank(runs, rank, marks, every) for rank in ranks]


def _of_rank(runs: Sequence[array[float]], rank: int, marks: Sequence[float], every: int) -> float:
    # Fewer than `every` values of each run lie between one of its marks and the next.
    under = (rank - len(runs) * every) // every
    least = marks[under - 1] if under > 0 else -inf
    over = -(-rank // every)
    most = marks[over - 1] if over <= len(marks) else inf
    if least == most:
        return least
    below = 0
    between: list[float] = []
    for run in runs:
        start = bisect_left(run, least)
        below += start
        between += run[start : bisect_right(run, most, start)]
    between.sort()
    return between[rank - 1 - below]


def _packed(values: array[float]) -> bytes:
    return _little(values).tobytes()


def _unpacked(data: bytes) -> array[float]:
    values = array("d")
    values.frombytes(data)
    return _little(values)


def _little(values: array[float]) -> array[float]:
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values


# A compression dictionary: text that verdicts without content share, the most common last. Never
# change it, since files hold verdicts packed with it; add a better one with another first byte.
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
# Faster than validating the verdict; higher levels gain little.
_LEVEL = 6


def packed(text: str) -> bytes:
    """Compress JSON."""
    packer = zlib.compressobj(_LEVEL, zdict=_COMMON)
    return _FIRST + packer.compress(text.encode()) + packer.flush()


def unpacked(value: Any) -> Any:
    """Decompress packed JSON; return any other value unchanged."""
    if not isinstance(value, bytes):
        return value
    return zlib.decompressobj(zdict=_COMMON).decompress(value.removeprefix(_FIRST)).decode()


T = TypeVar("T")

# The time limit for one statement to wait for other processes' writes.
_PATIENCE_S = 5.0
_SET_UP = (
    "PRAGMA synchronous = NORMAL",
    # Overwrite deleted content.
    "PRAGMA secure_delete = ON",
    # Delete feedback with its entry.
    "PRAGMA foreign_keys = ON",
    "PRAGMA journal_size_limit = 4000000",
)
_EXISTS = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
# The key of an entry's words encodes its time, so that SQLite can find the newest first. This is
# the number of keys per millisecond.
_PLACES = 1 << 20
_LAST_S = 8.7e9
_INDEX = (
    "INSERT INTO resay_journal_words (key, entry_id, words) SELECT"  # noqa: S608 - our own names
    f" coalesce((SELECT max(w.key) + 1 FROM resay_journal_words w WHERE w.key >= e.key"
    f" AND w.key < e.key + {_PLACES}), e.key), e.id, ?"
    f" FROM (SELECT id, CAST(min(time, {_LAST_S}) * 1000 AS INTEGER) * {_PLACES} AS key"
    " FROM resay_journal_entries WHERE id = ?) e WHERE true ON CONFLICT DO NOTHING"
)
_WORDS = (
    "CREATE TABLE resay_journal_words ("
    " key INTEGER PRIMARY KEY,"
    " entry_id TEXT NOT NULL UNIQUE,"
    " words TEXT NOT NULL)",
    # Delete an entry's words with it, whichever way it is deleted.
    "CREATE TRIGGER resay_journal_words_delete AFTER DELETE ON resay_journal_entries BEGIN"
    " DELETE FROM resay_journal_words WHERE entry_id = OLD.id; END",
    # Verdicts without content are packed (blobs), and need no index.
    "INSERT INTO resay_journal_unindexed SELECT id FROM resay_journal_entries"
    " WHERE typeof(verdict) <> 'blob' OR question IS NOT NULL",
)
# The parts of migrations that are specific to SQLite, by version.
_OWN = {2: TABLES, 4: _WORDS}
# The full-text index, if SQLite has FTS5. It records only which entries contain each word.
_FOUND = "resay_journal_found"
_FULL_TEXT = (
    f"CREATE VIRTUAL TABLE {_FOUND} USING fts5 (words, content = 'resay_journal_words',"
    " content_rowid = 'key', detail = none, columnsize = 0,"
    " tokenize = \"ascii tokenchars '_~'\")",
    f"CREATE TRIGGER {_FOUND}_insert AFTER INSERT ON resay_journal_words BEGIN"  # noqa: S608 - our own names
    f" INSERT INTO {_FOUND} (rowid, words) VALUES (NEW.key, NEW.words); END",
    f"CREATE TRIGGER {_FOUND}_delete AFTER DELETE ON resay_journal_words BEGIN"  # noqa: S608 - our own names
    f" INSERT INTO {_FOUND} ({_FOUND}, rowid, words) VALUES ('delete', OLD.key, OLD.words); END",
    f"INSERT INTO {_FOUND} ({_FOUND}) VALUES ('rebuild')",  # noqa: S608 - our own names
)
# The number of index pages written at once: few enough not to block others for long.
_MERGED = 500
_MERGE = f"INSERT INTO {_FOUND} ({_FOUND}, rank) VALUES ('merge', ?)"  # noqa: S608 - our own names


@cache
def _has_full_text() -> bool:
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE tried USING fts5 (words)")
        except sqlite3.OperationalError:
            return False
    return True


_REFUSED = (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.InterfaceError, OverflowError)


class SqliteStore:
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

    def whole(self, sql: str) -> str:
        """Return the expression for the integer part of a number."""
        return f"CAST({sql} AS INTEGER)"

    def percentile(self, name: str, percent: int) -> str:
        """Return the expression for a percentile, from the ranks in the query."""
        return f"min(CASE WHEN {name}_rank * 100 >= entries * {percent} THEN {name}_s END)"

    @property
    def ranks(self) -> bool:
        """Whether percentiles need ranks: SQLite has no function for them."""
        return True

    def search(self, terms: Sequence[str], since: float | None, until: float | None) -> Search:
        """Return the search for entries with all of some terms."""
        if _has_full_text():
            quoted = (f'"{term[:-1]}"*' if term.endswith("*") else f'"{term}"' for term in terms)
            rows = f"{_FOUND} f JOIN resay_journal_words w ON w.key = f.rowid"
            holds, values, key = f"{_FOUND} MATCH ?", (" ".join(quoted),), "f.rowid"
        else:
            rows, key = "resay_journal_words w", "w.key"
            holds = " AND ".join(["' ' || w.words || ' ' LIKE ? ESCAPE '!'"] * len(terms))
            values = tuple(f"% {term} %".replace("_", "!_").replace("* ", "") for term in terms)
        limits = [
            f"{key} {sign} {_key(moment, rounded)}"
            for sign, moment, rounded in ((">=", since, floor), ("<", until, ceil))
            if moment is not None
        ]
        return Search(rows, holds, values, tuple(limits), ("key",))

    def newest(self, search: Search, before: SortKey | None, limit: int) -> tuple[str, Row]:
        """Return the query for the newest matching entries."""
        key = "f.rowid" if _has_full_text() else "w.key"
        conditions, values = [search.holds, *search.limits], search.values
        if before is not None:
            # If that entry was deleted, others of its millisecond may be returned again.
            known = "SELECT key FROM resay_journal_words WHERE entry_id = ?"
            end = _key(before.time, floor) + _PLACES
            conditions.append(f"{key} < coalesce(({known}), {end:d})")
            values = (*values, before.id)
        return (
            f"SELECT w.entry_id, w.key FROM {search.rows} WHERE {' AND '.join(conditions)}"  # noqa: S608 - our own names
            f" ORDER BY {key} DESC LIMIT ?",
            (*values, limit),
        )

    @property
    def index(self) -> str:
        """The statement that indexes an entry."""
        return _INDEX


def _key(moment: float, rounded: Callable[[float], int]) -> int:
    return rounded(max(0.0, min(moment, _LAST_S)) * 1000) * _PLACES


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

    async def change(self, sql: str, row: Row) -> int:
        """Run one statement that writes or deletes."""
        return await self._writing.do(lambda connection: connection.execute(sql, row).rowcount)

    async def read(self, sql: str, row: Row) -> list[Row]:
        """Run a query."""
        return await self._reading.do(
            lambda connection: [tuple(map(unpacked, r)) for r in connection.execute(sql, row)]
        )

    async def roll_up(self, now: float) -> bool:
        """Build some of the missing rollups."""

        def work(connection: sqlite3.Connection) -> bool:
            with transaction(connection):
                return roll_up(connection, now)

        return await self._writing.do(work)

    async def summed_up(
        self, since: float, until: float, step_s: float, by: str | None
    ) -> list[Row] | None:
        """Return the rows of slices made of whole stretches; None for other slices."""
        if not fits(since, until, step_s):
            return None

        def work(connection: sqlite3.Connection) -> list[Row]:
            # A consistent snapshot of rollups and entries.
            with transaction(connection, "BEGIN"):
                return summed_up(connection, since, until, step_s, by)

        return await self._reading.do(work)

    async def forget(self) -> bool:
        """Rewrite the index without deleted words, and empty the write-ahead log."""

        def work(connection: sqlite3.Connection) -> bool:
            if _has_full_text():
                before = connection.total_changes
                # A negative number starts to rewrite the whole index.
                connection.execute(_MERGE, (_MERGED if self._merging else -_MERGED,))
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
        except _REFUSED as error:
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
            written = connection.execute(statement, tuple(map(_smaller, row))).rowcount
            # Only for new entries: an existing one may have been stored with other text.
            if words and written:
                connection.execute(_INDEX, (words, row[0]))


def _smaller(value: object) -> object:
    return packed(value) if isinstance(value, ContentFree) else value


def _connect(path: Path) -> sqlite3.Connection:
    # At interpreter shutdown, the event loop's thread uses the connection.
    connection = open_database(path, _SET_UP, busy_timeout_s=_PATIENCE_S)
    try:
        _migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _migrate(connection: sqlite3.Connection) -> None:
    searched = not _has_full_text() or _has(connection, _FOUND)
    if _version(connection) == LATEST and searched:
        return
    with transaction(connection):
        # Another process may have been faster.
        version = _version(connection)
        for number, statements in enumerate(MIGRATIONS[version:], version + 1):
            for statement in (*statements, *_OWN.get(number, ())):
                connection.execute(statement)
        if _has_full_text() and not _has(connection, _FOUND):
            for statement in _FULL_TEXT:
                connection.execute(statement)
        connection.execute(FORGET_VERSION)
        connection.execute(SET_VERSION, (LATEST,))


def _has(connection: sqlite3.Connection, table: str) -> bool:
    return connection.execute(_EXISTS, (table,)).fetchone() is not None


def _version(connection: sqlite3.Connection) -> int:
    if not _has(connection, VERSIONS_TABLE):
        return 0
    (version,) = connection.execute(READ_VERSION).fetchone()
    if version > LATEST:
        raise newer(version)
    return version


def _reason(error: sqlite3.Error | OSError) -> str:
    # SQLite's messages name files and tables, never values.
    return (
        str(error) if isinstance(error, sqlite3.Error) else error.strerror or type(error).__name__
    )
