"""Many checks at once with one model: do results differ, and does the event loop stall?"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, TypeAlias

import anyio

from performance.readings import Part, Reading, row_of
from resay.adapters import run_sync
from resay.plugins import Evidence, ModelConfig, Samples
from resay.scorers.nli import Nli
from resay_lab.benchmarks.measuring import Item
from resay_lab.benchmarks.table import Row

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["longest_stalls", "measure_concurrency"]

_BEAT_S = 0.005
_STALL_MS = 20.0
# Millionths: what remains of 32-bit floats that were added up in another order.
_DIFFERENCE = 10.0

Columns: TypeAlias = "list[list[float]]"


def measure_concurrency(items: Sequence[Item], model: str) -> list[Row]:
    """Measure checks that run at the same time.

    Args:
        items: Passages and samples; each is one check.
        model: The folder of a classifier.

    Returns:
        A row with the longest stall of the event loop, and one with the largest difference to the
        same checks one by one.
    """
    late_s, together, alone, seconds = run_sync(_measure, items, model)
    checks = f"{len(items)} checks at once, one model"

    def stall() -> Reading:
        return Reading(
            1000 * max(late_s),
            f"median {1000 * median(late_s):.1f} ms, over {seconds:.1f} s",
            {
                "checks": len(items),
                "beats": len(late_s),
                "median_ms": round(1000 * median(late_s), 3),
                "over_target": sum(1000 * s > _STALL_MS for s in late_s),
            },
        )

    def difference() -> Reading:
        values = [value for row in alone for value in row]
        return Reading(
            1e6 * _largest_difference(together, alone),
            f"scores from {min(values):.3f} to {max(values):.3f}",
            {"scores": len(values), "smallest": min(values), "largest": max(values)},
        )

    return [
        row_of(
            Part("concurrency", f"{checks}: longest stall of the loop", "ms", most=_STALL_MS), stall
        ),
        row_of(
            Part(
                "concurrency",
                f"{checks}: largest difference to one by one",
                "millionths",
                most=_DIFFERENCE,
            ),
            difference,
        ),
    ]


def _largest_difference(rows: Columns, others: Columns) -> float:
    return max(
        abs(a - b)
        for row, other in zip(rows, others, strict=True)
        for a, b in zip(row, other, strict=True)
    )


async def _measure(
    items: Sequence[Item], model: str
) -> tuple[list[float], Columns, Columns, float]:
    # Each has a model of its own, so that neither finds the other's results.
    first, second = (_scorer(model, window_ms) for window_ms in (2.0, 2.1))
    await first.prepare()
    await second.prepare()
    await _score(first, _warm(items[0]))
    started = time.perf_counter()
    late_s, together = await longest_stalls(lambda: _all_at_once(first, items))
    seconds = time.perf_counter() - started
    alone = [await _score(second, item) for item in items]
    return late_s, together, alone, seconds


def _warm(item: Item) -> Item:
    return Item(item.index, item.passage, ("Something else.",))


def _scorer(model: str, window_ms: float) -> Nli:
    config = ModelConfig(name=model, backend="torch", window_ms=window_ms)
    return Nli(Nli.Config(model=config))


async def longest_stalls(work: Callable[[], Awaitable[Columns]]) -> tuple[list[float], Columns]:
    """Do some work, and measure how long it holds up the event loop.

    Args:
        work: What is done on the running event loop.

    Returns:
        By how many seconds each beat of a timer was late, and what the work returned.
    """
    late: list[float] = []

    async def beat() -> None:
        while True:
            due = time.perf_counter() + _BEAT_S
            await asyncio.sleep(_BEAT_S)
            late.append(max(time.perf_counter() - due, 0.0))

    beats = asyncio.ensure_future(beat())
    try:
        # One beat before the work begins, so that there is one.
        await asyncio.sleep(2 * _BEAT_S)
        result = await work()
        # And one after it, so that a stall at its very end is seen.
        await asyncio.sleep(2 * _BEAT_S)
    finally:
        beats.cancel()
        await asyncio.wait([beats])
    return late, result


async def _all_at_once(scorer: Nli, items: Sequence[Item]) -> Columns:
    scores: dict[int, list[float]] = {}

    async def score(index: int, item: Item) -> None:
        scores[index] = await _score(scorer, item)

    async with anyio.create_task_group() as tasks:
        for index, item in enumerate(items):
            tasks.start_soon(score, index, item)
    return [scores[index] for index in sorted(scores)]


async def _score(scorer: Nli, item: Item) -> list[float]:
    scores = await scorer.score(item.passage, Evidence(samples=Samples(item.samples)))
    return [score for column in scores.columns for score in column if score is not None]
