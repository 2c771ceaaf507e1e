"""Proposes achievable targets if a requested one cannot be kept.

If correct items score as high as any, only a threshold of 1 keeps a strict rate of false alarms,
and nothing is flagged: the promise is kept and worthless. Then the nearest rate that can be kept
while something is flagged is proposed; and, because equal scores are the most frequent obstacle,
the same with `leaning` behind the chain, which separates sentences of equal scores by the sentences
around them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from resay.adapters import Threshold
from resay.adapters.methods import Leaning
from resay_lab.calibration.runner import Outcome
from resay_lab.calibration.targets import Guarantee, Target
from resay_lab.calibration.thresholds import ImpossibleTargetError, fit_thresholds

_PERCENT = 100


@dataclass(frozen=True, slots=True)
class Proposal:
    """A target that can be kept.

    Attributes:
        target: The target.
        threshold: The thresholds that keep it.
        recall: The share of the hallucinated items of the labelled responses that they flag.
        lean: The `lean` of a `leaning` step to add behind the chain; None for the chain as it is.
    """

    target: Target
    threshold: Threshold
    recall: float
    lean: float | None = None

    def __str__(self) -> str:
        flagged, limit, step = "responses", "", ""
        if self.target.unit == "sentence":
            flagged = "sentences"
            limit = f", with `threshold.sentence: {self.threshold.sentence:g}`"
        if self.lean is not None:
            step = f" with a new last step `- {{method: leaning, lean: {self.lean:g}}}`"
        return (
            f"`--{self.target.name} {self.target.rate:g}` can be kept{step}, and flags"
            f" {100 * self.recall:.1f} % of the hallucinated {flagged}{limit}"
        )


def propose(
    outcomes: Sequence[Outcome],
    target: Target,
    guarantee: Guarantee,
    threshold: Threshold,
    *,
    leans: bool,
) -> Iterator[Proposal]:
    """Yield the nearest targets that can be kept while something is flagged.

    Args:
        outcomes: The chain's scores of labelled responses, with the labels.
        target: A rate of false alarms that is kept only by thresholds that flag nothing.
        guarantee: The promise to give about the target.
        threshold: The policy's thresholds.
        leans: Whether to try `leaning` behind the chain.
    """
    nearest = _nearest(outcomes, target, guarantee, threshold)
    if nearest is not None:
        yield nearest
    if not leans:
        return
    step = Leaning()
    leaning = [replace(o, sentences=tuple(step.corrected(o.sentences))) for o in outcomes]
    better = _nearest(leaning, target, guarantee, threshold)
    if better is not None and (nearest is None or better.target.rate < nearest.target.rate):
        yield replace(better, lean=step.config.lean)


def nearest_recall(
    outcomes: Sequence[Outcome], target: Target, guarantee: Guarantee, threshold: Threshold
) -> float | None:
    """Return the greatest recall below the target's that can be kept; None if none can."""

    def fails(percent: int) -> bool:
        easier = replace(target, rate=percent / _PERCENT)
        return _fitted(outcomes, easier, guarantee, threshold) is None

    # Recalls that cannot be kept come last.
    rates = range(1, int(target.rate * _PERCENT) + 1)
    first_failing = bisect_left(rates, True, key=fails)
    return None if first_failing == 0 else rates[first_failing - 1] / _PERCENT


def _nearest(
    outcomes: Sequence[Outcome], target: Target, guarantee: Guarantee, threshold: Threshold
) -> Proposal | None:
    whole_percents = (percent / _PERCENT for percent in range(1, _PERCENT))
    rates = [target.rate, *(rate for rate in whole_percents if rate > target.rate)]

    def flags(rate: float) -> bool:
        fitted = _fitted(outcomes, replace(target, rate=rate), guarantee, threshold)
        return fitted is not None and recall_of(outcomes, target, fitted) > 0

    first_flagging = bisect_left(rates, True, key=flags)
    if first_flagging == len(rates):
        return None
    nearest = replace(target, rate=rates[first_flagging])
    fitted = _fitted(outcomes, nearest, guarantee, threshold)
    assert fitted is not None  # noqa: S101 - `flags` found it
    return Proposal(target=nearest, threshold=fitted, recall=recall_of(outcomes, nearest, fitted))


def _fitted(
    outcomes: Sequence[Outcome], target: Target, guarantee: Guarantee, threshold: Threshold
) -> Threshold | None:
    try:
        return fit_thresholds(outcomes, [target], guarantee, threshold)
    except ImpossibleTargetError:
        return None


def recall_of(outcomes: Sequence[Outcome], target: Target, threshold: Threshold) -> float:
    """Return the share of hallucinated items that are flagged; 0 if there are none."""
    if target.unit == "passage":
        flagged = [float(o.flagged(threshold)) for o in outcomes if o.hallucinated]
    else:
        shares = (o.share_flagged(True, threshold.sentence) for o in outcomes)
        flagged = [float(share) for share in shares if share is not None]
    return fmean(flagged) if flagged else 0.0


def tied_at_the_top(outcomes: Sequence[Outcome]) -> tuple[float, float] | None:
    """Return the greatest score of a sentence, and the share of correct sentences that have it.

    Returns:
        Both, the share averaged over responses; None if there are no scores or correct sentences.
    """
    highest_scores = [o.highest for o in outcomes if o.highest is not None]
    if not highest_scores:
        return None
    top = max(highest_scores)
    shares: list[float] = []
    for outcome in outcomes:
        correct = outcome.labelled(False)
        if correct:
            shares.append(fmean(score == top for score in correct))
    return (top, fmean(shares)) if shares else None
