"""Finds the thresholds that keep a target.

A response is flagged if its passage score is over `threshold.passage`, or one of its sentences is
over `threshold.sentence`; a target for responses is about that decision. If a policy has both, they
move together along a path on which flagging can only become rarer, and which does not depend on the
responses the target is about: for false alarms, which are about correct ones, both thresholds are
always the same quantile of the scores of the hallucinated responses; for misses the reverse. Given
the others, the loss of each response is then a monotone function of one number, and
`resay_lab.calibration.targets` applies unchanged.

A target for sentences takes the response as the unit: its loss is the share of its sentences with
one label that get the decision for the other. Sentences of one response are not exchangeable with
those of others; responses are.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from itertools import accumulate
from math import lcm

from resay.adapters import Threshold
from resay.errors import ConfigurationError
from resay_lab.calibration.runner import Outcome
from resay_lab.calibration.targets import Guarantee, Target

_DIGITS = 6
_SHORTEST = 2
_STEPS = 1 << 16

Score = float | None


class ImpossibleTargetError(ConfigurationError):
    """No threshold keeps a target.

    Args:
        target: The target.
    """

    def __init__(self, target: Target) -> None:
        super().__init__(
            f"no threshold keeps {target.name} {target.rate:g}: too many hallucinated items"
            " score 0; choose another method, or a lower rate"
        )
        self.target = target


def fit_thresholds(
    outcomes: Sequence[Outcome],
    targets: Sequence[Target],
    guarantee: Guarantee,
    threshold: Threshold,
) -> Threshold:
    """Find the thresholds that keep targets with the fewest misses (`fpr`) or alarms (`recall`).

    Args:
        outcomes: The chain's scores of labelled responses, with the labels.
        targets: At most one for responses and one for sentences.
        guarantee: The promise to give about the targets.
        threshold: The policy's thresholds. One that is None stays None, and one that no target is
            about stays as it is.

    Returns:
        The thresholds, with at most six decimals, rounded to the side on which the target is kept.

    Raises:
        ConfigurationError: There are too few labels, or no threshold keeps the targets.
    """
    by_unit = {target.unit: target for target in targets}
    if len(by_unit) < len(targets):
        raise ConfigurationError("there can be one target for responses and one for sentences")
    passage_target = by_unit.get("passage")
    sentence_target = by_unit.get("sentence")
    for_sentences = threshold
    if sentence_target is not None:
        if threshold.sentence is None:
            raise ConfigurationError(
                f"{sentence_target.name} needs a threshold for sentences, and the policy has"
                " `threshold.sentence: null`; set it to a number"
            )
        limit = _sentence_threshold(outcomes, sentence_target, guarantee)
        for_sentences = _updated(threshold, sentence=limit)
    if passage_target is None:
        return for_sentences
    fit = _Responses(outcomes, passage_target, guarantee)
    kinds = {target.kind for target in targets}
    if len(kinds) == 2 and passage_target.kind == "recall":
        # Flagging sentences as well cannot make a response missed.
        return _updated(for_sentences, passage=fit.alone(threshold).passage)
    for_passages = fit.thresholds(threshold)
    if sentence_target is None:
        return for_passages
    return _joined(for_passages, for_sentences, sentence_target, passage_target)


def _joined(
    for_passages: Threshold, for_sentences: Threshold, sentences: Target, passages: Target
) -> Threshold:
    """Return thresholds that keep both targets."""
    passage_limit = for_passages.sentence
    sentence_limit = for_sentences.sentence
    if passage_limit is None or sentence_limit is None:
        return for_passages
    if sentences.kind != passages.kind:
        if passage_limit > sentence_limit:
            raise ConfigurationError(
                f"{sentences.name} {sentences.rate:g} needs a `threshold.sentence` of at most"
                f" {sentence_limit:g}, and {passages.name} {passages.rate:g} one of at least"
                f" {passage_limit:g}: a flagged sentence flags its response; change one of the"
                " targets or drop it"
            )
        return for_passages
    strictest = max if passages.kind == "fpr" else min
    return _updated(for_passages, sentence=strictest(passage_limit, sentence_limit))


def _updated(threshold: Threshold, **values: float | None) -> Threshold:
    updated = threshold.model_copy(update=values)
    doubtful, sentence = updated.doubtful, updated.sentence
    # Doubtful sentences are not flagged, so `doubtful` must be below the sentence threshold.
    if doubtful is not None and (sentence is None or doubtful >= sentence):
        return updated.model_copy(update={"doubtful": None})
    return updated


def _sentence_threshold(outcomes: Sequence[Outcome], target: Target, guarantee: Guarantee) -> float:
    units: list[list[Score]] = []
    everything: list[Score] = []
    for outcome in outcomes:
        everything += outcome.sentences
        labelled = outcome.labelled(target.about_hallucinated)
        if labelled:
            units.append(labelled)
    _check_count(len(units), target, guarantee, "responses with a sentence labelled")
    # Integer multiples of a share that divides all of them, because adding fractions is slow.
    whole = lcm(*map(len, units))
    weighted: list[tuple[Score, int]] = []
    for unit in units:
        share = whole // len(unit)
        weighted += [(score, share) for score in unit]
    if all(score is None for score, _ in weighted):
        raise ConfigurationError(
            f"{target.name} is about sentences, and the chain scores none of those labelled; drop"
            " the target, or add a method that scores sentences"
        )
    search = _Search(
        target=target,
        guarantee=guarantee,
        weighted=weighted,
        whole=whole,
        units=len(units),
        binary=False,
    )
    return search.best(everything)


def _check_count(count: int, target: Target, guarantee: Guarantee, what: str) -> None:
    needed = guarantee.needed(target.alpha)
    if count < needed:
        label = "hallucinated" if target.about_hallucinated else "correct"
        easier = Guarantee("expected").needed(target.alpha)
        less = f", ask for less (`--guarantee expected` needs {easier})" * (easier < needed)
        raise ConfigurationError(
            f"{target.name} {target.rate:g} needs at least {needed} {what} {label}, and there are"
            f" {count}; label {needed - count} more{less}, or choose another rate"
        )


@dataclass(frozen=True, slots=True)
class _Responses:
    """The target for responses, and the outcomes to fit it on."""

    outcomes: Sequence[Outcome]
    target: Target
    guarantee: Guarantee

    @property
    def units(self) -> list[Outcome]:
        return [o for o in self.outcomes if o.hallucinated is self.target.about_hallucinated]

    def thresholds(self, threshold: Threshold) -> Threshold:
        """Return the thresholds with which the policy's decision keeps the target."""
        has_sentence_scores = any(o.highest is not None for o in self.outcomes)
        if threshold.sentence is None or not has_sentence_scores:
            return self.alone(threshold)
        if threshold.passage is None:
            return self._by_sentences(threshold)
        return self._together(threshold)

    def alone(self, threshold: Threshold) -> Threshold:
        """Return the thresholds with which the passage score alone keeps the target."""
        if threshold.passage is None:
            raise ConfigurationError(
                f"{self.target.name} needs a threshold for passages, and the policy has"
                " `threshold.passage: null`; set it to a number"
            )
        limit = self._single([o.score for o in self.outcomes], [o.score for o in self.units])
        return _updated(threshold, passage=limit)

    def _by_sentences(self, threshold: Threshold) -> Threshold:
        limit = self._single([o.highest for o in self.outcomes], [o.highest for o in self.units])
        return _updated(threshold, sentence=limit)

    def _single(self, everything: Sequence[Score], scores: Sequence[Score]) -> float:
        self._check()
        search = _Search(
            target=self.target,
            guarantee=self.guarantee,
            weighted=[(score, 1) for score in scores],
            whole=1,
            units=len(scores),
            binary=True,
        )
        return search.best(everything)

    def _check(self) -> None:
        _check_count(len(self.units), self.target, self.guarantee, "responses labelled")

    def _together(self, threshold: Threshold) -> Threshold:
        self._check()
        missed = self.target.about_hallucinated
        units = [(o.score, _number(o.highest)) for o in self.units]
        others = [o for o in self.outcomes if o.hallucinated is (not missed)]
        passages = _Quantiles([o.score for o in others])
        sentences = _Quantiles([_number(o.highest) for o in others])

        def holds(step: int) -> bool:
            share = step / _STEPS
            passage_limit, sentence_limit = passages.at(share), sentences.at(share)
            flagged = 0
            for score, highest in units:
                flagged += score > passage_limit or highest > sentence_limit
            lost = len(units) - flagged if missed else flagged
            return self.guarantee.holds(Fraction(lost), len(units), self.target.alpha, binary=True)

        # From failing to holding, so that the first step that holds moved the thresholds least.
        steps = range(_STEPS, -1, -1) if missed else range(_STEPS + 1)
        first = bisect_left(steps, True, key=holds)
        if first == len(steps):
            raise ImpossibleTargetError(self.target)
        share = steps[first] / _STEPS
        passage_scores: list[Score] = []
        sentence_scores: list[Score] = []
        for outcome in self.outcomes:
            passage_scores.append(outcome.score)
            sentence_scores += outcome.sentences
        return _updated(
            threshold,
            passage=_rounded(passages.at(share), passage_scores, down=missed),
            sentence=_rounded(sentences.at(share), sentence_scores, down=missed),
        )


