"""What a response of OpenAI's Responses API says, and what takes its place."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from resay.core.logprobs import TokenLogprob, read_logprobs
from resay.core.verdict import Usage
from resay.providers.apis.base import Body, Outcome
from resay.providers.apis.reading import listed, mapping, mappings, named, number, text
from resay.providers.base import ToolCall

__all__ = [
    "KEY",
    "call_of",
    "incomplete_details",
    "is_text",
    "item_status",
    "item_without_logprobs",
    "made_id",
    "made_up",
    "message_item",
    "replaced_response",
    "response_without_logprobs",
    "said_calls",
    "said_logprobs",
    "said_text",
    "stopped_by",
    "text_part",
    "unread_in",
    "unread_parts",
    "usage_in",
]

KEY = "hallucination"

# What of a response is no word of the answer: its names, its cost, and what repeats the request.
_KEPT = (
    "id",
    "object",
    "created_at",
    "model",
    "usage",
    "completed_at",
    "background",
    "billing",
    "conversation",
    "frequency_penalty",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "parallel_tool_calls",
    "presence_penalty",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
)

# What of an output, and of a message in it, is no text of the answer.
_ITEMS = frozenset({"additional_tools", "compaction", "program", "reasoning"})
_PARTS = frozenset({"reasoning_text", "refusal", "summary_text"})
_GIVEN = {"function_call": "arguments", "custom_tool_call": "input"}


def is_text(part: Mapping[str, Any]) -> bool:
    """Return whether a part of a message is text; a refusal is none."""
    return part.get("type") == "output_text"


def _texts(response: Body) -> Iterator[Mapping[str, Any]]:
    for item in mappings(response.get("output")):
        if item.get("type") == "message":
            yield from (part for part in mappings(item.get("content")) if is_text(part))


def said_text(response: Body) -> str:
    """Return the text of a response, as the SDK's `output_text` does."""
    return "".join(text(part.get("text")) for part in _texts(response))


def unread_in(items: Sequence[object]) -> str | None:
    """Return what of the items of a response cannot be read; None where all can."""
    return next((found for item in items if (found := _unread(mapping(item))) is not None), None)


def _unread(item: Mapping[str, Any]) -> str | None:
    kind = text(item.get("type"))
    if kind == "message":
        parts: object = item.get("content")
        # At its beginning there is nothing in it.
        return unread_parts(listed(parts) or [parts]) if parts else None
    known = kind in _ITEMS or kind.startswith("mcp_") or kind.endswith(("_call", "_output"))
    return None if known else named(item.get("type"))


def unread_parts(parts: Sequence[object]) -> str | None:
    """Return what of the parts of a message cannot be read; None where all can."""
    return next((named(mapping(p).get("type")) for p in parts if not _is_known(mapping(p))), None)


def _is_known(part: Mapping[str, Any]) -> bool:
    if is_text(part):
        return isinstance(part.get("text"), str)
    return text(part.get("type")) in _PARTS


def said_logprobs(response: Body) -> tuple[TokenLogprob, ...]:
    """Return the tokens of the text; none where they would not make up all of it."""
    tokens: list[TokenLogprob] = []
    for part in _texts(response):
        own = read_logprobs({"content": part.get("logprobs")})
        if text(part.get("text")) and not own:
            return ()
        tokens += own
    return tuple(tokens)


def said_calls(response: Body) -> tuple[ToolCall, ...]:
    """Return the calls of tools that the application is to run."""
    items = mappings(response.get("output"))
    calls = (call_of(item, place) for place, item in enumerate(items))
    return tuple(call for call in calls if call is not None)


def call_of(item: Mapping[str, Any], place: int) -> ToolCall | None:
    """Return an item as a call; None where it is none."""
    given = _GIVEN.get(text(item.get("type")))
    if given is None:
        return None
    return ToolCall(text(item.get("name")), text(item.get(given)), place)


def stopped_by(response: Body) -> str | None:
    """Return why a response ended: its status, or why it is incomplete."""
    reason = text(mapping(response.get("incomplete_details")).get("reason"))
    return reason or text(response.get("status")) or None


def usage_in(response: Body) -> Usage | None:
    """Return what a response says that it cost; None where it says nothing."""
    usage = mapping(response.get("usage"))
    if not usage:
        return None
    return Usage(1, number(usage.get("input_tokens")), number(usage.get("output_tokens")), None)


def text_part(said: str) -> dict[str, Any]:
    """Return a part of a message that says a text."""
    return {"type": "output_text", "text": said, "annotations": [], "logprobs": []}


def message_item(item_id: str, status: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a message as an item."""
    who = {"type": "message", "role": "assistant"}
    return {"id": item_id, **who, "status": status, "content": parts}


def made_id(response: Body, place: int) -> str:
    """Return the id of a message that is none of the provider's.

    An application may send it back with the rest of the conversation. OpenAI refuses one of its own
    without the thoughts that came before it, and any that is there twice.

    Args:
        response: The response it stands in.
        place: Its place among the items.
    """
    known = f"{response.get('id')} {place}".encode("utf-8", "surrogatepass")
    return f"msg_resay_{hashlib.sha256(known).hexdigest()[:32]}"


def made_up() -> dict[str, Any]:
    """Return the beginning of a response of which nothing is known."""
    return {"id": "resp_0", "object": "response", "created_at": int(time.time()), "model": ""}


def replaced_response(
    response: Body, items: Sequence[Mapping[str, Any]], outcome: Outcome
) -> dict[str, Any]:
    """Return a response that gives other items and no word of its own.

    Args:
        response: The response, or what is known of it.
        items: What it gives.
        outcome: The verdict, and whether the items are an answer.
    """
    kept = {name: response[name] for name in _KEPT if name in response}
    return {
        **made_up(),
        **kept,
        "status": item_status(outcome),
        "error": None,
        "incomplete_details": incomplete_details(outcome),
        "output": [*items],
        KEY: outcome.data,
    }


def item_status(outcome: Outcome) -> str:
    """Return how a message ends that has replaced another, and so its response."""
    return "incomplete" if outcome.filtered else "completed"


def incomplete_details(outcome: Outcome) -> dict[str, Any] | None:
    """Return why a response is incomplete whose answer another text has replaced."""
    return {"reason": "content_filter"} if outcome.filtered else None


def response_without_logprobs(response: Body) -> dict[str, Any]:
    """Return a response without log-probabilities, as one that was not asked for any."""
    stripped = dict(response)
    if listed(response.get("output")):
        stripped["output"] = [_stripped(item) for item in listed(response["output"])]
    if response.get("top_logprobs"):
        stripped["top_logprobs"] = 0
    return stripped


def item_without_logprobs(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item, or a part, without log-probabilities."""
    stripped = dict(item)
    if item.get("logprobs"):
        stripped["logprobs"] = list[Any]()
    if listed(item.get("content")):
        stripped["content"] = [_stripped(part) for part in listed(item["content"])]
    return stripped


def _stripped(item: Any) -> Any:
    return item_without_logprobs(mapping(item)) if mapping(item) else item
