"""Asks a judge about the samples nearest to a sentence first, and estimates the rest.

What supports a sentence mostly shares its rare words. So the sample that shares most of them is
asked about first, and what the judge would say of those not asked about is estimated from what they
share:

    P(no support | sentence i, sample n) = sigmoid(a + b o_in + c mean_n o_in)

with o_in in [0, 1] the part of the sentence's words, weighed by how few samples hold them, that
stand in the sample. A sentence's score is the mean over all samples of the entries, those judged
and those estimated. It is settled when the score that judging all would give lies on the same side
of its edges with the confidence asked for, with a normal error of the variance

    phi sum p (1 - p) / N^2 + tau^2 (r / N)^2

over the r entries estimated: what coins with these probabilities would give, widened by phi, and a
shift by tau common to all estimates of a sentence, because a judge may be stricter than estimated.
Nothing of this is published; `resay bench cascade` measures what it saves and what it costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from math import ceil, log, sqrt, tanh
from statistics import NormalDist, fmean

import anyio
from pydantic import BaseModel, ConfigDict, Field

from resay.stopping import Stopping
from resay.tokens import tokenize

__all__ = ["Estimate", "NearestFirst", "overlaps"]

_WIDENING = 2.0
_SHIFT = 0.14

Entries = dict[int, float | None]


class Estimate(BaseModel):
    """How the judge's answers are estimated from the words sentence and sample share.

    The defaults are the logistic regression of what one judge (gemma4-31b) said of 945 sentences of
    biographies with 20 samples each: those of WikiBio's passages with even row numbers, to two
    digits. Another judge, or texts of another kind, may need others: `resay bench cascade` prints
    those of the judge it is given, and `resay.bench.estimating.fit_estimate` fits them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    intercept: float = Field(default=4.3, description="a: the log-odds of no support at overlap 0.")
    overlap: float = Field(default=-4.0, description="b: what the overlap with the sample adds.")
    mean_overlap: float = Field(
        default=-2.7, description="c: what the mean overlap with all samples adds."
    )

    def unsupported(self, overlaps: Sequence[float]) -> list[float]:
        """Return for each sample the probability that it does not support the sentence."""
        if not overlaps:
            return []
        base = self.intercept + self.mean_overlap * fmean(overlaps)
        # The logistic function, in the form that cannot overflow.
        return [0.5 + 0.5 * tanh((base + self.overlap * o) / 2) for o in overlaps]


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
        # Sorted, so that rounding does not depend on the order in which a set gives its words.
        words = sorted(set(tokenize(sentence)))
        weights = {w: log((len(samples) + 1) / (frequency[w] + 0.5)) for w in words}
        total = sum(weights.values())
        if total <= 0:
            return [0.0] * len(samples)
        return [sum(weights[w] for w in words if w in other) / total for other in held]

    return [of(sentence) for sentence in sentences]


@dataclass(slots=True)
class _Line:
    """One sentence: in which order its samples come, and what is known of each.

    Attributes:
        order: The samples, nearest first.
        estimates: For each sample the probability that it does not support the sentence.
        edges: The scores it must be known to lie above or not.
        entries: What the judge said, by sample; None where the call failed.
        taken: How many samples were taken from the order to be asked about.
    """

    order: Sequence[int]
    estimates: Sequence[float]
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
    def known(self) -> list[float]:
        return [entry for entry in self.entries.values() if entry is not None]

    @property
    def estimated(self) -> list[float]:
        return [self.estimates[n] for n in self.order if n not in self.entries]

    @property
    def count(self) -> int:
        """Of how many entries the score is the mean: those of failed calls are left out."""
        return len(self.known) + len(self.estimated)

    @property
    def score(self) -> float | None:
        return fmean([*self.known, *self.estimated]) if self.known else None

    @property
    def variance(self) -> float:
        """Of the score, without the common shift."""
        return _WIDENING * sum(p * (1 - p) for p in self.estimated) / self.count**2

    @property
    def shift(self) -> float:
        return _SHIFT * len(self.estimated) / self.count

    def bounds(self) -> tuple[float, float]:
        """Return the least and the greatest score it can still get, with something known."""
        total = sum(self.known)
        return total / self.count, (total + len(self.estimated)) / self.count


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
        edges = rule.aim.edges if rule else ((),) * len(overlaps)
        self._lines = [
            _Line(
                sorted(range(len(shared)), key=lambda n, shared=shared: -shared[n]),
                estimate.unsupported(shared),
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
        left = [i for i, line in enumerate(self._lines) if not self._settled(line)]
        passage_settled = self._passage_settled()
        if rule.aim.one_is_enough and self._flagged(left, passage_settled):
            return ()
        return left if left or passage_settled else range(len(self._lines))

    def _flagged(self, left: Sequence[int], passage_settled: bool) -> bool:
        """Return whether something is known to lie above its edge."""
        edge = self._rule.aim.passage if self._rule else None
        if passage_settled and edge is not None and (self._mean or 0.0) > edge:
            return True
        return any(
            bool(line.edges) and (line.score or 0.0) > line.edges[-1]
            for i, line in enumerate(self._lines)
            if i not in left
        )

    def _settled(self, line: _Line) -> bool:
        if not line.known:
            # Where every call failed nothing can be said; until then the next may not.
            return not line.edges or not line.left
        low, high = line.bounds()
        spread = line.variance + line.shift**2
        return all(
            low > edge or high <= edge or self._far(line.score, edge, spread) for edge in line.edges
        )

    @property
    def _mean(self) -> float | None:
        """The passage score."""
        others = self._rule.aim.others if self._rule else ()
        scores = [score for score in self.scores if score is not None]
        return fmean([*scores, *others]) if scores else None

    def _passage_settled(self) -> bool:
        edge = self._rule.aim.passage if self._rule else None
        if self._rule is None or edge is None:
            return True
        if any(line.left and not line.known for line in self._lines):
            return False
        lines, others = [line for line in self._lines if line.known], self._rule.aim.others
        if not lines:
            return True
        count = len(lines) + len(others)
        low, high = (
            (sum(ends) + sum(others)) / count
            for ends in zip(*(line.bounds() for line in lines), strict=True)
        )
        if low > edge or high <= edge:
            return True
        spread = sum(line.variance for line in lines)
        shift = sum(line.shift for line in lines)
        return self._far(self._mean, edge, (spread + shift**2) / count**2)

    def _far(self, score: float | None, edge: float, variance: float) -> bool:
        confidence = self._rule.confidence if self._rule else 1.0
        if score is None or (variance > 0 and confidence >= 1):
            return False
        # One-sided: that all answers would put the score on the other side of the edge.
        return variance <= 0 or (
            abs(score - edge) >= NormalDist().inv_cdf(confidence) * sqrt(variance)
        )

    @property
    def scores(self) -> list[float | None]:
        """The score of each sentence."""
        return [line.score for line in self._lines]

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
        against = sum(entry > 0.5 for entry in known)
        told = f"not supported by {against} of {len(known)} texts compared"
        left = len(line.estimated)
        return f"{told}; {left} less similar ones estimated" if left else told
