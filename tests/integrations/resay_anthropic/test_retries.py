"""Attempts of the SDK: samples belong to the call, and end with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anthropic
import anyio
import anyio.to_thread
import pytest
from anthropic import Anthropic, AsyncAnthropic

from resay import HallucinationBlocked
from resay.adapters.http import package_of
from resay.errors import DeadlineExceededError
from resay_anthropic import HallucinationMiddleware, guard_client, verdict_of
from simulation import Hang, ServerError, SimulatedProvider

pytestmark = pytest.mark.anyio

HTTP: Any = package_of(anthropic.DefaultHttpxClient)
POLICY = {"chain": [{"method": "ngram"}], "sampling": {"max": 2}}


def asked(question: str = "What is Canberra?", **further: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": question}]
    return {"model": "simulated", "max_tokens": 300, "messages": messages, **further}


def waiting(client: Any) -> int:
    """Return how many calls wait for their next attempt."""
    (middleware,) = (m for m in client.middleware if isinstance(m, HallucinationMiddleware))
    return len(middleware._calls)


async def idle(provider: SimulatedProvider) -> None:
    await anyio.to_thread.run_sync(provider.wait_idle)


async def only(tasks: set[Any]) -> bool:
    """Return whether nothing else is running, once what is ending has ended."""
    ending = asyncio.all_tasks() - tasks
    if ending:
        await asyncio.wait(ending, timeout=5)
    return asyncio.all_tasks() <= tasks


FAILURES = [
    429,
    500,
    409,
    HTTP.ConnectError("on command"),
    HTTP.ReadTimeout("on command"),
]


@pytest.mark.parametrize("failure", FAILURES, ids=str)
async def test_samples_are_asked_for_once(
    guarded: Callable[..., Any], line: Any, failure: Any
) -> None:
    guard = guarded(POLICY)
    line.failures.extend([failure, failure])
    line.samples_first = 2
    message = await guard.ask(**asked())
    verdict = verdict_of(message)
    assert verdict is not None
    assert (verdict.decision, verdict.samples) == ("consistent", 2)
    assert (line.sent, len(line.samples)) == (3, 2)
    assert waiting(guard.client) == 0


@pytest.mark.parametrize("failure", [500, 400], ids=str)
async def test_nothing_is_left_of_a_call_that_failed(
    guarded: Callable[..., Any], line: Any, provider: SimulatedProvider, failure: int
) -> None:
    guard = guarded(POLICY)
    provider.set_faults(Hang())
    line.failures.extend([failure] * 3)
    line.samples_first = 2
    with pytest.raises(anthropic.APIStatusError) as error:
        await guard.ask(**asked())
    assert error.value.status_code == failure
    assert line.sent == (3 if failure == 500 else 1)
    assert len(line.samples) == 2
    assert waiting(guard.client) == 0
    if isinstance(guard.client, AsyncAnthropic):
        await idle(provider)
    provider.release()


@pytest.mark.parametrize("told", ["true", "false"])
async def test_the_provider_has_a_say(guarded: Callable[..., Any], line: Any, told: str) -> None:
    guard = guarded(POLICY)
    line.headers = {"x-should-retry": told}
    line.failures.append(400 if told == "true" else 500)
    line.samples_first = 2
    if told == "true":
        await guard.ask(**asked())
    else:
        with pytest.raises(anthropic.InternalServerError):
            await guard.ask(**asked())
    assert len(line.samples) == 2
    assert waiting(guard.client) == 0


@pytest.mark.all_turns
async def test_a_client_without_retries_keeps_nothing(
    guarded: Callable[..., Any], line: Any
) -> None:
    guard = guarded(POLICY)
    client = guard.client = guard.client.with_options(max_retries=0)
    line.failures.append(500)
    with pytest.raises(anthropic.InternalServerError):
        await guard.ask(**asked())
    assert waiting(client) == 0


@pytest.mark.all_turns
async def test_a_policy_may_sample_after_the_answer(guarded: Callable[..., Any], line: Any) -> None:
    guard = guarded({**POLICY, "sampling": {"max": 2, "start": "after"}})
    line.failures.extend([500, 500])
    await guard.ask(**asked())
    assert [line.sent, len(line.samples)] == [3, 2]
    first_sample = min(sample.started_s for sample in line.samples)
    main = next(r for r in line.provider.requests if r not in line.samples)
    assert main.ended_s is not None
    assert main.ended_s <= first_sample


@pytest.mark.all_turns
async def test_streams_are_sampled_when_they_are_open(
    guarded: Callable[..., Any], line: Any
) -> None:
    guard = guarded(POLICY)
    line.failures.extend([500, 429])
    stream, _ = await guard.stream(**asked())
    assert verdict_of(stream) is not None
    assert (line.sent, len(line.samples)) == (3, 2)


@pytest.fixture
def watched_client(async_client: AsyncAnthropic, watched: Any) -> AsyncAnthropic:
    client = guard_client(async_client, POLICY)
    return client.with_options(middleware=[watched, *client.middleware])


async def test_a_caller_that_is_cancelled_between_attempts_leaves_nothing(
    watched_client: AsyncAnthropic, line: Any, provider: SimulatedProvider
) -> None:
    provider.set_faults(Hang())
    line.failures.append(429)
    line.headers = {"retry-after": "30"}
    line.samples_first = 2
    before = asyncio.all_tasks()
    call = asyncio.create_task(watched_client.messages.create(**asked()))
    await line.failed.wait()
    assert waiting(watched_client) == 1
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await idle(provider)
    assert waiting(watched_client) == 0
    assert await only(before)


async def test_a_call_that_nobody_comes_back_to_is_given_up(
    watched_client: AsyncAnthropic,
    line: Any,
    provider: SimulatedProvider,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("resay_anthropic._retries._SLACK_S", -0.4)
    # The SDK waits for longer than we expect.
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", 30)
    monkeypatch.setattr("anthropic._base_client.MAX_RETRY_DELAY", 30)
    provider.set_faults(Hang())
    line.failures.append(429)
    line.samples_first = 2
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:

            async def leave() -> None:
                await line.failed.wait()
                scope.cancel()

            tasks.start_soon(leave)
            # Not in a task of its own, whose end could be seen.
            await watched_client.messages.create(**asked())
    assert waiting(watched_client) == 1
    await idle(provider)
    assert waiting(watched_client) == 0


async def test_a_caller_that_is_cancelled_meanwhile_leaves_nothing(
    async_client: AsyncAnthropic, provider: SimulatedProvider
) -> None:
    provider.set_faults(Hang())
    client = guard_client(async_client, POLICY)
    before = asyncio.all_tasks()
    call = asyncio.create_task(client.messages.create(**asked()))
    await anyio.to_thread.run_sync(provider.wait_calls, 3)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await idle(provider)
    assert all(request.disconnected for request in provider.requests)
    assert await only(before)


@pytest.mark.all_turns
async def test_a_deadline_ends_the_main_call(
    guarded: Callable[..., Any], line: Any, provider: SimulatedProvider
) -> None:
    provider.set_faults(Hang())
    guard = guarded({**POLICY, "limits": {"deadline_s": 0.2}})
    with pytest.raises(DeadlineExceededError) as caught:
        await guard.ask(**asked())
    assert isinstance(caught.value, anthropic.APIError)
    assert caught.value.request.method.lower() == "post"
    # The SDK does not try again: the deadline is that of the whole request.
    assert line.sent == 1
    assert waiting(guard.client) == 0
    if isinstance(guard.client, AsyncAnthropic):
        await idle(provider)
    provider.release()


@pytest.mark.all_turns
async def test_samples_are_tried_again_by_resay_alone(
    guarded: Callable[..., Any], line: Any, provider: SimulatedProvider
) -> None:
    provider.set_faults(ServerError(after=1))
    sampling = {"max": 2, "start": "after"}
    action = {"do": "block", "exit": "raise"}
    policy = {**POLICY, "sampling": sampling, "limits": {"retries": 1}, "action": action}
    with pytest.raises(HallucinationBlocked):
        await guarded({**policy, "on_error": "block"}).ask(**asked())
    assert line.sent == 1
    assert len(line.samples) == 4
    assert {r.headers["x-stainless-retry-count"] for r in line.samples} == {"0"}


async def test_other_words_under_the_same_key_are_another_call(
    async_client: AsyncAnthropic, line: Any
) -> None:
    class Rewording(anthropic.Middleware):
        async def handle_async(self, request: Any, call_next: Any) -> Any:
            question = f"What is Canberra? ({request.retries_taken})"
            return await call_next(request.copy(body=asked(question)))

    client = guard_client(async_client, POLICY)
    client = client.with_options(middleware=[Rewording(), *client.middleware])
    line.failures.append(500)
    line.samples_first = 2
    message = await client.messages.create(**asked())
    assert verdict_of(message) is not None
    assert line.asked == {"What is Canberra? (0)": 2, "What is Canberra? (1)": 2}


async def test_many_calls_at_once_do_not_touch_each_other(
    async_client: AsyncAnthropic, line: Any
) -> None:
    client = guard_client(async_client, POLICY)
    line.failures.extend([500, 429] * 4)
    questions = [f"What is Canberra? ({number})" for number in range(20)]
    messages = await asyncio.gather(*(client.messages.create(**asked(q)) for q in questions))
    for message in messages:
        verdict: Any = verdict_of(message)
        text: Any = message.content[0]
        assert all(text.text[s.start : s.end] == s.text for s in verdict.sentences)
        assert verdict.samples == 2
    assert line.asked == dict.fromkeys(questions, 2)
    assert line.sent == 28
    assert waiting(client) == 0


def test_threads_share_a_client(sync_client: Anthropic, line: Any) -> None:
    client = guard_client(sync_client, POLICY)
    line.failures.extend([500, 429])
    questions = [f"What is Canberra? ({number})" for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        messages = list(pool.map(lambda q: client.messages.create(**asked(q)), questions))
    assert all(verdict_of(message) for message in messages)
    assert line.asked == dict.fromkeys(questions, 2)
    assert (line.sent, waiting(client)) == (14, 0)
