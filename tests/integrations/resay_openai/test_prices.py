"""Dollars, of which OpenAI's SDK tells nothing."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from resay_openai import verdict_of
from simulation import SimulatedProvider
from support.known_world import MADE_UP

pytestmark = pytest.mark.anyio

JUDGED = {
    "cache": {"store": "none"},
    "chain": [{"method": "prompt", "mode": "per_sample"}],
    "sampling": {"max": 3, "confidence": None, "start": "after"},
}
# A thousandth of a dollar for each token.
PRICES = {"prices": {"mine": {"input": 1000, "output": 1000}}}
ASKED: list[Any] = [{"role": "user", "content": MADE_UP}]


def chat(client: Any, **kwargs: Any) -> Any:
    return client.chat.completions.create(messages=ASKED, **{"model": "mine", **kwargs})


def tokens_beside(provider: SimulatedProvider) -> int:
    _, *beside = provider.requests
    return sum(request.prompt_tokens + request.completion_tokens for request in beside)


async def test_samples_and_judges_have_their_price(make, done, provider) -> None:
    verdict = verdict_of(await done(chat(make(JUDGED | PRICES))))
    assert len(provider.requests) == 5
    assert verdict.usage.cost_usd == pytest.approx(tokens_beside(provider) / 1000)


async def test_other_apis_have_too(make, done, provider) -> None:
    client = make(JUDGED | PRICES)
    for ask in (
        lambda: client.responses.create(model="mine", input=MADE_UP),
        lambda: client.completions.create(model="mine-2025-04-14", prompt=MADE_UP),
        lambda: chat(client, stream=True),
    ):
        given = await done(ask())
        verdict = verdict_of(given[-1] if isinstance(given, list) else given)
        assert verdict.usage.cost_usd == pytest.approx(verdict.usage.tokens / 1000)


async def test_a_check_stops_at_what_it_may_cost(make, done, provider) -> None:
    # The samples alone cost more.
    client = make(JUDGED | PRICES | {"limits": {"cost_usd": 0.01}})
    verdict = verdict_of(await done(chat(client)))
    assert verdict.decision == "inconclusive"
    assert "the check has used its $0.01" in verdict.reason
    assert len(provider.requests) == 2
    assert verdict.usage.cost_usd > 0.01


async def test_a_model_that_costs_nothing_is_asked_on(make, done, provider) -> None:
    free = {"prices": {"mine": {"input": 0, "output": 0}}, "limits": {"cost_usd": 0.01}}
    verdict = verdict_of(await done(chat(make(JUDGED | free))))
    assert (verdict.flagged, verdict.usage.cost_usd) == (True, 0.0)


async def test_a_price_that_is_not_known_is_not_made_up(make, done, provider) -> None:
    assert verdict_of(await done(chat(make(JUDGED | {}), model="fast"))).usage.cost_usd is None
    limited = JUDGED | PRICES | {"limits": {"cost_usd": 0.01}}
    verdict = verdict_of(await done(chat(make(limited), model="fast")))
    assert "is unknown, so `limits.cost_usd` cannot be enforced" in verdict.reason


@pytest.mark.skipif(find_spec("litellm") is None, reason="litellm is not installed")
async def test_litellms_list_has_the_price_of_what_the_policy_leaves_out(make, done) -> None:
    usage = verdict_of(await done(chat(make(JUDGED), model="gpt-4o-mini"))).usage
    assert usage.cost_usd is not None
    assert 0 < usage.cost_usd < 0.01
