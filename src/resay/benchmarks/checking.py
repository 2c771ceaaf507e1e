"""Runs a policy's chain over the items of a benchmark, with a meter."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from resay.benchmarks.judges import BenchJudge
from resay.benchmarks.measuring import Item
from resay.core.query import Query
from resay.core.verdict import Verdict
from resay.engine.chain import Chain
from resay.policy import Policy
from resay.providers.layers import Metered
from resay.providers.replay import ReplayProvider
from resay.scorers.evidence import Evidence, Samples

__all__ = ["Checked", "check", "judging"]

_QUESTION = "Ask me again."


@dataclass(frozen=True, slots=True)
class Checked:
    """What a chain said about one item, and what it took.

    Attributes:
        verdict: The verdict; its `samples` is how many were drawn.
        calls: How often the judge was asked.
        waves: How often samples were asked for, several at once counted once.
    """

    verdict: Verdict
    calls: int
    waves: int

    @property
    def score(self) -> float | None:
        """The passage score."""
        return self.verdict.score

    @property
    def sentences(self) -> Sequence[float | None]:
        """The sentence scores."""
        return [sentence.score for sentence in self.verdict.sentences]


def judging(judge: BenchJudge, **settings: Any) -> Mapping[str, Any]:
    """Return the step of a policy that asks the judge about pairs."""
    return {"method": "prompt", "mode": "per_pair", **judge.settings, **settings}


async def check(
    policy: Mapping[str, Any],
    items: Iterable[Item],
    judge: BenchJudge,
    *,
    done: Callable[[], object] = lambda: None,
) -> list[Checked]:
    """Check items one after the other, with their samples drawn as the chain wants them.

    Args:
        policy: What to check by; `sampling.max` of an item's samples can be drawn, in order.
        items: What to check.
        judge: Who answers for judges.
        done: Called after each item.

    Returns:
        One result per item.
    """
    read = Policy.of(policy)
    chain, results = Chain(read), list[Checked]()
    for item in items:
        asked = Metered(judge.answering(item.index))
        sampler = Metered(ReplayProvider({_QUESTION: item.samples}))
        evidence = Evidence(Samples(), query=item.query, judge_provider=asked)
        most = min(read.sampling.max, len(item.samples))
        async with anyio.create_task_group() as tasks:
            evidence.samples.draw_from(tasks, sampler, Query.of(_QUESTION), most=most)
            verdict = await chain.run(item.passage, evidence, math.inf)
            results.append(Checked(verdict, asked.usage.calls, sampler.usage.calls))
        done()
    return results
