"""The guard against a provider that misbehaves, over real HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import anyio.lowlevel
import anyio.to_thread
import pytest

from resay import Answer, DeadlineExceededError, Guard, ProviderError, ProviderRefusedError
from resay.adapters.providers import OpenAICompatibleProvider
from simulation import (
    CutConnection,
    EmptyAnswer,
    Fault,
    Hang,
    IdenticalSamples,
    IgnoreN,
    MalformedJson,
    RateLimited,
    Refused,
    ServerError,
    SimulatedProvider,
    Slow,
)

pytestmark = pytest.mark.anyio

QUESTION = "Tell me about the Sydney Harbour Bridge."
DEADLINE_S = 4.0
# Samples after the main call, so that `after=1` in a fault spares exactly the main call.
POLICY = {
    "chain": [{"method": "prompt", "mode": "per_sample"}],
    "sampling": {"start": "after", "confidence": None},
    "cache": {"store": "none"},
    "limits": {"deadline_s": DEADLINE_S, "timeout_s": 1.0, "retries": 1},
}
GUARD = Guard(POLICY, model="openai/simulated")
HASTY = Guard(
    {**POLICY, "limits": {"deadline_s": 1.0, "timeout_s": None, "retries": 0}},
    model="openai/simulated",
)


@pytest.fixture(autouse=True)
async def no_connection_is_left(simulated: SimulatedProvider) -> AsyncIterator[None]:
    """With the provider's pool closed, nobody else holds a connection."""
    yield
    await OpenAICompatibleProvider().aclose()
    with anyio.fail_after(5):
        while simulated.open_connections:  # noqa: ASYNC110 - the server has no event for it
            await anyio.sleep(0.01)


async def ask(simulated: SimulatedProvider, *faults: Fault, guard: Guard = GUARD) -> Answer:
    """Ask with the faults on; afterwards no task of ours and no request may be left."""
    # The provider's connections live on; a first call opens them.
    await Guard({"chain": [{"method": "ngram"}]}, model="openai/simulated").aask(
        QUESTION, params=simulated.params
    )
    before = asyncio.all_tasks()
    simulated.set_faults(*faults)
    try:
        # Nothing here takes that long but a check that forgot its deadline.
        with anyio.fail_after(guard.policy.limits.deadline_s + 30):
            return await guard.aask(QUESTION, params=simulated.params)
    finally:
        await anyio.lowlevel.checkpoint()
        assert asyncio.all_tasks() <= before
        await anyio.to_thread.run_sync(simulated.wait_idle)


@pytest.mark.parametrize(
    "fault",
    [
        RateLimited(retry_after_s=0, after=1),
        ServerError(after=1),
        Refused(after=1),
        CutConnection(after=1),
        MalformedJson(after=1),
        EmptyAnswer(after=1),
        Hang(after=1),
        Slow(seconds=2, after=1),
    ],
    ids=lambda fault: type(fault).__name__,
)
async def test_samples_that_fail_never_cost_the_answer(
    simulated: SimulatedProvider, fault: Fault
) -> None:
    answer = await ask(simulated, fault)
    assert answer.text
    assert answer.action == "annotate"
    assert answer.verdict.inconclusive
    assert answer.verdict.reason.startswith("only 0 usable samples")


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (RateLimited(retry_after_s=0, only="judge"), "ProviderError: rate limited"),
        (ServerError(only="judge"), "ProviderError: HTTP 500"),
        (Refused(only="judge"), "ProviderRefusedError: HTTP 401"),
        (CutConnection(only="judge"), "ProviderError: RemoteProtocolError"),
        (MalformedJson(only="judge"), "ProviderError: no JSON"),
        (Hang(only="judge"), "ProviderTimeoutError"),
        (Slow(seconds=2, only="judge"), "ProviderTimeoutError"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Fault) else "",
)
async def test_a_judge_that_fails_never_costs_the_answer(
    simulated: SimulatedProvider, fault: Fault, kind: str
) -> None:
    answer = await ask(simulated, fault)
    assert answer.text
    assert answer.verdict.inconclusive
    assert answer.verdict.steps[0].failures == {kind: 5}
    assert f"({kind} x5)" in answer.verdict.reason


