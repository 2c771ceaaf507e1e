"""Runs a scorer over the items of a benchmark, with a meter and a clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import anyio

from resay.benchmarks.judges import BenchJudge
from resay.core.passage import Passage
from resay.core.query import Query
from resay.core.verdict import Scores, Usage
from resay.providers.layers import Metered
from resay.scorers import ScorerConfig, Step
from resay.scorers.evidence import Evidence, Samples

__all__ = ["Item", "Measured", "measure"]


@dataclass(frozen=True, slots=True)
class Item:
    """A passage of a benchmark with its samples.

    Attributes:
        index: Its row in the data, from 0.
        passage: The passage with the sentences that were labelled.
        samples: Other responses to the same query.
        references: Trusted texts.
        query: What the passage answers.
    """

    index: int
    passage: Passage
    samples: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    query: Query | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """What a scorer said about one item, and what it took.

    Attributes:
        scores: The scores.
        usage: Its judge calls, each request counted.
        seconds: Wall-clock time, splitting the samples included.
    """

    scores: Scores
    usage: Usage
    seconds: float

    @property
    def sentences(self) -> Sequence[float | None]:
        """The sentence scores: the method's own unbounded values where it has any."""
        return self.scores.values

    @property
    def passage(self) -> float | None:
        """The passage score: the method's own unbounded value where it has one."""
        return self.scores.passage_value


async def measure(
    config: ScorerConfig,
    items: Iterable[Item],
    judge: BenchJudge | None,
    *,
    concurrency: int,
    done: Callable[[], object],
) -> list[Measured]:
    """Score items one after the other.

    Args:
        config: The scorer's configuration.
        items: What to score.
        judge: Who answers for the scorer's judge, if it has one.
        concurrency: How many requests a live judge gets at once.
        done: Called after each item.

    Returns:
        One result per item.
    """
    step = Step.of(config)
    limiter = anyio.Semaphore(concurrency)
    results: list[Measured] = []
    for item in items:
        meter = Metered(judge.answering(item.index)) if judge else None
        provider = judge.guarded(meter, limiter) if judge and meter else None
        evidence = Evidence(Samples(item.samples), Samples(item.references), item.query)
        started = time.perf_counter()
        scores = await step.scorer.score(item.passage, step.view(evidence, provider))
        seconds = time.perf_counter() - started
        results.append(Measured(scores, meter.usage if meter else Usage(), seconds))
        done()
    return results
