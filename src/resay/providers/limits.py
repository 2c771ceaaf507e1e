"""What a check may spend, and what all checks of a process may ask at once."""

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
)
from dataclasses import dataclass, field
from types import TracebackType

import anyio

from resay.core.query import Query
from resay.core.usage import Usage
from resay.errors import BudgetExceededError, ConfigurationError
from resay.providers.base import Chunk, Completions, Layer, Provider, open_stream

_MINUTE_S = 60.0


class Budget:
    """What one check may spend. Its sampler and its judges share one; it belongs to one event loop.

    Calls are counted before they are sent, so no more than the limit ever are. What an answer took
    in tokens and dollars is known when it is there: requests that are under way when such a limit
    is reached are answered and may exceed it. Tokens and dollars of requests that failed, or were
    left early, are not reported and not counted.

    Args:
        calls: How many requests may be sent, retries included, at least 1; None = no limit.
        tokens: How many tokens may be read and written, at least 1; None = no limit.
        cost_usd: How many dollars may be spent, more than 0; None = no limit.

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
        self._what: dict[str, str] = {}
        self._used = Usage()
        self._unpriced: str | None = None
        self._refused = 0
        self._refusal: str | None = None

    def allow(self, *, calls: int | None = None, tokens: int | None = None, what: str) -> None:
        """Raise limits. What is not limited stays so, and what allows as much already.

        Args:
            calls: How many calls in all; None for as many as before.
            tokens: How many tokens in all; None for as many as before.
            what: What they are for, for messages.
        """
        if calls is not None and self._calls is not None and calls > self._calls:
            self._calls, self._what["calls"] = calls, what
        if tokens is not None and self._tokens is not None and tokens > self._tokens:
            self._tokens, self._what["tokens"] = tokens, what

    @property
    def used(self) -> Usage:
        """What was used so far: calls as they are reserved, the rest as answers arrive."""
        return self._used

    @property
    def refused(self) -> int:
        """How many requests were turned away. While it is 0, nothing was missed."""
        return self._refused

    @property
    def refusal(self) -> str | None:
        """Why the first of them was turned away; None while none was. Holds no content."""
        return self._refusal

    @property
    def calls_left(self) -> int | None:
        """How many more requests may be sent; None for any number."""
        if self.exhausted is not None:
            return 0
        return None if self._calls is None else self._calls - self._used.calls

    @property
    def exhausted(self) -> str | None:
        """Why the next request would be turned away; None while it would not. Holds no content."""
        used = self._used
        if self._calls is not None and used.calls >= self._calls:
            return self._told("calls", self._calls)
        if self._tokens is not None and used.tokens >= self._tokens:
            return self._told("tokens", self._tokens)
        if self._cost_usd is None:
            return None
        if self._unpriced is not None:
            return (
                f"what {self._unpriced} costs is unknown, so `limits.cost_usd` cannot be kept;"
                " set `limits.tokens` or `limits.calls` instead"
            )
        if (used.cost_usd or 0.0) >= self._cost_usd:
            return f"the check has used its ${self._cost_usd:g}; raise `limits.cost_usd`"
        return None

    def _told(self, name: str, limit: int) -> str:
        what = self._what.get(name)
        told = f"{limit} {name}" if what is None else f"{limit} {name} for {what}"
        return f"the check has used its {told}; raise `limits.{name}`"

    @contextmanager
    def reserving(self) -> Generator[_Call]:
        """Reserve a call, which is given back when it ends without having been sent.

        Raises:
            BudgetExceededError: A limit is reached.
        """
        reason = self.exhausted
        if reason is not None:
            self._refused += 1
            self._refusal = self._refusal or reason
            raise BudgetExceededError(reason)
        self._used += Usage(calls=1)
        call = _Call()
        try:
            yield call
        finally:
            if not call.sent:
                self._used += Usage(calls=-1)

    def spend(self, usage: Usage, model: str | None) -> None:
        """Count what a reserved call took.

        Args:
            usage: What its answer reports. A provider that made several requests of it has used
                more calls than the one reserved, possibly more than the limit.
            model: Who was asked, for the message where the cost is unknown.
        """
        if usage.cost_usd is None and self._unpriced is None:
            self._unpriced = repr(model) if model else "the model"
        self._used += Usage(
            max(usage.calls - 1, 0),
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.cost_usd or 0.0,
        )


@dataclass(slots=True)
class _Call:
    sent: bool = False


class Budgeted(Layer):
    """Turns requests away once a budget is used up. Stands inside `Retrying`: each retry counts.

    A request for n answers is one call. An answer of unknown price is handed over, because it is
    paid for; where the budget limits the cost, it is the last.

    Args:
        inner: Who is asked.
        budget: What may be spent.
        places: What a request waits for after its call was reserved and before it is sent, such as
            `ProcessLimits`. One that gives up waiting has used nothing, and where nothing is left
            to use, nobody waits.
    """

    def __init__(
        self,
        inner: Provider,
        budget: Budget,
        places: AbstractAsyncContextManager[object] | None = None,
    ) -> None:
        super().__init__(inner)
        self._budget = budget
        self._places = nullcontext() if places is None else places

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the wrapped provider.

        Raises:
            BudgetExceededError: Nothing is left; the provider was not asked.
        """
        with self._budget.reserving() as call:
            async with self._places:
                call.sent = True
                completions = await self.inner.complete(query, n=n)
        self._budget.spend(completions.usage, query.model)
        return completions

    @asynccontextmanager
    async def stream(self, query: Query) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Ask the wrapped provider, and keep the place until the stream is left.

        Raises:
            BudgetExceededError: Nothing is left; the provider was not asked.
        """
        with self._budget.reserving() as call:
            async with self._places:
                call.sent = True
                async with (
                    open_stream(self.inner, query) as chunks,
                    aclosing(self._counted(chunks, query.model)) as counted,
                ):
                    yield counted

    async def _counted(
        self, chunks: AsyncIterator[Chunk], model: str | None
    ) -> AsyncGenerator[Chunk]:
        told = False
        async for chunk in chunks:
            if chunk.usage is not None:
                told = True
                self._budget.spend(chunk.usage, model)
            yield chunk
        if not told:
            self._budget.spend(Usage(cost_usd=None), model)


@dataclass(slots=True, eq=False)
class _Waiter:
    """Somebody in a queue.

    Attributes:
        loop: Where they wait.
        woken: Done when they may go on; only their own loop touches it.
        served: Whether the place is theirs already; guarded by the queue's lock.
    """

    loop: asyncio.AbstractEventLoop
    woken: asyncio.Future[None]
    served: bool = field(default=False)

    def wake(self) -> None:
        # They may have been cancelled since.
        if not self.woken.done():
            self.woken.set_result(None)


class Slots:
    """A semaphore for tasks of all event loops and threads; first come, first served.

    Who leaves hands the place to the first in the queue, so nobody can overtake.
    """

    def __init__(self, size: int) -> None:
        # Held for a few instructions, never across an await. Reentrant, because a task that nobody
        # finishes leaves the queue when it is collected, which may be at any instruction.
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
            self._hand_on()

    def _leave(self, waiter: _Waiter) -> None:
        with self._lock:
            if waiter.served:
                # Given a place and cancelled before they could take it.
                self._hand_on()
            elif waiter in self._queue:
                self._queue.remove(waiter)

    def _hand_on(self) -> None:
        while self._queue:
            waiter = self._queue.popleft()
            try:
                waiter.loop.call_soon_threadsafe(waiter.wake)
            # Their loop is closed: nobody waits there any more.
            except RuntimeError:
                continue
            waiter.served = True
            return
        self._free += 1


class ProcessLimits:
    """How much all checks of a process may ask together: an async context manager around a request.

    One object serves any number of tasks in any number of asyncio event loops and threads. Who
    waits is served in order of arrival, may be cancelled at any time, and costs nothing meanwhile.
    It goes around single requests: a task that waits for a place while it holds one may wait for
    itself.

    Args:
        concurrency: How many requests at the same time, at least 1; None = no limit.
        calls_per_minute: How many requests may begin within any 60 s, at least 1; None = no limit.
        clock: The time in seconds; it never goes back.
        sleep: Waits so many seconds.

    Raises:
        ConfigurationError: A limit is below 1.
    """

    # The window is our own: `aiolimiter` belongs to one event loop, `limits` runs a timer thread,
    # reads the wall clock and leaves waiting to the caller, and `pyrate-limiter` runs a thread that
    # polls and lets latecomers overtake. What is left is one deque, exact and in order.

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
        # The place first: a minute counts from when the request really begins.
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
        # Only the first in the queue sleeps, so one that is cancelled leaves no gap.
        async with self._turn:
            while (wait_s := self._wait_s()) > 0:
                await self._sleep(wait_s)
            # Full, the deque drops the oldest.
            self._begun.append(self._clock())

    def _wait_s(self) -> float:
        if len(self._begun) < (self._calls_per_minute or 0):
            return 0.0
        return self._begun[0] + _MINUTE_S - self._clock()


_SHARED: dict[tuple[int, int | None, int | None], ProcessLimits] = {}


def process_limiter(
    concurrency: int | None = None, calls_per_minute: int | None = None
) -> ProcessLimits:
    """Return the limits of this process, the same object for the same values.

    Ask for it where a check begins: what was asked for before a fork is the parent's.

    Args:
        concurrency: How many requests at the same time, at least 1; None = no limit.
        calls_per_minute: How many requests may begin within any 60 s, at least 1; None = no limit.

    Raises:
        ConfigurationError: A limit is below 1.
    """
    key = (os.getpid(), concurrency, calls_per_minute)
    # One step, so that two threads get the same without a lock that a fork could leave closed.
    return _SHARED.setdefault(key, ProcessLimits(concurrency, calls_per_minute))
