"""How the deployment that answered is asked again, and the models that a policy names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from resay.adapters import Upstream, litellm_provider, marked
from resay.adapters.upstream import JudgeProvider
from resay.core.query import Query
from resay.errors import ProviderRefusedError
from resay.providers.apis import Body
from resay.providers.base import Completions
from resay_litellm._chat import CHAT
from resay_litellm._formats import Format
from resay_litellm._pieces import HIDDEN, field
from resay_litellm._router import Target

__all__ = ["upstream_of"]

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
    return {**form.body(response), HIDDEN: field(response, HIDDEN)}


def _cost_usd(body: Body) -> float | None:
    cost = field(body.get(HIDDEN), "response_cost")
    return cost if isinstance(cost, (int, float)) else None
