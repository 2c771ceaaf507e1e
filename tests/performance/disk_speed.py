"""What is written and kept: pages of verdicts and the cache, beside the same work without them.

The best of several turns, in which ours and what it is compared with are measured one after the
other.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from performance.readings import Part, Reading, row_of
from resay._internal.event_loops import run_sync
from resay.benchmarks.table import Row
from resay.core.query import Query
from resay.core.verdict import Usage, Verdict
from resay.guard import Guard
from resay.providers import Completion, Completions
from resay.providers.caching import close_caches
from resay.reporting.render.html import page

__all__ = ["measure_disk"]

_NGRAM = {"chain": [{"method": "ngram"}]}
_SAMPLES = 20

_PAGE = Part("page", "a page of 3,000 verdicts, 8 sentences each", "s", most=3)
_COLD = Part("cache, cold", "a check with a cache in a file: 20 samples are kept", "x", most=1.3)
_WARM = Part("cache, warm", "the same again: 20 samples are found", "x", most=1)


def measure_disk(*, size: int = 1, turns: int = 5) -> list[Row]:
    """Measure what is written and kept.

    Args:
        size: By how much smaller to make what is large.
        turns: How often to measure each side.

    Returns:
        A row for each part.
    """
    cached = _cached(turns)
    return [
        row_of(_PAGE, partial(_page, 3000 // size, turns)),
        row_of(_COLD, partial(_beside_none, cached, "cold")),
        row_of(_WARM, partial(_beside_none, cached, "warm")),
    ]


def _page(verdicts: int, turns: int) -> Reading:
    shown = [_verdict(i % 30) for i in range(verdicts)]
    data = [verdict.to_dict() for verdict in shown]
    ours, limit = inf, inf
    for _ in range(turns):
        ours = min(ours, _cpu_s(partial(page, shown)))
        limit = min(limit, _cpu_s(partial(json.dumps, data)))
    return Reading(
        ours,
        f"the same as JSON: {limit:.2f} s, ratio {ours / limit:.1f}",
        {"limit_s": round(limit, 4), "ratio": round(ours / limit, 3), "turns": turns},
    )


def _verdict(number: int) -> Verdict:
    guard = Guard({**_NGRAM, "cache": {"store": "none"}})
    return guard.check(_answer(number), samples=[_answer(number + i) for i in (0, 2, 3, 5, 8)])


def _answer(number: int) -> str:
    said = (f"The {i}. bridge of <Ada & Sons> was opened in {1900 + number + i}." for i in range(8))
    return " ".join(said)


class _Instant:
    """Answers at once, so that nothing but our own work is measured."""

    cache_source = "instant"

    async def takes_n(self, query: Query) -> bool:
        return True

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        answers = (Completion(_answer(query.index + i), "stop") for i in range(n))
        return Completions(tuple(answers), Usage(n))


def _cached(turns: int) -> dict[str, float]:
    """Return the seconds of a check without a cache, with a cold one, and with a warm one."""
    best = dict.fromkeys(("none", "cold", "warm"), inf)
    with TemporaryDirectory() as folder:
        try:
            kept = _drawing({"store": "sqlite", "path": str(Path(folder, "answers.db"))})
            bare = _drawing({"store": "none"})
            # Many: the write of one check may still go on during the next.
            for question in _questions(10 * turns):
                best["none"] = min(best["none"], _wall_s(partial(bare, question)))
                best["cold"] = min(best["cold"], _wall_s(partial(kept, question)))
                best["warm"] = min(best["warm"], _wall_s(partial(kept, question)))
        finally:
            run_sync(close_caches)
    return best


def _questions(turns: int) -> Iterator[str]:
    return (f"What is known of bridge {i}?" for i, _ in zip(count(), range(turns), strict=False))


def _drawing(cache: dict[str, Any]) -> Callable[[str], Verdict]:
    policy = {**_NGRAM, "cache": cache, "sampling": {"max": _SAMPLES, "confidence": None}}
    guard = Guard(policy, provider=_Instant(), model="instant")

    def check(question: str) -> Verdict:
        verdict = guard.check(_answer(0), question=question)
        if verdict.samples != _SAMPLES:
            raise RuntimeError(verdict.reason)
        return verdict

    check("What is a bridge?")
    return check


def _beside_none(seconds: dict[str, float], which: str) -> Reading:
    ratio = seconds[which] / seconds["none"]
    ours_ms, none_ms = 1000 * seconds[which], 1000 * seconds["none"]
    return Reading(
        ratio,
        f"{ours_ms:.2f} ms, without a cache {none_ms:.2f} ms",
        {"ms": round(ours_ms, 3), "limit_ms": round(none_ms, 3)},
    )


def _cpu_s(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _wall_s(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
