"""Chat completions, as LiteLLM gives them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from litellm.types.utils import Choices, Message, ModelResponse, ModelResponseStream

from resay.adapters import VERDICT_KEY
from resay.providers.apis import CHAT_COMPLETIONS, Body, Event
from resay_litellm._pieces import Piece, field, hidden_of, pieces_in

__all__ = ["CHAT"]


class _Chat:
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
        ends = _Ends()
        async for event in pieces_in(pieces, mode="python"):
            ends.note(event.body)
            yield _counting(event)
        for event in ends.missing():
            yield event

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


class _Ends:
    """Which choices have not ended: of several, litellm says it of one at most."""

    def __init__(self) -> None:
        self._begun: dict[int, Body] = {}
        self._ended: set[int] = set()

    def note(self, body: Body) -> None:
        for choice in body["choices"]:
            self._begun.setdefault(choice["index"], body)
            if choice.get("finish_reason"):
                self._ended.add(choice["index"])

    def missing(self) -> list[Event]:
        return [
            Event({**body, "choices": [{"index": place, "delta": {}, "finish_reason": "stop"}]})
            for place, body in sorted(self._begun.items())
            if place not in self._ended
        ]


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
    kept = {k: field(response, k) for k in ("id", "created", "model", "system_fingerprint")}
    given: Any = ModelResponse(choices=[], usage=field(response, "usage"), **kept)
    given._hidden_params = hidden_of(response, withheld=True)  # noqa: SLF001 - what the proxy's headers are made of
    return given


def _mark(choice: Any, worst: Body) -> None:
    # Of several answers each has its own. This is the one place that LiteLLM's own serialisation of
    # a stream lets through.
    verdict = field(choice, VERDICT_KEY) or worst
    known: dict[str, Any] = field(choice.delta, "provider_specific_fields") or {}
    choice.delta.provider_specific_fields = {**known, VERDICT_KEY: verdict}
