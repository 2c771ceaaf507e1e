"""The answer to a client's request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from resay.adapters.apis import Api, Event, encoded, number
from resay_server.gateway.calls import Call
from resay_server.gateway.errors import RefusedError, error_body, error_event
from resay_server.gateway.headers import Headers
from resay_server.gateway.incoming import ClientDisconnectedError
from resay_server.gateway.timeouts import within

if TYPE_CHECKING:
    from starlette.types import Send


_COMMENT = b": the answer is being checked\n\n"
# Statuses of responses without content (RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5).
_WITHOUT_CONTENT = frozenset({204, 205, 304})
# Statuses from here on are failures of the gateway or of the upstream.
_FAILED = 500


class Outgoing:
    """The answer to one request.

    Args:
        send: The ASGI channel.
        call: The request.
        timeout_s: How long the client may pause reading.

    Attributes:
        status: The status sent; None before.
        complete: Whether everything was sent.
        refused: The code of the error sent in place of the answer, or at its end.
        cause: Why the gateway or the upstream failed, without any content; None if neither did.
        reported: Whether observers were notified.
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
        self.cause: str | None = None
        self.reported = False

    async def start(self, status: int, headers: Headers) -> None:
        """Send the status and the headers."""
        self.status = status
        own = [(b"x-resay-request-id", self._call.request_id.encode())]
        await self._send(
            {"type": "http.response.start", "status": status, "headers": [*headers, *own]}
        )

    async def write(self, data: bytes, *, last: bool = False) -> None:
        """Send a piece of the body.

        Raises:
            ClientDisconnectedError: The client stopped reading.
        """
        async with self._writing:
            await self._write(data, last=last)

    async def _write(self, data: bytes, *, last: bool) -> None:
        message = {"type": "http.response.body", "body": data, "more_body": not last}
        try:
            await within(self._timeout_s, self._send(message))
        except TimeoutError:
            raise ClientDisconnectedError from None
        self._last_s = time.monotonic()
        self.complete = last

    async def send_complete(self, status: int, headers: Headers, body: bytes) -> None:
        """Send an answer in one piece.

        An answer that replaces one without content, such as a message in place of a withheld
        answer, cannot have that one's status.
        """
        if status in _WITHOUT_CONTENT and body:
            status = 200
        # These end with their headers, and state no length.
        if status not in (204, 304):
            headers = [*headers, (b"content-length", str(len(body)).encode())]
        await self.start(status, headers)
        await self.write(body, last=True)

    async def send_events(
        self, status: int, headers: Headers, events: AsyncGenerator[Sequence[Event]], api: Api
    ) -> None:
        """Send a stream; events that arrive together are sent together.

        Raises:
            RefusedError: An error of `events` before anything was sent. Later ones are sent as an
                event.
        """
        sent_count = 0
        last: Event | None = None
        try:
            async for group in events:
                if not group:
                    continue
                sent_count += len(group)
                last = group[-1]
                if self.status is None:
                    await self.start(status, headers)
                await self.write(b"".join([encoded(event) for event in group]))
        except RefusedError as error:
            if self.status is None:
                raise
            self._note(error)
            call = self._call
            position = sent_count
            if last is not None and "sequence_number" in last.body:
                position = 1 + number(last.body["sequence_number"])
            ending = error_event(error, call.dialect, api, call.request_id, position)
            await self.write(encoded(ending))
        if self.status is None:
            await self.start(status, headers)
        await self.write(b"", last=True)

    async def refuse(self, error: RefusedError) -> None:
        """Send an error in the API's own format."""
        call = self._call
        self._note(error)
        headers: Headers = [
            (b"content-type", b"application/json"),
            (b"x-request-id", call.request_id.encode()),
        ]
        headers += [(k.encode(), v.encode()) for k, v in error.headers.items()]
        body = error_body(error, call.dialect, call.request_id)
        await self.send_complete(error.status, headers, body)

    def _note(self, error: RefusedError) -> None:
        self.refused = error.code
        # Messages about a client's mistake may have values that the client chose.
        if error.status >= _FAILED:
            self.cause = error.cause or error.message

    @asynccontextmanager
    async def keep_alive(self, headers: Headers, every_s: float) -> AsyncGenerator[None]:
        """Send a comment after each silent interval, because proxies cut silent streams.

        Args:
            headers: The headers to start the stream with, if it has not started.
            every_s: The interval, in seconds.
        """
        self._last_s = time.monotonic()
        heartbeats = asyncio.ensure_future(self._send_heartbeats(headers, every_s))
        try:
            yield
        finally:
            heartbeats.cancel()
            with suppress(asyncio.CancelledError, ClientDisconnectedError):
                await heartbeats

    async def _send_heartbeats(self, headers: Headers, every_s: float) -> None:
        while True:
            await asyncio.sleep(max(self._last_s + every_s - time.monotonic(), 0.0))
            async with self._writing:
                if time.monotonic() - self._last_s < every_s:
                    continue
                if self.status is None:
                    await self.start(200, headers)
                await self._write(_COMMENT, last=False)
