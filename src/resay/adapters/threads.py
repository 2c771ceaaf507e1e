"""Work of others: what blocks, beside an event loop, and what minds how it is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar, cast

import anyio
import anyio.to_thread

from resay._internal.event_loops import run_sync

T = TypeVar("T")

_END = object()
_CLOSING_S = 1.0


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
    """Read an asynchronous generator in code that is not, and close it in the end."""
    try:
        while True:
            try:
                item = run_sync(items.__anext__)
            except StopAsyncIteration:
                return
            yield item
    finally:
        run_sync(items.aclose)
