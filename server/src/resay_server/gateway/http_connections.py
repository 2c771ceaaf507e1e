"""HTTP/1.1 connections to one server, which stay open between requests."""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

import aiohappyeyeballs
import anyio
import httptools
import httpx

from resay_server.gateway.headers import CONTROL_CHARACTER, Headers

_CONNECT_S = 10.0
_HAPPY_EYEBALLS_S = 0.25
# Many servers close idle connections after a minute, some after 20 seconds.
_KEPT_ALIVE_S = 15.0
_HEAD_BYTES = 65_536
# How much of a body is held for a reader that is slower than the server, and for the reverse.
_BUFFER_BYTES = 65_536
_IDEMPOTENT = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PUT"})
_WITH_BODY = frozenset({"PATCH", "POST", "PUT"})
_PORTS = {"http": 80, "https": 443}


class ProtocolError(ConnectionError):
    """The server does not follow the protocol."""


class Connections:
    """Connections to one server, each for one request at a time.

    It must be used in one event loop.

    Args:
        url: The server's URL; its path is ignored.
        timeout_s: How long a response may be silent, in seconds.
        proxy: The URL of a proxy that leads to the server.
    """

    def __init__(self, url: httpx.URL, *, timeout_s: float, proxy: httpx.URL | None = None) -> None:
        self.timeout_s = timeout_s
        self._host_line = b"host: %s\r\n" % url.netloc
        self._url = url
        self._proxy = proxy
        self._proxy_lines = b"" if proxy is None else _proxy_authorization(proxy)
        # A proxy for a server without TLS gets the request itself, with the whole URL.
        self._forwards = proxy is not None and url.scheme == "http"
        self._tls = httpx.create_ssl_context()
        # The most recently used last.
        self._idle: list[_Connection] = []
        self._sweep_timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    def close(self) -> None:
        """Close the connections, those in use when their response ends."""
        self._is_closed = True
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    async def request(
        self,
        method: str,
        target: bytes,
        headers: Headers,
        body: bytes | AsyncGenerator[bytes] | None,
    ) -> Response:
        """Send a request; return the response when its headers are there.

        Args:
            method: The method.
            target: The path and the query, percent-encoded.
            headers: The headers, names in lower case, without `host`. They must state the length
                of a body in pieces, or it is sent in chunks.
            body: The body: all of it, or its pieces.

        Raises:
            ConnectionError: The server is unreachable, closed the connection, or does not follow
                the protocol.
            TimeoutError: It did not answer in time.
            Exception: An error of the body's iterator.
        """
        head, length = self._head(method, target, headers, body)
        while True:
            connection = self._take()
            is_reused = connection is not None
            if connection is None:
                connection = await self._connect()
            response = connection.send(method, head, body, length)
            try:
                await response.wait_for_head()
            except BaseException as error:
                response.close()
                # The server may have closed the connection while the request was on its way.
                is_stale = is_reused and isinstance(error, ConnectionError)
                is_repeatable = method in _IDEMPOTENT and not isinstance(body, AsyncGenerator)
                if is_stale and is_repeatable and not response.has_begun:
                    continue
                raise
            return response

    def _head(
        self,
        method: str,
        target: bytes,
        headers: Headers,
        body: bytes | AsyncGenerator[bytes] | None,
    ) -> tuple[bytes, int | None]:
        """Return the request up to its body, and the length of the body; None for chunks."""
        length: int | None = 0
        framing = b""
        if isinstance(body, bytes):
            length = len(body)
            framing = b"content-length: %d\r\n" % length
        elif body is not None:
            stated = [value for name, value in headers if name == b"content-length"]
            length = int(stated[0]) if stated else None
            framing = b"" if stated else b"transfer-encoding: chunked\r\n"
        elif method in _WITH_BODY and not any(name == b"content-length" for name, _ in headers):
            framing = b"content-length: 0\r\n"
        lines = [b"%s: %s\r\n" % header for header in headers]
        if self._forwards:
            target = b"%s://%s%s" % (self._url.scheme.encode(), self._url.netloc, target)
            lines.append(self._proxy_lines)
        first = b"%s %s HTTP/1.1\r\n%s" % (method.encode(), target, self._host_line)
        head = b"".join([first, *lines, framing, b"\r\n"])
        # A line break in a value would begin a header of its own, or another request.
        line_count = 3 + len(headers) + bool(framing) + (self._forwards and bool(self._proxy_lines))
        if head.count(b"\n") != line_count or head.count(b"\r") != line_count:
            raise ValueError("a header contains a line break")
        return head, length

    def _take(self) -> _Connection | None:
        """Return an idle connection, if one is still open."""
        oldest = asyncio.get_running_loop().time() - _KEPT_ALIVE_S
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closing and connection.idle_since > oldest:
                return connection
            connection.close()
        return None

    def release(self, connection: _Connection) -> None:
        """Keep a connection for the next request."""
        if self._is_closed:
            connection.close()
            return
        self._idle.append(connection)
        if self._sweep_timer is None:
            loop = asyncio.get_running_loop()
            self._sweep_timer = loop.call_later(_KEPT_ALIVE_S, self._sweep)

    def _sweep(self) -> None:
        """Close the connections that have been idle for too long."""
        loop = asyncio.get_running_loop()
        oldest = loop.time() - _KEPT_ALIVE_S
        recent: list[_Connection] = []
        for connection in self._idle:
            if connection.idle_since > oldest and not connection.is_closing:
                recent.append(connection)
            else:
                connection.close()
        self._idle = recent
        self._sweep_timer = loop.call_later(_KEPT_ALIVE_S, self._sweep) if recent else None

    async def _connect(self) -> _Connection:
        connection = _Connection(self)
        with anyio.fail_after(_CONNECT_S):
            if self._proxy is None:
                await self._open(connection, self._url)
                return connection
            await self._open(connection, self._proxy)
            if not self._forwards:
                await self._open_tunnel(connection)
        return connection

    async def _open(self, connection: _Connection, url: httpx.URL) -> None:
        """Open a connection to a server or a proxy."""
        loop = asyncio.get_running_loop()
        if url.scheme not in _PORTS:
            raise ProtocolError(f"no connection can be opened to a URL with {url.scheme!r}")
        # The ASCII form of an international name.
        host = url.raw_host.decode()
        port = url.port or _PORTS[url.scheme]
        addresses = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        # Its parameters have types that are not complete.
        start = cast("Any", aiohappyeyeballs.start_connection)  # pyright: ignore[reportUnknownMemberType]
        connected: socket.socket = await start(addresses, happy_eyeballs_delay=_HAPPY_EYEBALLS_S)
        try:
            is_secure = url.scheme == "https"
            await loop.create_connection(
                lambda: connection,
                sock=connected,
                ssl=self._tls if is_secure else None,
                server_hostname=host if is_secure else None,
            )
        except BaseException:
            connected.close()
            raise

    async def _open_tunnel(self, connection: _Connection) -> None:
        """Have the proxy open a connection to the server, with TLS between here and there."""
        host, port = self._url.raw_host, self._url.port or _PORTS[self._url.scheme]
        address = b"%s:%d" % (b"[%s]" % host if b":" in host else host, port)
        lines = (b"CONNECT %s HTTP/1.1\r\nhost: %s\r\n" % (address, address), self._proxy_lines)
        response = connection.send("CONNECT", b"".join([*lines, b"\r\n"]), None, 0)
        try:
            await response.wait_for_head()
            if not 200 <= response.status < 300:
                raise ProtocolError(f"the proxy answered with status {response.status}")
        except BaseException:
            response.close()
            raise
        await connection.start_tls(self._tls, host.decode())


