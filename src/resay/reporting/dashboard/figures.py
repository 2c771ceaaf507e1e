"""The figures of a span, asked of the journal no more often than it can bear."""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass, field

from resay._internal.loops import PerLoop
from resay.reporting.dashboard.asking import Span
from resay.reporting.dashboard.texts import share
from resay.reporting.journal import By, Journal, Slice

__all__ = ["Figures", "FiguresDesk", "checked", "flag_rate"]

# How many models, policies, tenants or APIs are told apart.
_MOST_PARTS = 20
# At most a twentieth of the time is spent on the figures of one span.
_LEAST_FRESH_S = 5.0
_REST = 20.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What a journal says of a span.

    Attributes:
        span: The span.
        by: What tells the parts apart.
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
