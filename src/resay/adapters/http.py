"""Responses with other bodies, and a connection-spreading client, for httpx and httpx2.

Neither package is imported.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import aclosing, suppress
from functools import cache, partial
from typing import Any, cast
from urllib.request import getproxies

from resay.adapters.relay import Relay
from resay.adapters.threads import (
    ASYNC,
    BLOCKING,
    CallStyle,
    TaskIterator,
    iterate_in_place,
    run_in_place,
)
from resay.adapters.upstream import Upstream
from resay.errors import ResayError
from resay.providers.apis import Body, Event, EventReader, Request, encoded

# Headers that describe the original, encoded body.
_OF_BODY = frozenset({"content-encoding", "content-length", "transfer-encoding"})


def body_in(message: Any) -> Body | None:
    """Return the JSON object in a request or a response; None if there is none.

    Args:
        message: The request or response; a body that was not read yet counts as empty.
    """
    try:
        value: object = json.loads(message.content)
    # Raised for an unread body, and for JSON that is nested too deeply.
    except (ValueError, RuntimeError):
        return None
    return cast("Body", value) if isinstance(value, dict) else None


def is_event_stream(response: Any) -> bool:
    """Return whether a response is an event stream."""
    return response.headers.get("content-type", "").lower().startswith("text/event-stream")


async def _events_in(style: CallStyle, response: Any) -> AsyncGenerator[Sequence[Event]]:
    """Read a response's events, grouped by received chunk, and close it at the end."""
    reader = EventReader()
    data = response.iter_bytes() if style.blocking else response.aiter_bytes()
    try:
        async with aclosing(style.iterate(data)) as pieces:
            async for piece in pieces:
                yield reader.feed(piece)
        yield reader.finish()
    finally:
        await style.either(response.close, response.aclose)


def with_body(response: Any, body: Body, *, status: int | None = None) -> Any:
    """Return a copy of a response with another body, and optionally another status."""
    content = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
    made = _like(response, status=status, content=content)
    if "json" not in made.headers.get("content-type", ""):
        # The original body was of another type.
        made.headers["content-type"] = "application/json"
    return made


class Change:
    """Transform the events of a response. The base class leaves them unchanged."""

    def of(self, event: Event) -> Iterable[Event]:
        """Return the replacement of an event."""
        return (event,)

    def rest(self) -> Iterable[Event]:
        """Return the events to append at the end."""
        return ()

    def error(self, error: ResayError) -> ResayError:
        """Return the replacement of an error that ends the events."""
        return error


_NONE = Change()
Ask = Callable[[Body], Coroutine[Any, Any, Body]]


async def answer(
    style: CallStyle, relay: Relay, request: Request, send: Ask, upstream: Upstream
) -> Body:
    """Let a relay send the main call, on the client's own side, and check the answer."""
    if style.blocking:
        return relay.answer(request, lambda body: run_in_place(send(body)), upstream)
    return await relay.aanswer(request, style.adapt_send(send), upstream)


async def check(
    style: CallStyle, relay: Relay, request: Request, raw: Any, upstream: Upstream
) -> Body:
    """Read a response to its end, and let a relay check it."""
    await style.either(raw.read, raw.aread)
    return await style.run(relay.acheck, request, body_in(raw) or {}, upstream)


def stream(
    style: CallStyle,
    relay: Relay,
    request: Request,
    raw: Any,
    upstream: Upstream,
    change: Change = _NONE,
) -> Any:
    """Return a response with the relay's events, transformed.

    Closing it closes the events and the original response. The errors that reading it raises are
    transformed too.
    """
    events = _events_in(style, raw)
    if style.blocking:
        given: Any = relay.events(request, iterate_in_place(events), upstream)
        return _like(raw, stream=_sync_stream(_package(raw))(raw, given, change))
    given = relay.aevents(request, events, upstream)
    return _like(raw, stream=_async_stream(_package(raw))(raw, given, change))


def _like(response: Any, *, status: int | None = None, **body: Any) -> Any:
    headers = [(k, v) for k, v in response.headers.multi_items() if k.lower() not in _OF_BODY]
    made = _package(response).Response(
        status or response.status_code,
        headers=headers,
        request=response.request,
        extensions=response.extensions,
        history=response.history,
        default_encoding=response.default_encoding,
        **body,
    )
    # An unread response has none.
    with suppress(RuntimeError):
        made.elapsed = response.elapsed
    return made


def package_of(kind: Any) -> Any:
    """Return the package, httpx or httpx2, that a class derives from; None for others."""
    roots = (base.__module__.partition(".")[0] for base in kind.__mro__)
    return next((sys.modules[root] for root in roots if root in ("httpx", "httpx2")), None)


def _package(response: Any) -> Any:
    return package_of(cast("Any", type(response)))


async def _written(style: CallStyle, events: Any, change: Change) -> AsyncGenerator[bytes]:
    try:
        async with aclosing(style.iterate(events)) as given:
            async for together in given:
                changed = [encoded(one) for event in together for one in change.of(event)]
                if changed:
                    yield b"".join(changed)
    except ResayError as error:
        translated = change.error(error)
        if translated is error:
            raise
        raise translated from error
    for one in change.rest():
        yield encoded(one)


@cache
def _sync_stream(package: Any) -> type[Any]:
    class Events(package.SyncByteStream):
        def __init__(self, response: Any, events: Any, change: Change) -> None:
            self._response, self._events, self._change = response, events, change

        def __iter__(self) -> Iterator[bytes]:
            return iterate_in_place(_written(BLOCKING, self._events, self._change))

        def close(self) -> None:
            # A generator that was not started closes nothing.
            self._events.close()
            self._response.close()

    return Events


@cache
def _async_stream(package: Any) -> type[Any]:
    class Events(package.AsyncByteStream):
        def __init__(self, response: Any, events: Any, change: Change) -> None:
            self._response, self._events, self._change = response, events, change
            self._written: TaskIterator[bytes] | None = None

        def __aiter__(self) -> AsyncIterator[bytes]:
            self._written = TaskIterator(_written(ASYNC, self._events, self._change))
            return self._written

        async def aclose(self) -> None:
            if self._written is not None:
                await self._written.aclose()
            else:
                # A generator that was not started closes nothing.
                await self._events.aclose()
            await self._response.aclose()

    return Events


# The default of OpenAI's SDK.
_MOST = 1000
_KEPT_S = 5.0


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


@cache
def _body(package: Any) -> type[Any]:
    class Taken(package.AsyncByteStream):
        """A response body that releases its connection when closed."""

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
    """A growing set of single-connection pools."""

    def __init__(self, package: Any, most: int) -> None:
        self._package = package
        self._most = most
        self._pools: set[_Pool] = set()
        # Ordered by release time, the most recent last.
        self._free: deque[_Pool] = deque()
        # Shared by all pools, because creating it takes 10 ms.
        self._ssl = package.create_ssl_context()

    def take(self) -> _Pool:
        """Return the free pool used last, or a new one; call `leave` to release it."""
        if self._free:
            found = self._free.pop()
        elif len(self._pools) < self._most:
            found = self._made()
            self._pools.add(found)
        else:
            # The request waits for its connection, within its own timeout.
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
        """Close the pool unused longest, once its connection has expired too."""
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
        """Send each request through the most recently used pool that is free."""

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