class _Connection(asyncio.Protocol):
    """One connection.

    Args:
        connections: The others, to which it returns when it is idle.

    Attributes:
        idle_since: When its last response ended, on the event loop's clock.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._transport: asyncio.Transport | None = None
        self._response: Response | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self.idle_since = 0.0

    @property
    def transport(self) -> asyncio.Transport:
        """The open transport."""
        assert self._transport is not None  # noqa: S101 - it was connected
        return self._transport

    @property
    def is_closing(self) -> bool:
        """Whether it is closed, or about to be."""
        return self.transport.is_closing()

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close the connection without sending what is still to be sent."""
        if self._transport is not None:
            self._transport.abort()

    def send(
        self,
        method: str,
        head: bytes,
        body: bytes | AsyncGenerator[bytes] | None,
        length: int | None,
    ) -> Response:
        """Send a request.

        Args:
            method: The method.
            head: The request up to its body.
            body: The body: all of it, or its pieces.
            length: The length of a body in pieces; None for chunks.
        """
        response = Response(self, method, self._connections.timeout_s)
        self._response = response
        if isinstance(body, AsyncGenerator):
            self.transport.write(head)
            response.send_pieces(body, length)
        else:
            self.transport.write(head + body if body else head)
        return response

    def end_response(self, response: Response, *, is_reusable: bool) -> None:
        """Take note that a response has ended, so that the connection is free or closed."""
        if self._response is not response:
            return
        self._response = None
        if is_reusable and not self.is_closing:
            self.idle_since = asyncio.get_running_loop().time()
            self._connections.release(self)
        else:
            self.close()

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        """Continue the connection with TLS."""
        self._response = None
        loop = asyncio.get_running_loop()
        transport = await loop.start_tls(self.transport, self, context, server_hostname=host)
        self._transport = cast("asyncio.Transport", transport)

    async def wait_until_writable(self) -> None:
        """Wait until little is left to send."""
        await self._writable.wait()

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._response is None:
            # An answer to nothing must not become the next request's.
            self.close()
        else:
            self._response.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._writable.set()
        if self._response is not None:
            self._response.end(exc)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()


