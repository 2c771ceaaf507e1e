"""Measures whether one threshold of `facts` fits answers of several kinds.

The scores of right sentences depend on the data: long answers leave out what others say. The bench
compares scores that stand for themselves with scores relative to how the samples agree among
themselves: each sentence of a sample, scored against the other samples, is a statement that the
model makes anyway, and the sentence of the answer is compared with those.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from resay import Passage, Policy, Request
from resay.plugins import Evidence, Samples
from resay.scorers.facts import Facts
from resay_lab.benchmarks import metrics
from resay_lab.benchmarks.measuring import Item
from resay_lab.benchmarks.table import Column, ResultTable, Row
from resay_lab.benchmarks.wikibio import Label
from research.defaults import FACTSCORE, SAC3, WIKIBIO, Judged, read_all

SOURCES = (WIKIBIO, FACTSCORE, SAC3)
"""The data sets, of which WikiBio is required."""

ACCURATE = 20.0
"""The percentage of accurate sentences that a common threshold flags, on average over the sets."""

_SCORED_SAMPLES = 5


@dataclass(frozen=True, slots=True)
class Compared:
    """What is known of a sentence.

    Attributes:
        answer: The index of its answer.
        label: Its label.
        score: Its score by `facts`, with no `disagreement`.
        disagreement: How little the samples of the answer say of each other.
        samples: The scores of the sentences of samples, each against the other samples, sorted.
    """

    answer: int
    label: Label
    score: float
    disagreement: float
    samples: Sequence[float]


def _mixed(weight: float) -> Callable[[Compared], float]:
    def mix(sentence: Compared) -> float:
        return (1 - weight) * sentence.score + weight * sentence.disagreement

    return mix


def _rank(sentence: Compared) -> float:
    below = bisect_left(sentence.samples, sentence.score)
    until = bisect_right(sentence.samples, sentence.score)
    return (below + until) / 2 / max(len(sentence.samples), 1)


def _usual(sentence: Compared) -> float:
    return fmean(sentence.samples) if sentence.samples else 0.0


def _difference(sentence: Compared) -> float:
    return (1 + sentence.score - _usual(sentence)) / 2


def _ratio(sentence: Compared) -> float:
    total = sentence.score + _usual(sentence)
    return sentence.score / total if total else 0.5


SHIPPED = Facts.Config().disagreement
"""The weight of `disagreement` that ships."""

FORMS: Mapping[str, Callable[[Compared], float]] = {
    "facts, disagreement 0": _mixed(0.0),
    f"facts, disagreement {SHIPPED:g}": _mixed(SHIPPED),
    "facts, disagreement 0.5": _mixed(0.5),
    "rank among the samples' sentences": _rank,
    "difference to their mean": _difference,
    "ratio to their mean": _ratio,
}
"""The scores that are compared, each from 0 to 1."""

COLUMNS = (
    Column("score", "score"),
    Column("data", "data"),
    Column("roc_auc", "ROC", 1),
    Column("accurate", "accurate flagged at 0.5", 1),
    Column("major", "major flagged at 0.5", 1),
    Column("threshold", "common threshold", 2),
    Column("accurate_common", "accurate flagged", 1),
    Column("major_common", "major flagged", 1),
    Column("answers_common", "answers without an error flagged", 1),
)
"""The columns of the printed table."""


def load(folder: Path, rows: slice) -> tuple[Judged, ...]:
    """Read the available data sets.

    Args:
        folder: The data folder.
        rows: Which rows of each to read.

    Returns:
        The data sets that exist, with as many samples as the default policy draws.

    Raises:
        ConfigurationError: WikiBio is missing, or a file is invalid.
    """
    drawn = Policy.default().sampling.max
    existing = [s for s in SOURCES if s is WIKIBIO or (folder / s.responses).is_file()]
    return tuple(read_all(folder, source, rows)[0].cut(0, drawn) for source in existing)


async def run(data: Sequence[Judged], *, done: Callable[[], object] = lambda: None) -> ResultTable:
    """Measure each form on each data set.

    Args:
        data: The data sets.
        done: Called after each answer.

    Returns:
        A row for each form and data set.

    Raises:
        MissingDependencyError: scikit-learn or scipy is not installed.
    """
    metrics.require()
    compared: dict[str, list[Compared]] = {}
    for judged in data:
        sentences: list[Compared] = []
        for item, labels in zip(judged.items, judged.labels, strict=True):
            sentences += await _compare(item, labels)
            done()
        compared[judged.source.name] = sentences
    rows: list[Row] = []
    for name, form in FORMS.items():
        rows += _rows(name, form, compared)
    missing = [s.name for s in SOURCES if s.name not in compared]
    return ResultTable("thresholds", COLUMNS, tuple(rows), tuple(_notes(missing)))


async def _compare(item: Item, labels: Sequence[Label | None]) -> list[Compared]:
    alone, shared = (Facts(Facts.Config(disagreement=weight)) for weight in (0.0, 1.0))
    evidence = Evidence(Samples(item.samples), request=item.request or Request(()))
    scores = (await alone.score_arrived(item.passage, evidence)).sentences
    disagreement = (await shared.score_arrived(item.passage, evidence)).sentences
    sample_scores: list[float] = []
    for index, sample in enumerate(item.samples[:_SCORED_SAMPLES]):
        others = [*item.samples[:index], *item.samples[index + 1 :]]
        if others:
            against = Evidence(Samples(others), request=item.request or Request(()))
            scored = await alone.score_arrived(Passage.of(sample), against)
            sample_scores += (score for score in scored.sentences if score is not None)
    sample_scores.sort()
    sentences: list[Compared] = []
    for label, score, common in zip(labels, scores, disagreement, strict=True):
        if label is not None and score is not None and common is not None:
            sentences.append(
                Compared(
                    answer=item.index,
                    label=label,
                    score=score,
                    disagreement=common,
                    samples=sample_scores,
                )
            )
    return sentences


def _rows(
    name: str, form: Callable[[Compared], float], compared: Mapping[str, Sequence[Compared]]
) -> Iterator[Row]:
    values = {
        data: [(sentence, form(sentence)) for sentence in sentences]
        for data, sentences in compared.items()
    }
    threshold = _common_threshold(values)
    for data, scored in values.items():
        wrong = [sentence.label != "accurate" for sentence, _ in scored]
        yield {
            "score": name,
            "data": data,
            "roc_auc": metrics.roc_auc(wrong, [value for _, value in scored]),
            "accurate": _flagged(scored, 0.5, "accurate"),
            "major": _flagged(scored, 0.5, "major_inaccurate"),
            "threshold": threshold,
            "accurate_common": _flagged(scored, threshold, "accurate"),
            "major_common": _flagged(scored, threshold, "major_inaccurate"),
            "answers_common": _answers_flagged(scored, threshold),
        }


Scored = Sequence[tuple[Compared, float]]
"""The sentences of a data set, each with its score in one form."""


def _common_threshold(values: Mapping[str, Scored]) -> float:
    """Return the least threshold, in hundredths, that flags few enough accurate sentences."""
    for step in range(101):
        shares = [_flagged(scored, step / 100, "accurate") for scored in values.values()]
        if fmean(share for share in shares if share is not None) <= ACCURATE:
            return step / 100
    return 1.0


def _flagged(scored: Scored, threshold: float, label: Label) -> float | None:
    """Return the percentage of a label's sentences that are flagged; None if there are none."""
    values = [value for sentence, value in scored if sentence.label == label]
    return 100 * fmean(value > threshold for value in values) if values else None


