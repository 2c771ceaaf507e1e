"""Strict conversion of LangChain's messages to OpenAI's format.

The public `convert_to_openai_messages` drops unknown content and joins texts. This module refuses
unknown content and joins nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from pydantic import SecretStr

from resay.adapters.upstream import UnmappedError

Model = BaseLanguageModel[Any]
# Fields of all of langchain_core's chat models. `rate_limiter` is excluded, because litellm would
# send requests past the user's limit.
OF_ALL = frozenset(
    {
        "cache",
        "callbacks",
        "custom_get_token_ids",
        "disable_streaming",
        "max_retries",
        "metadata",
        "name",
        "output_version",
        "profile",
        "streaming",
        "tags",
        "verbose",
    }
)


def name_of(model: Model) -> str:
    """Return the name of the model's class."""
    return type(model).__name__


def secret(model: Model, field: str) -> str:
    """Return the key in a field.

    Raises:
        UnmappedError: The field is empty, or holds a function that creates the key.
    """
    value = getattr(model, field)
    key = value.get_secret_value() if isinstance(value, SecretStr) else None
    if not key:
        raise UnmappedError(f"{name_of(model)} has no fixed key in {field!r}")
    return key


def headers_of(model: Model, field: str) -> dict[str, str]:
    """Return a copy of the headers in a field."""
    headers: Mapping[str, str] | None = getattr(model, field)
    return dict(headers or {})


# Resay sets its own: a sample is one fresh answer, neither streamed nor cached.
NOT_SENT = frozenset(
    {
        "cache",
        "logprobs",
        "max_retries",
        "n",
        "num_retries",
        "seed",
        "stream",
        "stream_options",
        "stream_usage",
        "streaming",
        "timeout",
        "top_logprobs",
    }
)
# Notes for LangChain's traces, which are not sent to the provider.
NOTES = frozenset({"ls_structured_output_format", "structured_output_format"})


def sent_of(
    kwargs: Mapping[str, Any],
    allowed: frozenset[str],
    who: str,
    left_out: frozenset[str] = NOT_SENT,
) -> dict[str, Any]:
    """Return the keyword arguments that shape the request.

    Args:
        kwargs: The arguments of the call.
        allowed: The arguments that can be translated.
        who: The class of the model, for the error.
        left_out: The arguments that are not sent for a sample.

    Returns:
        The arguments in `allowed` that are given and not None.

    Raises:
        UnmappedError: Another argument is given.
    """
    sent = {k: v for k, v in kwargs.items() if v is not None and k not in left_out | NOTES}
    if unmapped := sent.keys() - allowed:
        raise UnmappedError(f"{who} is called with {min(unmapped)!r}")
    return sent


_ANTHROPIC_TOOL = frozenset({"name", "description", "input_schema"})


def check_openai_tools(tools: object, who: str) -> None:
    """Check that all tools are functions in OpenAI's format.

    Raises:
        UnmappedError: A tool is something else, such as one that the provider runs itself.
    """
    for tool in cast("list[Any]", tools or []):
        if not isinstance(tool, Mapping) or set(cast("Mapping[str, Any]", tool)) != {
            "type",
            "function",
        }:
            raise UnmappedError(f"{who} has a tool that is no plain function")
        if tool["type"] != "function":
            raise UnmappedError(f"{who} has a tool that the provider runs")


def anthropic_tools(tools: object, who: str) -> list[dict[str, Any]]:
    """Convert tools from Anthropic's format to OpenAI's.

    Raises:
        UnmappedError: A tool is more than a function.
    """
    translated: list[dict[str, Any]] = []
    for tool in cast("list[Any]", tools or []):
        if not isinstance(tool, Mapping) or not {"name", "input_schema"} <= tool.keys():
            raise UnmappedError(f"{who} has a tool that the provider runs")
        function = {str(k): v for k, v in cast("Mapping[Any, Any]", tool).items()}
        if unmapped := function.keys() - _ANTHROPIC_TOOL:
            raise UnmappedError(f"{who} has a tool with {min(unmapped)!r}")
        function["parameters"] = function.pop("input_schema")
        translated.append({"type": "function", "function": function})
    return translated


