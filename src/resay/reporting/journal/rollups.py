"""Figures of stretches of time that are over, kept beside the entries of a file.

A rollup holds what `summary` wants of one half hour: counts, sums, and the sorted latencies, so
that percentiles are those of the entries and no estimates. It is made when the half hour is over.
Triggers remove it when an entry of that time is written or removed, by whatever program, and until
it is made again the entries themselves are read: figures are the same with rollups and without.
"""

from __future__ import annotations

import sqlite3
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import fsum, inf, isqrt
from operator import itemgetter
from typing import TypeVar

from resay.reporting.journal.database import Row

K = TypeVar("K")
WIDTH_S = 1800
"""How long the stretch of one rollup is, in seconds."""
# Entries that were made before the end of a stretch may be written a moment after.
_LATE_S = 60.0
# So many are read at once, so that nobody waits long for the file meanwhile.
_MOST_ROWS = 20_000
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
    # NULL where all entries of the stretch have this name.
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
# The newest first: they are asked for most.
_CHANGED = "SELECT stretch FROM resay_journal_changed WHERE stretch < ? ORDER BY stretch DESC"
_SETTLED = "DELETE FROM resay_journal_changed WHERE stretch = ?"
_ENTRIES = (
    "SELECT time, model, policy, tenant, api, decision, action, latency_s, check_s,"
    " main_cost_usd, check_cost_usd FROM resay_journal_entries WHERE time >= ? AND time < ?"
)
_KEEP = f"INSERT INTO resay_journal_rollups VALUES ({', '.join(['?'] * (7 + _COUNTS))})"  # noqa: S608 - our own names
_DONE = (
    "SELECT stretch FROM resay_journal_rollups"
    " WHERE stretch >= ? AND stretch < ? AND field = '' ORDER BY stretch"
)
_KEPT = (
    "SELECT stretch, name, consistent, flagged, inconclusive, skipped, blocked, regenerated,"
    " unpriced, cost_usd, check_cost_usd,"
    " coalesce(latencies, (SELECT w.latencies FROM resay_journal_rollups w"
    "  WHERE w.stretch = r.stretch AND w.field = '')),"
    " coalesce(checks, (SELECT w.checks FROM resay_journal_rollups w"
    "  WHERE w.stretch = r.stretch AND w.field = ''))"
    " FROM resay_journal_rollups r WHERE stretch >= ? AND stretch < ? AND field = ?"
)


class _Figures:
    """What is known of some entries."""

    __slots__ = ("check_costs", "checks", "costs", "counts", "latencies")

    def __init__(self) -> None:
        self.counts = [0] * _COUNTS
        self.costs: list[float] = []
        self.check_costs: list[float] = []
        # Each of them is sorted.
        self.latencies: list[array[float]] = []
        self.checks: list[array[float]] = []

    def add_entries(self, entries: Sequence[Row]) -> None:
        """Add entries, as `_ENTRIES` gives them."""
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
        """Add a rollup, as `_KEPT` gives it, without its stretch and name."""
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
        """Return the values that the query of a summary gives."""
        *counts, unpriced = self.counts
        entries = sum(map(len, self.latencies))
        ranks = [(entries * percent + 99) // 100 for percent in (50, 95)]
        percentiles = (*nearest(self.latencies, ranks), *nearest(self.checks, ranks))
        costs = fsum(self.costs), fsum(self.check_costs)
        return (entries, *counts, *percentiles, *costs, unpriced)


def roll_up(connection: sqlite3.Connection, now: float) -> bool:
    """Make some of the rollups that are missing, in a transaction of the caller.

    Args:
        connection: The file.
        now: Seconds since the epoch; what lies after is not over.

    Returns:
        Whether there may be more to make.
    """
    read = 0
    changed = connection.execute(_CHANGED, ((now - _LATE_S) // WIDTH_S,)).fetchall()
    for (stretch,) in changed:
        if read >= _MOST_ROWS:
            return True
        span = (float(stretch * WIDTH_S), float((stretch + 1) * WIDTH_S))
        entries = connection.execute(_ENTRIES, span).fetchall()
        read += len(entries)
        if entries:
            connection.executemany(_KEEP, list(_rollups(stretch, entries)))
        connection.execute(_SETTLED, (stretch,))
    return False


def _rollups(stretch: int, entries: Sequence[Row]) -> Iterator[Row]:
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
    """Return what the query of a summary does, of slices made of whole stretches.

    Args:
        connection: The file, in a transaction, so that rollups and entries are of one moment.
        since: Where the span begins, in seconds since the epoch.
        until: Where it ends.
        step_s: How long a slice is, in seconds.
        by: The field that separates the slices of one stretch; None for one slice each.
    """
    first, end, step = (int(value) // WIDTH_S for value in (since, until, step_s))
    slices: dict[tuple[int, str | None], _Figures] = {}
    for stretch, name, *row in connection.execute(_KEPT, (first, end, by or "")):
        slices.setdefault(((stretch - first) // step, name), _Figures()).add_kept(tuple(row))
    column = _FIELDS.index(by) + 1 if by else None

    def key_of(entry: Row) -> tuple[int, str | None]:
        return int((entry[0] - since) // step_s), None if column is None else entry[column]

    done = [stretch for (stretch,) in connection.execute(_DONE, (first, end))]
    for start, stop in _gaps(done, first, end):
        span = (float(start * WIDTH_S), float(stop * WIDTH_S))
        parts = _parted(connection.execute(_ENTRIES, span), key_of)
        for key, part in parts.items():
            slices.setdefault(key, _Figures()).add_entries(part)
    # No name comes first, as in the query.
    ordered = sorted(slices, key=lambda key: (key[0], key[1] is not None, key[1] or ""))
    return [(*key, *slices[key].shown()) for key in ordered]


def _gaps(done: Sequence[int], first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the runs of stretches that are missing."""
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
    """Return the values of ranks among all values of sorted runs, the least of them having rank 1.

    Every so many-th value of each run says between which two a value lies; only what lies there is
    sorted.
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
