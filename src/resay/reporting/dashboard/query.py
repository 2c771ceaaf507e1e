"""Parse the dashboard's queries, and compute the figures for them."""

from __future__ import annotations

import asyncio
import ipaddress
import math
import re
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar, cast, get_args
from urllib.parse import urlencode

import anyio.to_thread

from resay._internal.event_loops import PerLoop
from resay.core.verdict import Decision
from resay.errors import ConfigurationError
from resay.reporting.dashboard.texts import share
from resay.reporting.journal import By, Entry, Journal, Slice, Sort
from resay.reporting.journal.export import moment_of

T = TypeVar("T")
BYS: tuple[By, ...] = get_args(By)
DECISIONS: tuple[Decision, ...] = get_args(Decision)
_BY: Mapping[str, By] = {by: by for by in BYS}
_DECISION: Mapping[str, Decision] = {one: one for one in DECISIONS}
_SORT: Mapping[str, Sort] = {one: one for one in get_args(Sort)}
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400
_NAME_CHARS = 256
_SHOWN_CHARS = 80
_ID = re.compile(r"[!-~]{1,100}")


class BadQueryError(Exception):
    """A query has an invalid parameter."""


@dataclass(frozen=True, slots=True)
class Span:
    """The span of time that figures cover.

    Attributes:
        name: Its name in addresses.
        title: Its name on the page.
        length_s: Its length in seconds.
        step_s: The length of one step of its charts, in seconds.
        step: The same in words.
        tick_s: The distance between the labels of its charts, in seconds.
    """

    name: str
    title: str
    length_s: int
    step_s: int
    step: str
    tick_s: int


SPANS: Mapping[str, Span] = {
    span.name: span
    for span in (
        Span("1h", "1 hour", _HOUR_S, _MINUTE_S, "minute", 15 * _MINUTE_S),
        Span("24h", "24 hours", _DAY_S, 30 * _MINUTE_S, "half hour", 6 * _HOUR_S),
        Span("7d", "7 days", 7 * _DAY_S, 3 * _HOUR_S, "3 hours", _DAY_S),
        Span("30d", "30 days", 30 * _DAY_S, 12 * _HOUR_S, "12 hours", 5 * _DAY_S),
    )
}


# The possible lengths of a chart's step, and distances between its labels.
_CUSTOM = (
    (_MINUTE_S, "minute"),
    (5 * _MINUTE_S, "5 minutes"),
    (30 * _MINUTE_S, "half hour"),
    (3 * _HOUR_S, "3 hours"),
    (12 * _HOUR_S, "12 hours"),
    (2 * _DAY_S, "2 days"),
    (14 * _DAY_S, "14 days"),
)
_TICKS = (15 * _MINUTE_S, _HOUR_S, 6 * _HOUR_S, _DAY_S, 5 * _DAY_S, 30 * _DAY_S, 180 * _DAY_S)
_MOST_POINTS, _MOST_LABELS = 60, 8


def custom_span(since: float, until: float) -> tuple[Span, float]:
    """Return a span of whole steps that covers the given times, and its start."""
    length_s = until - since
    fitting = (one for one in _CUSTOM if length_s / one[0] <= _MOST_POINTS)
    days = math.ceil(length_s / _MOST_POINTS / _DAY_S)
    step, words = next(fitting, (days * _DAY_S, f"{days} days"))
    tick = next((one for one in _TICKS if length_s / one <= _MOST_LABELS and one >= step), None)
    tick = tick or math.ceil(length_s / _MOST_LABELS / step) * step
    start = since // step * step
    whole = math.ceil((until - start) / step) * step
    return Span("custom", "the chosen time", whole, step, words, tick), start


