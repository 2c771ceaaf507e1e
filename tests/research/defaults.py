"""Measures how well the default policy flags sentences.

The policy is `Policy.default()`, the one that `Guard()` uses, run through the chain with its own
sampling and early stopping. Judges' answers come from recordings of a different question: one per
sentence and sample, answered with Yes or No. The default policy asks about all sentences together
and allows three answers. Each recorded answer is passed on unchanged as the line about its
sentence: Yes is read as supported, and No as the policy reads a bare No, as `not_mentioned`. Which
Noes would have been `contradicted` is not recorded, so the table also has rows in which all are.

The fitted numbers of the policy, `max` of the weight of `not_mentioned` and `threshold.doubtful`,
are fitted again on all of WikiBio, for comparison with the shipped ones; `max` is also fitted on
parts of the data and measured on the rest.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, cast

from pydantic import Field

from resay import Passage, Policy, Request, Usage
from resay.core.decision import FLAGGED, Band
from resay.core.quoting import quotable
from resay.errors import ConfigurationError
from resay.plugins import Completion, Completions, Provider
from resay.scorers.common.silence import Between
from resay.scorers.common.yes_no import parse_yes_no
from resay.scorers.prompt import Prompt
from resay_lab.benchmarks import metrics
from resay_lab.benchmarks.measuring import Item
from resay_lab.benchmarks.rows import DataRow, choose_rows, parse_row, read_lines
from resay_lab.benchmarks.table import Column, ResultTable, Row
from resay_lab.benchmarks.wikibio import DATA, RECORDED_DATA, Label
from resay_lab.calibration.diagrams import wilson
from research.checking import Checked, check

MAX_ACCURATE, MIN_MAJOR = 18.0, 82.0
"""The goal, in percent: flag at most this share of the accurate sentences, and at least this share
of the major inaccurate ones."""

FITTED_ACCURATE = 17.5
"""The share, in percent, of accurate sentences that `max` is fitted to over all draws: less than
the goal, because the draws differ by half a point."""

MIN_RIGHT = 80.0
"""The minimum share, in percent, of sentences called supported that must be accurate."""

FOLDS = 5
_STEPS = 10_000
_SHIPPED = "as it ships"
_LABELS: tuple[Label, ...] = ("accurate", "minor_inaccurate", "major_inaccurate")

No = Literal["not_mentioned", "contradicted"]
"""How a recorded No is read."""

_READINGS: tuple[No, ...] = ("not_mentioned", "contradicted")


@dataclass(frozen=True, slots=True)
class Source:
    """A data set.

    Attributes:
        name: Its name.
        responses: Its file, in the data folder.
        recorded: The file of judges' answers; None if none are recorded.
        judges: The judges whose answers are read.
    """

    name: str
    responses: str
    recorded: str | None = None
    judges: tuple[str, ...] = ()


WIKIBIO = Source("wikibio_gpt3", DATA, RECORDED_DATA, ("gemma4-31b", "qwen3.5-9b-think"))
SAC3 = Source(
    "sac3_hotpot",
    "sac3_hotpot/responses.jsonl",
    "sac3_hotpot/recorded.jsonl",
    ("chatgpt-equiv",),
)
FACTSCORE = Source("factscore_instructgpt", "factscore_instructgpt/responses.jsonl")


class _Response(DataRow):
    prompt: str = ""
    passage: str
    sentences: list[str]
    # None: the sentence contains nothing that could be checked.
    labels: list[Label | None]
    samples: list[str]


class _Recorded(DataRow):
    answers: dict[str, list[list[str | None]]] = Field(alias="prompt_answers")


@dataclass(frozen=True, slots=True)
class Judged:
    """A data set with one judge's answers and some or all of its samples.

    Attributes:
        source: The data set.
        judge: The judge.
        first: The number of its first sample, from 1.
        items: The passages.
        labels: The labels of each passage's sentences.
        answers: For each passage, the judge's answers by sentence and sample.
    """

    source: Source
    judge: str
    first: int
    items: tuple[Item, ...]
    labels: tuple[tuple[Label | None, ...], ...]
    answers: tuple[Sequence[Sequence[str | None]], ...]

    @property
    def name(self) -> str:
        """The data set, judge and sample numbers, as a key and for display."""
        return f"{self.source.name}, {self.judge}, samples {self.drawn}"

    @property
    def drawn(self) -> str:
        """The range of its sample numbers."""
        return f"{self.first} to {self.first + Policy.default().sampling.max - 1}"

    def cut(self, start: int, end: int) -> Judged:
        """Return a copy with a slice of the samples.

        Args:
            start: The index of the first sample.
            end: The index after the last sample.
        """
        return replace(
            self,
            first=start + 1,
            items=tuple(replace(item, samples=item.samples[start:end]) for item in self.items),
            answers=tuple([row[start:end] for row in rows] for rows in self.answers),
        )

    @property
    def indices(self) -> range:
        """The indices of all passages."""
        return range(len(self.items))


Draws = tuple[Judged, ...]
"""One judge's answers about one data set: once for each successive batch of samples."""


