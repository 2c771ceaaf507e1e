"""litellm's answers in the format of the APIs' own servers."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, cast

from resay.adapters.apis import Body, mapping, mappings, number, text

_HIDDEN = "_hidden_params"
_DETAILS = ("audio_tokens", "cached_tokens", "reasoning_tokens")
_PREDICTED = ("accepted_prediction_tokens", "rejected_prediction_tokens")
_CHAT_USAGE: Mapping[str, tuple[str, ...]] = {
    "prompt_tokens_details": _DETAILS,
    "completion_tokens_details": (*_DETAILS, *_PREDICTED),
}
_MESSAGE = ("tool_calls", "function_call", "annotations", "audio", "reasoning_content")
CALL_FIELDS = ("index", "id", "type", "function", "custom")
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
_OPENAI_ONLY = (
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
_REPEATED = ("instructions", "metadata", "tool_choice", "tools")
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
    return {
        "id": data.get("id"),
        "object": kind,
        "created": data.get("created"),
        "model": name,
        "choices": [chosen(choice) for choice in mappings(data.get("choices"))],
        "usage": chat_usage(mapping(data.get("usage"))),
        **pick(data, "system_fingerprint", "service_tier"),
    }


def chat_usage(usage: Body) -> dict[str, Any]:
    """Return an answer's usage in OpenAI's format."""
    prompt = number(usage.get("prompt_tokens"))
    completion = number(usage.get("completion_tokens"))
    counts: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": number(usage.get("total_tokens")) or prompt + completion,
    }
    for field, names in _CHAT_USAGE.items():
        if details := pick(mapping(usage.get(field)), *names):
            counts[field] = details
    return counts


def _chat_choice(choice: Body) -> dict[str, Any]:
    message = mapping(choice.get("message"))
    hidden = mapping(message.get("provider_specific_fields"))
    extra = pick(message, *_MESSAGE)
    if "tool_calls" in extra:
        extra["tool_calls"] = [
            pick(call, *CALL_FIELDS[1:]) for call in mappings(extra["tool_calls"])
        ]
    return {
        "index": number(choice.get("index")),
        "message": {
            "role": "assistant",
            "content": message.get("content"),
            "refusal": message.get("refusal") or hidden.get("refusal"),
            **extra,
        },
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


def response_body(data: Body, request: Body, name: str, response_id: str) -> dict[str, Any]:
    """Return an object of the Responses API.

    Args:
        data: litellm's response.
        request: The client's request.
        name: The model's name for clients.
        response_id: The id of the response, because litellm's own ids reveal the provider.
    """
    body: dict[str, Any] = {
        **_RESPONSE,
        **{field: data[field] for field in _OPENAI_ONLY if field in data},
        **pick(data, *_RESPONSE),
        **pick(request, *_REPEATED),
        "id": response_id,
        "object": "response",
        "created_at": int(data.get("created_at") or 0),
        "model": name,
        "text": data.get("text") or _PLAIN_TEXT,
        "output": [output_item(item) for item in mappings(data.get("output"))],
    }
    if body["error"]:
        # The error is in the provider's words.
        body["error"] = {"code": "server_error", "message": "the model failed"}
    if body["usage"]:
        body["usage"] = _response_usage(mapping(body["usage"]))
    return body


def output_item(item: Body) -> dict[str, Any]:
    """Return an item of a response without litellm's additions."""
    fields = _own_fields(item)
    if isinstance(fields.get("content"), list):
        fields["content"] = [output_part(part) for part in mappings(fields["content"])]
    return fields


def output_part(part: Body) -> dict[str, Any]:
    """Return a part of an item, with the fields that SDKs rely on."""
    fields = _own_fields(part)
    if fields.get("type") == "output_text":
        return {"annotations": [], "logprobs": [], **fields}
    return fields


def _own_fields(value: Body) -> dict[str, Any]:
    """Return the fields with a value, without litellm's additions."""
    return {k: v for k, v in value.items() if v is not None and k != "provider_specific_fields"}


def _response_usage(usage: Body) -> dict[str, Any]:
    prompt = number(usage.get("input_tokens"))
    completion = number(usage.get("output_tokens"))
    cached = mapping(usage.get("input_tokens_details")).get("cached_tokens")
    reasoning = mapping(usage.get("output_tokens_details")).get("reasoning_tokens")
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": number(cached)},
        "output_tokens": completion,
        "output_tokens_details": {"reasoning_tokens": number(reasoning)},
        "total_tokens": number(usage.get("total_tokens")) or prompt + completion,
    }


def message_body(data: Body, name: str) -> dict[str, Any]:
    """Return a message of Anthropic's API.

    Args:
        data: litellm's message.
        name: The model's name for clients.
    """
    message_id = text(data.get("id"))
    if not message_id.startswith("msg_"):
        message_id = f"msg_{uuid.uuid4().hex}"
    return {
        "stop_reason": None,
        "stop_sequence": None,
        **{field: data[field] for field in _MESSAGE_FIELDS if field in data},
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": name,
        "content": [content_block(block) for block in mappings(data.get("content"))],
    }


def content_block(block: Body) -> dict[str, Any]:
    """Return a block of a message without litellm's additions."""
    return {k: v for k, v in block.items() if k != "provider_specific_fields"}
