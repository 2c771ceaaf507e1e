"""Rollups: the statistics of past buckets of time, kept beside the entries.

A rollup holds the data that `summary` needs of one bucket, half an hour: counts, sums, and the
sorted latencies, so that percentiles are exact. It is built once the half hour is over. Triggers
delete it when any program writes or deletes an entry of that time. Until it is built again, the
entries themselves are read, so the results are the same with and without rollups.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import fsum, inf, isqrt
from operator import itemgetter
from typing import TypeVar

from resay_server.journal.migrations import BUCKET_S
from resay_server.journal.rows import Row
from resay_server.journal.summary import DECISIONS

K = TypeVar("K")
# Entries made before the end of a bucket may be written a moment after it.
LATE_S = 60.0
# The number of entries read at once: few enough not to block other users of the file for long.
MAX_ROWS = 20_000
# Up to this many values, sorting all of them is the fastest.
_FEW_VALUES = 2000
_FIELDS = ("model", "policy", "tenant", "api")
_COUNTS = len(DECISIONS) + 3

# The newest first, since they are read most.
CHANGED = "SELECT bucket FROM resay_journal_changed WHERE bucket < ? ORDER BY bucket DESC"
MARK_BUILT = "DELETE FROM resay_journal_changed WHERE bucket = ?"
ENTRIES = (
    "SELECT time, model, policy, tenant, api, decision, action, latency_s, check_s,"
    " main_cost_usd, check_cost_usd FROM resay_journal_entries WHERE time >= ? AND time < ?"
)
INSERT_ROLLUP = f"INSERT INTO resay_journal_rollups VALUES ({', '.join(['?'] * (7 + _COUNTS))})"  # noqa: S608 - our own names
ROLLUPS = (
    "SELECT bucket, name, consistent, flagged, inconclusive, skipped, blocked, regenerated,"
    " unpriced, cost_usd, check_cost_usd,"
    " coalesce(latencies, (SELECT w.latencies FROM resay_journal_rollups w"
    "  WHERE w.bucket = r.bucket AND w.field = '')),"
    " coalesce(checks, (SELECT w.checks FROM resay_journal_rollups w"
    "  WHERE w.bucket = r.bucket AND w.field = ''))"
    " FROM resay_journal_rollups r WHERE bucket >= ? AND bucket < ? AND field = ?"
)


class _Statistics:
    """Statistics of some entries."""

    __slots__ = ("check_costs", "checks", "costs", "counts", "latencies")

    def __init__(self) -> None:
        # The count of each decision, then of those blocked, regenerated and unpriced.
        self.counts = [0] * _COUNTS
        self.costs: list[float] = []
        self.check_costs: list[float] = []
        # Each array is sorted.
        self.latencies: list[array[float]] = []
        self.checks: list[array[float]] = []

    def add_entries(self, entries: Sequence[Row]) -> None:
        """Add entries, as rows of `ENTRIES`."""
        latencies: list[float] = []
        checks: list[float] = []
        for *_, decision, action, latency, check, main_cost, check_cost in entries:
            if decision in DECISIONS:
                self.counts[DECISIONS.index(decision)] += 1
            self.counts[-3] += action == "block"
            self.counts[-2] += action == "regenerate"
            self.counts[-1] += main_cost is None or check_cost is None
            self.costs.append((main_cost or 0.0) + (check_cost or 0.0))
            self.check_costs.append(check_cost or 0.0)
            latencies.append(latency)
            checks.append(check)
        self.latencies.append(array("d", sorted(latencies)))
        self.checks.append(array("d", sorted(checks)))

    def add_rollup(self, row: Row) -> None:
        """Add a rollup, as a row of `ROLLUPS` without its bucket and name."""
        *counts, cost, check_cost, latencies, checks = row
        for i, count in enumerate(counts):
            self.counts[i] += count
        self.costs.append(cost)
        self.check_costs.append(check_cost)
        self.latencies.append(_array_of(latencies))
        self.checks.append(_array_of(checks))

    def rollup(self) -> Row:
        """Return the values of a rollup, if entries were added once."""
        (latencies,), (checks,) = self.latencies, self.checks
        return (
            *self.counts,
            fsum(self.costs),
            fsum(self.check_costs),
            _bytes_of(latencies),
            _bytes_of(checks),
        )

    def summary_values(self) -> Row:
        """Return the values of a row of a summary's query."""
        *counts, unpriced = self.counts
        entries = sum(map(len, self.latencies))
        ranks = [(entries * percent + 99) // 100 for percent in (50, 95)]
        return (
            entries,
            *counts,
            *values_of_ranks(self.latencies, ranks),
            *values_of_ranks(self.checks, ranks),
            fsum(self.costs),
            fsum(self.check_costs),
            unpriced,
        )


def rollups_of(bucket: int, entries: Sequence[Row]) -> Iterator[Row]:
    """Yield the rollups of a bucket, as values for `INSERT_ROLLUP`.

    The first is that of all its entries; then those by each field.

    Args:
        bucket: The bucket's number.
        entries: Its entries, as rows of `ENTRIES`.
    """
    total = _Statistics()
    total.add_entries(entries)
    yield (bucket, "", None, *total.rollup())
    for column, field in enumerate(_FIELDS, 1):
        groups = _grouped(entries, itemgetter(column))
        for name, group in groups.items():
            statistics = _Statistics()
            statistics.add_entries(group)
            *counts_and_sums, latencies, checks = statistics.rollup()
            if len(groups) == 1:
                # They are those of the whole bucket.
                latencies = checks = None
            yield (bucket, field, name, *counts_and_sums, latencies, checks)


def consists_of_buckets(since: float, until: float, step_s: float) -> bool:
    """Return whether slices are made of whole buckets."""
    return not any(value % BUCKET_S for value in (since, until, step_s))


def bucket_times(first: int, end: int) -> tuple[float, float]:
    """Return the start and the end of some buckets, in seconds since the epoch.

    Args:
        first: The first bucket.
        end: The bucket after the last.
    """
    return float(first * BUCKET_S), float(end * BUCKET_S)


def summary_rows(
    rollups: Iterable[Row], entries: Iterable[Row], since: float, step_s: float, by: str | None
) -> list[Row]:
    """Return the rows of a summary's query from rollups and entries.

    Args:
        rollups: The rollups, as rows of `ROLLUPS`.
        entries: The entries of the other buckets, as rows of `ENTRIES`.
        since: The start of the span, in seconds since the epoch.
        step_s: The length of a slice, in seconds.
        by: The field to group the entries of a step by; None for one slice per step.
    """
    first, step = int(since) // BUCKET_S, int(step_s) // BUCKET_S
    slices: dict[tuple[int, str | None], _Statistics] = {}
    for bucket, name, *values in rollups:
        statistics = slices.setdefault(((bucket - first) // step, name), _Statistics())
        statistics.add_rollup(tuple(values))
    column = _FIELDS.index(by) + 1 if by else None

    def slice_key(entry: Row) -> tuple[int, str | None]:
        return int((entry[0] - since) // step_s), None if column is None else entry[column]

    for key, group in _grouped(entries, slice_key).items():
        slices.setdefault(key, _Statistics()).add_entries(group)
    return [(*key, *statistics.summary_values()) for key, statistics in slices.items()]


def _grouped(entries: Iterable[Row], key: Callable[[Row], K]) -> Mapping[K, list[Row]]:
    groups: dict[K, list[Row]] = {}
    for entry in entries:
        groups.setdefault(key(entry), []).append(entry)
    return groups


def values_of_ranks(runs: Sequence[array[float]], ranks: Sequence[int]) -> list[float]:
    """Return the values with some ranks among all values of sorted runs; the lowest has rank 1.

    Every n-th value of each run is a mark. The marks bound the value of a rank, and only the values
    between its bounds are sorted.
    """
    total = sum(map(len, runs))
    if total <= _FEW_VALUES:
        values = sorted(chain.from_iterable(runs))
        return [values[rank - 1] for rank in ranks]
    interval = isqrt(total // len(runs)) or 1
    marks: list[float] = []
    for run in runs:
        marks += run[interval - 1 :: interval]
    marks.sort()
    return [_value_of_rank(runs, rank, marks, interval) for rank in ranks]


def _value_of_rank(
    runs: Sequence[array[float]], rank: int, marks: Sequence[float], interval: int
) -> float:
    # Fewer than `interval` values of each run lie between one of its marks and the next.
    marks_below = (rank - len(runs) * interval) // interval
    lower = marks[marks_below - 1] if marks_below > 0 else -inf
    marks_up_to = -(-rank // interval)
    upper = marks[marks_up_to - 1] if marks_up_to <= len(marks) else inf
    if lower == upper:
        return lower
    below = 0
    between: list[float] = []
    for run in runs:
        start = bisect_left(run, lower)
        below += start
        between += run[start : bisect_right(run, upper, start)]
    between.sort()
    return between[rank - 1 - below]


def _bytes_of(values: array[float]) -> bytes:
    return _little_endian(values).tobytes()


def _array_of(data: bytes) -> array[float]:
    values = array("d")
    values.frombytes(data)
    return _little_endian(values)


def _little_endian(values: array[float]) -> array[float]:
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values
