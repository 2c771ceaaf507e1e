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
        self._read = asyncio.Event()

    async def whole(self) -> bytes:
        """Read all of it.

        Raises:
            RefusedError: It is too long, or takes too long.
            GoneError: The client went away.
        """
        with anyio.move_on_after(self._timeout_s):
            return b"".join([piece async for piece in self._pieces()])
        raise self._late()

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Read it piece by piece.

        Raises:
            RefusedError: It is too long, or there was nothing new for too long.
            GoneError: The client went away.
        """
        reading = self._pieces()
        try:
            while True:
                piece = None
                with anyio.move_on_after(self._timeout_s) as scope:
                    piece = await anext_or_none(reading)
                if scope.cancelled_caught:
                    raise self._late()
                if piece is None:
                    return
                yield piece
        finally:
            await reading.aclose()
            self._read.set()

    def nothing(self) -> None:
        """Say that nobody will read it."""
        self._read.set()

    async def gone(self) -> None:
        """Return when the body is read and the client goes away."""
        await self._read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _pieces(self) -> AsyncGenerator[bytes]:
        if self._announced is not None and self._announced > self._limit:
            raise self._too_long()
        length, more = 0, True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise GoneError
            piece: bytes = message.get("body", b"")
            length += len(piece)
            if length > self._limit:
                raise self._too_long()
            more = message.get("more_body", False)
            yield piece
        self._read.set()

    def _too_long(self) -> RefusedError:
        message = f"the request's body is longer than {self._limit} bytes"
        return RefusedError(413, "request_too_large", message, headers=_CLOSE)

    def _late(self) -> RefusedError:
        message = f"the request's body did not come in within {self._timeout_s:g} s"
        return RefusedError(408, "request_timeout", message, headers=_CLOSE)


async def anext_or_none(items: AsyncGenerator[bytes]) -> bytes | None:
    """Return the next item; None when there are no more."""
    try:
        return await items.__anext__()
    except StopAsyncIteration:
        return None


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
