"""Guarded requests under random faults, cancellations and deadlines, and what must hold for each.

Every request must end with an answer, with an error of Resay's, or because its caller left, no
later than a quarter of a second after its deadline, or after its caller left. The usage of its
answer must match the calls sent for it, and those the requests that the server received. No task,
connection or slot may be left over.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import combinations, groupby
from typing import Any

import anyio
import anyio.to_thread

from performance import chaos_plan
from performance.chaos_plan import Plan
from performance.chaos_watch import (
    Call,
    Lateness,
    Tracked,
    census,
    current_request,
    growth,
    requests_sent,
    tasks_left,
    unmatched,
)
from resay import Answer, Guard, HallucinationBlocked, Usage
from resay.adapters.providers import LiteLLMProvider
from resay.errors import ResayError
from resay.plugins import Provider
from resay.providers.limits import process_limiter
from resay.providers.openai_compatible import OpenAICompatibleProvider
from simulation import SimulatedProvider

__all__ = ["GRACE_S", "Chaos", "Ended", "Report", "mismatches", "run"]

GRACE_S = 0.25
"""How long after its deadline a request may end."""

Spent = tuple[int, int, int]
"""Calls, tokens, and calls that were cancelled."""

_MODEL = "openai/simulated"
_PATIENCE_S = 30.0
_ROUNDS = 2


@dataclass(slots=True)
class Ended:
    """How one request ended.

    Attributes:
        plan: What its caller did.
        started: When it was sent, on the event loop's clock, in seconds.
        outcome: `answered`, the name of the error, `cancelled` or `left`.
        left_at: When its caller was cancelled or left.
        late_s: How long after its deadline, or after its caller left, it ended, in seconds;
            negative before.
        stalled_s: How long the event loop stood still in that time, and as it began, in seconds.
        spent: The usage of the answer; None without an answer.
        checked: The usage of the check, by the verdict; None without one.
        problems: What was wrong with it.
    """

    plan: Plan
    started: float = 0.0
    outcome: str = "cancelled"
    left_at: float = math.inf
    late_s: float = 0.0
    stalled_s: float = 0.0
    spent: Spent | None = None
    checked: Spent | None = None
    problems: list[str] = field(default_factory=list[str])

    @property
    def overdue_s(self) -> float:
        """How much too late it ended by its own fault; negative where it did not."""
        return self.late_s - self.stalled_s


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a run.

    Attributes:
        problems: What did not hold.
        outcomes: How many requests ended with each outcome.
        calls: How many requests were sent, and how many the server received.
        tokens: How many tokens the answers report, and how many the server counted.
        latest_s: The most by which a request ended too late, in seconds, without the time in which
            the loop stood still.
        longest_stall_s: The longest that the event loop stood still, in seconds.
        seconds: The time of the whole run, in seconds.
    """

    problems: tuple[str, ...]
    outcomes: Mapping[str, int]
    calls: tuple[int, int]
    tokens: tuple[int, int]
    latest_s: float
    longest_stall_s: float
    seconds: float


async def run(
    requests: int = 2000,
    *,
    concurrency: int = 50,
    seed: int = 0,
    done: Callable[[], object] = lambda: None,
    provider: Provider | None = None,
) -> Report:
    """Send requests, in two equal rounds to see what grows, and look at what came of them.

    Args:
        requests: How many.
        concurrency: How many at the same time.
        seed: Decides faults, policies and what callers do.
        done: Called after each request.
        provider: The provider of answers; None for litellm.

    Returns:
        What was found.
    """
    with SimulatedProvider(
        seed=seed, world=chaos_plan.WORLD, latency_s=0.05, jitter_s=0.1, first_token_s=0.02
    ) as server:
        provider = provider or LiteLLMProvider()
        await _warm_up(server, provider)
        chaos = Chaos(server, done, provider)
        try:
            report = await chaos.run(requests, concurrency, seed)
        finally:
            if isinstance(provider, OpenAICompatibleProvider):
                await provider.aclose()
            else:
                # Imported by the provider before, which keeps it quiet.
                litellm: Any = import_module("litellm")
                await litellm.close_litellm_async_clients()
        left = await _connections_left(server)
    return replace(report, problems=(*report.problems, *left))


async def _warm_up(server: SimulatedProvider, provider: Provider) -> None:
    """Have everything loaded at first use that is; it takes seconds, in which the loop stands."""
    policy = {"chain": [{"method": "ngram"}], "cache": {"store": "none"}}
    guard = Guard(policy, model=_MODEL, provider=provider)
    params: dict[str, Any] = dict(server.params)
    await guard.aask("Are you there?", params=params)
    async with guard.astream("And now?", params=params) as stream:
        async for _ in stream:
            pass
    await anyio.to_thread.run_sync(server.wait_idle)


