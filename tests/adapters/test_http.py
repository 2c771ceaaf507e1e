from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

import pytest

from resay.adapters.connections import spread_client

pytestmark = pytest.mark.anyio

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class Server:
    """Answers once so many requests wait, and counts connections."""

    def __init__(self) -> None:
        self.url = ""
        self.opened = 0
        self.open = 0
        self.waiting = 0
        self.wanted = 1
        self.changed = asyncio.Condition()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        self.open += 1
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                async with self.changed:
                    self.waiting += 1
                    self.changed.notify_all()
                    await self.changed.wait_for(lambda: self.waiting >= self.wanted)
                writer.write(ANSWER)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            async with self.changed:
                self.open -= 1
                self.changed.notify_all()

    async def until(self, reached: Any) -> None:
        async with self.changed:
            await self.changed.wait_for(reached)


@asynccontextmanager
async def served() -> AsyncGenerator[Server]:
    server = Server()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    async with listening:
        server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
        yield server


@pytest.fixture(params=["httpx", "httpx2"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("http", "https", "all"):
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name}_proxy".upper(), raising=False)
    pytest.importorskip(request.param)
    return import_module(request.param).AsyncClient


async def test_many_requests_are_under_way_at_once_and_their_connections_are_used_again(
    kind: Any,
) -> None:
    async with served() as server, spread_client(kind) as client:
        server.wanted = 50
        answers = await asyncio.gather(*(client.get(server.url) for _ in range(50)))
        assert [answer.text for answer in answers] == ["ok"] * 50
        assert server.opened == 50
        for _ in range(20):
            assert (await client.get(server.url)).text == "ok"
        assert server.opened == 50
        await client.aclose()
        await server.until(lambda: server.open == 0)


async def test_a_request_that_is_given_up_leaves_its_place(kind: Any) -> None:
    async with served() as server, spread_client(kind) as client:
        server.wanted = 1000
        asked = [asyncio.ensure_future(client.get(server.url)) for _ in range(30)]
        await server.until(lambda: server.waiting == 30)
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        server.wanted = 0
        before = server.opened
        for _ in range(10):
            async with client.stream("GET", server.url) as answer:
                assert answer.status_code == 200
        # Left unread, each of them was closed; none was opened for a place that is taken for ever.
        assert server.opened - before <= 10
        assert (await client.get(server.url)).text == "ok"


# A request opens its connection in about a dozen steps of the event loop.
@pytest.mark.parametrize("steps", range(16))
@pytest.mark.parametrize("steps_to_cancelling", [*range(8), None])
async def test_a_connection_that_is_opened_while_the_client_is_closed_does_not_stay(
    kind: Any, steps: int, steps_to_cancelling: int | None
) -> None:
    async with served() as server:
        client = spread_client(kind)
        asked = asyncio.ensure_future(client.get(server.url))
        for _ in range(steps):
            await asyncio.sleep(0)
        await client.aclose()
        if steps_to_cancelling is not None:
            for _ in range(steps_to_cancelling):
                await asyncio.sleep(0)
            asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        await server.until(lambda: server.open == 0)


def test_behind_a_proxy_the_own_client_of_the_sdk_is_used(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert spread_client(kind) is None


def test_a_client_of_another_make_is_left_alone(kind: Any) -> None:
    del kind
    assert spread_client(dict) is None
