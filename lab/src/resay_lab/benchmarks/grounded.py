"""RAGTruth and LLM-AggreFact: whether documents support the text written from them.

Niu et al., "RAGTruth: A Hallucination Corpus for Developing Trustworthy Retrieval-Augmented
Language Models", ACL 2024: responses of six models to questions with passages, to news and to data,
with the spans that people found hallucinated; the test split. A response counts as flagged if the
score of one of its sentences is over 0.5. Figures are those of LettuceDetect (Kovács and Recski,
2025, section 4): precision, recall and F1 of responses with a span; and F1 of the characters of
spans, for methods that return spans.

Tang, Laban and Durrett, "MiniCheck: Efficient Fact-Checking of LLMs on Grounding Documents", EMNLP
2024, section 4: LLM-AggreFact, claims about documents from eleven data sets. The figure is balanced
accuracy at 0.5, for each data set and their mean. The published figures are those of its
leaderboard (llm-aggrefact.github.io, September 2025).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Literal

from pydantic import Field

from resay import Passage, Request
from resay_lab.benchmarks import metrics
from resay_lab.benchmarks.entries import BenchEntry
from resay_lab.benchmarks.measuring import (
    COST_COLUMNS,
    Item,
    Measured,
    cost_of,
    failures_of,
    measure,
)
from resay_lab.benchmarks.rows import DataRow, choose_rows, parse_row, read_lines
from resay_lab.benchmarks.table import Column, ResultTable, Row

_FLAG_OVER = 0.5
_WHOLE = "response"
_REFERENCES = {"evidence": "references"}

RAGTRUTH_ENTRIES: tuple[BenchEntry, ...] = (
    BenchEntry("grounding", "sentences", {}),
    BenchEntry("grounding", _WHOLE, {}, extra=True),
    BenchEntry("nli", "references", _REFERENCES, extra=True),
    BenchEntry("references", "words", {"by": "words"}),
    BenchEntry("ngram", "references", {"n": 1, **_REFERENCES}),
)
"""All entries for RAGTruth."""
AGGREFACT_ENTRIES: tuple[BenchEntry, ...] = (
    BenchEntry("grounding", "claims", {}),
    BenchEntry("nli", "references", _REFERENCES, extra=True),
    BenchEntry("references", "words", {"by": "words"}),
    BenchEntry("ngram", "references", {"n": 1, **_REFERENCES}),
)
"""All entries for LLM-AggreFact."""

Task = Literal["QA", "Summary", "Data2txt"]
_TASKS: tuple[Task, ...] = ("QA", "Summary", "Data2txt")

# By a model's name on the hub, in lower case, without its owner. LettuceDetect's pages give the F1
# of the base model as 76.07 and as 76.8.
_RAGTRUTH: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    "lettucedect-base-modernbert-en-v1": {"all": {"f1": 76.07}},
    "lettucedect-large-modernbert-en-v1": {"all": {"f1": 79.22, "span_f1": 58.93}},
    "lettucedect-v2-mmbert-base": {"all": {"f1": 74.3, "span_f1": 52.8}},
    "hallucination_evaluation_model": {
        "QA": {"precision": 66.92, "recall": 54.38, "f1": 60.0, "balanced": 74.28},
        "Summary": {"precision": 75.58, "recall": 31.86, "f1": 44.83, "balanced": 64.42},
    },
}
_DATASETS = (
    "AggreFact-CNN",
    "AggreFact-XSum",
    "TofuEval-MediaS",
    "TofuEval-MeetB",
    "Wice",
    "Reveal",
    "ClaimVerify",
    "FactCheck-GPT",
    "ExpertQA",
    "Lfqa",
    "RAGTruth",
)
_LEADERBOARD: Mapping[str, Sequence[float]] = {
    "minicheck-flan-t5-large": (
        *(69.9, 74.3, 73.6, 77.3, 72.2, 86.2, 74.6, 74.7, 59.0, 85.2, 78.0),
    ),
    "minicheck-roberta-large": (
        *(63.7, 70.8, 71.9, 75.9, 67.6, 88.8, 77.4, 73.3, 57.4, 84.4, 77.2),
    ),
    "minicheck-deberta-v3-large": (
        *(64.2, 71.0, 69.3, 72.7, 69.4, 87.3, 75.6, 73.0, 58.9, 83.9, 78.8),
    ),
    "hallucination_evaluation_model": (
        *(62.8, 67.8, 67.2, 71.0, 75.9, 86.6, 73.9, 71.8, 58.4, 84.1, 69.9),
    ),
}

RAGTRUTH_COLUMNS = (
    Column("method", "method"),
    Column("variant", "variant"),
    Column("model", "model"),
    Column("task", "task"),
    Column("responses", "responses", 0),
    Column("hallucinated", "hallucinated", 0),
    Column("flagged", "flagged", 0),
    Column("precision", "precision", 2),
    Column("recall", "recall", 2),
    Column("f1", "F1", 2),
    Column("balanced", "balanced", 2),
    Column("span_f1", "span F1", 2),
    *COST_COLUMNS,
)
AGGREFACT_COLUMNS = (
    Column("method", "method"),
    Column("variant", "variant"),
    Column("model", "model"),
    Column("dataset", "data set"),
    Column("claims", "claims", 0),
    Column("unsupported", "unsupported", 0),
    Column("flagged", "flagged", 0),
    Column("balanced", "balanced", 1),
    *COST_COLUMNS,
)


class _Span(DataRow):
    start: int = Field(ge=0)
    end: int


class _Response(DataRow):
    task: Task
    question: str | None = None
    references: list[str] = Field(min_length=1)
    response: str
    labels: list[_Span]


class _Claim(DataRow):
    dataset: str = Field(min_length=1)
    doc: str
    claim: str = Field(min_length=1)
    label: Literal[0, 1]


@dataclass(frozen=True, slots=True)
class Judged:
    """A text with its references and human labels.

    Attributes:
        item: The text.
        group: Its task or its data set.
        unsupported: Whether any part of it is unsupported.
        spans: Its unsupported spans, if known.
    """

    item: Item
    group: str
    unsupported: bool
    spans: tuple[tuple[int, int], ...] = ()


Scored = tuple[Judged, Measured]
"""A text with its scores."""


def load_ragtruth(data: Path, rows: slice) -> tuple[Judged, ...]:
    """Read the test split of RAGTruth.

    Args:
        data: The folder with `ragtruth.jsonl`.
        rows: Which rows to read.

    Raises:
        ConfigurationError: The file is missing or invalid, or has no such rows.
    """
    path = data / "ragtruth.jsonl"
    lines = read_lines(path)
    judged: list[Judged] = []
    for i in choose_rows(lines, rows, path):
        row = parse_row(_Response, lines, i, path)
        request = Request.of(row.question) if row.question else None
        item = Item(i, Passage.of(row.response), references=tuple(row.references), request=request)
        # The data does not promise that all labels end within the response.
        ends = [(span.start, min(span.end, len(row.response))) for span in row.labels]
        spans = tuple((start, end) for start, end in ends if start < end)
        judged.append(Judged(item, row.task, bool(row.labels), spans))
    return tuple(judged)


def load_aggrefact(data: Path, rows: slice) -> tuple[Judged, ...]:
    """Read the test split of LLM-AggreFact.

    Args:
        data: The folder with `aggrefact.jsonl`.
        rows: Which rows to read.

    Raises:
        ConfigurationError: The file is missing or invalid, or has no such rows.
    """
    path = data / "aggrefact.jsonl"
    lines = read_lines(path)
    judged: list[Judged] = []
    for i in choose_rows(lines, rows, path):
        row = parse_row(_Claim, lines, i, path)
        item = Item(i, _as_one(row.claim), references=(row.doc,))
        judged.append(Judged(item, row.dataset, row.label == 0))
    return tuple(judged)


def _as_one(text: str) -> Passage:
    """Return a text as one claim, even if it looks like several sentences."""
    return Passage.from_sentences([text]) if text.strip() else Passage.of(text)


async def run_ragtruth(
    responses: Sequence[Judged],
    entries: Sequence[BenchEntry],
    *,
    done: Callable[[], object] = lambda: None,
) -> ResultTable:
    """Measure methods on RAGTruth.

    Args:
        responses: The models' responses.
        entries: The entries to measure.
        done: Called after each response of each entry.

    Returns:
        For each entry, one row for all responses and one for each task that occurs.
    """
    rows: list[Row] = []
    notes = [
        "A response is flagged where the score of one of its sentences is over"
        f" {_FLAG_OVER:g}; {_WHOLE}: where its score as one claim is. Figures are percent.",
        "span F1 is that of the characters of spans, for methods that give any.",
        "calls, tokens and s (seconds) are means per response.",
    ]
    for entry in entries:
        items = [_of_entry(entry, judged.item) for judged in responses]
        results = await measure(entry.config(None), items, None, concurrency=1, done=done)
        scored = list(zip(responses, results, strict=True))
        for task in ("all", *_TASKS):
            of_task = [pair for pair in scored if task in ("all", pair[0].group)]
            if of_task:
                rows.append(_ragtruth_row(entry, task, of_task))
        notes += notes_on(entry, results)
        notes += note_on_prompts(entry)
    about = {"responses": len(responses)}
    return ResultTable("ragtruth", RAGTRUTH_COLUMNS, tuple(rows), tuple(notes), about)


async def run_aggrefact(
    claims: Sequence[Judged],
    entries: Sequence[BenchEntry],
    *,
    done: Callable[[], object] = lambda: None,
) -> ResultTable:
    """Measure methods on LLM-AggreFact.

    Args:
        claims: The models' claims.
        entries: The entries to measure.
        done: Called after each claim of each entry.

    Returns:
        For each entry, one row for each data set and one for their mean.
    """
    rows: list[Row] = []
    notes = [
        "balanced is the balanced accuracy, in percent, of flagging what scores over"
        f" {_FLAG_OVER:g}; mean: of the data sets.",
        "calls, tokens and s (seconds) are means per claim.",
    ]
    datasets = list(dict.fromkeys(claim.group for claim in claims))
    for entry in entries:
        items = [claim.item for claim in claims]
        results = await measure(entry.config(None), items, None, concurrency=1, done=done)
        scored = list(zip(claims, results, strict=True))
        of_entry = [
            _aggrefact_row(entry, dataset, [pair for pair in scored if pair[0].group == dataset])
            for dataset in datasets
        ]
        rows += [*of_entry, _mean_row(entry, of_entry, results)]
        notes += notes_on(entry, results)
    about = {"claims": len(claims)}
    return ResultTable("aggrefact", AGGREFACT_COLUMNS, tuple(rows), tuple(notes), about)


def _of_entry(entry: BenchEntry, item: Item) -> Item:
    return item if entry.variant != _WHOLE else replace(item, passage=_as_one(item.passage.text))


def _ragtruth_row(entry: BenchEntry, task: str, scored: Sequence[Scored]) -> Row:
    truth = [judged.unsupported for judged, _ in scored]
    flagged = [is_flagged(result) for _, result in scored]
    return {
        **_named(entry),
        "task": task,
        "responses": len(scored),
        "hallucinated": sum(truth),
        "flagged": sum(flagged),
        "precision": metrics.rounded(metrics.precision(truth, flagged), 2),
        "recall": metrics.rounded(metrics.recall(truth, flagged), 2),
        "f1": metrics.rounded(metrics.f1(truth, flagged), 2),
        "balanced": metrics.rounded(metrics.balanced_accuracy(truth, flagged), 2),
        "span_f1": metrics.rounded(span_f1(scored), 2),
        **cost_of([result for _, result in scored], None),
        "paper": ragtruth_paper(entry, task),
    }


def ragtruth_paper(entry: BenchEntry, task: str) -> Mapping[str, float] | None:
    """Return the published figures of an entry's model on RAGTruth, for a task or for all."""
    return _RAGTRUTH.get(model_of(entry), {}).get(task)


