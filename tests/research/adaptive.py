"""Measures adaptive stopping on WikiBio: how many samples it takes, and how often it errs.

A judge's recorded answers about all samples determine the decision with all of them; the same chain
then draws samples wave by wave and stops when `resay.scorers.stopping` says that enough is known.
Samples come in the recorded order, and in random orders: a decision is only as good as the samples
that happen to come first.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any, Literal

from resay.plugins import over
from resay_lab.benchmarks.measuring import BenchJudge, Item
from resay_lab.benchmarks.table import Column, ResultTable, Row
from resay_lab.benchmarks.wikibio import Corpus
from research.checking import Checked, check, judging

Decides = Literal["passage", "sentence"]

PASSAGE_THRESHOLDS = (0.5, 0.9)
"""The passage thresholds besides 0.7 and the one that half of the passages exceed."""

SENTENCE_THRESHOLDS = (0.5, 0.8)

COLUMNS = (
    Column("decides", "decides"),
    Column("threshold", "threshold", 3),
    Column("max", "max", 0),
    Column("order", "order"),
    Column("rows", "rows"),
    Column("flagged", "flagged %", 1),
    Column("mean_samples", "samples", 2),
    Column("samples_deviation", "±", 2),
    Column("calls_per_sentence", "calls / sentence", 2),
    Column("waves", "waves", 2),
    Column("agreement", "agreement", 2),
    Column("agreement_deviation", "±", 2),
    Column("error", "error", 2),
)
"""The columns of the printed table."""


@dataclass(frozen=True, slots=True)
class _Aim:
    """A decision to measure."""

    decides: Decides
    threshold: float

    def policy(self, judge: BenchJudge, sampling: dict[str, Any]) -> dict[str, Any]:
        threshold = {"passage": None, "sentence": None, self.decides: self.threshold}
        return {"chain": [judging(judge)], "sampling": sampling, "threshold": threshold}

    def decisions(self, result: Checked) -> list[bool]:
        scores = result.sentences if self.decides == "sentence" else [result.score]
        return [over(score, self.threshold) for score in scores]


@dataclass(frozen=True, slots=True)
class _Setting:
    """The inputs of a measurement, and the results with all samples to compare with."""

    items: Sequence[Item]
    judge: BenchJudge
    sampling: dict[str, Any]
    whole: Sequence[Checked]
    done: Callable[[], object]
    parts: Sequence[str]

    async def measure(self, aim: _Aim, orders: int) -> list[Row]:
        """Return the rows of one decision: in recorded order, then in random orders."""
        policy = aim.policy(self.judge, self.sampling)
        recorded = await check(policy, self.items, self.judge, done=self.done)
        rows = [self._row(aim, "recorded", part, recorded) for part in self.parts]
        shuffled = [
            await check(policy, _shuffled(self.items, seed), self.judge, done=self.done)
            for seed in range(orders)
        ]
        if orders:
            for part in self.parts:
                order_rows = [
                    self._row(aim, f"mean of {orders}", part, results) for results in shuffled
                ]
                rows.append(_mean(order_rows))
        return rows

    def _row(self, aim: _Aim, order: str, part: str, results: Sequence[Checked]) -> Row:
        remainders = {"all": (0, 1), "even": (0,), "odd": (1,)}[part]
        checked: list[Checked] = []
        expected: list[bool] = []
        decided: list[bool] = []
        for item, whole, result in zip(self.items, self.whole, results, strict=True):
            if item.index % 2 in remainders:
                checked.append(result)
                expected += aim.decisions(whole)
                decided += aim.decisions(result)
        if not checked:
            return self._about(aim, order, part)
        agreement = fmean(e == d for e, d in zip(expected, decided, strict=True))
        sentences = sum(len(result.sentences) for result in checked)
        return {
            **self._about(aim, order, part),
            "flagged": round(100 * fmean(expected), 2),
            "mean_samples": round(fmean(result.verdict.samples for result in checked), 3),
            "calls_per_sentence": round(sum(result.calls for result in checked) / sentences, 3),
            "waves": round(fmean(result.waves for result in checked), 3),
            "agreement": round(100 * agreement, 3),
            "error": round(100 * (1 - agreement), 3),
        }

    def _about(self, aim: _Aim, order: str, part: str) -> Row:
        return {
            "decides": aim.decides,
            "threshold": aim.threshold,
            "max": self.sampling["max"],
            "confidence": self.sampling["confidence"],
            "order": order,
            "rows": part,
            **dict.fromkeys(_FIGURES),
        }


_FIGURES = (
    "flagged",
    "mean_samples",
    "samples_deviation",
    "calls_per_sentence",
    "waves",
    "agreement",
    "agreement_deviation",
    "error",
)


def runs(orders: int) -> int:
    """Return the number of passes over the corpus."""
    decisions = 2 + len(PASSAGE_THRESHOLDS) + len(SENTENCE_THRESHOLDS)
    return 1 + decisions * (1 + orders)


async def run(
    corpus: Corpus,
    judge: BenchJudge,
    *,
    max_samples: int = 20,
    min_samples: int = 3,
    confidence: float = 0.99,
    orders: int = 5,
    halves: bool = False,
    done: Callable[[], object] = lambda: None,
) -> ResultTable:
    """Measure adaptive stopping with one judge.

    Args:
        corpus: The passages.
        judge: The judge; it must always give the same answer to the same question.
        max_samples: The maximum number of samples.
        min_samples: The minimum number of samples.
        confidence: The probability with which a decision must be known, in (0.5, 1].
        orders: The number of random orders of the samples, besides the recorded one.
        halves: Whether to add rows for the passages with even and with odd row numbers.
        done: Called after each passage of each measurement.

    Returns:
        For each decision, a row for the recorded order, and one for the mean of random ones.
    """
    items = [replace(item, samples=item.samples[:max_samples]) for item in corpus.items]
    always = _Aim("passage", 0.5).policy(judge, {"max": max_samples, "min": 1, "confidence": None})
    whole = await check(always, items, judge, done=done)
    sampling = {
        "max": max_samples,
        "min": min(min_samples, max_samples),
        "confidence": confidence,
    }
    parts = ("all", "even", "odd") if halves else ("all",)
    setting = _Setting(items, judge, sampling, whole, done, parts)
    half = halfway([result.score for result in whole])
    rows: list[Row] = []
    for aim in _aims(half):
        rows += await setting.measure(aim, orders)
    about = {
        "passages": len(corpus.items),
        "judge": judge.name,
        "confidence": confidence,
        "half_flagged_threshold": half,
    }
    return ResultTable("adaptive", COLUMNS, tuple(rows), tuple(_notes(setting, orders)), about)


def _aims(half: float) -> Iterator[_Aim]:
    for threshold in (0.7, half, *PASSAGE_THRESHOLDS):
        yield _Aim("passage", threshold)
    for threshold in SENTENCE_THRESHOLDS:
        yield _Aim("sentence", threshold)


def halfway(scores: Sequence[float | None]) -> float:
    """Return a threshold that half of the scores exceed, midway between the two in the middle."""
    ordered = sorted(score for score in scores if score is not None)
    if not ordered:
        return 0.5
    middle = len(ordered) // 2
    return fmean(ordered[max(middle - 1, 0) : middle + 1])


def _shuffled(items: Sequence[Item], seed: int) -> list[Item]:
    rng = random.Random(seed)
    return [
        replace(item, samples=tuple(rng.sample(item.samples, len(item.samples)))) for item in items
    ]


def _mean(rows: Sequence[Row]) -> Row:
    """Return the means over several orders, with the deviation of samples and of agreement."""
    mean: dict[str, Any] = dict(rows[0])
    for key in _FIGURES:
        values = [row[key] for row in rows]
        if None not in values:
            mean[key] = round(fmean(values), 3)
    if len(rows) > 1 and mean["agreement"] is not None:
        mean["samples_deviation"] = round(stdev(row["mean_samples"] for row in rows), 3)
        mean["agreement_deviation"] = round(stdev(row["agreement"] for row in rows), 3)
    return mean


def _notes(setting: _Setting, orders: int) -> Iterator[str]:
    sampling = setting.sampling
    yield (
        f"samples: how many are drawn of {sampling['max']}, at least {sampling['min']}; all of them"
        " are compared with, but for sentences that are settled (calls / sentence)."
    )
    yield "waves: how often samples are asked for, one after the other."
    yield (
        f"agreement: in percent, with the decision that all {sampling['max']} give; error: the"
        f" rest. A confidence of {sampling['confidence']:g} promises each decision an error of"
        f" {100 * (1 - sampling['confidence']):.3g} % at most."
    )
    yield (
        "The second threshold is the one that half of the passages pass with all samples, so that"
        " as many scores as possible lie near it."
    )
    if orders:
        yield (
            f"mean of {orders}: samples in {orders} random orders; ±: the deviation from order to"
            " order."
        )
    if doubtful := sum(result.verdict.inconclusive for result in setting.whole):
        yield f"{doubtful} passages are inconclusive with all samples."