def anthropic_choice(choice: object, who: str) -> dict[str, Any]:
    """Convert a tool choice from Anthropic's format to litellm's parameters.

    Raises:
        UnmappedError: The choice is unknown.
    """
    if not isinstance(choice, Mapping):
        raise UnmappedError(f"{who} has a tool choice of an unknown shape")
    parts = dict(cast("Mapping[str, Any]", choice))
    kind, name = parts.pop("type", None), parts.pop("name", None)
    alone: bool | None = parts.pop("disable_parallel_tool_use", None)
    words = {"auto": "auto", "any": "required", "none": "none"}
    if parts or (kind not in words and not (kind == "tool" and isinstance(name, str))):
        raise UnmappedError(f"{who} has a tool choice of an unknown shape")
    chosen = words.get(kind) or {"type": "function", "function": {"name": name}}
    parallel = {} if alone is None else {"parallel_tool_calls": not alone}
    return {"tool_choice": chosen, **parallel}


Blocks = list[dict[str, Any]]
# Keys that providers add to a text or a call, and that are never sent back.
_IGNORED_KEYS = frozenset({"annotations", "citations", "id", "index"})
# Copies of `tool_calls` from OpenAI and Gemini, and the refusal of an answer.
_IGNORED_KWARGS = frozenset({"function_call", "refusal", "tool_calls"})
_CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
_DATA_URL = re.compile(r"data:image/[a-z+.-]+;base64,")


def openai_messages(
    messages: Sequence[BaseMessage], who: str, *, links: bool = False, errors: bool = False
) -> tuple[dict[str, Any], ...]:
    """Convert a conversation.

    Args:
        messages: The conversation.
        who: The class of the model, for the error.
        links: Whether an image may be a link.
        errors: Whether a tool's result may be marked as an error; the mark is not sent.

    Returns:
        The messages in OpenAI's format.

    Raises:
        UnmappedError: Part of them cannot be converted faithfully.
    """
    return tuple(_message(m, who, links=links, errors=errors) for m in messages)


def require_single_turns(messages: Sequence[BaseMessage], who: str) -> None:
    """Check that no messages need joining, which each library does in its own way.

    Raises:
        UnmappedError: System texts or user messages follow one another.
    """
    for message in messages:
        several = not isinstance(message.content, str) and len(message.content) > 1
        if several and isinstance(message, SystemMessage):
            raise UnmappedError(f"{who} is given a system message in several parts")
    for before, after in pairwise(messages):
        if isinstance(before, (HumanMessage, SystemMessage)) and type(before) is type(after):
            raise UnmappedError(f"{who} is given two messages of one role in a row")


def require_tools(messages: Sequence[BaseMessage], tools: object, who: str) -> None:
    """Check that tools are given if tools were called; litellm would make some up otherwise.

    Raises:
        UnmappedError: They are missing.
    """
    called = any(isinstance(m, ToolMessage) or getattr(m, "tool_calls", ()) for m in messages)
    if called and not tools:
        raise UnmappedError(f"{who} is given calls of tools and no tools")


def require_plain_turns(messages: Sequence[BaseMessage], who: str) -> None:
    """Check that a conversation needs no repair, which each library does in its own way.

    Raises:
        UnmappedError: A system message is not the first, a message is empty, the model would have
            to continue its own answer, or a tool call has an unusual id.
    """
    turns = [m for m in messages if not isinstance(m, SystemMessage)]
    late = any(isinstance(m, SystemMessage) for m in messages[len(messages) - len(turns) :])
    if late:
        raise UnmappedError(f"{who} is given a system message that is not the first")
    if turns and isinstance(turns[-1], AIMessage):
        raise UnmappedError(f"{who} continues a prefilled answer, which is not supported")
    for before, after in pairwise(turns):
        if isinstance(before, AIMessage) and isinstance(after, AIMessage):
            raise UnmappedError(f"{who} is given two answers in a row")
    for message in messages:
        _require_plain(message, who)


