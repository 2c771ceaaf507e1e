"""Anthropic's messages, as LiteLLM serves them: mappings, and the bytes of events."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from resay.adapting import VERDICT_KEY
from resay.providers.base import Chunk, Completion, ToolCall
from resay.query import Query
from resay.verdict import Usage
from resay_litellm._outcome import field
from resay_litellm._params import forced_tool, hosted, user_params
from resay_litellm._shape import Data, Shape, Wire

__all__ = ["MESSAGES"]

_NOT_PARAMS = ("litellm_metadata", "messages", "model", "stream")
# Tools that Anthropic describes and the application runs.
_LOCAL = ("bash_", "computer_", "memory_", "text_editor_")
_STARTS = (b"event:", b"data:", b":")


class _Messages:
    method = "aanthropic_messages"
    function = "anthropic_messages"
    takes_n = False

    def fits(self, data: Data, response: object) -> bool:
        if not data.get("messages"):
            return False
        if isinstance(response, (bytes, str)):
            raw = response.encode() if isinstance(response, str) else response
            return "max_tokens" in data and raw.lstrip().startswith(_STARTS)
        if not isinstance(response, Mapping):
            return False
        return cast("Data", response).get("type") == "message"

    def read(self, data: Data) -> Query:
        params = user_params(data, but=_NOT_PARAMS)
        system = params.get("system")
        before = ({"role": "system", "content": system},) if system else ()
        names = [field(tool, "name") for tool in params.get("tools") or ()]
        return Query(
            (*before, *data["messages"]),
            None,
            params,
            structured=bool(_format(params)),
            object_tools=forced_tool(params, names, ("any", "tool")),
            unchecked=hosted(params, ("", "custom"), local=_LOCAL),
        )

    def asked_again(self, data: Data, query: Query) -> dict[str, Any]:
        return {**query.params, "messages": data["messages"]}

    def completions(self, response: Any) -> tuple[Completion, ...]:
        blocks: list[Any] = list(field(response, "content") or ())
        text = "".join(str(field(b, "text") or "") for b in blocks if field(b, "type") == "text")
        calls = [
            ToolCall(str(field(block, "name")), json.dumps(field(block, "input")), place)
            for place, block in enumerate(blocks)
            if field(block, "type") == "tool_use"
        ]
        reason = field(response, "stop_reason")
        return (Completion(text, reason, raw=response, calls=tuple(calls)),)

    def usage(self, response: Any) -> Usage:
        cost = field(field(response, "_hidden_params"), "response_cost")
        return _usage(field(response, "usage"), cost)

    def annotated(self, response: Any, verdict: Data, *, first_only: bool) -> Any:
        return {**response, VERDICT_KEY: verdict}

    def withheld(self, response: Any, message: str, verdict: Data) -> Any:
        # Thoughts, calls and citations go too.
        kept = ("id", "type", "role", "model", "usage", "_hidden_params")
        return {
            **{k: response[k] for k in kept if k in response},
            "content": [{"type": "text", "text": message}],
            "stop_reason": "refusal",
            "stop_sequence": None,
            VERDICT_KEY: verdict,
        }

    def wire(self, *, first_only: bool) -> Wire:
        return _MessagesWire()


MESSAGES: Shape = _Messages()
"""`/v1/messages`."""


def _format(params: Data) -> object:
    return params.get("output_format") or field(params.get("output_config"), "format")


class _MessagesWire:
    """Its pieces are whole events, as bytes."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, raw: Any) -> list[Any]:
        data = raw.encode() if isinstance(raw, str) else raw
        # A chunk may hold several events, or a part of one.
        *whole, self._rest = (self._rest + data).replace(b"\r\n", b"\n").split(b"\n\n")
        return [event + b"\n\n" for event in whole if event.strip()]

    def finish(self) -> list[Any]:
        rest, self._rest = self._rest, b""
        return [rest + b"\n\n"] if rest.strip() else []

    def chunk(self, piece: Any) -> Chunk:
        event = _event(piece)
        kind, delta = event.get("type"), event.get("delta")
        if kind == "content_block_delta":
            if field(delta, "type") == "text_delta":
                return Chunk(str(field(delta, "text") or ""), raw=piece)
            return Chunk(raw=piece, calls=_argument(event, delta))
        if kind == "content_block_start":
            block = event.get("content_block")
            if field(block, "type") == "text":
                return Chunk(str(field(block, "text") or ""), raw=piece)
            return Chunk(raw=piece, calls=_call(event, block))
        if kind == "message_delta":
            usage = _usage(event.get("usage"), None)
            return Chunk(finish_reason=field(delta, "stop_reason"), usage=usage, raw=piece)
        return Chunk(raw=piece)

    def ends(self, piece: Any) -> bool:
        return _event(piece).get("type") in ("message_delta", "message_stop")

    def tells_more(self, piece: Any) -> bool:
        event = _event(piece)
        if event.get("type") == "content_block_delta":
            return field(event.get("delta"), "type") != "text_delta"
        block = event.get("content_block")
        return block is not None and field(block, "type") != "text"

    def cut(self, piece: Any, text: str) -> Any:
        event = dict(_event(piece))
        if event.get("type") == "content_block_start":
            return _frame({**event, "content_block": {**event["content_block"], "text": text}})
        return _frame({**event, "delta": {**event["delta"], "text": text}})

    def concluded(self, seen: Sequence[Any], held: Sequence[Any], verdict: Data) -> list[Any]:
        # A stream without an end is left as it is: what comes after it is for its reader to judge.
        return [_marked(piece, verdict) for piece in held]

    def notice(self, seen: Sequence[Any], sent: Sequence[Any], text: str) -> list[Any]:
        index, kind = _open_block(sent)
        said = {"type": "text_delta", "text": text}
        if kind == "text":
            return [_frame({"type": "content_block_delta", "index": index, "delta": said})]
        pieces = [] if sent else [piece for piece in seen if _is(piece, "message_start")]
        if kind is not None:
            pieces.append(_frame({"type": "content_block_stop", "index": index}))
        index = _next_index(sent)
        empty = {"type": "text", "text": ""}
        start = {"type": "content_block_start", "index": index, "content_block": empty}
        delta = {"type": "content_block_delta", "index": index, "delta": said}
        return [*pieces, _frame(start), _frame(delta)]

    def stopping(self, seen: Sequence[Any], sent: Sequence[Any], verdict: Data) -> list[Any]:
        index, kind = _open_block(sent)
        closed = [] if kind is None else [_frame({"type": "content_block_stop", "index": index})]
        counts = [_event(piece).get("usage") for piece in seen if _is(piece, "message_delta")]
        delta = {
            "type": "message_delta",
            "delta": {"stop_reason": "refusal", "stop_sequence": None},
            "usage": counts[-1] if counts else {"output_tokens": 0},
            VERDICT_KEY: verdict,
        }
        return [*closed, _frame(delta), _frame({"type": "message_stop"})]


