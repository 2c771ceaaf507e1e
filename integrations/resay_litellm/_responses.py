"""The Responses API, as LiteLLM serves it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any

from litellm.llms.openai.responses.transformation import OpenAIResponsesAPIConfig
from litellm.types.llms.openai import ResponsesAPIResponse
from openai.types.responses.response import IncompleteDetails
from pydantic import ValidationError

from resay.adapters import VERDICT_KEY
from resay.providers.apis import RESPONSES as API
from resay.providers.apis import Body, Event
from resay_litellm._pieces import Piece, field, hidden_of, pieces_in

__all__ = ["RESPONSES"]


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
