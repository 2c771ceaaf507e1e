from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import given
from hypothesis import strategies as st

from resay import BudgetExceededError, ConfigurationError, ProviderError, Request, Usage
from resay.adapters.providers import Limited, LiteLLMProvider, Metered, Retrying
from resay.plugins import Chunk, Completion, Completions, Provider
from resay.providers import Budget, Budgeted, FanOut, ProcessLimits, open_stream, process_limiter
from simulation import ServerError, SimulatedProvider

REQUEST = Request.of("Who?", model="openai/m")
CHEAP = Usage(1, 10, 5, 0.25)


class Spending:
    """Answers at these costs, one after the other; the last for ever."""

    def __init__(self, *costs: Usage | Exception) -> None:
        self.costs = list(costs)
        self.calls = 0

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        await checkpoint()
        self.calls += 1
        cost = self.costs.pop(0) if len(self.costs) > 1 else self.costs[0]
        if isinstance(cost, Exception):
            raise cost
        return Completions((Completion("fine"),) * n, cost)


async def read(provider: Provider) -> list[Chunk]:
    async with open_stream(provider, REQUEST) as chunks:
        return [chunk async for chunk in chunks]


async def ask(provider: Provider) -> None:
    await provider.complete(REQUEST)


async def settled() -> None:
    """Let the tasks of this loop go on until they wait; nothing here takes ten rounds."""
    for _ in range(10):
        await checkpoint()


ways = pytest.mark.parametrize("way", [ask, read])
Way = Callable[[Provider], Awaitable[object]]


# The budget


@pytest.mark.anyio
@ways
@pytest.mark.parametrize(
    ("limits", "calls", "reason"),
    [
        ({"calls": 3}, 3, "the check has used its 3 calls; raise `limits.calls`"),
        ({"tokens": 31}, 3, "the check has used its 31 tokens; raise `limits.tokens`"),
        ({"tokens": 30}, 2, "the check has used its 30 tokens; raise `limits.tokens`"),
        ({"cost_usd": 0.5}, 2, "the check has used its $0.5; raise `limits.cost_usd`"),
        ({"calls": 9, "cost_usd": 0.6}, 3, "its $0.6"),
    ],
)
async def test_nothing_is_asked_beyond_a_limit(
    way: Way, limits: dict[str, Any], calls: int, reason: str
) -> None:
    budget, provider = Budget(**limits), Spending(CHEAP)
    for _ in range(calls):
        assert (budget.exhausted, budget.refused) == (None, 0)
        await way(Budgeted(provider, budget))
    assert budget.refused == 0
    assert reason in (budget.exhausted or "")
    with pytest.raises(BudgetExceededError) as caught:
        await way(Budgeted(provider, budget))
    assert str(caught.value) == budget.exhausted
    assert isinstance(caught.value, ProviderError)
    assert not caught.value.retryable
    assert (provider.calls, budget.refused) == (calls, 1)
    assert budget.used == Usage(calls, 15 * calls - 5 * calls, 5 * calls, 0.25 * calls)


@pytest.mark.anyio
async def test_without_limits_nothing_is_refused() -> None:
    budget, provider = Budget(), Spending(Usage(1, 10, 5, None))
    for _ in range(50):
        await ask(Budgeted(provider, budget))
    assert (budget.exhausted, budget.used.calls) == (None, 50)


@pytest.mark.anyio
@ways
async def test_an_unknown_price_ends_a_limit_on_cost(way: Way) -> None:
    provider = Spending(CHEAP, Usage(1, 10, 5, None))
    budget = Budget(cost_usd=99)
    await way(Budgeted(provider, budget))
    # Paid for, so it is handed over.
    await way(Budgeted(provider, budget))
    with pytest.raises(
        BudgetExceededError, match=r"the price of 'openai/m' is unknown, so `limits"
    ):
        await way(Budgeted(provider, budget))
    assert provider.calls == 2


@pytest.mark.anyio
async def test_a_stream_that_tells_no_price_ends_it_too() -> None:
    class Silent(Spending):
        @asynccontextmanager
        async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
            async def one() -> AsyncGenerator[Chunk]:
                yield Chunk("fine")

            yield one()

    budget = Budget(cost_usd=99)
    await read(Budgeted(Silent(CHEAP), budget))
    assert "is unknown" in (budget.exhausted or "")


