from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

import httpx
import pytest
from openai import OpenAI

from simulation import SimulatedProvider
from support.gateway import Gateways, Served, received

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def upstream(handler: Handler) -> AsyncIterator[str]:
    """An upstream that does with its bytes what a test wants."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await handler(reader, writer)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/base"
    finally:
        server.close()


async def started(gateways: Gateways, url: str) -> Served:
    opened = ["/v1/audio", "GET /v1/files", "PUT /v1/files/*"]
    return await asyncio.to_thread(gateways.start, upstream={"url": url}, pass_through=opened)


def test_models_are_listed(gateways: Gateways, simulated: SimulatedProvider) -> None:
    served = gateways.start()
    with OpenAI(base_url=f"{served.url}/v1", api_key="k") as client:
        assert [model.id for model in client.models.list()] == ["simulated"]
    assert simulated.requests[0].path == "/v1/models"


def test_what_is_not_guarded_is_passed_on(gateways: Gateways, simulated: SimulatedProvider) -> None:
    served = gateways.start()
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    counted = served.post("/v1/messages/count_tokens", json=asked)
    assert counted.json()["input_tokens"] > 0
    assert "x-resay-action" not in counted.headers
    unknown = served.post("/v1/embeddings", json={"input": "x"})
    assert unknown.status_code == 404
    assert "embeddings" in unknown.json()["error"]["message"]
    # Stored answers are read with the method GET from a path that is guarded for POST.
    assert httpx.get(f"{served.url}/v1/chat/completions").status_code == 405
    assert [r.path for r in simulated.requests[1:]] == ["/v1/embeddings", "/v1/chat/completions"]


@pytest.mark.anyio
async def test_nothing_of_a_request_or_an_answer_is_changed(gateways: Gateways) -> None:
    seen: list[bytes] = []
    packed = gzip.compress(b"\x00\xff" * 1000)

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        seen.append(await reader.readexactly(4))
        writer.write(b"HTTP/1.1 201 Created\r\nContent-Encoding: gzip\r\nX-Odd: a\r\nX-Odd: b\r\n")
        writer.write(b"X-Resay-Action: allow\r\nContent-Length: %d\r\n\r\n" % len(packed))
        writer.write(packed)
        await writer.drain()

    async with upstream(handler) as url, httpx.AsyncClient() as client:
        served = await started(gateways, url)
        response = await client.put(
            f"{served.url}/v1/files/a%2Fb?q=1&q=%20",
            content=b"\x00\x01\xfe\xff",
            headers={"content-type": "audio/wav", "x-own": "1", "authorization": "Bearer k"},
        )
    assert response.status_code == 201
    assert response.content == b"\x00\xff" * 1000
    assert response.headers["content-encoding"] == "gzip"
    assert response.headers.get_list("x-odd") == ["a", "b"]
    # Only the gateway itself says what it did.
    assert "x-resay-action" not in response.headers
    head = seen[0].lower()
    assert head.startswith(b"put /base/files/a%2fb?q=1&q=%20 http/1.1")
    assert seen[1] == b"\x00\x01\xfe\xff"
    for line in (b"content-type: audio/wav", b"x-own: 1", b"authorization: bearer k"):
        assert line in head
    assert f"host: {url.split('/')[2]}".encode() in head


@pytest.mark.anyio
async def test_both_ways_are_streamed(gateways: Gateways) -> None:
    came: asyncio.Queue[bytes] = asyncio.Queue()
    go_on = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        came.put_nowait(await reader.readuntil(b"first\r\n"))
        came.put_nowait(await reader.readuntil(b"0\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        await writer.drain()
        await go_on.wait()
        writer.write(b"3\r\ntwo\r\n0\r\n\r\n")
        await writer.drain()

    async def body() -> AsyncIterator[bytes]:
        yield b"first"
        # The second piece is not written before the upstream has the first.
        assert b"first" in await came.get()
        yield b"second"

    async with upstream(handler) as url, httpx.AsyncClient() as client:
        served = await started(gateways, url)
        async with client.stream("POST", f"{served.url}/v1/audio", content=body()) as response:
            pieces = response.aiter_raw()
            assert await pieces.__anext__() == b"one"
            go_on.set()
            assert [piece async for piece in pieces] == [b"two"]
    assert b"second" in came.get_nowait()


@pytest.mark.anyio
async def test_a_client_that_goes_away_is_left_by_the_gateway_too(gateways: Gateways) -> None:
    asked, left = asyncio.Event(), asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        assert await reader.read() == b""
        left.set()

    async with upstream(handler) as url:
        served = await started(gateways, url)
        _, writer = await asyncio.open_connection(*served.url.removeprefix("http://").split(":"))
        writer.write(b"GET /v1/files HTTP/1.1\r\nHost: [::1]\r\n\r\n")
        await asyncio.wait_for(asked.wait(), 10)
        writer.close()
        await asyncio.wait_for(left.wait(), 10)


@pytest.mark.anyio
async def test_redirects_are_the_clients_to_follow(gateways: Gateways) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:9/\r\n")
        writer.write(b"Content-Length: 0\r\nSet-Cookie: a=b\r\n\r\n")
        await writer.drain()

    async with upstream(handler) as url, httpx.AsyncClient() as client:
        served = await started(gateways, url)
        response = await client.get(f"{served.url}/v1/files")
    assert response.status_code == 307


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 404),
        ("/v2/models", 404),
        ("/v1", 404),
        ("/v1/../admin", 400),
        ("/v1/%2e%2e/admin", 400),
        ("/v1/files/..%2f..%2fadmin", 400),
        ("/v1/..%5cadmin", 400),
        ("/v1/a%0d%0ab", 400),
        ("/v1/a%00b", 400),
        ("/v1/@127.0.0.1:9/models", 403),
    ],
)
def test_no_path_leads_out_of_the_upstreams_base(
    gateways: Gateways, simulated: SimulatedProvider, path: str, status: int
) -> None:
    served = gateways.start(pass_through=["/v1/files/*"])
    with served.connected() as connection:
        connection.sendall(
            f"GET {path} HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n".encode()
        )
        assert received(connection).startswith(f"HTTP/1.1 {status} ".encode())
    assert all(request.path.startswith("/v1/") for request in simulated.requests)


def test_a_target_that_names_a_host_is_read_without_it(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    served = gateways.start()
    with served.connected() as connection:
        target = b"http://127.0.0.1:9/v1/models"
        connection.sendall(b"GET %s HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n" % target)
        # httptools drops the host (RFC 9112, section 3.2.2), with h11 such a path is unknown.
        assert received(connection).startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 404 "))
    assert all(request.path == "/v1/models" for request in simulated.requests)


@pytest.mark.anyio
async def test_a_client_that_takes_nothing_is_not_waited_for(gateways: Gateways) -> None:
    left = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        with suppress(ConnectionError):
            while True:
                writer.write(b"x" * 1_000_000)
                await writer.drain()
        left.set()

    async with upstream(handler) as url:
        limits = {"write_s": 0.1}
        start = partial(
            gateways.start,
            upstream={"url": url},
            limits=limits,
            pass_through=["/v1/files"],
        )
        served = await asyncio.to_thread(start)
        with served.connected() as connection:
            connection.sendall(b"GET /v1/files HTTP/1.1\r\nHost: [::1]\r\n\r\n")
            await asyncio.wait_for(left.wait(), 20)
