"""Calling LlamaIndex from the guard's event loop: by its synchronous or its asynchronous side."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from functools import partial
from typing import Any, Protocol

from resay.adapters import in_thread, read_in_threads

__all__ = ["Asks", "InLoop", "InThreads", "Streams", "Way"]


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
        pieces = await in_thread(partial(request.stream, target))
        async with aclosing(read_in_threads(pieces)) as reading:
            yield reading
