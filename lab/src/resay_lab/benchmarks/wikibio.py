"""The WikiBio GPT-3 hallucination data set.

Manakul, Liusie and Gales, "SelfCheckGPT: Zero-Resource Black-Box Hallucination Detection for
Generative Large Language Models", EMNLP 2023, section 7: 238 passages that GPT-3 wrote about
people, 1908 sentences labelled by people, 20 samples for each passage.

The tasks are to detect NonFact sentences (minor or major inaccurate), NonFact* (major inaccurate,
in passages where not every sentence is) and Factual (accurate, by the negated score), and to rank
passages by the mean of their labels: accurate 0, minor inaccurate 0.5, major inaccurate 1.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from pydantic import Field

from resay import Passage, Request, Usage
from resay.adapters.methods import Snowballing, render_prompt
from resay.errors import ConfigurationError
from resay.plugins import Evidence, ScorerConfig, Scores
from resay_lab.benchmarks import metrics
from resay_lab.benchmarks.entries import Baseline, BenchEntry
from resay_lab.benchmarks.measuring import (
    COST_COLUMNS,
    RECORDED,
    BenchJudge,
    Item,
    Measured,
    RecordedJudge,
    Recording,
    cost_of,
    failures_of,
    measure,
)
from resay_lab.benchmarks.rows import DataRow, choose_rows, parse_row, read_lines
from resay_lab.benchmarks.table import Column, ResultTable, Row, shown

DATA = "wikibio_gpt3.jsonl"
"""The file of the data set."""

RECORDED_DATA = "wikibio_gpt3_recorded.jsonl"
"""The file of its recordings: judges' answers, and scores from the authors' code."""

Label = Literal["accurate", "minor_inaccurate", "major_inaccurate"]


class _DataRow(DataRow):
    prompt: str = ""
    passage: str
    sentences: list[str]
    labels: list[Label]
    samples: list[str]


class _RecordedAnswers(DataRow):
    prompt_answers: dict[str, list[list[str | None]]]


@dataclass(frozen=True, slots=True)
class Corpus:
    """The passages to score.

    Attributes:
        items: The passages.
        labels: The labels of each passage's sentences.
        joined: The number of passages that do not contain their sentences as labelled, and were
            assembled from those sentences instead.
    """

    items: tuple[Item, ...]
    labels: tuple[tuple[Label, ...], ...]
    joined: int


def load(data: Path, rows: slice) -> Corpus:
    """Read the data set.

    Args:
        data: The folder that contains it.
        rows: Which rows to read.

    Returns:
        The passages.

    Raises:
        ConfigurationError: The file is missing or invalid, or has no such rows.
    """
    path = data / DATA
    lines = read_lines(path)
    items: list[Item] = []
    labels: list[tuple[Label, ...]] = []
    joined = 0
    for index in choose_rows(lines, rows, path):
        row = parse_row(_DataRow, lines, index, path)
        passage, is_joined = _passage(row)
        items.append(Item(index, passage, tuple(row.samples), request=_request(row)))
        labels.append(tuple(row.labels))
        joined += is_joined
    return Corpus(items=tuple(items), labels=tuple(labels), joined=joined)


def _request(row: _DataRow) -> Request | None:
    return Request.of(row.prompt) if row.prompt.strip() else None


def _passage(row: _DataRow) -> tuple[Passage, bool]:
    if len(row.labels) != len(row.sentences):
        raise ConfigurationError(
            f"{len(row.sentences)} sentences have {len(row.labels)} labels in {DATA!r}"
        )
    try:
        return Passage.from_sentences(row.sentences, text=row.passage), False
    except ConfigurationError:
        return Passage.from_sentences(row.sentences), True


def recorded_judge(data: Path, name: str, corpus: Corpus) -> RecordedJudge:
    """Read the recorded answers to SelfCheckGPT-Prompt's question.

    Args:
        data: The folder that contains them.
        name: The recorded judge, as `recorded:NAME`.
        corpus: The passages they are about.

    Returns:
        The judge.

    Raises:
        ConfigurationError: There is no such recording, or it does not match the passages.
    """
    judge = name.removeprefix(RECORDED)
    path = data / RECORDED_DATA
    lines = read_lines(path)
    recordings: dict[int, Recording] = {}
    for item in corpus.items:
        row = parse_row(_RecordedAnswers, lines, item.index, path)
        if judge not in row.prompt_answers:
            judges = ", ".join(row.prompt_answers)
            raise ConfigurationError(f"unknown recorded judge {judge!r}; recorded: {judges}")
        recordings[item.index] = recording_of(item, row.prompt_answers[judge])
    return RecordedJudge(name, recordings)


def recording_of(item: Item, answers: Sequence[Sequence[str | None]]) -> Recording:
    """Key recorded answers by the published question about each sentence and sample.

    Args:
        item: The passage.
        answers: For each sentence, one answer per sample.

    Raises:
        ConfigurationError: The number of answers does not match the passage.
    """
    shape = [len(item.samples)] * len(item.passage.sentences)
    if [len(row) for row in answers] != shape:
        raise ConfigurationError(
            f"the recorded answers of row {item.index!r} are not one for each of its"
            f" {len(shape)} sentences and {len(item.samples)} samples"
        )
    recording: dict[str, list[str | None]] = {}
    for sentence, row in zip(item.passage.sentences, answers, strict=True):
        for sample, answer in zip(item.samples, row, strict=True):
            recording.setdefault(render_prompt(sentence.text, sample), []).append(answer)
    return recording


class _RecordedScores(DataRow):
    nli: list[float] | None = Field(default=None, alias="nli_scores")
    bertscore: list[float] | None = Field(default=None, alias="bert_scores")

    def of(self, method: str) -> list[float] | None:
        """Return the scores of a method."""
        return {"nli": self.nli, "bertscore": self.bertscore}[method]


def recorded_scores(
    data: Path, entries: Sequence[BenchEntry], items: Sequence[Item]
) -> dict[str, list[Measured]]:
    """Read recorded scores.

    Args:
        data: The folder that contains them.
        entries: The entries to measure.
        items: The passages.

    Returns:
        For each entry that is a `Baseline`, by its name, one result per passage; its scores are
        None if none are recorded.

    Raises:
        ConfigurationError: The file cannot be read, or does not match the passages.
    """
    baselines = [entry for entry in entries if isinstance(entry, Baseline)]
    if not baselines:
        return {}
    path = data / RECORDED_DATA
    lines = read_lines(path)
    results: dict[str, list[Measured]] = {entry.name: [] for entry in baselines}
    for item in items:
        row = parse_row(_RecordedScores, lines, item.index, path)
        for entry in baselines:
            results[entry.name].append(_measured(item, row.of(entry.method)))
    return results


def _measured(item: Item, scores: Sequence[float] | None) -> Measured:
    count = len(item.passage.sentences)
    if scores is not None and len(scores) != count:
        raise ConfigurationError(
            f"the recorded scores of row {item.index!r} are not one for each of its {count}"
            " sentences"
        )
    if scores is None:
        return Measured(Scores((None,) * count), Usage(), 0.0)
    clipped = tuple(min(max(score, 0.0), 1.0) for score in scores)
    recorded = Scores(clipped, raw=tuple(scores), raw_passage=fmean(scores))
    return Measured(recorded, Usage(), 0.0)


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
"""The columns of the figures that `figures` returns."""


def is_wrong(label: Label) -> bool:
    """Return whether a sentence counts as NonFact."""
    return label != "accurate"


def figures(
    labels: Sequence[Sequence[Label]], results: Sequence[Measured]
) -> dict[str, float | None]:
    """Return how well a method performs.

    Args:
        labels: The labels of each passage's sentences.
        results: The method's result for each passage.

    Returns:
        Percentages with two decimals, by the keys of `FIGURE_COLUMNS`; None if a figure is
        undefined.
    """
    pairs = list(zip(labels, results, strict=True))
    sentence_labels, scores = _flat(pairs)
    major, major_scores = _star(pairs)
    passage_labels, passage_scores = _passages(pairs)
    wrong = [is_wrong(label) for label in sentence_labels]
    values = {
        "nonfact": metrics.auc_pr(wrong, scores),
        "nonfact_star": metrics.auc_pr(major, major_scores),
        "factual": metrics.auc_pr([not w for w in wrong], [-score for score in scores]),
        "pearson": metrics.pearson(passage_scores, passage_labels),
        "spearman": metrics.spearman(passage_scores, passage_labels),
        "average_precision": metrics.average_precision(wrong, scores),
        "roc_auc": metrics.roc_auc(wrong, scores),
    }
    return {key: metrics.rounded(value, 2) for key, value in values.items()}


def star_ap(labels: Sequence[Sequence[Label]], results: Sequence[Measured]) -> float | None:
    """Return NonFact* as average precision, which ties do not inflate.

    Args:
        labels: The labels of each passage's sentences.
        results: The method's result for each passage.

    Returns:
        Percent, or None if undefined.
    """
    return metrics.average_precision(*_star(zip(labels, results, strict=True)))


def explain(labels: Sequence[Sequence[Label]]) -> Iterator[str]:
    """Yield the notes that explain the columns.

    Args:
        labels: The labels of each passage's sentences.
    """
    counted = [passage for passage in labels if not _all_major(passage)]
    yield (
        "NonFact, NonFact* and Factual are AUC-PR by the trapezoidal rule, as in the papers; AP and"
        " ROC are average precision and the area under the ROC curve for NonFact; all in percent."
    )
    yield (
        f"NonFact* is over {len(counted)} of {len(labels)} passages"
        f" ({sum(map(len, counted))} sentences): those whose every sentence is major inaccurate are"
        " left out."
    )
    yield "calls, tokens and s (seconds) are means per passage."


Pair = tuple[Sequence[Label], Measured]


def _flat(pairs: Iterable[Pair]) -> tuple[list[Label], list[float]]:
    """Return the labels and scores of the sentences that have a score."""
    labels: list[Label] = []
    scores: list[float] = []
    for passage_labels, result in pairs:
        for label, score in zip(passage_labels, result.sentences, strict=True):
            if score is not None:
                labels.append(label)
                scores.append(score)
    return labels, scores


def _star(pairs: Iterable[Pair]) -> tuple[list[bool], list[float]]:
    """Return whether each sentence counts as NonFact*, and the scores."""
    labels, scores = _flat((ls, result) for ls, result in pairs if not _all_major(ls))
    return [label == "major_inaccurate" for label in labels], scores


def _passages(pairs: Iterable[Pair]) -> tuple[list[float], list[float]]:
    """Return the mean labels and the scores of the passages that have a score."""
    means: list[float] = []
    scores: list[float] = []
    for labels, result in pairs:
        if result.passage is not None:
            means.append(fmean(_VALUES[label] for label in labels))
            scores.append(result.passage)
    return means, scores


def _all_major(labels: Sequence[Label]) -> bool:
    return all(label == "major_inaccurate" for label in labels)


UNCORRECTED = "uncorrected"
"""The form that leaves scores uncorrected."""

_FORMS: Mapping[str, Snowballing.Config] = {
    "published": Snowballing.Config(),
    "normalised": Snowballing.Config(normalise=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction(BenchEntry):
    """A method followed by `snowballing`: a row without correction, and a row for each form.

    Attributes:
        base: The method, measured once for all rows.
    """

    base: BenchEntry

    @property
    def needs_judge(self) -> bool:
        """Whether the method asks a judge; the correction itself does not."""
        return self.base.needs_judge

    def config(self, judge: BenchJudge | None, **settings: Any) -> ScorerConfig:
        """Return the configuration of the method."""
        return self.base.config(judge, **settings)


async def correct(
    items: Sequence[Item], results: Sequence[Measured]
) -> dict[str, Sequence[Measured]]:
    """Correct a method's scores in each form.

    Args:
        items: The measured passages.
        results: The method's results for them.

    Returns:
        The corrected scores by the form's name, the uncorrected ones first. All derive from scores
        in [0, 1], even if the method has unbounded raw values, which `snowballing` never sees.
    """
    before: list[Measured] = []
    for result in results:
        scores = replace(result.scores, raw=(), raw_passage=None)
        before.append(replace(result, scores=scores))
    forms: dict[str, Sequence[Measured]] = {UNCORRECTED: before}
    for form, config in _FORMS.items():
        scorer = Snowballing(config)
        corrected: list[Measured] = []
        for item, result in zip(items, before, strict=True):
            corrected.append(await _corrected(scorer, item, result))
        forms[form] = corrected
    return forms


async def _corrected(scorer: Snowballing, item: Item, before: Measured) -> Measured:
    started = time.perf_counter()
    scores = await scorer.score(item.passage, Evidence(scores=before.scores.sentences))
    return Measured(scores, before.usage, before.seconds + time.perf_counter() - started)


def compare(
    entry: Correction,
    labels: Sequence[Sequence[Label]],
    forms: Mapping[str, Sequence[Measured]],
) -> Iterator[str]:
    """Yield notes on whether the correction helps.

    Args:
        entry: The correction.
        labels: The labels of each passage's sentences.
        forms: The result of `correct`.
    """
    before = figures(labels, forms[UNCORRECTED])
    for form in _FORMS:
        after = figures(labels, forms[form])
        roc = _change("ROC", before["roc_auc"], after["roc_auc"])
        ap = _change("AP", before["average_precision"], after["average_precision"])
        yield f"{entry.name}, {form}: {roc} and {ap}."
    ties: list[str] = []
    precisions: list[str] = []
    for form, results in forms.items():
        scores = chain.from_iterable(result.sentences for result in results)
        ties.append(f"{sum(score == 1.0 for score in scores)} {form}")
        precisions.append(shown(star_ap(labels, results), 2))
    yield (
        f"{entry.name}: scores of exactly 1: {', '.join(ties)}. In NonFact* the trapezoidal rule"
        f" flatters such ties; as average precision it is {', '.join(precisions)}."
    )


def _change(title: str, before: float | None, after: float | None) -> str:
    if before is None or after is None:
        return f"there is no {title}"
    if before == after:
        return f"leaves {title} at {after:.2f}"
    verb = "raises" if after > before else "lowers"
    return f"{verb} {title} from {before:.2f} to {after:.2f}"


# SelfCheckGPT, Table 7: AUC-PR of NonFact, NonFact* and Factual, then Pearson's and Spearman's
# correlation.
_TABLE_7 = {
    "average-1": (81.52, 40.33, 41.76, 40.68, 39.22),
    "average-2": (82.94, 44.38, 52.81, 58.84, 58.11),
    "average-3": (83.56, 44.64, 53.99, 62.21, 63.00),
    "average-4": (83.80, 43.55, 54.25, 61.98, 63.64),
    "average-5": (83.45, 42.31, 53.98, 60.68, 62.96),
    "maximum-1": (85.63, 41.04, 58.47, 64.71, 64.91),
    "maximum-2": (85.26, 39.29, 58.29, 62.48, 66.04),
    "maximum-3": (84.97, 37.10, 57.08, 57.34, 60.49),
    "maximum-4": (84.49, 36.37, 55.96, 55.77, 57.25),
    "maximum-5": (84.12, 36.19, 54.89, 54.84, 55.97),
}
# SelfCheckGPT, Table 2. The judge of prompt was ChatGPT.
_TABLE_2 = {
    "bertscore": (81.96, 45.96, 44.23, 58.18, 55.90),
    "nli": (92.50, 45.17, 66.08, 74.14, 73.78),
    "prompt": (93.42, 53.19, 67.09, 78.32, 78.30),
}
_FIGURES = ("nonfact", "nonfact_star", "factual", "pearson", "spearman")
# FIBE, Table 1, without NonFact*, which the authors computed over all passages.
_TABLE_1_FIBE = {"nonfact": 91.72, "factual": 66.40, "roc_auc": 81.06}


def _ngram(variant: str, paper: Sequence[float]) -> BenchEntry:
    pool, n = variant.split("-")
    settings = {"pool": pool, "n": int(n), "counted": "response"}
    return BenchEntry("ngram", variant, settings, dict(zip(_FIGURES, paper, strict=True)))


def _table_2(method: str) -> dict[str, float]:
    return dict(zip(_FIGURES, _TABLE_2[method], strict=True))


_NGRAM = {variant: _ngram(variant, paper) for variant, paper in _TABLE_7.items()}
_PROMPT = BenchEntry("prompt", "per_pair", {"form": "published"}, _table_2("prompt"))
# For any model, because the paper's was trained with the sentence first.
_NLI = {"order": "sentence_first"}

ENTRIES: tuple[BenchEntry, ...] = (
    *_NGRAM.values(),
    BenchEntry("ngram", "default", {}, extra=True),
    _PROMPT,
    BenchEntry("prompt", "per_pair-3", {"form": "published"}, extra=True, samples=3),
    BenchEntry("prompt", "per_sample", {"mode": "per_sample"}, extra=True, live_only=True),
    BenchEntry(
        "fibe", "published", {"answers": 5, "temperature": 0.5}, _TABLE_1_FIBE, live_only=True
    ),
    BenchEntry("direct_question", "yes_no", {}, live_only=True),
    BenchEntry("direct_question", "logprobs", {"logprobs": True}, extra=True, live_only=True),
    BenchEntry("nli", "passage", {"premise": "passage", **_NLI}, _table_2("nli")),
    BenchEntry("nli", "sentences", {"premise": "sentences", **_NLI}, extra=True),
    Baseline("nli", "recorded", {}, _table_2("nli"), extra=True),
    BenchEntry("bertscore", "rescaled", {}, _table_2("bertscore")),
    BenchEntry("facts", "default", {}),
    BenchEntry("facts", "disagreement-0.5", {"disagreement": 0.5}),
    Baseline("bertscore", "recorded", {}, _table_2("bertscore"), extra=True),
    Correction("snowballing", "prompt", {}, base=_PROMPT),
    Correction("snowballing", "ngram", {}, base=_NGRAM["maximum-1"]),
    Correction("snowballing", "ngram-average", {}, extra=True, base=_NGRAM["average-1"]),
)
"""All entries of this benchmark."""

METHODS = tuple(entry for entry in ENTRIES if not isinstance(entry, (Baseline, Correction)))
"""The entries that score sentences on their own."""


COLUMNS = (
    Column("method", "method"),
    Column("variant", "variant"),
    Column("judge", "judge"),
    *FIGURE_COLUMNS,
    *COST_COLUMNS,
)
"""The columns of the printed table."""

# How an unparseable answer counts.
_UNREAD = {
    "prompt": "were neither yes nor no and count 0.5",
    "direct_question": "were neither yes nor no and count 1",
}


async def run(
    corpus: Corpus,
    entries: Sequence[BenchEntry],
    judge: BenchJudge | None,
    *,
    recorded: Mapping[str, Sequence[Measured]] | None = None,
    concurrency: int = 16,
    done: Callable[[], object] = lambda: None,
) -> ResultTable:
    """Measure methods on the data set.

    Args:
        corpus: The passages.
        entries: The entries to measure.
        judge: The judge; may be None if no entry needs one.
        recorded: The scores of the entries that are baselines, by name.
        concurrency: The maximum number of concurrent requests to a live judge.
        done: Called after each passage of each measured method.

    Returns:
        One row per entry; for a correction, one without it and one for each of its forms.

    Raises:
        MissingDependencyError: scikit-learn or scipy is not installed.
        ProviderError: A live judge failed to answer.
    """
    metrics.require()
    if judge is not None:
        await judge.prepare()
    rows: list[Row] = []
    notes = list(_notes(corpus, entries))
    results_by_name: dict[str, Sequence[Measured]] = dict(recorded or {})
    for entry in entries:
        if isinstance(entry, Baseline):
            results = results_by_name[entry.name]
            rows.append({**_row(entry, entry.variant, None, corpus, results), **_UNKNOWN})
            notes.append(_note_on_recorded(entry, results))
            continue
        method = entry.base if isinstance(entry, Correction) else entry
        entry_judge = judge if entry.needs_judge else None
        if method.name not in results_by_name:
            results = await measure(
                entry.config(entry_judge),
                method.of(corpus.items),
                entry_judge,
                concurrency=concurrency,
                done=done,
            )
            notes += notes_on(method, results)
            results_by_name[method.name] = results
        results = results_by_name[method.name]
        if not isinstance(entry, Correction):
            rows.append(_row(entry, entry.variant, entry_judge, corpus, results))
            continue
        forms = await correct(corpus.items, results)
        for form, corrected in forms.items():
            rows.append(_row(entry, f"{entry.variant}-{form}", entry_judge, corpus, corrected))
        notes += compare(entry, corpus.labels, forms)
    about = {"passages": len(corpus.items)}
    return ResultTable("wikibio", COLUMNS, tuple(rows), tuple(notes), about)


# The cost of recorded scores is not recorded.
_UNKNOWN: Mapping[str, None] = dict.fromkeys(("calls", "tokens", "seconds"))


def _note_on_recorded(entry: BenchEntry, results: Sequence[Measured]) -> str:
    count = sum(result.passage is not None for result in results)
    return (
        f"{entry.name}: scores that the code released with the paper gave; they are recorded for"
        f" {count} of the {len(results)} passages, and the figures are of those."
    )


def _row(
    entry: BenchEntry,
    variant: str,
    judge: BenchJudge | None,
    corpus: Corpus,
    results: Sequence[Measured],
) -> Row:
    return {
        "method": entry.method,
        "variant": variant,
        "judge": judge.name if judge else None,
        **figures(corpus.labels, results),
        **cost_of(results, judge),
        "paper": dict(entry.paper) if entry.paper else None,
    }


def _notes(corpus: Corpus, entries: Sequence[BenchEntry]) -> Iterator[str]:
    yield from explain(corpus.labels)
    published = {entry.method for entry in entries if entry.paper}
    if "prompt" in published:
        yield "The paper's judge for prompt was ChatGPT (gpt-3.5-turbo)."
    if "fibe" in published:
        yield (
            "The paper's figures for fibe are those of gpt-3.5-turbo-16k with 5 answers on 236 of"
            " the 238 passages; its NonFact* is over all of them, and not shown."
        )
    if corpus.joined:
        yield (
            f"{corpus.joined} passages do not hold their sentences as labelled; the sentences"
            " joined by spaces stand in for them."
        )


def notes_on(entry: BenchEntry, results: Sequence[Measured]) -> Iterator[str]:
    """Yield notes on failed calls, unparseable answers and missing scores, if there are any.

    Args:
        entry: The method.
        results: Its results.
    """
    yield from failures_of(entry.name, results)
    unread = sum(result.scores.undetermined for result in results)
    if unread:
        yield f"{entry.name}: {unread} answers {_UNREAD.get(entry.method, 'could not be read')}."
    missing = sum(result.sentences.count(None) for result in results)
    if missing:
        yield f"{entry.name}: {missing} sentences have no score and are left out."