class Chaos:
    """One run.

    Args:
        server: Who answers.
        done: Called after each request.
        provider: The provider of answers.
    """

    def __init__(
        self, server: SimulatedProvider, done: Callable[[], object], provider: Provider
    ) -> None:
        self._server = server
        self._done = done
        self.tracked = Tracked(provider)
        self.lateness = Lateness()
        self.ended: list[Ended] = []
        self._guards = [
            Guard(policy, model=_MODEL, provider=self.tracked) for policy in chaos_plan.POLICIES
        ]

    async def run(self, requests: int, concurrency: int, seed: int) -> Report:
        """Send everything and look at what came of it."""
        started, first, tokens = anyio.current_time(), self._server.calls, self._tokens
        counts: list[Mapping[str, int]] = []
        problems: list[str] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.lateness.run)
            before = asyncio.all_tasks()
            round_size = requests // _ROUNDS
            for turn in range(_ROUNDS):
                await self._round(
                    chaos_plan.draw(round_size, seed, first=turn * round_size), concurrency
                )
                problems += await self._left(before)
                counts.append(census())
            tasks.cancel_scope.cancel()
        problems += growth(*counts)
        problems += mismatches(self.ended, self.tracked.calls)
        received = self._server.requests[first:]
        problems += unmatched(self.tracked.calls, received)
        problems += [problem for ended in self.ended for problem in ended.problems]
        return Report(
            tuple(problems),
            Counter(ended.outcome for ended in self.ended),
            (requests_sent(self.tracked.calls, received), len(received)),
            (sum(call.tokens for call in self.tracked.calls), self._tokens - tokens),
            max((ended.overdue_s for ended in self.ended), default=0.0),
            self.lateness.longest,
            anyio.current_time() - started,
        )

    @property
    def _tokens(self) -> int:
        return self._server.prompt_tokens + self._server.completion_tokens

    async def _round(self, plans: Sequence[Plan], concurrency: int) -> None:
        weathers = list(chaos_plan.WEATHERS.values())
        share = -(-len(plans) // len(weathers))
        for turn, plans_now in groupby(enumerate(plans), lambda numbered: numbered[0] // share):
            self._server.set_faults(*weathers[turn])
            await self._send([plan for _, plan in plans_now], concurrency)

    async def _send(self, plans: Sequence[Plan], concurrency: int) -> None:
        queue = iter(plans)
        async with anyio.create_task_group() as tasks:
            for _ in range(concurrency):
                tasks.start_soon(self._work, queue)

    async def _work(self, queue: Iterator[Plan]) -> None:
        for plan in queue:
            self.ended.append(await self._watch(plan))
            self._done()

    async def _watch(self, plan: Plan) -> Ended:
        """Let a caller go about its request, and take the time from outside."""
        ended = Ended(plan, started=anyio.current_time())
        deadline_s = self._guards[plan.policy].policy.limits.deadline_s
        assert deadline_s is not None
        caller = asyncio.create_task(self._call(plan, ended))
        await asyncio.wait([caller], timeout=plan.cancel_s)
        if not caller.done():
            if plan.cancel_s is not None:
                ended.left_at = anyio.current_time()
                caller.cancel()
            await asyncio.wait([caller], timeout=deadline_s + _PATIENCE_S)
        now = anyio.current_time()
        if not caller.done():
            ended.problems.append(f"{plan} never ended")
            caller.cancel()
        due = min(ended.started + deadline_s, ended.left_at)
        ended.late_s = now - due
        ended.stalled_s = self.lateness.between(due, now)
        if plan.mode and due < ended.left_at:
            # A stream begins its work, and its time, a turn of the loop after it is entered.
            ended.stalled_s += self.lateness.at(ended.started)
        if ended.overdue_s > GRACE_S:
            ended.problems.append(
                f"{plan}, {ended.outcome}, ended {ended.late_s:.3f} s late, of which the loop stood"
                f" still {ended.stalled_s:.3f} s"
            )
        return ended

    async def _call(self, plan: Plan, ended: Ended) -> None:
        current_request.set(plan.number)
        ended.started = anyio.current_time()
        try:
            answer = await (self._ask(plan) if plan.mode is None else self._read(plan, ended))
        except ResayError as error:
            ended.outcome = type(error).__name__
            if isinstance(error, HallucinationBlocked):
                ended.checked = _spent(error.verdict.usage)
            ended.problems += _unclear_error(error, plan)
        except Exception as error:
            ended.outcome = type(error).__name__
            ended.problems.append(f"{plan} ended with {error!r}")
        else:
            ended.outcome = "left" if answer is None else "answered"
            if answer is not None:
                ended.spent, ended.checked = _spent(answer.usage), _spent(answer.verdict.usage)

    @property
    def _params(self) -> dict[str, Any]:
        return {**self._server.params, "metadata": {"call": "main"}}

    async def _ask(self, plan: Plan) -> Answer:
        return await self._guards[plan.policy].aask(plan.question, params=self._params)

    async def _read(self, plan: Plan, ended: Ended) -> Answer | None:
        guard = self._guards[plan.policy]
        texts: list[str] = []
        async with guard.astream(
            plan.question, stream_mode=plan.mode, params=self._params
        ) as stream:
            if plan.leave_after == 0:
                ended.left_at = anyio.current_time()
                return None
            async for part in stream:
                texts += [] if part.is_replacement else [part.text]
                if len(texts) == plan.leave_after:
                    ended.left_at = anyio.current_time()
                    return None
        answer, shown = stream.answer, "".join(texts)
        if not (answer.response.startswith(shown) if answer.blocked else answer.response == shown):
            ended.problems.append(f"{plan} was shown something else than the response")
        return answer

    async def _left(self, before: set[asyncio.Task[Any]]) -> list[str]:
        """Return what is left after a round, once everything had the time to end."""
        problems: list[str] = []
        try:
            await anyio.to_thread.run_sync(self._server.wait_idle)
        except TimeoutError:
            problems.append(f"{self._server.in_flight} requests are left at the server")
        problems += [f"a task is left: {name}" for name in await tasks_left(before)]
        with anyio.move_on_after(1) as waiting:
            await _take_all_slots()
        if waiting.cancelled_caught:
            problems.append("a slot of the process is left taken")
        return problems


async def _take_all_slots() -> None:
    limiter = process_limiter(chaos_plan.PLACES)
    count = 0
    try:
        for _ in range(chaos_plan.PLACES):
            await limiter.__aenter__()
            count += 1
    finally:
        for _ in range(count):
            await limiter.__aexit__(None, None, None)


async def _connections_left(server: SimulatedProvider) -> list[str]:
    with suppress(TimeoutError), anyio.fail_after(5):
        while server.open_connections:  # noqa: ASYNC110 - the server has no event for it
            await anyio.sleep(0.01)
    left = server.open_connections
    return [f"{left} connections are left"] if left else []


def _unclear_error(error: ResayError, plan: Plan) -> list[str]:
    message = str(error)
    revealed = [
        secret for secret in (plan.question, "Bridge", "simulated-key") if secret in message
    ]
    if revealed or len(message) < 10:
        return [f"{plan} ended with an unclear {type(error).__name__}: {message}"]
    return []


def mismatches(ended: Sequence[Ended], calls: Sequence[Call]) -> list[str]:
    """Compare what requests say they took with what was sent for them.

    What is under way when a check is over counts as cancelled. Once in a while the answer to such a
    call is just there, but nobody reads it any more; its tokens are not counted then.

    Args:
        ended: How the requests ended.
        calls: All calls.

    Returns:
        What does not match; empty where everything does.
    """
    problems: list[str] = []
    for end in ended:
        own = [call for call in calls if call.request == end.plan.number]
        for what, claimed, sent in (
            ("", end.spent, own),
            ("the check of ", end.checked, [call for call in own if not call.main]),
        ):
            if claimed is not None and not _adds_up(claimed, sent):
                problems.append(f"{what}{end.plan} says {claimed}, but sent {sent}")
    return problems


def _adds_up(claimed: Spent, sent: Sequence[Call]) -> bool:
    calls, tokens, cancelled = claimed
    # A stream is read to its end or given up by us, and counts as neither.
    whole = [call for call in sent if not call.streamed]
    unread = cancelled - sum(call.fate == "cancelled" for call in whole)
    if calls != sum(call.requests for call in sent) or unread < 0:
        return False
    missing = sum(call.tokens for call in sent) - tokens
    arrived = [call.tokens for call in whole if call.fate != "cancelled"]
    return any(sum(lost) == missing for lost in combinations(arrived, unread))


def _spent(usage: Usage) -> Spent:
    # Not the usage itself, which would be among what is left over.
    return usage.calls, usage.tokens, usage.cancelled