def load(folder: Path, source: Source, rows: slice) -> tuple[Draws, ...]:
    """Read a data set with its recorded answers.

    Args:
        folder: The data folder.
        source: The data set.
        rows: Which rows to read.

    Returns:
        The draws of each judge.

    Raises:
        ConfigurationError: A file is missing or invalid, has no such rows, or has fewer samples
            than the default policy draws.
    """
    if source.recorded is None:
        return ()
    data_sets = read_all(folder, source, rows)
    drawn = Policy.default().sampling.max
    fewest = min(len(item.samples) for item in data_sets[0].items)
    if fewest < drawn:
        raise ConfigurationError(
            f"{source.name!r} has rows with {fewest} samples; the default policy draws {drawn}"
        )
    starts = range(0, fewest - drawn + 1, drawn)
    return tuple(
        tuple(judged.cut(start, start + drawn) for start in starts) for judged in data_sets
    )


def read_all(folder: Path, source: Source, rows: slice) -> tuple[Judged, ...]:
    """Read a data set with all its samples.

    Args:
        folder: The data folder.
        source: The data set.
        rows: Which rows to read.

    Returns:
        One per judge; a single one without answers if none are recorded.

    Raises:
        ConfigurationError: A file is missing or invalid, or has no such rows.
    """
    path = folder / source.responses
    lines = read_lines(path)
    indices = choose_rows(lines, rows, path)
    responses = [parse_row(_Response, lines, i, path) for i in indices]
    items = tuple(_item(i, row) for i, row in zip(indices, responses, strict=True))
    labels = tuple(tuple(row.labels) for row in responses)
    if source.recorded is None:
        no_answers = tuple([[None] * len(row.samples) for _ in row.sentences] for row in responses)
        return (Judged(source, "", 1, items, labels, no_answers),)
    recorded_path = folder / source.recorded
    recorded = read_lines(recorded_path)
    by_row = [parse_row(_Recorded, recorded, i, recorded_path).answers for i in indices]
    for index, row, answers in zip(indices, responses, by_row, strict=True):
        _check_shape(source, index, row, answers)
    return tuple(
        Judged(source, judge, 1, items, labels, tuple(answers[judge] for answers in by_row))
        for judge in source.judges
    )


def _check_shape(
    source: Source, index: int, row: _Response, answers: Mapping[str, list[list[str | None]]]
) -> None:
    shape = [len(row.samples)] * len(row.sentences)
    for judge in source.judges:
        if len(row.labels) != len(shape) or [len(a) for a in answers.get(judge, ())] != shape:
            raise ConfigurationError(
                f"row {index!r} of {source.name!r} has not one label for each of its {len(shape)}"
                f" sentences and one answer of {judge!r} for each of its {len(row.samples)} samples"
            )


def _item(index: int, row: _Response) -> Item:
    try:
        passage = Passage.from_sentences(row.sentences, text=row.passage)
    except ConfigurationError:
        passage = Passage.from_sentences(row.sentences)
    request = Request.of(row.prompt) if row.prompt.strip() else None
    return Item(index, passage, tuple(row.samples), request=request)


_SECTION = r"<{name}-(?P<code>[0-9a-f]{{16}})>\n(?P<text>.*?)\n</{name}-(?P=code)>"
_CONTEXT = re.compile(_SECTION.format(name="context"), re.DOTALL)
_CLAIMS = re.compile(_SECTION.format(name="claims"), re.DOTALL)
_CLAIM = re.compile(r"^\d+\. (.*)$", re.MULTILINE)


