"""What litellm streams, as the events that the APIs' own servers would send."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, cast

from resay.gateway.litellm.answers import (
    chat_usage,
    content_block,
    message_body,
    output_item,
    output_part,
    pick,
    plain,
    response_body,
)
from resay.gateway.refusing import RefusedError
from resay.providers.apis import Body, Event, EventReader
from resay.providers.apis.reading import as_json, mapping, mappings, number, text

__all__ = ["events_of", "events_of_message"]

_DONE = "[DONE]"
_DELTA = ("role", "content", "refusal", "function_call", "reasoning_content", "audio")
_CALL = ("index", "id", "type", "function", "custom")
_OPENS = ("response.created", "response.in_progress", "response.queued")
_TEXTS = ("response.output_text.delta", "response.output_text.done")
_ERRORS: Mapping[str, tuple[int, str]] = {
    "overloaded_error": (529, "upstream_overloaded"),
    "rate_limit_error": (429, "rate_limit_exceeded"),
    "timeout_error": (504, "upstream_timeout"),
}


async def events_of(
    path: str, pieces: AsyncIterator[Any], asked: Body, name: str
) -> AsyncGenerator[Event]:
    """Return the events of a stream.

    Args:
        path: The API's path.
        pieces: litellm's.
        asked: The client's request.
        name: What the client calls the model.

    Raises:
        RefusedError: The provider ended it with an error.
    """
    if path == "/responses":
        events = _responses(pieces, asked, name)
    elif path == "/messages":
        events = _messages(pieces, name)
    else:
        events = _completions(pieces, asked, name)
    async for event in events:
        yield event


async def _completions(pieces: AsyncIterator[Any], asked: Body, name: str) -> AsyncGenerator[Event]:
    counts = mapping(asked.get("stream_options")).get("include_usage") is True
    ends, usage, frame = _Ends(), dict[str, Any](), dict[str, Any]()
    async for piece in pieces:
        data = plain(piece)
        frame = frame or _frame(data, name)
        # It may come with the words, or more than once.
        if number(mapping(data.get("usage")).get("total_tokens")):
            usage = chat_usage(mapping(data["usage"]))
        choices = [choice for choice in map(_choice, mappings(data.get("choices"))) if choice]
        ends.note(choices)
        if choices:
            yield Event({**frame, "choices": choices, **({"usage": None} if counts else {})})
    for choice in ends.missing():
        yield Event({**frame, "choices": [choice], **({"usage": None} if counts else {})})
    if counts and frame:
        yield Event({**frame, "choices": [], "usage": usage or chat_usage({})})
    yield Event(_DONE)


def _frame(data: Body, name: str) -> dict[str, Any]:
    known = {"id": data.get("id"), "object": data.get("object"), "created": data.get("created")}
    return {**known, "model": name, **pick(data, "system_fingerprint", "service_tier")}


def _choice(choice: Body) -> dict[str, Any]:
    """Return a piece of an answer; nothing where it adds nothing."""
    ends = {"logprobs": choice.get("logprobs"), "finish_reason": choice.get("finish_reason")}
    index = number(choice.get("index"))
    if "delta" not in choice:
        said = text(choice.get("text"))
        known = {"text": said, "index": index, **ends}
        return known if said or ends["finish_reason"] else {}
    delta = mapping(choice["delta"])
    kept = pick(delta, *_DELTA)
    if calls := mappings(delta.get("tool_calls")):
        kept["tool_calls"] = [pick(call, *_CALL) for call in calls]
    return {"index": index, "delta": kept, **ends} if kept or ends["finish_reason"] else {}


class _Ends:
    """Which answers have not ended: of several, litellm says it of one at most."""

    def __init__(self) -> None:
        self._begun: dict[int, Body] = {}
        self._ended: set[int] = set()

    def note(self, choices: list[dict[str, Any]]) -> None:
        for choice in choices:
            self._begun.setdefault(choice["index"], choice)
            if choice["finish_reason"]:
                self._ended.add(choice["index"])

    def missing(self) -> list[dict[str, Any]]:
        open_ = [place for place in sorted(self._begun) if place not in self._ended]
        ended = {"logprobs": None, "finish_reason": "stop"}
        return [
            {"index": place, **({"delta": {}} if "delta" in self._begun[place] else {"text": ""})}
            | ended
            for place in open_
        ]


async def _responses(pieces: AsyncIterator[Any], asked: Body, name: str) -> AsyncGenerator[Event]:
    number_ = f"resp_{uuid.uuid4().hex}"
    place = 0
    async for piece in pieces:
        data = {k: v for k, v in plain(piece).items() if v is not None}
        kind = text(data.get("type"))
        if kind == "error":
            raise RefusedError(502, "upstream_failed", f"the model {name!r} broke off")
        if isinstance(data.get("response"), Mapping):
            data["response"] = _response(kind, data["response"], asked, name, number_)
        # litellm opens what it has whole with all of it.
        _trim(kind, data)
        yield Event({**data, "sequence_number": place}, kind)
        place += 1


def _response(kind: str, data: Body, asked: Body, name: str, number_: str) -> dict[str, Any]:
    body = response_body(data, asked, name, number_)
    if kind in _OPENS:
        return {**body, "output": [], "usage": None, "status": "in_progress"}
    return body


def _trim(kind: str, data: dict[str, Any]) -> None:
    if isinstance(data.get("item"), Mapping):
        data["item"] = output_item(data["item"])
        if kind.endswith(".added") and data["item"].get("type") == "message":
            data["item"] |= {"content": [], "status": "in_progress"}
    if isinstance(data.get("part"), Mapping):
        data["part"] = output_part(data["part"])
        if kind.endswith(".added") and "text" in data["part"]:
            data["part"]["text"] = ""
    if kind in _TEXTS:
        data.setdefault("logprobs", [])


async def _messages(pieces: AsyncIterator[Any], name: str) -> AsyncGenerator[Event]:
    reader = EventReader()
    async for piece in pieces:
        if isinstance(piece, Mapping):
            read = [Event(cast("Body", piece))]
        else:
            read = reader.feed(piece.encode() if isinstance(piece, str) else bytes(piece))
        for event in read:
            yield _message_event(event, name)
    for event in reader.finish():
        yield _message_event(event, name)


def _message_event(event: Event, name: str) -> Event:
    data = {k: v for k, v in event.body.items() if k != "provider_specific_fields"}
    kind = text(data.get("type")) or event.name or ""
    if kind == "error":
        status, code = _ERRORS.get(text(mapping(data.get("error")).get("type")), (502, ""))
        raise RefusedError(status, code or "upstream_failed", f"the model {name!r} broke off")
    if isinstance(data.get("message"), Mapping):
        data["message"] = message_body(data["message"], name)
    for part in ("content_block", "delta"):
        if isinstance(data.get(part), Mapping):
            data[part] = content_block(data[part])
    return Event(data, kind)


def events_of_message(message: Body) -> list[Event]:
    """Return a whole message as the events of a stream."""
    usage = mapping(message.get("usage"))
    empty: dict[str, Any] = {"content": [], "stop_reason": None, "stop_sequence": None}
    opened = {**message, **empty, "usage": {**usage, "output_tokens": 0}}
    events = [Event({"type": "message_start", "message": opened}, "message_start")]
    for place, block in enumerate(mappings(message.get("content"))):
        events += [_placed(data, place) for data in _block_events(block)]
    ended = pick(message, "stop_reason", "stop_sequence", "stop_details", "container")
    delta = {"stop_reason": None, "stop_sequence": None, **ended}
    told: dict[str, Any] = {"type": "message_delta", "delta": delta, "usage": dict(usage)}
    return [*events, Event(told, "message_delta"), Event({"type": "message_stop"}, "message_stop")]


def _placed(data: dict[str, Any], place: int) -> Event:
    return Event({"type": data["type"], "index": place, **data}, data["type"])


def _block_events(block: Body) -> list[dict[str, Any]]:
    empty, deltas = dict(block), list[dict[str, Any]]()
    if block.get("type") == "text":
        empty["text"] = ""
        deltas = [{"type": "text_delta", "text": text(block.get("text"))}]
        if empty.pop("citations", None):
            cited = mappings(block["citations"])
            deltas += [{"type": "citations_delta", "citation": one} for one in cited]
    elif block.get("type") == "thinking":
        empty |= {"thinking": "", "signature": ""}
        deltas = [
            {"type": "thinking_delta", "thinking": text(block.get("thinking"))},
            {"type": "signature_delta", "signature": text(block.get("signature"))},
        ]
    elif block.get("type") == "tool_use":
        empty["input"] = {}
        deltas = [{"type": "input_json_delta", "partial_json": as_json(block.get("input"))}]
    return [
        {"type": "content_block_start", "content_block": empty},
        *({"type": "content_block_delta", "delta": delta} for delta in deltas),
        {"type": "content_block_stop"},
    ]
