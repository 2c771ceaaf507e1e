"""Connections for clients that ask many things at once, over httpx or httpx2.

A pool of httpx's looks at every connection it has for every request that begins or ends. A guarded
request sends many at the same time, so that with some hundred of them most of the work is looking.
Here each pool has one connection, and there are as many pools as are needed. Neither package is
imported.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Any
from urllib.request import getproxies

from resay.adapters.http import package_of

# As many as OpenAI's SDK allows by itself.
_MOST = 1000
_KEPT_S = 5.0


def spread_client(kind: type[Any]) -> Any:
    """Return a client of an SDK's own class that spreads its connections over several pools.

    Args:
        kind: The SDK's `DefaultAsyncHttpxClient`.

    Returns:
        The client; None where the SDK's own is to be used: behind a proxy, which a client with a
        transport of its own would not find, and where the SDK is of another make.
    """
    package = package_of(kind)
    if package is None or getproxies().keys() & {"http", "https", "all"}:
        return None
    return _closing(kind)(transport=_transport(package)())


# The event loop itself holds tasks only weakly.
_closings: set[asyncio.Task[None]] = set()


@cache
def _closing(kind: type[Any]) -> type[Any]:
    class Client(kind):
        # As the SDK's own does for users who leave it open.
        def __del__(self) -> None:
            if not self.is_closed:
                with suppress(RuntimeError):
                    task = asyncio.get_running_loop().create_task(self.aclose())
                    _closings.add(task)
                    task.add_done_callback(_closings.discard)

    return Client


class _Pool:
    """A connection, and how many requests are under way by it or wait for it."""

    def __init__(self, transport: Any) -> None:
        self.transport = transport
        self.busy = 0
        self.since_s = 0.0


@cache
def _body(package: Any) -> type[Any]:
    class Taken(package.AsyncByteStream):
        """The body of an answer, at whose end the connection is free again."""

        def __init__(self, body: Any, leave: Callable[[], None]) -> None:
            self._body, self._leave, self._open = body, leave, True

        def __aiter__(self) -> Any:
            return self._body.__aiter__()

        async def aclose(self) -> None:
            try:
                await self._body.aclose()
            finally:
                if self._open:
                    self._open = False
                    self._leave()

    return Taken


class _Pools:
    """As many pools as are needed."""

    def __init__(self, package: Any, most: int) -> None:
        self._package = package
        self._most = most
        self._pools: set[_Pool] = set()
        # The one that was left last is the last.
        self._free: deque[_Pool] = deque()
        # It takes 10 ms to make, and is the same for all.
        self._ssl = package.create_ssl_context()

    def take(self) -> _Pool:
        """Return the free pool that was used last, or a new one; it is to be left again."""
        if self._free:
            found = self._free.pop()
        elif len(self._pools) < self._most:
            found = self._made()
            self._pools.add(found)
        else:
            # It waits for a connection, as long as the request's own limit says.
            found = min(self._pools, key=lambda pool: pool.busy)
        found.busy += 1
        return found

    def leave(self, pool: _Pool) -> None:
        pool.busy -= 1
        pool.since_s = time.monotonic()
        if not pool.busy and pool in self._pools:
            self._free.append(pool)

    def _made(self) -> _Pool:
        limits = self._package.Limits(
            max_connections=1, max_keepalive_connections=1, keepalive_expiry=_KEPT_S
        )
        return _Pool(self._package.AsyncHTTPTransport(verify=self._ssl, limits=limits))

    async def close_unused(self) -> None:
        """Close one that nobody has used for so long that its connection is not kept either."""
        if self._free and time.monotonic() - self._free[0].since_s > _KEPT_S:
            unused = self._free.popleft()
            self._pools.discard(unused)
            await unused.transport.aclose()

    async def aclose(self) -> None:
        pools, self._pools = self._pools, set()
        self._free.clear()
        for pool in pools:
            await pool.transport.aclose()


@cache
def _transport(package: Any) -> type[Any]:
    taken = _body(package)

    class Spread(package.AsyncBaseTransport):
        """Sends each request by the first pool that has a free connection."""

        def __init__(self) -> None:
            self._pools = _Pools(package, _MOST)

        async def handle_async_request(self, request: Any) -> Any:
            pool = self._pools.take()
            try:
                await self._pools.close_unused()
                response = await pool.transport.handle_async_request(request)
            except BaseException:
                self._pools.leave(pool)
                raise
            response.stream = taken(response.stream, partial(self._pools.leave, pool))
            return response

        async def aclose(self) -> None:
            await self._pools.aclose()

    return Spread