class RecordedProvider:
    """Replays recorded answers about pairs in the format that the default policy asks for.

    Args:
        item: The passage.
        answers: The judge's answers, by sentence and sample.
        no: How a recorded No is read.
    """

    def __init__(self, item: Item, answers: Sequence[Sequence[str | None]], no: No) -> None:
        self._no = no
        contexts = [quotable(sample).strip() for sample in item.samples]
        self._answers: dict[tuple[str, str], str | None] = {}
        for sentence, row in zip(item.passage.sentences, answers, strict=True):
            claim = _flat(sentence.text)
            for context, answer in zip(contexts, row, strict=True):
                self._answers[claim, context] = answer

    async def takes_n(self, request: Request) -> bool:
        """Return False: it gives one answer at a time."""
        del request
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Answer with one line per claim, skipping those without a recorded answer.

        A retry because of a missing line gets the same answer.
        """
        del n
        prompt = str(request.messages[0]["content"])
        context, claims = _CONTEXT.search(prompt), _CLAIMS.search(prompt)
        if context is None or claims is None:
            raise ConfigurationError("the default policy asks in a form that was not recorded")
        lines: list[str] = []
        for number, claim in enumerate(_CLAIM.findall(claims["text"]), 1):
            answer = self._answers[claim, context["text"]]
            if answer:
                lines.append(f"{number}: {self._word(answer)}")
        return Completions((Completion("\n".join(lines)),), Usage(calls=1))

    def _word(self, answer: str) -> str:
        if self._no == "contradicted" and parse_yes_no(answer) is False:
            return "contradicted"
        return _flat(answer)


def _flat(text: str) -> str:
    return " ".join(text.splitlines())


class RecordedJudgeAdapter:
    """Recorded answers as a benchmark judge.

    Args:
        judged: The passages with the judge's answers.
        no: How a recorded No is read.
    """

    reports_tokens = False

    def __init__(self, judged: Judged, no: No) -> None:
        self.name = judged.judge
        self.settings: Mapping[str, Any] = {}
        self._no: No = no
        self._by_index = {
            item.index: (item, answers)
            for item, answers in zip(judged.items, judged.answers, strict=True)
        }

    async def prepare(self) -> None:
        """Do nothing: recordings need no setup."""

    def provider_for(self, item: int) -> Provider:
        """Return a provider of this item's recorded answers."""
        return RecordedProvider(*self._by_index[item], self._no)

    def with_limits(
        self, provider: Provider, limiter: AbstractAsyncContextManager[object]
    ) -> Provider:
        """Return the provider itself."""
        del limiter
        return provider


async def checked(policy: Policy, judged: Judged, no: No) -> list[Checked]:
    """Check a data set.

    Args:
        policy: The default policy, or a variant of it.
        judged: The passages with the judge's answers.
        no: How a recorded No is read.

    Returns:
        One result per passage.

    Raises:
        ConfigurationError: The policy asks something that was not recorded.
    """
    judge = RecordedJudgeAdapter(judged, no)
    results = await check(by_sample(policy.model_dump()), judged.items, judge, skips=True)
    for result in results:
        if any(step.failures for step in result.verdict.steps):
            raise ConfigurationError(
                f"{judged.name}: the default policy asks what was not recorded"
            )
    return results


def by_sample(settings: Any) -> Any:
    """Return settings with `prompt` asking about each sample by itself, as recorded judges were.

    Args:
        settings: A policy, a chain or a step, as mappings and lists.
    """
    if isinstance(settings, (list, tuple)):
        return [by_sample(entry) for entry in cast("Sequence[Any]", settings)]
    if not isinstance(settings, Mapping):
        return settings
    entries = cast("Mapping[str, Any]", settings)
    changed = {key: by_sample(value) for key, value in entries.items()}
    return changed | {"mode": "per_sample"} if entries.get("method") == "prompt" else changed


