"""What litellm answers, as the APIs' own servers would say it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, cast

from resay.providers.apis import Body
from resay.providers.apis.reading import mapping, mappings, number, text

__all__ = [
    "Priced",
    "answered_body",
    "chat_usage",
    "content_block",
    "cost_of",
    "message_body",
    "output_item",
    "output_part",
    "pick",
    "plain",
    "response_body",
]

_HIDDEN = "_hidden_params"
_DETAILS = ("audio_tokens", "cached_tokens", "reasoning_tokens")
_PREDICTED = ("accepted_prediction_tokens", "rejected_prediction_tokens")
_CHAT_USAGE: Mapping[str, tuple[str, ...]] = {
    "prompt_tokens_details": _DETAILS,
    "completion_tokens_details": (*_DETAILS, *_PREDICTED),
}
_MESSAGE = ("tool_calls", "function_call", "annotations", "audio", "reasoning_content")
_CALL = ("index", "id", "type", "function", "custom")
# Fields of a response that others than OpenAI leave out.
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
# A response says again what it was asked with.
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
    """An answer with what it cost.

    Attributes:
        cost_usd: What it cost in US dollars; None where nobody knows.
    """

    cost_usd: float | None = None


def plain(value: Any) -> dict[str, Any]:
    """Return one of litellm's objects as JSON."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    return value.model_dump(mode="json", warnings=False)


def cost_of(answer: Any) -> float | None:
    """Return what litellm says that an answer cost, in US dollars."""
    hidden: Any = getattr(answer, _HIDDEN, None)
    cost: object = hidden.get("response_cost") if hasattr(hidden, "get") else None
    return cost if isinstance(cost, (int, float)) else None


def pick(value: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return those of some fields that there are."""
    return {name: value[name] for name in names if value.get(name) is not None}


def answered_body(data: Body, name: str) -> dict[str, Any]:
    """Return a whole answer of chat completions, or of completions.

    Args:
        data: litellm's.
        name: What the client calls the model.
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
    told = pick(data, "system_fingerprint", "service_tier")
    return {**known, "usage": chat_usage(mapping(data.get("usage"))), **told}


def chat_usage(usage: Body) -> dict[str, Any]:
    """Return what an answer cost in tokens, as OpenAI says it."""
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


def response_body(data: Body, asked: Body, name: str, number_: str) -> dict[str, Any]:
    """Return an object of the Responses API.

    Args:
        data: litellm's.
        asked: The client's request.
        name: What the client calls the model.
        number_: What the response is called: litellm's own names say who answered.
    """
    known = {
        "id": number_,
        "object": "response",
        "created_at": int(data.get("created_at") or 0),
        "model": name,
    }
    again = {k: asked[k] for k in _SAID_AGAIN if asked.get(k) is not None}
    told = {k: data[k] for k in _RESPONSE_TOO if k in data}
    given = {k: data[k] for k in _RESPONSE if data.get(k) is not None}
    format_ = data.get("text") or _PLAIN_TEXT
    body = {**_RESPONSE, **told, **given, **again, **known, "text": format_}
    body["output"] = [output_item(item) for item in mappings(data.get("output"))]
    if body["error"]:
        # In a provider's words.
        body["error"] = {"code": "server_error", "message": "the model failed"}
    if body["usage"]:
        body["usage"] = _response_usage(mapping(body["usage"]))
    return body


def output_item(item: Body) -> dict[str, Any]:
    """Return an item of a response without what litellm adds."""
    kept = {k: v for k, v in item.items() if v is not None and k != "provider_specific_fields"}
    if isinstance(kept.get("content"), list):
        kept["content"] = [output_part(part) for part in mappings(kept["content"])]
    return kept


def output_part(part: Body) -> dict[str, Any]:
    """Return a part of an item, with the fields that SDKs count on."""
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
        data: litellm's.
        name: What the client calls the model.
    """
    known = {k: data[k] for k in _MESSAGE_FIELDS if k in data}
    number_ = text(data.get("id"))
    if not number_.startswith("msg_"):
        number_ = f"msg_{uuid.uuid4().hex}"
    blocks = [content_block(block) for block in mappings(data.get("content"))]
    told = {"id": number_, "type": "message", "role": "assistant", "model": name}
    return {"stop_reason": None, "stop_sequence": None, **known, **told, "content": blocks}


def content_block(block: Body) -> dict[str, Any]:
    """Return a block of a message without what litellm adds."""
    return {k: v for k, v in block.items() if k != "provider_specific_fields"}