@pytest.mark.anyio
async def test_each_retry_counts() -> None:
    budget = Budget(calls=2)
    provider = Spending(ProviderError("busy", retry_after_s=0.0, retryable=True))
    with pytest.raises(BudgetExceededError):
        await ask(Retrying(Budgeted(provider, budget), 9))
    assert (provider.calls, budget.used) == (2, Usage(2))


@pytest.mark.anyio
async def test_several_answers_in_one_request_are_one_call() -> None:
    budget = Budget(calls=1)
    got = await Budgeted(Spending(CHEAP), budget).complete(REQUEST, n=5)
    assert (len(got.items), budget.used.calls) == (5, 1)


@pytest.mark.anyio
async def test_a_provider_that_made_several_requests_used_several() -> None:
    budget = Budget(calls=4)
    await ask(Budgeted(Spending(Usage(3, 1, 1, 0.1)), budget))
    assert (budget.used.calls, budget.exhausted) == (3, None)


@pytest.mark.anyio
async def test_what_was_never_sent_is_given_back() -> None:
    budget, provider = Budget(calls=2), Spending(CHEAP)
    slots = anyio.Semaphore(0)
    waiting = Budgeted(provider, budget, slots)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask, waiting)
        tasks.start_soon(read, waiting)
        await settled()
        assert (budget.used.calls, provider.calls) == (2, 0)
        # Who could not be served anyway does not wait.
        with pytest.raises(BudgetExceededError):
            await ask(waiting)
        tasks.cancel_scope.cancel()
    assert (budget.used, budget.exhausted) == (Usage(), None)
    slots.release()
    await ask(waiting)
    assert (budget.used.calls, slots.value) == (1, 1)


@pytest.mark.anyio
async def test_what_was_sent_and_cancelled_is_used() -> None:
    budget, sent = Budget(calls=1), anyio.Event()

    class Hanging(Spending):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            sent.set()
            await anyio.sleep_forever()
            raise AssertionError

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask, Budgeted(Hanging(CHEAP), budget))
        await sent.wait()
        tasks.cancel_scope.cancel()
    assert budget.used == Usage(1)


costs = st.builds(
    Usage,
    st.integers(1, 3),
    st.integers(0, 50),
    st.integers(0, 50),
    st.floats(0, 1) | st.none(),
)


@given(
    st.lists(costs | st.just(ProviderError("x")), min_size=1, max_size=20),
    st.integers(1, 20),
    st.integers(1, 400),
    st.floats(0.01, 3),
    st.integers(1, 8),
)
def test_a_budget_is_kept(
    answers: list[Usage | ProviderError], calls: int, tokens: int, cost: float, at_once: int
) -> None:
    budget = Budget(calls=calls, tokens=tokens, cost_usd=cost)
    provider = Spending(*answers, ProviderError("none left"))
    meter = Metered(provider)
    outcomes: list[Exception | None] = []

    async def one() -> None:
        try:
            await ask(Limited(Budgeted(meter, budget), slots))
            outcomes.append(None)
        except ProviderError as error:
            outcomes.append(error)

    async def main() -> None:
        nonlocal slots
        slots = anyio.Semaphore(at_once)
        async with anyio.create_task_group() as tasks:
            for _ in range(len(answers)):
                tasks.start_soon(one)

    slots: Any = None
    anyio.run(main)
    refused = [o for o in outcomes if isinstance(o, BudgetExceededError)]
    assert len(outcomes) == len(answers)
    assert provider.calls == len(outcomes) - len(refused) <= calls
    assert budget.refused == len(refused)
    assert bool(refused) <= (budget.exhausted is not None)
    given_out = [a for a in answers[: provider.calls] if isinstance(a, Usage)]
    assert budget.used.tokens == meter.usage.tokens == sum(a.tokens for a in given_out)
    assert budget.used.calls == meter.usage.calls
    # Only what was under way when the limit was reached can go beyond it.
    over = sorted((a.tokens for a in given_out), reverse=True)[:at_once]
    assert budget.used.tokens < tokens + sum(over) or not given_out
    priced = all(a.cost_usd is not None for a in given_out)
    assert (meter.usage.cost_usd is not None) == priced


