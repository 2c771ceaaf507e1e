"""What a reader asks for in the address, and the figures that answer it."""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar, get_args
from urllib.parse import urlencode

from resay._internal.event_loops import PerLoop
from resay.core.verdict import Decision
from resay.reporting.dashboard.texts import share
from resay.reporting.journal import By, Journal, Slice

T = TypeVar("T")
BYS: tuple[By, ...] = get_args(By)
DECISIONS: tuple[Decision, ...] = get_args(Decision)
_BY: Mapping[str, By] = {by: by for by in BYS}
_DECISION: Mapping[str, Decision] = {one: one for one in DECISIONS}
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400
_NAME_CHARS = 256
_SHOWN_CHARS = 80
_ID = re.compile(r"[!-~]{1,100}")


class BadQueryError(Exception):
    """An address asks for something that there is not."""


@dataclass(frozen=True, slots=True)
class Span:
    """How far back figures go.

    Attributes:
        name: What it is called in addresses.
        title: What it is called on the page.
        length_s: How long it is, in seconds.
        step_s: How long one point of its charts stands for, in seconds.
        step: The same in words.
        tick_s: How far apart the labels of the charts are, in seconds.
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


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a page is to show.

    Attributes:
        span: How far back the figures go.
        by: The field of the last table.
        model: Only verdicts about this model; None for all, as below.
        policy: Only those of this policy.
        decision: Only those with this decision.
        tenant: Only those of this tenant.
        before: Only those older than the entry with this id.
    """

    span: Span = SPANS["24h"]
    by: By = "model"
    model: str | None = None
    policy: str | None = None
    decision: Decision | None = None
    tenant: str | None = None
    before: str | None = None

    @property
    def filters(self) -> dict[str, Any]:
        """What the entries of the list must hold, as arguments of `Journal.recent`."""
        return {
            "model": self.model,
            "policy": self.policy,
            "decision": self.decision,
            "tenant": self.tenant,
        }

    @property
    def filtered(self) -> bool:
        """Whether the list leaves anything out."""
        return any(value is not None for value in self.filters.values())

    @property
    def unfiltered(self) -> Wanted:
        """The same with the newest verdicts of all."""
        return Wanted(self.span, self.by)

    def query(self, **changes: Any) -> str:
        """Return the address's query, with its question mark; empty where nothing is chosen.

        Args:
            changes: What to choose otherwise.
        """
        chosen = replace(self, **changes)
        pairs: list[tuple[str, str]] = []
        for part in fields(chosen):
            value: object = getattr(chosen, part.name)
            if value != part.default:
                pairs.append((part.name, value.name if isinstance(value, Span) else str(value)))
        return f"?{urlencode(pairs)}" if pairs else ""


def wanted_of(query: Mapping[str, str]) -> Wanted:
    """Read what an address asks for; empty values and unknown names count as not there.

    Raises:
        BadQueryError: There is no such span, decision or page.
    """
    return Wanted(
        span=_chosen(query, "span", SPANS) or Wanted().span,
        by=_chosen(query, "by", _BY) or Wanted().by,
        model=_name(query, "model"),
        policy=_name(query, "policy"),
        decision=_chosen(query, "decision", _DECISION),
        tenant=_name(query, "tenant"),
        before=_id(query, "before"),
    )


def _chosen(query: Mapping[str, str], key: str, choices: Mapping[str, T]) -> T | None:
    value = query.get(key)
    if not value:
        return None
    if value not in choices:
        known = ", ".join(choices)
        raise BadQueryError(f"{key} must be one of {known}, not {_short(value)}")
    return choices[value]


def _name(query: Mapping[str, str], key: str) -> str | None:
    value = query.get(key)
    if value and len(value) > _NAME_CHARS:
        raise BadQueryError(f"{key} has at most {_NAME_CHARS} characters, not {len(value)}")
    return value or None


def _id(query: Mapping[str, str], key: str) -> str | None:
    value = query.get(key)
    if value and not _ID.fullmatch(value):
        raise BadQueryError(f"{key} must be the id of a verdict, not {_short(value)}")
    return value or None


def _short(value: str) -> str:
    return repr(value if len(value) <= _SHOWN_CHARS else f"{value[:_SHOWN_CHARS]}…")


# How many models, policies, tenants or APIs are distinguished.
_MOST_PARTS = 20
# At most a twentieth of the time is spent on the figures of one span.
_LEAST_FRESH_S = 5.0
_REST = 20.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What a journal says of a span.

    Attributes:
        span: The span.
        by: The field that separates the parts.
        since: Where it begins, in seconds since the epoch: where a step begins.
        until: Where it ended, when the journal was asked.
        slices: The steps in which there are entries, by time.
        whole: The whole span; None where it has no entries.
        parts: The whole span of each model, policy, tenant or API; the most frequent first.
        left_out: How many more parts there are.
    """

    span: Span
    by: By
    since: float
    until: float
    slices: tuple[Slice, ...]
    whole: Slice | None
    parts: tuple[Slice, ...]
    left_out: int


def checked(part: Slice) -> int:
    """Return how many entries are of answers in which there was something to check."""
    return part.entries - part.decisions["skipped"]


def flag_rate(part: Slice) -> float | None:
    """Return how many of the checked answers were flagged, in [0, 1]."""
    return share(part.decisions["flagged"], checked(part))


@dataclass(slots=True)
class _Kept:
    """What one event loop was told last, and until when that is fresh."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    known: dict[tuple[str, By], tuple[float, Figures]] = field(
        default_factory=dict[tuple[str, By], tuple[float, Figures]]
    )

    async def aclose(self) -> None:
        self.known.clear()


class FiguresDesk:
    """Asks a journal for figures, and remembers them for a while: they take it long.

    Args:
        journal: The journal.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._kept: PerLoop[_Kept] = PerLoop(_Kept, _Kept.aclose)

    async def get(self, span: Span, by: By) -> Figures:
        """Return the figures of a span that ends now, or ended a moment ago.

        Raises:
            JournalError: The journal cannot be read.
        """
        kept = await self._kept.get()
        # Many readers of the same page wait for one answer.
        async with kept.lock:
            fresh_until, figures = kept.known.get((span.name, by), (-math.inf, None))
            if figures is not None and time.monotonic() < fresh_until:
                return figures
            began = time.monotonic()
            figures = await self._ask(span, by)
            ended = time.monotonic()
            fresh_s = max(_LEAST_FRESH_S, _REST * (ended - began))
            kept.known[span.name, by] = ended + fresh_s, figures
            return figures

    async def _ask(self, span: Span, by: By) -> Figures:
        now = time.time()
        # Charts that begin anywhere would change their shape each time.
        since = now // span.step_s * span.step_s + span.step_s - span.length_s
        until = since + span.length_s
        slices = await self._journal.summary(since, until, span.step_s)
        parts = await self._journal.summary(since, until, span.length_s, by)
        # Percentiles of parts cannot be added up, so the whole is asked for, too.
        alone = len(parts) <= 1
        whole = parts if alone else await self._journal.summary(since, until, span.length_s)
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
        )
