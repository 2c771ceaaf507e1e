"""What of a request in LiteLLM's hands is the user's."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from resay_litellm._shape import Data

__all__ = ["forced_tool", "hosted", "user_params"]

# What LiteLLM notes beside a request, and what would answer a sample from elsewhere.
_BOOKKEEPING = frozenset(
    {
        "acompletion",
        "async_call",
        "atext_completion",
        "attempted_targets",
        "cache",
        "cache_key",
        "caching",
        "caching_groups",
        "complete_response",
        "completion_call_id",
        "context_window_fallback_dict",
        "deployment",
        "fallback_depth",
        "fallbacks",
        "fastest_response",
        "final_prompt_value",
        "guardrail_to_apply",
        "guardrails",
        "litellm_call_id",
        "litellm_logging_obj",
        "litellm_metadata",
        "litellm_parent_otel_span",
        "litellm_session_id",
        "litellm_trace_id",
        "logger_fn",
        "max_fallbacks",
        "max_retries",
        "model_group",
        "model_info",
        "num_retries",
        "original_function",
        "preset_cache_key",
        "proxy_server_request",
        "retry_policy",
        "retry_strategy",
        "secret_fields",
        "self",
        "shared_session",
        "specific_deployment",
        "stream_response",
        "tags",
        "text_completion",
        "ttl",
    }
)

# A stored conversation would grow by every sample; tools that the provider runs would run again.
_HELD_ELSEWHERE = (
    "background",
    "container",
    "conversation",
    "mcp_servers",
    "previous_response_id",
    "thread_id",
)


def user_params(data: Data, *, but: Collection[str]) -> dict[str, Any]:
    """Return what the user asked for, as other hooks have left it.

    Args:
        data: The request as hooks see it.
        but: What to leave out besides LiteLLM's own notes.
    """
    sent = _sent(data)
    names = data.keys() if sent is None else [name for name in data if name in sent]
    return {
        name: data[name]
        for name in names
        if name not in _BOOKKEEPING
        and name not in but
        and not name.startswith("_")
        and data[name] is not None
    }


def _sent(data: Data) -> Mapping[str, Any] | None:
    """Return the request as the proxy's client sent it, where there is a proxy."""
    request = data.get("proxy_server_request")
    body = cast("Data", request).get("body") if isinstance(request, Mapping) else None
    return cast("Data", body) if isinstance(body, Mapping) else None


def hosted(params: Data, own: Collection[str], *, local: tuple[str, ...] = ()) -> str | None:
    """Return why a request must not be sent again, or None.

    Args:
        params: What the user asked for.
        own: The types of tools that the application runs; "" is that of tools without one.
        local: How the types of further such tools begin.
    """
    for name in _HELD_ELSEWHERE:
        if params.get(name):
            return f"{name!r} ties the request to what the provider keeps; it is not asked again"
    kinds = {str(tool.get("type") or "") for tool in _mappings(params.get("tools"))}
    foreign = {kind for kind in kinds - set(own) if not (local and kind.startswith(local))}
    if foreign or params.get("web_search_options"):
        return "the provider would run its tools once more for every sample; it is not asked again"
    return None


def forced_tool(
    params: Data, names: Sequence[str | None], forced: Collection[str]
) -> tuple[str, ...]:
    """Return the one tool that is offered and has to be called, whose arguments are the answer.

    Args:
        params: What the user asked for.
        names: The names of the tools.
        forced: What `tool_choice`, or its type, is where a tool has to be called.
    """
    choice: Any = params.get("tool_choice")
    kind = cast("Data", choice).get("type") if isinstance(choice, Mapping) else choice
    return (names[0],) if len(names) == 1 and names[0] and kind in forced else ()


def _mappings(value: object) -> list[Data]:
    items = cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else ()
    return [cast("Data", item) for item in items if isinstance(item, Mapping)]
