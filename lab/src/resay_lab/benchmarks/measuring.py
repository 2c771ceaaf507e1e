"""Runs scorers and chains over the items of a benchmark, measuring calls and time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Protocol

import anyio
import yaml

from resay import Passage, Request, Usage
from resay.adapters import tally
from resay.adapters.providers import (
    DefaultProvider,
    Limited,
    Metered,
    ReplayProvider,
    Retrying,
    ScriptedProvider,
)
from resay.plugins import (
    Evidence,
    Judge,
    JudgeConfig,
    Provider,
    Samples,
    ScorerConfig,
    Scores,
    Step,
)
from resay_lab.benchmarks.table import Column

RECORDED = "recorded:"
"""The prefix of the name of a judge with recorded answers."""

Recording = Mapping[str, Sequence[str | None]]
"""The answers to each prompt, in order; None for a call that failed."""

_RETRIES = 4
_TIMEOUT_S = 120.0


class BenchJudge(Protocol):
    """A judge for benchmarks.

    Attributes:
        name: Its name on the command line.
        settings: The settings that select it in a scorer's configuration.
        reports_tokens: Whether its calls report token usage.
    """

    name: str
    settings: Mapping[str, Any]
    reports_tokens: bool

    async def prepare(self) -> None:
        """Check that it answers, before a long run."""
        ...

    def provider_for(self, item: int) -> Provider:
        """Return a provider of answers about one item, without limits or retries."""
        ...

    def with_limits(
        self, provider: Provider, limiter: AbstractAsyncContextManager[object]
    ) -> Provider:
        """Return a provider with the limits and retries that this judge needs."""
        ...


class RecordedJudge:
    """A judge that replays recorded answers.

    Args:
        name: Its name on the command line.
        recordings: One for each item of the benchmark: answers by prompt, or a list of answers in
            the order in which they were given.
    """

    reports_tokens = False

    def __init__(self, name: str, recordings: Mapping[int, Recording | Sequence[str]]) -> None:
        self.name = name
        # No question was repeated when the answers were recorded.
        self.settings: Mapping[str, Any] = {"judge": JudgeConfig(model=name), "restate": False}
        self._recordings = recordings

    async def prepare(self) -> None:
        """Do nothing: recordings need no setup."""

    def provider_for(self, item: int) -> Provider:
        """Return a provider that gives each of this item's answers once."""
        recording = self._recordings[item]
        if isinstance(recording, Mapping):
            return ReplayProvider(recording)
        return ScriptedProvider(recording)

    def with_limits(
        self, provider: Provider, limiter: AbstractAsyncContextManager[object]
    ) -> Provider:
        """Return the provider itself: a recorded failure would only fail again."""
        del limiter
        return provider


class LiveJudge:
    """A live model as a judge.

    Args:
        model: The model, in litellm's notation.
        params: Parameters for the provider, such as `api_base`.

    Raises:
        MissingDependencyError: litellm is not installed.
    """

    reports_tokens = True

    def __init__(self, model: str, params: Mapping[str, str]) -> None:
        self.name = model
        self._request = Request((), model, dict(params))
        self.settings: Mapping[str, Any] = {"judge": JudgeConfig(model=model, params=dict(params))}
        self._provider = DefaultProvider([self._request], timeout_s=_TIMEOUT_S)
        # Refuses a provider that is not installed.
        self._provider.provider_of(self._request)

    async def prepare(self) -> None:
        """Ask one question.

        Scorers leave out failed calls, so a wrong key would otherwise be noticed only at the end.

        Raises:
            ProviderError: There was no answer.
        """
        judge = Judge(Retrying(self._provider, _RETRIES), self._request)
        await judge.ask("Answer Yes or No: is ice cold?")

    def provider_for(self, item: int) -> Provider:
        """Return the model, the same for every item."""
        del item
        return self._provider

    def with_limits(
        self, provider: Provider, limiter: AbstractAsyncContextManager[object]
    ) -> Provider:
        """Return the provider with retries and a limit on concurrent requests."""
        return Retrying(Limited(provider, limiter), _RETRIES)


@dataclass(frozen=True, slots=True)
class Item:
    """A passage of a benchmark with its samples.

    Attributes:
        index: Its row in the data, from 0.
        passage: The passage with its labelled sentences.
        samples: Other responses to the same request.
        references: Trusted texts.
        request: The request that the passage answers.
        entity: The main subject of the passage, if the data name one.
    """

    index: int
    passage: Passage
    samples: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    request: Request | None = None
    entity: str | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """A scorer's result for one item, and its cost.

    Attributes:
        scores: The scores.
        usage: The judge calls, each request counted.
        seconds: Wall-clock time, including splitting the samples.
    """

    scores: Scores
    usage: Usage
    seconds: float

    @property
    def sentences(self) -> Sequence[float | None]:
        """The sentence scores: the method's own unbounded values if it has any."""
        return self.scores.values

    @property
    def passage(self) -> float | None:
        """The passage score: the method's own unbounded value if it has one."""
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
        items: The items to score.
        judge: The judge, if the scorer asks one.
        concurrency: The maximum number of concurrent requests to a live judge.
        done: Called after each item.

    Returns:
        One result per item.
    """
    step = Step.of(config)
    limiter = anyio.Semaphore(concurrency)
    results: list[Measured] = []
    for item in items:
        meter = Metered(judge.provider_for(item.index)) if judge else None
        provider = judge.with_limits(meter, limiter) if judge and meter else None
        evidence = Evidence(
            samples=Samples(item.samples),
            references=Samples(item.references),
            request=item.request or Request(()),
            entity=item.entity,
        )
        started = time.perf_counter()
        scores = await step.scorer.score(item.passage, step.view(evidence, provider))
        seconds = time.perf_counter() - started
        results.append(Measured(scores, meter.usage if meter else Usage(), seconds))
        done()
    return results


def policy_text(step: Mapping[str, Any]) -> str:
    """Return a policy step as YAML, indented to fit a list of notes."""
    text = yaml.safe_dump([step], sort_keys=False, default_flow_style=None, width=120)
    return "\n".join(f"      {line}" for line in text.splitlines())


COST_COLUMNS = (
    Column("calls", "calls", 1),
    Column("tokens", "tokens", 0),
    Column("seconds", "s", 4),
)
"""The columns of the costs that `cost_of` returns."""


def cost_of(results: Sequence[Measured], judge: BenchJudge | None) -> dict[str, float | None]:
    """Return the means of calls, tokens and seconds.

    Args:
        results: The results, at least one.
        judge: The judge, if one was asked.

    Returns:
        Values by the keys of `COST_COLUMNS`; `tokens` is None if the judge reports none.
    """
    tokens = fmean(r.usage.tokens for r in results)
    return {
        "calls": round(fmean(r.usage.calls for r in results), 2),
        "tokens": None if judge and not judge.reports_tokens else round(tokens, 1),
        "seconds": round(fmean(r.seconds for r in results), 5),
    }


def failures_of(name: str, results: Sequence[Measured]) -> Iterator[str]:
    """Yield a note about failed calls, if there are any.

    Args:
        name: The entry's name.
        results: The entry's results.
    """
    failures = [failure for result in results for failure in result.scores.failures]
    if failures:
        calls = sum(result.usage.calls for result in results)
        lost = f"{len(failures)} of {calls} calls failed and are left out"
        yield f"{name}: {lost} ({tally(failures)})."
