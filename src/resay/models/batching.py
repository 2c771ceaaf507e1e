"""Batches the work of concurrent callers.

Callers are coroutines of any event loop in any thread; work runs on one thread per device. Equal
items are computed once, items of similar length are batched together, and batches are limited by
tokens rather than items.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import Generic, Protocol, TypeVar

from resay.errors import ScorerError

T = TypeVar("T")


async def outcome(future: Future[T]) -> T:
    """Wait for work in another thread. Cancelling the wait does not cancel the work.

    Raises:
        Exception: As raised by the work.
    """
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def wake(_: Future[T]) -> None:
        try:
            loop.call_soon_threadsafe(done.set)
        except RuntimeError:
            return  # The loop was closed, so nobody is waiting.

    future.add_done_callback(wake)
    await done.wait()
    return future.result()


def thread(name: str) -> ThreadPoolExecutor:
    """Return this process's single thread for a kind of work.

    Args:
        name: `load` for loading models, `encode` for tokenizing, or the device on which models
            run, such as `cuda:0`.
    """
    return _thread_of(name, os.getpid())


@cache
def _thread_of(name: str, process: int) -> ThreadPoolExecutor:
    del process  # A fork copies the object but not the thread.
    return ThreadPoolExecutor(1, thread_name_prefix=f"resay-{name}")


class LoadedOnce(Generic[T]):
    """A value that is loaded on first use, once per process.

    A failed load is not kept, so the next caller tries again. A fork copies loaded values but not
    the threads that serve them, so a forked process loads again.

    Args:
        load: Loads the value; called on the loading thread.
    """

    def __init__(self, load: Callable[[], T]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._loading: tuple[int, Future[T]] | None = None

    async def get(self) -> T:
        """Return the value, and load it if necessary.

        Raises:
            Exception: As raised by the load.
        """
        return await outcome(self._start())

    def _start(self) -> Future[T]:
        with self._lock:
            if self._loading is None or self._loading[0] != os.getpid():
                self._loading = os.getpid(), thread("load").submit(self._load)
            loading = self._loading[1]
        # Outside the lock, because a completed future runs the callback immediately.
        loading.add_done_callback(self._forget_failed)
        return loading

    def _forget_failed(self, loading: Future[T]) -> None:
        if loading.exception() is None:
            return
        with self._lock:
            if self._loading is not None and self._loading[1] is loading:
                self._loading = None


@dataclass(eq=False, slots=True)
class _Waiter:
    amount: int
    loop: asyncio.AbstractEventLoop
    granted: asyncio.Future[None]
    is_granted: bool = False


class CapacityLimiter:
    """A fair counting semaphore for coroutines of any event loop, released from any thread.

    Waiters are served in order. A request for more than the total is granted when nothing else is
    held.

    Args:
        size: The total amount.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._used = 0
        self._lock = threading.Lock()
        self._waiters: deque[_Waiter] = deque()

    async def acquire(self, amount: int) -> None:
        """Acquire an amount, waiting until it is available."""
        with self._lock:
            if not self._waiters and self._fits(amount):
                self._used += amount
                return
            loop = asyncio.get_running_loop()
            waiter = _Waiter(amount, loop, loop.create_future())
            self._waiters.append(waiter)
        try:
            await waiter.granted
        except asyncio.CancelledError:
            self._withdraw(waiter)
            raise

    def release(self, amount: int) -> None:
        """Release an amount."""
        with self._lock:
            self._used -= amount
            self._admit()

    def _fits(self, amount: int) -> bool:
        return self._used == 0 or self._used + amount <= self._size

    def _admit(self) -> None:
        while self._waiters and self._fits(self._waiters[0].amount):
            waiter = self._waiters.popleft()
            self._used += waiter.amount
            waiter.is_granted = True
            try:
                waiter.loop.call_soon_threadsafe(_grant, waiter.granted)
            except RuntimeError:
                # Its loop was closed while it waited, so it will never use the amount.
                self._used -= waiter.amount

    def _withdraw(self, waiter: _Waiter) -> None:
        with self._lock:
            if waiter.is_granted:
                self._used -= waiter.amount
            else:
                self._waiters.remove(waiter)
            self._admit()


def _grant(granted: asyncio.Future[None]) -> None:
    if not granted.done():
        granted.set_result(None)


class Item(Hashable, Protocol):
    """An item of work for a model. Equal items have equal results."""

    def __len__(self) -> int:
        """Return the number of tokens."""
        ...


ItemT = TypeVar("ItemT", bound=Item)
R = TypeVar("R")
# Work is sorted by length within this many batches; more would delay the oldest items too long.
_BATCHES_PER_ROUND = 8