async def test_nobody_waits_for_a_rate_limit_that_outlasts_the_deadline(
    simulated: SimulatedProvider,
) -> None:
    message = "rate limited by the provider: it asks to wait 3600 s"
    with pytest.raises(ProviderError, match=message):
        await ask(simulated, RateLimited(retry_after_s=3600))
    simulated.set_faults()
    answer = await ask(simulated, RateLimited(retry_after_s=3600, after=1))
    assert "failed: ProviderError: rate limited for 3600 s x" in answer.verdict.reason
    assert answer.verdict.elapsed_s < DEADLINE_S


async def test_a_judge_that_says_nothing_is_undetermined(simulated: SimulatedProvider) -> None:
    answer = await ask(simulated, EmptyAnswer(only="judge"))
    assert answer.verdict.inconclusive
    assert "could not be read" in answer.verdict.reason


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        (RateLimited(retry_after_s=0), ProviderError, "HTTP 429"),
        (ServerError(), ProviderError, "HTTP 500"),
        (ServerError(status=503), ProviderError, "HTTP 503"),
        (Refused(), ProviderRefusedError, "check the API key"),
        (Refused(status=404), ProviderRefusedError, "nothing is at this address"),
        (CutConnection(), ProviderError, "the connection to http://.* broke"),
        (MalformedJson(), ProviderError, "'openai/simulated' answered with something other than"),
        (Hang(), DeadlineExceededError, "did not answer within 1 s"),
        (Slow(seconds=9), DeadlineExceededError, "limits.deadline_s"),
    ],
    ids=lambda value: repr(value) if isinstance(value, Fault) else "",
)
async def test_a_main_call_that_fails_is_a_clear_error(
    simulated: SimulatedProvider, fault: Fault, error: type[Exception], message: str
) -> None:
    # A deadline that passes is waited for.
    guard = HASTY if error is DeadlineExceededError else GUARD
    with pytest.raises(error, match=message) as caught:
        await ask(simulated, fault, guard=guard)
    assert "Sydney" not in str(caught.value)
    assert "simulated-key" not in str(caught.value)


@pytest.mark.parametrize("fault", [RateLimited(retry_after_s=0, first=1), ServerError(first=1)])
async def test_what_passes_is_retried(simulated: SimulatedProvider, fault: Fault) -> None:
    answer = await ask(simulated, fault)
    assert not answer.verdict.inconclusive
    # The failed call is counted: it was sent.
    assert answer.usage.calls == 8


async def test_an_ignored_n_is_topped_up(simulated: SimulatedProvider) -> None:
    answer = await ask(simulated, IgnoreN())
    assert answer.verdict.samples == 5
    assert not answer.verdict.inconclusive


async def test_identical_samples_are_inconclusive(simulated: SimulatedProvider) -> None:
    answer = await ask(simulated, IdenticalSamples())
    assert answer.verdict.inconclusive
    assert answer.verdict.reason.startswith("all 5 samples are identical")


async def test_some_lost_samples_are_borne(simulated: SimulatedProvider) -> None:
    # The request for five samples brings one; of the four that make up the number one is refused.
    answer = await ask(simulated, IgnoreN(after=1, first=1), Refused(after=1, first=1))
    assert answer.verdict.samples == 4
    assert not answer.verdict.inconclusive


async def test_the_deadline_keeps_the_answer(simulated: SimulatedProvider) -> None:
    answer = await ask(simulated, Hang(only="judge"), guard=HASTY)
    assert answer.text
    assert answer.verdict.inconclusive
    assert answer.verdict.reason.startswith("the check did not finish within 1 s")
    assert answer.verdict.steps[0].usage.calls == 5


async def test_on_error_block_withholds_what_could_not_be_checked(
    simulated: SimulatedProvider,
) -> None:
    guard = Guard({**POLICY, "on_error": "block"}, model="openai/simulated")
    answer = await ask(simulated, ServerError(after=1), guard=guard)
    assert answer.blocked
    assert answer.text != answer.response


async def test_a_caller_who_leaves_takes_everything_along(simulated: SimulatedProvider) -> None:
    before = asyncio.all_tasks()
    simulated.set_faults(Hang())
    asking = asyncio.create_task(
        Guard({"chain": [{"method": "ngram"}]}, model="openai/simulated").aask(
            QUESTION, params=simulated.params
        )
    )
    # Main call and samples start together.
    await anyio.to_thread.run_sync(simulated.wait_calls, 2)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await anyio.to_thread.run_sync(simulated.wait_idle)
    left = {t for t in asyncio.all_tasks() - before if "resay" in t.get_coro().cr_code.co_filename}
    assert not left