@pytest.mark.anyio
async def test_concurrent_requests_never_exceed_the_calls() -> None:
    budget, provider = Budget(calls=7), Spending(CHEAP)
    got = await FanOut(Budgeted(provider, budget)).complete(REQUEST, n=20)
    assert (len(got.items), provider.calls, budget.refused) == (7, 7, 13)
    assert {type(error) for error in got.failures} == {BudgetExceededError}


@pytest.mark.anyio
@pytest.mark.usefixtures("litellm")
async def test_a_budget_is_shared_over_http(simulated: SimulatedProvider) -> None:
    simulated.set_faults(ServerError(first=2))
    budget = Budget(calls=5)
    request = Request.of("Tell me about Marie Curie.", model="openai/m", params=simulated.params)
    sides = [Retrying(Budgeted(LiteLLMProvider(), budget), 0) for _ in range(2)]
    for side in sides:
        with pytest.raises(ProviderError):
            await side.complete(request)
    for side in (*sides, sides[0]):
        await side.complete(request)
    with pytest.raises(BudgetExceededError, match="5 calls"):
        await sides[1].complete(request)
    assert simulated.calls == 5
    assert budget.used.tokens == simulated.prompt_tokens + simulated.completion_tokens


@pytest.mark.anyio
async def test_what_was_refused_stays_refused_when_more_is_allowed() -> None:
    budget = Budget(calls=1)
    provider = Budgeted(Spending(CHEAP), budget)
    await ask(provider)
    with pytest.raises(BudgetExceededError):
        await ask(provider)
    budget.allow(calls=2, tokens=2, purpose="an answer of 1 sentence")
    await ask(provider)
    message = "the check has used its {}; raise `limits.calls`"
    assert (budget.refused, budget.refusal) == (1, message.format("1 call"))
    assert budget.exhausted == message.format("2 calls for an answer of 1 sentence")
    budget.allow(calls=1, purpose="less")
    assert budget.exhausted == message.format("2 calls for an answer of 1 sentence")


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        ({"calls": 0}, r"limits\.calls is 0;"),
        ({"tokens": -1}, r"limits\.tokens is -1;"),
        ({"cost_usd": 0.0}, r"limits\.cost_usd is 0\.0;"),
        ({"cost_usd": float("nan")}, r"limits\.cost_usd is nan;"),
    ],
)
def test_a_budget_for_nothing_is_refused(limits: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        Budget(**limits)


# The process


def test_two_loops_in_two_threads_share_one_place() -> None:
    limits = ProcessLimits(concurrency=1)
    inside, most = 0, 0
    both = threading.Barrier(2)

    async def work() -> None:
        nonlocal inside, most
        both.wait()
        for _ in range(200):
            async with limits:
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0)
                inside -= 1

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(asyncio.run, work()) for _ in range(2)]:
            done.result()
    assert (inside, most) == (0, 1)


def test_a_place_left_in_one_loop_wakes_a_waiter_in_another() -> None:
    limits = ProcessLimits(concurrency=1)
    held, order = threading.Event(), list[str]()

    async def second() -> None:
        await asyncio.to_thread(held.wait)
        arrived.set()
        async with limits:
            order.append("second")

    async def first() -> None:
        async with limits:
            held.set()
            await asyncio.to_thread(arrived.wait)
            await asyncio.to_thread(_queued, limits, 1)
            order.append("first")

    arrived = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(asyncio.run, task()) for task in (first, second)]:
            done.result()
    assert order == ["first", "second"]


def _queued(limits: ProcessLimits, count: int) -> None:
    # Other loops tell nobody that they wait.
    while len(limits._slots._queue) < count:
        threading.Event().wait(0.001)


async def enter(limits: ProcessLimits, name: str, order: list[str]) -> None:
    async with limits:
        order.append(name)
        await checkpoint()


