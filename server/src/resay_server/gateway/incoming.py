"""The body of a client's request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from resay_server.gateway.errors import RefusedError
from resay_server.gateway.timeouts import within

if TYPE_CHECKING:
    from starlette.types import Receive

# Otherwise the server would go on reading a body that no one will read.
_CLOSE = {"connection": "close"}
# The maximum length of a short body, in bytes.
_SHORT = 65_536
# Enough bytes to tell the encoding of JSON.
_BEGINNING = 8


class ClientDisconnectedError(Exception):
    """The client disconnected."""


class Incoming:
    """The body of one request.

    Args:
        receive: The ASGI channel.
        announced: The announced length in bytes; None if unknown.
        limit: The maximum length in bytes.
        timeout_s: The time allowed to receive it.
    """

    def __init__(
        self, receive: Receive, announced: int | None, limit: int, timeout_s: float
    ) -> None:
        self._receive = receive
        self._announced = announced
        self._limit = limit
        self._timeout_s = timeout_s
        self._deadline: float | None = None
        self._buffer: list[bytes] = []
        self._length = 0
        self._has_more = True
        self._read = asyncio.Event()

    async def read_start(self) -> bool:
        """Read up to the length of a short body, and buffer it.

        Returns:
            Whether the body is complete.

        Raises:
            RefusedError: It is too long, or takes too long.
            ClientDisconnectedError: The client disconnected.
        """
        await self._buffer_up_to(_SHORT)
        return not self._has_more

    async def beginning(self) -> bytes:
        """Return the first bytes of the body, and buffer what was read for them.

        Returns:
            Eight bytes or more; fewer if the body is shorter.

        Raises:
            RefusedError: The body is too long, or takes too long.
            ClientDisconnectedError: The client disconnected.
        """
        await self._buffer_up_to(_BEGINNING - 1)
        return b"".join(self._buffer)

    async def read_all(self, limit: int | None = None) -> bytes:
        """Read and return the whole body.

        Args:
            limit: The maximum length in bytes, if it is less than that of all bodies.

        Raises:
            RefusedError: It is too long, or takes too long.
            ClientDisconnectedError: The client disconnected.
        """
        max_bytes = self._limit if limit is None else min(limit, self._limit)
        await self._buffer_up_to(max_bytes)
        if self._length > max_bytes:
            raise self._too_long_error(max_bytes)
        return b"".join(self._buffer)

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Yield the body in pieces, from its beginning.

        Raises:
            RefusedError: It is too long, or no data arrived for too long.
            ClientDisconnectedError: The client disconnected.
        """
        buffered, self._buffer = self._buffer, []
        try:
            for piece in buffered:
                yield piece
            while self._has_more:
                try:
                    piece = await within(self._timeout_s, self._next())
                except TimeoutError:
                    raise self._timeout_error() from None
                yield piece
        finally:
            self._read.set()

    def skip(self) -> None:
        """Declare that the body will not be read."""
        self._read.set()

    async def disconnected(self) -> None:
        """Wait until the body is read and the client disconnects."""
        await self._read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _buffer_up_to(self, length: int) -> None:
        """Read more than `length` bytes or to the end, within the time for the whole body."""
        if not self._has_more or self._length > length:
            return
        now = asyncio.get_running_loop().time()
        if self._deadline is None:
            self._deadline = now + self._timeout_s
        try:
            await within(self._deadline - now, self._buffer_pieces(length))
        except TimeoutError:
            raise self._timeout_error() from None

    async def _buffer_pieces(self, length: int) -> None:
        while self._has_more and self._length <= length:
            self._buffer.append(await self._next())

    async def _next(self) -> bytes:
        if self._announced is not None and self._announced > self._limit:
            raise self._too_long_error(self._limit)
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnectedError
        piece: bytes = message.get("body", b"")
        self._length += len(piece)
        if self._length > self._limit:
            raise self._too_long_error(self._limit)
        self._has_more = message.get("more_body", False)
        if not self._has_more:
            self._read.set()
        return piece

    def _too_long_error(self, limit: int) -> RefusedError:
        message = f"the request's body is longer than {limit} bytes"
        return RefusedError(413, "request_too_large", message, headers=_CLOSE)

    def _timeout_error(self) -> RefusedError:
        message = f"the request's body did not arrive within {self._timeout_s:g} s"
        return RefusedError(408, "request_timeout", message, headers=_CLOSE)


async def run_until_disconnect(
    task: asyncio.Task[object],
    work: Coroutine[Any, Any, None],
    incoming: Incoming,
    is_answered: Callable[[], bool],
) -> None:
    """Run `work`, and cancel it if the client disconnects.

    It is cancelled only once, so that it can close its resources.

    Args:
        task: The current task.
        work: The work to do.
        incoming: The request's body.
        is_answered: Whether the client has its complete answer; then the work is not cancelled.
    """
    is_abandoned = False

    def abandon(disconnected: asyncio.Future[None]) -> None:
        nonlocal is_abandoned
        if not disconnected.cancelled() and not is_answered():
            is_abandoned = True
            task.cancel()

    disconnected = asyncio.ensure_future(incoming.disconnected())
    disconnected.add_done_callback(abandon)
    try:
        await work
    except asyncio.CancelledError:
        if not is_abandoned:
            raise
    finally:
        disconnected.cancel()
