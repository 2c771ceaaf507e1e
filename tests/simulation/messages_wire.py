"""The shapes of Anthropic's Messages API, as its SDKs read them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simulation.body import MODEL
from simulation.events import Event

if TYPE_CHECKING:
    from simulation.wire import Choice, Completion, ToolCall

__all__ = ["MessagesAnswer", "error_body", "models_body"]

Piece = dict[str, Any]
_REASONS: Mapping[str, str] = {"length": "max_tokens", "tool_calls": "tool_use"}
_NOTHING_CACHED: Mapping[str, int] = {
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}
_ERRORS: Mapping[int, str] = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


@dataclass(frozen=True, slots=True)
class MessagesAnswer:
    """The answer to a request to the Messages API.

    Attributes:
        completion: What is answered, with one choice.
    """

    completion: Completion

    @property
    def reports_usage(self) -> bool:
        """Whether it says what it cost; it always does."""
        return True

    def body(self) -> Piece:
        """Return the whole answer."""
        used = self.completion.usage["completion_tokens"]
        return {**self._message(self._content(), used), **self._end}

    def events(self) -> Iterator[Event]:
        """Return the answer as a stream."""
        for event in self._pieces():
            yield Event.named(event, paced=event["type"] == "content_block_delta")

    def _pieces(self) -> Iterator[Piece]:
        # The first event tells the output so far, which is the token that is being written.
        yield {"type": "message_start", "message": self._message([], 1)}
        for index, (begin, deltas) in enumerate(self._streamed()):
            yield {"type": "content_block_start", "index": index, "content_block": begin}
            if index == 0:
                yield {"type": "ping"}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        used = self.completion.usage
        counts = {"input_tokens": used["prompt_tokens"], **_NOTHING_CACHED}
        usage = {**counts, "output_tokens": used["completion_tokens"]}
        yield {"type": "message_delta", "delta": self._end, "usage": usage}
        yield {"type": "message_stop"}

    def _streamed(self) -> Iterator[tuple[Piece, Iterator[Piece]]]:
        """Return how each block begins, and what is added to it."""
        if self._choice.tokens:
            texts = ({"type": "text_delta", "text": token.text} for token in self._choice.tokens)
            yield {"type": "text", "text": ""}, texts
        for call in self._choice.tool_calls:
            yield _used(call, {}), _fragments(call)

    def _content(self) -> list[Piece]:
        text = self._choice.text
        said: list[Piece] = [{"type": "text", "text": text}] if text else []
        return said + [_used(call, _input(call)) for call in self._choice.tool_calls]

    @property
    def _choice(self) -> Choice:
        return self.completion.choices[0]

    @property
    def _end(self) -> Piece:
        stop = self._choice.stop
        natural = "end_turn" if stop is None else "stop_sequence"
        reason = _REASONS.get(self._choice.finish_reason, natural)
        return {"stop_reason": reason, "stop_sequence": stop, "stop_details": None}

    def _message(self, content: list[Piece], output_tokens: int) -> Piece:
        return {
            "id": f"msg_{self.completion.number}",
            "type": "message",
            "role": "assistant",
            "model": self.completion.request.model,
            "content": content,
            "container": None,
            "stop_reason": None,
            "stop_sequence": None,
            "stop_details": None,
            "usage": {
                "input_tokens": self.completion.usage["prompt_tokens"],
                **_NOTHING_CACHED,
                "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
                "output_tokens": output_tokens,
                "server_tool_use": None,
                "service_tier": "standard",
            },
        }


def _used(call: ToolCall, arguments: Piece) -> Piece:
    call_id = f"toolu_{call.id.removeprefix('call_')}"
    return {"type": "tool_use", "id": call_id, "name": call.name, "input": arguments}


def _fragments(call: ToolCall) -> Iterator[Piece]:
    yield {"type": "input_json_delta", "partial_json": ""}
    yield from ({"type": "input_json_delta", "partial_json": t.text} for t in call.tokens)


def _input(call: ToolCall) -> Piece:
    try:
        return json.loads(call.arguments)
    except ValueError:
        # Cut at the most tokens: an object that is not whole cannot be given.
        return {}


def error_body(status: int, message: str, request_id: str) -> Piece:
    """Return an error as Anthropic's API words it."""
    usual = "api_error" if status >= 500 else "invalid_request_error"
    error = {"type": _ERRORS.get(status, usual), "message": message}
    return {"type": "error", "error": error, "request_id": request_id}


def models_body() -> Piece:
    """Return the list of models."""
    model = {
        "id": MODEL,
        "type": "model",
        "display_name": "Simulated",
        "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active",
    }
    return {"data": [model], "has_more": False, "first_id": MODEL, "last_id": MODEL}
