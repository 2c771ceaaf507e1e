"""The WikiBio GPT-3 hallucination data set.

Manakul, Liusie and Gales, "SelfCheckGPT: Zero-Resource Black-Box Hallucination Detection for
Generative Large Language Models", EMNLP 2023, section 7: 238 passages GPT-3 wrote about people,
1908 sentences labelled by people, 20 samples for each passage.

Sentences are to be found as NonFact (minor or major inaccurate), NonFact* (major inaccurate, in the
passages where not every sentence is) and Factual (accurate, by the negated score). Passages are to
be ranked by the mean of their labels, with accurate 0, minor inaccurate 0.5, major inaccurate 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from resay.bench import metrics
from resay.bench.entries import Entry
from resay.bench.judges import BenchJudge, RecordedJudge, Recording
from resay.bench.measuring import Item, Measured, measure
from resay.bench.table import Column, ResultTable, Row
from resay.errors import ConfigurationError
from resay.passage import Passage
from resay.scorers.prompt import render
from resay.verdict import tally

__all__ = ["COLUMNS", "ENTRIES", "Corpus", "load", "recorded_judge", "run"]

Label = Literal["accurate", "minor_inaccurate", "major_inaccurate"]

_VALUES: Mapping[Label, float] = {
    "accurate": 0.0,
    "minor_inaccurate": 0.5,
    "major_inaccurate": 1.0,
}
_DATA = "wikibio_gpt3.jsonl"
_RECORDED = "wikibio_gpt3_recorded.jsonl"

# Table 7: AUC-PR of NonFact, NonFact* and Factual, then Pearson's and Spearman's correlation.
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
# Table 2. The judge was ChatGPT.
_TABLE_2_PROMPT = (93.42, 53.19, 67.09, 78.32, 78.30)
_FIGURES = ("nonfact", "nonfact_star", "factual", "pearson", "spearman")


def _ngram(variant: str, paper: Sequence[float]) -> Entry:
    pool, n = variant.split("-")
    settings = {"pool": pool, "n": int(n)}
    return Entry("ngram", variant, settings, dict(zip(_FIGURES, paper, strict=True)))


ENTRIES: tuple[Entry, ...] = (
    *(_ngram(variant, paper) for variant, paper in _TABLE_7.items()),
    Entry(
        "prompt",
        "per_pair",
        {"mode": "per_pair"},
        dict(zip(_FIGURES, _TABLE_2_PROMPT, strict=True)),
    ),
    Entry("prompt", "per_sample", {"mode": "per_sample"}, extra=True, live_only=True),
)
"""What can be measured."""

COLUMNS = (
    Column("method", "method"),
    Column("variant", "variant"),
    Column("judge", "judge"),
    Column("nonfact", "NonFact", 2),
    Column("nonfact_star", "NonFact*", 2),
    Column("factual", "Factual", 2),
    Column("pearson", "Pearson", 2),
    Column("spearman", "Spearman", 2),
    Column("average_precision", "AP", 2),
    Column("roc_auc", "ROC", 2),
    Column("calls", "calls", 1),
    Column("tokens", "tokens", 0),
    Column("seconds", "s", 4),
)
"""What readers see of a row."""


class _Lenient(BaseModel):
    # Copies of the data set come with more columns than are needed here.
    model_config = ConfigDict(extra="ignore", frozen=True)


class _DataRow(_Lenient):
    passage: str
    sentences: list[str]
    labels: list[Label]
    samples: list[str]


class _RecordedRow(_Lenient):
    prompt_answers: dict[str, list[list[str | None]]]


@dataclass(frozen=True, slots=True)
class Corpus:
    """The passages to be scored.

    Attributes:
        items: The passages.
        labels: For each passage the labels of its sentences.
        joined: How many passages do not hold their sentences as labelled, and were put together
            from those instead.
    """

    items: tuple[Item, ...]
    labels: tuple[tuple[Label, ...], ...]
    joined: int


def load(data: Path, rows: slice) -> Corpus:
    """Read the data set.

    Args:
        data: The folder it is in.
        rows: Which rows to take.

    Returns:
        The passages.

    Raises:
        ConfigurationError: The file is not there, not valid, or has no such rows.
    """
    lines = _lines(data / _DATA)
    indices = range(len(lines))[rows]
    if not indices:
        raise ConfigurationError(f"no row is left of the {len(lines)} in {str(data / _DATA)!r}")
    read = [_parse(_DataRow, lines[i], data / _DATA, i) for i in indices]
    passages = [_passage(row) for row in read]
    return Corpus(
        tuple(
            Item(i, passage, tuple(row.samples))
            for i, row, (passage, _) in zip(indices, read, passages, strict=True)
        ),
        tuple(tuple(row.labels) for row in read),
        sum(joined for _, joined in passages),
    )


def _passage(row: _DataRow) -> tuple[Passage, bool]:
    if len(row.labels) != len(row.sentences):
        raise ConfigurationError(
            f"{len(row.sentences)} sentences have {len(row.labels)} labels in {_DATA!r}"
        )
    try:
        return Passage.from_sentences(row.sentences, text=row.passage), False
    except ConfigurationError:
        return Passage.from_sentences(row.sentences), True


def recorded_judge(data: Path, name: str, judge: str, corpus: Corpus) -> RecordedJudge:
    """Read the recorded answers to SelfCheckGPT-Prompt's question.

    Args:
        data: The folder they are in.
        name: What the judge is called in the table.
        judge: Which of the recorded judges.
        corpus: The passages they are about.

    Returns:
        The judge.

    Raises:
        ConfigurationError: There is no such recording, or it does not fit the passages.
    """
    lines = _lines(data / _RECORDED)
    recordings: dict[int, Recording] = {}
    for item in corpus.items:
        if item.index >= len(lines):
            raise ConfigurationError(f"{str(data / _RECORDED)!r} has no row {item.index!r}")
        row = _parse(_RecordedRow, lines[item.index], data / _RECORDED, item.index)
        if judge not in row.prompt_answers:
            known = ", ".join(row.prompt_answers)
            raise ConfigurationError(f"no recorded judge is called {judge!r}; recorded are {known}")
        recordings[item.index] = _recording(item, row.prompt_answers[judge])
    return RecordedJudge(name, recordings)


def _recording(item: Item, answers: Sequence[Sequence[str | None]]) -> Recording:
    shape = [len(item.samples)] * len(item.passage.sentences)
    if [len(row) for row in answers] != shape:
        raise ConfigurationError(
            f"the recorded answers of row {item.index!r} are not one for each of its"
            f" {len(shape)} sentences and {len(item.samples)} samples"
        )
    recording: dict[str, list[str | None]] = {}
    for sentence, row in zip(item.passage.sentences, answers, strict=True):
        for sample, answer in zip(item.samples, row, strict=True):
            recording.setdefault(render(sentence.text, sample), []).append(answer)
    return recording


def _lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().splitlines()
    except OSError as error:
        raise ConfigurationError(f"cannot read {str(path)!r}: {error.strerror}") from error


ModelT = TypeVar("ModelT", bound=BaseModel)


def _parse(model: type[ModelT], line: bytes, path: Path, index: int) -> ModelT:
    try:
        return model.model_validate_json(line)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        what = error.errors()[0]["msg"]
        raise ConfigurationError(f"{str(path)!r}, line {index + 1}: {where}: {what}") from error


async def run(
    corpus: Corpus,
    entries: Sequence[Entry],
    judge: BenchJudge | None,
    *,
    concurrency: int = 16,
    done: Callable[[], object] = lambda: None,
) -> ResultTable:
    """Measure methods on the data set.

    Args:
        corpus: The passages.
        entries: What to measure.
        judge: Who answers for judges; may be None when no entry needs one.
        concurrency: How many requests a live judge gets at once.
        done: Called after each passage of each entry.

    Returns:
        One row for each entry.

    Raises:
        MissingDependencyError: scikit-learn or scipy is not installed.
        ProviderError: A live judge does not answer.
    """
    metrics.require()
    if judge is not None:
        await judge.prepare()
    rows: list[Row] = []
    notes = list(_notes(corpus, entries))
    for entry in entries:
        asked = judge if entry.needs_judge else None
        config = entry.config(asked.config if asked else None)
        results = await measure(config, corpus.items, asked, concurrency=concurrency, done=done)
        rows.append(_row(entry, asked, corpus, results))
        notes += _notes_on(entry, results)
    about = {"passages": len(corpus.items)}
    return ResultTable("wikibio", COLUMNS, tuple(rows), tuple(notes), about)


def _row(
    entry: Entry, judge: BenchJudge | None, corpus: Corpus, results: Sequence[Measured]
) -> Row:
    tokens = fmean(r.usage.tokens for r in results)
    return {
        "method": entry.method,
        "variant": entry.variant,
        "judge": judge.name if judge else None,
        **_figures(corpus, results),
        "calls": round(fmean(r.usage.calls for r in results), 2),
        "tokens": None if judge and not judge.reports_tokens else round(tokens, 1),
        "seconds": round(fmean(r.seconds for r in results), 5),
        "paper": dict(entry.paper) if entry.paper else None,
    }


def _figures(corpus: Corpus, results: Sequence[Measured]) -> dict[str, float | None]:
    pairs = list(zip(corpus.labels, results, strict=True))
    labels, scores = _flat(pairs)
    star_labels, star_scores = _flat((ls, r) for ls, r in pairs if not _all_major(ls))
    truth, ranks = _passages(pairs)
    wrong = [label != "accurate" for label in labels]
    figures = {
        "nonfact": metrics.auc_pr(wrong, scores),
        "nonfact_star": metrics.auc_pr([x == "major_inaccurate" for x in star_labels], star_scores),
        "factual": metrics.auc_pr([not w for w in wrong], [-score for score in scores]),
        "pearson": metrics.pearson(ranks, truth),
        "spearman": metrics.spearman(ranks, truth),
        "average_precision": metrics.average_precision(wrong, scores),
        "roc_auc": metrics.roc_auc(wrong, scores),
    }
    return {key: None if value is None else round(value, 2) for key, value in figures.items()}


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


def _passages(pairs: Iterable[Pair]) -> tuple[list[float], list[float]]:
    """Return what people and the method say about the passages that have a score."""
    known = [(fmean(_VALUES[x] for x in ls), r.passage) for ls, r in pairs if r.passage is not None]
    return [truth for truth, _ in known], [score for _, score in known]


def _all_major(labels: Sequence[Label]) -> bool:
    return all(label == "major_inaccurate" for label in labels)


def _notes(corpus: Corpus, entries: Sequence[Entry]) -> Iterator[str]:
    kept = [labels for labels in corpus.labels if not _all_major(labels)]
    yield (
        "NonFact, NonFact* and Factual are AUC-PR by the trapezoidal rule, as in the papers; AP and"
        " ROC are average precision and the area under the ROC curve for NonFact; all in percent."
    )
    yield (
        f"NonFact* is over {len(kept)} of {len(corpus.labels)} passages"
        f" ({sum(map(len, kept))} sentences): those whose every sentence is major inaccurate are"
        " left out."
    )
    yield "calls, tokens and s (seconds) are means per passage."
    if any(entry.method == "prompt" and entry.paper for entry in entries):
        yield "The paper's judge for prompt was ChatGPT (gpt-3.5-turbo)."
    if corpus.joined:
        yield (
            f"{corpus.joined} passages do not hold their sentences as labelled; the sentences"
            " joined by spaces stand in for them."
        )


def _notes_on(entry: Entry, results: Sequence[Measured]) -> Iterator[str]:
    scores = [result.scores for result in results]
    calls = sum(result.usage.calls for result in results)
    failures = [failure for s in scores for failure in s.failures]
    if failures:
        yield (
            f"{entry.name}: {len(failures)} of {calls} calls failed and are left out"
            f" ({tally(failures)})."
        )
    if unread := sum(s.undetermined for s in scores):
        yield f"{entry.name}: {unread} answers were neither yes nor no and count 0.5."
    if missing := sum(score is None for result in results for score in result.sentences):
        yield f"{entry.name}: {missing} sentences have no score and are left out."
