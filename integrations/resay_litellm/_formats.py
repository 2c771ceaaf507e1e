"""The objects in which LiteLLM serves each API, as the JSON they stand for and back."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from litellm.llms.openai.responses.transformation import OpenAIResponsesAPIConfig
from litellm.types.llms.openai import ResponsesAPIResponse
from litellm.types.utils import Choices, Message, ModelResponse, ModelResponseStream
from openai.types.responses.response import IncompleteDetails
from pydantic import ValidationError

from resay.adapters.policies import VERDICT_KEY
from resay.adapters.shaping import Unended
from resay.core.logprobs import field_of
from resay.providers.apis import CHAT_COMPLETIONS, MESSAGES, Api, Body, Event, EventReader, encoded
from resay.providers.apis import RESPONSES as API

HIDDEN = "_hidden_params"
"""Where LiteLLM notes beside a response what the proxy's headers are made of."""


@dataclass(frozen=True, slots=True)
class Piece(Event):
    """An event that was read of a piece of a stream.

    Attributes:
        piece: The piece.
    """

    piece: Any = None


async def pieces_in(pieces: AsyncIterator[Any], *, mode: str) -> AsyncGenerator[Piece]:
    """Read LiteLLM's pieces as events.

    Args:
        pieces: The pieces.
        mode: Into which values pydantic is to put them, `json` or `python`.
    """
    async for piece in pieces:
        yield Piece(piece.model_dump(mode=mode, exclude_none=True, warnings=False), piece=piece)


def hidden_of(response: object, *, withheld: bool) -> dict[str, Any]:
    """Return LiteLLM's notes beside a response, without the words of one that is withheld."""
    hidden: Mapping[str, Any] = field_of(response, HIDDEN) or {}
    return {k: v for k, v in hidden.items() if not (withheld and k == "original_response")}


class Format:
    """How LiteLLM serves one API.

    Attributes:
        api: The API.
        method: What the router calls it.
        function: What litellm itself calls it.
    """

    api: ClassVar[Api]
    method: ClassVar[str]
    function: ClassVar[str]

    def fits(self, data: Body, response: object) -> bool:
        """Return whether a response, or the first piece of a stream, is one of this API's."""
        raise NotImplementedError

    def body(self, response: Any) -> Body:
        """Return a response as JSON."""
        raise NotImplementedError

    def given(self, response: Any, body: Body) -> Any:
        """Return what stands for a body that was made of a response's."""
        raise NotImplementedError

    def events(self, pieces: AsyncIterator[Any]) -> AsyncGenerator[Event]:
        """Read the pieces of a stream as events."""
        raise NotImplementedError

    def piece(self, event: Event) -> Any:
        """Return an event as a piece: the very one that was read, where nothing was changed."""
        raise NotImplementedError


class _Chat(Format):
    api = CHAT_COMPLETIONS
    method = "acompletion"
    function = "acompletion"

    def fits(self, data: Body, response: object) -> bool:
        kinds = (ModelResponse, ModelResponseStream)
        return bool(data.get("messages")) and isinstance(response, kinds)

    def body(self, response: Any) -> Body:
        return response.model_dump(exclude_none=True, warnings=False)

    def given(self, response: Any, body: Body) -> Any:
        before, now = self.body(response)["choices"], body["choices"]
        # One that is withheld because it has no answer has one then.
        known = [*zip(response.choices, before, strict=True)] or [(None, {})] * len(now)
        pairs = zip(known, now, strict=True)
        choices = [_choice(choice, was, given) for (choice, was), given in pairs]
        withheld = len(before) < len(now) or any(map(_is_replaced, before, now))
        given: Any = _anew(response) if withheld else response.model_copy()
        given.choices = choices
        setattr(given, VERDICT_KEY, body[VERDICT_KEY])
        return given

    async def events(self, pieces: AsyncIterator[Any]) -> AsyncGenerator[Event]:
        unended = Unended()
        async for event in pieces_in(pieces, mode="python"):
            unended.note(event.body["choices"], event.body)
            yield _counting(event)
        for place, body in unended.rest():
            end: Body = {"index": place, "delta": {}, "finish_reason": "stop"}
            yield Event({**body, "choices": [end]})

    def piece(self, event: Event) -> Any:
        if isinstance(event, Piece):
            return event.piece
        told = {k: v for k, v in event.body.items() if v is not None and k != VERDICT_KEY}
        piece: Any = ModelResponseStream(**told)
        for choice in piece.choices if VERDICT_KEY in event.body else ():
            _mark(choice, event.body[VERDICT_KEY])
        return piece


CHAT = _Chat()
"""`/v1/chat/completions`."""


def _counting(event: Piece) -> Piece:
    """Return what only says what the answer cost as OpenAI does, without a choice."""
    choices = event.body["choices"]
    if not event.body.get("usage") or any(c["delta"] or c.get("finish_reason") for c in choices):
        return event
    return Piece({**event.body, "choices": list[Any]()}, piece=event.piece)


def _is_replaced(before: Body, after: Body) -> bool:
    return {k: v for k, v in after.items() if k != VERDICT_KEY} != before


def _choice(choice: Any, before: Body, after: Body) -> Any:
    verdict = after.get(VERDICT_KEY)
    if _is_replaced(before, after):
        said = {k: v for k, v in after["message"].items() if v is not None}
        kept = {k: after[k] for k in ("finish_reason", "index")}
        given: Any = Choices(message=Message(**said), **kept)
    elif verdict is None:
        return choice
    else:
        given = choice.model_copy()
    if verdict is not None:
        setattr(given, VERDICT_KEY, verdict)
    return given


def _anew(response: Any) -> Any:
    # Words can be anywhere in the old one, in what the provider says beside the choices too.
    kept = {k: field_of(response, k) for k in ("id", "created", "model", "system_fingerprint")}
    given: Any = ModelResponse(choices=[], usage=field_of(response, "usage"), **kept)
    given._hidden_params = hidden_of(response, withheld=True)  # noqa: SLF001 - what the proxy's headers are made of
    return given


def _mark(choice: Any, worst: Body) -> None:
    # Of several answers each has its own. This is the one place that LiteLLM's own serialisation of
    # a stream lets through.
    verdict = field_of(choice, VERDICT_KEY) or worst
    known: dict[str, Any] = field_of(choice.delta, "provider_specific_fields") or {}
    choice.delta.provider_specific_fields = {**known, VERDICT_KEY: verdict}


class _Responses(Format):
    api = API
    method = "aresponses"
    function = "aresponses"

    def fits(self, data: Body, response: object) -> bool:
        if not data.get("input") or not hasattr(response, "model_dump"):
            return False
        whole = (
            field_of(response, "object") == "response" and field_of(response, "output") is not None
        )
        kind = field_of(response, "type")
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


class _Messages(Format):
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
