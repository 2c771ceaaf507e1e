"""The objects in which LiteLLM serves each API, as the JSON they stand for and back."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, Protocol, cast

from litellm.llms.openai.responses.transformation import OpenAIResponsesAPIConfig
from litellm.types.llms.openai import ResponsesAPIResponse
from openai.types.responses.response import IncompleteDetails
from pydantic import ValidationError

from resay.adapters import VERDICT_KEY
from resay.providers.apis import MESSAGES, Api, Body, Event, EventReader, encoded
from resay.providers.apis import RESPONSES as API
from resay_litellm._chat import CHAT
from resay_litellm._pieces import HIDDEN, Piece, field, hidden_of, pieces_in

__all__ = ["FORMATS", "RESPONSES", "Format"]


class _Responses:
    api = API
    method = "aresponses"
    function = "aresponses"

    def fits(self, data: Body, response: object) -> bool:
        if not data.get("input") or not hasattr(response, "model_dump"):
            return False
        whole = field(response, "object") == "response" and field(response, "output") is not None
        kind = field(response, "type")
        return whole or str(getattr(kind, "value", kind)).startswith("response.")

    def body(self, response: Any) -> Body:
        return response.model_dump(mode="json", exclude_none=True, warnings=False)

    def given(self, response: Any, body: Body) -> Any:
        if body["output"] == self.body(response)["output"]:
            copy = response.model_copy()
            setattr(copy, VERDICT_KEY, body[VERDICT_KEY])
            return copy
        # Words can be anywhere in the old one.
        kept = {k: getattr(response, k) for k in body if hasattr(response, k)}
        told = {k: body[k] for k in ("output", "status", VERDICT_KEY)}
        why = body["incomplete_details"]
        details = None if why is None else IncompleteDetails.model_validate(why)
        # Not parsed, because not all that a provider says of itself would be.
        kind: Any = ResponsesAPIResponse
        made = kind.model_construct(**{**kept, **told, "incomplete_details": details})
        made._hidden_params = hidden_of(response, withheld=True)  # noqa: SLF001 - as on all of its kind
        return made

    def events(self, pieces: AsyncIterator[Any]) -> AsyncGenerator[Event]:
        return pieces_in(pieces, mode="json")

    def piece(self, event: Event) -> Any:
        if isinstance(event, Piece):
            return event.piece
        told = dict(event.body)
        if isinstance(told.get("response"), Mapping):
            told["response"] = _object(ResponsesAPIResponse, told["response"])
        kind: Any = OpenAIResponsesAPIConfig.get_event_model_class(told["type"])
        return _object(kind, told)


RESPONSES = _Responses()
"""`/v1/responses`."""


def _object(kind: Any, data: Mapping[str, Any]) -> Any:
    try:
        return kind(**data)
    # Providers do not keep to it, and the start of a response has not all of its fields.
    except ValidationError:
        return kind.model_construct(**data)


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
