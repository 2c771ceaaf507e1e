"""Asks a judge about the samples nearest to a sentence first, and estimates the other entries.

A sample that supports a sentence usually shares its rare words. So the judge is asked first about
the sample that shares most of them, and its answers for the remaining samples are estimated from
the shared words and from its answers so far: a logistic regression with a random intercept for each
sentence,

    P(no support | sentence i, sample n, u_i) = sigmoid(a + b o_in + c mean_n o_in + s u_i)

with o_in in [0, 1] the share of the sentence's words, weighted by how few samples contain them,
that appear in the sample, and u_i ~ N(0, 1) the part that words do not show: the sentence may be
paraphrased, or denied in the same words. The judge's answers so far update u_i (Bayes, on a grid).
A sentence's score is the mean of the entries over all samples: judged ones as they are, the others
by their expectation. It is settled when the score that judging all samples would give lies on the
same side of its thresholds with the required confidence, assuming a normal error with variance

    v_i = phi (E_u[sum p (1 - p)] + Var_u[sum p]) / N^2

over the estimated entries; that of a passage score, the mean of K sentences, is

    ((1 - rho) sum v_i + rho (sum sqrt(v_i))^2) / K^2

because the errors of a passage's sentences are correlated. This method is unpublished;
`python -m research cascade` measures what it saves and what it costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from math import ceil, exp, fsum, log, log1p, sqrt
from operator import mul
from statistics import NormalDist, fmean

import anyio
from pydantic import BaseModel, ConfigDict, Field

from resay._internal.event_loops import stop_if_abandoned
from resay.core.tokens import tokenize
from resay.scorers.common.comparing import support_reason
from resay.scorers.common.logistic import logistic
from resay.scorers.stopping import Stopping

_GRID = tuple(step / 2 for step in range(-6, 7))
"""Grid points of u: three standard deviations either way."""

# Measured on WikiBio's passages with even row numbers after three answers of gemma4-31b.
_OVERDISPERSION = 1.5
"""phi: the factor by which the squared error exceeds the model's."""

_CORRELATION = 0.15
"""rho: the correlation of the errors of two sentences of a passage."""

Entries = dict[int, float | None]


