"""Asks a judge about the samples nearest to a sentence first, and estimates the rest.

What supports a sentence mostly shares its rare words. So the sample that shares most of them is
asked about first, and what the judge would say of those not asked about is estimated from what they
share, and from what it said of those it was asked about: a logistic regression with a random
intercept for each sentence,

    P(no support | sentence i, sample n, u_i) = sigmoid(a + b o_in + c mean_n o_in + s u_i)

with o_in in [0, 1] the part of the sentence's words, weighed by how few samples hold them, that
stand in the sample, and u_i ~ N(0, 1) what the words do not tell: a sentence may be said in other
words, or denied in the same. The judge's answers so far update u_i (Bayes, on a grid). A sentence's
score is the mean over all samples of the entries, those judged and the expectation of those
estimated. It is settled when the score that judging all would give lies on the same side of its
edges with the confidence asked for, with a normal error of the variance

    v_i = phi (E_u[sum p (1 - p)] + Var_u[sum p]) / N^2

over the entries estimated; that of a passage score, the mean of K sentences, is

    ((1 - rho) sum v_i + rho (sum sqrt(v_i))^2) / K^2

because the errors of a passage's sentences hang together. Nothing of this is published;
`resay bench cascade` measures what it saves and what it costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from math import ceil, exp, fsum, log, log1p, sqrt, tanh
from statistics import NormalDist, fmean

import anyio
from pydantic import BaseModel, ConfigDict, Field

from resay._internal.event_loops import stop_if_abandoned
from resay.core.tokens import tokenize
from resay.scorers.stopping import Stopping

_GRID = tuple(step / 2 for step in range(-6, 7))
"""Where u is looked at: three standard deviations either way."""

# What was found on WikiBio's passages with even row numbers after three answers of gemma4-31b.
_WIDENING = 1.5
"""phi: by how much the squared error is greater than the model says."""

_TOGETHER = 0.15
"""rho: the correlation of the errors of two sentences of a passage."""

Entries = dict[int, float | None]


class Estimate(BaseModel):
    """How the judge's answers are estimated from the words sentence and sample share.

    The defaults fit what one judge (gemma4-31b) said of 945 sentences of biographies with 20
    samples each: those of WikiBio's passages with even row numbers, to two digits. Another judge,
    or texts of another kind, may need others: `resay bench cascade` prints those of the judge it is
    given, and `resay.benchmarks.cascade.fit_estimate` fits them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    intercept: float = Field(default=5.9, description="a: the log-odds of no support at overlap 0.")
    overlap: float = Field(default=-5.5, description="b: what the overlap with the sample adds.")
    mean_overlap: float = Field(
        default=-3.4, description="c: what the mean overlap with all samples adds."
    )
    spread: float = Field(
        default=1.5,
        ge=0,
        description="s: the deviation, from sentence to sentence, of what the words do not tell."
        " The greater, the more the answers known count against the words.",
    )

    def log_odds(self, overlaps: Sequence[float]) -> list[float]:
        """Return for each sample the log-odds that it does not support the sentence, at u = 0."""
        if not overlaps:
            return []
        base = self.intercept + self.mean_overlap * fmean(overlaps)
        return [base + self.overlap * o for o in overlaps]

    def expect(
        self, known: Sequence[tuple[float, float]], left: Sequence[float]
    ) -> tuple[float, float]:
        """Estimate the entries of samples nobody was asked about.

        Args:
            known: The log-odds and the entry, in [0, 1], of each sample judged.
            left: The log-odds of the others.

        Returns:
            The expectation of their sum, and its variance.
        """
        if not left:
            return 0.0, 0.0
        shifts = [self.spread * u for u in _GRID]
        logs = [
            sum(x * (odds + shift) - _softplus(odds + shift) for odds, x in known) - u * u / 2
            for u, shift in zip(_GRID, shifts, strict=True)
        ]
        most = max(logs)
        weights = [exp(value - most) for value in logs]
        whole = sum(weights)
        chances = [[_logistic(odds + shift) for odds in left] for shift in shifts]
        sums = [sum(of_u) for of_u in chances]
        mean = sum(w * value for w, value in zip(weights, sums, strict=True)) / whole
        variance = sum(
            w * (sum(p * (1 - p) for p in of_u) + (value - mean) ** 2)
            for w, of_u, value in zip(weights, chances, sums, strict=True)
        )
        return mean, variance / whole


