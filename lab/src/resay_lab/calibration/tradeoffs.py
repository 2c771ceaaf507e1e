"""What is caught for the false alarms that one accepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from resay.adapters import Threshold
from resay.errors import ConfigurationError
from resay_lab.calibration.proposals import recall_of
from resay_lab.calibration.runner import Outcome
from resay_lab.calibration.targets import Guarantee, Target, Unit
from resay_lab.calibration.thresholds import fit_thresholds

RATES = (0.02, 0.05, 0.1, 0.2)
"""The rates of false alarms that are compared."""


@dataclass(frozen=True, slots=True)
class TradeOff:
    """What thresholds catch that keep a rate of false alarms.

    Attributes:
        target: The accepted rate of false alarms.
        threshold: The thresholds that keep it; None if there are too few labels.
        caught: The share of the hallucinated items that they flag; None if none is labelled.
        false_alarms: The share of the correct items that they flag.
        missing: How many more correct ones must be labelled to keep the rate; 0 if enough are.
    """

    target: Target
    threshold: Threshold | None
    caught: float | None
    false_alarms: float | None
    missing: int = 0


def trade_offs(
    outcomes: Sequence[Outcome], unit: Unit, guarantee: Guarantee, threshold: Threshold
) -> list[TradeOff]:
    """Return what is caught at each of `RATES`.

    Args:
        outcomes: The scores of labelled responses, with the labels.
        unit: What is flagged: responses, or their sentences.
        guarantee: The promise about the rates.
        threshold: The policy's thresholds.
    """
    correct = _false_alarms(outcomes, unit, threshold)
    result: list[TradeOff] = []
    if unit == "passage":
        has_hallucinated = any(o.hallucinated for o in outcomes)
    else:
        has_hallucinated = any(True in o.wrong for o in outcomes)
    for rate in RATES:
        target = Target(unit, "fpr", rate)
        missing = max(0, guarantee.needed(target.alpha) - len(correct))
        fitted: Threshold | None = None
        if not missing:
            try:
                fitted = fit_thresholds(outcomes, [target], guarantee, threshold)
            except ConfigurationError:
                # The policy has no threshold for this unit, or the chain no scores.
                return []
        alarms = [] if fitted is None else _false_alarms(outcomes, unit, fitted)
        result.append(
            TradeOff(
                target=target,
                threshold=fitted,
                caught=recall_of(outcomes, target, fitted) if fitted and has_hallucinated else None,
                false_alarms=fmean(alarms) if alarms else None,
                missing=missing,
            )
        )
    return result


def _false_alarms(outcomes: Sequence[Outcome], unit: Unit, threshold: Threshold) -> list[float]:
    """Return of each response with correct items the share of them that is flagged."""
    if unit == "passage":
        return [float(o.flagged(threshold)) for o in outcomes if o.hallucinated is False]
    shares = (o.share_flagged(False, threshold.sentence) for o in outcomes)
    return [float(share) for share in shares if share is not None]