def note_on_prompts(entry: BenchEntry) -> list[str]:
    """Return how the published figures of an entry's model on RAGTruth were obtained, if any."""
    if model_of(entry) not in _RAGTRUTH:
        return []
    return [
        f"{entry.name}: the published figures were obtained with RAGTruth's own prompts, or with a"
        " response as one claim; here with the question and the passages."
    ]


def _aggrefact_row(entry: BenchEntry, dataset: str, scored: Sequence[Scored]) -> Row:
    truth = [judged.unsupported for judged, _ in scored]
    flagged = [is_flagged(result) for _, result in scored]
    published = dict(zip(_DATASETS, _LEADERBOARD.get(model_of(entry), ()), strict=False))
    return {
        **_named(entry),
        "dataset": dataset,
        "claims": len(scored),
        "unsupported": sum(truth),
        "flagged": sum(flagged),
        "balanced": metrics.rounded(metrics.balanced_accuracy(truth, flagged), 2),
        **cost_of([result for _, result in scored], None),
        "paper": {"balanced": published[dataset]} if dataset in published else None,
    }


def _mean_row(entry: BenchEntry, rows: Sequence[Row], results: Sequence[Measured]) -> Row:
    known = [row["balanced"] for row in rows if row["balanced"] is not None]
    return {
        **_named(entry),
        "dataset": "mean",
        "claims": len(results),
        "unsupported": sum(row["unsupported"] for row in rows),
        "flagged": sum(row["flagged"] for row in rows),
        "balanced": metrics.rounded(fmean(known), 2) if known else None,
        **cost_of(results, None),
        "paper": aggrefact_paper(entry),
    }


