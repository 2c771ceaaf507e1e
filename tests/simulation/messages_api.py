"""Anthropic's Messages API: requests as chat completions, and the shapes of the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from resay.testing.chat import MODEL, ChatRequest, InvalidRequestError
from resay.testing.server import Exchange
from simulation.chat import ChatBody, Choice, Completion, ToolCall, sse

__all__ = ["CountedBody", "MessagesAnswer", "MessagesBody", "error_body", "models_body", "speaks"]

_REASONS = {"length": "max_tokens", "tool_calls": "tool_use"}
_CHOICES = {"auto": "auto", "none": "none", "any": "required"}
_NOTHING_CACHED = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
_ERRORS = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def speaks(exchange: Exchange) -> bool:
    """Return whether a request is meant for Anthropic's API."""
    return exchange.path.startswith("/v1/messages") or "anthropic-version" in exchange.headers


class CountedBody(ChatRequest):
    """The body of a request whose tokens are counted."""

    model: str
    system: str | list[dict[str, Any]] | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: dict[str, Any] | None = None
    output_config: dict[str, Any] | None = None
    # What `output_config.format` was called first.
    output_format: dict[str, Any] | None = None
    stop_sequences: list[str] | None = None

    @property
    def chat(self) -> ChatBody:
        """The chat completion request for the same.

        Raises:
            InvalidRequestError: It is not a request that could be answered.
        """
        messages: list[dict[str, Any]] = []
        if self.system is not None:
            messages.append({"role": "system", "content": self.system})
        for message in self.messages:
            messages += _turn(message)
        # Other types are tools that the provider runs itself.
        functions = [
            {**tool, "parameters": tool.get("input_schema")}
            for tool in self.tools or ()
            if tool.get("type") in (None, "custom")
        ]
        choice, form = self.tool_choice or {}, (self.output_config or {}).get("format")
        form = form or self.output_format
        body = self.model_dump(include={"model", "stream", "temperature", "seed"})
        return ChatBody.parse(
            {
                **body,
                "messages": messages,
                "max_completion_tokens": self.max_tokens,
                "stop": self.stop_sequences,
                "tools": [{"type": "function", "function": function} for function in functions],
                "tool_choice": self._choice(choice),
                "parallel_tool_calls": not choice.get("disable_parallel_tool_use"),
                "response_format": form and {"type": form["type"], "json_schema": form},
            }
        )

    def _choice(self, choice: Mapping[str, Any]) -> object:
        if choice.get("type") == "tool":
            return {"type": "function", "function": {"name": choice["name"]}}
        return _CHOICES.get(choice.get("type", "auto"))


class MessagesBody(CountedBody):
    """The body of a request to the Messages API."""

    max_tokens: int = Field(ge=1)


def _turn(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the chat messages of a turn; results of tools are messages of their own."""
    role, content = message["role"], message.get("content")
    if isinstance(content, str):
        return [{"role": role, "content": content}]
    if not content:
        raise InvalidRequestError("messages: must have non-empty content")
    results: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    parts: list[Mapping[str, Any]] = []
    for block in content:
        if block["type"] == "tool_result":
            result = {"tool_call_id": block["tool_use_id"], "content": block.get("content") or ""}
            results.append({"role": "tool", **result})
        elif block["type"] == "tool_use":
            function = {"name": block["name"], "arguments": json.dumps(block["input"])}
            calls.append({"id": block["id"], "type": "function", "function": function})
        else:
            parts += _parts(block)
    if calls:
        return [{"role": role, "content": parts or None, "tool_calls": calls}]
    return results if results and not parts else [*results, {"role": role, "content": parts}]


def _parts(block: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the texts of a block; images are accepted and ignored."""
    source = block.get("source", {}) if block["type"] == "document" else {}
    content = source.get("content") or (
        block["content"] if block["type"] == "search_result" else ()
    )
    if isinstance(content, str) or source.get("type") == "text":
        return [{"type": "text", "text": content or source["data"]}]
    return [block] if block["type"] == "text" else [*content]


@dataclass(frozen=True, slots=True)
class MessagesAnswer:
    """The answer to a request to the Messages API: a completion with one choice."""

    completion: Completion
    reports_usage = True

    @property
    def usage(self) -> Mapping[str, int]:
        """Token counts of the request and the answer."""
        return self.completion.usage

    def body(self) -> dict[str, Any]:
        """Return the whole answer."""
        text = "".join(self._choice.tokens)
        content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        content += [_block(call, _input(call)) for call in self._choice.tool_calls]
        return {**self._message(content, self.usage["completion_tokens"]), **self._end}

    def events(self) -> Iterator[str]:
        """Return the answer as a stream of server-sent events."""
        return map(sse, self._events())

    def _events(self) -> Iterator[dict[str, Any]]:
        # The first event reports the output so far: the token that is being written.
        yield {"type": "message_start", "message": self._message([], 1)}
        for index, (begin, deltas) in enumerate(self._blocks()):
            yield {"type": "content_block_start", "index": index, "content_block": begin}
            if index == 0:
                yield {"type": "ping"}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        usage = {
            "input_tokens": self.usage["prompt_tokens"],
            **_NOTHING_CACHED,
            "output_tokens": self.usage["completion_tokens"],
        }
        yield {"type": "message_delta", "delta": self._end, "usage": usage}
        yield {"type": "message_stop"}

    def _blocks(self) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
        """Yield the beginning of each block, and its deltas."""
        if self._choice.tokens:
            texts = [{"type": "text_delta", "text": token} for token in self._choice.tokens]
            yield {"type": "text", "text": ""}, texts
        for call in self._choice.tool_calls:
            pieces = ["", *call.tokens]
            yield (
                _block(call, {}),
                [{"type": "input_json_delta", "partial_json": piece} for piece in pieces],
            )

    @property
    def _choice(self) -> Choice:
        return self.completion.choices[0]

    @property
    def _end(self) -> dict[str, Any]:
        stop = self._choice.stop
        natural = "end_turn" if stop is None else "stop_sequence"
        reason = _REASONS.get(self._choice.finish_reason, natural)
        return {"stop_reason": reason, "stop_sequence": stop}

    def _message(self, content: list[dict[str, Any]], output_tokens: int) -> dict[str, Any]:
        return {
            "id": f"msg_{self.completion.number}",
            "type": "message",
            "role": "assistant",
            "model": self.completion.request.model,
            "content": content,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {
                "input_tokens": self.usage["prompt_tokens"],
                **_NOTHING_CACHED,
                "output_tokens": output_tokens,
                "service_tier": "standard",
            },
        }


def _block(call: ToolCall, arguments: dict[str, Any]) -> dict[str, Any]:
    call_id = f"toolu_{call.id.removeprefix('call_')}"
    return {"type": "tool_use", "id": call_id, "name": call.name, "input": arguments}


def _input(call: ToolCall) -> dict[str, Any]:
    try:
        return json.loads(call.arguments)
    except ValueError:
        return {}  # Cut off: an incomplete object cannot be given.


def error_body(status: int, message: str, request_id: str) -> dict[str, Any]:
    """Return an error in the form of Anthropic's API."""
    default = "api_error" if status >= 500 else "invalid_request_error"
    error = {"type": _ERRORS.get(status, default), "message": message}
    return {"type": "error", "error": error, "request_id": request_id}


def models_body() -> dict[str, Any]:
    """Return the list of models."""
    model = {
        "id": MODEL,
        "type": "model",
        "display_name": "Simulated",
        "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active",
    }
    return {"data": [model], "has_more": False, "first_id": MODEL, "last_id": MODEL}
