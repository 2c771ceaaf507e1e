"""The figures that benchmarks report, in percent.

A figure that is undefined for the given data (a single class, a constant, too few values) is
None, never NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from resay.adapters import load_optional


def require() -> None:
    """Import the optional dependencies up front, so that no long run ends without its figures.

    Raises:
        MissingDependencyError: scikit-learn or scipy is not installed.
    """
    _sklearn()
    _scipy()


def auc_pr(positive: Sequence[bool], scores: Sequence[float]) -> float | None:
    """Return the area under the precision-recall curve by the trapezoidal rule.

    This is the papers' figure. It interpolates between the points of the curve, which inflates
    the result for scores with many ties; `average_precision` does not.

    Args:
        positive: Whether each item is positive.
        scores: One score per item; greater means more likely to be positive.

    Returns:
        Percent, or None unless both classes occur.
    """
    if not _has_both(positive):
        return None
    sklearn = _sklearn()
    precision, recall, _ = sklearn.precision_recall_curve(positive, scores)
    return 100.0 * float(sklearn.auc(recall, precision))


def average_precision(positive: Sequence[bool], scores: Sequence[float]) -> float | None:
    """Return the area under the precision-recall curve as a step function.

    Args:
        positive: Whether each item is positive.
        scores: One score per item; greater means more likely to be positive.

    Returns:
        Percent, or None unless both classes occur.
    """
    if not _has_both(positive):
        return None
    sklearn = _sklearn()
    return 100.0 * float(sklearn.average_precision_score(positive, scores))


def roc_auc(positive: Sequence[bool], scores: Sequence[float]) -> float | None:
    """Return how often a positive item scores higher than a negative one, ties counting half.

    Args:
        positive: Whether each item is positive.
        scores: One score per item; greater means more likely to be positive.

    Returns:
        Percent, or None unless both classes occur.
    """
    if not _has_both(positive):
        return None
    sklearn = _sklearn()
    return 100.0 * float(sklearn.roc_auc_score(positive, scores))


def precision(positive: Sequence[bool], flagged: Sequence[bool]) -> float | None:
    """Return the share of the flagged items that are positive.

    Args:
        positive: Whether each item is positive.
        flagged: Whether the method flags each item.

    Returns:
        Percent, 0 if nothing is flagged, or None if no item is positive.
    """
    return _share_found(positive, flagged, sum(flagged))


def recall(positive: Sequence[bool], flagged: Sequence[bool]) -> float | None:
    """Return the share of the positive items that are flagged.

    Args:
        positive: Whether each item is positive.
        flagged: Whether the method flags each item.

    Returns:
        Percent, or None if no item is positive.
    """
    return _share_found(positive, flagged, sum(positive))


def f1(positive: Sequence[bool], flagged: Sequence[bool]) -> float | None:
    """Return the harmonic mean of precision and recall.

    Args:
        positive: Whether each item is positive.
        flagged: Whether the method flags each item.

    Returns:
        Percent, 0 if no positive item is flagged, or None if no item is positive.
    """
    return _share_found(positive, flagged, (sum(positive) + sum(flagged)) / 2)


def accuracy(positive: Sequence[bool], flagged: Sequence[bool]) -> float | None:
    """Return the share of items that the method gets right.

    Args:
        positive: Whether each item is positive.
        flagged: Whether the method flags each item.

    Returns:
        Percent, or None if there are no items.
    """
    right = sum(p == f for p, f in zip(positive, flagged, strict=True))
    return 100.0 * right / len(positive) if positive else None


def balanced_accuracy(positive: Sequence[bool], flagged: Sequence[bool]) -> float | None:
    """Return the mean of the recall of positive items and the recall of negative ones.

    Args:
        positive: Whether each item is positive.
        flagged: Whether the method flags each item.

    Returns:
        Percent, or None unless both classes occur.
    """
    if not _has_both(positive):
        return None
    found = recall(positive, flagged)
    spared = recall([not p for p in positive], [not f for f in flagged])
    return ((found or 0.0) + (spared or 0.0)) / 2


def pearson(scores: Sequence[float], truth: Sequence[float]) -> float | None:
    """Return the linear correlation of scores with the truth.

    Args:
        scores: One score per item.
        truth: The human label, one value per item.

    Returns:
        Percent, or None if either is constant.
    """
    if not _both_vary(scores, truth):
        return None
    return 100.0 * float(_scipy().pearsonr(scores, truth).statistic)


def spearman(scores: Sequence[float], truth: Sequence[float]) -> float | None:
    """Return the rank correlation of scores with the truth.

    Args:
        scores: One score per item.
        truth: The human label, one value per item.

    Returns:
        Percent, or None if either is constant.
    """
    if not _both_vary(scores, truth):
        return None
    return 100.0 * float(_scipy().spearmanr(scores, truth).statistic)


def rounded(value: float | None, digits: int) -> float | None:
    """Round a figure to a number of decimals; None stays None."""
    return None if value is None else round(value, digits)


def _sklearn() -> Any:
    return load_optional(
        "sklearn.metrics", package="scikit-learn", extra="bench", purpose="a benchmark"
    )


def _scipy() -> Any:
    return load_optional("scipy.stats", package="scipy", extra="bench", purpose="a benchmark")


def _share_found(positive: Sequence[bool], flagged: Sequence[bool], whole: float) -> float | None:
    if not any(positive):
        return None
    found = sum(p and f for p, f in zip(positive, flagged, strict=True))
    return 100.0 * found / whole if whole else 0.0


def _has_both(positive: Sequence[bool]) -> bool:
    return len(set(positive)) == 2


def _both_vary(scores: Sequence[float], truth: Sequence[float]) -> bool:
    return len(set(scores)) > 1 and len(set(truth)) > 1
