"""Work of others: what blocks, beside an event loop, and what minds how it is cancelled.

What an adapter does for its callers is written once, as coroutines and async generators that wait
for nothing but what a `Side` gives them. The side of callers that block never waits: `finished` and
`iterated` run its work in place.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from contextlib import aclosing, closing
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar, cast

import anyio
import anyio.to_thread

from resay._internal.event_loops import run_sync

R = TypeVar("R")
T = TypeVar("T")

_END = object()
_CLOSING_S = 1.0


class Side:
    """Callers that block, or those on an event loop.

    Args:
        blocking: Whether they block.
    """

    def __init__(self, *, blocking: bool) -> None:
        self.blocking = blocking

    async def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call a function of the callers' own side."""
        result = function(*args, **kwargs)
        return result if self.blocking else await result

    async def either(
        self, blocking: Callable[..., Any], looping: Callable[..., Any], /, *args: Any
    ) -> Any:
        """Call the one of two functions that is of this side."""
        return await self.call(blocking if self.blocking else looping, *args)

    async def run(
        self, function: Callable[..., Coroutine[Any, Any, T]], /, *args: Any, **kwargs: Any
    ) -> T:
        """Have a guard do something: on its own event loop where the callers block."""
        if self.blocking:
            return run_sync(function, *args, **kwargs)
        return await function(*args, **kwargs)

    async def each(self, items: Any) -> AsyncGenerator[Any]:
        """Read a generator of the callers' own side, and close it in the end."""
        if self.blocking:
            with closing(items):
                for item in items:
                    yield item
            return
        async with aclosing(items):
            async for item in items:
                yield item

    def sends(
        self, send: Callable[[T], Coroutine[Any, Any, R]]
    ) -> Callable[[T], Coroutine[Any, Any, R]]:
        """Return how a guard, on whatever event loop, has something of this side's sent."""
        if self.blocking:
            return lambda sent: in_thread(lambda: finished(send(sent)))
        return lambda sent: cancelled_once(send(sent))


BLOCKING, LOOPING = Side(blocking=True), Side(blocking=False)


def finished(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine of the blocking side, which never waits, and return what it returns."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    work.close()
    raise RuntimeError("a coroutine of a caller that blocks has waited")


def iterated(items: AsyncGenerator[T]) -> Generator[T, None, None]:
    """Read an async generator of the blocking side, and close it in the end."""
    return _read(items, lambda step: finished(step()))


async def in_thread(work: Callable[[], T]) -> T:
    """Run blocking work in a thread.

    Work that is no longer wanted is left behind, since no thread can be stopped.

    Args:
        work: What is to be done. It sees the context variables of the caller.
    """
    return await anyio.to_thread.run_sync(
        work,
        abandon_on_cancel=True,
        # The policy limits how many there are. The event loop's own few dozen threads must stay
        # free, or the guards that these threads may be waiting for could not go on.
        limiter=anyio.CapacityLimiter(1),
    )


async def cancelled_once(work: Coroutine[Any, Any, T]) -> T:
    """Run async work of a framework that minds how it is cancelled.

    Cancelling this cancels the work once, and waits until it has closed its connection: work that
    is cancelled again and again, which is anyio's way, cannot, and its provider writes on.

    Args:
        work: What is to be done.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        with anyio.move_on_after(_CLOSING_S, shield=True):
            await asyncio.wait([task])
        raise


async def read_in_threads(pieces: Iterator[T]) -> AsyncGenerator[T]:
    """Read a blocking iterator, one piece after the other, and close it in the end.

    Args:
        pieces: The iterator. One that a thread still waits for when nobody reads on is closed by
            whoever it reads from.
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
        # One context for all pieces, so that what one sets is there for the next.
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
        # What still runs in a thread that was left behind is closed when that ends.
        if close is not None and not self._running:
            await in_thread(partial(self._context.run, close))


def given_in_sync(items: AsyncGenerator[T]) -> Generator[T, None, None]:
    """Read an async generator on the background loop, and close it in the end."""
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
