"""Figures of thresholds, with bootstrap intervals.

The bootstrap draws whole responses, with replacement, because sentences of one response are not
independent (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13: percentile
intervals). An interval shows how much a figure depends on which responses were labelled. It is no
guarantee: for a rate of 0 it is 0 to 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from resay.adapters import Threshold, load_optional
from resay_lab.calibration.runner import Outcome

_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Figure:
    """A share with its 95 % interval.

    Attributes:
        value: The share, in [0, 1]; None if there is nothing to take a share of.
        low: The lower end.
        high: The upper end.
    """

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """How well thresholds perform.

    Attributes:
        passage_fpr: The share of the correct responses that are flagged.
        passage_recall: The share of the hallucinated responses that are flagged.
        passage_roc_auc: How often the passage score of a hallucinated response is greater than that
            of a correct one, ties counting half.
        passage_average_precision: The area under the precision-recall curve of the passage score,
            as a step function.
        sentence_fpr: The mean over responses of the share of correct sentences that are flagged.
        sentence_recall: The same for hallucinated sentences.
        sentence_roc_auc: Like `passage_roc_auc`, for all labelled sentences that have a score.
        sentence_average_precision: The same for average precision.
    """

    passage_fpr: Figure
    passage_recall: Figure
    passage_roc_auc: Figure
    passage_average_precision: Figure
    sentence_fpr: Figure
    sentence_recall: Figure
    sentence_roc_auc: Figure
    sentence_average_precision: Figure


def measure_figures(
    outcomes: Sequence[Outcome],
    threshold: Threshold,
    *,
    bootstrap: int,
    seed: int,
    weights: Sequence[float] | None = None,
) -> Figures:
    """Measure thresholds on labelled responses.

    Args:
        outcomes: The chain's scores of the responses, with the labels.
        threshold: The thresholds.
        bootstrap: How often responses are resampled; 0 for no intervals.
        seed: The same seed gives the same intervals.
        weights: The number of responses that each represents; None for equal weights.

    Returns:
        The figures.

    Raises:
        MissingDependencyError: numpy is not installed.
    """
    np = _np()
    count = len(outcomes)
    drawn = np.random.default_rng(seed).integers(count, size=(bootstrap, count))
    # The first row is the original responses, without resampling.
    times = np.ones((bootstrap + 1, count))
    for row, indices in enumerate(drawn, 1):
        times[row] = np.bincount(indices, minlength=count)
    if weights is not None:
        times *= np.array(weights)
    passage_decisions: list[Item] = []
    passage_scores: list[Item] = []
    sentence_decisions: list[Item] = []
    sentence_scores: list[Item] = []
    for i, outcome in enumerate(outcomes):
        label = outcome.hallucinated
        passage_decisions.append((i, float(outcome.flagged(threshold)), label))
        passage_scores.append((i, outcome.score, label))
        for wrong in (False, True):
            share = outcome.share_flagged(wrong, threshold.sentence)
            if share is not None:
                sentence_decisions.append((i, float(share), wrong))
        if outcome.wrong:
            for score, wrong in zip(outcome.sentences, outcome.wrong, strict=True):
                if score is not None:
                    sentence_scores.append((i, score, wrong))
    passage_roc_auc, passage_average_precision = _ranking(times, passage_scores)
    sentence_roc_auc, sentence_average_precision = _ranking(times, sentence_scores)
    return Figures(
        passage_fpr=_rate(times, passage_decisions, False),
        passage_recall=_rate(times, passage_decisions, True),
        passage_roc_auc=passage_roc_auc,
        passage_average_precision=passage_average_precision,
        sentence_fpr=_rate(times, sentence_decisions, False),
        sentence_recall=_rate(times, sentence_decisions, True),
        sentence_roc_auc=sentence_roc_auc,
        sentence_average_precision=sentence_average_precision,
    )


Item = tuple[int, float, bool | None]
"""The index of its response, a number, and the label."""


def _rate(times: Any, items: Sequence[Item], label: bool) -> Figure:
    np = _np()
    indices: list[int] = []
    values: list[float] = []
    for index, value, wrong in items:
        if wrong is label:
            indices.append(index)
            values.append(value)
    if not indices:
        return Figure(None)
    weights = times[:, np.array(indices)]
    return _figure(_quotient(weights @ np.array(values), weights.sum(axis=1)))


def _ranking(times: Any, items: Sequence[Item]) -> tuple[Figure, Figure]:
    """Return ROC-AUC and average precision."""
    np = _np()
    labelled = sorted((item for item in items if item[2] is not None), key=lambda item: item[1])
    wrong = np.array([item[2] for item in labelled], dtype=bool)
    if not labelled or wrong.all() or not wrong.any():
        return Figure(None), Figure(None)
    indices = np.array([item[0] for item in labelled])
    scores = np.array([item[1] for item in labelled])
    starts = np.flatnonzero(np.append(True, scores[1:] > scores[:-1]))
    roc_aucs: list[Any] = []
    precisions: list[Any] = []
    for row in range(0, len(times), _AT_ONCE):
        roc_auc, precision = _areas(times[row : row + _AT_ONCE, indices], wrong, starts)
        roc_aucs.append(roc_auc)
        precisions.append(precision)
    return _figure(np.concatenate(roc_aucs)), _figure(np.concatenate(precisions))


def _areas(weights: Any, wrong: Any, starts: Any) -> tuple[Any, Any]:
    """Return both areas for each row of weights; items are sorted by score."""
    np = _np()
    positive = np.add.reduceat(weights * wrong, starts, axis=1)
    negative = np.add.reduceat(weights * ~wrong, starts, axis=1)
    all_positive = positive.sum(axis=1)
    under = np.cumsum(negative, axis=1) - negative / 2
    roc = _quotient((positive * under).sum(axis=1), all_positive * negative.sum(axis=1))
    hits = np.cumsum(positive[:, ::-1], axis=1)
    seen = np.cumsum((positive + negative)[:, ::-1], axis=1)
    precision = hits / np.maximum(seen, 1)
    average = _quotient((positive[:, ::-1] * precision).sum(axis=1), all_positive)
    return roc, average


def _quotient(over: Any, under: Any) -> Any:
    np = _np()
    return np.divide(over, under, out=np.full(len(under), np.nan), where=under > 0)


def _figure(values: Any) -> Figure:
    """Return the first value with the 95 % interval of the others."""
    np = _np()
    resampled = values[1:]
    resampled = resampled[~np.isnan(resampled)]
    if not len(resampled):
        return Figure(float(values[0]))
    low, high = np.percentile(resampled, (2.5, 97.5))
    return Figure(value=float(values[0]), low=float(low), high=float(high))


def _np() -> Any:
    return load_optional("numpy", package="numpy", extra="calibrate", purpose="calibrating")


def percent(figure: Figure) -> str:
    """Format a figure for display: `4.2 % (1.0 to 8.1)`."""
    if figure.value is None:
        return "?"
    text = f"{100 * figure.value:.1f} %"
    if figure.low is None or figure.high is None:
        return text
    return f"{text} ({100 * figure.low:.1f} to {100 * figure.high:.1f})"
