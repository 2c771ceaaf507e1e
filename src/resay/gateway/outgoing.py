"""What the gateway gives a client."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import anyio

from resay.gateway.calls import Call, Headers
from resay.gateway.incoming import GoneError
from resay.gateway.refusing import RefusedError, error_body

if TYPE_CHECKING:
    from starlette.types import Send

__all__ = ["Outgoing"]

_COMMENT = b": the answer is being checked\n\n"


class Outgoing:
    """The answer to one request.

    Args:
        send: Where it goes.
        call: The request.
        timeout_s: How long the client may take nothing of it.

    Attributes:
        status: The status that was given; None until then.
        complete: Whether all was given.
        refused: The code of the error that was given in its place, or at its end.
        told: Whether observers know of it.
    """

    def __init__(self, send: Send, call: Call, timeout_s: float) -> None:
        self._send = send
        self._call = call
        self._timeout_s = timeout_s
        self._last_s = 0.0
        self._writing = asyncio.Lock()
        self.status: int | None = None
        self.complete = False
        self.refused: str | None = None
        self.told = False

    async def start(self, status: int, headers: Headers) -> None:
        """Give the status and the headers."""
        self.status = status
        own = [(b"x-resay-request-id", self._call.request_id.encode())]
        await self._send(
            {"type": "http.response.start", "status": status, "headers": [*headers, *own]}
        )

    async def write(self, data: bytes, *, last: bool = False) -> None:
        """Give a piece of the body.

        Raises:
            GoneError: The client takes nothing any more.
        """
        async with self._writing:
            await self._write(data, last=last)

    async def _write(self, data: bytes, *, last: bool) -> None:
        with anyio.move_on_after(self._timeout_s) as scope:
            await self._send({"type": "http.response.body", "body": data, "more_body": not last})
        if scope.cancelled_caught:
            raise GoneError
        self._last_s = time.monotonic()
        self.complete = last

    async def whole(self, status: int, headers: Headers, body: bytes) -> None:
        """Give an answer in one piece."""
        length = (b"content-length", str(len(body)).encode())
        await self.start(status, [*headers, length])
        await self.write(body, last=True)

    async def refuse(self, error: RefusedError) -> None:
        """Give an error in the API's own shape."""
        call = self._call
        self.refused = error.code
        headers: Headers = [
            (b"content-type", b"application/json"),
            (b"x-request-id", call.request_id.encode()),
        ]
        headers += [(k.encode(), v.encode()) for k, v in error.headers.items()]
        body = error_body(error, call.dialect, call.request_id)
        await self.whole(error.status, headers, body)

    @asynccontextmanager
    async def kept_alive(self, headers: Headers, every_s: float) -> AsyncGenerator[None]:
        """Give a comment whenever there was nothing to give for so long: proxies cut such streams.

        Args:
            headers: What to begin the stream with, where it was not begun.
            every_s: After how long, in seconds.
        """
        self._last_s = time.monotonic()
        beating = asyncio.ensure_future(self._beat(headers, every_s))
        try:
            yield
        finally:
            beating.cancel()
            with suppress(asyncio.CancelledError, GoneError):
                await beating

    async def _beat(self, headers: Headers, every_s: float) -> None:
        while True:
            await asyncio.sleep(max(self._last_s + every_s - time.monotonic(), 0.0))
            async with self._writing:
                if time.monotonic() - self._last_s < every_s:
                    continue
                if self.status is None:
                    await self.start(200, headers)
                await self._write(_COMMENT, last=False)