def aggrefact_paper(entry: BenchEntry) -> Mapping[str, float] | None:
    """Return the published mean of an entry's model over the data sets of LLM-AggreFact."""
    published = _LEADERBOARD.get(model_of(entry))
    return {"balanced": round(fmean(published), 1)} if published else None


def _named(entry: BenchEntry) -> dict[str, str | None]:
    return {
        "method": entry.method,
        "variant": entry.variant,
        "model": model_of(entry) or None,
    }


def model_of(entry: BenchEntry) -> str:
    """Return the model's name in lower case, without its owner or its path on this machine."""
    if not entry.takes_model:
        return ""
    return entry.model.rstrip("/").rpartition("/")[2].lower()


def is_flagged(result: Measured) -> bool:
    """Return whether the score of one of a text's sentences is over 0.5."""
    return any((score or 0.0) > _FLAG_OVER for score in result.scores.sentences)


def span_f1(scored: Sequence[Scored]) -> float | None:
    """Return F1 of the characters of spans, counted as in LettuceDetect: pair by pair.

    Args:
        scored: Texts with their scores.

    Returns:
        Percent; None if the method gives no spans.
    """
    if not any(result.scores.spans for _, result in scored):
        return None
    common = claimed = labelled = 0
    for judged, result in scored:
        spans = [(s.start, s.end) for of_sentence in result.scores.spans for s in of_sentence]
        claimed += sum(end - start for start, end in spans)
        labelled += sum(end - start for start, end in judged.spans)
        common += sum(
            max(min(end, other_end) - max(start, other_start), 0)
            for start, end in spans
            for other_start, other_end in judged.spans
        )
    return 200.0 * common / (claimed + labelled) if claimed + labelled else None


def notes_on(entry: BenchEntry, results: Sequence[Measured]) -> Iterator[str]:
    """Yield what a reader needs to know about an entry's results."""
    yield from failures_of(entry.name, results)
    silent = sum(not any(s is not None for s in r.scores.sentences) for r in results)
    if silent:
        yield f"{entry.name}: {silent} texts have no score and count as not flagged."
