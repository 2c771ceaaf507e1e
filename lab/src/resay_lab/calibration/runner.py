"""Runs the policy's chain, or single methods, over labelled responses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from resay import Guard, Passage, Policy, Request, Verdict
from resay.adapters import Threshold, tokens_of, without_reasoning
from resay.adapters.providers import (
    AnswersOnly,
    DefaultProvider,
    Limited,
    Retrying,
    TimeLimited,
    draw,
    prober_of,
)
from resay.errors import ConfigurationError
from resay.plugins import (
    Evidence,
    Judge,
    Provider,
    Samples,
    ScorerConfig,
    Scores,
    Step,
    over,
    without_noise,
)
from resay_lab.calibration.labels import LabelledRow


@dataclass(frozen=True, slots=True)
class Outcome:
    """The chain's scores of a response, and its labels.

    A sentence without a score is never flagged, at any threshold.

    Attributes:
        score: The passage score, in [0, 1].
        sentences: The score of each sentence; None if no method scored it.
        hallucinated: Whether the response is labelled as hallucinated; None if it is not
            labelled.
        wrong: The same for each sentence; empty if no sentence is labelled.
    """

    score: float
    sentences: tuple[float | None, ...] = ()
    hallucinated: bool | None = None
    wrong: tuple[bool | None, ...] = ()

    def __post_init__(self) -> None:
        # As they are compared with thresholds.
        sentences = tuple(None if s is None else without_noise(s) for s in self.sentences)
        object.__setattr__(self, "score", without_noise(self.score))
        object.__setattr__(self, "sentences", sentences)

    @property
    def highest(self) -> float | None:
        """The greatest score of a sentence; None if no sentence has one."""
        return max((score for score in self.sentences if score is not None), default=None)

    def flagged(self, threshold: Threshold) -> bool:
        """Return whether a response with these scores is flagged."""
        return over(self.score, threshold.passage) or any(
            over(score, threshold.sentence) for score in self.sentences
        )

    def labelled(self, wrong: bool) -> list[float | None]:
        """Return the scores of the sentences with this label."""
        pairs = zip(self.sentences, self.wrong, strict=True) if self.wrong else ()
        return [score for score, label in pairs if label is wrong]

    def share_flagged(self, wrong: bool, threshold: float | None) -> Fraction | None:
        """Return the share of its sentences with this label that are flagged.

        Returns:
            The share, or None if no sentence has this label.
        """
        scores = self.labelled(wrong)
        if not scores:
            return None
        return Fraction(sum(over(score, threshold) for score in scores), len(scores))


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of single methods for a response.

    Attributes:
        row: The labelled response.
        wrong: The labels of its sentences; empty if they have none.
        scores: The scores of each method.
    """

    row: LabelledRow
    wrong: tuple[bool | None, ...]
    scores: tuple[Scores, ...]


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs checks of labelled responses.

    Attributes:
        provider: Answers the calls; None for litellm.
        model: The model that wrote the responses whose rows name none.
        params: Provider parameters, such as `api_base`.
        concurrency: The number of responses processed at the same time.
        done: Called after each response.
    """

    provider: Provider | None = None
    model: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    concurrency: int = 4
    done: Callable[[], object] = lambda: None

    async def check(self, policy: Policy, rows: Sequence[LabelledRow]) -> list[Verdict]:
        """Check responses with the whole chain.

        Args:
            policy: The policy.
            rows: The responses.

        Returns:
            The verdict of each.

        Raises:
            ConfigurationError: A row lacks something that the chain needs.
        """
        guard = Guard(_without_early_stop(policy), model=self.model, provider=self.provider)
        needs = _needs(policy.chain)

        async def check(row: LabelledRow) -> Verdict:
            return await guard.acheck(
                row.response or "",
                question=row.question,
                samples=row.samples,
                references=row.references if "references" in needs else (),
                logprobs=row.logprobs if "logprobs" in needs else None,
                model=row.model,
                entity=row.entity,
                params=self.params,
            )

        return await self._each(rows, check)

    async def score(
        self, policy: Policy, configs: Sequence[ScorerConfig], rows: Sequence[LabelledRow]
    ) -> list[Scored]:
        """Score responses with single methods, all on the same samples.

        Args:
            policy: Determines how samples are drawn, and the limits of calls.
            configs: The methods.
            rows: The responses.

        Returns:
            The scores for each response.

        Raises:
            ConfigurationError: A row lacks something that a method needs.
        """
        steps = [Step.of(config) for config in configs]
        needs = _needs(configs)
        provider = self.provider or DefaultProvider()

        async def score(row: LabelledRow) -> Scored:
            passage = await anyio.to_thread.run_sync(
                partial(Passage.of, without_reasoning(row.response or ""), splitter=policy.splitter)
            )
            limited = AnswersOnly(_limited(provider, policy))
            evidence = await self._evidence(row, policy, needs, limited)
            scores: list[Scores] = []
            for step in steps:
                view = step.view(evidence, evidence.judge_provider)
                scores.append(await step.run(passage, view))
            return Scored(row=row, wrong=row.labels_of(passage.sentences), scores=tuple(scores))

        return await self._each(rows, score)

    async def _evidence(
        self, row: LabelledRow, policy: Policy, needs: frozenset[str], provider: Provider
    ) -> Evidence:
        model = row.model or self.model
        request = Request((), model, self.params)
        if row.question is not None:
            request = Request.of(row.question, model=model, params=self.params)
        texts = [without_reasoning(sample) for sample in row.samples or ()]
        if row.samples is None and "samples" in needs:
            if not request.messages or not (model or self.provider):
                raise ConfigurationError(
                    "samples are needed; give `samples`, or the `question` and the `model` to draw"
                    " them from"
                )
            sampling = policy.sampling
            sample_request = request.for_sampling(
                model=sampling.model, temperature=sampling.temperature, params=sampling.params
            )
            failures: list[Exception] = []
            await draw(
                provider,
                sample_request,
                sampling.max,
                lambda c: texts.append(c.text),
                failures.append,
            )
        return Evidence(
            samples=Samples(texts, splitter=policy.splitter),
            references=Samples(row.references, splitter=policy.splitter),
            request=request,
            entity=row.entity,
            judge_provider=provider,
            prober=self._prober(request, policy, provider),
            logprobs=tokens_of(row.logprobs or ()),
            threshold=policy.threshold.lowest,
            doubtful=policy.threshold.doubtful,
        )

    def _prober(self, request: Request, policy: Policy, provider: Provider) -> Judge | None:
        sampling = policy.sampling
        if (sampling.model or request.model or self.provider) is None:
            return None
        return prober_of(
            provider,
            request,
            model=sampling.model,
            temperature=sampling.temperature,
            params=sampling.params,
        )

    async def _each(
        self, rows: Sequence[LabelledRow], work: Callable[[LabelledRow], Awaitable[T]]
    ) -> list[T]:
        results: dict[int, T] = {}
        failures: list[ConfigurationError] = []
        slots = anyio.Semaphore(self.concurrency)

        async def run(i: int, row: LabelledRow) -> None:
            async with slots:
                try:
                    results[i] = await work(row)
                except ConfigurationError as error:
                    named = str(error).startswith(row.where)
                    failures.append(error if named else ConfigurationError(f"{row.where}: {error}"))
                    tasks.cancel_scope.cancel()
            self.done()

        async with anyio.create_task_group() as tasks:
            for i, row in enumerate(rows):
                tasks.start_soon(run, i, row)
        if failures:
            raise failures[0]
        return [results[i] for i in range(len(rows))]


def outcome_of(row: LabelledRow, verdict: Verdict) -> Outcome | None:
    """Return the scores and labels of a checked response.

    Returns:
        The outcome, or None if the verdict is inconclusive or rests on an incomplete check: whether
        that is inconclusive depends on the thresholds that are yet to be found.

    Raises:
        ConfigurationError: The labels do not match the sentences.
    """
    wrong = row.labels_of(verdict.sentences)
    failed = any(step.failures for step in verdict.steps)
    lost = failed and any(sentence.score is None for sentence in verdict.sentences)
    broken = any(step.error is not None for step in verdict.steps)
    if verdict.inconclusive or verdict.mean_score is None or lost or broken:
        return None
    return Outcome(
        verdict.mean_score, tuple(s.score for s in verdict.sentences), row.hallucinated, wrong
    )


def _without_early_stop(policy: Policy) -> Policy:
    """Return the policy without early stopping, which would depend on the old thresholds.

    The journal is off as well, because these answers were not given to any user.
    """
    sampling = policy.sampling.model_copy(update={"confidence": None})
    return policy.model_copy(update={"sampling": sampling, "journal": None})


def _needs(configs: Sequence[ScorerConfig]) -> frozenset[str]:
    return frozenset[str]().union(*(Step.of(config).needs for config in configs))


def _limited(provider: Provider, policy: Policy) -> Provider:
    limits = policy.limits
    if limits.timeout_s is not None:
        provider = TimeLimited(provider, limits.timeout_s)
    return Retrying(Limited(provider, anyio.Semaphore(limits.concurrency)), limits.retries)