class Response:
    """A response, as it arrives.

    Args:
        connection: The connection of its request.
        method: The method of its request.
        timeout_s: How long the server may be silent, in seconds.

    Attributes:
        status: The status; 0 before the headers are complete.
        headers: The headers, names in lower case.
        has_begun: Whether any of it has arrived.
    """

    def __init__(self, connection: _Connection, method: str, timeout_s: float) -> None:
        self.status = 0
        self.headers: Headers = []
        self.has_begun = False
        self._connection = connection
        self._method = method
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpResponseParser(self)
        # As browsers are, and as is safe with the checks below.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )
        self._head_bytes = 0
        self._pieces: list[bytes] = []
        self._size = 0
        self._is_paused = False
        self._ends_with_connection = False
        self._is_complete = False
        self._error: BaseException | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._sender: asyncio.Task[None] | None = None
        self._timeout_s = timeout_s
        self._active_s = self._loop.time()
        self._timer = self._loop.call_later(timeout_s, self._check_silence)

    # For the reader

    async def wait_for_head(self) -> None:
        """Wait for the status and the headers."""
        while not self.status:
            if self._error is not None:
                raise self._error
            await self._wait()

    async def next_piece(self) -> bytes:
        """Return what has arrived of the body since the last piece; empty at its end.

        Raises:
            ConnectionError: It is incomplete.
            TimeoutError: Nothing arrived for too long.
        """
        while not self._pieces:
            if self._error is not None:
                raise self._error
            if self._is_complete:
                return b""
            await self._wait()
        return self._take_pieces()

    def close(self) -> None:
        """Close the response. Its connection is closed too, unless it is complete."""
        if not self._is_complete and self._error is None:
            self._fail(ConnectionAbortedError("the response was closed"))

    def _take_pieces(self) -> bytes:
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        if self._is_paused:
            self._is_paused = False
            self._active_s = self._loop.time()
            self._connection.transport.resume_reading()
        return data

    async def _wait(self) -> None:
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # For the connection

    def send_pieces(self, body: AsyncGenerator[bytes], length: int | None) -> None:
        """Send the body of the request while the response may already arrive.

        Args:
            body: The pieces of the body.
            length: The length that its headers state; None for chunks.
        """
        self._sender = self._loop.create_task(self._send_pieces(body, length))

    async def _send_pieces(self, body: AsyncGenerator[bytes], length: int | None) -> None:
        connection = self._connection
        sent = 0
        try:
            async with aclosing(body):
                async for piece in body:
                    sent += len(piece)
                    if length is not None and sent > length:
                        raise ProtocolError("the request's body is longer than its headers say")
                    if piece:
                        framed = piece if length is not None else _chunk(piece)
                        connection.transport.write(framed)
                    await connection.wait_until_writable()
                    self._active_s = self._loop.time()
            if length is None:
                connection.transport.write(b"0\r\n\r\n")
            elif sent < length:
                raise ProtocolError("the request's body is shorter than its headers say")
        # Whatever ends the body ends the request.
        except Exception as error:
            self._fail(error)

    def feed(self, data: bytes) -> None:
        """Add the next bytes of the connection."""
        self.has_begun = True
        self._active_s = self._loop.time()
        if not self.status:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(ProtocolError(type(error).__name__))
            return
        if not self.status and self._head_bytes > _HEAD_BYTES:
            self._fail(ProtocolError("the headers are too long"))
        elif self._size > _BUFFER_BYTES and not (self._is_paused or self._is_complete):
            self._is_paused = True
            self._connection.transport.pause_reading()
        self._wake()

    def end(self, error: Exception | None) -> None:
        """Take note that the connection has ended."""
        if self.status and self._ends_with_connection and error is None:
            self._complete(is_reusable=False)
        else:
            self._fail(error or ConnectionResetError("the server closed the connection"))

    def _complete(self, *, is_reusable: bool) -> None:
        self._is_complete = True
        if self._is_paused:
            self._is_paused = False
            self._connection.transport.resume_reading()
        is_sent = self._sender is None or self._sender.done()
        self._end(is_reusable=is_reusable and is_sent)

    def _fail(self, error: BaseException) -> None:
        self._connection.abort()
        # What follows a response is no part of it.
        if self._is_complete or self._error is not None:
            return
        self._error = error
        self._end(is_reusable=False)

    def _end(self, *, is_reusable: bool) -> None:
        """Release the connection, and what belongs to the response alone."""
        self._timer.cancel()
        # It refers to this response, which only the garbage collector would free.
        del self._parser
        sender = self._sender
        if sender is not None and not sender.done() and sender is not asyncio.current_task():
            sender.cancel()
        self._connection.end_response(self, is_reusable=is_reusable)
        self._wake()

    def _check_silence(self) -> None:
        """Fail if nothing arrived for too long, although it would have been read."""
        left_s = self._active_s + self._timeout_s - self._loop.time()
        if self._is_paused:
            left_s = self._timeout_s
        if left_s > 0:
            self._timer = self._loop.call_later(left_s, self._check_silence)
        else:
            self._fail(TimeoutError("the server sent nothing"))

    # What the parser calls

    def on_message_begin(self) -> None:
        """Begin a response."""
        if self._is_complete:
            raise ProtocolError("a second response")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header."""
        # Trailers are not passed on.
        if not self.status:
            self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Check the headers."""
        status = self._parser.get_status_code()
        if 100 <= status < 200 and status != 101:
            # Informational: the response itself follows.
            self.headers = []
            return
        if not status or any(CONTROL_CHARACTER.search(value) for _, value in self.headers):
            raise ProtocolError("an invalid status, or a header with control characters")
        codings = [value for name, value in self.headers if name == b"transfer-encoding"]
        if codings and [coding.lower() for coding in codings] != [b"chunked"]:
            # No other coding is undone, and none is passed on.
            raise ProtocolError("a transfer coding other than chunks")
        self.status = status
        has_length = any(name == b"content-length" for name, _ in self.headers)
        self._ends_with_connection = not (codings or has_length)
        if self._method == "HEAD":
            self._complete(is_reusable=self._parser.should_keep_alive())
        elif self._method == "CONNECT" and 200 <= status < 300:
            # A tunnel begins, whatever the headers say of a body (RFC 9110, section 9.3.6), so the
            # connection is not free.
            self._is_complete = True
            self._timer.cancel()

    def on_body(self, data: bytes) -> None:
        """Add a piece of the body."""
        if self._is_complete:
            raise ProtocolError("a body where there is none")
        self._pieces.append(data)
        self._size += len(data)

    def on_message_complete(self) -> None:
        """End the response."""
        if self.status and not self._is_complete:
            self._complete(is_reusable=self._parser.should_keep_alive())


def _chunk(piece: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(piece), piece)


def _proxy_authorization(proxy: httpx.URL) -> bytes:
    """Return the header line for the credentials in a proxy's URL; empty without any."""
    if not proxy.userinfo:
        return b""
    credentials = f"{proxy.username}:{proxy.password}".encode()
    return b"proxy-authorization: Basic %s\r\n" % base64.b64encode(credentials)