class Estimate(BaseModel):
    """Model that estimates a judge's answers from the words a sentence and a sample share.

    The defaults fit the answers of one judge (gemma4-31b) on 945 sentences of biographies with 20
    samples each: WikiBio's passages with even row numbers, to two digits. Another judge, or another
    kind of text, may need other values: `python -m research cascade` prints those for the judge it
    is given, and `fit_estimate` beside it fits them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    intercept: float = Field(default=5.9, description="a: the log-odds of no support at overlap 0.")
    overlap: float = Field(
        default=-5.5, description="b: the coefficient of the overlap with the sample."
    )
    mean_overlap: float = Field(
        default=-3.4, description="c: the coefficient of the mean overlap with all samples."
    )
    spread: float = Field(
        default=1.5,
        ge=0,
        description="s: the standard deviation, between sentences, of the part of the log-odds that"
        " the words do not explain. The greater it is, the more the known answers outweigh the"
        " words.",
    )

    def log_odds(self, overlaps: Sequence[float]) -> list[float]:
        """Return the log-odds that each sample does not support the sentence, at u = 0."""
        if not overlaps:
            return []
        base = self.intercept + self.mean_overlap * fmean(overlaps)
        return [base + self.overlap * o for o in overlaps]

    def expect(
        self, judged: Sequence[tuple[float, float]], unjudged: Sequence[float]
    ) -> tuple[float, float]:
        """Estimate the entries of samples that were not judged.

        Args:
            judged: The log-odds and the entry, in [0, 1], of each judged sample.
            unjudged: The log-odds of the others.

        Returns:
            The expectation and the variance of their sum.
        """
        if not unjudged:
            return 0.0, 0.0
        log_weights = [self._log_weight(u, judged) for u in _GRID]
        highest = max(log_weights)
        weights = [exp(log_weight - highest) for log_weight in log_weights]
        total_weight = sum(weights)
        # At each grid point, the expectation and the variance of the sum of the others.
        means: list[float] = []
        variances: list[float] = []
        for u in _GRID:
            chances = [logistic(odds + self.spread * u) for odds in unjudged]
            means.append(sum(chances))
            variances.append(sum(chance * (1 - chance) for chance in chances))
        mean = sum(map(mul, weights, means)) / total_weight
        variance = 0.0
        for weight, grid_mean, grid_variance in zip(weights, means, variances, strict=True):
            variance += weight * (grid_variance + (grid_mean - mean) ** 2)
        return mean, variance / total_weight

    def _log_weight(self, u: float, judged: Sequence[tuple[float, float]]) -> float:
        """Return the logarithm of how likely a grid point is, given the judged entries."""
        shift = self.spread * u
        likelihood = sum(entry * (odds + shift) - _softplus(odds + shift) for odds, entry in judged)
        return likelihood - u * u / 2


def _softplus(odds: float) -> float:
    """Return log(1 + e^odds)."""
    return max(odds, 0.0) + log1p(exp(-abs(odds)))


def overlaps(sentences: Sequence[str], samples: Sequence[str]) -> list[list[float]]:
    """Return the share of each sentence's words that each sample contains.

    Args:
        sentences: The sentences.
        samples: The samples.

    Returns:
        For each sentence one number in [0, 1] per sample; a word weighs
        `log((N + 1) / (k + 1/2))` if k of the N samples contain it.
    """
    words_by_sample = [frozenset(tokenize(sample)) for sample in samples]
    frequency = Counter(word for words in words_by_sample for word in words)
    shares: list[list[float]] = []
    for sentence in sentences:
        stop_if_abandoned()
        weights: dict[str, float] = {}
        # Sorted, so that rounding does not depend on the iteration order of a set.
        for word in sorted(set(tokenize(sentence))):
            weights[word] = log((len(samples) + 1) / (frequency[word] + 0.5))
        total = sum(weights.values())
        row: list[float] = []
        for words in words_by_sample:
            shared = sum(weight for word, weight in weights.items() if word in words)
            row.append(shared / total if total > 0 else 0.0)
        shares.append(row)
    return shares


@dataclass(frozen=True, slots=True)
class _ScoreEstimate:
    """What is known about a sentence's score.

    Attributes:
        score: The score, estimated entries included; None while nothing is known.
        variance: The variance of the score.
        low: The lowest value the score can still take.
        high: The highest value the score can still take.
        judged_mean: The mean of the judged entries; None for a passage.
    """

    score: float | None
    variance: float
    low: float
    high: float
    judged_mean: float | None = None

    def is_beyond(self, threshold: float, deviations: float | None) -> bool:
        """Return whether it is known on which side of a threshold the score lies.

        Args:
            threshold: The threshold.
            deviations: Required distance in standard deviations; None if only bounds count.
        """
        if self.score is None:
            return False
        if self.low > threshold or self.high <= threshold:
            return True
        # An estimate cannot settle a sentence against the mean of the judged entries.
        if self.judged_mean is not None and (self.judged_mean > threshold) != (
            self.score > threshold
        ):
            return False
        return deviations is not None and (
            abs(self.score - threshold) >= deviations * sqrt(self.variance)
        )


@dataclass(slots=True)
class _SentenceEntries:
    """The order of one sentence's samples, and what is known about each.

    Attributes:
        order: The samples, nearest first.
        log_odds: For each sample the log-odds that it does not support the sentence.
        thresholds: The scores it must be known to lie above or not.
        entries: The judge's entries by sample; None for a failed call.
        taken: Number of samples already taken from the order.
    """

    order: Sequence[int]
    log_odds: Sequence[float]
    thresholds: tuple[float, ...]
    entries: Entries = field(default_factory=Entries)
    taken: int = 0

    def take(self, count: int) -> Sequence[int]:
        """Return the next samples to ask about."""
        chosen = self.order[self.taken : self.taken + count]
        self.taken += len(chosen)
        return chosen

    @property
    def left(self) -> int:
        """Number of samples not taken yet."""
        return len(self.order) - self.taken

    @property
    def judged(self) -> dict[int, float]:
        return {n: entry for n, entry in self.entries.items() if entry is not None}

    @property
    def estimated(self) -> list[int]:
        return [n for n in self.order if n not in self.entries]

    def estimate_score(self, model: Estimate) -> _ScoreEstimate:
        """Return what is known about the score; entries of failed calls are left out."""
        judged, estimated = self.judged, self.estimated
        count = len(judged) + len(estimated)
        if not judged:
            return _ScoreEstimate(None, 0.0, 0.0, 1.0)
        expected, variance = model.expect(
            [(self.log_odds[n], entry) for n, entry in judged.items()],
            [self.log_odds[n] for n in estimated],
        )
        total = fsum(judged.values())
        return _ScoreEstimate(
            (total + expected) / count,
            _OVERDISPERSION * variance / count**2,
            total / count,
            (total + len(estimated)) / count,
            total / len(judged),
        )


class NearestFirst:
    """Asks in waves until everything is settled.

    Args:
        overlaps: The share of each sentence that each sample contains; see `overlaps`.
        estimate: The model that estimates answers.
        rule: The stopping rule; None to ask about every pair.
    """

    def __init__(
        self, overlaps: Sequence[Sequence[float]], estimate: Estimate, rule: Stopping | None
    ) -> None:
        self._rule = rule
        self._estimate = estimate
        # One-sided: the error is that all answers would put the score beyond the threshold.
        confidence = rule.confidence if rule else 1.0
        self._deviations = NormalDist().inv_cdf(confidence) if confidence < 1 else None
        thresholds = rule.decisions.thresholds if rule else ((),) * len(overlaps)
        self._sentences = [
            _SentenceEntries(
                sorted(range(len(shared)), key=lambda n, shared=shared: -shared[n]),
                estimate.log_odds(shared),
                of_sentence,
            )
            for shared, of_sentence in zip(overlaps, thresholds, strict=True)
        ]

    async def run(self, ask: Callable[[int, int], Awaitable[float | None]]) -> None:
        """Ask about pairs until everything is settled.

        Args:
            ask: Returns the entry of a sentence and a sample; None for a failed call.
        """
        sentences = self._sentences
        pending = [i for i, sentence in enumerate(sentences) if sentence.left]
        wave = (
            self._rule.min_samples
            if self._rule
            else max((sentence.left for sentence in sentences), default=0)
        )
        requested = 0
        while pending:
            async with anyio.create_task_group() as tasks:
                for i in pending:
                    for n in sentences[i].take(wave):
                        tasks.start_soon(self._ask, ask, i, n)
            requested += wave
            wave = ceil(requested / 2)
            pending = [i for i in self._unsettled() if sentences[i].left]

    async def _ask(
        self, ask: Callable[[int, int], Awaitable[float | None]], i: int, n: int
    ) -> None:
        self._sentences[i].entries[n] = await ask(i, n)

    def _unsettled(self) -> Sequence[int]:
        """Return the sentences that need further answers."""
        rule = self._rule
        if rule is None:
            return ()
        estimates = self._score_estimates()
        left = [
            i
            for i, (sentence, estimate) in enumerate(zip(self._sentences, estimates, strict=True))
            if not all(
                estimate.is_beyond(threshold, self._deviations) for threshold in sentence.thresholds
            )
        ]
        passage = self._passage_estimate(estimates)
        threshold = rule.decisions.passage
        passage_settled = threshold is None or passage.is_beyond(threshold, self._deviations)
        if rule.decisions.one_is_enough and (
            (threshold is not None and passage_settled and (passage.score or 0.0) > threshold)
            or self._flagged(estimates, left)
        ):
            return ()
        return left if left or passage_settled else range(len(self._sentences))

    def _flagged(self, estimates: Sequence[_ScoreEstimate], left: Sequence[int]) -> bool:
        """Return whether a sentence is known to lie above its last threshold."""
        return any(
            bool(sentence.thresholds) and (estimate.score or 0.0) > sentence.thresholds[-1]
            for i, (sentence, estimate) in enumerate(zip(self._sentences, estimates, strict=True))
            if i not in left
        )

    def _score_estimates(self) -> list[_ScoreEstimate]:
        return [sentence.estimate_score(self._estimate) for sentence in self._sentences]

    def _passage_estimate(self, estimates: Sequence[_ScoreEstimate]) -> _ScoreEstimate:
        """Return what is known about the mean over all sentences of the passage."""
        others = self._rule.decisions.settled_scores if self._rule else ()
        sentences = zip(self._sentences, estimates, strict=True)
        # A sentence whose calls all failed has no score; one with samples left may still get one.
        scorable = [
            estimate for sentence, estimate in sentences if sentence.left or sentence.judged
        ]
        scores = [estimate.score for estimate in scorable if estimate.score is not None]
        if not scores or len(scores) < len(scorable):
            return _ScoreEstimate(None, 0.0, 0.0, 1.0)
        count, settled = len(scorable) + len(others), fsum(others)
        independent = fsum(estimate.variance for estimate in scorable)
        correlated = fsum(sqrt(estimate.variance) for estimate in scorable) ** 2
        variance = (1 - _CORRELATION) * independent + _CORRELATION * correlated
        return _ScoreEstimate(
            (fsum(scores) + settled) / count,
            variance / count**2,
            (fsum(estimate.low for estimate in scorable) + settled) / count,
            (fsum(estimate.high for estimate in scorable) + settled) / count,
        )

    @property
    def scores(self) -> list[float | None]:
        """The score of each sentence."""
        return [estimate.score for estimate in self._score_estimates()]

    @property
    def columns(self) -> list[tuple[float | None, ...]]:
        """The judged entries, one column per sample."""
        samples = len(self._sentences[0].order) if self._sentences else 0
        return [
            tuple(sentence.entries.get(n) for sentence in self._sentences) for n in range(samples)
        ]

    def reason(self, i: int) -> str | None:
        """Return a one-line explanation of a sentence's score."""
        sentence = self._sentences[i]
        judged = sentence.judged
        if not judged:
            return None
        explanation = support_reason(judged.values())
        left = len(sentence.estimated)
        return f"{explanation}; {left} less similar ones estimated" if left else explanation