def _require_plain(message: BaseMessage, who: str) -> None:
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    ids = [call["id"] or "" for call in calls]
    if isinstance(message, ToolMessage):
        ids.append(message.tool_call_id)
    if not all(_CALL_ID.fullmatch(id_) for id_ in ids):
        raise UnmappedError(f"{who} is given a tool call with an unusual id")
    content = message.content
    blocks = [content] if isinstance(content, str) else content
    texts = [block if isinstance(block, str) else block.get("text") for block in blocks]
    blank = not texts or any(text is not None and not text.strip() for text in texts)
    if blank and not calls:
        raise UnmappedError(f"{who} is given an empty message")


def _message(message: BaseMessage, who: str, *, links: bool, errors: bool) -> dict[str, Any]:
    if unmapped := message.additional_kwargs.keys() - _IGNORED_KWARGS:
        raise UnmappedError(f"{who} is given a message with {min(unmapped)!r}")
    content = _content(message, who, links)
    if isinstance(message, HumanMessage):
        return {"role": "user", "content": content}
    if isinstance(message, SystemMessage):
        return {"role": "system", "content": content}
    if isinstance(message, AIMessage):
        return _answer(message, content, who)
    if isinstance(message, ToolMessage):
        if message.status == "error" and not errors:
            raise UnmappedError(f"{who} is given a tool's error")
        return {"role": "tool", "content": content, "tool_call_id": message.tool_call_id}
    raise UnmappedError(f"{who} is given a {type(message).__name__}")


def _answer(message: AIMessage, content: str | Blocks, who: str) -> dict[str, Any]:
    if message.invalid_tool_calls or (
        message.additional_kwargs.get("tool_calls") and not message.tool_calls
    ):
        raise UnmappedError(f"{who} is given a tool call that could not be read")
    calls = [
        {
            "id": call["id"],
            "type": "function",
            "function": {
                "name": call["name"],
                "arguments": json.dumps(call["args"], ensure_ascii=False),
            },
        }
        for call in message.tool_calls
    ]
    if not calls:
        return {"role": "assistant", "content": content}
    # litellm would replace an empty text with one of its own.
    return {"role": "assistant", "content": content or None, "tool_calls": calls}


def _content(message: BaseMessage, who: str, links: bool) -> str | Blocks:
    if isinstance(message.content, str):
        return message.content
    calls = {call["id"] for call in getattr(message, "tool_calls", ())}
    translated = [_block(block, calls, who, links) for block in message.content]
    return [block for block in translated if block is not None] or ""


def _block(
    block: str | dict[Any, Any], calls: set[str | None], who: str, links: bool
) -> dict[str, Any] | None:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    kind = block.get("type")
    fields = {k: v for k, v in block.items() if not (k in _IGNORED_KEYS and _is_mark(k, v))}
    if kind == "text" and set(fields) == {"type", "text"}:
        return fields
    if kind in ("tool_use", "tool_call") and block.get("id") in calls and "caller" not in block:
        return None  # sent with the message's `tool_calls`
    if kind in ("image_url", "image") and (url := _image(fields, links)):
        return {"type": "image_url", "image_url": {"url": url}}
    raise UnmappedError(f"{who} is given content of type {kind!r} that is not plain")


def _is_mark(key: str, value: object) -> bool:
    # Citations matter if they are sent back; an empty list of them does not.
    return key in ("id", "index") or not value


def _image(block: Mapping[Any, Any], links: bool) -> str | None:
    source: Any = block.get("image_url", block.get("url"))
    if isinstance(source, Mapping) and set(cast("Mapping[Any, Any]", source)) == {"url"}:
        source = cast("Mapping[Any, Any]", source)["url"]
    if block.get("type") == "image" and isinstance(block.get("mime_type"), str):
        data = block.get("base64", block.get("data"))
        if set(block) <= {"type", "mime_type", "base64", "data", "source_type"} and data:
            source = f"data:{block['mime_type']};base64,{data}"
    if not isinstance(source, str):
        return None
    plain = bool(_DATA_URL.match(source))
    return source if plain or (links and source.startswith(("http://", "https://"))) else None
