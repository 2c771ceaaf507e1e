"""The journal in figures, for charts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Literal

from resay.core.verdict import Decision
from resay.errors import ConfigurationError
from resay.reporting.journal.session import Row

__all__ = ["By", "Slice", "check_span", "query", "slice_of"]

By = Literal["model", "policy", "tenant", "api"]

_MOST_SLICES = 10_000
_DECISIONS: tuple[Decision, ...] = ("consistent", "flagged", "inconclusive", "skipped")
_COLUMNS: Mapping[By | None, str] = {
    "model": "model",
    "policy": "policy",
    "tenant": "tenant",
    "api": "api",
    None: "''",
}


@dataclass(frozen=True, slots=True)
class Slice:
    """The entries of one stretch of time, of one model, policy, tenant or API where that was asked.

    A percentile is the least value that so many of the entries do not exceed (nearest rank), so it
    is one that was measured.

    Attributes:
        start: Where the stretch begins, in seconds since the epoch; it has the length of a step.
        name: The model, policy, tenant or API; None where all are together, or there is no tenant.
        entries: How many entries there are, at least 1.
        decisions: How many of them came to each decision.
        blocked: How many answers were withheld.
        regenerated: How many were given as they were written again.
        latency_p50_s: Half of the users waited no longer.
        latency_p95_s: 95 of 100 users waited no longer.
        check_p50_s: Half of the checks took no longer.
        check_p95_s: 95 of 100 checks took no longer.
        cost_usd: Dollars for all calls whose price is known, main calls and checks.
        check_cost_usd: Those for the checks.
        unpriced: Of how many entries the price is not known, or not all of it.
    """

    start: float
    name: str | None
    entries: int
    decisions: Mapping[Decision, int]
    blocked: int
    regenerated: int
    latency_p50_s: float
    latency_p95_s: float
    check_p50_s: float
    check_p95_s: float
    cost_usd: float
    check_cost_usd: float
    unpriced: int


def check_span(since: float, until: float, step_s: float) -> None:
    """See that a span can be drawn.

    Raises:
        ConfigurationError: It is empty, or has too many steps.
    """
    if not (since < until and step_s > 0 and ceil((until - since) / step_s) <= _MOST_SLICES):
        raise ConfigurationError(
            f"from {since!r} to {until!r} in steps of {step_s!r} s makes no 1 to {_MOST_SLICES}"
            " slices; give seconds since the epoch, and a longer step for a long time"
        )


def query(whole: Callable[[str], str], by: By | None) -> str:
    """Return the query for slices; its values are since, step, since and until.

    Args:
        whole: Gives the expression for the whole part of a number.
        by: What tells the slices of one stretch apart.

    Raises:
        ConfigurationError: Slices cannot be told apart by that.
    """
    if by not in _COLUMNS:
        raise ConfigurationError(
            f"the journal cannot be summed up by {by!r}; choose one of"
            f" {', '.join(name for name in _COLUMNS if name)}"
        )
    decisions = ", ".join(_count(f"decision = '{decision}'") for decision in _DECISIONS)
    blocked, regenerated = _count("action = 'block'"), _count("action = 'regenerate'")
    slot = whole("(time - ?) / ?")
    return (
        f"WITH chosen AS (SELECT {slot} AS slot, {_COLUMNS[by]} AS name, decision, action,"  # noqa: S608 - our own words
        " latency_s, check_s, main_cost_usd, check_cost_usd"
        " FROM resay_journal_entries WHERE time >= ? AND time < ?),"
        f" ranked AS (SELECT *, {_rank('latency_s')} AS latency_rank,"
        f" {_rank('check_s')} AS check_rank,"
        " count(*) OVER (PARTITION BY slot, name) AS entries FROM chosen)"
        f" SELECT slot, name, count(*), {decisions},"
        f" {blocked}, {regenerated},"
        f" {_percentile('latency', 50)}, {_percentile('latency', 95)},"
        f" {_percentile('check', 50)}, {_percentile('check', 95)},"
        " sum(coalesce(main_cost_usd, 0.0) + coalesce(check_cost_usd, 0.0)),"
        " sum(coalesce(check_cost_usd, 0.0)),"
        f" {_count('main_cost_usd IS NULL OR check_cost_usd IS NULL')}"
        " FROM ranked GROUP BY slot, name ORDER BY slot, name"
    )


def slice_of(row: Row, *, since: float, step_s: float, by: By | None) -> Slice:
    """Return what a row of the query says."""
    slot, name, entries, *rest = row
    counts = dict(zip(_DECISIONS, rest, strict=False))
    return Slice(since + slot * step_s, name if by else None, entries, counts, *rest[len(counts) :])


def _count(condition: str) -> str:
    return f"sum(CASE WHEN {condition} THEN 1 ELSE 0 END)"


def _rank(column: str) -> str:
    return f"row_number() OVER (PARTITION BY slot, name ORDER BY {column})"


def _percentile(name: str, percent: int) -> str:
    return f"min(CASE WHEN {name}_rank * 100 >= entries * {percent} THEN {name}_s END)"
