"""Clients that would keep others from being served: slow ones, deaf ones, and many."""

from __future__ import annotations

import asyncio
import json
import resource
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, suppress

import pytest

from support.attacks import (
    ANSWER,
    CHAT,
    LONGEST_S,
    Received,
    Upstream,
    answered,
    ask,
    head_of,
    http_response,
    posting,
    wait_until,
)
from support.gateway import MESSAGES, POLICY, Gateways, Served

BODY = json.dumps({"model": "m", "messages": MESSAGES}).encode()
UNCACHED = POLICY + "cache: {store: none}\n"
MANY, ROOM = 20, 4
BIG = 6_000_000


@pytest.fixture(scope="module")
def small(starter: Gateways) -> Served:
    """A gateway with room for few."""
    limits = {
        "header_s": 0.2,
        "body_s": 0.4,
        "write_s": 0.3,
        "concurrency": ROOM,
        "queue": 2,
        "queue_s": 0.1,
    }
    return starter.start(UNCACHED, limits=limits)


@pytest.fixture
def crowd() -> Iterator[Crowd]:
    with ExitStack() as stack:
        yield Crowd(stack)


class Crowd:
    """Connections that stay open until the gateway closes them."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.connections: list[socket.socket] = []

    def join(self, served: Served, count: int, sent: bytes) -> Sequence[socket.socket]:
        """Open connections, and send the same over each."""
        for _ in range(count):
            connection = self._stack.enter_context(served.connected())
            connection.sendall(sent)
            self.connections.append(connection)
        return self.connections

    def is_alone(self, piece: bytes = b"") -> bool:
        """Return whether the gateway has closed all; send the others a little more."""
        for connection in list(self.connections):
            if _closed(connection, piece):
                self.connections.remove(connection)
        return not self.connections


def _closed(connection: socket.socket, piece: bytes) -> bool:
    try:
        connection.setblocking(False)
        connection.send(piece)
        while connection.recv(65536):
            pass
    except BlockingIOError:
        return False
    except ConnectionError:
        pass
    return True


HEAD = head_of("POST", CHAT, "Content-Length: 1000", "Expect: 100-continue")
SLOW = {
    "nothing at all": (b"", b""),
    "a request line": (b"POST", b""),
    "headers": (b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n", b"X: y\r\n"),
    "a header without end": (b"GET / HTTP/1.1\r\nX: ", b"y"),
    "a body": (HEAD, b" "),
    "a body in chunks": (head_of("POST", CHAT, "Transfer-Encoding: chunked"), b"1\r\n \r\n"),
    "a chunk without end": (head_of("POST", CHAT, "Transfer-Encoding: chunked") + b"1;", b"x"),
    "a body that is passed on": (head_of("POST", "/v1/files", "Content-Length: 1000"), b""),
    "a body nobody wants": (head_of("POST", "/nowhere", "Content-Length: 1000"), b" "),
    "line ends": (b"\r\n", b"\r\n"),
}


@pytest.mark.parametrize(("first", "more"), SLOW.values(), ids=SLOW)
def test_many_that_send_slowly_keep_nobody_waiting_and_are_sent_away(
    small: Served, upstream: Upstream, crowd: Crowd, first: bytes, more: bytes
) -> None:
    crowd.join(small, MANY, first)
    assert answered(small, head_of("GET", "/healthz")).status == 200
    wait_until(lambda: crowd.is_alone(more))


def test_many_slow_bodies_take_no_place_of_those_that_are_guarded(
    small: Served, upstream: Upstream, crowd: Crowd
) -> None:
    for connection in crowd.join(small, MANY, HEAD)[:ROOM]:
        # It is told to go on when its body is read.
        assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
    assert ask(small, BODY).status == 200


def test_many_slow_bodies_that_are_long_keep_no_short_one_waiting(
    small: Served, upstream: Upstream, crowd: Crowd
) -> None:
    head = head_of("POST", CHAT, "Content-Length: 10000000")
    crowd.join(small, MANY, head + b" " * 200_000)
    assert ask(small, BODY).status == 200


def test_what_waits_is_bounded(small: Served, upstream: Upstream, crowd: Crowd) -> None:
    go_on = asyncio.Event()

    async def late(request: Received) -> AsyncIterator[bytes]:
        await go_on.wait()
        yield http_response(ANSWER)

    upstream.says(late)
    try:
        waiting = list(crowd.join(small, MANY, posting(CHAT, BODY)))
        for connection in waiting:
            connection.setblocking(False)
        wait_until(lambda: sum(map(_is_refused, waiting)) == MANY - ROOM)
        assert small.gateway.admission.queued == 0
        # What was let in asks for samples too.
        wait_until(lambda: len({r.headers("x-request-id")[0] for r in upstream.received}) == ROOM)
    finally:
        upstream.do_soon(go_on.set)
    wait_until(crowd.is_alone)


def _is_refused(connection: socket.socket) -> bool:
    with suppress(BlockingIOError):
        return connection.recv(20, socket.MSG_PEEK).startswith(b"HTTP/1.1 429 ")
    return False


@pytest.fixture
def open_files() -> Iterator[int]:
    """How many connections to have: both ends are files of this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4096 if hard == resource.RLIM_INFINITY else min(4096, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield min(1000, (max(soft, wanted) - 200) // 2)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_thousand_idle_connections_keep_nobody_waiting_and_are_closed(
    small: Served, upstream: Upstream, crowd: Crowd, open_files: int
) -> None:
    crowd.join(small, open_files, b"")
    assert ask(small, BODY).status == 200
    wait_until(crowd.is_alone)


def test_more_connections_than_there_may_be_are_refused(
    starter: Gateways, upstream: Upstream, crowd: Crowd
) -> None:
    few = starter.start(UNCACHED, limits={"connections": 10, "header_s": 0.5})
    crowd.join(few, 9, b"")
    wait_until(lambda: answered(few, head_of("GET", "/healthz")).status == 503)
    wait_until(crowd.is_alone)
    assert answered(few, head_of("GET", "/healthz")).status == 200


@pytest.fixture(scope="module")
def deaf(starter: Gateways) -> Served:
    return starter.start(UNCACHED, limits={"connections": 8, "write_s": 0.3})


@pytest.mark.parametrize("path", [CHAT, "/v1/files"])
def test_those_that_read_nothing_lose_their_connection(
    deaf: Served, upstream: Upstream, path: str
) -> None:
    answer = {**ANSWER, "padding": "x" * BIG}
    upstream.says(http_response(answer))
    host, port = deaf.url.removeprefix("http://").split(":")
    with ExitStack() as stack:
        for _ in range(7):
            connection = stack.enter_context(socket.socket())
            # All that the two kernels keep is far less than the answer.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect((host, int(port)))
            connection.settimeout(LONGEST_S)
            connection.sendall(posting(path, BODY))
            assert connection.recv(1)
        # They have all connections there are, until they are given up.
        wait_until(lambda: answered(deaf, head_of("GET", "/healthz")).status == 200, 2.5)


def test_one_that_reads_slowly_gets_all(starter: Gateways, upstream: Upstream) -> None:
    served = starter.start(UNCACHED, limits={"write_s": 0.3}, pass_through=["/v1/files"])
    answer = {**ANSWER, "padding": "x" * 3_000_000}
    upstream.says(http_response(answer))
    host, port = served.url.removeprefix("http://").split(":")
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(LONGEST_S)
        connection.connect((host, int(port)))
        connection.sendall(posting("/v1/files", BODY))
        received = 0
        while piece := connection.recv(65536):
            received += len(piece)
    assert received > 3_000_000
