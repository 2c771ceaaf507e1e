"""Several ways of asking, measured in turns.

A machine that is busy for a while slows all ways alike. Requests of one way run beside each other,
as many as `concurrency` says.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import anyio

__all__ = ["Ask", "Setting", "in_turns"]

ResultT = TypeVar("ResultT")

Ask = Callable[[int], Awaitable[ResultT]]
"""Asks the question with this number, and returns what was measured."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How many questions are asked, and how long the answers take.

    Attributes:
        requests: How many questions are asked in each way.
        concurrency: How many of them at the same time.
        turns: How many turns each way has.
        latency_s: The shortest time of an answer, in seconds.
        judge_latency_s: The same for a judge's answer.
        jitter_s: How much longer an answer takes at the most, in seconds.
        judge_jitter_s: The same for a judge's answer.
        first_token_s: The time of a stream to its first piece, in seconds.
    """

    requests: int = 200
    concurrency: int = 20
    turns: int = 5
    latency_s: float = 0.35
    judge_latency_s: float = 0.13
    jitter_s: float = 0.1
    judge_jitter_s: float = 0.04
    first_token_s: float = 0.06

    @property
    def server(self) -> dict[str, float]:
        """The times of the simulated provider."""
        names = ("latency_s", "judge_latency_s", "jitter_s", "judge_jitter_s", "first_token_s")
        return {name: getattr(self, name) for name in names}


async def in_turns(
    asks: Mapping[str, Ask[ResultT]], setting: Setting, done: Callable[[], object]
) -> Mapping[str, Sequence[ResultT]]:
    """Ask in all ways.

    Args:
        asks: The ways of asking, by name.
        setting: What is asked, and how long it takes.
        done: Called after each request.

    Returns:
        What was measured of each request, by the name of its way.
    """
    results: dict[str, list[ResultT]] = {name: [] for name in asks}
    for turn in range(setting.turns):
        numbers = range(setting.requests)[turn :: setting.turns]
        for name, ask in asks.items():
            queue = iter(numbers)
            async with anyio.create_task_group() as tasks:
                for caller in range(min(setting.concurrency, len(numbers))):
                    # Callers do not all begin in the same moment.
                    wait_s = caller * setting.latency_s / setting.concurrency
                    tasks.start_soon(_ask_numbers, ask, queue, wait_s, results[name], done)
    return results


async def _ask_numbers(
    ask: Ask[ResultT],
    queue: Iterator[int],
    wait_s: float,
    results: list[ResultT],
    done: Callable[[], object],
) -> None:
    await anyio.sleep(wait_s)
    for number in queue:
        results.append(await ask(number))
        done()
