"""LiteLLM's response objects as JSON, for each API."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from litellm.llms.openai.responses.transformation import OpenAIResponsesAPIConfig
from litellm.types.llms.openai import ResponsesAPIResponse
from litellm.types.utils import Choices, Message, ModelResponse, ModelResponseStream
from openai.types.responses.response import IncompleteDetails
from pydantic import ValidationError

from resay.adapters import field_of
from resay.adapters.apis import CHAT_COMPLETIONS, MESSAGES, Api, Body, Event, EventReader, encoded
from resay.adapters.apis import RESPONSES as API
from resay.adapters.choices import UnfinishedChoices
from resay.adapters.verdicts import VERDICT_KEY

HIDDEN = "_hidden_params"
"""The attribute in which LiteLLM keeps metadata of a response for the proxy's headers."""


@dataclass(frozen=True, slots=True)
class Piece(Event):
    """An event with the chunk of LiteLLM's stream that it was parsed from.

    Attributes:
        piece: The chunk.
    """

    piece: Any = None


async def pieces_in(pieces: AsyncIterator[Any], *, mode: str) -> AsyncGenerator[Piece]:
    """Read LiteLLM's chunks as events.

    Args:
        pieces: The chunks.
        mode: How pydantic should dump values, `json` or `python`.
    """
    async for piece in pieces:
        yield Piece(piece.model_dump(mode=mode, exclude_none=True, warnings=False), piece=piece)


def hidden_of(response: object, *, withheld: bool) -> dict[str, Any]:
    """Return LiteLLM's metadata of a response, without the text of a withheld one."""
    hidden: Mapping[str, Any] = field_of(response, HIDDEN) or {}
    return {k: v for k, v in hidden.items() if not (withheld and k == "original_response")}


class Format:
    """How LiteLLM serves one API.

    Attributes:
        api: The API.
        method: The name of the router's method.
        function: The name of litellm's own function.
    """

    api: ClassVar[Api]
    method: ClassVar[str]
    function: ClassVar[str]

    def fits(self, data: Body, response: object) -> bool:
        """Return whether a response, or the first chunk of a stream, belongs to this API."""
        raise NotImplementedError

    def body(self, response: Any) -> Body:
        """Return a response as JSON."""
        raise NotImplementedError

    def response(self, original: Any, body: Body) -> Any:
        """Return a response object for a body that was derived from the original's."""
        raise NotImplementedError

    def events(self, pieces: AsyncIterator[Any]) -> AsyncGenerator[Event]:
        """Read the chunks of a stream as events."""
        raise NotImplementedError

    def piece(self, event: Event) -> Any:
        """Return the chunk for an event: the original one if the event is unchanged."""
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

    def response(self, original: Any, body: Body) -> Any:
        before, after = self.body(original)["choices"], body["choices"]
        choices: list[Any] = []
        for index, choice in enumerate(after):
            # A response without choices gains one when it is withheld.
            if before:
                choices.append(_choice(original.choices[index], before[index], choice))
            else:
                choices.append(_choice(None, {}, choice))
        withheld = len(before) < len(after) or any(map(_is_replaced, before, after))
        response: Any = _without_text(original) if withheld else original.model_copy()
        response.choices = choices
        setattr(response, VERDICT_KEY, body[VERDICT_KEY])
        return response

    async def events(self, pieces: AsyncIterator[Any]) -> AsyncGenerator[Event]:
        choices = UnfinishedChoices()
        async for event in pieces_in(pieces, mode="python"):
            choices.note(event.body["choices"], event.body)
            yield _counting(event)
        for index, body in choices.unfinished():
            end: Body = {"index": index, "delta": {}, "finish_reason": "stop"}
            yield Event({**body, "choices": [end]})

    def piece(self, event: Event) -> Any:
        if isinstance(event, Piece):
            return event.piece
        fields = {k: v for k, v in event.body.items() if v is not None and k != VERDICT_KEY}
        piece: Any = ModelResponseStream(**fields)
        for choice in piece.choices if VERDICT_KEY in event.body else ():
            _mark(choice, event.body[VERDICT_KEY])
        return piece


CHAT = _Chat()
"""`/v1/chat/completions`."""


