"""Measures ways to save judge calls on WikiBio, and what they cost in quality.

`prompt` asks a judge about every sentence and every sample. Three techniques save calls: an n-gram
step that settles sentences it is sure of; stopping when a sentence's decision is settled (see
`resay.scorers.stopping`); and asking about the samples nearest to a sentence first (see
`resay.scorers.common.nearest_first`). They are measured alone and combined, through the chain, and
compared with simply drawing fewer samples. The bands of the n-gram step are fitted on other
passages than those they are measured on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain as joined
from itertools import pairwise
from statistics import fmean
from typing import Any

from resay.errors import ConfigurationError
from resay.plugins import Settle, over, registry
from resay.scorers.common.nearest_first import overlaps
from resay_lab.benchmarks import metrics
from resay_lab.benchmarks.measuring import BenchJudge, Item, Measured, measure, policy_text
from resay_lab.benchmarks.table import Column, ResultTable, Row
from resay_lab.benchmarks.wikibio import Corpus, is_wrong
from resay_lab.calibration import fit_bands
from research.checking import check, judging
from research.estimate import fit_estimate

FIRST = (1, 2, 3, 5, 8, 10, 15)
"""The numbers of samples at which a smaller budget alone is measured."""

ERRORS = (0.01, 0.02, 0.05)
"""The maximum shares of the sentences settled by n-grams that may be decided otherwise."""

FOLDS = 5

COLUMNS = (
    Column("setting", "setting"),
    Column("threshold", "threshold", 3),
    Column("settle_error", "settle error", 2),
    Column("settled", "settled %", 1),
    Column("mean_samples", "samples", 1),
    Column("calls_per_sentence", "calls / sentence", 2),
    Column("saved", "saved %", 1),
    Column("roc_auc", "ROC", 2),
    Column("roc_auc_change", "change", 2),
    Column("average_precision", "AP", 2),
    Column("agreement", "agreement", 2),
    Column("agreement_even", "even", 2),
    Column("agreement_odd", "odd", 2),
)
"""The columns of the printed table."""

Scores = Sequence[Sequence[float | None]]
Steps = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class _Result:
    """The results of one setting on all passages, and their cost."""

    scores: Scores
    calls: int
    samples: float
    settled: int = 0


def runs(thresholds: int = 2) -> int:
    """Return the maximum number of passes over the corpus."""
    return 2 + len(FIRST) + thresholds * (2 + 2 * len(ERRORS))


def folds_of(corpus: Corpus) -> list[int]:
    """Return the fold of each passage.

    Raises:
        ConfigurationError: All are in one fold, so none remain to fit bands on.
    """
    folds = [item.index % FOLDS for item in corpus.items]
    if len(set(folds)) < 2:
        raise ConfigurationError("bands need other passages to be fitted on; take more rows")
    return folds


async def run(
    corpus: Corpus,
    judge: BenchJudge,
    *,
    max_samples: int = 20,
    min_samples: int = 3,
    confidence: float = 0.99,
    thresholds: Sequence[float] | None = None,
    first: Sequence[int] = FIRST,
    errors: Sequence[float] = ERRORS,
    done: Callable[[], object] = lambda: None,
) -> ResultTable:
    """Measure the techniques that save calls, with one judge.

    Args:
        corpus: The passages.
        judge: The judge; it must always give the same answer to the same question.
        max_samples: The maximum number of samples.
        min_samples: The minimum number of samples.
        confidence: The probability with which a decision must be known, in (0.5, 1].
        thresholds: Sentence thresholds; None for 0.5 and the one that separates the labels best.
        first: The numbers of samples at which a smaller budget alone is measured.
        errors: The maximum shares of settled sentences that may be decided otherwise.
        done: Called after each passage of each measurement.

    Returns:
        A row for each setting and threshold.

    Raises:
        ConfigurationError: There are too few passages to fit bands on held-out ones.
        MissingDependencyError: scikit-learn, scipy or numpy is not installed.
    """
    metrics.require()
    items = [replace(item, samples=item.samples[:max_samples]) for item in corpus.items]
    folds = folds_of(corpus)
    config = registry()["prompt"].Config(form="published", **judge.settings)
    prompt = await measure(config, items, judge, concurrency=1, done=done)
    ngram = await measure(registry()["ngram"].Config(), items, None, concurrency=1, done=done)
    bench = _Bench(
        corpus=corpus,
        items=items,
        folds=folds,
        judge=judge,
        sampling={
            "max": max_samples,
            "min": min(min_samples, max_samples),
            "confidence": confidence,
        },
        prompt=prompt,
        ngram=ngram,
        done=done,
    )
    rows: list[Row] = []
    available = max(len(item.samples) for item in items)
    budgets = [(count, await bench.first(count)) for count in first if count < available]
    for threshold in thresholds or (0.5, bench.best_threshold()):
        rows.append(bench.row("prompt", threshold, bench.reference))
        for count, result in budgets:
            rows.append(bench.row(f"first {count} samples", threshold, result))
        rows += await bench.measure(threshold, errors)
    estimate = bench.estimate()
    about = {
        "passages": len(items),
        "judge": judge.name,
        "confidence": confidence,
        "estimate": estimate,
    }
    notes = (*_contributions(rows, errors), *bench.notes(), *_snippet(estimate))
    return ResultTable("cascade", COLUMNS, tuple(rows), notes, about)


@dataclass(frozen=True, slots=True)
class _Bench:
    """The inputs of the measurements, and the results with all samples to compare with."""

    corpus: Corpus
    items: Sequence[Item]
    folds: Sequence[int]
    judge: BenchJudge
    sampling: Mapping[str, Any]
    prompt: Sequence[Measured]
    ngram: Sequence[Measured]
    done: Callable[[], object]

    @property
    def reference(self) -> _Result:
        return _Result(
            scores=[result.sentences for result in self.prompt],
            calls=sum(result.usage.calls for result in self.prompt),
            samples=fmean(len(item.samples) for item in self.items),
        )

    def best_threshold(self) -> float:
        """Return the threshold with the greatest recall of wrong sentences less that of others."""
        wrong = self._wrong()
        scores = [s or 0.0 for s in joined.from_iterable(self.reference.scores)]
        thresholds = [fmean(pair) for pair in pairwise(sorted(set(scores)))] or [0.5]
        positive, negative = max(sum(wrong), 1), max(len(wrong) - sum(wrong), 1)

        def gain(threshold: float) -> float:
            flagged = [w for w, s in zip(wrong, scores, strict=True) if s > threshold]
            return sum(flagged) / positive - (len(flagged) - sum(flagged)) / negative

        return max(thresholds, key=gain)

    async def first(self, count: int) -> _Result:
        """Return the result of a smaller budget alone."""
        items = [replace(item, samples=item.samples[:count]) for item in self.items]
        sampling = {"max": count, "min": 1, "confidence": None}
        return await self._check([judging(self.judge)], 0.5, sampling, items)

    async def measure(self, threshold: float, errors: Sequence[float]) -> list[Row]:
        """Return the rows of all techniques that save calls."""
        prompt, nearest = judging(self.judge), judging(self.judge, order="nearest")
        stopping = self.sampling
        all_samples = {**self.sampling, "confidence": None}
        rows = [
            self.row("early stop", threshold, await self._check([prompt], threshold, stopping)),
            self.row("nearest", threshold, await self._check([nearest], threshold, stopping)),
        ]
        for error in errors:
            result = await self._behind_ngram(prompt, threshold, all_samples, error)
            rows.append(self.row("ngram", threshold, result, error))
        for error in errors:
            result = await self._behind_ngram(nearest, threshold, stopping, error)
            rows.append(self.row("cascade", threshold, result, error))
        return rows

    async def _behind_ngram(
        self, step: Mapping[str, Any], threshold: float, sampling: Mapping[str, Any], error: float
    ) -> _Result:
        """Return the result of a step behind an n-gram step, with bands fitted out of fold."""
        scores: dict[int, Sequence[float | None]] = {}
        calls = settled = 0
        for fold in sorted(set(self.folds)):
            indices = [i for i, fold_of_item in enumerate(self.folds) if fold_of_item == fold]
            settle = self._bands(fold, threshold, error)
            steps = [{"method": "ngram", "settle": settle.model_dump()}, step]
            items = [self.items[i] for i in indices]
            result = await self._check(steps, threshold, sampling, items)
            scores |= dict(zip(indices, result.scores, strict=True))
            calls += result.calls
            settled += result.settled
        return _Result(
            scores=[scores[i] for i in range(len(self.items))],
            calls=calls,
            samples=fmean(len(item.samples) for item in self.items),
            settled=settled,
        )

    def _bands(self, fold: int, threshold: float, error: float) -> Settle:
        """Fit the bands of the n-gram step to the passages of the other folds."""
        scores: list[float] = []
        decisions: list[bool] = []
        for fold_of_item, ngram, prompt in zip(self.folds, self.ngram, self.prompt, strict=True):
            if fold_of_item == fold:
                continue
            for score, final in zip(ngram.scores.sentences, prompt.sentences, strict=True):
                if score is not None and final is not None:
                    scores.append(score)
                    decisions.append(over(final, threshold))
        return fit_bands(scores, decisions, error, threshold=threshold)

    async def _check(
        self,
        steps: Steps,
        threshold: float,
        sampling: Mapping[str, Any],
        items: Sequence[Item] | None = None,
    ) -> _Result:
        policy = {
            "chain": list(steps),
            "sampling": dict(sampling),
            "threshold": {"passage": None, "sentence": threshold},
        }
        results = await check(policy, items or self.items, self.judge, done=self.done)
        sentences = joined.from_iterable(result.verdict.sentences for result in results)
        return _Result(
            scores=[result.sentences for result in results],
            calls=sum(result.calls for result in results),
            samples=fmean(result.verdict.samples for result in results),
            settled=sum(sentence.by == "ngram" for sentence in sentences),
        )

    def _wrong(self) -> list[bool]:
        return [is_wrong(label) for labels in self.corpus.labels for label in labels]

    def row(
        self, setting: str, threshold: float, result: _Result, error: float | None = None
    ) -> Row:
        """Return the table row of one setting."""
        wrong, reference = self._wrong(), self.reference
        count = len(wrong)
        roc = _of_scored(metrics.roc_auc, wrong, result.scores)
        before = _of_scored(metrics.roc_auc, wrong, reference.scores)
        precision = _of_scored(metrics.average_precision, wrong, result.scores)
        return {
            "setting": setting,
            "threshold": threshold,
            "settle_error": error,
            "settled": round(100 * result.settled / count, 2) if error is not None else None,
            "mean_samples": round(result.samples, 2),
            "calls_per_sentence": round(result.calls / count, 3),
            "saved": round(100 * (1 - result.calls / max(reference.calls, 1)), 2),
            "roc_auc": metrics.rounded(roc, 2),
            "roc_auc_change": None if roc is None or before is None else round(roc - before, 2),
            "average_precision": metrics.rounded(precision, 2),
            "agreement": self._agreement(threshold, result, (0, 1)),
            "agreement_even": self._agreement(threshold, result, (0,)),
            "agreement_odd": self._agreement(threshold, result, (1,)),
        }

    def _agreement(self, threshold: float, result: _Result, halves: Sequence[int]) -> float | None:
        agreements: list[bool] = []
        for item, scores, references in zip(
            self.items, result.scores, self.reference.scores, strict=True
        ):
            if item.index % 2 in halves:
                for score, reference in zip(scores, references, strict=True):
                    agreements.append(over(score, threshold) == over(reference, threshold))
        return round(100 * fmean(agreements), 2) if agreements else None

    def estimate(self) -> Mapping[str, float] | None:
        """Return the estimate of this judge's answers; None if nothing can be learned."""
        shared: list[Sequence[float]] = []
        entries: list[Sequence[float | None]] = []
        for item, result in zip(self.items, self.prompt, strict=True):
            shared += overlaps([s.text for s in item.passage.sentences], item.samples)
            entries += zip(*result.scores.columns, strict=True)
        try:
            return fit_estimate(shared, entries).model_dump()
        except ConfigurationError:
            return None

    def notes(self) -> Iterator[str]:
        """Yield the notes that explain the columns and the settings."""
        yield (
            f"calls / sentence: judge calls, of {self.sampling['max']}; saved: against prompt. ROC"
            " and AP are for NonFact; change: of ROC. agreement: in percent of the sentences, with"
            " the decision of prompt at this threshold, and on passages with even and with odd row"
            " numbers."
        )
        yield "first N samples: prompt with a smaller budget and nothing else."
        yield (
            f"early stop: at a confidence of {self.sampling['confidence']:g}, after"
            f" {self.sampling['min']} samples at least, as they arrive; nearest: the same with the"
            " samples nearest to a sentence asked about first, and the others estimated; ngram:"
            " prompt with all samples for what an n-gram step does not settle; cascade: ngram and"
            " nearest."
        )
        yield (
            f"settle error: which share of settled sentences may be decided otherwise than by"
            f" prompt; bands are fitted on the passages of the other {FOLDS - 1} of {FOLDS} folds."
            " Settled sentences keep the score of the n-gram step, which is on another scale, and"
            " ROC and AP go by it."
        )