@pytest.mark.anyio
async def test_first_come_first_served() -> None:
    limits, order = ProcessLimits(concurrency=1), list[str]()
    async with anyio.create_task_group() as tasks:
        async with limits:
            for name in "abcdef":
                tasks.start_soon(enter, limits, name, order)
                await settled()
        # The place is a's already: who comes now cannot take it.
        await enter(limits, "late", order)
    assert order == [*"abcdef", "late"]


@pytest.mark.anyio
async def test_no_more_than_the_limit_are_inside() -> None:
    limits, inside, most = ProcessLimits(concurrency=3), 0, 0

    async def work() -> None:
        nonlocal inside, most
        async with limits:
            inside += 1
            most = max(most, inside)
            await anyio.sleep(0.001)
            inside -= 1

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(work)
    assert (inside, most) == (0, 3)


async def free_places(limits: ProcessLimits) -> int:
    free = 0
    async with AsyncExitStack() as stack:
        with anyio.move_on_after(0):
            while True:
                await stack.enter_async_context(limits)
                free += 1
    return free


@pytest.mark.anyio
async def test_who_stops_waiting_is_passed_over() -> None:
    limits, order = ProcessLimits(concurrency=1), list[str]()
    async with limits:
        tasks = {name: asyncio.create_task(enter(limits, name, order)) for name in "abc"}
        await settled()
        tasks["a"].cancel()
        await asyncio.wait([tasks["a"]])
    await asyncio.wait(tasks.values())
    assert order == ["b", "c"]
    assert await free_places(limits) == 1


@pytest.mark.anyio
@pytest.mark.parametrize("woken", [False, True])
async def test_a_waiter_cancelled_as_it_is_served_passes_the_place_on(woken: bool) -> None:
    limits, order = ProcessLimits(concurrency=1), list[str]()
    holder = AsyncExitStack()
    await holder.enter_async_context(limits)
    tasks = [asyncio.create_task(enter(limits, name, order)) for name in "ab"]
    await settled()
    await holder.aclose()
    # The place is a's. Its task is told in the loop's next round, and runs in the one after.
    if woken:
        await asyncio.sleep(0)
    assert not tasks[0].done()
    tasks[0].cancel()
    await asyncio.wait(tasks)
    assert (tasks[0].cancelled(), order) == (True, ["b"])
    assert await free_places(limits) == 1


@pytest.mark.anyio
async def test_a_waiter_whose_loop_is_gone_is_passed_over() -> None:
    limits, order = ProcessLimits(concurrency=1), list[str]()
    async with limits:
        await asyncio.to_thread(abandon_a_waiter, limits, order)
    gc.collect()
    await enter(limits, "alive", order)
    assert order == ["alive"]
    assert await free_places(limits) == 1


def abandon_a_waiter(limits: ProcessLimits, order: list[str]) -> None:
    loop = asyncio.new_event_loop()
    # Without a task, so that nothing complains of one that was destroyed.
    waiting = enter(limits, "gone", order)
    loop.call_soon(lambda: waiting.send(None))
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
    abandoned.append(waiting)


abandoned: list[Any] = []


# Calls per minute


class FakeTime:
    def __init__(self) -> None:
        self.now = 1000.0
        self.sleepers: list[tuple[float, anyio.Event]] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        assert seconds > 0
        woken = anyio.Event()
        self.sleepers.append((self.now + seconds, woken))
        await woken.wait()

    async def pass_by(self, seconds: float) -> None:
        until = self.now + seconds
        await settled()
        while due := [sleeper for sleeper in self.sleepers if sleeper[0] <= until]:
            first = min(due, key=lambda sleeper: sleeper[0])
            self.sleepers.remove(first)
            self.now = first[0]
            first[1].set()
            await settled()
        self.now = until
        await settled()


def per_minute(calls: int, time: FakeTime, concurrency: int | None = None) -> ProcessLimits:
    return ProcessLimits(concurrency, calls, clock=time.clock, sleep=time.sleep)