@dataclass(frozen=True, slots=True)
class Line:
    """The scores of a passage's sentences at any `max` of the weight of `not_mentioned`.

    A score is a mean of entries, some of which lie between `min` and `max`, depending on the
    words: it is linear in `max`, provided that all samples are examined.

    Attributes:
        low: The scores with `max` equal to `min`; None for a sentence without a score.
        high: The scores with `max` equal to 1.
    """

    low: tuple[float | None, ...]
    high: tuple[float | None, ...]

    def bands(self, weight: float) -> list[Band | None]:
        """Return the band of each sentence with `max` equal to a weight."""
        threshold, minimum = Policy.default().threshold, shipped_weight().min
        share = (weight - minimum) / (1 - minimum)
        bands: list[Band | None] = []
        for low, high in zip(self.low, self.high, strict=True):
            score = None if low is None or high is None else low + share * (high - low)
            bands.append(threshold.band(score))
        return bands


async def lines_of(judged: Judged) -> list[Line]:
    """Return the scores of a data set as functions of `max`."""
    at_min = with_max(shipped_weight().min, stops=False)
    low_results = await checked(at_min, judged, "not_mentioned")
    high_results = await checked(with_max(1.0, stops=False), judged, "not_mentioned")
    lines: list[Line] = []
    for low, high in zip(low_results, high_results, strict=True):
        lines.append(Line(low=tuple(low.sentences), high=tuple(high.sentences)))
    return lines


Lines = Mapping[str, Sequence[Line]]
"""The lines of data sets, by their names."""


def fit(draws: Sequence[Draws], lines: Lines, left_out: int | None = None) -> float:
    """Return the greatest `max` at which few enough accurate sentences are flagged.

    Args:
        draws: The data and answers to fit on. The limit holds for each judge, over all draws.
        lines: Their scores.
        left_out: The fold to leave out.

    Returns:
        The weight, with four decimals.
    """

    def holds(step: int) -> bool:
        for of_judge in draws:
            counts = Bands()
            for judged in of_judge:
                for index in judged.indices:
                    if judged.items[index].index % FOLDS != left_out:
                        bands = lines[judged.name][index].bands(step / _STEPS)
                        counts.add(judged, {index: bands})
            if counts.percent("accurate") > FITTED_ACCURATE:
                return False
        return True

    first = round(shipped_weight().min * _STEPS)
    steps = range(first + 1, _STEPS + 1)
    return (first + bisect_left(steps, True, key=lambda step: not holds(step))) / _STEPS


async def fit_doubtful(draws: Sequence[Draws]) -> float:
    """Return the greatest `threshold.doubtful` at which sentences called supported mostly are.

    Args:
        draws: The data and answers to fit on. The limit holds for each judge, over all draws.

    Returns:
        The threshold, in steps of 0.01; 0 if no threshold qualifies.
    """
    limit = Policy.default().threshold.sentence or 1.0
    cuts = [step / 100 for step in range(1, 100) if step / 100 < limit]
    for of_judge in draws:
        scored: list[tuple[float, Label]] = []
        for judged in of_judge:
            results = await checked(Policy.default(), judged, "not_mentioned")
            for result, labels in zip(results, judged.labels, strict=True):
                for sentence, label in zip(result.verdict.sentences, labels, strict=True):
                    if sentence.score is not None and label is not None:
                        scored.append((sentence.score, label))
        cuts = [cut for cut in cuts if _right_up_to(cut, scored) >= MIN_RIGHT]
    return max(cuts, default=0.0)


def _right_up_to(cut: float, scored: Sequence[tuple[float, Label]]) -> float:
    below = [label for score, label in scored if score <= cut]
    return 100 * below.count("accurate") / max(len(below), 1)


def with_max(weight: float, *, stops: bool = True) -> Policy:
    """Return the default policy with another `max` of the weight of `not_mentioned`.

    Args:
        weight: The new `max`.
        stops: Whether sampling may stop early, as the policy says; otherwise all samples are
            examined.
    """
    policy, between = Policy.default(), Between(min=shipped_weight().min, max=weight)
    chain: list[Any] = []
    for step in policy.chain:
        if isinstance(step, Prompt.Config):
            weights = step.weights.model_copy(update={"not_mentioned": between})
            step = step.model_copy(update={"weights": weights})
        chain.append(step)
    sampling = policy.sampling
    if not stops:
        sampling = sampling.model_copy(update={"confidence": None})
    return policy.model_copy(update={"chain": tuple(chain), "sampling": sampling})


def shipped_weight() -> Between:
    """Return the weight of `not_mentioned` in the default policy."""
    step = next(s for s in Policy.default().chain if isinstance(s, Prompt.Config))
    assert isinstance(step.weights.not_mentioned, Between)
    return step.weights.not_mentioned


