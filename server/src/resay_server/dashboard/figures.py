"""The figures of a span, computed from a journal."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import anyio.to_thread

from resay.adapters.event_loops import PerLoop
from resay_server.dashboard.frequent_findings import FrequentFindings, frequent_findings
from resay_server.dashboard.query import DashboardQuery, FigureSpan, custom_span
from resay_server.dashboard.texts import share
from resay_server.journal import By, Entry, Journal, Slice

# The maximum number of models, policies, tenants or APIs to show.
_MAX_PARTS = 20
# Figures stay fresh for 20 times as long as they took: at most a twentieth of the time per span.
_MIN_FRESH_S = 5.0
_FRESH_FACTOR = 20.0
# The number of newest entries per decision from which the most frequent findings are counted.
_MAX_ENTRIES = 200
# Fewer if they are long, since each has to be decoded.
_MAX_BYTES = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """A journal's statistics for a span.

    Attributes:
        span: The span.
        by: The field that entries are grouped by.
        since: The start of the span and of a step, in seconds since the epoch.
        until: The end of the span, or the time of the query if that was earlier.
        slices: The steps that have entries, by time.
        whole: The whole span; None if it has no entries.
        parts: The whole span for each model, policy, tenant or API, the most frequent first.
        left_out: The number of further parts.
        trends: The steps of each part, by name.
        frequent: The most frequent findings.
    """

    span: FigureSpan
    by: By
    since: float
    until: float
    slices: tuple[Slice, ...]
    whole: Slice | None
    parts: tuple[Slice, ...]
    left_out: int
    trends: Mapping[str | None, tuple[Slice, ...]]
    frequent: FrequentFindings


def checked(part: Slice) -> int:
    """Return the number of entries whose check was not skipped."""
    return part.entries - part.decisions["skipped"]


def flag_rate(part: Slice) -> float | None:
    """Return the share of the checked answers that were flagged, in [0, 1]."""
    return share(part.decisions["flagged"], checked(part))


@dataclass(slots=True)
class _CachedFigures:
    """Cached figures, and the time until which they are fresh."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    fresh_until: float = -math.inf
    figures: Figures | None = None


# The maximum number of queries whose figures are cached.
_MAX_CACHED = 50


@dataclass(slots=True)
class _LoopCache:
    """The figures cached for one event loop."""

    cached: dict[DashboardQuery, _CachedFigures] = field(
        default_factory=dict[DashboardQuery, _CachedFigures]
    )

    def figures_for(self, query: DashboardQuery) -> _CachedFigures:
        cached = self.cached[query] = self.cached.pop(query, None) or _CachedFigures()
        if len(self.cached) > _MAX_CACHED:
            del self.cached[next(iter(self.cached))]
        return cached

    async def aclose(self) -> None:
        self.cached.clear()


class FiguresCache:
    """Computes figures from a journal, and caches them for a while because that is slow.

    Args:
        journal: The journal.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._cache: PerLoop[_LoopCache] = PerLoop(_LoopCache, _LoopCache.aclose)

    async def get(self, query: DashboardQuery) -> Figures:
        """Return the figures for a query, computed now or recently.

        Args:
            query: The query; its order and page do not matter.

        Raises:
            JournalError: The journal cannot be read.
        """
        query = replace(query, sort=DashboardQuery().sort, before=None)
        cached = (await self._cache.get()).figures_for(query)
        # Concurrent readers of the same page share one computation.
        async with cached.lock:
            if cached.figures is not None and time.monotonic() < cached.fresh_until:
                return cached.figures
            started = time.monotonic()
            cached.figures = await self._compute(query)
            ended = time.monotonic()
            cached.fresh_until = ended + max(_MIN_FRESH_S, _FRESH_FACTOR * (ended - started))
            return cached.figures

    async def _compute(self, query: DashboardQuery) -> Figures:
        now = time.time()
        span, by = query.span, query.by
        if query.since or query.until:
            span, since = custom_span(*query.times(now))
            now = min(now, since + span.length_s)
        else:
            # Aligned to steps, or charts would change their shape with every refresh.
            since = now // span.step_s * span.step_s + span.step_s - span.length_s
        until = since + span.length_s
        summary, filters = self._journal.summary, query.filters
        slices = await summary(since, until, span.step_s, **filters)
        parts = await summary(since, until, span.length_s, by, **filters)
        trends: dict[str | None, list[Slice]] = {}
        if len(parts) <= 1:
            totals = parts
            for part in parts:
                trends[part.name] = slices
        else:
            # Percentiles of parts do not add up, so the whole needs its own query.
            totals = await summary(since, until, span.length_s, **filters)
            for step in await summary(since, until, span.step_s, by, **filters):
                trends.setdefault(step.name, []).append(step)
        parts.sort(key=lambda part: -part.entries)
        notable = await self._notable_entries(query, since, until)
        return Figures(
            span=span,
            by=by,
            since=since,
            until=now,
            slices=tuple(slices),
            whole=totals[0] if totals else None,
            parts=tuple(parts[:_MAX_PARTS]),
            left_out=max(0, len(parts) - _MAX_PARTS),
            trends={name: tuple(steps) for name, steps in trends.items()},
            frequent=await anyio.to_thread.run_sync(frequent_findings, notable),
        )

    async def _notable_entries(
        self, query: DashboardQuery, since: float, until: float
    ) -> list[Entry]:
        entries: list[Entry] = []
        for decision in ("flagged", "inconclusive"):
            if query.decision in (None, decision):
                filters: dict[str, Any] = {**query.filters, "decision": decision}
                entries += await self._journal.recent(
                    _MAX_ENTRIES, since=since, until=until, max_bytes=_MAX_BYTES, **filters
                )
        return entries
