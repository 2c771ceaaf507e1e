"""Detects whether recent scores differ from those that thresholds were fitted on.

A guarantee is about responses like the labelled ones. Another model, prompt or judge shows first in
the scores, which need no labels. A calibrated policy records the distribution of its scores: for
responses, and for the greatest score of a sentence in each, how many were 0, how many were in each
of twenty equal steps, and how many were 1. Recent verdicts are compared with that by the two-sample
test of Kolmogorov and Smirnov, whose statistic is the greatest distance between the two cumulative
shares. Binning can only reduce the distance, so that the p-value, by the approximation of Stephens
("Use of the Kolmogorov-Smirnov, Cramer-Von Mises and Related Statistics Without Extensive Tables",
JRSS B 1970), errs towards no drift.

With enough verdicts any difference is significant. Scores have drifted only if the difference is
both significant and large enough to matter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from resay import Policy, Verdict
from resay.adapters import load_optional
from resay.adapters.terminal import counted
from resay.errors import ConfigurationError
from resay_lab.calibration.logs import methods_of

_STEPS = 20
_BINS = _STEPS + 2
_MIN_SCORES = 30
_DISTANCE = 0.1
_FALSE_ALARM_RATE = 0.01
_UNITS = {
    "responses": "scores of responses",
    "sentences": "greatest sentence scores",
}
_DISTRIBUTION = "{}, as 0, in {} equal steps, and as 1:"


@dataclass(frozen=True, slots=True)
class Distribution:
    """The distribution of scores in [0, 1].

    Attributes:
        counts: The number of scores equal to 0, in each of twenty equal steps, and equal to 1.
    """

    counts: tuple[int, ...]

    @classmethod
    def of(cls, scores: Iterable[float]) -> Distribution:
        """Count scores by bin."""
        counts = [0] * _BINS
        for score in scores:
            counts[_bin_of(score)] += 1
        return cls(tuple(counts))

    @property
    def total(self) -> int:
        """The number of scores."""
        return sum(self.counts)

    @property
    def cumulative(self) -> list[float]:
        """The share of the scores in each bin or below it."""
        return [count / max(self.total, 1) for count in accumulate(self.counts)]


def _bin_of(score: float) -> int:
    if score <= 0:
        return 0
    # A step includes its upper end, because a score at a threshold is not over it.
    return _BINS - 1 if score >= 1 else max(math.ceil(score * _STEPS - 1e-9), 1)


def distribution_lines(responses: Iterable[float], sentences: Iterable[float]) -> Iterator[str]:
    """Yield the distributions of scores as lines of a calibrated policy's comment.

    Args:
        responses: The scores of responses.
        sentences: The greatest score of a sentence in each.
    """
    for name, scores in zip(_UNITS.values(), (responses, sentences), strict=True):
        distribution = Distribution.of(scores)
        if distribution.total:
            yield f"{_DISTRIBUTION.format(name, _STEPS)} {' '.join(map(str, distribution.counts))}"


def distributions_in(text: str, source: str) -> dict[str, Distribution]:
    """Return the distributions of the scores that a policy was calibrated on.

    Args:
        text: The policy's text.
        source: The policy's name in messages.

    Returns:
        By unit: `responses`, and `sentences` if sentences were scored.

    Raises:
        ConfigurationError: The text does not contain them.
    """
    distributions: dict[str, Distribution] = {}
    for unit, name in _UNITS.items():
        line = re.search(
            rf"^[ \t]*#: {re.escape(_DISTRIBUTION.format(name, _STEPS))} ([\d ]+)\r?$",
            text,
            re.MULTILINE,
        )
        counts = tuple(map(int, line[1].split())) if line else ()
        if len(counts) == _BINS:
            distributions[unit] = Distribution(counts)
    if "responses" not in distributions:
        raise ConfigurationError(
            f"{source} does not contain the distribution of the scores it was calibrated on;"
            " calibrate it with `resay calibrate --write` first"
        )
    return distributions


@dataclass(frozen=True, slots=True)
class Shift:
    """The difference between recent scores of one kind and those of the calibration.

    Attributes:
        unit: `responses`, or `sentences` for the greatest score of a sentence in each.
        before: The number of scores in the calibration.
        now: The number of recent scores.
        distance: The greatest distance of the cumulative shares, in [0, 1].
        p_value: An upper bound on the probability of such a distance if nothing has changed.
        higher: Whether recent scores are higher where the distance is greatest.
        drifted: Whether they have drifted; None if there are too few to tell.
    """

    unit: str
    before: int
    now: int
    distance: float
    p_value: float
    higher: bool
    drifted: bool | None


@dataclass(frozen=True, slots=True)
class Drift:
    """Whether recent scores look like those of the calibration.

    Attributes:
        shifts: One for each kind of score.
        left_out: The number of verdicts that are inconclusive, skipped, or without a score.
        notes: Remarks for the reader.
    """

    shifts: tuple[Shift, ...]
    left_out: int
    notes: tuple[str, ...] = ()

    @property
    def drifted(self) -> bool | None:
        """Whether scores of any kind have drifted; None if there are too few to tell."""
        results = {shift.drifted for shift in self.shifts}
        return True if True in results else None if None in results else False

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return {
            "drifted": self.drifted,
            "shifts": [
                {
                    "unit": shift.unit,
                    "before": shift.before,
                    "now": shift.now,
                    "distance": round(shift.distance, 4),
                    "p_value": shift.p_value,
                    "higher": shift.higher,
                    "drifted": shift.drifted,
                }
                for shift in self.shifts
            ],
            "left_out": self.left_out,
            "notes": list(self.notes),
        }


def check_drift(text: str, verdicts: Sequence[Verdict], *, source: str = "<policy>") -> Drift:
    """Compare recent verdicts with the calibration of a policy.

    Args:
        text: The text of the calibrated policy.
        verdicts: The verdicts of its guard since then.
        source: The policy's name in messages.

    Returns:
        The differences between recent scores and those of the calibration.

    Raises:
        ConfigurationError: The policy was not calibrated.
        PolicyError: It is not a valid policy.
        MissingDependencyError: scipy is not installed.
    """
    before = distributions_in(text, source)
    policy = Policy.parse(text, source=source)
    methods = methods_of(policy)
    foreign = 0
    decided: list[Verdict] = []
    mean_scores: list[float] = []
    highest_scores: list[float] = []
    for verdict in verdicts:
        if any(step.method not in methods for step in verdict.steps):
            foreign += 1
            continue
        if verdict.mean_score is None or verdict.decision not in ("consistent", "flagged"):
            continue
        decided.append(verdict)
        mean_scores.append(verdict.mean_score)
        scores = [sentence.score for sentence in verdict.sentences if sentence.score is not None]
        if scores:
            highest_scores.append(max(scores))
    now = {
        "responses": Distribution.of(mean_scores),
        "sentences": Distribution.of(highest_scores),
    }
    shifts = tuple(_shift(unit, before[unit], now[unit], len(before)) for unit in before)
    notes: list[str] = []
    if foreign:
        notes.append(f"{counted(foreign, 'verdict')} of another chain left out")
    sampling = policy.sampling
    early = sum(0 < verdict.samples < sampling.max for verdict in decided)
    if early and sampling.confidence is not None:
        notes.append(
            f"{early} of {len(decided)} checks looked at fewer than {sampling.max} samples, and the"
            " calibration at all of them: that alone moves scores; log with `sampling:"
            " {confidence: null}` to leave it out"
        )
    left_out = len(verdicts) - foreign - len(decided)
    return Drift(shifts=shifts, left_out=left_out, notes=tuple(notes))


def _shift(unit: str, before: Distribution, now: Distribution, tests: int) -> Shift:
    gaps = [b - a for a, b in zip(now.cumulative, before.cumulative, strict=True)]
    gap = max(gaps, key=abs)
    few = min(before.total, now.total) < _MIN_SCORES
    p_value = 1.0 if few else kolmogorov_smirnov(abs(gap), before.total, now.total)
    # Each kind of score is another chance of a false alarm.
    moved = p_value < _FALSE_ALARM_RATE / tests and abs(gap) >= _DISTANCE
    return Shift(
        unit=unit,
        before=before.total,
        now=now.total,
        distance=abs(gap),
        p_value=p_value,
        higher=gap > 0,
        drifted=None if few else moved,
    )


def kolmogorov_smirnov(distance: float, n: int, m: int) -> float:
    """Return the probability of at least this distance between two samples of one distribution.

    Args:
        distance: The greatest distance of their cumulative shares.
        n: The size of one sample, at least 1.
        m: The size of the other, at least 1.

    Raises:
        MissingDependencyError: scipy is not installed.
    """
    special = load_optional(
        "scipy.special", package="scipy", extra="calibrate", purpose="detecting drift"
    )
    root = math.sqrt(n * m / (n + m))
    return float(special.kolmogorov((root + 0.12 + 0.11 / root) * distance))
