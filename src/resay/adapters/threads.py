"""Bridges between blocking and async code, and isolation from repeated cancellation.

An adapter's logic is written once, as coroutines and async generators that await nothing except
through a `CallStyle`. In blocking style they never suspend: `run_in_place` and `iterate_in_place`
run them in place.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator, Iterator
from contextlib import aclosing, closing
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

import anyio
import anyio.to_thread

from resay._internal.event_loops import run_sync
from resay._internal.notify import VerdictRelay

R = TypeVar("R")
T = TypeVar("T")

_END = object()
_CLOSING_S = 1.0


async def _iterate_blocking(items: Any) -> AsyncGenerator[Any]:
    with closing(items):
        for item in items:
            yield item


class CallStyle:
    """How an adapter is called: blocking, or on an event loop.

    Args:
        blocking: Whether the callers block.
    """

    def __init__(self, *, blocking: bool) -> None:
        self.blocking = blocking

    async def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call a function of the callers' style, and await it if needed."""
        result = function(*args, **kwargs)
        return result if self.blocking else await result

    async def either(
        self, blocking: Callable[..., Any], async_: Callable[..., Any], /, *args: Any
    ) -> Any:
        """Call the function for this style."""
        return await self.call(blocking if self.blocking else async_, *args)

    async def run(
        self, function: Callable[..., Coroutine[Any, Any, T]], /, *args: Any, **kwargs: Any
    ) -> T:
        """Run a guard's coroutine function, on the guard's own event loop if the callers block."""
        if self.blocking:
            return run_sync(function, *args, **kwargs)
        return await function(*args, **kwargs)

    def iterate(self, items: Any) -> AsyncGenerator[Any]:
        """Iterate over a generator of the callers' style, and close it at the end."""
        return _iterate_blocking(items) if self.blocking else items

    def adapt_send(
        self, send: Callable[[T], Coroutine[Any, Any, R]]
    ) -> Callable[[T], Coroutine[Any, Any, R]]:
        """Adapt a function of this style that sends something, for a guard on any event loop."""
        if self.blocking:
            return lambda sent: in_thread(lambda: run_in_place(send(sent)))
        return lambda sent: cancel_once(send(sent))


BLOCKING, ASYNC = CallStyle(blocking=True), CallStyle(blocking=False)


def run_in_place(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in blocking style, which never suspends, and return its result."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    work.close()
    raise RuntimeError("a coroutine of a blocking caller suspended")


def iterate_in_place(items: AsyncGenerator[T]) -> Generator[T, None, None]:
    """Iterate over an async generator in blocking style, and close it at the end."""
    return _read(items, lambda step: run_in_place(step()))


async def in_thread(work: Callable[[], T]) -> T:
    """Run blocking work in a thread.

    Cancelled work is abandoned, because a thread cannot be stopped.

    Args:
        work: The function. It sees the context variables of the caller.
    """
    return await anyio.to_thread.run_sync(
        work,
        abandon_on_cancel=True,
        # The policy limits their number. The event loop's few dozen threads must stay free, or the
        # guards that these threads may be waiting for could not proceed.
        limiter=anyio.CapacityLimiter(1),
    )


async def cancel_once(work: Coroutine[Any, Any, T]) -> T:
    """Run async work of a framework that cannot cope with repeated cancellation.

    Cancelling this cancels the work once, and waits until it has closed its connection. Work that
    is cancelled repeatedly, as anyio does, cannot close it, and its provider keeps generating.

    Args:
        work: The coroutine.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        with anyio.move_on_after(_CLOSING_S, shield=True):
            await asyncio.wait([task])
        raise


@dataclass(frozen=True, slots=True)
class _End:
    """The end of a generator that is iterated over in another task."""

    error: Exception | None = None


class TaskIterator(AsyncIterator[T]):
    """Iterates over an async generator in a task of its own.

    A reader may leave a stream without closing it. When an event loop ends, it cancels all tasks,
    and then closes all generators at the same time, which fails for those that close others. This
    is no generator, and may be closed more than once.

    Args:
        items: The generator. It is closed at the end.
    """

    def __init__(self, items: AsyncGenerator[T]) -> None:
        self._items = items
        self._queue: asyncio.Queue[T | _End] = asyncio.Queue(1)
        self._task: asyncio.Task[None] | None = None
        self._ended = False
        # Verdicts are reported to the reader.
        self._relay = VerdictRelay()

    async def __anext__(self) -> T:
        if self._ended:
            raise StopAsyncIteration
        if self._task is None:
            with self._relay.capture():
                self._task = asyncio.create_task(self._fill())
        item = await self._queue.get()
        await self._relay.adeliver(last=isinstance(item, _End))
        if not isinstance(item, _End):
            return item
        self._ended = True
        raise item.error or StopAsyncIteration

    async def _fill(self) -> None:
        end = _End()
        try:
            async with aclosing(self._items):
                async for item in self._items:
                    await self._queue.put(item)
        except Exception as error:
            end = _End(error)
        await self._queue.put(end)

    async def aclose(self) -> None:
        """Stop iterating, and close the generator."""
        self._ended = True
        if self._task is None:
            await self._items.aclose()
            return
        self._task.cancel()
        await asyncio.wait([self._task])
        await self._relay.adeliver(last=True)


async def read_in_threads(pieces: Iterator[T]) -> AsyncGenerator[T]:
    """Iterate over a blocking iterator in threads, and close it at the end.

    Args:
        pieces: The iterator. If the reader leaves while a thread still waits for the next item, the
            iterator's own source has to close it.
    """
    reading = _Reading(pieces)
    try:
        while (piece := await in_thread(reading.next)) is not _END:
            yield cast("T", piece)
    finally:
        with anyio.CancelScope(shield=True):
            await reading.close()


class _Reading:
    def __init__(self, pieces: Iterator[object]) -> None:
        self._pieces = pieces
        # One context for all items, so that variables set during one are there for the next.
        self._context = copy_context()
        self._running = False

    def next(self) -> object:
        self._running = True
        try:
            return self._context.run(next, self._pieces, _END)
        finally:
            self._running = False

    async def close(self) -> None:
        close: Callable[[], None] | None = getattr(self._pieces, "close", None)
        # An iterator still running in an abandoned thread is closed when that ends.
        if close is not None and not self._running:
            await in_thread(partial(self._context.run, close))


def iterate_in_background(items: AsyncGenerator[T]) -> Generator[T, None, None]:
    """Iterate over an async generator on the background loop, and close it at the end."""
    return _read(items, run_sync)


def _read(
    items: AsyncGenerator[T], run: Callable[[Callable[[], Any]], Any]
) -> Generator[T, None, None]:
    try:
        while True:
            try:
                item = run(items.__anext__)
            except StopAsyncIteration:
                return
            yield item
    finally:
        run(items.aclose)
