"""The objects in which LiteLLM serves each API, as the JSON they stand for and back."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, Protocol, cast

from resay.providers.apis import MESSAGES, Api, Body, Event, EventReader, encoded
from resay_litellm._chat import CHAT
from resay_litellm._pieces import HIDDEN, hidden_of
from resay_litellm._responses import RESPONSES

__all__ = ["FORMATS", "Format"]


class Format(Protocol):
    """How LiteLLM serves one API."""

    @property
    def api(self) -> Api:
        """The API."""
        ...

    @property
    def method(self) -> str:
        """What the router calls it."""
        ...

    @property
    def function(self) -> str:
        """What litellm itself calls it."""
        ...

    def fits(self, data: Body, response: object) -> bool:
        """Return whether a response, or the first piece of a stream, is one of this API's."""
        ...

    def body(self, response: Any) -> Body:
        """Return a response as JSON."""
        ...

    def given(self, response: Any, body: Body) -> Any:
        """Return what stands for a body that was made of a response's."""
        ...

    def events(self, pieces: AsyncIterator[Any]) -> AsyncGenerator[Event]:
        """Read the pieces of a stream as events."""
        ...

    def piece(self, event: Event) -> Any:
        """Return an event as a piece: the very one that was read, where nothing was changed."""
        ...


class _Messages:
    """Mappings, and the bytes of events, which may be cut anywhere."""

    api = MESSAGES
    method = "aanthropic_messages"
    function = "anthropic_messages"

    def fits(self, data: Body, response: object) -> bool:
        if not data.get("messages"):
            return False
        if isinstance(response, (bytes, str)):
            begins = _bytes(response).lstrip().startswith((b"event:", b"data:", b":"))
            return "max_tokens" in data and begins
        return isinstance(response, Mapping) and cast("Body", response).get("type") == "message"

    def body(self, response: Any) -> Body:
        return cast("Body", response)

    def given(self, response: Any, body: Body) -> Any:
        withheld = HIDDEN in response and HIDDEN not in body
        return {**body, HIDDEN: hidden_of(response, withheld=True)} if withheld else body

    async def events(self, pieces: AsyncIterator[Any]) -> AsyncGenerator[Event]:
        reader = EventReader()
        async for piece in pieces:
            for event in reader.feed(_bytes(piece)):
                yield event
        for event in reader.finish():
            yield event

    def piece(self, event: Event) -> Any:
        return encoded(event)


def _bytes(piece: bytes | str) -> bytes:
    return piece.encode() if isinstance(piece, str) else piece


FORMATS: tuple[Format, ...] = (CHAT, _Messages(), RESPONSES)
"""All that LiteLLM serves of what the guard can read."""
