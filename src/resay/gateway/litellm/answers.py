"""Converts litellm's answers and streams to the format of the APIs' own servers."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Any, cast

from resay.adapters.choices import UnfinishedChoices
from resay.gateway.calls import Call, Headers
from resay.gateway.errors import RefusedError
from resay.gateway.upstream import UpstreamError, UpstreamResponse
from resay.providers.apis import (
    CHAT_COMPLETIONS,
    MESSAGES,
    RESPONSES,
    Body,
    Event,
    EventReader,
    StreamEnd,
)
from resay.providers.apis.values import as_json, mapping, mappings, number, text


class LiteLLMResponse(UpstreamResponse):
    """A response that litellm has returned or is streaming.

    Args:
        status_code: The status.
        headers: The headers, names in lower case.
        pieces: The bytes of the body.
        limit: The maximum length in bytes, if it is enforced.
        body: The JSON object in it, if it is complete.
        on_close: Closes the stream.
    """

    _source_label = "the model's"

    def __init__(
        self,
        status_code: int,
        headers: Headers,
        pieces: AsyncGenerator[bytes],
        limit: int,
        *,
        body: Body | None = None,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(status_code, headers, limit)
        self._pieces = pieces
        self._body = body
        self._on_close = on_close

    def close(self) -> None:
        """Close the response without reading the rest."""
        if self._on_close is not None:
            self._on_close()

    def _bytes(self) -> AsyncGenerator[bytes]:
        return self._pieces

    def json(self) -> Body:
        """Return the JSON object in a response that was read.

        Raises:
            UpstreamError: It contains none, or is not a success.
        """
        if not self.is_success or self._body is None:
            raise UpstreamError(self)
        return self._body


def headers_of(call: Call, kind: str) -> Headers:
    """Return the headers of a response with a content type."""
    name = b"request-id" if call.dialect == "anthropic" else b"x-request-id"
    return [(b"content-type", kind.encode()), (name, call.request_id.encode())]


async def once(content: bytes) -> AsyncGenerator[bytes]:
    """Yield the content in one piece."""
    yield content


_HIDDEN = "_hidden_params"
_DETAILS = ("audio_tokens", "cached_tokens", "reasoning_tokens")
_PREDICTED = ("accepted_prediction_tokens", "rejected_prediction_tokens")
_CHAT_USAGE: Mapping[str, tuple[str, ...]] = {
    "prompt_tokens_details": _DETAILS,
    "completion_tokens_details": (*_DETAILS, *_PREDICTED),
}
_MESSAGE = ("tool_calls", "function_call", "annotations", "audio", "reasoning_content")
_CALL = ("index", "id", "type", "function", "custom")
# Fields of a response that only OpenAI returns.
_RESPONSE: Mapping[str, Any] = {
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": None,
    "temperature": None,
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
    "truncation": "disabled",
    "usage": None,
    "user": None,
}
_RESPONSE_TOO = (
    "background",
    "completed_at",
    "max_tool_calls",
    "output",
    "prompt_cache_key",
    "safety_identifier",
    "service_tier",
    "status",
    "store",
    "top_logprobs",
)
# A response repeats these fields of its request.
_SAID_AGAIN = ("instructions", "metadata", "tool_choice", "tools")
_PLAIN_TEXT = {"format": {"type": "text"}}
_MESSAGE_FIELDS = (
    "id",
    "type",
    "role",
    "model",
    "content",
    "container",
    "context_management",
    "stop_reason",
    "stop_sequence",
    "stop_details",
    "usage",
)


class Priced(dict[str, Any]):
    """An answer with its cost.

    Attributes:
        cost_usd: The cost in US dollars; None if unknown.
    """

    cost_usd: float | None = None


def plain(value: Any) -> dict[str, Any]:
    """Convert one of litellm's objects to JSON-ready values."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    return value.model_dump(mode="json", warnings=False)


def cost_of(answer: Any) -> float | None:
    """Return the cost of an answer according to litellm, in US dollars."""
    hidden: Any = getattr(answer, _HIDDEN, None)
    cost: object = hidden.get("response_cost") if hasattr(hidden, "get") else None
    return cost if isinstance(cost, (int, float)) else None


