"""Runs a scorer over the items of a benchmark, with a meter and a clock."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Protocol

import anyio
import yaml

from resay.benchmarks.table import Column
from resay.core.passage import Passage
from resay.core.query import Query
from resay.core.usage import Usage
from resay.core.verdict import Scores, Verdict, tally
from resay.engine.chain import Chain
from resay.policy import Policy
from resay.providers.base import Provider
from resay.providers.layers import Limited, Retrying
from resay.providers.litellm import LiteLLMProvider
from resay.providers.prices import Metered
from resay.providers.replay import ReplayProvider, ScriptedProvider
from resay.scorers import ScorerConfig, Step
from resay.scorers.common.judging import JudgeConfig
from resay.scorers.evidence import Evidence, Judge, Samples

RECORDED = "recorded:"
"""What a judge's name begins with when its answers come from a recording."""

Recording = Mapping[str, Sequence[str | None]]
"""For each prompt the answers given to it, in order; None for a call that failed."""

_RETRIES = 4
_TIMEOUT_S = 120.0


class BenchJudge(Protocol):
    """A judge as a benchmark needs it.

    Attributes:
        name: As named on the command line.
        settings: What a scorer's configuration is given of it.
        reports_tokens: Whether its calls say how many tokens they took.
    """

    name: str
    settings: Mapping[str, Any]
    reports_tokens: bool

    async def prepare(self) -> None:
        """Make sure that it can be asked, before a long run."""
        ...

    def answering(self, item: int) -> Provider:
        """Return who answers about one item of the benchmark, without limits or retries."""
        ...

    def guarded(self, provider: Provider, limiter: AbstractAsyncContextManager[object]) -> Provider:
        """Return a provider with the limits and retries this judge needs."""
        ...


class RecordedJudge:
    """Answers recorded earlier.

    Args:
        name: As named on the command line.
        recordings: One for each item of the benchmark: answers by prompt, or a list of answers in
            the order in which they were given.
    """

    reports_tokens = False

    def __init__(self, name: str, recordings: Mapping[int, Recording | Sequence[str]]) -> None:
        self.name = name
        # Nobody was asked again when the answers were recorded.
        self.settings: Mapping[str, Any] = {"judge": JudgeConfig(model=name), "restate": False}
        self._recordings = recordings

    async def prepare(self) -> None:
        """Do nothing: a recording is always there."""

    def answering(self, item: int) -> Provider:
        """Return a provider that gives this item's answers, each once."""
        recording = self._recordings[item]
        if isinstance(recording, Mapping):
            return ReplayProvider(recording)
        return ScriptedProvider(recording)

    def guarded(self, provider: Provider, limiter: AbstractAsyncContextManager[object]) -> Provider:
        """Return the provider itself: a failure that was recorded would fail again."""
        del limiter
        return provider


class LiveJudge:
    """A model that is asked now.

    Args:
        model: In litellm's notation.
        params: What the provider takes, such as `api_base`.

    Raises:
        MissingDependencyError: litellm is not installed.
    """

    reports_tokens = True

    def __init__(self, model: str, params: Mapping[str, str]) -> None:
        self.name = model
        self._query = Query((), model, dict(params))
        self.settings: Mapping[str, Any] = {"judge": JudgeConfig(model=model, params=dict(params))}
        self._provider = LiteLLMProvider(timeout_s=_TIMEOUT_S)

    async def prepare(self) -> None:
        """Ask one question.

        Scorers leave out calls that fail, so a wrong key would come to light only at the end.

        Raises:
            ProviderError: There was no answer.
        """
        judge = Judge(Retrying(self._provider, _RETRIES), self._query)
        await judge.ask("Answer Yes or No: is ice cold?")

    def answering(self, item: int) -> Provider:
        """Return the model, whichever item it is about."""
        del item
        return self._provider

    def guarded(self, provider: Provider, limiter: AbstractAsyncContextManager[object]) -> Provider:
        """Return the provider with retries, and with so many requests at once."""
        return Retrying(Limited(provider, limiter), _RETRIES)


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


_QUESTION = "Ask me again."


@dataclass(frozen=True, slots=True)
class Checked:
    """What a chain said about one item, and what it took.

    Attributes:
        verdict: The verdict; its `samples` is how many were drawn.
        calls: How often the judge was asked.
        tokens: What the judge read and wrote, as far as it says.
        seconds: Processor time, splitting the samples included.
        waves: How often samples were asked for, several at once counted once.
    """

    verdict: Verdict
    calls: int
    tokens: int
    seconds: float
    waves: int

    @property
    def score(self) -> float | None:
        """The passage score."""
        return self.verdict.score

    @property
    def sentences(self) -> Sequence[float | None]:
        """The sentence scores."""
        return [sentence.score for sentence in self.verdict.sentences]


def policy_text(step: Mapping[str, Any]) -> str:
    """Return a step as a policy has it, indented as in a list of notes."""
    text = yaml.safe_dump([step], sort_keys=False, default_flow_style=None, width=120)
    return "\n".join(f"      {line}" for line in text.splitlines())


def judging(judge: BenchJudge, **settings: Any) -> Mapping[str, Any]:
    """Return the step of a policy that asks the judge the published question."""
    return {"method": "prompt", "form": "published", **judge.settings, **settings}


async def check(
    policy: Policy | Mapping[str, Any],
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
    # The data sets label sentences, all of them.
    read = Policy.of(policy).model_copy(update={"claims": "none", "non_claims": "score"})
    chain, results = Chain(read), list[Checked]()
    for item in items:
        asked = Metered(judge.answering(item.index))
        sampler = Metered(ReplayProvider({_QUESTION: item.samples}))
        evidence = Evidence(Samples(), query=item.query, judge_provider=asked)
        most = min(read.sampling.max, len(item.samples))
        started = time.process_time()
        async with anyio.create_task_group() as tasks:
            evidence.samples.draw_from(tasks, sampler, Query.of(_QUESTION), most=most)
            verdict = await chain.run(item.passage, evidence, math.inf)
            seconds, usage, waves = time.process_time() - started, asked.usage, sampler.usage.calls
            results.append(Checked(verdict, usage.calls, usage.tokens, seconds, waves))
        done()
    return results


COST_COLUMNS = (
    Column("calls", "calls", 1),
    Column("tokens", "tokens", 0),
    Column("seconds", "s", 4),
)
"""The columns of what `cost_of` returns."""


def cost_of(results: Sequence[Measured], judge: BenchJudge | None) -> dict[str, float | None]:
    """Return the means of calls, tokens and seconds.

    Args:
        results: What was measured, at least one.
        judge: Who was asked, if anybody.

    Returns:
        Values by the keys of `COST_COLUMNS`; `tokens` is None where the judge reports none.
    """
    tokens = fmean(r.usage.tokens for r in results)
    return {
        "calls": round(fmean(r.usage.calls for r in results), 2),
        "tokens": None if judge and not judge.reports_tokens else round(tokens, 1),
        "seconds": round(fmean(r.seconds for r in results), 5),
    }


def failures_of(name: str, results: Sequence[Measured]) -> Iterator[str]:
    """Yield a note about calls that failed, where there are any.

    Args:
        name: The entry's name.
        results: What was measured.
    """
    failures = [failure for result in results for failure in result.scores.failures]
    if failures:
        calls = sum(result.usage.calls for result in results)
        lost = f"{len(failures)} of {calls} calls failed and are left out"
        yield f"{name}: {lost} ({tally(failures)})."
