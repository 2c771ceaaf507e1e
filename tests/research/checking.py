"""Runs a policy's chain over the items of a benchmark, drawing recorded samples as it asks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from resay import Policy, Request, Verdict
from resay.adapters.providers import Metered, ReplayProvider
from resay.engine.chain import Chain
from resay.plugins import Evidence, Samples
from resay_lab.benchmarks.measuring import BenchJudge, Item

_QUESTION = "Ask me again."


@dataclass(frozen=True, slots=True)
class Checked:
    """A chain's result for one item, and its cost.

    Attributes:
        verdict: The verdict; its `samples` is the number of samples drawn.
        calls: The number of judge calls.
        tokens: The tokens that the judge read and wrote, as far as it reports them.
        seconds: Processor time, including splitting the samples.
        waves: The number of requests for samples; several requested together count once.
    """

    verdict: Verdict
    calls: int
    tokens: int
    seconds: float
    waves: int

    @property
    def score(self) -> float | None:
        """The passage score."""
        return self.verdict.mean_score

    @property
    def sentences(self) -> Sequence[float | None]:
        """The sentence scores."""
        return [sentence.score for sentence in self.verdict.sentences]


def judging(judge: BenchJudge, **settings: Any) -> Mapping[str, Any]:
    """Return the policy step that asks the judge the published question."""
    return {"method": "prompt", "form": "published", **judge.settings, **settings}


async def check(
    policy: Policy | Mapping[str, Any],
    items: Iterable[Item],
    judge: BenchJudge,
    *,
    skips: bool = False,
    done: Callable[[], object] = lambda: None,
) -> list[Checked]:
    """Check items one after the other, drawing their samples as the chain requests them.

    Args:
        policy: The policy; up to `sampling.max` of an item's samples can be drawn, in order.
        items: The items to check.
        judge: The judge.
        skips: Whether sentences that claim nothing are skipped, if the policy says so. The data
            sets label them as well, so a comparison of methods scores them.
        done: Called after each item.

    Returns:
        One result per item.
    """
    policy = Policy.of(policy)
    if not skips:
        policy = policy.model_copy(update={"non_claims": "score"})
    chain = Chain(policy)
    results: list[Checked] = []
    for item in items:
        judge_meter = Metered(judge.provider_for(item.index))
        sampler = Metered(ReplayProvider({_QUESTION: item.samples}))
        evidence = Evidence(
            Samples(), request=item.request or Request(()), judge_provider=judge_meter
        )
        count = min(policy.sampling.max, len(item.samples))
        started = time.process_time()
        async with anyio.create_task_group() as tasks:
            evidence.samples.draw_from(tasks, sampler, Request.of(_QUESTION), max_requests=count)
            verdict = await chain.run(item.passage, evidence, math.inf)
            checked = Checked(
                verdict=verdict,
                calls=judge_meter.usage.calls,
                tokens=judge_meter.usage.tokens,
                seconds=time.process_time() - started,
                waves=sampler.usage.calls,
            )
            results.append(checked)
        done()
    return results
