"""Draws a calibration as diagrams in one SVG.

Reliability diagram: Niculescu-Mizil and Caruana, "Predicting Good Probabilities with Supervised
Learning", ICML 2005, section 2; the observed share in each bin of the score, with the 95 % interval
of Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 1927.

ROC curve: the share of the hallucinated items that are flagged by that of the correct ones, for all
thresholds on this score alone. The last diagram shows both by the threshold.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise
from statistics import fmean
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from resay.adapters import load_optional, pages
from resay_lab.calibration.result import Calibration

_BINS = 10
_BARS = 20


@dataclass(frozen=True, slots=True)
class Bin:
    """The items with scores in one interval.

    Attributes:
        count: The number of items, at least 1.
        score: Their mean score.
        share: The share of them that are labelled as hallucinated.
        low: The lower end of its 95 % interval.
        high: The upper end.
    """

    count: int
    score: float
    share: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Panel:
    """The data of one unit: responses, or sentences.

    Attributes:
        name: The unit's name.
        items: The score and the label of each.
        threshold: The score above which they are flagged; None if the unit is not used to flag.
    """

    name: str
    items: tuple[tuple[float, bool], ...]
    threshold: float | None

    @property
    def bins(self) -> list[Bin]:
        """The items by score."""
        return bins_of(self.items)

    @property
    def histograms(self) -> dict[str, list[int]]:
        """The numbers of correct and hallucinated items with scores in equal intervals."""
        counts = {"correct": [0] * _BARS, "hallucinated": [0] * _BARS}
        for score, wrong in self.items:
            counts["hallucinated" if wrong else "correct"][min(int(score * _BARS), _BARS - 1)] += 1
        return counts

    @property
    def flagged_shares(self) -> list[tuple[float, float, float]]:
        """The share flagged of the correct and of the hallucinated items, for each threshold.

        Triples of a threshold and both shares, from the lowest threshold to the highest.
        """
        correct = sorted(score for score, wrong in self.items if not wrong)
        hallucinated = sorted(score for score, wrong in self.items if wrong)
        shares = [(0.0, 1.0, 1.0)]
        for threshold in sorted({0.0, 1.0, *(score for score, _ in self.items)}):
            false_alarms = _share_over(correct, threshold)
            shares.append((threshold, false_alarms, _share_over(hallucinated, threshold)))
        return shares

    @property
    def roc_points(self) -> list[tuple[float, float]]:
        """The points of the ROC curve."""
        return [(x, y) for _, x, y in self.flagged_shares]

    @property
    def steps(self) -> dict[str, list[tuple[float, float]]]:
        """The points of the steps in which the shares that are flagged fall with the threshold."""
        points: dict[str, list[tuple[float, float]]] = {"correct": [], "hallucinated": []}
        for threshold, *both in self.flagged_shares:
            for steps, share in zip(points.values(), both, strict=True):
                if steps:
                    steps.append((threshold, steps[-1][1]))
                steps.append((threshold, share))
        return points

    @property
    def roc_auc(self) -> float | None:
        """The area under the ROC curve; None if all items have the same label."""
        if len({wrong for _, wrong in self.items}) < 2:
            return None
        area = 0.0
        for (_, x, y), (_, next_x, next_y) in pairwise(self.flagged_shares):
            area += (x - next_x) * (y + next_y) / 2
        return area

    @property
    def highest(self) -> int:
        """The greatest number in the histograms."""
        return max(max(counts) for counts in self.histograms.values())


def _share_over(scores: Sequence[float], threshold: float) -> float:
    """Return the share of sorted scores that is over a threshold; 0 of none."""
    if not scores:
        return 0.0
    return (len(scores) - bisect_right(scores, threshold)) / len(scores)


def panels(calibration: Calibration) -> list[Panel]:
    """Return the units to show: responses, sentences, or both."""
    threshold = calibration.policy.threshold
    outcomes = calibration.outcomes
    passages = tuple((o.score, o.hallucinated) for o in outcomes if o.hallucinated is not None)
    sentences: list[tuple[float, bool]] = []
    for outcome in outcomes:
        if outcome.wrong:
            for score, wrong in zip(outcome.sentences, outcome.wrong, strict=True):
                if score is not None and wrong is not None:
                    sentences.append((score, wrong))
    both = (
        Panel("Responses", passages, threshold.passage),
        Panel("Sentences", tuple(sentences), threshold.sentence),
    )
    return [panel for panel in both if panel.items]


def bins_of(items: Sequence[tuple[float, bool]]) -> list[Bin]:
    """Return the non-empty ones of ten bins of equal width.

    Args:
        items: Scores in [0, 1] with their labels.
    """
    by_bin: dict[int, list[tuple[float, bool]]] = {}
    for score, wrong in items:
        by_bin.setdefault(min(int(score * _BINS), _BINS - 1), []).append((score, wrong))
    return [_bin(by_bin[index]) for index in sorted(by_bin)]


def _bin(items: Sequence[tuple[float, bool]]) -> Bin:
    wrong = sum(label for _, label in items)
    low, high = wilson(wrong, len(items))
    return Bin(
        count=len(items),
        score=fmean(score for score, _ in items),
        share=wrong / len(items),
        low=low,
        high=high,
    )


def wilson(hits: int, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a share.

    Args:
        hits: The number of successes.
        count: The number of trials, at least 1.

    Raises:
        MissingDependencyError: scipy is not installed.
    """
    stats = load_optional("scipy.stats", package="scipy", extra="calibrate", purpose="calibrating")
    interval = stats.binomtest(hits, count).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


def svg_of(calibration: Calibration) -> str:
    """Return the diagrams, which show scores and labels, but no text of a response.

    Args:
        calibration: The calibration.

    Returns:
        A self-contained SVG document, always the same for the same calibration.
    """
    values = diagram_values(calibration)
    template = templates().get_template("diagrams.svg")
    description = " ".join(values["descriptions"].values())
    # It is ours, and has no text of anybody else.
    style = Markup(static_file("diagrams.css"))  # noqa: S704
    return template.render(values, description=description, stylesheet=style).lstrip()


def diagram_values(calibration: Calibration) -> dict[str, Any]:
    """Return what the templates of the diagrams show."""
    shown = panels(calibration)
    return {
        "title": f"Calibration with {calibration.labels}, {calibration.date}",
        "descriptions": {panel.name: _description(panel) for panel in shown},
        "panels": shown,
    }


@cache
def static_file(name: str) -> str:
    """Return a style sheet."""
    file = resources.files("resay_lab.calibration") / "static" / name
    return file.read_text(encoding="utf-8")


@cache
def templates() -> Environment:
    """Return the environment with the templates of calibrations."""
    return pages.environment("resay_lab.calibration", filters={"pixels": "{:.1f}".format})


def _description(panel: Panel) -> str:
    wrong = sum(label for _, label in panel.items)
    limit = "no threshold" if panel.threshold is None else f"threshold {panel.threshold:g}"
    area = "" if panel.roc_auc is None else f" Area under the ROC curve: {panel.roc_auc:.2f}."
    shares = ", ".join(f"{b.score:.2f}: {100 * b.share:.0f} %" for b in panel.bins)
    return (
        f"{panel.name}: {len(panel.items) - wrong} correct and {wrong} hallucinated, {limit}."
        f" Share hallucinated by mean score of the bin: {shares}.{area}"
    )
