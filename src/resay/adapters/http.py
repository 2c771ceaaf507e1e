"""Responses of httpx and httpx2, and the same with other bodies. Neither package is imported."""

from __future__ import annotations

import json
import sys
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
from functools import cache
from typing import Any, cast

from resay.adapters.relaying import Relay
from resay.adapters.threads import BLOCKING, LOOPING, Side, finished, iterated
from resay.adapters.upstream import Upstream
from resay.providers.apis import Body, Event, EventReader, Request, encoded

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


async def _events_in(side: Side, response: Any) -> AsyncGenerator[Sequence[Event]]:
    """Read the events of a response, those of a piece together, and close it in the end."""
    reader = EventReader()
    data = response.iter_bytes() if side.blocking else response.aiter_bytes()
    try:
        async with aclosing(side.each(data)) as pieces:
            async for piece in pieces:
                yield reader.feed(piece)
        yield reader.finish()
    finally:
        await side.either(response.close, response.aclose)


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


async def answer(side: Side, relay: Relay, request: Request, send: Ask, upstream: Upstream) -> Body:
    """Have a relay send the main call, by the client's own side, and check the answer."""
    if side.blocking:
        return relay.answer(request, lambda body: finished(send(body)), upstream)
    return await relay.aanswer(request, side.sends(send), upstream)


async def check(side: Side, relay: Relay, request: Request, raw: Any, upstream: Upstream) -> Body:
    """Read a response to its end, and have a relay check it."""
    await side.either(raw.read, raw.aread)
    return await side.run(relay.acheck, request, body_in(raw) or {}, upstream)


def stream(
    side: Side,
    relay: Relay,
    request: Request,
    raw: Any,
    upstream: Upstream,
    change: Change = _NONE,
) -> Any:
    """Return a response with the events that a relay gives, changed.

    Closing it closes them and the old response.
    """
    events = _events_in(side, raw)
    if side.blocking:
        given: Any = relay.events(request, iterated(events), upstream)
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


async def _written(side: Side, events: Any, change: Change) -> AsyncGenerator[bytes]:
    async with aclosing(side.each(events)) as given:
        async for together in given:
            changed = [encoded(one) for event in together for one in change.of(event)]
            if changed:
                yield b"".join(changed)
    for one in change.rest():
        yield encoded(one)


@cache
def _sync_stream(package: Any) -> type[Any]:
    class Events(package.SyncByteStream):
        def __init__(self, response: Any, events: Any, change: Change) -> None:
            self._response, self._events, self._change = response, events, change

        def __iter__(self) -> Iterator[bytes]:
            return iterated(_written(BLOCKING, self._events, self._change))

        def close(self) -> None:
            # A generator that was not begun closes nothing.
            self._events.close()
            self._response.close()

    return Events


@cache
def _async_stream(package: Any) -> type[Any]:
    class Events(package.AsyncByteStream):
        def __init__(self, response: Any, events: Any, change: Change) -> None:
            self._response, self._events, self._change = response, events, change

        def __aiter__(self) -> AsyncIterator[bytes]:
            return _written(LOOPING, self._events, self._change)

        async def aclose(self) -> None:
            await self._events.aclose()
            await self._response.aclose()

    return Events