@pytest.mark.anyio
async def test_no_more_calls_begin_within_a_minute() -> None:
    time, began = FakeTime(), list[float]()
    limits = per_minute(2, time)

    async def call() -> None:
        async with limits:
            began.append(time.now - 1000)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await time.pass_by(20)
        for _ in range(4):
            tasks.start_soon(call)
        await time.pass_by(0)
        assert began == [0, 20]
        # Only the first in the queue has set a clock.
        assert len(time.sleepers) == 1
        await time.pass_by(200)
    assert began == [0, 20, 60, 80, 120]


@pytest.mark.anyio
async def test_who_stops_waiting_for_a_minute_leaves_no_gap() -> None:
    time, order = FakeTime(), list[str]()
    limits = per_minute(1, time, concurrency=9)
    await enter(limits, "first", order)
    tasks = [asyncio.create_task(enter(limits, name, order)) for name in "abc"]
    await time.pass_by(30)
    for task in tasks[:2]:
        task.cancel()
    await time.pass_by(29)
    assert order == ["first"]
    await time.pass_by(1)
    await asyncio.wait(tasks)
    assert order == ["first", "c"]
    await time.pass_by(60)
    assert limits._slots._free == 9


@pytest.mark.anyio
async def test_a_place_is_held_while_the_minute_is_waited_for() -> None:
    time, order = FakeTime(), list[str]()
    limits = per_minute(1, time, concurrency=1)
    await enter(limits, "first", order)
    async with anyio.create_task_group() as tasks:
        for name in "ab":
            tasks.start_soon(enter, limits, name, order)
        await time.pass_by(60)
        assert order == ["first", "a"]
        await time.pass_by(60)
    assert order == ["first", "a", "b"]


@given(st.integers(1, 5), st.lists(st.integers(0, 40), max_size=25))
def test_any_minute_holds_no_more_than_the_limit(calls: int, gaps: list[int]) -> None:
    time, began = FakeTime(), list[float]()
    arrived: list[float] = []

    async def main() -> None:
        limits = per_minute(calls, time)

        async def call() -> None:
            async with limits:
                began.append(time.now)

        async with anyio.create_task_group() as tasks:
            for gap in gaps:
                await time.pass_by(gap)
                arrived.append(time.now)
                tasks.start_soon(call)
                await time.pass_by(0)
            await time.pass_by(60 * len(gaps))

    anyio.run(main)
    assert len(began) == len(gaps)
    expected: list[float] = []
    for at in arrived:
        earliest = expected[-calls] + 60 if len(expected) >= calls else at
        expected.append(max(at, earliest, *expected[-1:]))
    assert began == expected


# Sharing


def test_the_same_values_share_the_same_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = process_limiter(7, 70)
    with ThreadPoolExecutor(4) as pool:
        assert {*pool.map(lambda _: process_limiter(7, 70), range(8))} == {shared}
    assert process_limiter(7) is not shared
    assert process_limiter(8, 70) is not shared
    monkeypatch.setattr("os.getpid", lambda: -1)
    assert process_limiter(7, 70) is not shared


@pytest.mark.anyio
async def test_without_limits_nobody_waits() -> None:
    limits = process_limiter()
    async with AsyncExitStack() as stack:
        for _ in range(50):
            await stack.enter_async_context(limits)


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        ({"concurrency": 0}, r"limits\.process\.concurrency is 0;"),
        ({"calls_per_minute": -3}, r"limits\.process\.calls_per_minute is -3;"),
    ],
)
def test_limits_that_let_nothing_through_are_refused(limits: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        process_limiter(**limits)


@pytest.mark.anyio
@pytest.mark.usefixtures("litellm")
async def test_the_process_is_a_limiter_like_any_other(simulated: SimulatedProvider) -> None:
    request = Request.of("Tell me about Marie Curie.", model="openai/m", params=simulated.params)
    limits = ProcessLimits(concurrency=1)
    provider = Limited(LiteLLMProvider(), limits)
    async with anyio.create_task_group() as tasks, open_stream(provider, request) as chunks:
        await anext(chunks)
        tasks.start_soon(provider.complete, request)
        await anyio.wait_all_tasks_blocked()
        assert simulated.calls == 1
        async for _ in chunks:
            pass
        assert simulated.calls == 1
    assert simulated.calls == 2
