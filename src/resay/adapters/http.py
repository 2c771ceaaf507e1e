"""Responses of httpx and httpx2 with other bodies.

Neither package is imported.
"""

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
from resay.providers.apis import ApiRequest, Body, Event, EventReader, encoded

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
    changed = _like(response, status=status, content=content)
    if "json" not in changed.headers.get("content-type", ""):
        # The original body was of another type.
        changed.headers["content-type"] = "application/json"
    return changed


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
    style: CallStyle, relay: Relay, api_request: ApiRequest, send: Ask, upstream: Upstream
) -> Body:
    """Let a relay send the main call, on the client's own side, and check the answer."""
    if style.blocking:
        return relay.answer(api_request, lambda body: run_in_place(send(body)), upstream)
    return await relay.aanswer(api_request, style.adapt_send(send), upstream)


async def check(
    style: CallStyle, relay: Relay, api_request: ApiRequest, raw: Any, upstream: Upstream
) -> Body:
    """Read a response to its end, and let a relay check it."""
    await style.either(raw.read, raw.aread)
    return await style.run(relay.acheck, api_request, body_in(raw) or {}, upstream)


def stream(
    style: CallStyle,
    relay: Relay,
    api_request: ApiRequest,
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
        guarded: Any = relay.events(api_request, iterate_in_place(events), upstream)
        return _like(raw, stream=_sync_stream(_package(raw))(raw, guarded, change))
    guarded = relay.aevents(api_request, events, upstream)
    return _like(raw, stream=_async_stream(_package(raw))(raw, guarded, change))


def _like(response: Any, *, status: int | None = None, **body: Any) -> Any:
    headers = [(k, v) for k, v in response.headers.multi_items() if k.lower() not in _OF_BODY]
    copy = _package(response).Response(
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
        copy.elapsed = response.elapsed
    return copy


def package_of(kind: Any) -> Any:
    """Return the package, httpx or httpx2, that a class derives from; None for others."""
    roots = (base.__module__.partition(".")[0] for base in kind.__mro__)
    return next((sys.modules[root] for root in roots if root in ("httpx", "httpx2")), None)


def _package(response: Any) -> Any:
    return package_of(cast("Any", type(response)))


async def _content(style: CallStyle, events: Any, change: Change) -> AsyncGenerator[bytes]:
    try:
        async with aclosing(style.iterate(events)) as groups:
            async for group in groups:
                content = bytearray()
                for event in group:
                    for changed in change.of(event):
                        content += encoded(changed)
                if content:
                    yield bytes(content)
    except ResayError as error:
        translated = change.error(error)
        if translated is error:
            raise
        raise translated from error
    for event in change.rest():
        yield encoded(event)


@cache
def _sync_stream(package: Any) -> type[Any]:
    class Events(package.SyncByteStream):
        def __init__(self, response: Any, events: Any, change: Change) -> None:
            self._response, self._events, self._change = response, events, change

        def __iter__(self) -> Iterator[bytes]:
            return iterate_in_place(_content(BLOCKING, self._events, self._change))

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
            self._content: TaskIterator[bytes] | None = None

        def __aiter__(self) -> AsyncIterator[bytes]:
            self._content = TaskIterator(_content(ASYNC, self._events, self._change))
            return self._content

        async def aclose(self) -> None:
            if self._content is not None:
                await self._content.aclose()
            else:
                # A generator that was not started closes nothing.
                await self._events.aclose()
            await self._response.aclose()

    return Events
