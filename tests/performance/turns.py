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

TakenT = TypeVar("TakenT")

Ask = Callable[[int], Awaitable[TakenT]]
"""Asks the question with a number, and says what it took."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What is asked, and how long it takes to answer.

    Attributes:
        requests: How many questions are asked in each way.
        concurrency: How many of them at the same time.
        turns: In how many turns the ways are gone through.
        latency_s: How long an answer takes at least, in seconds.
        judge_latency_s: The same for a judge's answer.
        jitter_s: By how much longer an answer takes at the most.
        judge_jitter_s: The same for a judge's answer.
        first_token_s: How long a stream takes to its first piece.
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
        """How the simulated provider takes its time."""
        names = ("latency_s", "judge_latency_s", "jitter_s", "judge_jitter_s", "first_token_s")
        return {name: getattr(self, name) for name in names}


async def in_turns(
    asks: Mapping[str, Ask[TakenT]], setting: Setting, done: Callable[[], object]
) -> Mapping[str, Sequence[TakenT]]:
    """Ask in all ways.

    Args:
        asks: The ways of asking, by name.
        setting: What is asked, and how long it takes.
        done: Called after each request.

    Returns:
        What each request took, by the name of its way.
    """
    taken: dict[str, list[TakenT]] = {name: [] for name in asks}
    for turn in range(setting.turns):
        numbers = range(setting.requests)[turn :: setting.turns]
        for name, ask in asks.items():
            line = iter(numbers)
            async with anyio.create_task_group() as tasks:
                for place in range(min(setting.concurrency, len(numbers))):
                    # Callers do not all begin in the same moment.
                    wait_s = place * setting.latency_s / setting.concurrency
                    tasks.start_soon(_work, ask, line, wait_s, taken[name], done)
    return taken


async def _work(
    ask: Ask[TakenT],
    line: Iterator[int],
    wait_s: float,
    taken: list[TakenT],
    done: Callable[[], object],
) -> None:
    await anyio.sleep(wait_s)
    for number in line:
        taken.append(await ask(number))
        done()
