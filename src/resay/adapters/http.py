"""Responses of httpx and httpx2, and the same with other bodies. Neither package is imported.

What a client does is written once, as coroutines that reach the network through a `Side`. The side
of a client that blocks never waits, so `finished` runs its coroutines in place.
"""

from __future__ import annotations

import json
import sys
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
)
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar, cast

from resay.adapters.relaying import Relay
from resay.adapters.threads import cancelled_once, in_thread
from resay.adapters.upstream import Upstream
from resay.providers.apis import Body, Event, EventReader, Request, encoded

T = TypeVar("T")

# What is said of a body that was encoded and measured before it was changed.
_OF_BODY = frozenset({"content-encoding", "content-length", "transfer-encoding"})


def body_in(message: Any) -> Body | None:
    """Return the object in a request or a response; None where there is none.

    Args:
        message: The request or response; what was not read yet holds nothing.
    """
    try:
        value: object = json.loads(message.content)
    # What is not read yet is one, and so is JSON that is nested too deeply.
    except (ValueError, RuntimeError):
        return None
    return cast("Body", value) if isinstance(value, dict) else None


def is_event_stream(response: Any) -> bool:
    """Return whether a response is a stream of events."""
    return response.headers.get("content-type", "").lower().startswith("text/event-stream")


def events_in(response: Any) -> Generator[Event, None, None]:
    """Read the events of a response, and close it in the end."""
    reader = EventReader()
    try:
        for data in response.iter_bytes():
            yield from reader.feed(data)
        yield from reader.finish()
    finally:
        response.close()


async def aevents_in(response: Any) -> AsyncGenerator[Event]:
    """Do what `events_in` does, on the response's event loop."""
    reader = EventReader()
    try:
        async for data in response.aiter_bytes():
            for event in reader.feed(data):
                yield event
        for event in reader.finish():
            yield event
    finally:
        await response.aclose()


def with_body(response: Any, body: Body, *, status: int | None = None) -> Any:
    """Return a response, of the same package, with another body, and perhaps another status."""
    content = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
    made = _like(response, status=status, content=content)
    if "json" not in made.headers.get("content-type", ""):
        # It was something else that could not be read.
        made.headers["content-type"] = "application/json"
    return made


class Change:
    """What becomes of the events of a response on their way. This leaves them as they are."""

    def of(self, event: Event) -> Iterable[Event]:
        """Return what is given for an event."""
        return (event,)

    def rest(self) -> Iterable[Event]:
        """Return what is given at the end."""
        return ()


_NONE = Change()
Ask = Callable[[Body], Coroutine[Any, Any, Body]]


class Blocking:
    """How a client that blocks reaches the network and the guard."""

    async def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call a function of the client's own side."""
        return function(*args, **kwargs)

    async def read(self, response: Any) -> None:
        """Read a response to its end."""
        response.read()

    async def close(self, response: Any) -> None:
        """Close a response."""
        response.close()

    def sends(self, send: Ask) -> Ask:
        """Return how the guard, on its own event loop, has something sent beside the main call."""
        return lambda body: in_thread(lambda: finished(send(body)))

    async def answer(self, relay: Relay, request: Request, send: Ask, upstream: Upstream) -> Body:
        """Have a relay send the main call and check the answer."""
        return relay.answer(request, lambda body: finished(send(body)), upstream)

    async def check(self, relay: Relay, request: Request, raw: Any, upstream: Upstream) -> Body:
        """Read a response to its end, and have a relay check it."""
        raw.read()
        return relay.check(request, body_in(raw) or {}, upstream)

    def stream(
        self, relay: Relay, request: Request, raw: Any, upstream: Upstream, change: Change = _NONE
    ) -> Any:
        """Return a response with the events that a relay gives, changed.

        Closing it closes them and the old response.
        """
        events = relay.events(request, events_in(raw), upstream)
        return _like(raw, stream=_sync_stream(_package(raw))(raw, events, change))


class Looping:
    """The same for a client of an event loop."""

    async def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """See `Blocking.call`."""
        return await function(*args, **kwargs)

    async def read(self, response: Any) -> None:
        """See `Blocking.read`."""
        await response.aread()

    async def close(self, response: Any) -> None:
        """See `Blocking.close`."""
        await response.aclose()

    def sends(self, send: Ask) -> Ask:
        """See `Blocking.sends`."""
        return lambda body: cancelled_once(send(body))

    async def answer(self, relay: Relay, request: Request, send: Ask, upstream: Upstream) -> Body:
        """See `Blocking.answer`."""
        return await relay.aanswer(request, self.sends(send), upstream)

    async def check(self, relay: Relay, request: Request, raw: Any, upstream: Upstream) -> Body:
        """See `Blocking.check`."""
        await raw.aread()
        return await relay.acheck(request, body_in(raw) or {}, upstream)

    def stream(
        self, relay: Relay, request: Request, raw: Any, upstream: Upstream, change: Change = _NONE
    ) -> Any:
        """See `Blocking.stream`."""
        events = relay.aevents(request, aevents_in(raw), upstream)
        return _like(raw, stream=_async_stream(_package(raw))(raw, events, change))


BLOCKING, LOOPING = Blocking(), Looping()
Side = Blocking | Looping


def finished(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine of the blocking side, which never waits, and return what it returns."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    work.close()
    raise RuntimeError("a coroutine of a client that blocks has waited")


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
    # A response that is not read yet has none.
    with suppress(RuntimeError):
        made.elapsed = response.elapsed
    return made


def package_of(kind: Any) -> Any:
    """Return the package that a class, or one it is made of, is from; None for others."""
    roots = (base.__module__.partition(".")[0] for base in kind.__mro__)
    return next((sys.modules[root] for root in roots if root in ("httpx", "httpx2")), None)


def _package(response: Any) -> Any:
    return package_of(cast("Any", type(response)))


_Events = Generator[Event, None, None]


@cache
def _sync_stream(package: Any) -> type[Any]:
    class Events(package.SyncByteStream):
        def __init__(
            self, response: Any, events: Generator[Event, None, None], change: Change
        ) -> None:
            self._response, self._events, self._change = response, events, change

        def __iter__(self) -> Iterator[bytes]:
            for event in self._events:
                yield from map(encoded, self._change.of(event))
            yield from map(encoded, self._change.rest())

        def close(self) -> None:
            # A generator that was not begun closes nothing.
            self._events.close()
            self._response.close()

    return Events


@cache
def _async_stream(package: Any) -> type[Any]:
    class Events(package.AsyncByteStream):
        def __init__(self, response: Any, events: AsyncGenerator[Event], change: Change) -> None:
            self._response, self._events, self._change = response, events, change

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for event in self._events:
                for given in self._change.of(event):
                    yield encoded(given)
            for given in self._change.rest():
                yield encoded(given)

        async def aclose(self) -> None:
            await self._events.aclose()
            await self._response.aclose()

    return Events
