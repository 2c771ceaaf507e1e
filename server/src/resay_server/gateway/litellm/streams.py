"""litellm's streams in the format of the APIs' own servers."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, cast

from resay.adapters.apis import (
    CHAT_COMPLETIONS,
    MESSAGES,
    RESPONSES,
    Body,
    Event,
    EventReader,
    StreamEnd,
    as_json,
    mapping,
    mappings,
    number,
    text,
)
from resay.adapters.choices import UnfinishedChoices
from resay_server.gateway.errors import RefusedError
from resay_server.gateway.litellm.answers import (
    CALL_FIELDS,
    chat_usage,
    content_block,
    message_body,
    output_item,
    output_part,
    pick,
    plain,
    response_body,
)

_DONE = "[DONE]"
_DELTA = ("role", "content", "refusal", "function_call", "reasoning_content", "audio")
_OPENS = ("response.created", "response.in_progress", "response.queued")
_TEXTS = ("response.output_text.delta", "response.output_text.done")
_FAILED = 502, "upstream_failed"
_ERRORS: Mapping[str, tuple[int, str]] = {
    "overloaded_error": (529, "upstream_overloaded"),
    "rate_limit_error": (429, "rate_limit_exceeded"),
    "timeout_error": (504, "upstream_timeout"),
}


async def events_of(
    path: str, pieces: AsyncIterator[Any], request: Body, name: str
) -> AsyncGenerator[Event]:
    """Yield the events of a stream.

    Args:
        path: The API's path.
        pieces: litellm's stream.
        request: The client's request.
        name: The model's name for clients.

    Raises:
        RefusedError: The provider ended it with an error, or it ended early.
    """
    if path == "/responses":
        events, api = _responses(pieces, request, name), RESPONSES
    elif path == "/messages":
        events, api = _messages(pieces, name), MESSAGES
    else:
        events, api = _completions(pieces, request, name), CHAT_COMPLETIONS
    end = StreamEnd(api)
    async for event in events:
        end.note(event)
        yield event
    # litellm 1.101 only logs the error where it makes messages from another API's stream.
    if not end.is_complete:
        raise _ended_early(name)


def _ended_early(name: str, error: tuple[int, str] = _FAILED) -> RefusedError:
    status, code = error
    return RefusedError(status, code, f"the stream from model {name!r} ended early")


async def _completions(
    pieces: AsyncIterator[Any], request: Body, name: str
) -> AsyncGenerator[Event]:
    reports_usage = mapping(request.get("stream_options")).get("include_usage") is True
    # Where usage is reported at the end, the events before have an empty field for it.
    no_usage = {"usage": None} if reports_usage else {}
    all_choices, usage, frame = UnfinishedChoices(), dict[str, Any](), dict[str, Any]()
    async for piece in pieces:
        data = plain(piece)
        frame = frame or _frame(data, name)
        # Usage may come with text, or more than once.
        if number(mapping(data.get("usage")).get("total_tokens")):
            usage = chat_usage(mapping(data["usage"]))
        choices = [choice for choice in map(_choice, mappings(data.get("choices"))) if choice]
        all_choices.note(choices)
        if choices:
            yield Event({**frame, "choices": choices, **no_usage})
    for index, first in all_choices.unfinished():
        content: dict[str, Any] = {"delta": {}} if "delta" in first else {"text": ""}
        choice = {"index": index, **content, "logprobs": None, "finish_reason": "stop"}
        yield Event({**frame, "choices": [choice], **no_usage})
    if reports_usage and frame:
        yield Event({**frame, "choices": [], "usage": usage or chat_usage({})})
    yield Event(_DONE)


def _frame(data: Body, name: str) -> dict[str, Any]:
    return {
        "id": data.get("id"),
        "object": data.get("object"),
        "created": data.get("created"),
        "model": name,
        **pick(data, "system_fingerprint", "service_tier"),
    }


def _choice(choice: Body) -> dict[str, Any]:
    """Return a piece of an answer; empty if it adds nothing."""
    if "delta" in choice:
        delta = mapping(choice["delta"])
        fields = pick(delta, *_DELTA)
        if calls := mappings(delta.get("tool_calls")):
            fields["tool_calls"] = [pick(call, *CALL_FIELDS) for call in calls]
        content: dict[str, Any] = {"delta": fields}
    else:
        fields = text(choice.get("text"))
        content = {"text": fields}
    if not fields and not choice.get("finish_reason"):
        return {}
    return {
        "index": number(choice.get("index")),
        **content,
        "logprobs": choice.get("logprobs"),
        "finish_reason": choice.get("finish_reason"),
    }


async def _responses(pieces: AsyncIterator[Any], request: Body, name: str) -> AsyncGenerator[Event]:
    response_id = f"resp_{uuid.uuid4().hex}"
    position = 0
    async for piece in pieces:
        data = {k: v for k, v in plain(piece).items() if v is not None}
        kind = text(data.get("type"))
        if kind == "error":
            raise _ended_early(name)
        if isinstance(data.get("response"), Mapping):
            data["response"] = _response(kind, data["response"], request, name, response_id)
        # litellm opens complete items with their whole content.
        _trim(kind, data)
        yield Event({**data, "sequence_number": position}, kind)
        position += 1


def _response(kind: str, data: Body, request: Body, name: str, response_id: str) -> dict[str, Any]:
    body = response_body(data, request, name, response_id)
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
            events = [Event(cast("Body", piece))]
        else:
            events = reader.feed(piece.encode() if isinstance(piece, str) else bytes(piece))
        for event in events:
            yield _message_event(event, name)
    for event in reader.finish():
        yield _message_event(event, name)


def _message_event(event: Event, name: str) -> Event:
    data = {k: v for k, v in event.body.items() if k != "provider_specific_fields"}
    kind = text(data.get("type")) or event.name or ""
    if kind == "error":
        error_type = text(mapping(data.get("error")).get("type"))
        raise _ended_early(name, _ERRORS.get(error_type, _FAILED))
    if isinstance(data.get("message"), Mapping):
        data["message"] = message_body(data["message"], name)
    for part in ("content_block", "delta"):
        if isinstance(data.get(part), Mapping):
            data[part] = content_block(data[part])
    return Event(data, kind)


def events_of_message(message: Body) -> list[Event]:
    """Split a complete message into the events of a stream."""
    usage = mapping(message.get("usage"))
    start = {
        **message,
        "content": list[Any](),
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": 0},
    }
    bodies: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    for index, block in enumerate(mappings(message.get("content"))):
        bodies += ({"type": body["type"], "index": index, **body} for body in _block_events(block))
    delta = {
        "stop_reason": None,
        "stop_sequence": None,
        **pick(message, "stop_reason", "stop_sequence", "stop_details", "container"),
    }
    bodies.append({"type": "message_delta", "delta": delta, "usage": dict(usage)})
    bodies.append({"type": "message_stop"})
    return [Event(body, body["type"]) for body in bodies]


def _block_events(block: Body) -> list[dict[str, Any]]:
    empty, deltas = dict(block), list[dict[str, Any]]()
    if block.get("type") == "text":
        empty["text"] = ""
        deltas.append({"type": "text_delta", "text": text(block.get("text"))})
        if empty.pop("citations", None):
            for citation in mappings(block["citations"]):
                deltas.append({"type": "citations_delta", "citation": citation})
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