@dataclass(frozen=True, slots=True)
class DashboardQuery:
    """The reader's query. Filters are None for all verdicts.

    Attributes:
        span: The span of the figures.
        by: The field that the last table groups by.
        model: Only verdicts on answers of this model.
        policy: Only verdicts by this policy.
        decision: Only verdicts with this decision.
        tenant: Only verdicts for this tenant.
        request: Only verdicts of the request with this id.
        words: Only verdicts whose text contains each of these words.
        since: Only verdicts from this time on, in the format of `moment_of`; it overrides the span.
        until: Only verdicts before this time.
        sort: The order of the list.
        before: Only verdicts after the entry with this id in that order.
    """

    span: Span = SPANS["24h"]
    by: By = "model"
    model: str | None = None
    policy: str | None = None
    decision: Decision | None = None
    tenant: str | None = None
    request: str | None = None
    words: str | None = None
    since: str | None = None
    until: str | None = None
    sort: Sort = "newest"
    before: str | None = None

    @property
    def filters(self) -> dict[str, Any]:
        """The filters, as arguments for `Journal.recent` and `Journal.summary`."""
        return {
            "model": self.model,
            "policy": self.policy,
            "decision": self.decision,
            "tenant": self.tenant,
            "request_id": self.request,
            "words": self.words,
        }

    @property
    def filtered(self) -> bool:
        """Whether any filter is set."""
        return any((*self.filters.values(), self.since, self.until))

    @property
    def dated(self) -> bool:
        """Whether the list covers a limited time, by choice or because its order needs one."""
        return bool(self.since or self.until) or self.sort != "newest"

    @property
    def unfiltered(self) -> DashboardQuery:
        """The same span and grouping, without filters and in the default order."""
        return DashboardQuery(self.span, self.by)

    def times(self, now: float) -> tuple[float, float]:
        """Return the start and the end, in seconds since the epoch.

        Args:
            now: Seconds since the epoch.
        """
        until = moment_of("until", self.until, now)
        since = moment_of("since", self.since, now)
        end = now if until is None else until
        return (max(0.0, end - self.span.length_s) if since is None else since), end

    def list_arguments(self, now: float) -> dict[str, Any]:
        """Return the arguments for `Journal.recent`.

        Args:
            now: Seconds since the epoch.
        """
        limits: dict[str, float] = {}
        if self.dated:
            since, until = self.times(now)
            limits = {"since": since} | ({"until": until} if self.until else {})
        return {**self.filters, **limits, "sort": self.sort}

    def query_string(self, **changes: Any) -> str:
        """Return the query string, with its question mark; empty for the defaults.

        Args:
            changes: Attributes to change first.
        """
        chosen = replace(self, **changes)
        pairs: list[tuple[str, str]] = []
        for part in fields(chosen):
            value: object = getattr(chosen, part.name)
            if value != part.default:
                pairs.append((part.name, value.name if isinstance(value, Span) else str(value)))
        return f"?{urlencode(pairs)}" if pairs else ""


PARAMETERS = tuple(part.name for part in fields(DashboardQuery))
"""The names of the query's parameters."""


def parse_query(parameters: Mapping[str, str]) -> DashboardQuery:
    """Parse a query. Empty values and unknown names are ignored.

    Raises:
        BadQueryError: A parameter's value is invalid.
    """
    query = DashboardQuery(
        span=_choice(parameters, "span", SPANS) or DashboardQuery().span,
        by=_choice(parameters, "by", _BY) or DashboardQuery().by,
        model=_name(parameters, "model"),
        policy=_name(parameters, "policy"),
        decision=_choice(parameters, "decision", _DECISION),
        tenant=_name(parameters, "tenant"),
        request=_name(parameters, "request"),
        words=_name(parameters, "words"),
        since=_name(parameters, "since"),
        until=_name(parameters, "until"),
        sort=_choice(parameters, "sort", _SORT) or DashboardQuery().sort,
        before=_id(parameters, "before"),
    )
    try:
        since, until = query.times(time.time())
    except ConfigurationError as error:
        raise BadQueryError(_cut(str(error))) from None
    if since >= until:
        raise BadQueryError("since must be before until, and before now")
    return query


def _choice(parameters: Mapping[str, str], key: str, choices: Mapping[str, T]) -> T | None:
    value = parameters.get(key)
    if not value:
        return None
    if value not in choices:
        known = ", ".join(choices)
        raise BadQueryError(f"{key} must be one of {known}, not {_short(value)}")
    return choices[value]


def _name(parameters: Mapping[str, str], key: str) -> str | None:
    value = parameters.get(key)
    if value and len(value) > _NAME_CHARS:
        raise BadQueryError(f"{key} has at most {_NAME_CHARS} characters, not {len(value)}")
    return value or None


def _id(parameters: Mapping[str, str], key: str) -> str | None:
    value = parameters.get(key)
    if value and not _ID.fullmatch(value):
        raise BadQueryError(f"{key} must be the id of a verdict, not {_short(value)}")
    return value or None


def _short(value: str) -> str:
    return repr(_cut(value, _SHOWN_CHARS))


def _cut(value: str, most: int = 4 * _SHOWN_CHARS) -> str:
    return value if len(value) <= most else f"{value[:most]}…"


# The maximum number of models, policies, tenants or APIs to show.
_MOST_PARTS = 20
# Figures stay fresh for 20 times as long as they took: at most a twentieth of the time per span.
_LEAST_FRESH_S = 5.0
_REST = 20.0


