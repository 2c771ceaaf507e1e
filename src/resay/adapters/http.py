"""Responses of httpx and httpx2, and the same with other bodies. Neither package is imported."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextlib import suppress
from functools import cache
from typing import Any, cast

from resay.providers.apis import Body, Event, EventReader, encoded

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


def with_events(response: Any, events: Generator[Event, None, None]) -> Any:
    """Return a response with other events. Closing it closes them and the old response."""
    return _like(response, stream=_sync_stream(_package(response))(response, events))


def with_aevents(response: Any, events: AsyncGenerator[Event]) -> Any:
    """Do what `with_events` does, for an event loop."""
    return _like(response, stream=_async_stream(_package(response))(response, events))


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


@cache
def _sync_stream(package: Any) -> type[Any]:
    class Events(package.SyncByteStream):
        def __init__(self, response: Any, events: Generator[Event, None, None]) -> None:
            self._response = response
            self._events = events

        def __iter__(self) -> Iterator[bytes]:
            for event in self._events:
                yield encoded(event)

        def close(self) -> None:
            # A generator that was not begun closes nothing.
            self._events.close()
            self._response.close()

    return Events


@cache
def _async_stream(package: Any) -> type[Any]:
    class Events(package.AsyncByteStream):
        def __init__(self, response: Any, events: AsyncGenerator[Event]) -> None:
            self._response = response
            self._events = events

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for event in self._events:
                yield encoded(event)

        async def aclose(self) -> None:
            await self._events.aclose()
            await self._response.aclose()

    return Events
