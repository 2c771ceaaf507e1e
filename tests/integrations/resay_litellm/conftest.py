"""litellm's own router over a provider which knows one half of its world, as the proxy's."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from simulation import SimulatedProvider
from support.known_world import WORLD
from support.litellm import retire


@pytest.fixture
def provider() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=5, world=WORLD) as provider:
        yield provider


@pytest.fixture
async def router(
    litellm: Any,
    provider: SimulatedProvider,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> AsyncIterator[Any]:
    """A router with two deployments of one model group, where the proxy has its own.

    An indirect parameter is a mapping of further arguments of the router.
    """
    monkeypatch.setattr(litellm, "callbacks", [])
    # litellm's own keeps a session for each event loop.
    monkeypatch.setattr(litellm, "disable_aiohttp_transport", True)
    models = {
        "dep-a": ("chat", "openai/sim-a", provider.base_url),
        "dep-b": ("chat", "openai/sim-b", provider.base_url),
        "dep-judge": ("judge-group", "openai/sim-judge", provider.base_url),
        "dep-claude": ("claude", "anthropic/claude-sim", provider.base_url.removesuffix("/v1")),
    }
    router = litellm.Router(
        model_list=[
            {
                "model_name": group,
                "litellm_params": {"model": model, "api_base": base, "api_key": "simulated"},
                "model_info": {"id": deployment},
            }
            for deployment, (group, model, base) in models.items()
        ],
        disable_cooldowns=True,
        num_retries=0,
        **getattr(request, "param", {}),
    )
    proxy: Any = ModuleType("litellm.proxy.proxy_server")
    proxy.llm_router = router
    monkeypatch.setitem(sys.modules, proxy.__name__, proxy)
    yield router
    retire(router)


@pytest.fixture
def make_guardrail(router: Any) -> Callable[..., Any]:
    """Make guardrails as the proxy does, with a lot of parameters of others."""
    from resay_litellm import HallucinationGuardrail

    def make(policy: Any, **kwargs: Any) -> Any:
        given = {
            "guardrail_name": "hallucination",
            "event_hook": "post_call",
            "default_on": True,
            "on_flagged": "block",
            "verify_ssl": True,
        }
        return HallucinationGuardrail(policy=policy, **{**given, **kwargs})

    return make
