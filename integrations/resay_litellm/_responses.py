"""The Responses API, as LiteLLM serves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from litellm.types.llms.openai import ResponseIncompleteEvent, ResponsesAPIStreamEvents
from openai.types.responses.response import IncompleteDetails

from resay.adapting import VERDICT_KEY
from resay.providers.base import Chunk, Completion, ToolCall
from resay.query import Query
from resay.verdict import Usage
from resay_litellm._outcome import field
from resay_litellm._params import forced_tool, hosted, user_params
from resay_litellm._shape import Data, Shape, Wire

__all__ = ["RESPONSES"]

_NOT_PARAMS = ("input", "litellm_metadata", "model", "stream", "stream_options")
# Events before the first word.
_BEGINNING = (
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
)
_DELTA = "response.output_text.delta"
# From here on the text is repeated as a whole.
_ENDS = (
    "response.output_text.done",
    "response.content_part.done",
    "response.completed",
    "response.incomplete",
    "response.failed",
)
_FINAL = ("response.completed", "response.incomplete")


class _Responses:
    method = "aresponses"
    function = "aresponses"
    takes_n = False

    def fits(self, data: Data, response: object) -> bool:
        if not data.get("input"):
            return False
        whole = field(response, "object") == "response" and field(response, "output") is not None
        return whole or _type(response).startswith("response.")

    def read(self, data: Data) -> Query:
        params = user_params(data, but=_NOT_PARAMS)
        names = [field(tool, "name") for tool in params.get("tools") or ()]
        wanted = field(field(params.get("text"), "format"), "type")
        return Query(
            _messages(data, params),
            None,
            params,
            structured=wanted in ("json_object", "json_schema"),
            object_tools=forced_tool(params, names, ("required", "function")),
            unchecked=hosted(params, ("", "function", "custom")),
        )

    def asked_again(self, data: Data, query: Query) -> dict[str, Any]:
        # A response is kept by the provider unless one says otherwise.
        return {**query.params, "input": data["input"], "store": False}

    def completions(self, response: Any) -> tuple[Completion, ...]:
        items = field(response, "output") or ()
        calls = [
            ToolCall(str(field(item, "name")), str(field(item, "arguments") or ""), place)
            for place, item in enumerate(items)
            if field(item, "type") in ("custom_tool_call", "function_call")
        ]
        text = "".join(_text_of(item) for item in items)
        reason = field(response, "status")
        return (Completion(text, reason, raw=response, calls=tuple(calls)),)

    def usage(self, response: Any) -> Usage:
        cost = field(field(response, "_hidden_params"), "response_cost")
        return _usage(field(response, "usage"), cost)

    def annotated(self, response: Any, verdict: Data, *, first_only: bool) -> Any:
        copy = response.model_copy()
        setattr(copy, VERDICT_KEY, verdict)
        return copy

    def withheld(self, response: Any, message: str, verdict: Data) -> Any:
        # Thoughts and calls go too.
        filtered = {
            "output": [_item(_identity(response), message)],
            "status": "incomplete",
            "incomplete_details": IncompleteDetails(reason="content_filter"),
        }
        copy = response.model_copy(update=filtered)
        setattr(copy, VERDICT_KEY, verdict)
        return copy

    def wire(self, *, first_only: bool) -> Wire:
        return _ResponsesWire()


RESPONSES: Shape = _Responses()
"""`/v1/responses`."""


class _ResponsesWire:
    def feed(self, raw: Any) -> list[Any]:
        return [raw]

    def finish(self) -> list[Any]:
        return []

    def chunk(self, piece: Any) -> Chunk:
        kind = _type(piece)
        if kind == _DELTA:
            return Chunk(str(field(piece, "delta") or ""), raw=piece)
        item = field(piece, "item")
        if kind == "response.output_item.done" and field(item, "type") == "function_call":
            index = field(piece, "output_index") or 0
            call = ToolCall(str(field(item, "name")), str(field(item, "arguments") or ""), index)
            return Chunk(raw=piece, calls=(call,))
        if kind in _FINAL:
            response = field(piece, "response")
            usage = _usage(field(response, "usage"), None)
            return Chunk(finish_reason=field(response, "status"), usage=usage, raw=piece)
        return Chunk(raw=piece)

    def ends(self, piece: Any) -> bool:
        return _type(piece) in _ENDS

    def tells_more(self, piece: Any) -> bool:
        kind = _type(piece)
        if kind == "response.output_item.added":
            return field(field(piece, "item"), "type") != "message"
        return kind != _DELTA and kind not in _BEGINNING

    def cut(self, piece: Any, text: str) -> Any:
        return _without_logprobs(piece, {"delta": text})

    def concluded(self, seen: Sequence[Any], held: Sequence[Any], verdict: Data) -> list[Any]:
        return [_marked(piece, verdict) if _type(piece) in _FINAL else piece for piece in held]

    def notice(self, seen: Sequence[Any], sent: Sequence[Any], text: str) -> list[Any]:
        # Where the model said nothing, there is nothing that it could be put in the place of.
        like = next((piece for piece in seen if _type(piece) == _DELTA), None)
        if like is None:
            return []
        told = {_type(piece) for piece in sent}
        beginning = [p for p in seen if _type(p) in _BEGINNING and _type(p) not in told]
        begun = [p for p in beginning if not self.tells_more(p)]
        return [*begun, self.cut(like, text)]

    def stopping(self, seen: Sequence[Any], sent: Sequence[Any], verdict: Data) -> list[Any]:
        final = next((piece for piece in seen if _type(piece) in _FINAL), None)
        if final is None:
            return []
        shown = "".join(self.chunk(piece).text for piece in sent)
        response = RESPONSES.withheld(final.response, shown, verdict)
        closing: Any = ResponseIncompleteEvent(
            type=ResponsesAPIStreamEvents.RESPONSE_INCOMPLETE, response=response
        )
        told = [piece for piece in seen if _type(piece).endswith(".done")]
        return [*(_saying(piece, shown) for piece in told if _is_message(piece)), closing]


def _type(piece: object) -> str:
    kind = field(piece, "type")
    return str(getattr(kind, "value", kind) or "")


def _is_message(piece: Any) -> bool:
    kind, item = _type(piece), field(piece, "item")
    if kind == "response.output_item.done":
        return field(item, "type") == "message"
    return kind in ("response.output_text.done", "response.content_part.done")


def _saying(piece: Any, text: str) -> Any:
    """Return an event that repeats the text, with another text."""
    if _type(piece) == "response.output_text.done":
        return _without_logprobs(piece, {"text": text})
    if _type(piece) == "response.content_part.done":
        part = _without_logprobs(piece.part, {"text": text, "annotations": []})
        return piece.model_copy(update={"part": part})
    made = cast("Any", type(piece.item))
    item = made.model_construct(**_item(field(piece.item, "id"), text))
    return piece.model_copy(update={"item": item})


def _marked(piece: Any, verdict: Data) -> Any:
    response = piece.response.model_copy()
    setattr(response, VERDICT_KEY, verdict)
    return piece.model_copy(update={"response": response})


def _messages(data: Data, params: Data) -> tuple[Data, ...]:
    """Return the conversation in the shape of chat completions, as far as rules and judges look."""
    said: Any = data["input"]
    items = [{"role": "user", "content": said}] if isinstance(said, str) else list(said)
    known = [cast("Data", i) for i in items if isinstance(i, dict) and "role" in i]
    system = params.get("instructions")
    return (*(({"role": "system", "content": system},) if system else ()), *known)


def _text_of(item: Any) -> str:
    if field(item, "type") != "message":
        return ""
    parts = field(item, "content") or ()
    return "".join(str(field(p, "text") or "") for p in parts if field(p, "type") == "output_text")


def _identity(response: Any) -> str:
    items = field(response, "output") or ()
    known = next((field(i, "id") for i in items if field(i, "type") == "message"), None)
    return str(known or "msg_withheld")


def _item(identity: object, text: str) -> dict[str, Any]:
    return {
        "id": identity,
        "type": "message",
        "role": "assistant",
        "status": "incomplete",
        "content": [_part(text)],
    }


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def _without_logprobs(piece: Any, update: dict[str, Any]) -> Any:
    if field(piece, "logprobs"):
        update = {**update, "logprobs": []}
    return piece.model_copy(update=update)


def _usage(usage: Any, cost: Any) -> Usage:
    return Usage(
        1,
        field(usage, "input_tokens") or 0,
        field(usage, "output_tokens") or 0,
        cost if isinstance(cost, (int, float)) else None,
    )
