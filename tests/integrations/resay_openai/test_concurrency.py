"""Many calls at once, and calls that nobody waits for any more."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest

from resay_openai import GuardedAsyncOpenAI, GuardedOpenAI, verdict_of
from simulation import Hang, SimulatedProvider, Stall
from support.known_world import KNOWN, MADE_UP, WORLD

pytestmark = pytest.mark.anyio

POLICY = {
    "cache": {"store": "none"},
    "chain": [{"method": "prompt", "mode": "per_sample"}],
    "sampling": {"max": 2, "confidence": None},
}
STREAMS = ["after", "hold", "buffer"]


def asking(question: str) -> Any:
    return {"model": "simulated", "messages": [{"role": "user", "content": question}]}


def assert_own(answer: Any, question: str) -> None:
    verdict = verdict_of(answer)
    assert verdict is not None
    assert all(s.text in answer.choices[0].message.content for s in verdict.sentences)
    assert verdict.flagged == (question == MADE_UP)


async def test_calls_on_one_client_do_not_mix(provider) -> None:
    questions = [MADE_UP, KNOWN] * 8
    async with GuardedAsyncOpenAI(policy=POLICY, base_url=provider.base_url, api_key="k") as client:
        calls = [client.chat.completions.create(**asking(question)) for question in questions]
        answers = await asyncio.gather(*calls)
    for answer, question in zip(answers, questions, strict=True):
        assert_own(answer, question)


def test_calls_in_threads_do_not_mix(provider) -> None:
    questions = [MADE_UP, KNOWN] * 10
    with (
        GuardedOpenAI(policy=POLICY, base_url=provider.base_url, api_key="k") as client,
        ThreadPoolExecutor(10) as pool,
    ):
        answers = list(pool.map(lambda q: client.chat.completions.create(**asking(q)), questions))
    for answer, question in zip(answers, questions, strict=True):
        assert_own(answer, question)


@pytest.fixture
def slow() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=5, world=WORLD, latency_s=30) as provider:
        yield provider


async def test_a_cancelled_call_leaves_nothing_behind(provider) -> None:
    provider.set_faults(Hang())
    async with GuardedAsyncOpenAI(policy=POLICY, base_url=provider.base_url, api_key="k") as client:
        call = asyncio.create_task(client.chat.completions.create(**asking(MADE_UP)))
        await anyio.to_thread.run_sync(provider.wait_calls, 2)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await anyio.to_thread.run_sync(provider.wait_idle)


@pytest.mark.parametrize("mode", STREAMS)
async def test_an_async_stream_left_early_leaves_nothing_behind(slow, mode) -> None:
    policy = POLICY | {"stream_mode": mode}
    async with GuardedAsyncOpenAI(policy=policy, base_url=slow.base_url, api_key="k") as client:
        stream = await client.chat.completions.create(**asking(MADE_UP), stream=True)
        if mode == "after":
            await anext(aiter(stream))
        await stream.close()
        await anyio.to_thread.run_sync(slow.wait_idle)


@pytest.mark.parametrize("mode", STREAMS)
def test_a_stream_left_early_leaves_nothing_behind(slow, mode) -> None:
    # A sample that a thread waits for comes to its end, since no thread can be stopped.
    policy = POLICY | {"stream_mode": mode, "sampling": {"max": 2, "start": "after"}}
    with GuardedOpenAI(policy=policy, base_url=slow.base_url, api_key="k") as client:
        with client.chat.completions.create(**asking(MADE_UP), stream=True) as stream:
            if mode == "after":
                next(iter(stream))
        slow.wait_idle()


@pytest.mark.parametrize("mode", STREAMS)
async def test_a_stream_that_nobody_waits_for_is_left(provider, mode) -> None:
    provider.set_faults(Stall(first=1))
    policy = POLICY | {"stream_mode": mode}
    async with GuardedAsyncOpenAI(policy=policy, base_url=provider.base_url, api_key="k") as client:
        with anyio.move_on_after(0.2) as scope:
            async for _ in await client.chat.completions.create(**asking(MADE_UP), stream=True):
                pass
        assert scope.cancelled_caught
    await anyio.to_thread.run_sync(provider.wait_idle)