class _Quantiles:
    """The quantiles of scores, extended to 0 and 1 by straight lines."""

    def __init__(self, scores: Sequence[float]) -> None:
        self._points = [0.0, *sorted(scores), 1.0]

    def at(self, share: float) -> float:
        """Return a quantile, which never falls as the share rises."""
        position = share * (len(self._points) - 1)
        before = min(int(position), len(self._points) - 2)
        low, high = self._points[before : before + 2]
        return min(low + (position - before) * (high - low), high)


class _Search:
    """The search for one threshold on the grid of six decimals.

    Args:
        target: The target to keep.
        guarantee: The promise to give about it.
        weighted: The scores the target is about, each with its share in the loss of its unit.
        whole: The sum of the shares of a unit.
        units: The number of units.
        binary: Whether a unit's loss is always 0 or 1.
    """

    def __init__(
        self,
        target: Target,
        guarantee: Guarantee,
        weighted: Sequence[tuple[Score, int]],
        whole: int,
        units: int,
        *,
        binary: bool,
    ) -> None:
        scored = sorted((score, weight) for score, weight in weighted if score is not None)
        self._target = target
        self._guarantee = guarantee
        self._whole = whole
        self._units = units
        self._binary = binary
        self._scores = [score for score, _ in scored]
        self._up_to = list(accumulate((weight for _, weight in scored), initial=0))

    def best(self, everything: Sequence[Score]) -> float:
        """Return the threshold that moved least of those that hold.

        Args:
            everything: All scores that the threshold applies to; it is shortened if it then
                separates them in the same way.
        """
        missed = self._target.about_hallucinated
        scores = sorted({score for score in self._scores if score > 0}, reverse=missed)
        on_grid = _grid_under if missed else _grid_over
        # Rounding to the grid is monotone, so only scores that the search visits need rounding.
        first = bisect_left(scores, True, key=lambda score: self._holds(on_grid(score)))
        unmoved = 1.0 if missed else 0.0
        if self._holds(unmoved):
            limit = unmoved
        elif first < len(scores):
            limit = on_grid(scores[first])
        else:
            raise ImpossibleTargetError(self._target)
        return _rounded(limit, everything, down=missed)

    def _holds(self, limit: float) -> bool:
        flagged = self._up_to[-1] - self._up_to[bisect_right(self._scores, limit)]
        # An item without a score is missed at any threshold.
        lost = self._units * self._whole - flagged if self._target.about_hallucinated else flagged
        total = Fraction(lost, self._whole)
        return self._guarantee.holds(total, self._units, self._target.alpha, binary=self._binary)


def _number(score: Score) -> float:
    # 0 is over no threshold, just like a missing score.
    return 0.0 if score is None else score


def _rounded(limit: float, scores: Sequence[Score], *, down: bool) -> float:
    """Return the shortest number on the safe side that separates the scores in the same way."""
    ordered = sorted(score for score in scores if score is not None)
    rounding = ROUND_FLOOR if down else ROUND_CEILING
    exact = _grid(limit, rounding, _DIGITS)
    for digits in range(_SHORTEST, _DIGITS):
        shorter = _grid(limit, rounding, digits)
        if bisect_right(ordered, shorter) == bisect_right(ordered, exact):
            return shorter
    return exact


def _grid(value: float, rounding: str, digits: int) -> float:
    return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), rounding))


def _grid_over(score: float) -> float:
    """Return the smallest number of the grid that is not below a score."""
    return _grid(score, ROUND_CEILING, _DIGITS)


def _grid_under(score: float) -> float:
    """Return the greatest number of the grid below a score greater than 0."""
    step = Decimal(1).scaleb(-_DIGITS)
    return float(Decimal(repr(score)).quantize(step, ROUND_CEILING) - step)
