"""A client of an SDK that spreads its connections over several pools, for httpx and httpx2.

Neither package is imported.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cache, partial
from typing import Any
from urllib.request import getproxies

from resay._internal.http_environment import naming_variables
from resay.adapters.http import package_of

__all__ = ["naming_variables", "spread_client"]

# The default of OpenAI's SDK.
_MAX_CONNECTIONS = 1000
_KEEPALIVE_S = 5.0


def spread_client(kind: type[Any]) -> Any:
    """Return a client of an SDK's own class that spreads its connections over several pools.

    Args:
        kind: The SDK's `DefaultAsyncHttpxClient`.

    Returns:
        The client; None if the SDK's own is to be used: behind a proxy, which a client with a
        custom transport would ignore, and if the SDK uses another HTTP package.
    """
    package = package_of(kind)
    if package is None or getproxies().keys() & {"http", "https", "all"}:
        return None
    return _closing(kind)(transport=_transport(package)())


# Keeps a strong reference, because the event loop holds tasks only weakly.
_closings: set[asyncio.Task[None]] = set()


@cache
def _closing(kind: type[Any]) -> type[Any]:
    class Client(kind):
        # The SDK's own client does the same for users who leave it open.
        def __del__(self) -> None:
            if not self.is_closed:
                with suppress(RuntimeError):
                    task = asyncio.get_running_loop().create_task(self.aclose())
                    _closings.add(task)
                    task.add_done_callback(_closings.discard)

    return Client


class _Pool:
    """A connection, and the number of requests that use it or wait for it."""

    def __init__(self, transport: Any) -> None:
        self.transport = transport
        self.busy = 0
        self.since_s = 0.0
        self._connections: list[Any] = []

    async def aclose(self) -> None:
        """Close the connection; once more if it was still being opened.

        A connection that is being opened has nothing to close yet, and httpcore forgets it.
        """
        httpcore_pool = getattr(self.transport, "_pool", None)
        self._connections += getattr(httpcore_pool, "connections", ())
        await self.transport.aclose()
        for connection in self._connections:
            await connection.aclose()


@cache
def _body(package: Any) -> type[Any]:
    class ReleasingBody(package.AsyncByteStream):
        """A response body that releases its connection when closed."""

        def __init__(self, body: Any, release: Callable[[], Awaitable[None]]) -> None:
            self._body, self._release, self._is_open = body, release, True

        def __aiter__(self) -> Any:
            return self._body.__aiter__()

        async def aclose(self) -> None:
            try:
                await self._body.aclose()
            finally:
                if self._is_open:
                    self._is_open = False
                    await self._release()

    return ReleasingBody


class _Pools:
    """A growing set of single-connection pools."""

    def __init__(self, package: Any, max_count: int) -> None:
        self._package = package
        self._max_count = max_count
        self._is_closed = False
        self._pools: set[_Pool] = set()
        # Ordered by release time, the most recent last.
        self._free: deque[_Pool] = deque()
        # Shared by all pools, because creating it takes 10 ms.
        self._ssl = package.create_ssl_context()

    def acquire(self) -> _Pool:
        """Return the free pool used last, or a new one; call `release` afterwards."""
        if self._free:
            pool = self._free.pop()
        elif len(self._pools) < self._max_count:
            pool = self._new_pool()
            self._pools.add(pool)
        else:
            # The request waits for its connection, within its own timeout.
            pool = min(self._pools, key=lambda pool: pool.busy)
        pool.busy += 1
        return pool

    async def release(self, pool: _Pool) -> None:
        """Free a pool whose request has ended."""
        pool.busy -= 1
        pool.since_s = time.monotonic()
        if not pool.busy and pool in self._pools:
            self._free.append(pool)
        if self._is_closed:
            await pool.aclose()

    def _new_pool(self) -> _Pool:
        limits = self._package.Limits(
            max_connections=1, max_keepalive_connections=1, keepalive_expiry=_KEEPALIVE_S
        )
        return _Pool(self._package.AsyncHTTPTransport(verify=self._ssl, limits=limits))

    async def close_unused(self) -> None:
        """Close the pool unused longest, once its connection has expired too."""
        if self._free and time.monotonic() - self._free[0].since_s > _KEEPALIVE_S:
            unused = self._free.popleft()
            self._pools.discard(unused)
            await unused.aclose()

    async def aclose(self) -> None:
        self._is_closed = True
        pools, self._pools = self._pools, set()
        self._free.clear()
        for pool in pools:
            await pool.aclose()


@cache
def _transport(package: Any) -> type[Any]:
    releasing_body = _body(package)

    class Spread(package.AsyncBaseTransport):
        """Send each request through the most recently used pool that is free."""

        def __init__(self) -> None:
            self._pools = _Pools(package, _MAX_CONNECTIONS)

        async def handle_async_request(self, request: Any) -> Any:
            pool = self._pools.acquire()
            try:
                await self._pools.close_unused()
                response = await pool.transport.handle_async_request(request)
            except BaseException:
                await self._pools.release(pool)
                raise
            response.stream = releasing_body(response.stream, partial(self._pools.release, pool))
            return response

        async def aclose(self) -> None:
            await self._pools.aclose()

    return Spread
