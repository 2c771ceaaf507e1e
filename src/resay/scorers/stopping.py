"""Decides when further samples are unnecessary because the decision of all samples is settled.

A method's score is the mean M_N of N entries, one per sample; n of them, with mean M_n, are known.
Samples are exchangeable, so the known entries are a simple random sample, drawn without
replacement, of all N, and the error of M_n shrinks with the finite-population correction:

    Var(M_N - M_n) = (sigma^2 / n) (1 - n / N)

The variance is unknown, and three equal entries do not make it 0. With a normal model, a flat prior
on the mean and a scaled inverse chi-squared prior on sigma^2 (nu degrees of freedom, scale s0), M_N
given the known entries follows Student's t (Gelman et al., "Bayesian Data Analysis", 3rd ed.,
section 3.2, here with N - n entries to come):

    (M_N - M_n) / (s sqrt((1 - n / N) / n))  ~  t(nu + n - 1)
    s^2 = (nu s0^2 + sum_i (x_i - M_n)^2) / (nu + n - 1)

A decision "M_N > threshold" is settled when its probability, or that of the contrary, reaches the
required `confidence`. It is evaluated after every wave of samples; because it is a posterior
probability and not a p-value, evaluating it often does not by itself raise its error. It is only as
accurate as the model, though: entries are not normal. `python -m research adaptive` measures the
realised error. A decision that the remaining entries cannot change, even if all are 0, or 1, is
settled at once without the model. With a confidence of 1 only this counts, and no decision ever
differs.

The next wave is half of what would settle the decision if new samples were like the known ones. For
most decisions that is one or two; in total it takes hardly more samples than drawing one at a time,
in half as many waves.

If later steps correct the scores, so that a decision is not about a mean, the entries are the
jackknife's pseudo-values of the corrected score (Tukey, 1958), which for a mean are the entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import atan, ceil, pi, sqrt
from statistics import fmean

from resay.core.scores import over

PRIOR_DEGREES = 2
PRIOR_SCALE = 0.3
"""Prior scale of the deviation between the entries of one sentence. Recorded judges have 0.23 (root
mean square over sentences), but most sentences have a deviation of 0 and others of 0.5."""

PASSAGE_SCALE = 0.25
"""The same for means over k sentences, times the root of k, as if these were independent. Recorded
judges have 0.26, and it varies less."""

_FEW = 2

Values = Sequence[float | None]
Correction = Callable[[Values], Values]


@dataclass(frozen=True, slots=True)
class Decisions:
    """The decisions to settle.

    Attributes:
        thresholds: For each sentence the scores it must be known to lie above or not; empty for a
            sentence that no decision depends on.
        passage: The same for the mean over all sentences; None if no decision depends on it.
        settled_scores: The scores of the passage's sentences that were settled before.
        one_is_enough: Whether one sentence, or the passage, known to lie above its threshold
            settles everything: the response is withheld then, whatever the others are.
        correction: Corrects the sentences' scores as later steps will; None if no step does.
    """

    thresholds: tuple[tuple[float, ...], ...]
    passage: float | None = None
    settled_scores: tuple[float, ...] = ()
    one_is_enough: bool = False
    correction: Correction | None = None


@dataclass(frozen=True, slots=True)
class RemainingWork:
    """The work that remains.

    Attributes:
        sentences: The sentences to compare with further samples; empty to stop.
        more: Number of samples to compare with before the next evaluation.
    """

    sentences: frozenset[int]
    more: int = 0


@dataclass(slots=True)
class _Item:
    """One value to decide on: its entry for each known sample, and its thresholds."""

    values: Sequence[float]
    thresholds: Sequence[float]
    scale: float
    bounded: bool

    def settled(self, of: int, confidence: float) -> bool:
        return all(
            self._settles(threshold, len(self.values), of, confidence)
            for threshold in self.thresholds
        )

    def more(self, of: int, confidence: float) -> int:
        """Return how many more values like the known ones would settle the open thresholds."""
        return max(self._more(threshold, of, confidence) for threshold in self.thresholds)

    def above(self, of: int, confidence: float) -> bool:
        """Return whether the value is known to lie above the last of its thresholds."""
        return bool(self.thresholds and self.values) and (
            over(fmean(self.values), self.thresholds[-1]) and self.settled(of, confidence)
        )

    def _more(self, threshold: float, of: int, confidence: float) -> int:
        for n in range(len(self.values), of):
            if self._settles(threshold, n, of, confidence):
                return n - len(self.values)
        return of - len(self.values)

    def _settles(self, threshold: float, n: int, of: int, confidence: float) -> bool:
        """Return whether n values like those at hand settle one threshold."""
        count = len(self.values)
        if count == 0 or self._certain(threshold, of):
            return True
        if confidence >= 1:
            return False
        mean = fmean(self.values)
        squares = sum((x - mean) ** 2 for x in self.values)
        degrees = PRIOR_DEGREES + n - 1
        spread = squares * max(n - 1, 1) / max(count - 1, 1)
        variance = (PRIOR_DEGREES * self.scale**2 + spread) / degrees
        error = sqrt(variance / n * (1 - n / of))
        return student_cdf(abs(mean - threshold) / error, degrees) >= confidence

    def _certain(self, threshold: float, of: int) -> bool:
        if not self.bounded:
            return False
        total = sum(self.values)
        lowest, highest = total / of, (total + of - len(self.values)) / of
        return over(lowest, threshold) or not over(highest, threshold)


class Stopping:
    """Follows one run of one method and reports which sentences need further samples.

    Once settled, a sentence stays settled.

    Args:
        decisions: The decisions to settle.
        confidence: The required probability, in (0.5, 1].
        min_samples: Minimum number of samples to compare with.
        total: Total number of samples if all are drawn.
    """

    def __init__(
        self, decisions: Decisions, confidence: float, min_samples: int, total: int
    ) -> None:
        self.decisions = decisions
        self.confidence = confidence
        self.min_samples = min_samples
        self.total = total
        self._settled: set[int] = set()
        self._passage_settled = decisions.passage is None

    def remaining(
        self, columns: Sequence[Values], passage: Values = (), *, bounded: bool = True
    ) -> RemainingWork:
        """Return which sentences need further samples.

        Args:
            columns: For each compared sample, the entries of the sentences; None for a sentence
                that was not compared or has no entry.
            passage: For each sample the method's own value of the passage, if it has one.
            bounded: Whether entries lie in [0, 1].

        Returns:
            The remaining work; none once everything is settled.
        """
        everything = frozenset(range(len(self.decisions.thresholds)))
        if len(columns) < self.min_samples:
            return RemainingWork(everything, self.min_samples - len(columns))
        if len(columns) >= self.total:
            return RemainingWork(frozenset())
        items = self._sentences(columns, bounded)
        whole = self._whole(columns, passage, bounded)
        if self.decisions.one_is_enough and any(
            item.above(self.total, self.confidence) for item in (*items, whole)
        ):
            return RemainingWork(frozenset())
        return self._left(items, whole, everything)

    def _left(
        self, items: Sequence[_Item], whole: _Item, everything: frozenset[int]
    ) -> RemainingWork:
        self._passage_settled = self._passage_settled or whole.settled(self.total, self.confidence)
        self._settled |= {
            i for i, item in enumerate(items) if item.settled(self.total, self.confidence)
        }
        left = everything - self._settled
        # A passage needs columns of all its sentences, and so does a correction.
        if not self._passage_settled or (left and self.decisions.correction):
            left = everything
        open_items = [items[i] for i in left - self._settled]
        if not self._passage_settled:
            open_items.append(whole)
        more = max((item.more(self.total, self.confidence) for item in open_items), default=0)
        compared = len(whole.values) or 1
        left_to_draw = self.total - compared
        # Keep waves few: include a remainder of one or two samples, and at most double each time.
        more = left_to_draw if left_to_draw <= _FEW else min(ceil(more / 2), compared)
        return RemainingWork(left, more)

    def _sentences(self, columns: Sequence[Values], bounded: bool) -> list[_Item]:
        if self.decisions.correction is not None:
            values = _pseudo_values(columns, self.decisions.correction)
            bounded = False
        else:
            values = [[row[i] for row in columns] for i in range(len(self.decisions.thresholds))]
        return [
            _Item(_available(of_sentence), thresholds, PRIOR_SCALE, bounded)
            for of_sentence, thresholds in zip(values, self.decisions.thresholds, strict=False)
        ]

    def _whole(self, columns: Sequence[Values], passage: Values, bounded: bool) -> _Item:
        settled, here = self.decisions.settled_scores, len(self.decisions.thresholds)
        thresholds = () if self.decisions.passage is None else (self.decisions.passage,)
        scale = PASSAGE_SCALE * sqrt(here) / (here + len(settled)) if here else PASSAGE_SCALE
        if _available(passage) and not settled:
            return _Item(_available(passage), thresholds, scale, bounded)
        correction = self.decisions.correction
        if correction is not None:
            means = _pseudo_values(columns, lambda row: [_mean(correction(row))])
            return _Item(_available(means[0]), thresholds, scale, bounded=False)
        means = [_mean((*settled, *row)) for row in columns]
        return _Item(_available(means), thresholds, scale, bounded)


def _pseudo_values(columns: Sequence[Values], of: Correction) -> list[Values]:
    """Return the jackknife's pseudo-values of each entry of `of(means of the columns)`."""
    count = len(columns)
    whole = of(_means(columns))
    if count < 2:
        return [[value] for value in whole]
    without = [of(_means([*columns[:j], *columns[j + 1 :]])) for j in range(count)]
    return [
        [_pseudo_value(value, left[i], count) for left in without] for i, value in enumerate(whole)
    ]


def _pseudo_value(value: float | None, without: float | None, count: int) -> float | None:
    if value is None or without is None:
        return None
    return count * value - (count - 1) * without


def _means(columns: Sequence[Values]) -> list[float | None]:
    return [_mean(entries) for entries in zip(*columns, strict=True)]


def _mean(values: Iterable[float | None]) -> float | None:
    available = _available(values)
    return fmean(available) if available else None


def _available(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def student_cdf(t: float, degrees: int) -> float:
    """Return the probability that Student's t is at most t.

    Uses the closed form for integer degrees of freedom (Abramowitz and Stegun, 26.7.3, 26.7.4).

    Args:
        t: Any number.
        degrees: Degrees of freedom, at least 1.

    Returns:
        A probability.
    """
    cosine_squared = degrees / (degrees + t * t)
    sine = t / sqrt(degrees + t * t)
    odd = degrees % 2
    term = total = sqrt(cosine_squared) if odd else 1.0
    for k in range(3 if odd else 2, degrees - 1, 2):
        term *= (k - 1) / k * cosine_squared
        total += term
    if not odd:
        return 0.5 + 0.5 * sine * total
    angle = atan(t / sqrt(degrees))
    return 0.5 + (angle + sine * total * (degrees > 1)) / pi
