"""The figures of the WikiBio GPT-3 benchmark (see `resay.benchmarks.wikibio`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Literal

from resay.benchmarks import metrics
from resay.benchmarks.measuring import Measured
from resay.benchmarks.table import Column

__all__ = ["FIGURE_COLUMNS", "Label", "explain", "figures", "is_wrong", "star_ap"]

Label = Literal["accurate", "minor_inaccurate", "major_inaccurate"]

_VALUES: Mapping[Label, float] = {
    "accurate": 0.0,
    "minor_inaccurate": 0.5,
    "major_inaccurate": 1.0,
}

FIGURE_COLUMNS = (
    Column("nonfact", "NonFact", 2),
    Column("nonfact_star", "NonFact*", 2),
    Column("factual", "Factual", 2),
    Column("pearson", "Pearson", 2),
    Column("spearman", "Spearman", 2),
    Column("average_precision", "AP", 2),
    Column("roc_auc", "ROC", 2),
)
"""The columns of what `figures` returns."""


def is_wrong(label: Label) -> bool:
    """Return whether a sentence is to be found as NonFact."""
    return label != "accurate"


def figures(
    labels: Sequence[Sequence[Label]], results: Sequence[Measured]
) -> dict[str, float | None]:
    """Return how well a method does.

    Args:
        labels: For each passage the labels of its sentences.
        results: What the method says of each passage.

    Returns:
        Percentages with two decimals by the keys of `FIGURE_COLUMNS`; None where a figure does not
        exist.
    """
    pairs = list(zip(labels, results, strict=True))
    flat, scores = _flat(pairs)
    star, star_scores = _star(pairs)
    truth, ranks = _passages(pairs)
    wrong = [is_wrong(label) for label in flat]
    found = {
        "nonfact": metrics.auc_pr(wrong, scores),
        "nonfact_star": metrics.auc_pr(star, star_scores),
        "factual": metrics.auc_pr([not w for w in wrong], [-score for score in scores]),
        "pearson": metrics.pearson(ranks, truth),
        "spearman": metrics.spearman(ranks, truth),
        "average_precision": metrics.average_precision(wrong, scores),
        "roc_auc": metrics.roc_auc(wrong, scores),
    }
    return {key: None if value is None else round(value, 2) for key, value in found.items()}


def star_ap(labels: Sequence[Sequence[Label]], results: Sequence[Measured]) -> float | None:
    """Return NonFact* as average precision, which ties do not flatter.

    Args:
        labels: For each passage the labels of its sentences.
        results: What the method says of each passage.

    Returns:
        Percent, or None where it does not exist.
    """
    return metrics.average_precision(*_star(zip(labels, results, strict=True)))


def explain(labels: Sequence[Sequence[Label]]) -> Iterator[str]:
    """Yield what a reader must know of the columns.

    Args:
        labels: For each passage the labels of its sentences.
    """
    kept = [ls for ls in labels if not _all_major(ls)]
    yield (
        "NonFact, NonFact* and Factual are AUC-PR by the trapezoidal rule, as in the papers; AP and"
        " ROC are average precision and the area under the ROC curve for NonFact; all in percent."
    )
    yield (
        f"NonFact* is over {len(kept)} of {len(labels)} passages"
        f" ({sum(map(len, kept))} sentences): those whose every sentence is major inaccurate are"
        " left out."
    )
    yield "calls, tokens and s (seconds) are means per passage."


Pair = tuple[Sequence[Label], Measured]


def _flat(pairs: Iterable[Pair]) -> tuple[list[Label], list[float]]:
    """Return labels and scores of the sentences that have a score."""
    labels: list[Label] = []
    scores: list[float] = []
    for passage_labels, result in pairs:
        for label, score in zip(passage_labels, result.sentences, strict=True):
            if score is not None:
                labels.append(label)
                scores.append(score)
    return labels, scores


def _star(pairs: Iterable[Pair]) -> tuple[list[bool], list[float]]:
    """Return what NonFact* is to find, and the scores."""
    labels, scores = _flat((ls, result) for ls, result in pairs if not _all_major(ls))
    return [label == "major_inaccurate" for label in labels], scores


def _passages(pairs: Iterable[Pair]) -> tuple[list[float], list[float]]:
    """Return what people and the method say about the passages that have a score."""
    known = [(fmean(_VALUES[x] for x in ls), r.passage) for ls, r in pairs if r.passage is not None]
    return [truth for truth, _ in known], [score for _, score in known]


def _all_major(labels: Sequence[Label]) -> bool:
    return all(label == "major_inaccurate" for label in labels)