def _logistic(odds: float) -> float:
    # This form cannot overflow.
    return 0.5 + 0.5 * tanh(odds / 2)


def _softplus(odds: float) -> float:
    """Return log(1 + e^odds)."""
    return max(odds, 0.0) + log1p(exp(-abs(odds)))


def overlaps(sentences: Sequence[str], samples: Sequence[str]) -> list[list[float]]:
    """Return how much of each sentence's words each sample holds.

    Args:
        sentences: The sentences.
        samples: The samples.

    Returns:
        For each sentence one number in [0, 1] for each sample; words weigh
        `log((N + 1) / (k + 1/2))`, where k of the N samples hold them.
    """
    held = [frozenset(tokenize(sample)) for sample in samples]
    frequency = Counter(word for words in held for word in words)

    def of(sentence: str) -> list[float]:
        stop_if_abandoned()
        # Sorted, so that rounding does not depend on the order in which a set gives its words.
        words = sorted(set(tokenize(sentence)))
        weights = {w: log((len(samples) + 1) / (frequency[w] + 0.5)) for w in words}
        total = sum(weights.values())
        if total <= 0:
            return [0.0] * len(samples)
        return [sum(weights[w] for w in words if w in other) / total for other in held]

    return [of(sentence) for sentence in sentences]


@dataclass(frozen=True, slots=True)
class _Standing:
    """What is known of a sentence's score.

    Attributes:
        score: With what is estimated; None while nothing is known.
        variance: Of that.
        low: The least it can still become.
        high: The greatest.
        said: The mean of the answers that were given; None for a passage.
    """

    score: float | None
    variance: float
    low: float
    high: float
    said: float | None = None

    def is_beyond(self, edge: float, deviations: float | None) -> bool:
        """Return whether it is known on which side of an edge the score lies.

        Args:
            edge: The edge.
            deviations: How many standard deviations away is enough; None where none are.
        """
        if self.score is None:
            return False
        if self.low > edge or self.high <= edge:
            return True
        # Nothing is settled by an estimate that all that was said speaks against.
        if self.said is not None and (self.said > edge) != (self.score > edge):
            return False
        return deviations is not None and (
            abs(self.score - edge) >= deviations * sqrt(self.variance)
        )


@dataclass(slots=True)
class _Line:
    """One sentence: in which order its samples come, and what is known of each.

    Attributes:
        order: The samples, nearest first.
        log_odds: For each sample those that it does not support the sentence.
        edges: The scores it must be known to lie above or not.
        entries: What the judge said, by sample; None where the call failed.
        taken: How many samples were taken from the order to be asked about.
    """

    order: Sequence[int]
    log_odds: Sequence[float]
    edges: tuple[float, ...]
    entries: Entries = field(default_factory=Entries)
    taken: int = 0

    def take(self, count: int) -> Sequence[int]:
        """Return the next samples to ask about."""
        chosen = self.order[self.taken : self.taken + count]
        self.taken += len(chosen)
        return chosen

    @property
    def left(self) -> int:
        """How many samples nobody was asked about."""
        return len(self.order) - self.taken

    @property
    def known(self) -> dict[int, float]:
        return {n: entry for n, entry in self.entries.items() if entry is not None}

    @property
    def estimated(self) -> list[int]:
        return [n for n in self.order if n not in self.entries]

    def standing(self, estimate: Estimate) -> _Standing:
        """Return what is known; entries of failed calls are left out."""
        known, estimated = self.known, self.estimated
        count = len(known) + len(estimated)
        if not known:
            return _Standing(None, 0.0, 0.0, 1.0)
        rest, variance = estimate.expect(
            [(self.log_odds[n], entry) for n, entry in known.items()],
            [self.log_odds[n] for n in estimated],
        )
        total = fsum(known.values())
        return _Standing(
            (total + rest) / count,
            _WIDENING * variance / count**2,
            total / count,
            (total + len(estimated)) / count,
            total / len(known),
        )


