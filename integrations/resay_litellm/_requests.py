"""Requests as LiteLLM's hooks receive them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from resay.adapters import field_of

# LiteLLM's own bookkeeping in a request, and parameters that would answer a sample from elsewhere.
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
    """Return the parameters that the user set, as other hooks left them.

    Args:
        data: The request as hooks receive it.
    """
    sent = _sent(data)
    params: dict[str, Any] = {}
    for name, value in data.items():
        is_internal = name in _BOOKKEEPING or name.startswith("_")
        if value is not None and not is_internal and (sent is None or name in sent):
            params[name] = value
    return params


def _sent(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the request as the proxy's client sent it, or None without a proxy."""
    request = data.get("proxy_server_request")
    body = cast("Mapping[str, Any]", request).get("body") if isinstance(request, Mapping) else None
    return cast("Mapping[str, Any]", body) if isinstance(body, Mapping) else None


def proxy_router() -> Any:
    """Return the router of the proxy that this process runs, or None outside a proxy."""
    # Not imported: a running proxy has loaded the module already.
    return getattr(sys.modules.get("litellm.proxy.proxy_server"), "llm_router", None)


def _look_up(router: Any, name: str, old_name: str, *args: object) -> Any:
    """Ask a router, if there is one; litellm 1.110 deprecates the old names of its methods."""
    if hasattr(router, "registry"):
        return getattr(router.registry(), name)(*args)
    return None if router is None else getattr(router, old_name)(*args)


def _has_deployment(router: Any, name: str) -> bool:
    return bool(_look_up(router, "has_deployment", "has_model_id", name))


@dataclass(frozen=True, slots=True)
class Target:
    """The deployment that answered, for further requests to it.

    Attributes:
        router: The proxy's router, or None if it has none.
        model: The id of the deployment, or if unknown, the model that the client named.
    """

    router: Any
    model: str | None

    @classmethod
    def of(cls, data: Mapping[str, Any], response: object) -> Target:
        """Find the deployment that answered.

        A model group's name would not do: the router spreads its requests over deployments, which
        may be different models.

        Args:
            data: The request.
            response: The response, or the stream.
        """
        router = proxy_router()
        for candidate in _ids(data, response):
            if isinstance(candidate, str) and _has_deployment(router, candidate):
                return cls(router, candidate)
        return cls(router, data.get("model"))

    def knows(self, model: str) -> bool:
        """Return whether the router has a deployment, or a group, of this name."""
        if _has_deployment(self.router, model):
            return True
        return model in (_look_up(self.router, "names", "get_model_names") or ())

    @property
    def litellm_model(self) -> str | None:
        """The deployment's model as litellm names it, or None if unknown."""
        if self.router is None:
            return self.model
        deployment = _look_up(self.router, "deployment", "get_deployment", self.model)
        return field_of(field_of(deployment, "litellm_params"), "model")


def _ids(data: Mapping[str, Any], response: object) -> Iterator[object]:
    yield field_of(field_of(response, "_hidden_params"), "model_id")
    for name in ("metadata", "litellm_metadata"):
        yield field_of(field_of(data.get(name), "model_info"), "id")
    yield field_of(field_of(cast("object", data.get("deployment")), "model_info"), "id")
