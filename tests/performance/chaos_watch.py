"""What the chaos bench watches: every call, the lateness of the event loop, and what is left."""

from __future__ import annotations

import asyncio
import gc
import math
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Literal

import anyio
import anyio.to_thread

from performance.chaos_plan import CACHED
from resay import Request
from resay.plugins import Chunk, Completions, Layer, Provider
from resay.providers.base import open_stream
from simulation import RequestRecord

__all__ = [
    "HEADER",
    "Call",
    "Lateness",
    "Tracked",
    "census",
    "current_request",
    "growth",
    "requests_sent",
    "tasks_left",
    "unmatched",
]

HEADER = "x-resay-call"
"""Every HTTP request says in it which call it belongs to."""

current_request: ContextVar[int] = ContextVar("current_request")
"""The number of the guarded request that runs; its tasks inherit it."""

_BEAT_S = 0.01
_TASKS_END_S = 0.5
# More beats than there are while any request takes its time.
_RECENT = 4000
# What the provider sends again by itself: a stream whose options were refused as unknown.
_ASKED_AGAIN = frozenset({400, 422})
_KEPT = "resay.providers.caching.stores._Entry"
# An exception that a library keeps as its last one holds what was on its way.
_BY_CHANCE = 12


@dataclass(slots=True)
class Call:
    """One call of a provider, as it is seen from above.

    Attributes:
        number: Tells it apart from all others.
        request: The guarded request it was made for.
        main: Whether it is the main call rather than one of the check.
        streamed: Whether its answer came in pieces.
        fate: How it ended.
        tokens: The tokens of its usage.
        requests: The requests of its usage.
    """

    number: int
    request: int
    main: bool
    streamed: bool
    fate: Literal["cancelled", "answered", "failed"] = "cancelled"
    tokens: int = 0
    requests: int = 1


class Tracked(Layer):
    """Records each call, and adds a header with its number to its HTTP request.

    Main calls have `metadata`, which neither samples nor judges inherit.
    """

    def __init__(self, inner: Provider) -> None:
        super().__init__(inner)
        self.calls: list[Call] = []

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Ask the wrapped provider, and record how the call ended."""
        call, numbered = self._begin(request, streamed=False)
        with _watched(call):
            completions = await self.inner.complete(numbered, n=n)
            call.tokens = completions.usage.tokens
            call.fate = "answered"
        return completions

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Ask the wrapped provider, and record how the call ended."""
        call, numbered = self._begin(request, streamed=True)
        with _watched(call):
            async with (
                open_stream(self.inner, numbered) as chunks,
                aclosing(_noted(chunks, call)) as noted,
            ):
                yield noted

    def _begin(self, request: Request, *, streamed: bool) -> tuple[Call, Request]:
        call = Call(len(self.calls), current_request.get(), "metadata" in request.params, streamed)
        self.calls.append(call)
        headers = {**request.params.get("extra_headers", {}), HEADER: str(call.number)}
        return call, replace(request, params={**request.params, "extra_headers": headers})


async def _noted(chunks: AsyncIterator[Chunk], call: Call) -> AsyncGenerator[Chunk]:
    async for chunk in chunks:
        if chunk.usage is not None:
            call.tokens += chunk.usage.tokens
            call.requests += max(chunk.usage.calls - 1, 0)
        yield chunk
    call.fate = "answered"


@contextmanager
def _watched(call: Call) -> Generator[None]:
    try:
        yield
    except Exception:
        call.fate = "failed"
        raise


def unmatched(calls: Sequence[Call], records: Sequence[RequestRecord]) -> list[str]:
    """Compare what was sent with what the server received.

    A call that was answered or failed is one request there; one that was cancelled is one at most,
    because nobody can say whether it had left. A stream whose options are refused is sent once more
    without them, by the same call.

    Args:
        calls: All calls.
        records: What the server received, each with `HEADER`.

    Returns:
        What does not match; empty where everything does.
    """
    received = _by_call(records)
    problems = [f"call {n} is unknown" for n in received if not 0 <= n < len(calls)]
    for call in calls:
        there = received.get(call.number, [])
        missing = len(there) < call.requests and call.fate != "cancelled"
        if missing or len(there) > _took(call, there):
            problems.append(f"call {call.number}, {call.fate}, is {len(there)} requests there")
        elif call.fate == "answered" and call.tokens != sum(r.tokens for r in there):
            problems.append(f"call {call.number} was told {call.tokens} tokens, not the same")
    return problems