def pick(value: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the given fields that have a value."""
    return {name: value[name] for name in names if value.get(name) is not None}


def answered_body(data: Body, name: str) -> dict[str, Any]:
    """Return a complete answer of chat completions, or of completions.

    Args:
        data: litellm's answer.
        name: The model's name for clients.
    """
    kind = text(data.get("object")) or "chat.completion"
    chosen = _text_choice if kind == "text_completion" else _chat_choice
    known = {
        "id": data.get("id"),
        "object": kind,
        "created": data.get("created"),
        "model": name,
        "choices": [chosen(choice) for choice in mappings(data.get("choices"))],
    }
    extra = pick(data, "system_fingerprint", "service_tier")
    return {**known, "usage": chat_usage(mapping(data.get("usage"))), **extra}


def chat_usage(usage: Body) -> dict[str, Any]:
    """Return an answer's usage in OpenAI's format."""
    counts = {k: number(usage.get(k)) for k in ("prompt_tokens", "completion_tokens")}
    total = number(usage.get("total_tokens")) or sum(counts.values())
    details = {k: pick(mapping(usage.get(k)), *names) for k, names in _CHAT_USAGE.items()}
    return {**counts, "total_tokens": total, **{k: v for k, v in details.items() if v}}


def _chat_choice(choice: Body) -> dict[str, Any]:
    message = mapping(choice.get("message"))
    hidden = mapping(message.get("provider_specific_fields"))
    said = {
        "role": "assistant",
        "content": message.get("content"),
        "refusal": message.get("refusal") or hidden.get("refusal"),
    }
    more = pick(message, *_MESSAGE)
    if "tool_calls" in more:
        more["tool_calls"] = [pick(call, *_CALL[1:]) for call in mappings(more["tool_calls"])]
    return {
        "index": number(choice.get("index")),
        "message": said | more,
        "logprobs": choice.get("logprobs"),
        "finish_reason": choice.get("finish_reason"),
    }


def _text_choice(choice: Body) -> dict[str, Any]:
    return {
        "text": text(choice.get("text")),
        "index": number(choice.get("index")),
        "logprobs": choice.get("logprobs"),
        "finish_reason": choice.get("finish_reason"),
    }


def response_body(data: Body, request: Body, name: str, number_: str) -> dict[str, Any]:
    """Return an object of the Responses API.

    Args:
        data: litellm's response.
        request: The client's request.
        name: The model's name for clients.
        number_: The id of the response, because litellm's own ids reveal the provider.
    """
    known = {
        "id": number_,
        "object": "response",
        "created_at": int(data.get("created_at") or 0),
        "model": name,
    }
    again = {k: request[k] for k in _SAID_AGAIN if request.get(k) is not None}
    openai_only = {k: data[k] for k in _RESPONSE_TOO if k in data}
    given = {k: data[k] for k in _RESPONSE if data.get(k) is not None}
    format_ = data.get("text") or _PLAIN_TEXT
    body = {**_RESPONSE, **openai_only, **given, **again, **known, "text": format_}
    body["output"] = [output_item(item) for item in mappings(data.get("output"))]
    if body["error"]:
        # The error is in the provider's words.
        body["error"] = {"code": "server_error", "message": "the model failed"}
    if body["usage"]:
        body["usage"] = _response_usage(mapping(body["usage"]))
    return body


def output_item(item: Body) -> dict[str, Any]:
    """Return an item of a response without litellm's additions."""
    kept = {k: v for k, v in item.items() if v is not None and k != "provider_specific_fields"}
    if isinstance(kept.get("content"), list):
        kept["content"] = [output_part(part) for part in mappings(kept["content"])]
    return kept


def output_part(part: Body) -> dict[str, Any]:
    """Return a part of an item, with the fields that SDKs rely on."""
    kept = {k: v for k, v in part.items() if v is not None and k != "provider_specific_fields"}
    if kept.get("type") == "output_text":
        return {"annotations": [], "logprobs": [], **kept}
    return kept


def _response_usage(usage: Body) -> dict[str, Any]:
    read, said = number(usage.get("input_tokens")), number(usage.get("output_tokens"))
    cached = mapping(usage.get("input_tokens_details")).get("cached_tokens")
    thought = mapping(usage.get("output_tokens_details")).get("reasoning_tokens")
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": number(cached)},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": number(thought)},
        "total_tokens": number(usage.get("total_tokens")) or read + said,
    }