class NearestFirst:
    """Asks in waves until everything is settled.

    Args:
        overlaps: For each sentence how much of it each sample holds; see `overlaps`.
        estimate: How answers are estimated.
        rule: What has to be settled; None to ask about every pair.
    """

    def __init__(
        self, overlaps: Sequence[Sequence[float]], estimate: Estimate, rule: Stopping | None
    ) -> None:
        self._rule = rule
        self._estimate = estimate
        # One-sided: that all answers would put the score on the other side of the edge.
        confidence = rule.confidence if rule else 1.0
        self._deviations = NormalDist().inv_cdf(confidence) if confidence < 1 else None
        edges = rule.aim.edges if rule else ((),) * len(overlaps)
        self._lines = [
            _Line(
                sorted(range(len(shared)), key=lambda n, shared=shared: -shared[n]),
                estimate.log_odds(shared),
                of_sentence,
            )
            for shared, of_sentence in zip(overlaps, edges, strict=True)
        ]

    async def run(self, ask: Callable[[int, int], Awaitable[float | None]]) -> None:
        """Ask about pairs until nothing is open.

        Args:
            ask: Given a sentence and a sample, returns the entry; None where the call failed.
        """
        lines = self._lines
        pending = [i for i, line in enumerate(lines) if line.left]
        wave = self._rule.least if self._rule else max((line.left for line in lines), default=0)
        asked = 0
        while pending:
            async with anyio.create_task_group() as tasks:
                for i in pending:
                    for n in lines[i].take(wave):
                        tasks.start_soon(self._ask, ask, i, n)
            asked += wave
            wave = ceil(asked / 2)
            pending = [i for i in self._open() if lines[i].left]

    async def _ask(
        self, ask: Callable[[int, int], Awaitable[float | None]], i: int, n: int
    ) -> None:
        self._lines[i].entries[n] = await ask(i, n)

    def _open(self) -> Sequence[int]:
        """Return the sentences to ask further about."""
        rule = self._rule
        if rule is None:
            return ()
        standings = self._standings()
        left = [
            i
            for i, (line, standing) in enumerate(zip(self._lines, standings, strict=True))
            if not all(standing.is_beyond(edge, self._deviations) for edge in line.edges)
        ]
        whole = self._whole(standings)
        edge = rule.aim.passage
        passage_settled = edge is None or whole.is_beyond(edge, self._deviations)
        if rule.aim.one_is_enough and (
            (edge is not None and passage_settled and (whole.score or 0.0) > edge)
            or self._flagged(standings, left)
        ):
            return ()
        return left if left or passage_settled else range(len(self._lines))

    def _flagged(self, standings: Sequence[_Standing], left: Sequence[int]) -> bool:
        """Return whether a sentence is known to lie above its last edge."""
        return any(
            bool(line.edges) and (standing.score or 0.0) > line.edges[-1]
            for i, (line, standing) in enumerate(zip(self._lines, standings, strict=True))
            if i not in left
        )

    def _standings(self) -> list[_Standing]:
        return [line.standing(self._estimate) for line in self._lines]

    def _whole(self, standings: Sequence[_Standing]) -> _Standing:
        """Return what is known of the mean over all sentences of the passage."""
        others = self._rule.aim.others if self._rule else ()
        lines = zip(self._lines, standings, strict=True)
        # A sentence about which every call failed has no score, and one of which the first ones did
        # may get one.
        there = [standing for line, standing in lines if line.left or line.known]
        scores = [standing.score for standing in there if standing.score is not None]
        if not scores or len(scores) < len(there):
            return _Standing(None, 0.0, 0.0, 1.0)
        count, before = len(there) + len(others), fsum(others)
        apart = fsum(standing.variance for standing in there)
        together = fsum(sqrt(standing.variance) for standing in there) ** 2
        return _Standing(
            (fsum(scores) + before) / count,
            ((1 - _TOGETHER) * apart + _TOGETHER * together) / count**2,
            (fsum(standing.low for standing in there) + before) / count,
            (fsum(standing.high for standing in there) + before) / count,
        )

    @property
    def scores(self) -> list[float | None]:
        """The score of each sentence."""
        return [standing.score for standing in self._standings()]

    @property
    def columns(self) -> list[tuple[float | None, ...]]:
        """The judged entries, one column for each sample."""
        samples = len(self._lines[0].order) if self._lines else 0
        return [tuple(line.entries.get(n) for line in self._lines) for n in range(samples)]

    def why(self, i: int) -> str | None:
        """Return one line of explanation of a sentence's score."""
        line = self._lines[i]
        known = line.known
        if not known:
            return None
        against = sum(entry > 0.5 for entry in known.values())
        told = f"not supported by {against} of {len(known)} texts compared"
        left = len(line.estimated)
        return f"{told}; {left} less similar ones estimated" if left else told