def _event(piece: bytes) -> Data:
    lines = [line for line in piece.split(b"\n") if line.startswith(b"data:")]
    try:
        event: object = json.loads(b"\n".join(line.removeprefix(b"data:") for line in lines))
    except ValueError:
        return {}
    return cast("Data", event) if isinstance(event, dict) else {}


def _is(piece: bytes, kind: str) -> bool:
    return _event(piece).get("type") == kind


def _frame(event: Mapping[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _marked(piece: bytes, verdict: Data) -> bytes:
    event = _event(piece)
    if event.get("type") != "message_delta":
        return piece
    return _frame({**event, VERDICT_KEY: verdict})


def _open_block(sent: Sequence[bytes]) -> tuple[int, str | None]:
    """Return the content block that the reader has the beginning of only, with its type."""
    index, kind = 0, None
    for event in map(_event, sent):
        if event.get("type") == "content_block_start":
            index, kind = event.get("index", 0), field(event.get("content_block"), "type")
        elif event.get("type") == "content_block_stop":
            kind = None
    return index, kind


def _next_index(sent: Sequence[bytes]) -> int:
    begun = [event for event in map(_event, sent) if event.get("type") == "content_block_start"]
    return max((event.get("index", 0) for event in begun), default=-1) + 1


def _call(event: Data, block: object) -> tuple[ToolCall, ...]:
    if field(block, "type") != "tool_use":
        return ()
    return (ToolCall(str(field(block, "name")), index=event.get("index", 0)),)


def _argument(event: Data, delta: object) -> tuple[ToolCall, ...]:
    if field(delta, "type") != "input_json_delta":
        return ()
    return (ToolCall("", str(field(delta, "partial_json") or ""), event.get("index", 0)),)


def _usage(usage: Any, cost: Any) -> Usage:
    return Usage(
        1,
        field(usage, "input_tokens") or 0,
        field(usage, "output_tokens") or 0,
        cost if isinstance(cost, (int, float)) else None,
    )
