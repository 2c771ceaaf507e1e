"""The guard's own requests, through LiteLLM."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from resay import Request
from resay.adapters import field_of, marked
from resay.adapters.apis import Body
from resay.adapters.upstream import JudgeProvider, Upstream, litellm_provider
from resay.errors import ProviderRefusedError
from resay.plugins import Completions
from resay_litellm._formats import CHAT, HIDDEN, Format
from resay_litellm._requests import Target

# A cached answer is no sample, and the guard does the retries.
_FRESH = {"no-cache": True, "no-store": True}
_PER_CALL: dict[str, Any] = {"cache": _FRESH, "caching": False, "num_retries": 0, "stream": False}


def upstream_of(form: Format, target: Target, request: Body) -> Upstream:
    """Return how to send the guard's own requests for a request.

    The result has no `source`: a deployment can be reconfigured while the proxy runs, so its
    answers are never cached for other requests.

    Args:
        form: The format of the request.
        target: The deployment that answered it.
        request: The request, with the endpoint and credentials that it may name.
    """
    connection = Request((), None, request).connection

    async def ask(body: Body) -> Body:
        return await _ask(form, target, {**connection, **body})

    async def takes_n() -> bool:
        request = Request((), target.litellm_model, connection)
        return request.model is not None and await litellm_provider().takes_n(request)

    return Upstream(
        ask,
        named_provider=lambda: _NamedModels(target),
        via="litellm",
        takes_n=takes_n,
        cost_usd=_cost_usd,
        endpoint=None if target.model is None else f"litellm {target.model}",
    )


class _NamedModels:
    """Answers requests for a model by name, from the proxy's model of that name or else litellm."""

    def __init__(self, target: Target) -> None:
        self._target = target

    async def takes_n(self, request: Request) -> bool:
        """Return whether litellm forwards `n`; the proxy's own models give one answer at a time."""
        if request.model is not None and self._target.knows(request.model):
            return False
        return await litellm_provider().takes_n(request)

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Send one request.

        Raises:
            ProviderError: The request failed.
        """
        if request.model is None or not self._target.knows(request.model):
            with marked():
                return await litellm_provider().complete(request, n=n)
        upstream = upstream_of(CHAT, self._target, {})
        judge = JudgeProvider(CHAT.api, {"model": request.model}, upstream)
        return await judge.complete(replace(request, model=None))


async def _ask(form: Format, target: Target, body: Body) -> Body:
    import litellm

    model: Any = body.get("model")
    if not model:
        raise ProviderRefusedError("LiteLLM does not say which model answered")
    kwargs = {**body, **_PER_CALL}
    if target.knows(model):
        call: Any = getattr(target.router, form.method)
        # Another model's answer is no sample either.
        kwargs["disable_fallbacks"] = True
    else:
        call = getattr(litellm, form.function)
        if form is CHAT:
            kwargs["max_retries"] = 0
    if body.get("tools") and find_spec("mcp") is None:
        # litellm 1.106 checks every tool for MCP, with a package that it does not install.
        kwargs["_skip_mcp_handler"] = True
    response = await call(**kwargs)
    return {**form.body(response), HIDDEN: field_of(response, HIDDEN)}


def _cost_usd(body: Body) -> float | None:
    cost = field_of(body.get(HIDDEN), "response_cost")
    return cost if isinstance(cost, (int, float)) else None
