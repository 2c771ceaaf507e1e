"""The real client talks over TCP to a server that stands in for Redis."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from fakeredis import TcpFakeServer

from resay.plugins import Completion
from resay.providers.caching import Cache
from resay.providers.caching.stores import RedisStore

pytestmark = pytest.mark.anyio
ANSWER = Completion("words", "stop")


class Server:
    def __init__(self, port: int = 0) -> None:
        self._server = TcpFakeServer(("127.0.0.1", port))
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def clients(self) -> int:
        return len(self._server.clients)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


async def test_what_is_kept_is_found_by_another(server: Server) -> None:
    store, other = RedisStore(server.url), RedisStore(server.url)
    await store.set_many({"a": b"1", "b": b"\x00\r\n\xff"})
    assert await other.get_many(["a", "b", "c"]) == {"a": b"1", "b": b"\x00\r\n\xff"}
    await store.aclose()
    await other.aclose()


async def test_prefixes_are_told_apart(server: Server) -> None:
    store, other = RedisStore(server.url, prefix="one"), RedisStore(server.url, prefix="two")
    await store.set_many({"a": b"1"})
    assert await other.get_many(["a"]) == {}
    assert await store.get_many(["a"]) == {"a": b"1"}
    await store.aclose()
    await other.aclose()


async def test_every_entry_is_given_its_time(server: Server) -> None:
    import redis.asyncio

    store = RedisStore(server.url, ttl_s=100)
    await store.set_many({"a": b"1", "b": b"1"})
    async with redis.asyncio.Redis.from_url(server.url) as client:
        assert sorted(await client.keys()) == [b"resay:a", b"resay:b"]
        for key in ("resay:a", "resay:b"):
            assert 90_000 < await client.pttl(key) <= 100_000
    await store.aclose()


async def test_closing_closes_the_connections_and_the_next_use_opens_others(
    server: Server,
) -> None:
    store = RedisStore(server.url)
    await store.set_many({"a": b"1"})
    await store.aclose()
    assert await store.get_many(["a"]) == {"a": b"1"}
    await store.aclose()
    await store.aclose()
    gc.collect()


def test_each_loop_has_connections_of_its_own_and_closes_them(server: Server) -> None:
    store = RedisStore(server.url)
    asyncio.run(store.set_many({"a": b"1"}))
    assert asyncio.run(store.get_many(["a"])) == {"a": b"1"}
    clients: list[object] = []
    threads = [
        threading.Thread(target=lambda: clients.append(asyncio.run(store.get_many(["a"]))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert clients == [{"a": b"1"}] * 4
    # What was not closed says so here, and warnings are errors.
    gc.collect()


async def test_a_server_that_goes_away_is_a_miss_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server()
    now = 1000.0
    store = RedisStore(server.url)
    cache = Cache(store, clock=lambda: now)
    await cache.put({"a": ANSWER})
    assert await cache.get(["a"]) == {"a": ANSWER}
    server.close()
    for _ in range(3):
        assert await cache.get(["a"]) == {}
        await cache.put({"b": ANSWER})
        now += 31
    (record,) = [r for r in caplog.records if r.levelno >= logging.WARNING]
    assert record.getMessage().startswith(
        "cannot use the cache RedisStore('127.0.0.1') (Connection"
    )
    back = Server(server.port)
    await cache.put({"b": ANSWER})
    assert await cache.get(["b"]) == {"b": ANSWER}
    await cache.aclose()
    back.close()


async def test_a_server_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resay.providers.caching.stores._TIMEOUT_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        store = RedisStore(f"redis://127.0.0.1:{silent.getsockname()[1]}")
        assert await Cache(store).get(["a"]) == {}
        await store.aclose()


async def test_no_password_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "resay")
    server = Server()
    server.close()
    store = RedisStore(f"redis://someone:hunter2@127.0.0.1:{server.port}/0")
    assert await Cache(store).get(["a"]) == {}
    assert "cannot use the cache" in caplog.text
    assert "hunter2" not in caplog.text + repr(store) + repr(Cache(store))
    await store.aclose()


async def test_what_others_put_there_is_a_miss(server: Server) -> None:
    store = RedisStore(server.url)
    cache = Cache(store)
    await store.set_many({"a": b"not an answer"})
    await cache.put({"b": ANSWER})
    assert await cache.get(["a", "b"]) == {"b": ANSWER}
    await cache.aclose()


def test_a_process_ends_although_its_loop_does_not(server: Server) -> None:
    code = (
        "import sys\n"
        "from resay._internal.event_loops import run_sync\n"
        "from resay.providers.caching.stores import RedisStore\n"
        "store = RedisStore(sys.argv[1])\n"
        "run_sync(store.set_many, {'a': b'1'})\n"
        "print(run_sync(store.get_many, ['a']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, server.url],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "{'a': b'1'}\n", "")
