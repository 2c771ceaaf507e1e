"""The reader's query of the dashboard, from its address."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar, get_args
from urllib.parse import urlencode

from resay.adapters import Decision
from resay.errors import ConfigurationError
from resay_server.journal import By, Sort
from resay_server.journal.export import moment_of

T = TypeVar("T")
BYS: tuple[By, ...] = get_args(By)
DECISIONS: tuple[Decision, ...] = get_args(Decision)
_BY: Mapping[str, By] = {by: by for by in BYS}
_DECISION: Mapping[str, Decision] = {decision: decision for decision in DECISIONS}
_SORT: Mapping[str, Sort] = {sort: sort for sort in get_args(Sort)}
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400
_NAME_CHARS = 256
_SHOWN_CHARS = 80
_ID = re.compile(r"[!-~]{1,100}")


class BadQueryError(Exception):
    """A query has an invalid parameter."""


@dataclass(frozen=True, slots=True)
class FigureSpan:
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


SPANS: Mapping[str, FigureSpan] = {
    span.name: span
    for span in (
        FigureSpan("1h", "1 hour", _HOUR_S, _MINUTE_S, "minute", 15 * _MINUTE_S),
        FigureSpan("24h", "24 hours", _DAY_S, 30 * _MINUTE_S, "half hour", 6 * _HOUR_S),
        FigureSpan("7d", "7 days", 7 * _DAY_S, 3 * _HOUR_S, "3 hours", _DAY_S),
        FigureSpan("30d", "30 days", 30 * _DAY_S, 12 * _HOUR_S, "12 hours", 5 * _DAY_S),
    )
}


# The possible lengths of a chart's step, and distances between its labels.
_STEPS = (
    (_MINUTE_S, "minute"),
    (5 * _MINUTE_S, "5 minutes"),
    (30 * _MINUTE_S, "half hour"),
    (3 * _HOUR_S, "3 hours"),
    (12 * _HOUR_S, "12 hours"),
    (2 * _DAY_S, "2 days"),
    (14 * _DAY_S, "14 days"),
)
_TICKS = (15 * _MINUTE_S, _HOUR_S, 6 * _HOUR_S, _DAY_S, 5 * _DAY_S, 30 * _DAY_S, 180 * _DAY_S)
_MAX_POINTS, _MAX_LABELS = 60, 8


def custom_span(since: float, until: float) -> tuple[FigureSpan, float]:
    """Return a span of whole steps that covers the given times, and its start."""
    length_s = until - since
    step_s, step = _step_for(length_s)
    start = since // step_s * step_s
    span = FigureSpan(
        name="custom",
        title="the chosen time",
        length_s=math.ceil((until - start) / step_s) * step_s,
        step_s=step_s,
        step=step,
        tick_s=_tick_for(length_s, step_s),
    )
    return span, start


def _step_for(length_s: float) -> tuple[int, str]:
    for step_s, step in _STEPS:
        if length_s / step_s <= _MAX_POINTS:
            return step_s, step
    days = math.ceil(length_s / _MAX_POINTS / _DAY_S)
    return days * _DAY_S, f"{days} days"


def _tick_for(length_s: float, step_s: int) -> int:
    for tick_s in _TICKS:
        if length_s / tick_s <= _MAX_LABELS and tick_s >= step_s:
            return tick_s
    return math.ceil(length_s / _MAX_LABELS / step_s) * step_s


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

    span: FigureSpan = SPANS["24h"]
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
        changed = replace(self, **changes)
        pairs: list[tuple[str, str]] = []
        for parameter in fields(changed):
            value: object = getattr(changed, parameter.name)
            if value != parameter.default:
                text = value.name if isinstance(value, FigureSpan) else str(value)
                pairs.append((parameter.name, text))
        return f"?{urlencode(pairs)}" if pairs else ""


PARAMETERS = tuple(parameter.name for parameter in fields(DashboardQuery))
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
        raise BadQueryError(f"{key} must be one of {', '.join(choices)}, not {_quoted(value)}")
    return choices[value]


def _name(parameters: Mapping[str, str], key: str) -> str | None:
    value = parameters.get(key)
    if value and len(value) > _NAME_CHARS:
        raise BadQueryError(f"{key} has at most {_NAME_CHARS} characters, not {len(value)}")
    return value or None


def _id(parameters: Mapping[str, str], key: str) -> str | None:
    value = parameters.get(key)
    if value and not _ID.fullmatch(value):
        raise BadQueryError(f"{key} must be the id of a verdict, not {_quoted(value)}")
    return value or None


def _quoted(value: str) -> str:
    return repr(_cut(value, _SHOWN_CHARS))


def _cut(text: str, max_chars: int = 4 * _SHOWN_CHARS) -> str:
    return text if len(text) <= max_chars else f"{text[:max_chars]}…"