# The number of newest entries per decision from which the most frequent findings are counted.
_LOOKED_AT = 200
# Fewer if they are long, since each has to be decoded.
_MOST_BYTES = 4_000_000
_MOST_FREQUENT = 5
_CLAIM_CHARS = 200
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class Frequent:
    """The most frequent findings in the newest flagged and inconclusive entries of a span.

    Each list has pairs of a text and its count, the most frequent first.

    Attributes:
        entries: The number of entries examined.
        methods: The methods whose scores flagged claims.
        contradictions: The kinds of difference between claims and evidence, if text was stored.
        claims: The flagged claims, if text was stored.
        reasons: The reasons of verdicts, with `#` for each number.
    """

    entries: int
    methods: tuple[tuple[str, int], ...]
    contradictions: tuple[tuple[str, int], ...]
    claims: tuple[tuple[str, int], ...]
    reasons: tuple[tuple[str, int], ...]


def frequent_in(entries: Iterable[Entry]) -> Frequent:
    """Return the most frequent findings in entries."""
    found: dict[str, Counter[str]] = {
        name: Counter() for name in ("methods", "contradictions", "claims", "reasons")
    }
    count = 0
    for entry in entries:
        count += 1
        found["reasons"][_DIGITS.sub("#", entry.reason)] += 1
        for claim in flagged_in(entry.verdict):
            if claim.get("by"):
                found["methods"][str(claim["by"])] += 1
            if claim.get("text"):
                found["claims"][str(claim["text"])[:_CLAIM_CHARS]] += 1
            against = claim.get("contradicted_by")
            if isinstance(against, Mapping):
                kind = cast("Mapping[str, object]", against).get("kind", "other")
                found["contradictions"][str(kind)] += 1
    return Frequent(count, **{k: tuple(v.most_common(_MOST_FREQUENT)) for k, v in found.items()})


def flagged_in(verdict: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the flagged claims of a verdict in JSON, or its flagged sentences if it has none."""
    held: object = verdict.get("claims") or verdict.get("sentences") or ()
    parts = cast("list[object]", held) if isinstance(held, list) else []
    found = [cast("Mapping[str, Any]", part) for part in parts if isinstance(part, Mapping)]
    return [part for part in found if part.get("flagged")]


@dataclass(frozen=True, slots=True)
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

    span: Span
    by: By
    since: float
    until: float
    slices: tuple[Slice, ...]
    whole: Slice | None
    parts: tuple[Slice, ...]
    left_out: int
    trends: Mapping[str | None, tuple[Slice, ...]]
    frequent: Frequent


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

    def of(self, query: DashboardQuery) -> _CachedFigures:
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
        cached = (await self._cache.get()).of(query)
        # Concurrent readers of the same page share one computation.
        async with cached.lock:
            if cached.figures is not None and time.monotonic() < cached.fresh_until:
                return cached.figures
            began = time.monotonic()
            cached.figures = await self._compute(query)
            ended = time.monotonic()
            cached.fresh_until = ended + max(_LEAST_FRESH_S, _REST * (ended - began))
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
        ask, filters = self._journal.summary, query.filters
        slices = await ask(since, until, span.step_s, **filters)
        parts = await ask(since, until, span.length_s, by, **filters)
        # Percentiles of parts do not add up, so the whole needs its own query.
        alone = len(parts) <= 1
        whole = parts if alone else await ask(since, until, span.length_s, **filters)
        trends: dict[str | None, list[Slice]] = {}
        if alone:
            trends = {part.name: slices for part in parts}
        else:
            for one in await ask(since, until, span.step_s, by, **filters):
                trends.setdefault(one.name, []).append(one)
        doubtful = await self._doubtful(query, since, until)
        parts.sort(key=lambda part: -part.entries)
        return Figures(
            span=span,
            by=by,
            since=since,
            until=now,
            slices=tuple(slices),
            whole=next(iter(whole), None),
            parts=tuple(parts[:_MOST_PARTS]),
            left_out=max(0, len(parts) - _MOST_PARTS),
            trends={name: tuple(of) for name, of in trends.items()},
            frequent=await anyio.to_thread.run_sync(frequent_in, doubtful),
        )

    async def _doubtful(self, query: DashboardQuery, since: float, until: float) -> list[Entry]:
        found: list[Entry] = []
        limits = {"since": since, "until": until}
        for decision in ("flagged", "inconclusive"):
            if query.decision in (None, decision):
                filters: dict[str, Any] = {**query.filters, "decision": decision, **limits}
                recent = self._journal.recent
                found += await recent(_LOOKED_AT, max_bytes=_MOST_BYTES, **filters)
        return found


def is_trusted_host(host: str, names: Collection[str]) -> bool:
    """Return whether a `Host` header is safe from DNS rebinding.

    An attack needs a name that the attacker controls; IP addresses are always safe.

    Args:
        host: The name or address in the header, in lower case and without a port.
        names: The accepted names.
    """
    if host == "localhost" or host in names:
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
