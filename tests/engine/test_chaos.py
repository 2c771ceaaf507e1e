"""The guard through random faults, cancellations and deadlines, over real HTTP.

A seeded share of what `python -m performance chaos` sends; the bench sends 2,000.
"""

from __future__ import annotations

from typing import Any

import pytest

from performance import chaos
from performance.chaos_plan import POLICIES, WEATHERS, draw
from resay.adapters.providers import LiteLLMProvider
from resay.providers.openai_compatible import OpenAICompatibleProvider

REQUESTS, SEED = 40, 391


@pytest.mark.anyio
@pytest.mark.timeout(180)
@pytest.mark.parametrize("provider", [LiteLLMProvider, OpenAICompatibleProvider])
# litellm makes a coroutine in a thread; a caller who is cancelled meanwhile never awaits it.
@pytest.mark.filterwarnings("ignore:coroutine 'OpenAIChatCompletion:RuntimeWarning")
async def test_every_request_ends_in_time_and_leaves_nothing_behind(
    litellm: Any, provider: type[Any]
) -> None:
    report = await chaos.run(REQUESTS, concurrency=50, seed=SEED, provider=provider())
    assert not report.problems, "\n".join(report.problems)
    assert sum(report.outcomes.values()) == REQUESTS
    # Which trouble a request meets first depends on the machine's load; what is planned is below.
    assert len(report.outcomes) >= 4
    assert report.outcomes["answered"] > REQUESTS / 10
    assert report.calls[0] >= report.calls[1] > REQUESTS


def test_the_plan_is_the_same_for_the_same_seed_and_leaves_nothing_out() -> None:
    plans = draw(REQUESTS, SEED)
    assert draw(REQUESTS, SEED) == plans
    assert draw(REQUESTS, 2) != plans
    assert {plan.policy for plan in plans} == set(range(len(POLICIES)))
    assert {plan.mode for plan in plans} == {None, "hold", "after", "buffer"}
    assert sum(plan.cancel_s is not None for plan in plans) > REQUESTS / 20
    assert sum(plan.leave_after is not None for plan in plans) > REQUESTS / 20
    struck = {type(fault).__name__ for faults in WEATHERS.values() for fault in faults}
    assert {"Hang", "Stall", "CutConnection", "MalformedJson", "RefusedLogprobs"} <= struck