@dataclass(slots=True)
class Bands:
    """Counts sentences by label and band, and answers by their worst label.

    Attributes:
        counts: Numbers of sentences by label and band.
        answers: Numbers of answers by the worst label of a sentence, and whether any is flagged.
    """

    counts: Counter[tuple[Label, Band | None]] = field(
        default_factory=Counter[tuple[Label, Band | None]]
    )
    answers: Counter[tuple[Label, bool]] = field(default_factory=Counter[tuple[Label, bool]])

    def add(self, judged: Judged, bands: Mapping[int, Sequence[Band | None]]) -> None:
        """Count the sentences of some passages.

        Args:
            judged: The data set.
            bands: The band of each sentence, by the indices of the passages to count.
        """
        for index, of_sentences in bands.items():
            labels: list[Label] = []
            for label, band in zip(judged.labels[index], of_sentences, strict=True):
                if label is not None:
                    labels.append(label)
                    self.counts[label, band] += 1
            if labels:
                worst = max(labels, key=_LABELS.index)
                self.answers[worst, any(band in FLAGGED for band in of_sentences)] += 1

    def total(self, label: Label) -> int:
        """Return the number of sentences with a label."""
        total = 0
        for (sentence_label, _), count in self.counts.items():
            if sentence_label == label:
                total += count
        return total

    def flagged(self, label: Label) -> int:
        """Return the number of a label's sentences that are flagged."""
        return sum(self.counts[label, band] for band in FLAGGED)

    def percent(self, label: Label) -> float:
        """Return the percentage of a label's sentences that is flagged; 0 if there are none."""
        return 100 * self.flagged(label) / max(self.total(label), 1)

    def figures(self) -> dict[str, Any]:
        """Return shares in percent with their 95 % intervals; None if there are no sentences."""
        figures: dict[str, Any] = {}
        for label in _LABELS:
            key, count = label.partition("_")[0], self.total(label)
            hits = self.flagged(label)
            low, high = wilson(hits, count) if count else (None, None)
            figures |= {
                f"{key}_sentences": count,
                f"{key}_flagged": _percent(hits, count),
                f"{key}_low": None if low is None else round(100 * low, 1),
                f"{key}_high": None if high is None else round(100 * high, 1),
                key: None
                if low is None or high is None
                else f"{100 * hits / count:.1f} ({100 * low:.1f} to {100 * high:.1f})",
            }
        right = self.counts["accurate", "supported"]
        supported = sum(self.counts[label, "supported"] for label in _LABELS)
        figures["accurate_supported"] = _percent(right, self.total("accurate"))
        figures["supported_right"] = _percent(right, supported)
        for label in ("accurate", "major_inaccurate"):
            key = "right_answers" if label == "accurate" else "wrong_answers"
            hits, misses = self.answers[label, True], self.answers[label, False]
            figures[key] = hits + misses
            figures[f"{key}_flagged"] = _percent(hits, hits + misses)
        return figures


def _percent(part: int, whole: int) -> float | None:
    return round(100 * part / whole, 1) if whole else None


COLUMNS = (
    Column("data", "data"),
    Column("judge", "judge"),
    Column("drawn", "samples"),
    Column("fitted_on", "fitted on"),
    Column("weight", "max", 4),
    Column("no", "No read as"),
    Column("accurate", "accurate flagged"),
    Column("minor", "minor flagged"),
    Column("major", "major flagged"),
    Column("roc_auc", "ROC", 1),
    Column("right_answers_flagged", "answers without an error flagged", 1),
    Column("wrong_answers_flagged", "answers with a major error flagged", 1),
    Column("accurate_supported", "accurate supported", 1),
    Column("supported_right", "supported that are accurate", 1),
    Column("samples", "looked at", 2),
    Column("calls", "calls", 2),
)
"""The columns of the printed table."""


@dataclass(frozen=True, slots=True)
class _Case:
    """A row of the table to measure.

    Attributes:
        judged: The data.
        no: How a recorded No is read.
        fitted_on: The origin of the weight, for display.
        weights: The weight for each passage.
    """

    judged: Judged
    no: No
    fitted_on: str
    weights: Sequence[float]