def _snippet(estimate: Mapping[str, float] | None) -> Iterator[str]:
    """Yield the estimate as a policy step."""
    if estimate is None:
        return
    step = {"method": "prompt", "order": "nearest", "estimate": dict(estimate)}
    yield (
        "The estimate fitted to this judge's answers, all passages, as a step of a policy:\n\n"
        + policy_text(step)
    )


def _of_scored(
    figure: Callable[[Sequence[bool], Sequence[float]], float | None],
    wrong: Sequence[bool],
    scores: Scores,
) -> float | None:
    """Return a figure of the sentences that have a score."""
    pairs = zip(wrong, joined.from_iterable(scores), strict=True)
    scored = [(label, score) for label, score in pairs if score is not None]
    return figure([label for label, _ in scored], [score for _, score in scored])


def _contributions(rows: Sequence[Row], errors: Sequence[float]) -> Iterator[str]:
    """Yield how much each technique saves, at each threshold."""
    for threshold in dict.fromkeys(row["threshold"] for row in rows):
        saved = {
            (row["setting"], row["settle_error"]): row["saved"]
            for row in rows
            if row["threshold"] == threshold
        }
        stop, nearest = saved["early stop", None], saved["nearest", None]
        alone = ", ".join(f"{saved['ngram', e]:.1f} (error {e:g})" for e in errors)
        besides = ", ".join(f"{saved['cascade', e] - nearest:+.1f} (error {e:g})" for e in errors)
        yield (
            f"At {threshold:.3f} the early stop alone saves {stop:.1f} % of the calls, and asking"
            f" nearest first {nearest - stop:+.1f} more; the n-gram step alone saves {alone}, and"
            f" before the two others {besides}."
        )
