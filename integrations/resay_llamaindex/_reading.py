"""Reading LlamaIndex's responses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from llama_index.core.base.llms.types import ChatResponse, CompletionResponse, ToolCallBlock
from pydantic import BaseModel

from resay.core.logprobs import TokenLogprob, read_logprobs
from resay.core.verdict import Usage
from resay.providers.base import Completion, ToolCall

__all__ = ["as_json", "calls_in", "completion_of", "finish_reason_in", "logprobs_in", "usage_in"]


def completion_of(response: object) -> Completion:
    """Return a response as the core looks at it.

    Args:
        response: What an LLM gave: a response, or an object.
    """
    if isinstance(response, BaseModel) and not isinstance(
        response, (ChatResponse, CompletionResponse)
    ):
        return Completion(response.model_dump_json(), raw=response)
    return Completion(
        _text_of(response),
        finish_reason_in(response),
        logprobs_in(response),
        response,
        calls_in(response),
    )


def _text_of(response: object) -> str:
    if isinstance(response, ChatResponse):
        # Of the text blocks alone: thoughts are no part of the answer.
        return response.message.content or ""
    return response.text if isinstance(response, CompletionResponse) else ""


def calls_in(response: object) -> tuple[ToolCall, ...]:
    """Return the calls of tools that a response asks for."""
    if not isinstance(response, ChatResponse):
        return ()
    blocks = [b for b in response.message.blocks if isinstance(b, ToolCallBlock)]
    if blocks:
        return tuple(ToolCall(b.tool_name, as_json(b.tool_kwargs), i) for i, b in enumerate(blocks))
    # Where integrations put them before there were blocks.
    older: object = response.message.additional_kwargs.get("tool_calls")
    listed = cast("list[object]", older) if isinstance(older, list) else []
    functions = [_get(call, "function") for call in listed]
    return tuple(
        ToolCall(str(_get(f, "name") or ""), as_json(_get(f, "arguments")), i)
        for i, f in enumerate(functions)
        if f is not None
    )


def finish_reason_in(response: object) -> str | None:
    """Return why the model stopped, where the provider's object says so as OpenAI's does."""
    reason = _get(_choice_in(response), "finish_reason")
    return reason if isinstance(reason, str) else None


def logprobs_in(response: object) -> tuple[TokenLogprob, ...]:
    """Return the tokens, where the provider's object has them as OpenAI's does."""
    return read_logprobs(_get(_choice_in(response), "logprobs"))


def usage_in(response: object) -> Usage | None:
    """Return what a request cost in tokens; None where the response does not say."""
    told = _get(response, "additional_kwargs")
    for counts in (told, _get(_get(response, "raw"), "usage")):
        read = _count(counts, "prompt_tokens", "input_tokens")
        written = _count(counts, "completion_tokens", "output_tokens")
        if read or written:
            return Usage(1, read, written, None)
    return None


def _count(counts: object, *names: str) -> int:
    found = [value for name in names if isinstance(value := _get(counts, name), int)]
    return found[0] if found else 0


def _choice_in(response: object) -> object:
    choices = _get(_get(response, "raw"), "choices")
    return cast("list[object]", choices)[0] if isinstance(choices, list) and choices else None


def _get(value: object, name: str) -> Any:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(name)
    return getattr(value, name, None)


def as_json(arguments: object) -> str:
    """Return the arguments of a call as JSON, which they may be already."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments or {}, default=str)