def requests_sent(calls: Sequence[Call], records: Sequence[RequestRecord]) -> int:
    """Return how many requests calls took, a stream that was asked for again counted twice.

    Args:
        calls: All calls.
        records: What the server received, each with `HEADER`.
    """
    received = _by_call(records)
    return sum(_took(call, received.get(call.number, [])) for call in calls)


def _by_call(records: Sequence[RequestRecord]) -> Mapping[int, Sequence[RequestRecord]]:
    received: dict[int, list[RequestRecord]] = {}
    for record in records:
        received.setdefault(int(record.headers[HEADER]), []).append(record)
    return received


def _took(call: Call, there: Sequence[RequestRecord]) -> int:
    if call.fate == "answered":
        return call.requests
    # A stream that ends early has no chance to say that it was asked for again.
    return 1 + (len(there) > 1 and call.streamed and there[0].status in _ASKED_AGAIN)


class Lateness:
    """By how much the event loop is late, all the time.

    A loop that has more to do than there is time for, on a machine that is busy with other things,
    ends requests late whatever they do. So that this is not held against them, a task sleeps for a
    hundredth of a second again and again, goes to a thread and back as the last step of a check
    does, and keeps by how much it was late.
    """

    def __init__(self) -> None:
        self._beats: list[tuple[float, float]] = []
        self._wanted = math.inf

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            self._wanted = anyio.current_time() + _BEAT_S
            await anyio.sleep(_BEAT_S)
            await anyio.to_thread.run_sync(_nothing)
            now = anyio.current_time()
            self._beats.append((now, max(now - self._wanted, 0.0)))

    def between(self, start: float, end: float) -> float:
        """Return for how many seconds the loop was late in a stretch of time on its own clock.

        Args:
            start: When it begins.
            end: When it ends, which is now.
        """
        return sum(min(late, at - start) for at, late in self._until(end) if start < at <= end)

    def at(self, moment: float) -> float:
        """Return for how many seconds after a moment the turn of the loop lasted that it was in."""
        beats = self._until(anyio.current_time())
        return next((min(late, at - moment) for at, late in beats if at > moment), 0.0)

    def _until(self, now: float) -> list[tuple[float, float]]:
        # The beat that is on its way may be late already.
        return [*self._beats[-_RECENT:], (now, max(now - self._wanted, 0.0))]

    @property
    def longest(self) -> float:
        """The longest it was ever late, in seconds."""
        return max((late for _, late in self._beats), default=0.0)


def _nothing() -> None:
    return None


def census() -> Mapping[str, int]:
    """Return how many objects of each class of Resay's there are, those that only tests use aside.

    Only what the garbage collector tracks is seen, which is whatever can hold something else.
    """
    gc.collect()
    kinds = Counter(map(type, gc.get_objects()))
    return {
        f"{kind.__module__}.{kind.__qualname__}": count
        for kind, count in kinds.items()
        if _is_ours(kind.__module__)
    }


def _is_ours(module: object) -> bool:
    name = module if isinstance(module, str) else ""
    ours = ("resay.", "resay_server.", "resay_lab.")
    return name.startswith(ours) and not name.startswith(("resay.testing", "resay_lab.benchmarks"))


def growth(before: Mapping[str, int], after: Mapping[str, int]) -> list[str]:
    """Compare how many objects there were after two equal rounds.

    Args:
        before: The census after the first.
        after: The census after the second.

    Returns:
        The classes of which there are more than could be left by chance.
    """
    bounds = {_KEPT: CACHED}
    limits = {name: bounds.get(name, before.get(name, 0)) + _BY_CHANCE for name in after}
    return [
        f"{count} of {name}, which are more than {limits[name]}"
        for name, count in after.items()
        if count > limits[name]
    ]


async def tasks_left(before: set[asyncio.Task[Any]]) -> list[str]:
    """Return the tasks that were not there before, whoever began them, and do not end soon."""
    new = asyncio.all_tasks() - before
    if not new:
        return []
    _, left = await asyncio.wait(new, timeout=_TASKS_END_S)
    return [repr(task.get_coro()) for task in left]
