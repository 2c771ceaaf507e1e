"""Calling LlamaIndex from the guard's event loop: by its synchronous or its asynchronous side."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from contextvars import copy_context
from functools import partial
from typing import Any, Protocol, TypeVar

import anyio
import anyio.to_thread

__all__ = ["Asks", "InLoop", "InThreads", "Streams", "Way", "in_thread"]

T = TypeVar("T")

_END = object()


class Asks(Protocol):
    """A request, which knows both sides of whom it goes to."""

    def ask(self, target: Any, /) -> Any:
        """Ask."""
        ...

    async def aask(self, target: Any, /) -> Any:
        """Ask on this event loop."""
        ...


class Streams(Asks, Protocol):
    """A request that can be answered in pieces."""

    def stream(self, target: Any, /) -> Iterator[Any]:
        """Ask for pieces."""
        ...

    async def astream(self, target: Any, /) -> AsyncIterator[Any]:
        """Ask for pieces on this event loop."""
        ...


class Way(Protocol):
    """One of the two ways to call."""

    async def ask(self, request: Asks, target: Any) -> Any:
        """Ask."""
        ...

    def stream(
        self, request: Streams, target: Any
    ) -> AbstractAsyncContextManager[AsyncIterator[Any]]:
        """Ask for pieces."""
        ...


class InLoop:
    """By the asynchronous side, on this event loop."""

    async def ask(self, request: Asks, target: Any) -> Any:
        """Ask."""
        return await request.aask(target)

    @asynccontextmanager
    async def stream(self, request: Streams, target: Any) -> AsyncGenerator[AsyncIterator[Any]]:
        """Ask for pieces."""
        pieces = await request.astream(target)
        try:
            yield pieces
        finally:
            if isinstance(pieces, AsyncGenerator):
                await pieces.aclose()


class InThreads:
    """By the synchronous side, in a thread.

    Asynchronous clients belong to the event loop of whoever uses them first, so a loop of ours must
    not touch them. A call that is no longer wanted is left behind, since no thread can be stopped.
    """

    async def ask(self, request: Asks, target: Any) -> Any:
        """Ask."""
        return await in_thread(partial(request.ask, target))

    @asynccontextmanager
    async def stream(self, request: Streams, target: Any) -> AsyncGenerator[AsyncIterator[Any]]:
        """Ask for pieces."""
        pieces = _Pieces(await in_thread(partial(request.stream, target)))
        try:
            async with aclosing(pieces.read()) as reading:
                yield reading
        finally:
            with anyio.CancelScope(shield=True):
                await pieces.close()


class _Pieces:
    """A synchronous iterator, read in threads, one piece after the other."""

    def __init__(self, pieces: Iterator[Any]) -> None:
        self._pieces = pieces
        # One context for all pieces, so that what one sets is there for the next.
        self._context = copy_context()
        self._running = False

    async def read(self) -> AsyncGenerator[Any]:
        while (piece := await in_thread(self._next)) is not _END:
            yield piece

    def _next(self) -> Any:
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


async def in_thread(work: Callable[[], T]) -> T:
    """Run blocking work in a thread.

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