def _counting(event: Piece) -> Piece:
    """Return a chunk that only reports usage without its choices, as OpenAI sends it."""
    choices = event.body["choices"]
    if not event.body.get("usage") or any(c["delta"] or c.get("finish_reason") for c in choices):
        return event
    return Piece({**event.body, "choices": list[Any]()}, piece=event.piece)


def _is_replaced(before: Body, after: Body) -> bool:
    return {k: v for k, v in after.items() if k != VERDICT_KEY} != before


def _choice(choice: Any, before: Body, after: Body) -> Any:
    verdict = after.get(VERDICT_KEY)
    if _is_replaced(before, after):
        message = {k: v for k, v in after["message"].items() if v is not None}
        changed: Any = Choices(
            message=Message(**message),
            finish_reason=after["finish_reason"],
            index=after["index"],
        )
    elif verdict is None:
        return choice
    else:
        changed = choice.model_copy()
    if verdict is not None:
        setattr(changed, VERDICT_KEY, verdict)
    return changed


def _without_text(original: Any) -> Any:
    # Withheld text may be anywhere in the original, also in provider fields beside the choices.
    names = ("id", "created", "model", "system_fingerprint", "usage")
    fields = {name: field_of(original, name) for name in names}
    response: Any = ModelResponse(choices=[], **fields)
    response._hidden_params = hidden_of(original, withheld=True)  # noqa: SLF001 - the source of the proxy's headers
    return response


def _mark(choice: Any, worst: Body) -> None:
    # Each of several answers has its own verdict. Of all fields of a chunk, LiteLLM's serialisation
    # only lets this one through.
    verdict = field_of(choice, VERDICT_KEY) or worst
    fields: dict[str, Any] = field_of(choice.delta, "provider_specific_fields") or {}
    choice.delta.provider_specific_fields = {**fields, VERDICT_KEY: verdict}


class _Responses(Format):
    api = API
    method = "aresponses"
    function = "aresponses"

    def fits(self, data: Body, response: object) -> bool:
        if not data.get("input") or not hasattr(response, "model_dump"):
            return False
        if field_of(response, "object") == "response" and field_of(response, "output") is not None:
            return True
        kind = field_of(response, "type")
        return str(getattr(kind, "value", kind)).startswith("response.")

    def body(self, response: Any) -> Body:
        return response.model_dump(mode="json", exclude_none=True, warnings=False)

    def response(self, original: Any, body: Body) -> Any:
        if body["output"] == self.body(original)["output"]:
            copy = original.model_copy()
            if VERDICT_KEY in body:
                setattr(copy, VERDICT_KEY, body[VERDICT_KEY])
            return copy
        # Withheld text may be anywhere in the original.
        fields = {name: getattr(original, name) for name in body if hasattr(original, name)}
        fields |= {name: body[name] for name in ("output", "status", VERDICT_KEY) if name in body}
        details = body.get("incomplete_details")
        if details is not None:
            details = IncompleteDetails.model_validate(details)
        # Not validated, because not all that providers send would pass.
        kind: Any = ResponsesAPIResponse
        response = kind.model_construct(**{**fields, "incomplete_details": details})
        response._hidden_params = hidden_of(original, withheld=True)  # noqa: SLF001 - as on all such responses
        return response

    def events(self, pieces: AsyncIterator[Any]) -> AsyncGenerator[Event]:
        return pieces_in(pieces, mode="json")

    def piece(self, event: Event) -> Any:
        if isinstance(event, Piece):
            return event.piece
        fields = dict(event.body)
        if isinstance(fields.get("response"), Mapping):
            fields["response"] = _object(ResponsesAPIResponse, fields["response"])
        kind: Any = OpenAIResponsesAPIConfig.get_event_model_class(fields["type"])
        return _object(kind, fields)


RESPONSES = _Responses()
"""`/v1/responses`."""


def _object(kind: Any, data: Mapping[str, Any]) -> Any:
    try:
        return kind(**data)
    # Providers deviate from the schema, and the first events of a response lack some of its fields.
    except ValidationError:
        return kind.model_construct(**data)


class _Messages(Format):
    """Messages are mappings, and their streams are event bytes that may be split anywhere."""

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

    def response(self, original: Any, body: Body) -> Any:
        if HIDDEN in original and HIDDEN not in body:
            return {**body, HIDDEN: hidden_of(original, withheld=True)}
        return body

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
"""The APIs that LiteLLM serves and the guard can parse."""