@dataclass(frozen=True, slots=True)
class Batching:
    """How work is batched.

    Attributes:
        batch_tokens: Maximum tokens in a batch, including padding; a single item may exceed it.
        batch_items: Maximum items in a batch.
        padding: The largest share of padding in a batch. If batches are no faster than single
            items, as on a CPU, padding is pure cost.
        window_s: How long the first item waits for others, in seconds.
        queue_tokens: Maximum tokens in the queue.
        cache_bytes: The size of the result cache.
    """

    batch_tokens: int = 2048
    batch_items: int = 1024
    padding: float = 0.5
    window_s: float = 0.002
    queue_tokens: int = 1_000_000
    cache_bytes: int = 64_000_000


@dataclass(eq=False, slots=True)
class _Ticket:
    """A caller that waits for several jobs."""

    loop: asyncio.AbstractEventLoop
    ready: asyncio.Future[None]
    pending: int = 0
    complete: bool = False
    error: Exception | None = None

    def settle(self) -> None:
        """Wake the caller if it has nothing more to wait for."""
        if self.error is not None or (self.complete and self.pending == 0):
            try:
                self.loop.call_soon_threadsafe(_wake, self.ready)
            except RuntimeError:
                return  # Its loop was closed while it waited.


def _wake(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


@dataclass(eq=False, slots=True)
class _Job(Generic[ItemT, R]):
    item: ItemT
    tickets: list[_Ticket] = field(default_factory=list[_Ticket])
    running: bool = False
    done: bool = False
    result: R | None = None


class Batcher(Generic[ItemT, R]):
    """Runs items in batches.

    Args:
        run: Computes a batch, with one result for each item; called on the worker's thread.
        size: Returns the size of a result in bytes.
        worker: The device's single thread.
        settings: How work is batched.
        lanes: How many batches are computed at the same time, on threads of their own if there are
            several.
    """

    def __init__(
        self,
        run: Callable[[Sequence[ItemT]], Sequence[R]],
        size: Callable[[R], int],
        worker: ThreadPoolExecutor,
        settings: Batching,
        lanes: int = 1,
    ) -> None:
        self._run = run
        self._size = size
        self._worker = worker
        self._settings = settings
        self._lanes = None if lanes == 1 else ThreadPoolExecutor(lanes, "resay-lane")
        self._capacity = CapacityLimiter(settings.queue_tokens)
        self._changed = threading.Condition()
        self._queue: deque[_Job[ItemT, R]] = deque()
        self._queued = 0
        self._oldest = 0.0
        self._awake = False
        self._jobs: dict[ItemT, _Job[ItemT, R]] = {}
        self._cache: OrderedDict[ItemT, _Job[ItemT, R]] = OrderedDict()
        self._cache_bytes = 0

    async def map(self, items: Sequence[ItemT]) -> list[R]:
        """Compute the results of items.

        Args:
            items: Any number of items.

        Returns:
            One result for each item, in the same order.

        Raises:
            ScorerError: An item could not be computed.
        """
        loop = asyncio.get_running_loop()
        ticket = _Ticket(loop, loop.create_future())
        jobs: list[_Job[ItemT, R]] = []
        try:
            for chunk in self._chunks(items):
                needed = self._missing(chunk)
                if needed:
                    await self._capacity.acquire(needed)
                jobs += self._register(chunk, ticket, needed)
                await asyncio.sleep(0)  # Let other tasks run during a long list.
            self._complete(ticket)
            await ticket.ready
        finally:
            self._leave(jobs, ticket)
        if isinstance(ticket.error, ScorerError):
            raise ScorerError(str(ticket.error)) from ticket.error
        if ticket.error is not None:
            raise ScorerError(
                f"the model failed with {type(ticket.error).__name__}"
            ) from ticket.error
        return [_result(job) for job in jobs]

    def _chunks(self, items: Sequence[ItemT]) -> Iterator[list[ItemT]]:
        # A request larger than the queue enters in chunks, alongside other requests.
        limit = min(self._settings.batch_tokens * _BATCHES_PER_ROUND, self._settings.queue_tokens)
        chunk: list[ItemT] = []
        tokens = 0
        for item in items:
            if chunk and tokens + len(item) > limit:
                yield chunk
                chunk, tokens = [], 0
            chunk.append(item)
            tokens += len(item)
        yield chunk

    def _missing(self, chunk: Sequence[ItemT]) -> int:
        with self._changed:
            return sum(len(i) for i in set(chunk) if i not in self._jobs and i not in self._cache)

    def _register(
        self, chunk: Sequence[ItemT], ticket: _Ticket, reserved: int
    ) -> list[_Job[ItemT, R]]:
        jobs: list[_Job[ItemT, R]] = []
        with self._changed:
            for item in chunk:
                job = self._cache.get(item) or self._jobs.get(item)
                if job is None:
                    job = self._enqueue(item)
                    reserved -= len(item)
                elif job.done and item in self._cache:
                    self._cache.move_to_end(item)
                if not job.done and ticket not in job.tickets:
                    job.tickets.append(ticket)
                    ticket.pending += 1
                jobs.append(job)
            self._changed.notify()
        # Meanwhile, others may have queued the same items, or the cache may have evicted some.
        self._capacity.release(reserved)
        return jobs

    def _enqueue(self, item: ItemT) -> _Job[ItemT, R]:
        job = self._jobs[item] = _Job(item)
        if not self._queue:
            self._oldest = time.monotonic()
        self._queue.append(job)
        self._queued += len(item)
        if not self._awake:
            self._awake = True
            self._worker.submit(self._drain)
        return job

    def _complete(self, ticket: _Ticket) -> None:
        with self._changed:
            ticket.complete = True
            ticket.settle()

    def _leave(self, jobs: Sequence[_Job[ItemT, R]], ticket: _Ticket) -> None:
        """Remove a caller, and drop the jobs that no caller waits for any more."""
        dropped = 0
        with self._changed:
            for job in dict.fromkeys(jobs):
                if ticket in job.tickets:
                    job.tickets.remove(ticket)
                if not (job.tickets or job.running or job.done):
                    self._jobs.pop(job.item, None)
                    job.done = True
                    dropped += len(job.item)
        self._capacity.release(dropped)

    def _drain(self) -> None:
        """Process one round of work, on the worker's thread."""
        batches = list(pack(self._take_round(), self._settings))
        if self._lanes is None or len(batches) == 1:
            for batch in batches:
                self._run_batch(batch)
        else:
            # The longest come first, so that none of them is the last to run, alone.
            list(self._lanes.map(self._run_batch, batches))
        with self._changed:
            self._awake = bool(self._queue)
            # Resubmitted behind the work of other models, which share the device.
            if self._awake:
                self._worker.submit(self._drain)

    def _take_round(self) -> list[_Job[ItemT, R]]:
        limit = self._settings.batch_tokens * _BATCHES_PER_ROUND
        jobs: list[_Job[ItemT, R]] = []
        with self._changed:
            timeout_s = self._oldest + self._settings.window_s - time.monotonic()
            self._changed.wait_for(lambda: self._queued >= limit, timeout=max(timeout_s, 0.0))
            tokens = 0
            while self._queue and (not jobs or tokens + len(self._queue[0].item) <= limit):
                job = self._queue.popleft()
                self._queued -= len(job.item)
                if not job.done:
                    job.running = True
                    jobs.append(job)
                    tokens += len(job.item)
        return jobs

    def _run_batch(self, batch: Sequence[_Job[ItemT, R]]) -> None:
        try:
            results = self._run([job.item for job in batch])
        # Errors are for the callers, and must not end this thread.
        except Exception as error:
            if len(batch) == 1:
                self._finish(batch[0], None, error)
                return
            # One by one, so that neither a lack of memory nor one bad item fails the others.
            for job in batch:
                self._run_batch([job])
            return
        for job, result in zip(batch, results, strict=True):
            self._finish(job, result, None)

    def _finish(self, job: _Job[ItemT, R], result: R | None, error: Exception | None) -> None:
        with self._changed:
            job.result, job.done = result, True
            del self._jobs[job.item]
            for ticket in job.tickets:
                ticket.pending -= 1
                ticket.error = ticket.error or error
                ticket.settle()
            if result is not None:
                self._store(job, result)
        self._capacity.release(len(job.item))

    def _store(self, job: _Job[ItemT, R], result: R) -> None:
        self._cache[job.item] = job
        self._cache_bytes += self._size(result)
        while self._cache_bytes > self._settings.cache_bytes:
            _, oldest = self._cache.popitem(last=False)
            self._cache_bytes -= self._size(_result(oldest))


def _result(job: _Job[ItemT, R]) -> R:
    if job.result is None:
        raise ScorerError("the model returned no result")
    return job.result


class _Sized(Protocol):
    @property
    def item(self) -> Item: ...


J = TypeVar("J", bound=_Sized)


def pack(jobs: Sequence[J], settings: Batching) -> Iterator[list[J]]:
    """Pack jobs of similar length into batches, longest first.

    Args:
        jobs: The jobs.
        settings: The limits of a batch.

    Yields:
        Batches within the limits; each job is in one of them. A job that alone exceeds the limit
        becomes a batch of its own.
    """
    batch: list[J] = []
    tokens = 0
    for job in sorted(jobs, key=lambda job: len(job.item), reverse=True):
        # All items are padded to the length of the first, which is the longest.
        area = len(batch[0].item) * (len(batch) + 1) if batch else 0
        is_full = (
            area > settings.batch_tokens
            or len(batch) >= settings.batch_items
            or tokens + len(job.item) < area * (1.0 - settings.padding)
        )
        if batch and is_full:
            yield batch
            batch, tokens = [], 0
        batch.append(job)
        tokens += len(job.item)
    if batch:
        yield batch