def message_body(data: Body, name: str) -> dict[str, Any]:
    """Return a message of Anthropic's API.

    Args:
        data: litellm's message.
        name: The model's name for clients.
    """
    known = {k: data[k] for k in _MESSAGE_FIELDS if k in data}
    number_ = text(data.get("id"))
    if not number_.startswith("msg_"):
        number_ = f"msg_{uuid.uuid4().hex}"
    blocks = [content_block(block) for block in mappings(data.get("content"))]
    own = {"id": number_, "type": "message", "role": "assistant", "model": name}
    return {"stop_reason": None, "stop_sequence": None, **known, **own, "content": blocks}


def content_block(block: Body) -> dict[str, Any]:
    """Return a block of a message without litellm's additions."""
    return {k: v for k, v in block.items() if k != "provider_specific_fields"}


_DONE = "[DONE]"
_DELTA = ("role", "content", "refusal", "function_call", "reasoning_content", "audio")
_OPENS = ("response.created", "response.in_progress", "response.queued")
_TEXTS = ("response.output_text.delta", "response.output_text.done")
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
        RefusedError: The provider ended it with an error, or it broke off.
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
        raise RefusedError(502, "upstream_failed", f"the model {name!r} broke off")


async def _completions(
    pieces: AsyncIterator[Any], request: Body, name: str
) -> AsyncGenerator[Event]:
    counts = mapping(request.get("stream_options")).get("include_usage") is True
    unended, usage, frame = UnfinishedChoices(), dict[str, Any](), dict[str, Any]()
    async for piece in pieces:
        data = plain(piece)
        frame = frame or _frame(data, name)
        # Usage may come with text, or more than once.
        if number(mapping(data.get("usage")).get("total_tokens")):
            usage = chat_usage(mapping(data["usage"]))
        choices = [choice for choice in map(_choice, mappings(data.get("choices"))) if choice]
        unended.note(choices)
        if choices:
            yield Event({**frame, "choices": choices, **({"usage": None} if counts else {})})
    for place, begun in unended.unfinished():
        said: dict[str, Any] = {"delta": {}} if "delta" in begun else {"text": ""}
        choice = {"index": place, **said, "logprobs": None, "finish_reason": "stop"}
        yield Event({**frame, "choices": [choice], **({"usage": None} if counts else {})})
    if counts and frame:
        yield Event({**frame, "choices": [], "usage": usage or chat_usage({})})
    yield Event(_DONE)


def _frame(data: Body, name: str) -> dict[str, Any]:
    known = {"id": data.get("id"), "object": data.get("object"), "created": data.get("created")}
    return {**known, "model": name, **pick(data, "system_fingerprint", "service_tier")}


def _choice(choice: Body) -> dict[str, Any]:
    """Return a piece of an answer; empty if it adds nothing."""
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


async def _responses(pieces: AsyncIterator[Any], request: Body, name: str) -> AsyncGenerator[Event]:
    number_ = f"resp_{uuid.uuid4().hex}"
    place = 0
    async for piece in pieces:
        data = {k: v for k, v in plain(piece).items() if v is not None}
        kind = text(data.get("type"))
        if kind == "error":
            raise RefusedError(502, "upstream_failed", f"the model {name!r} broke off")
        if isinstance(data.get("response"), Mapping):
            data["response"] = _response(kind, data["response"], request, name, number_)
        # litellm opens complete items with their whole content.
        _trim(kind, data)
        yield Event({**data, "sequence_number": place}, kind)
        place += 1


def _response(kind: str, data: Body, request: Body, name: str, number_: str) -> dict[str, Any]:
    body = response_body(data, request, name, number_)
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
    """Split a complete message into the events of a stream."""
    usage = mapping(message.get("usage"))
    empty: dict[str, Any] = {"content": [], "stop_reason": None, "stop_sequence": None}
    opened = {**message, **empty, "usage": {**usage, "output_tokens": 0}}
    events = [Event({"type": "message_start", "message": opened}, "message_start")]
    for place, block in enumerate(mappings(message.get("content"))):
        parts = _block_events(block)
        events += [Event({"type": p["type"], "index": place, **p}, p["type"]) for p in parts]
    ended = pick(message, "stop_reason", "stop_sequence", "stop_details", "container")
    delta = {"stop_reason": None, "stop_sequence": None, **ended}
    body: dict[str, Any] = {"type": "message_delta", "delta": delta, "usage": dict(usage)}
    return [*events, Event(body, "message_delta"), Event({"type": "message_stop"}, "message_stop")]


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
