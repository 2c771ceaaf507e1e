"""What of a request in LiteLLM's hands is the user's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

__all__ = ["user_params"]

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


def user_params(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the user asked for, as other hooks have left it.

    Args:
        data: The request as hooks see it.
    """
    sent = _sent(data)
    names = data.keys() if sent is None else [name for name in data if name in sent]
    return {
        name: data[name]
        for name in names
        if name not in _BOOKKEEPING and not name.startswith("_") and data[name] is not None
    }


def _sent(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the request as the proxy's client sent it, where there is a proxy."""
    request = data.get("proxy_server_request")
    body = cast("Mapping[str, Any]", request).get("body") if isinstance(request, Mapping) else None
    return cast("Mapping[str, Any]", body) if isinstance(body, Mapping) else None
