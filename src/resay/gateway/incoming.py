"""What a client sends, and whether it is still there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import TYPE_CHECKING, Any

import anyio

from resay.gateway.refusing import RefusedError

if TYPE_CHECKING:
    from starlette.types import Receive

__all__ = ["GoneError", "Incoming", "unless_gone"]

# Else the server would read on what nobody wants.
_CLOSE = {"connection": "close"}
# What a short body has at most, in bytes.
_SHORT = 65_536


class GoneError(Exception):
    """The client went away."""


class Incoming:
    """The body of one request.

    Args:
        receive: Where it comes from.
        announced: How long it says it is, in bytes; None where it does not.
        limit: How long it may be, in bytes.
        timeout_s: How long it may take.
    """

    def __init__(
        self, receive: Receive, announced: int | None, limit: int, timeout_s: float
    ) -> None:
        self._receive = receive
        self._announced = announced
        self._limit = limit
        self._timeout_s = timeout_s
        self._until_s: float | None = None
        self._kept: list[bytes] = []
        self._length = 0
        self._more = True
        self._read = asyncio.Event()

    async def begin(self) -> bool:
        """Read it as far as it is short, without giving it.

        Returns:
            Whether that is all of it.

        Raises:
            RefusedError: It is too long, or takes too long.
            GoneError: The client went away.
        """
        await self._keep(_SHORT)
        return not self._more

    async def whole(self) -> bytes:
        """Read all of it.

        Raises:
            RefusedError: It is too long, or takes too long.
            GoneError: The client went away.
        """
        await self._keep(self._limit)
        return b"".join(self._kept)

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Read it piece by piece, from its beginning.

        Raises:
            RefusedError: It is too long, or there was nothing new for too long.
            GoneError: The client went away.
        """
        kept, self._kept = self._kept, []
        try:
            for piece in kept:
                yield piece
            while self._more:
                piece = None
                with anyio.move_on_after(self._timeout_s):
                    piece = await self._next()
                if piece is None:
                    raise self._late()
                yield piece
        finally:
            self._read.set()

    def nothing(self) -> None:
        """Say that nobody will read it."""
        self._read.set()

    async def gone(self) -> None:
        """Return when the body is read and the client goes away."""
        await self._read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _keep(self, length: int) -> None:
        """Read on until so much was read, in the time that there is for all of it."""
        if self._until_s is None:
            self._until_s = anyio.current_time() + self._timeout_s
        with anyio.CancelScope(deadline=self._until_s) as scope:
            while self._more and self._length <= length:
                self._kept.append(await self._next())
        if scope.cancelled_caught:
            raise self._late()

    async def _next(self) -> bytes:
        if self._announced is not None and self._announced > self._limit:
            raise self._too_long()
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise GoneError
        piece: bytes = message.get("body", b"")
        self._length += len(piece)
        if self._length > self._limit:
            raise self._too_long()
        self._more = message.get("more_body", False)
        if not self._more:
            self._read.set()
        return piece

    def _too_long(self) -> RefusedError:
        message = f"the request's body is longer than {self._limit} bytes"
        return RefusedError(413, "request_too_large", message, headers=_CLOSE)

    def _late(self) -> RefusedError:
        message = f"the request's body did not come in within {self._timeout_s:g} s"
        return RefusedError(408, "request_timeout", message, headers=_CLOSE)


async def unless_gone(
    incoming: Incoming, work: Coroutine[Any, Any, None], is_answered: Callable[[], bool]
) -> None:
    """Do something, and cancel it when the client goes away.

    It is cancelled once, so that it can close what it opened.

    Args:
        incoming: What the client sends.
        work: What is to be done.
        is_answered: Whether the client has its answer already; then the rest is done all the same.
    """
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(incoming.gone())
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        if not is_answered():
            task.cancel()
        await asyncio.wait({task, gone})
    if not task.cancelled():
        task.result()
