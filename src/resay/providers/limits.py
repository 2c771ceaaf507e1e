"""The budget of one check, and the request limits that all checks of a process share."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from contextlib import (
    AbstractAsyncContextManager,
    aclosing,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Protocol

import anyio

from resay._internal.plurals import counted
from resay.core.request import Request
from resay.core.usage import Usage
from resay.errors import BudgetExceededError, ConfigurationError
from resay.providers.base import Chunk, Completions, Layer, Provider, open_stream

_MINUTE_S = 60.0


class Ledger(Protocol):
    """What a request may still spend, beyond its own budget: the quotas of who sent it."""

    def refusal(self) -> str | None:
        """Return why the next call would be refused; None if it would not. Holds no content."""
        ...

    def calls_left(self) -> int | None:
        """Return how many more calls may be sent; None for any number."""
        ...

    def count(self, usage: Usage) -> None:
        """Count usage, such as a call that is about to be sent; negative if it was not sent."""
        ...


_ledger: ContextVar[Ledger | None] = ContextVar("_ledger", default=None)


@contextmanager
def using_ledger(ledger: Ledger | None) -> Generator[None]:
    """Let every budget that is created in this context spend from a ledger too."""
    token = _ledger.set(ledger)
    try:
        yield
    finally:
        # A server may end a request in another context than it began in.
        with suppress(ValueError):
            _ledger.reset(token)


class Budget:
    """The budget of one request. Its sampler and its judges share it; it belongs to one event loop.

    If a request has several answers, their checks share it.

    Calls are counted before they are sent, so their limit is never exceeded. The tokens and dollars
    of an answer are known once it arrives: requests in flight when such a limit is reached are
    completed and may exceed it. Tokens and dollars of requests that failed, or were abandoned, are
    not reported and not counted.

    Args:
        calls: Maximum number of requests, retries included, at least 1; None = no limit.
        tokens: Maximum number of tokens read and written, at least 1; None = no limit.
        cost_usd: Maximum cost in dollars, more than 0; None = no limit.

    Raises:
        ConfigurationError: A limit is too small for a single request.
    """

    def __init__(
        self,
        *,
        calls: int | None = None,
        tokens: int | None = None,
        cost_usd: float | None = None,
    ) -> None:
        for name, limit in (("calls", calls), ("tokens", tokens), ("cost_usd", cost_usd)):
            if limit is not None and not limit > 0:
                raise ConfigurationError(
                    f"limits.{name} is {limit!r}; give more than 0, or null for no limit"
                )
        self._calls = calls
        self._tokens = tokens
        self._cost_usd = cost_usd
        self._purposes: dict[str, str] = {}
        self._used = Usage()
        self._unpriced: str | None = None
        self._refused = 0
        self._refusal: str | None = None
        self._ledger = _ledger.get()
        self._sizes: dict[object, int] = {}

    def resized(self, check: object, size: int) -> int:
        """Record the size of what a check checks; return that of all checks that share the budget.

        Args:
            check: The check.
            size: Its size so far.
        """
        self._sizes[check] = size
        return sum(self._sizes.values())

    def allow(self, *, calls: int | None = None, tokens: int | None = None, purpose: str) -> None:
        """Raise limits. An absent limit stays absent, and a limit is never lowered.

        Args:
            calls: Total number of calls; None to leave it unchanged.
            tokens: Total number of tokens; None to leave it unchanged.
            purpose: What they are for, for messages.
        """
        if calls is not None and self._calls is not None and calls > self._calls:
            self._calls, self._purposes["calls"] = calls, purpose
        if tokens is not None and self._tokens is not None and tokens > self._tokens:
            self._tokens, self._purposes["tokens"] = tokens, purpose

    @property
    def used(self) -> Usage:
        """The usage so far: calls as they are reserved, the rest as answers arrive."""
        return self._used

    @property
    def refused(self) -> int:
        """Number of requests that were refused. While it is 0, nothing was missed."""
        return self._refused

    @property
    def refusal(self) -> str | None:
        """Why the first request was refused; None if none was. Holds no content."""
        return self._refusal

    @property
    def calls_left(self) -> int | None:
        """How many more requests may be sent; None for any number."""
        if self.exhausted is not None:
            return 0
        own = None if self._calls is None else self._calls - self._used.calls
        granted = None if self._ledger is None else self._ledger.calls_left()
        if own is None or granted is None:
            return granted if own is None else own
        return min(own, granted)

    @property
    def exhausted(self) -> str | None:
        """Why the next request would be refused; None if it would not. Holds no content."""
        used = self._used
        if self._calls is not None and used.calls >= self._calls:
            return self._spent_message("calls", self._calls)
        if self._tokens is not None and used.tokens >= self._tokens:
            return self._spent_message("tokens", self._tokens)
        if self._ledger is not None and (refusal := self._ledger.refusal()) is not None:
            return refusal
        if self._cost_usd is None:
            return None
        if self._unpriced is not None:
            return (
                f"the price of {self._unpriced} is unknown, so `limits.cost_usd` cannot be"
                " enforced; set `limits.tokens` or `limits.calls` instead"
            )
        if (used.cost_usd or 0.0) >= self._cost_usd:
            return f"the check has used its ${self._cost_usd:g}; raise `limits.cost_usd`"
        return None

    def _spent_message(self, name: str, limit: int) -> str:
        purpose = self._purposes.get(name)
        limit_text = counted(limit, name.removesuffix("s"))
        if purpose is not None:
            limit_text += f" for {purpose}"
        return f"the check has used its {limit_text}; raise `limits.{name}`"

    @contextmanager
    def reserve(self) -> Generator[_Reservation]:
        """Reserve a call, and release it if the context is left before the call was sent.

        Raises:
            BudgetExceededError: A limit is reached.
        """
        reason = self.exhausted
        if reason is not None:
            self._refused += 1
            self._refusal = self._refusal or reason
            raise BudgetExceededError(reason)
        self._count(Usage(calls=1))
        reservation = _Reservation()
        try:
            yield reservation
        finally:
            if not reservation.is_sent:
                self._count(Usage(calls=-1))

    def spend(self, usage: Usage, model: str | None) -> None:
        """Count the usage of a reserved call.

        Args:
            usage: The usage its answer reports. A provider that split it into several requests has
                used more calls than the one reserved, possibly more than the limit.
            model: The model, for the message if the cost is unknown.
        """
        if usage.cost_usd is None and self._unpriced is None:
            self._unpriced = repr(model) if model else "the model"
        extra_calls = max(usage.calls - 1, 0)
        self._used += replace(usage, calls=extra_calls, cost_usd=usage.cost_usd or 0.0)
        if self._ledger is not None:
            self._ledger.count(replace(usage, calls=extra_calls))

    def _count(self, usage: Usage) -> None:
        self._used += usage
        if self._ledger is not None:
            self._ledger.count(usage)


@dataclass(slots=True)
class _Reservation:
    is_sent: bool = False


class Budgeted(Layer):
    """Refuse requests once a budget is used up. Belongs inside `Retrying`: each retry counts.

    A request for n answers is one call. An answer of unknown price is passed on, because it is paid
    for; if the budget limits the cost, it is the last.

    Args:
        inner: The wrapped provider.
        budget: The budget.
        slots: Entered after the call was reserved and before it is sent, such as `ProcessLimits`.
            A request cancelled while waiting uses none of the budget, and an exhausted budget
            refuses requests without waiting.
    """

    def __init__(
        self,
        inner: Provider,
        budget: Budget,
        slots: AbstractAsyncContextManager[object] | None = None,
    ) -> None:
        super().__init__(inner)
        self._budget = budget
        self._slots = nullcontext() if slots is None else slots

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Forward the request if the budget allows it.

        Raises:
            BudgetExceededError: The budget is used up; nothing was sent.
        """
        with self._budget.reserve() as reservation:
            async with self._slots:
                reservation.is_sent = True
                completions = await self.inner.complete(request, n=n)
        self._budget.spend(completions.usage, request.model)
        return completions

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Forward the request, and hold the slot until the stream is closed.

        Raises:
            BudgetExceededError: The budget is used up; nothing was sent.
        """
        with self._budget.reserve() as reservation:
            async with self._slots:
                reservation.is_sent = True
                async with (
                    open_stream(self.inner, request) as chunks,
                    aclosing(self._counted(chunks, request.model)) as counted,
                ):
                    yield counted

    async def _counted(
        self, chunks: AsyncIterator[Chunk], model: str | None
    ) -> AsyncGenerator[Chunk]:
        is_reported = False
        async for chunk in chunks:
            if chunk.usage is not None:
                is_reported = True
                self._budget.spend(chunk.usage, model)
            yield chunk
        if not is_reported:
            self._budget.spend(Usage(cost_usd=None), model)


@dataclass(slots=True, eq=False)
class _Waiter:
    """A task waiting in a queue.

    Attributes:
        loop: The task's event loop.
        woken: Done when the task may proceed; only its own loop touches it.
        served: Whether a slot was already assigned to it; guarded by the queue's lock.
    """

    loop: asyncio.AbstractEventLoop
    woken: asyncio.Future[None]
    served: bool = False

    def wake(self) -> None:
        # The task may have been cancelled in the meantime.
        if not self.woken.done():
            self.woken.set_result(None)


class Slots:
    """A first-come, first-served semaphore for the tasks of all event loops and threads.

    A released slot goes directly to the first waiter, so no task can overtake another.
    """

    def __init__(self, size: int) -> None:
        # Held for a few instructions, never across an await. Reentrant, because an unfinished task
        # leaves the queue when it is garbage-collected, which may be at any instruction.
        self._lock = threading.RLock()
        self._free = size
        self._queue: deque[_Waiter] = deque()

    async def __aenter__(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            loop = asyncio.get_running_loop()
            waiter = _Waiter(loop, loop.create_future())
            self._queue.append(waiter)
        try:
            await waiter.woken
        except BaseException:
            self._leave(waiter)
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._lock:
            self._wake_next()

    def _leave(self, waiter: _Waiter) -> None:
        with self._lock:
            if waiter.served:
                # Cancelled between being assigned a slot and taking it.
                self._wake_next()
            elif waiter in self._queue:
                self._queue.remove(waiter)

    def _wake_next(self) -> None:
        while self._queue:
            waiter = self._queue.popleft()
            try:
                waiter.loop.call_soon_threadsafe(waiter.wake)
            # The waiter's loop is closed: nothing waits there any more.
            except RuntimeError:
                continue
            waiter.served = True
            return
        self._free += 1


class ProcessLimits:
    """Request limits shared by all checks of a process: an async context manager for one request.

    One object serves any number of tasks in any number of asyncio event loops and threads. Waiters
    are served in order of arrival, may be cancelled at any time, and cost nothing meanwhile. Wrap
    single requests only: a task that waits for a slot while it holds one can deadlock.

    Args:
        concurrency: Maximum number of concurrent requests, at least 1; None = no limit.
        calls_per_minute: How many requests may begin within any 60 s, at least 1; None = no limit.
        clock: Monotonic clock, in seconds.
        sleep: Sleeps for a number of seconds.

    Raises:
        ConfigurationError: A limit is below 1.
    """

    # The window is our own: `aiolimiter` belongs to one event loop, `limits` runs a timer thread,
    # reads the wall clock and leaves waiting to the caller, and `pyrate-limiter` runs a thread that
    # polls and lets latecomers overtake. Our own takes only one deque, exact and in order.

    def __init__(
        self,
        concurrency: int | None = None,
        calls_per_minute: int | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        limits = {"concurrency": concurrency, "calls_per_minute": calls_per_minute}
        for name, limit in limits.items():
            if limit is not None and limit < 1:
                raise ConfigurationError(
                    f"limits.process.{name} is {limit!r}; give 1 or more, or null for no limit"
                )
        self._slots = Slots(concurrency) if concurrency is not None else nullcontext()
        self._calls_per_minute = calls_per_minute
        self._begun: deque[float] = deque(maxlen=calls_per_minute)
        self._turn = Slots(1)
        self._clock = clock
        self._sleep = sleep

    async def __aenter__(self) -> None:
        # Take the slot first: the minute counts from when the request really begins.
        await self._slots.__aenter__()
        try:
            await self._begin()
        except BaseException:
            await self._slots.__aexit__(None, None, None)
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._slots.__aexit__(kind, error, traceback)

    async def _begin(self) -> None:
        if self._calls_per_minute is None:
            return
        # Only the first in the queue sleeps, so a cancelled waiter leaves no gap.
        async with self._turn:
            while (wait_s := self._wait_s()) > 0:
                await self._sleep(wait_s)
            # When full, the deque drops its oldest entry.
            self._begun.append(self._clock())

    def _wait_s(self) -> float:
        if len(self._begun) < (self._calls_per_minute or 0):
            return 0.0
        return self._begun[0] + _MINUTE_S - self._clock()


_limits: dict[tuple[int, int | None, int | None], ProcessLimits] = {}


def process_limiter(
    concurrency: int | None = None, calls_per_minute: int | None = None
) -> ProcessLimits:
    """Return the limits of this process, the same object for the same values.

    Call it at the beginning of a check: an object from before a fork is the parent's.

    Args:
        concurrency: Maximum number of concurrent requests, at least 1; None = no limit.
        calls_per_minute: How many requests may begin within any 60 s, at least 1; None = no limit.

    Raises:
        ConfigurationError: A limit is below 1.
    """
    key = (os.getpid(), concurrency, calls_per_minute)
    # Atomic, so that two threads get the same object without a lock that a fork could leave held.
    return _limits.setdefault(key, ProcessLimits(concurrency, calls_per_minute))
