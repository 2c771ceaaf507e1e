"""One request has one budget, however many answers it asks for."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from resay import Usage
from resay.errors import BudgetExceededError
from resay.providers.limits import Budget
from resay_server.gateway import GatewayConfig
from resay_server.gateway.errors import RefusedError
from resay_server.gateway.shared import Quotas
from simulation import SimulatedProvider
from support.gateway import CHAT, Gateways

# Asks the judge about each sentence and each sample.
JUDGED = "chain: [{method: prompt, form: published}]\nsampling: {max: 3, confidence: null}\n"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("n", [1, 2, 6, 16])
def test_all_answers_share_the_policys_limits(
    gateways: Gateways, simulated: SimulatedProvider, stream: bool, n: int
) -> None:
    served = gateways.start(f"{JUDGED}limits: {{calls: 9}}\n")
    before = len(simulated.requests)
    response = served.post(json={**CHAT, "n": n, "stream": stream})
    assert response.status_code == 200
    # The main call, and the check's.
    assert len(simulated.requests) - before <= 1 + 9
    (seen,) = served.seen(1)
    assert seen.check_usage.calls <= 9
    assert all(answer.verdict.decision != "consistent" for answer in seen.answers[1:])


def test_what_is_automatic_is_bounded_for_all_answers_together(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    served = gateways.start(JUDGED)
    calls: list[int] = []
    for n in (2, 16):
        before = len(simulated.requests)
        assert served.post(json={**CHAT, "n": n}).status_code == 200
        calls.append(len(simulated.requests) - before)
    assert calls[0] < calls[1] <= 1001


@pytest.mark.parametrize("stream", [False, True])
def test_more_answers_than_there_may_be_are_refused_before_the_main_call(
    gateways: Gateways, simulated: SimulatedProvider, stream: bool
) -> None:
    served = gateways.start(limits={"answers": 3})
    before = len(simulated.requests)
    refused = served.post(json={**CHAT, "n": 4, "stream": stream})
    assert refused.status_code == 400
    error = refused.json()["error"]
    assert error["code"] == "too_many_answers"
    assert "`limits.answers`" in error["message"]
    assert len(simulated.requests) == before
    assert served.post(json={**CHAT, "n": 3}).status_code == 200


@pytest.mark.parametrize("n", [1, 4, 16])
def test_a_request_makes_no_more_calls_than_its_quota_has_left(
    gateways: Gateways, simulated: SimulatedProvider, n: int
) -> None:
    served = gateways.start(JUDGED, quotas={"default": {"calls_per_day": 6}})
    before = len(simulated.requests)
    answered = served.post(json={**CHAT, "n": n})
    assert answered.status_code == 200
    assert "quota" in answered.json()["hallucination"]["reason"]
    served.seen(1)
    assert served.post().json()["error"]["code"] == "quota_exceeded"
    assert len(simulated.requests) - before == 6


def test_requests_at_the_same_time_do_not_exceed_a_quota_together(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    served = gateways.start(JUDGED, quotas={"default": {"calls_per_day": 10}})

    async def ask_all() -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(anyio.to_thread.run_sync, served.post)

    before = len(simulated.requests)
    anyio.run(ask_all)
    assert len(simulated.requests) - before <= 10


def quotas(**quota: Any) -> Quotas:
    told = {"upstream": {"url": "http://127.0.0.1:9/v1"}, "quotas": {"default": quota}}
    return Quotas(GatewayConfig.of(told), None)


def test_a_call_is_counted_before_it_is_sent() -> None:
    async def run() -> None:
        limited = quotas(calls_per_day=3)
        async with limited.admit(None, None):
            budget = Budget(calls=100)
            assert budget.calls_left == 2
            with budget.reserve() as call:
                call.is_sent = True
            async with limited.admit(None, None):
                # Its main call is the third.
                with pytest.raises(BudgetExceededError, match="quota"), budget.reserve():
                    pass
                with pytest.raises(RefusedError, match="quota"):
                    async with limited.admit(None, None):
                        pass
            # That was over before it spent anything.
            assert budget.calls_left == 1
            with budget.reserve():
                assert budget.calls_left == 0
            assert budget.calls_left == 1
        # Nothing was recorded.
        async with limited.admit(None, None):
            assert Budget().calls_left == 2

    anyio.run(run)


@pytest.mark.parametrize(
    ("quota", "usage"),
    [
        ({"tokens_per_day": 50}, Usage(1, 30, 20, 0.0)),
        ({"cost_usd_per_day": 0.5}, Usage(1, 1, 1, 0.5)),
        ({"cost_usd_per_day": 0.5}, Usage(1, 1, 1, None)),
    ],
)
def test_what_a_call_used_counts_at_once(quota: dict[str, Any], usage: Usage) -> None:
    async def run() -> None:
        async with quotas(**quota).admit(None, None):
            budget, other = Budget(calls=100), Budget(calls=100)
            assert other.exhausted is None
            with budget.reserve() as call:
                call.is_sent = True
            budget.spend(usage, "m")
            assert other.exhausted is not None
            assert other.calls_left == 0

    anyio.run(run)
