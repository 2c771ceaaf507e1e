"""Measures ways to save judge calls on WikiBio, and what they cost in quality.

`prompt` asks a judge about every sentence and every sample. Three techniques save calls: an n-gram
step that settles sentences it is sure of; stopping when a sentence's decision is settled (see
`resay.scorers.stopping`); and asking about the samples nearest to a sentence first (see
`resay.scorers.common.nearest_first`). They are measured alone and combined, through the chain, and
compared with simply drawing fewer samples. The bands of the n-gram step are fitted on other
passages than those they are measured on.

The module also fits the estimate of a judge's answers that `prompt` with `order: nearest` uses. The
model is that of `resay.scorers.common.nearest_first`: a logistic regression with a random intercept
for each sentence. Its coefficients maximise the likelihood with the random intercept integrated
out, on a grid, at a given spread. The spread of the greatest likelihood, 2.9 for the judge the
defaults are fitted to, relies so much on known answers that scores rank worse by human labels;
decisions agree as well with the smaller default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain as joined
from itertools import pairwise
from statistics import fmean
from typing import Any

from resay._internal.importing import load_optional
from resay.core.scores import over
from resay.errors import ConfigurationError
from resay.scorers import Settle, registry
from resay.scorers.common.nearest_first import Estimate, overlaps
from resay_lab.benchmarks import metrics
from resay_lab.benchmarks.measuring import BenchJudge, Item, Measured, measure, policy_text
from resay_lab.benchmarks.table import Column, ResultTable, Row
from resay_lab.benchmarks.wikibio import Corpus, is_wrong
from resay_lab.calibration import fit_bands
from research.checking import check, judging

_DIGITS = 1
_GRID = 25
_REACH = 3.0


def fit_estimate(
    overlaps: Sequence[Sequence[float]],
    entries: Sequence[Sequence[float | None]],
    *,
    spread: float | None = None,
) -> Estimate:
    """Fit how a judge's answers depend on the words that a sentence shares with a sample.

    Args:
        overlaps: For each sentence, the overlap with each sample; see
            `resay.scorers.common.nearest_first.overlaps`.
        entries: For each sentence, the judge's answer about each sample: 0 if it supports the
            sentence, 1 if it does not, 0.5 if the answer could not be parsed, None if the call
            failed.
        spread: The deviation of the part that the words do not explain; None for the default.

    Returns:
        The estimate, its coefficients rounded to one decimal.

    Raises:
        ConfigurationError: Nothing can be learned: the answers do not include both supporting and
            other ones, or there is not one entry for each overlap.
        MissingDependencyError: numpy or scipy is not installed.
    """
    if [len(row) for row in overlaps] != [len(row) for row in entries]:
        raise ConfigurationError("there is not one entry for each overlap")
    known = {entry for row in entries for entry in row if entry is not None}
    if not (min(known, default=0.0) < 0.5 < max(known, default=0.0)):
        raise ConfigurationError(
            "nothing can be learned from judges' answers that are all alike; give more passages"
        )
    wide = Estimate().spread if spread is None else spread
    found = _fit(_Table(overlaps, entries), wide)
    intercept, overlap, mean_overlap = (round(float(value), _DIGITS) for value in found)
    return Estimate(intercept=intercept, overlap=overlap, mean_overlap=mean_overlap, spread=wide)


class _Table:
    """A table of sentences by samples, padded to the longest row."""

    def __init__(
        self, overlaps: Sequence[Sequence[float]], entries: Sequence[Sequence[float | None]]
    ) -> None:
        np = _np()
        shape = (len(entries), max(map(len, entries)))
        overlap, self.entries, self.known = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        for i, (shared, said) in enumerate(zip(overlaps, entries, strict=True)):
            overlap[i, : len(shared)] = shared
            self.entries[i, : len(said)] = [entry or 0.0 for entry in said]
            self.known[i, : len(said)] = [entry is not None for entry in said]
        mean = np.array([sum(shared) / max(len(shared), 1) for shared in overlaps])
        ones = np.ones(shape)
        self.features = np.stack([ones, overlap, ones * mean[:, None]], axis=-1)


def _fit(table: _Table, spread: float) -> Any:
    """Return the intercept and the coefficients."""
    np = _np()
    nodes = np.linspace(-_REACH, _REACH, _GRID)

    def loss(at: Any) -> tuple[float, Any]:
        odds = (table.features @ at)[..., None] + spread * nodes
        said, known = table.entries[..., None], table.known[..., None]
        logs = (known * (said * odds - np.logaddexp(0, odds))).sum(axis=1) - nodes**2 / 2
        most = logs.max(axis=1, keepdims=True)
        weights = np.exp(logs - most)
        whole = weights.sum(axis=1, keepdims=True)
        chances = 0.5 + 0.5 * np.tanh(odds / 2)
        missed = (known * (said - chances) * (weights / whole)[:, None, :]).sum(axis=-1)
        slope = (table.features * missed[..., None]).sum(axis=(0, 1))
        return -float((most[:, 0] + np.log(whole[:, 0])).sum()), -slope

    optimize = load_optional("scipy.optimize", package="scipy", extra="bench", purpose="a fit")
    default = Estimate()
    start = [default.intercept, default.overlap, default.mean_overlap]
    return optimize.minimize(loss, start, jac=True, method="L-BFGS-B").x


def _np() -> Any:
    return load_optional("numpy", package="numpy", extra="bench", purpose="a fit")


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
    most: int = 20,
    least: int = 3,
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
        most: The maximum number of samples.
        least: The minimum number of samples.
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
    items = [replace(item, samples=item.samples[:most]) for item in corpus.items]
    folds = folds_of(corpus)
    config = registry()["prompt"].Config(form="published", **judge.settings)
    whole = await measure(config, items, judge, concurrency=1, done=done)
    ngram = await measure(registry()["ngram"].Config(), items, None, concurrency=1, done=done)
    sampling = {"max": most, "min": min(least, most), "confidence": confidence}
    bench = _Bench(corpus, items, folds, judge, sampling, whole, ngram, done)
    rows = list[Row]()
    there = max(len(item.samples) for item in items)
    budgets = [(n, await bench.first(n)) for n in first if n < there]
    for threshold in thresholds or (0.5, bench.best_threshold()):
        rows.append(bench.row("prompt", threshold, bench.reference))
        rows += [bench.row(f"first {n} samples", threshold, found) for n, found in budgets]
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
    whole: Sequence[Measured]
    ngram: Sequence[Measured]
    done: Callable[[], object]

    @property
    def reference(self) -> _Result:
        return _Result(
            [result.sentences for result in self.whole],
            sum(result.usage.calls for result in self.whole),
            fmean(len(item.samples) for item in self.items),
        )

    def best_threshold(self) -> float:
        """Return the threshold with the greatest recall of wrong sentences less that of others."""
        wrong = self._wrong()
        scores = [s or 0.0 for s in joined.from_iterable(self.reference.scores)]
        known = sorted(set(scores))
        middles = [fmean(pair) for pair in pairwise(known)] or [0.5]
        positive, negative = max(sum(wrong), 1), max(len(wrong) - sum(wrong), 1)

        def gain(threshold: float) -> float:
            flagged = [w for w, s in zip(wrong, scores, strict=True) if s > threshold]
            return sum(flagged) / positive - (len(flagged) - sum(flagged)) / negative

        return max(middles, key=gain)

    async def first(self, count: int) -> _Result:
        """Return the result of a smaller budget alone."""
        items = [replace(item, samples=item.samples[:count]) for item in self.items]
        sampling = {"max": count, "min": 1, "confidence": None}
        return await self._check([judging(self.judge)], 0.5, sampling, items)

    async def measure(self, threshold: float, errors: Sequence[float]) -> list[Row]:
        """Return the rows of all techniques that save calls."""
        asked, nearest = judging(self.judge), judging(self.judge, order="nearest")
        always = {**self.sampling, "confidence": None}
        stop = self.sampling
        rows = [
            self.row("early stop", threshold, await self._check([asked], threshold, stop)),
            self.row("nearest", threshold, await self._check([nearest], threshold, stop)),
        ]
        for name, step, sampling in (("ngram", asked, always), ("cascade", nearest, stop)):
            for error in errors:
                found = await self._behind_ngram(step, threshold, sampling, error)
                rows.append(self.row(name, threshold, found, error))
        return rows

    async def _behind_ngram(
        self, step: Mapping[str, Any], threshold: float, sampling: Mapping[str, Any], error: float
    ) -> _Result:
        """Return the result of a step behind an n-gram step, with bands fitted out of fold."""
        scores: dict[int, Sequence[float | None]] = {}
        calls = settled = 0
        for fold in sorted(set(self.folds)):
            here = [i for i, other in enumerate(self.folds) if other == fold]
            settle = self._bands(fold, threshold, error)
            steps = [{"method": "ngram", "settle": settle.model_dump()}, step]
            items = [self.items[i] for i in here]
            found = await self._check(steps, threshold, sampling, items)
            scores |= dict(zip(here, found.scores, strict=True))
            calls += found.calls
            settled += found.settled
        samples = fmean(len(item.samples) for item in self.items)
        return _Result([scores[i] for i in range(len(self.items))], calls, samples, settled)

    def _bands(self, fold: int, threshold: float, error: float) -> Settle:
        others = [i for i, other in enumerate(self.folds) if other != fold]
        pairs = [
            (score, over(final, threshold))
            for i in others
            for score, final in zip(
                self.ngram[i].scores.sentences, self.whole[i].sentences, strict=True
            )
            if score is not None and final is not None
        ]
        return fit_bands([s for s, _ in pairs], [d for _, d in pairs], error, threshold=threshold)

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
        found = await check(policy, items or self.items, self.judge, done=self.done)
        return _Result(
            [result.sentences for result in found],
            sum(result.calls for result in found),
            fmean(result.verdict.samples for result in found),
            sum(s.by == "ngram" for result in found for s in result.verdict.sentences),
        )

    def _wrong(self) -> list[bool]:
        return [is_wrong(label) for labels in self.corpus.labels for label in labels]

    def row(
        self, setting: str, threshold: float, result: _Result, error: float | None = None
    ) -> Row:
        """Return the table row of one setting."""
        wrong, reference = self._wrong(), self.reference
        count = len(wrong)
        roc = _of_known(metrics.roc_auc, wrong, result.scores)
        before = _of_known(metrics.roc_auc, wrong, reference.scores)
        precision = _of_known(metrics.average_precision, wrong, result.scores)
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
        same = [
            over(score, threshold) == over(expected, threshold)
            for item, scores, of_all in zip(
                self.items, result.scores, self.reference.scores, strict=True
            )
            if item.index % 2 in halves
            for score, expected in zip(scores, of_all, strict=True)
        ]
        return round(100 * fmean(same), 2) if same else None

    def estimate(self) -> Mapping[str, float] | None:
        """Return the estimate of this judge's answers; None if nothing can be learned."""
        shared: list[Sequence[float]] = []
        entries: list[Sequence[float | None]] = []
        for item, result in zip(self.items, self.whole, strict=True):
            shared += overlaps([s.text for s in item.passage.sentences], item.samples)
            entries += zip(*result.scores.columns, strict=True)
        try:
            return fit_estimate(shared, entries).model_dump()
        except ConfigurationError:
            return None

    def notes(self) -> Iterator[str]:
        """Yield the notes that explain the columns and the settings."""
        most, least = self.sampling["max"], self.sampling["min"]
        yield (
            f"calls / sentence: judge calls, of {most}; saved: against prompt. ROC and AP are for"
            " NonFact; change: of ROC. agreement: in percent of the sentences, with the decision of"
            " prompt at this threshold, and on passages with even and with odd row numbers."
        )
        yield "first N samples: prompt with a smaller budget and nothing else."
        yield (
            f"early stop: at a confidence of {self.sampling['confidence']:g}, after {least} samples"
            " at least, as they arrive; nearest: the same with the samples nearest to a sentence"
            " asked about first, and the others estimated; ngram: prompt with all samples for what"
            " an n-gram step does not settle; cascade: ngram and nearest."
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


def _of_known(
    figure: Callable[[Sequence[bool], Sequence[float]], float | None],
    wrong: Sequence[bool],
    scores: Scores,
) -> float | None:
    pairs = zip(wrong, joined.from_iterable(scores), strict=True)
    known = [(w, score) for w, score in pairs if score is not None]
    return figure([w for w, _ in known], [score for _, score in known])


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
