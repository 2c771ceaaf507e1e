"""The query for a summary, and its rows as slices."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from resay.adapters import Decision
from resay.errors import ConfigurationError
from resay_server.journal.database import Database
from resay_server.journal.entry import By, Slice
from resay_server.journal.filters import SqlFilters
from resay_server.journal.rows import Row

_MAX_SLICES = 10_000
DECISIONS: tuple[Decision, ...] = ("consistent", "flagged", "inconclusive", "skipped")
"""The decisions, in the order of their counts in the rows of a summary."""
_GROUPS: Mapping[By | None, str] = {
    "model": "model",
    "policy": "policy",
    "tenant": "tenant",
    "api": "api",
    None: "''",
}


def check_slices(since: float, until: float, step_s: float) -> None:
    """Check a span and its steps.

    Raises:
        ConfigurationError: The span is empty or has too many steps.
    """
    if not (since < until and step_s > 0 and ceil((until - since) / step_s) <= _MAX_SLICES):
        raise ConfigurationError(
            f"{since!r} to {until!r} in steps of {step_s!r} s does not give 1 to {_MAX_SLICES}"
            " slices; pass seconds since the epoch, and a longer step for a long span"
        )


def summary_query(database: Database, by: By | None, filters: SqlFilters) -> str:
    """Return the query for slices; its parameters are since, step and those of `filters`.

    Args:
        database: The database.
        by: The field to group by.
        filters: The filters.

    Raises:
        ConfigurationError: `by` is unknown.
    """
    if by not in _GROUPS:
        raise ConfigurationError(
            f"cannot group the journal by {by!r}; use one of"
            f" {', '.join(name for name in _GROUPS if name)}"
        )
    decisions = ", ".join(_count(f"decision = '{decision}'") for decision in DECISIONS)
    blocked, regenerated = _count("action = 'block'"), _count("action = 'regenerate'")
    percentiles = [
        database.percentile("latency", 50),
        database.percentile("latency", 95),
        database.percentile("check", 50),
        database.percentile("check", 95),
    ]
    ranks = ""
    if database.needs_ranks:
        ranks = (
            f", {_rank('latency_s')} AS latency_rank, {_rank('check_s')} AS check_rank,"
            " count(*) OVER (PARTITION BY slot, name) AS entries"
        )
    slot = database.integer_part("(time - ?) / ?")
    return (
        f"WITH chosen AS (SELECT {slot} AS slot, {_GROUPS[by]} AS name, decision, action,"  # noqa: S608 - our own words
        " latency_s, check_s, main_cost_usd, check_cost_usd"
        f" FROM resay_journal_entries e{filters.where}),"
        f" ranked AS (SELECT *{ranks} FROM chosen)"
        f" SELECT slot, name, count(*), {decisions},"
        f" {blocked}, {regenerated},"
        f" {', '.join(percentiles)},"
        " sum(coalesce(main_cost_usd, 0.0) + coalesce(check_cost_usd, 0.0)),"
        " sum(coalesce(check_cost_usd, 0.0)),"
        f" {_count('main_cost_usd IS NULL OR check_cost_usd IS NULL')}"
        " FROM ranked GROUP BY slot, name"
    )


def slice_of(row: Row, *, since: float, step_s: float, by: By | None) -> Slice:
    """Return the slice for a row of the query."""
    slot, name, entries, *counts_and_sums = row
    decisions = dict(zip(DECISIONS, counts_and_sums, strict=False))
    return Slice(
        since + slot * step_s,
        name if by else None,
        entries,
        decisions,
        # The fields of a slice are in the order of the query's columns.
        *counts_and_sums[len(DECISIONS) :],
    )


def _count(condition: str) -> str:
    return f"sum(CASE WHEN {condition} THEN 1 ELSE 0 END)"


def _rank(column: str) -> str:
    return f"row_number() OVER (PARTITION BY slot, name ORDER BY {column})"
