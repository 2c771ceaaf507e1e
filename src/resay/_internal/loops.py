"""One object for each event loop, because connections belong to the loop they were opened in."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import Generic, TypeVar

__all__ = ["PerLoop"]

T = TypeVar("T")


class PerLoop(Generic[T]):
    """Makes an object in each event loop that asks, and closes it when that loop shuts down.

    A loop of a compiled class, such as uvloop's, must be run by `asyncio.run`, or shut its
    asynchronous generators down as that does.

    Args:
        make: Makes an object; called in the loop.
        close: Closes one; called in the loop.
    """

    def __init__(self, make: Callable[[], T], close: Callable[[T], Awaitable[None]]) -> None:
        self._make = make
        self._close = close
        self._lock = threading.Lock()
        self._held: dict[asyncio.AbstractEventLoop, tuple[T, AsyncGenerator[T, None]]] = {}

    async def get(self) -> T:
        """Return the object of the running event loop."""
        loop = asyncio.get_running_loop()
        with self._lock:
            held = self._held.get(loop)
        if held is not None:
            return held[0]
        # A loop that shuts down, by `asyncio.run` for instance, closes the asynchronous generators
        # that were started in it.
        lifetime = self._live(loop)
        made = await anext(lifetime)
        self._close_with(loop)
        with self._lock:
            gone = [other for other in self._held if other.is_closed()]
            for other in gone:
                del self._held[other]
            self._held[loop] = made, lifetime
        return made

    async def aclose(self) -> None:
        """Close the object of the running event loop, if there is one."""
        with self._lock:
            held = self._held.get(asyncio.get_running_loop())
        if held is not None:
            await held[1].aclose()

    def _close_with(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close the object before its loop is closed, for callers who only do that."""
        close = loop.close

        def closing() -> None:
            with self._lock:
                held = self._held.get(loop)
            # Whatever is wrong with the object, the loop must close.
            if held is not None and not loop.is_closed() and not _running():
                with suppress(Exception):
                    loop.run_until_complete(held[1].aclose())
            close()

        # Compiled loops have no room for it.
        with suppress(AttributeError):
            loop.close = closing  # pyright: ignore[reportAttributeAccessIssue] - on purpose

    async def _live(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[T, None]:
        made = self._make()
        try:
            yield made
        finally:
            with self._lock:
                self._held.pop(loop, None)
            await self._close(made)


def _running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