async def run(
    folder: Path, rows: slice, *, done: Callable[[], object] = lambda: None
) -> ResultTable:
    """Measure the default policy, as shipped and with `max` fitted on other parts of the data.

    Args:
        folder: The data folder.
        rows: Which rows of WikiBio to read.
        done: Called after each row of the table.

    Returns:
        The table.

    Raises:
        ConfigurationError: WikiBio or its recorded answers cannot be read.
        MissingDependencyError: scikit-learn or scipy is not installed.
    """
    metrics.require()
    wikibio = load(folder, WIKIBIO, rows)
    missing = [s for s in (SAC3, FACTSCORE) if not (folder / s.responses).is_file()]
    sac3 = () if SAC3 in missing else load(folder, SAC3, slice(None))
    lines = {j.name: await lines_of(j) for draws in (*wikibio, *sac3) for j in draws}
    cases = [*_shipped(wikibio, sac3), *_crossed(wikibio, sac3, lines)]
    table: list[Row] = []
    for case in cases:
        table.append(await _row(case))
        done()
    fitted = {"max": fit(wikibio, lines), "doubtful": await fit_doubtful(wikibio)}
    notes = list(_notes(table, fitted, missing))
    return ResultTable("defaults", COLUMNS, tuple(table), tuple(notes), {"fitted": fitted})


def _shipped(wikibio: Sequence[Draws], sac3: Sequence[Draws]) -> Iterator[_Case]:
    for first, *others in (*wikibio, *sac3):
        weights = [shipped_weight().max] * len(first.items)
        for no in _READINGS:
            yield _Case(first, no, _SHIPPED, weights)
        if first.source is WIKIBIO:
            for judged in others:
                yield _Case(judged, "not_mentioned", _SHIPPED, weights)


def _crossed(wikibio: Sequence[Draws], sac3: Sequence[Draws], lines: Lines) -> Iterator[_Case]:
    """Yield rows whose weight is fitted on other data."""
    for (judged, *_), other in zip(wikibio, reversed(wikibio), strict=True):
        weights = [fit([other], lines)] * len(judged.items)
        yield _Case(judged, "not_mentioned", other[0].judge, weights)
    for draws in wikibio:
        by_fold = [fit([draws], lines, fold) for fold in range(FOLDS)]
        weights = [by_fold[item.index % FOLDS] for item in draws[0].items]
        yield _Case(draws[0], "not_mentioned", f"the other {FOLDS - 1} of {FOLDS} folds", weights)
    if not sac3:
        return
    weight, other = fit(sac3, lines), fit(wikibio, lines)
    for judged, *_ in wikibio:
        yield _Case(judged, "not_mentioned", SAC3.name, [weight] * len(judged.items))
    for judged, *_ in sac3:
        for no in _READINGS:
            yield _Case(judged, no, WIKIBIO.name, [other] * len(judged.items))


async def _row(case: _Case) -> Row:
    judged, weights = case.judged, case.weights
    results: dict[int, Checked] = {}
    for weight in sorted(set(weights)):
        policy = Policy.default() if weight == shipped_weight().max else with_max(weight)
        with_weight = await checked(policy, judged, case.no)
        for index in judged.indices:
            if weights[index] == weight:
                results[index] = with_weight[index]
    counts = Bands()
    unscored = 0
    for index, result in results.items():
        bands = [sentence.band for sentence in result.verdict.sentences]
        counts.add(judged, {index: bands})
        for score, label in zip(result.sentences, judged.labels[index], strict=True):
            unscored += score is None and label is not None
    return {
        "data": judged.source.name,
        "judge": judged.judge,
        "drawn": judged.drawn,
        "fitted_on": case.fitted_on,
        "weight": round(fmean(weights), 4),
        "no": case.no,
        **counts.figures(),
        "roc_auc": _roc_auc(judged, results),
        "unscored": unscored,
        "samples": round(fmean(result.verdict.samples for result in results.values()), 2),
        "calls": round(fmean(result.calls for result in results.values()), 2),
        "holds": counts.percent("accurate") <= MAX_ACCURATE
        and counts.percent("major_inaccurate") >= MIN_MAJOR,
    }


def _roc_auc(judged: Judged, results: Mapping[int, Checked]) -> float | None:
    """Return how well the scores tell wrong sentences from accurate ones."""
    wrong: list[bool] = []
    scores: list[float] = []
    for index, result in results.items():
        for label, score in zip(judged.labels[index], result.sentences, strict=True):
            if label is not None and score is not None:
                wrong.append(label != "accurate")
                scores.append(score)
    return metrics.roc_auc(wrong, scores)


