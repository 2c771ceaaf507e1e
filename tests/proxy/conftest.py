"""LiteLLM's own proxy on loopback, with our guardrail under one name for each policy."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from simulation import SimulatedProvider
from support.known_world import WORLD
from support.proxy import KEY, free_port, running

NGRAM = {"chain": [{"method": "ngram"}], "sampling": {"max": 3, "min": 3}}
STRICT = {**NGRAM, "threshold": {"passage": 0.0, "sentence": 0.0}}
BLOCK = {**STRICT, "action": {"do": "block", "message": "Withheld."}}
POLICIES = {
    "annotate": {**NGRAM, "stream_mode": "after"},
    "hold": {**NGRAM, "stream_mode": "hold"},
    "block": {**BLOCK, "stream_mode": "buffer"},
    "block-hold": {**BLOCK, "stream_mode": "hold"},
    "block-after": {**BLOCK, "stream_mode": "after"},
    "raise": {**STRICT, "action": {"do": "block", "exit": "raise"}, "stream_mode": "buffer"},
    "raise-after": {**STRICT, "action": {"do": "block", "exit": "raise"}, "stream_mode": "after"},
    "judge": {"chain": [{"method": "prompt", "judge": "judge-group"}], "sampling": {"max": 2}},
    "own-judge": {"chain": [{"method": "prompt"}], "sampling": {"max": 2}},
    "elsewhere": {**NGRAM, "sampling": {"max": 2, "min": 2, "model": "judge-group"}},
}


@pytest.fixture(scope="session")
def upstream() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=5, world=WORLD) as provider:
        yield provider


@pytest.fixture(scope="session")
def proxy(upstream: SimulatedProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("proxy")
    with running(_config(upstream, folder), folder, free_port()) as url:
        yield url


def _config(upstream: SimulatedProvider, folder: Path) -> dict[str, Any]:
    (folder / "policy.yaml").write_text(json.dumps(POLICIES["annotate"]))
    root = upstream.base_url.removesuffix("/v1")
    models = {
        "dep-a": ("chat", "openai/sim-a", upstream.base_url),
        "dep-b": ("chat", "openai/sim-b", upstream.base_url),
        "dep-judge": ("judge-group", "openai/sim-judge", upstream.base_url),
        "dep-claude": ("claude", "anthropic/claude-sim", root),
    }
    return {
        "model_list": [
            {
                "model_name": group,
                "litellm_params": {"model": model, "api_base": base, "api_key": "simulated"},
                "model_info": {"id": deployment},
            }
            for deployment, (group, model, base) in models.items()
        ],
        "guardrails": [
            {
                "guardrail_name": name,
                "litellm_params": {
                    "guardrail": "resay_litellm.HallucinationGuardrail",
                    "mode": "post_call",
                    "default_on": False,
                    # By its path once, inline otherwise.
                    "policy": "policy.yaml" if name == "annotate" else policy,
                },
            }
            for name, policy in POLICIES.items()
        ],
        "router_settings": {"disable_cooldowns": True, "num_retries": 0},
    }


@pytest.fixture
def client(proxy: str) -> Iterator[Any]:
    import openai

    with openai.OpenAI(base_url=f"{proxy}/v1", api_key=KEY, max_retries=0) as client:
        yield client


@pytest.fixture
def claude(proxy: str) -> Iterator[Any]:
    import anthropic

    with anthropic.Anthropic(base_url=proxy, api_key=KEY, max_retries=0) as client:
        yield client


@pytest.fixture
def sent(upstream: SimulatedProvider) -> Callable[[], list[dict[str, Any]]]:
    """Return what has been sent to the provider since the test began."""
    before = len(upstream.requests)
    return lambda: [record.body or {} for record in upstream.requests[before:]]
