"""Chat completions, as LiteLLM gives them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from litellm.types.utils import (
    Choices,
    Delta,
    Message,
    ModelResponse,
    ModelResponseStream,
    StreamingChoices,
)

from resay.adapting import VERDICT_KEY
from resay.logprobs import read_logprobs
from resay.providers.base import Chunk, Completion, ToolCall
from resay.query import Query
from resay.verdict import Usage
from resay_litellm._outcome import field
from resay_litellm._params import forced_tool, hosted, user_params
from resay_litellm._shape import Data, Shape, Wire

__all__ = ["CHAT"]

_NOT_PARAMS = ("messages", "model", "n", "stream", "stream_options")
# Of a piece of the answer: what has no words, and the text itself.
_PLAIN = ("content", "provider_specific_fields", "role")


class _Chat:
    method = "acompletion"
    function = "acompletion"
    takes_n = True

    def fits(self, data: Data, response: object) -> bool:
        return bool(data.get("messages")) and isinstance(
            response, (ModelResponse, ModelResponseStream)
        )

    def read(self, data: Data) -> Query:
        params = user_params(data, but=_NOT_PARAMS)
        names = [field(field(tool, "function"), "name") for tool in params.get("tools") or ()]
        return Query(
            tuple(data["messages"]),
            None,
            params,
            object_tools=forced_tool(params, names, ("required", "function")),
            unchecked=hosted(params, ("", "function", "custom")),
        )

    def asked_again(self, data: Data, query: Query) -> dict[str, Any]:
        return {**query.params, "messages": [dict(m) for m in query.messages]}

    def completions(self, response: Any) -> tuple[Completion, ...]:
        return tuple(
            Completion(
                _text(choice.message),
                choice.finish_reason,
                read_logprobs(field(choice, "logprobs")),
                response,
                _calls(choice.message),
            )
            for choice in response.choices
        )

    def usage(self, response: Any) -> Usage:
        cost = field(field(response, "_hidden_params"), "response_cost")
        return _usage(field(response, "usage"), cost) or Usage(1, cost_usd=None)

    def annotated(self, response: Any, verdict: Data, *, first_only: bool) -> Any:
        copy = response.model_copy()
        if first_only:
            copy.choices = response.choices[:1]
        setattr(copy, VERDICT_KEY, verdict)
        return copy

    def withheld(self, response: Any, message: str, verdict: Data) -> Any:
        # A new response, because words can be anywhere in the old one: in calls, in thoughts, in
        # log-probabilities, in what the provider says beside.
        said = Choices(
            finish_reason="content_filter",
            index=0,
            message=Message(content=message, role="assistant"),
        )
        kept = {k: field(response, k) for k in ("id", "created", "model", "system_fingerprint")}
        copy: Any = ModelResponse(choices=[said], usage=field(response, "usage"), **kept)
        hidden: Mapping[str, Any] = field(response, "_hidden_params") or {}
        copy._hidden_params = {k: v for k, v in hidden.items() if k != "original_response"}  # noqa: SLF001 - what the proxy's headers are made of
        setattr(copy, VERDICT_KEY, verdict)
        return copy

    def wire(self, *, first_only: bool) -> Wire:
        return _ChatWire(first_only)


CHAT: Shape = _Chat()
"""`/v1/chat/completions`."""


class _ChatWire:
    def __init__(self, first_only: bool) -> None:
        self._first_only = first_only

    def feed(self, raw: Any) -> list[Any]:
        choices = _choices(raw)
        if not self._first_only or all(choice.index == 0 for choice in choices):
            return [raw]
        first = [choice for choice in choices if choice.index == 0]
        return [raw.model_copy(update={"choices": first})] if first else []

    def finish(self) -> list[Any]:
        return []

    def chunk(self, piece: Any) -> Chunk:
        spent = _usage(field(piece, "usage"), None)
        choice = _first(piece)
        if choice is None:
            return Chunk(usage=spent, raw=piece)
        return Chunk(
            _text(choice.delta),
            choice.finish_reason,
            read_logprobs(field(choice, "logprobs")),
            spent,
            piece,
            _calls(choice.delta),
        )

    def ends(self, piece: Any) -> bool:
        choice = _first(piece)
        return choice is not None and bool(choice.finish_reason)

    def tells_more(self, piece: Any) -> bool:
        choice = _first(piece)
        if choice is None:
            # Of another choice, which is not checked.
            return bool(_choices(piece))
        said = choice.delta.model_dump(exclude_none=True)
        return any(value for name, value in said.items() if name not in _PLAIN)

    def cut(self, piece: Any, text: str) -> Any:
        copy = piece.model_copy(deep=True)
        choice = _first(copy)
        choice.delta.content = text
        choice.logprobs = None
        return copy

    def concluded(self, seen: Sequence[Any], held: Sequence[Any], verdict: Data) -> list[Any]:
        if not held:
            return [_made(seen, Delta(content=None), None, verdict)]
        # A copy, because litellm puts together what it logs from the pieces.
        last = held[0].model_copy(deep=True)
        _mark(_first(last).delta, verdict)
        return [last, *held[1:]]

    def notice(self, seen: Sequence[Any], sent: Sequence[Any], text: str) -> list[Any]:
        return [_made(seen, Delta(content=text, role=None if sent else "assistant"), None, None)]

    def stopping(self, seen: Sequence[Any], sent: Sequence[Any], verdict: Data) -> list[Any]:
        counted = [piece for piece in seen if field(piece, "usage") and _is_silent(piece)]
        return [_made(seen, Delta(content=None), "content_filter", verdict), *counted]


def _choices(piece: Any) -> Sequence[Any]:
    return field(piece, "choices") or ()


def _first(piece: Any) -> Any:
    return next((choice for choice in _choices(piece) if choice.index == 0), None)


def _is_silent(piece: Any) -> bool:
    said = [choice.delta.model_dump(exclude_none=True) for choice in _choices(piece)]
    return not any(value for delta in said for name, value in delta.items() if name != "role")


def _made(seen: Sequence[Any], delta: Delta, reason: str | None, verdict: Data | None) -> Any:
    """Return a piece like those of the stream."""
    if verdict is not None:
        _mark(delta, verdict)
    like: Any = next(iter(seen), None)
    kept = {k: field(like, k) for k in ("id", "created", "model", "system_fingerprint")}
    choice = StreamingChoices(index=0, delta=delta, finish_reason=reason)
    return ModelResponseStream(choices=[choice], **kept)


def _mark(delta: Any, verdict: Data) -> None:
    # The one place that LiteLLM's own serialisation of a stream lets through.
    known: dict[str, Any] = field(delta, "provider_specific_fields") or {}
    delta.provider_specific_fields = {**known, VERDICT_KEY: verdict}


def _text(said: Any) -> str:
    content = field(said, "content")
    return content if isinstance(content, str) else ""


def _calls(said: Any) -> tuple[ToolCall, ...]:
    found: list[ToolCall] = []
    for place, call in enumerate(field(said, "tool_calls") or ()):
        function, index = field(call, "function"), field(call, "index")
        name, arguments = field(function, "name") or "", field(function, "arguments") or ""
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments)
        found.append(ToolCall(name, arguments, place if index is None else index))
    return tuple(found)


def _usage(usage: Any, cost: Any) -> Usage | None:
    if usage is None:
        return None
    return Usage(
        1,
        field(usage, "prompt_tokens") or 0,
        field(usage, "completion_tokens") or 0,
        cost if isinstance(cost, (int, float)) else None,
    )