def steps(folder: Path, rows: slice) -> int:
    """Return the number of rows of the table.

    Raises:
        ConfigurationError: WikiBio or its recorded answers cannot be read.
    """
    wikibio = load(folder, WIKIBIO, rows)
    beside = len(SAC3.judges) if (folder / SAC3.responses).is_file() else 0
    return sum(map(len, wikibio)) + (4 if beside else 3) * len(wikibio) + 4 * beside


def _notes(
    rows: Sequence[Row], fitted: Mapping[str, float], missing: Sequence[Source]
) -> Iterator[str]:
    yield (
        "Percent of the sentences with each label that are flagged, with the 95 % interval of"
        " Wilson; samples looked at and calls of the judge are means per passage. The policy is"
        " Policy.default(), run with its own sampling and early stop, on the first samples it"
        " would draw and on the next. An answer is flagged if any of its sentences is."
    )
    unscored = {row["data"]: row["unscored"] for row in rows if row["fitted_on"] == _SHIPPED}
    yield (
        "As shipped the policy does not score sentences that claim nothing, and here these count as"
        f" not flagged: {' and '.join(f'{count} of {name}' for name, count in unscored.items())}."
        " The labels of sac3_hotpot call refusals wrong."
    )
    yield (
        "Judges were recorded with the published question, whether the sample supports the"
        " sentence, and are asked about each sample by itself. Yes is supported; No is what a bare"
        " No is to the policy, not_mentioned. It does not tell whether the sample says something"
        " else, so each row as it ships stands beside one in which all Noes are contradictions: the"
        " truth lies between. On sac3_hotpot the question was whether two answers are equivalent,"
        " and its No is nearer to contradicted."
    )
    of_shipped = [row for row in rows if row["fitted_on"] == _SHIPPED and row["no"] == _READINGS[0]]
    for judge in WIKIBIO.judges:
        draws = [r for r in of_shipped if (r["data"], r["judge"]) == (WIKIBIO.name, judge)]
        shares = [fmean(r[f"{key}_flagged"] or 0 for r in draws) for key in ("accurate", "major")]
        yield (
            f"The goal is at most {MAX_ACCURATE:g} % of the accurate and at least"
            f" {MIN_MAJOR:g} % of the major sentences of {WIKIBIO.name}. {judge}, as it ships:"
            f" {'met' if draws[0]['holds'] else 'not met'} on samples {draws[0]['drawn']};"
            f" {shares[0]:.1f} and {shares[1]:.1f} on average over {len(draws)} draws. Of"
            f" {draws[0]['right_answers']} answers without an error"
            f" {_shown(draws[0]['right_answers_flagged'])} are flagged."
        )
    yield (
        "`max` of not_mentioned fitted on all of wikibio_gpt3 with both judges:"
        f" {_beside(fitted['max'], shipped_weight().max, 4)}. It is the greatest in steps of"
        f" 0.0001 with which at most {FITTED_ACCURATE:g} % of the accurate sentences are flagged"
        " with each judge, over all draws of samples."
    )
    yield (
        "`threshold.doubtful` fitted on the same:"
        f" {_beside(fitted['doubtful'], Policy.default().threshold.doubtful or 0.0, 2)}. It is the"
        f" greatest in steps of 0.01 with which at least {MIN_RIGHT:g} % of the sentences called"
        " supported are accurate."
    )
    if FACTSCORE not in missing:
        yield (
            "factscore_instructgpt: not applicable. No judge's answers are recorded, and its 2"
            " samples a response are fewer than"
            f" sampling.min ({Policy.default().sampling.min}), which is inconclusive."
        )
    for source in missing:
        yield f"{source.name}: skipped: no data."


def _shown(percent: float | None) -> str:
    return "–" if percent is None else f"{percent:.1f} %"


def _beside(fitted: float, ships: float, digits: int) -> str:
    same = f"{fitted:.{digits}f}" == f"{ships:.{digits}f}"
    shown = "that is what ships" if same else f"what ships is {ships:.{digits}f}"
    return f"{fitted:.{digits}f}; {shown}"
