"""The user's part of a request, the deployment that answered it, and how that is asked again."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, cast

from resay.adapters import Upstream, litellm_provider, marked
from resay.adapters.upstream import JudgeProvider
from resay.core.logprobs import field_of
from resay.core.query import Query
from resay.errors import ProviderRefusedError
from resay.providers.apis import Body
from resay.providers.base import Completions
from resay_litellm._formats import CHAT, HIDDEN, Format

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


_PROXY = "litellm.proxy.proxy_server"


def proxy_router() -> Any:
    """Return the router of the proxy that this process is, None outside of one."""
    # Not imported: it is there, or this is no proxy.
    return getattr(sys.modules.get(_PROXY), "llm_router", None)


@dataclass(frozen=True, slots=True)
class Target:
    """Who answered, and so is asked again.

    Attributes:
        router: The proxy's router; None where it has none.
        model: The deployment, by its id; the model that the client named where it is not known.
    """

    router: Any
    model: str | None

    @classmethod
    def of(cls, data: Mapping[str, Any], response: object) -> Target:
        """Find out who answered.

        A model group's name would not do: the router spreads its requests over deployments, which
        may be different models.

        Args:
            data: The request.
            response: The response, or the stream.
        """
        router = proxy_router()
        for candidate in _ids(data, response):
            if isinstance(candidate, str) and router is not None and router.has_model_id(candidate):
                return cls(router, candidate)
        return cls(router, data.get("model"))

    def knows(self, model: str) -> bool:
        """Return whether the router has a deployment, or a group, of this name."""
        if self.router is None:
            return False
        return self.router.has_model_id(model) or model in self.router.get_model_names()

    @property
    def litellm_model(self) -> str | None:
        """What litellm calls the deployment's model; None where one cannot tell."""
        if self.router is None:
            return self.model
        deployment = self.router.get_deployment(self.model)
        return field_of(field_of(deployment, "litellm_params"), "model")


def _ids(data: Mapping[str, Any], response: object) -> Iterator[object]:
    yield field_of(field_of(response, "_hidden_params"), "model_id")
    for name in ("metadata", "litellm_metadata"):
        yield field_of(field_of(data.get(name), "model_info"), "id")
    yield field_of(field_of(cast("object", data.get("deployment")), "model_info"), "id")


# A cached answer is no sample, and retries are the guard's.
_PER_CALL: Mapping[str, Any] = {
    "cache": {"no-cache": True, "no-store": True},
    "caching": False,
    "num_retries": 0,
    "stream": False,
}


def upstream_of(form: Format, target: Target, asked: Body) -> Upstream:
    """Return how to ask beside a request.

    It has no `source`: what a deployment is can be changed while the proxy runs, so its answers are
    never kept for another request.

    Args:
        form: The format of the request.
        target: Who answered it.
        asked: The request. It may say where it went, and who paid.
    """
    way = Query((), None, asked).connection

    async def ask(body: Body) -> Body:
        return await _ask(form, target, {**way, **body})

    async def takes_n() -> bool:
        query = Query((), target.litellm_model, way)
        return query.model is not None and await litellm_provider().takes_n(query)

    return Upstream(
        ask,
        elsewhere=lambda: _Named(target),
        via="litellm",
        takes_n=takes_n,
        cost_usd=_cost_usd,
    )


class _Named:
    """Answers for models by their names: the proxy's model of that name, or else litellm's."""

    def __init__(self, target: Target) -> None:
        self._target = target

    async def takes_n(self, query: Query) -> bool:
        """Return whether litellm forwards `n`; of the proxy's models one is asked for one."""
        known = query.model is not None and self._target.knows(query.model)
        return not known and await litellm_provider().takes_n(query)

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Send one request.

        Raises:
            ProviderError: There was no answer.
        """
        if query.model is None or not self._target.knows(query.model):
            with marked():
                return await litellm_provider().complete(query, n=n)
        upstream = upstream_of(CHAT, self._target, {})
        judge = JudgeProvider(CHAT.api, {"model": query.model}, upstream)
        return await judge.complete(replace(query, model=None))


async def _ask(form: Format, target: Target, body: Body) -> Body:
    import litellm

    model: Any = body.get("model")
    if not model:
        raise ProviderRefusedError("LiteLLM does not say which model answered")
    known = target.knows(model)
    call: Any = getattr(target.router, form.method) if known else getattr(litellm, form.function)
    kwargs = {**body, **_PER_CALL}
    if known:
        # Another model's answer is no sample either.
        kwargs["disable_fallbacks"] = True
    elif form is CHAT:
        kwargs["max_retries"] = 0
    if body.get("tools") and find_spec("mcp") is None:
        # litellm 1.106 looks for MCP in every tool, with a package that it does not install.
        kwargs["_skip_mcp_handler"] = True
    response = await call(**kwargs)
    return {**form.body(response), HIDDEN: field_of(response, HIDDEN)}


def _cost_usd(body: Body) -> float | None:
    cost = field_of(body.get(HIDDEN), "response_cost")
    return cost if isinstance(cost, (int, float)) else None