def _answers_flagged(scored: Scored, threshold: float) -> float | None:
    """Return the percentage of answers without an error that have a flagged sentence."""
    wrong = {sentence.answer for sentence, _ in scored if sentence.label != "accurate"}
    flagged: dict[int, bool] = {}
    for sentence, value in scored:
        if sentence.answer not in wrong:
            flagged[sentence.answer] = flagged.get(sentence.answer, False) or value > threshold
    return 100 * fmean(flagged.values()) if flagged else None


def _notes(missing: Sequence[str]) -> Iterator[str]:
    yield (
        "Percent of the sentences with each label that `facts` flags alone, by the first"
        f" {Policy.default().sampling.max} samples (factscore_instructgpt has 2), at 0.5 and at one"
        " threshold for all sets: the least, in hundredths, with which on average over the sets at"
        f" most {ACCURATE:g} % of the accurate sentences are flagged."
    )
    yield (
        "Rank, difference and ratio compare a sentence with those of the first"
        f" {_SCORED_SAMPLES} samples, each scored against the other samples. The difference is"
        " halved and raised by 0.5."
    )
    for name in missing:
        yield f"{name}: skipped: no data."


def steps(data: Sequence[Judged]) -> int:
    """Return the number of answers to compare."""
    return sum(len(judged.items) for judged in data)
