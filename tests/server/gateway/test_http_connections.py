"""Connections to the upstream: when they are kept, shared, repeated and given up."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from resay_server.gateway.http_connections import Connections, ProtocolError, Response
from support.certificates import certificate_for

pytestmark = pytest.mark.anyio
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Server:
    """A server whose answers a test writes.

    Attributes:
        url: Its address.
        heads: The requests up to their bodies.
        connections: How many connections were opened.
    """

    url: httpx.URL
    heads: list[bytes] = field(default_factory=list[bytes])
    connections: int = 0


@asynccontextmanager
async def serving(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncGenerator[Server]:
    server = Server(httpx.URL("http://unset"))
    tasks: set[asyncio.Task[object]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        server.connections += 1
        try:
            while True:
                server.heads.append(await reader.readuntil(b"\r\n\r\n"))
                await answer(reader, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    port = listening.sockets[0].getsockname()[1]
    server.url = httpx.URL(f"{'https' if tls else 'http'}://localhost:{port}")
    try:
        yield server
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # Transports close in the next rounds of the loop.
        for _ in range(3):
            await asyncio.sleep(0)


def saying(*pieces: bytes, closes: bool = False) -> Answer:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        if closes:
            writer.close()

    return answer


@asynccontextmanager
async def connected(server: Server, timeout_s: float = 30.0) -> AsyncGenerator[Connections]:
    connections = Connections(server.url, timeout_s=timeout_s)
    try:
        yield connections
    finally:
        connections.close()


async def body_of(response: Response) -> bytes:
    pieces: list[bytes] = []
    while piece := await response.next_piece():
        pieces.append(piece)
    return b"".join(pieces)


async def pieces_of(*pieces: bytes) -> AsyncGenerator[bytes]:
    for piece in pieces:
        yield piece


async def test_a_connection_is_used_again_when_its_response_has_ended() -> None:
    async with serving(saying(OK)) as server, connected(server) as connections:
        first = await connections.request("POST", b"/a?b=c", [(b"x-a", b"1")], b"[1]")
        assert (first.status, await body_of(first)) == (200, b"{}")
        second = await connections.request("GET", b"/b", [], None)
        assert await body_of(second) == b"{}"
    host = b"host: %s\r\n" % server.url.netloc
    assert server.connections == 1
    assert server.heads[0] == (
        b"POST /a?b=c HTTP/1.1\r\n" + host + b"x-a: 1\r\ncontent-length: 3\r\n\r\n"
    )
    assert server.heads[1].endswith(b"GET /b HTTP/1.1\r\n" + host + b"\r\n")


async def test_requests_at_once_have_a_connection_each() -> None:
    arrived = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        if len(server.heads) == 3:
            arrived.set()
        await arrived.wait()
        writer.write(OK)

    async with serving(answer) as server, connected(server) as connections:
        requests = [connections.request("GET", b"/", [], None) for _ in range(3)]
        for response in await asyncio.gather(*requests):
            assert await body_of(response) == b"{}"
        assert server.connections == 3


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}",
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n{}",
        # What follows a response could pass for the next one.
        OK + b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil",
        OK + b"\x00",
    ],
    ids=["closing", "of HTTP/1.0", "with another behind", "with a byte behind"],
)
async def test_a_connection_is_not_used_after(answer: bytes) -> None:
    async with serving(saying(answer)) as server, connected(server) as connections:
        for count in (1, 2):
            response = await connections.request("GET", b"/", [], None)
            assert await body_of(response) == b"{}"
            assert server.connections == count


async def test_nor_after_an_answer_that_was_not_read() -> None:
    endless = CHUNKED + b"1\r\nx\r\n"
    async with serving(saying(endless)) as server, connected(server) as connections:
        for count in (1, 2):
            response = await connections.request("GET", b"/", [], None)
            response.close()
            assert server.connections == count
            with pytest.raises(ConnectionAbortedError):
                await body_of(response)


async def test_what_only_reads_is_repeated_on_a_connection_that_was_closed_meanwhile() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        if len(server.heads) == 2:
            writer.close()
        else:
            writer.write(OK)

    async with serving(answer) as server, connected(server) as connections:
        for _ in range(2):
            response = await connections.request("GET", b"/", [], None)
            assert await body_of(response) == b"{}"
        assert (len(server.heads), server.connections) == (3, 2)


async def test_what_may_change_something_is_not() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(2)
        if len(server.heads) == 2:
            writer.close()
        else:
            writer.write(OK)

    async with serving(answer) as server, connected(server) as connections:
        await body_of(await connections.request("POST", b"/", [], b"{}"))
        with pytest.raises(ConnectionResetError):
            await connections.request("POST", b"/", [], b"{}")
        assert len(server.heads) == 2


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\nto the end", b"to the end"),
        (b"HTTP/1.1 103 Hints\r\nlink: x\r\n\r\n" + OK, b"{}"),
        (CHUNKED + b"2\r\n{}\r\n0\r\nx-t: 1\r\n\r\n", b"{}"),
        (b"HTTP/1.1 204 No\r\n\r\n", b""),
    ],
    ids=["without length", "after a hint", "with a trailer", "without content"],
)
async def test_where_a_response_ends(answer: bytes, body: bytes) -> None:
    async with serving(saying(answer, closes=True)) as server, connected(server) as connections:
        response = await connections.request("GET", b"/", [], None)
        assert await body_of(response) == body
        assert {name for name, _ in response.headers} <= {b"content-length", b"transfer-encoding"}


@pytest.mark.parametrize("coding", [b"gzip", b"gzip, chunked", b"chunked\r\ntransfer-encoding: x"])
async def test_what_is_coded_otherwise_than_in_chunks_is_refused(coding: bytes) -> None:
    answer = b"HTTP/1.1 200 OK\r\ntransfer-encoding: %s\r\n\r\n0\r\n\r\n" % coding
    async with serving(saying(answer)) as server, connected(server) as connections:
        with pytest.raises(ProtocolError):
            await connections.request("GET", b"/", [], None)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}",
        CHUNKED + b"9\r\n{}",
        CHUNKED + b"2\r\n{}\r\n",
    ],
)
async def test_a_response_that_is_cut_off_is_an_error(answer: bytes) -> None:
    async with serving(saying(answer, closes=True)) as server, connected(server) as connections:
        response = await connections.request("GET", b"/", [], None)
        with pytest.raises(ConnectionResetError):
            await body_of(response)


async def test_the_answer_to_head_has_no_body() -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n"
    async with serving(saying(head)) as server, connected(server) as connections:
        for _ in range(2):
            response = await connections.request("HEAD", b"/", [], None)
            assert (response.status, await body_of(response)) == (200, b"")
        assert server.connections == 1


async def test_silence_is_an_error_before_and_in_the_answer() -> None:
    begun = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}"
    async with serving(saying()) as server, connected(server, 0.05) as connections:
        with pytest.raises(TimeoutError):
            await connections.request("GET", b"/", [], None)
    async with serving(saying(begun)) as server, connected(server, 0.05) as connections:
        response = await connections.request("GET", b"/", [], None)
        with pytest.raises(TimeoutError):
            await body_of(response)


async def test_a_reader_that_is_slow_is_waited_for() -> None:
    size = 20_000_000
    sent = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        del reader
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size)
        while sent < size:
            writer.write(b"x" * 100_000)
            await writer.drain()
            sent += 100_000

    async with serving(answer) as server, connected(server, timeout_s=0.2) as connections:
        response = await connections.request("GET", b"/", [], None)
        before = -1
        while sent > before:
            before = sent
            # Longer than the server may be silent.
            await asyncio.sleep(0.3)
        # The rest waits in the buffers of both systems.
        assert sent < size
        assert len(await body_of(response)) == size


async def test_a_body_in_pieces_is_sent_in_chunks_or_in_its_stated_length() -> None:
    bodies: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_chunked = b"transfer-encoding: chunked" in server.heads[-1]
        read = reader.readuntil(b"0\r\n\r\n") if is_chunked else reader.readexactly(6)
        bodies.append(await read)
        writer.write(OK)

    async with serving(answer) as server, connected(server) as connections:
        pieces = (b"abc", b"", b"def")
        await body_of(await connections.request("POST", b"/", [], pieces_of(*pieces)))
        length = [(b"content-length", b"6")]
        await body_of(await connections.request("POST", b"/", length, pieces_of(*pieces)))
        assert bodies == [b"3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n", b"abcdef"]
        assert server.connections == 1


@pytest.mark.parametrize("pieces", [(b"abc", b"defg"), (b"abc",)], ids=["longer", "shorter"])
async def test_a_body_of_another_length_than_stated_ends_the_connection(
    pieces: tuple[bytes, ...],
) -> None:
    received: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del writer
        received.append(await reader.read())

    async with serving(answer) as server, connected(server) as connections:
        with pytest.raises(ProtocolError):
            await connections.request("POST", b"/", [(b"content-length", b"6")], pieces_of(*pieces))
        # What is too long would be read as another request.
        assert b"g" not in b"".join(received)


async def test_an_error_of_the_body_is_raised_as_it_is() -> None:
    async def broken() -> AsyncGenerator[bytes]:
        yield b"abc"
        raise LookupError("gone")

    async with serving(saying()) as server, connected(server) as connections:
        with pytest.raises(LookupError):
            await connections.request("POST", b"/", [], broken())


async def test_an_answer_before_the_end_of_the_body_is_returned() -> None:
    stopped = asyncio.Event()

    async def endless() -> AsyncGenerator[bytes]:
        try:
            yield b"x"
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async with serving(saying(OK)) as server, connected(server) as connections:
        response = await connections.request("POST", b"/", [], endless())
        assert await body_of(response) == b"{}"
        await stopped.wait()
        await body_of(await connections.request("POST", b"/", [], b""))
        assert server.connections == 2


async def test_no_value_becomes_a_header_of_its_own() -> None:
    async with serving(saying(OK)) as server, connected(server) as connections:
        for value in (b"a\r\nx-evil: 1", b"a\nb", b"a\rb"):
            with pytest.raises(ValueError, match="line break"):
                await connections.request("GET", b"/", [(b"x-a", value)], None)
        assert server.heads == []


async def test_a_server_with_tls_must_be_who_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted, tls = certificate_for("localhost", tmp_path)
    async with serving(saying(OK), tls) as server:
        async with connected(server) as connections:
            with pytest.raises(ssl.SSLCertVerificationError):
                await connections.request("GET", b"/", [], None)
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        async with connected(server) as connections:
            response = await connections.request("GET", b"/", [], None)
            assert await body_of(response) == b"{}"
        server.url = server.url.copy_with(host="127.0.0.1")
        async with connected(server) as connections:
            with pytest.raises(ssl.SSLCertVerificationError):
                await connections.request("GET", b"/", [], None)


async def test_a_proxy_gets_the_whole_url_and_its_credentials() -> None:
    async with serving(saying(OK)) as proxy:
        url = proxy.url.copy_with(username="me", password="secret")
        connections = Connections(httpx.URL("http://far.test:81/v1"), timeout_s=30, proxy=url)
        await body_of(await connections.request("GET", b"/v1/models", [], None))
        connections.close()
    assert proxy.heads == [
        b"GET http://far.test:81/v1/models HTTP/1.1\r\nhost: far.test:81\r\n"
        b"proxy-authorization: Basic bWU6c2VjcmV0\r\n\r\n"
    ]


def tunnel_to(target: httpx.URL, headers: bytes = b"") -> Answer:
    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, away = await asyncio.open_connection(target.host, target.port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n%s\r\n" % headers)

        async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65_536):
                sink.write(data)
                await sink.drain()
            sink.close()

        try:
            await asyncio.gather(copy(reader, away), copy(there, writer))
        finally:
            away.close()

    return tunnel


@pytest.fixture
def tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """What a trusted server for `localhost` presents."""
    trusted, context = certificate_for("localhost", tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    return context


async def test_a_server_with_tls_is_reached_through_a_tunnel(tls: ssl.SSLContext) -> None:
    async with serving(saying(OK), tls) as server, serving(tunnel_to(server.url)) as proxy:
        connections = Connections(server.url, timeout_s=30, proxy=proxy.url)
        for _ in range(2):
            response = await connections.request("GET", b"/", [], None)
            assert await body_of(response) == b"{}"
        connections.close()
    assert (proxy.connections, server.connections, len(server.heads)) == (1, 1, 2)
    assert proxy.heads[0].startswith(b"CONNECT " + server.url.netloc)


async def test_a_tunnel_is_for_one_request_at_a_time(tls: ssl.SSLContext) -> None:
    asked = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        writer.write(OK[:-1])
        await asked.wait()
        writer.write(OK[-1:])

    # Some proxies say that the tunnel has no body.
    headers = b"content-length: 0\r\n"
    async with (
        serving(answer, tls) as server,
        serving(tunnel_to(server.url, headers)) as proxy,
    ):
        connections = Connections(server.url, timeout_s=5, proxy=proxy.url)
        first = await connections.request("GET", b"/1", [], None)
        second = await connections.request("GET", b"/2", [], None)
        asked.set()
        assert [await body_of(first), await body_of(second)] == [b"{}", b"{}"]
        connections.close()
    assert (proxy.connections, server.connections) == (2, 2)


async def test_an_old_tunnel_is_not_taken_for_a_silent_response(
    tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    call_later = loop.call_later
    timers: list[asyncio.TimerHandle] = []

    def record(delay: float, callback: Callable[..., object], *values: Any) -> asyncio.TimerHandle:
        timer = call_later(delay, callback, *values)
        if delay == 1234:
            timers.append(timer)
        return timer

    monkeypatch.setattr(loop, "call_later", record)
    async with serving(saying(OK), tls) as server, serving(tunnel_to(server.url)) as proxy:
        connections = Connections(server.url, timeout_s=1234, proxy=proxy.url)
        assert await body_of(await connections.request("GET", b"/", [], None)) == b"{}"
        # One for the tunnel, and one for the response through it.
        assert [timer.cancelled() for timer in timers] == [True, True]
        connections.close()


async def test_a_proxy_may_refuse() -> None:
    refusal = b"HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n"
    async with serving(saying(refusal)) as proxy:
        connections = Connections(httpx.URL("https://far.test"), timeout_s=30, proxy=proxy.url)
        with pytest.raises(ProtocolError, match="407"):
            await connections.request("GET", b"/", [], None)
        connections.close()
