"""The loopback server of `resay.testing`, as our own tests observe it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from resay.testing import server
from resay.testing.server import Exchange, RequestRecord

__all__ = ["Exchange", "HandlerServer", "ObservedServer", "RequestRecord"]


class ObservedServer(server.LoopbackServer):
    """A server whose connections and pending requests can be counted."""

    def start(self) -> None:
        """Start serving; skip the test in the kernel suite, where the extra `server` is missing."""
        pytest.importorskip("uvicorn")
        super().start()

    def requests_to(self, path: str) -> tuple[RequestRecord, ...]:
        """Return the requests to a path."""
        return tuple(record for record in self.requests if record.path == path)

    @property
    def in_flight(self) -> int:
        """Number of requests in progress."""
        return sum(record.ended_s is None for record in self.requests)

    @property
    def open_connections(self) -> int:
        """Number of connections that clients hold open, idle ones included."""
        return len(self._connections)

    def wait_closed(self, timeout_s: float = 5.0) -> None:
        """Block until no client holds a connection open."""
        self._wait(lambda: not self._connections, timeout_s)

    def wait_calls(self, count: int, timeout_s: float = 5.0, *, path: str | None = None) -> None:
        """Block until `count` requests were received, to a path if it is given."""
        if path is None:
            return super().wait_calls(count, timeout_s)
        return self._wait(lambda: len(self.requests_to(path)) >= count, timeout_s)


class HandlerServer(ObservedServer):
    """A server whose requests a function answers.

    Args:
        handler: Answers a request. It is cancelled when the client disconnects.
    """

    def __init__(self, handler: Callable[[Exchange], Awaitable[None]]) -> None:
        super().__init__("the server")
        self._handler = handler

    @property
    def port(self) -> int:
        """The port it serves on."""
        return self._port

    async def _answer(self, exchange: Exchange) -> None:
        await self._handler(exchange)
