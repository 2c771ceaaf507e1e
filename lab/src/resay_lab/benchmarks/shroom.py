"""SHROOM: hallucinations and overgeneration in short outputs.

Mickus et al., "SemEval-2024 Task 6: SHROOM, a Shared-task on Hallucinations and Related Observable
Overgeneration Mistakes", SemEval 2024: outputs of definition modelling (DM), paraphrase generation
(PG) and machine translation (MT), in one track with known models (aware) and one with unknown
models (agnostic). The benchmark uses the validation sets, labelled by five people.

Figures are the accuracy of the labels, and Spearman's correlation of the scores with the share of
people who said hallucination, as in Markchom, Jung and Liang, "NU-RU at SemEval-2024 Task 6",
SemEval 2024, section 5, Table 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from pydantic import Field

from resay import Passage, Request
from resay.errors import ConfigurationError
from resay.plugins import Scores
from resay_lab.benchmarks import metrics
from resay_lab.benchmarks.entries import BenchEntry
from resay_lab.benchmarks.measuring import (
    COST_COLUMNS,
    BenchJudge,
    Item,
    Measured,
    cost_of,
    failures_of,
    measure,
)
from resay_lab.benchmarks.rows import DataRow, choose_rows, parse_row, read_lines
from resay_lab.benchmarks.table import Column, ResultTable, Row

Track = Literal["agnostic", "aware"]
Task = Literal["DM", "PG", "MT"]

TRACKS: tuple[Track, ...] = ("agnostic", "aware")
"""The tracks, each in a file of its own."""

_DATA = "shroom_dev_{track}.jsonl"
_TASKS: Mapping[Task, str] = {"DM": "definition", "PG": "paraphrase", "MT": "translation"}
_FLAG_OVER = 0.5

# Table 2, validation sets: accuracy and Spearman's correlation.
_TABLE_2: Mapping[str, Mapping[Track, Mapping[str, float]]] = {
    "prompt:task": {
        "agnostic": {"accuracy": 0.707, "spearman": 0.567},
        "aware": {"accuracy": 0.722, "spearman": 0.510},
    },
    "similarity:references": {
        "agnostic": {"accuracy": 0.699, "spearman": 0.574},
        "aware": {"accuracy": 0.699, "spearman": 0.536},
    },
}
# The models behind the paper's figures.
_PAPERS: Mapping[str, str] = {
    "prompt:task": "its judge was gpt-3.5-turbo-1106",
    "similarity:references": "its embedder was paraphrase-MiniLM-L6-v2, its delta 0.6",
}
_BY_TASK, _BY_SOURCE = "task", "source"

_PROMPT = {"form": "published", "evidence": "references"}
_NGRAM = {"n": 1, "counted": "response", "evidence": "references"}
_SIMILARITY = {"evidence": "references", "delta": 0.6}
ENTRIES: tuple[BenchEntry, ...] = (
    BenchEntry("prompt", _BY_TASK, {"votes": 5}, live_only=True),
    BenchEntry("prompt", "references", _PROMPT, live_only=True),
    BenchEntry("prompt", _BY_SOURCE, _PROMPT, extra=True, live_only=True),
    BenchEntry("ngram", "references", _NGRAM),
    BenchEntry("ngram", _BY_SOURCE, _NGRAM, extra=True),
    BenchEntry("similarity", "references", _SIMILARITY),
    BenchEntry("similarity", _BY_SOURCE, _SIMILARITY, extra=True),
)
"""All entries of this benchmark."""

COLUMNS = (
    Column("method", "method"),
    Column("variant", "variant"),
    Column("judge", "judge"),
    Column("track", "track"),
    Column("task", "task"),
    Column("outputs", "outputs", 0),
    Column("accuracy", "accuracy", 3),
    Column("spearman", "Spearman", 3),
    Column("flagged", "flagged", 0),
    Column("undetermined", "undetermined", 0),
    *COST_COLUMNS,
)
"""The columns of the printed table."""


class _DataRow(DataRow):
    task: Task
    src: str = Field(min_length=1)
    tgt: str
    hyp: str = Field(min_length=1)
    ref: Literal["src", "tgt", "either"]
    label: Literal["Hallucination", "Not Hallucination"]
    share: float = Field(alias="p(Hallucination)", ge=0, le=1)


@dataclass(frozen=True, slots=True)
class Output:
    """A model's output with its labels.

    Attributes:
        item: The output, with its source as the request and what to compare it with as reference.
        track: The track it belongs to.
        task: The model's task.
        hallucinated: The verdict of the majority.
        share: The share of people who said hallucination.
    """

    item: Item
    track: Track
    task: Task
    hallucinated: bool
    share: float


def load(data: Path, tracks: Sequence[Track], rows: slice) -> tuple[Output, ...]:
    """Read the validation sets.

    Args:
        data: The folder that contains them.
        tracks: Which of them to read.
        rows: Which rows of each to read.

    Returns:
        The outputs.

    Raises:
        ConfigurationError: A file is missing or invalid, or has no such rows.
    """
    return tuple(output for track in tracks for output in _load(data, track, rows))


def path_of(data: Path, track: Track) -> Path:
    """Return the file of a track."""
    return data / _DATA.format(track=track)


def _load(data: Path, track: Track, rows: slice) -> Iterator[Output]:
    path = path_of(data, track)
    lines = read_lines(path)
    for i in choose_rows(lines, rows, path):
        row = parse_row(_DataRow, lines, i, path)
        try:
            item = _item(i, row)
        except ConfigurationError as error:
            raise ConfigurationError(f"{str(path)!r}, line {i + 1}: {error}") from error
        yield Output(item, track, row.task, row.label == "Hallucination", row.share)


def _item(index: int, row: _DataRow) -> Item:
    reference = _reference(row)
    if not reference.strip():
        raise ConfigurationError(f"`ref` is {row.ref!r}, but that text is empty; leave the row out")
    # The output is judged as a whole, even if it looks like several sentences.
    passage = Passage.from_sentences([row.hyp])
    return Item(index, passage, references=(reference,), request=Request.of(row.src))


def _reference(row: _DataRow) -> str:
    """Return the text that annotators compared with; for `either`, the target if it has words.

    A target without words (such as ".") is used anyway if it is the only text to compare with.
    """
    if row.ref == "src" or (row.ref == "either" and not _says_anything(row.tgt)):
        return row.src
    return row.tgt


def _says_anything(text: str) -> bool:
    return any(map(str.isalnum, text))


async def run(
    outputs: Sequence[Output],
    entries: Sequence[BenchEntry],
    judge: BenchJudge | None,
    *,
    concurrency: int = 16,
    done: Callable[[], object] = lambda: None,
) -> ResultTable:
    """Measure methods on the validation sets.

    Args:
        outputs: The models' outputs.
        entries: The entries to measure.
        judge: The judge; may be None if no entry needs one.
        concurrency: The maximum number of concurrent requests to a live judge.
        done: Called after each output of each entry.

    Returns:
        For each entry and track, one row for all outputs and one for each task that occurs.

    Raises:
        MissingDependencyError: scikit-learn or scipy is not installed.
        ProviderError: A live judge failed to answer.
    """
    metrics.require()
    if judge is not None:
        await judge.prepare()
    rows: list[Row] = []
    notes = list(_notes(outputs, entries))
    for entry in entries:
        entry_judge = judge if entry.needs_judge else None
        measured: list[MeasuredOutput] = []
        for task in _TASKS:
            task_outputs = [output for output in outputs if output.task == task]
            results = await measure(
                entry.config(entry_judge, **_settings(entry, task)),
                [_item_for(entry, output) for output in task_outputs],
                entry_judge,
                concurrency=concurrency,
                done=done,
            )
            measured += zip(task_outputs, results, strict=True)
        rows += _rows(entry, entry_judge, measured)
        notes += _notes_on(entry, measured)
    return ResultTable("shroom", COLUMNS, tuple(rows), tuple(notes), {"outputs": len(outputs)})


def _item_for(entry: BenchEntry, output: Output) -> Item:
    """Return the output with its reference: for `source` variants, a paraphrase's source."""
    item = output.item
    if entry.variant != _BY_SOURCE or output.task != "PG" or item.request is None:
        return item
    return replace(item, references=(item.request.question,))


def _settings(entry: BenchEntry, task: Task) -> dict[str, Any]:
    return {"task": _TASKS[task]} if entry.variant == _BY_TASK else {}


MeasuredOutput = tuple[Output, Measured]


def _rows(
    entry: BenchEntry, judge: BenchJudge | None, measured: Sequence[MeasuredOutput]
) -> Iterator[Row]:
    for track in TRACKS:
        for task in ("all", *_TASKS):
            pairs = [
                (output, result)
                for output, result in measured
                if output.track == track and task in ("all", output.task)
            ]
            if pairs:
                yield {
                    "method": entry.method,
                    "variant": entry.variant,
                    "judge": judge.name if judge else None,
                    "track": track,
                    "task": task,
                    **_figures(pairs),
                    **cost_of([result for _, result in pairs], judge),
                    "paper": _published(entry, track) if task == "all" else None,
                }


def _published(entry: BenchEntry, track: Track) -> Mapping[str, float] | None:
    return dict(_TABLE_2[entry.name][track]) if entry.name in _TABLE_2 else None


def _figures(pairs: Sequence[MeasuredOutput]) -> dict[str, float | None]:
    hallucinated: list[bool] = []
    flagged: list[bool] = []
    shares: list[float] = []
    values: list[float] = []
    undetermined = 0
    for output, result in pairs:
        score = result.scores.passage_score
        if score is None:
            continue
        hallucinated.append(output.hallucinated)
        flagged.append(_flags(result.scores))
        shares.append(output.share)
        values.append(score)
        undetermined += _is_undetermined(result.scores)
    return {
        "outputs": len(pairs),
        "accuracy": _share(metrics.accuracy(hallucinated, flagged)),
        "spearman": _share(metrics.spearman(values, shares)),
        "flagged": sum(flagged),
        "undetermined": undetermined,
    }


def _share(percent: float | None) -> float | None:
    """Return a percentage as a fraction, as in the paper."""
    return None if percent is None else round(percent / 100.0, 4)


def _flags(scores: Scores) -> bool:
    return _is_undetermined(scores) or (scores.passage_score or 0.0) > _FLAG_OVER


def _is_undetermined(scores: Scores) -> bool:
    # A failed call says nothing; an unparseable answer counts, as published.
    return scores.undetermined > 0 and scores.error is not None


def _notes(outputs: Sequence[Output], entries: Sequence[BenchEntry]) -> Iterator[str]:
    yield (
        "accuracy is that of calling an output a hallucination where its score is over"
        f" {_FLAG_OVER:g}; Spearman is the correlation of the scores with the share of people who"
        " called it one. Both are written as in the paper: 1 is the best."
    )
    accuracies: list[str] = []
    for track in TRACKS:
        hallucinated = [output.hallucinated for output in outputs if output.track == track]
        if hallucinated:
            accuracies.append(f"{1 - fmean(hallucinated):.3f} ({track})")
    yield f"Calling nothing a hallucination has an accuracy of {', '.join(accuracies)}."
    yield (
        "calls, tokens and s (seconds) are means per output. An output of whose answers none can be"
        " read is undetermined and counts as a hallucination, as published."
    )
    for entry in entries:
        if entry.name in _PAPERS:
            measured_with = _PAPERS[entry.name]
            yield f"{entry.name}: the paper's figures are of the validation sets; {measured_with}."
        if entry.takes_model:
            yield f"{entry.name}: measured with {_model_of(entry)}."
    if any(entry.variant != _BY_TASK for entry in entries):
        yield _note_on_references(outputs)
    if any(entry.variant == _BY_SOURCE for entry in entries):
        yield "source: paraphrases (PG) are held against their source, whatever else counts."
    if any(entry.method == "ngram" for entry in entries):
        yield f"Nobody has tuned the {_FLAG_OVER:g} over which ngram flags."
    wordless = sum(not _says_anything(output.item.references[0]) for output in outputs)
    if wordless:
        yield f"{wordless} of the targets are without a word; they are taken as they stand."


def _model_of(entry: BenchEntry) -> str:
    """Return the model's name, without its path on this machine."""
    return Path(entry.model).name if Path(entry.model).is_dir() else entry.model


def _note_on_references(outputs: Sequence[Output]) -> str:
    sources = 0
    for output in outputs:
        request = output.item.request
        if request is not None and request.question == output.item.references[0]:
            sources += 1
    return (
        f"The reference is the target; for {sources} of {len(outputs)} outputs it is the source,"
        " where that alone counts or there is no target."
    )


def _notes_on(entry: BenchEntry, measured: Sequence[MeasuredOutput]) -> Iterator[str]:
    results = [result for _, result in measured]
    yield from failures_of(entry.name, results)
    unread = sum(result.scores.undetermined for result in results)
    if unread:
        yield f"{entry.name}: {unread} answers were neither yes nor no."
    missing = sum(result.scores.passage_score is None for result in results)
    if missing:
        yield f"{entry.name}: {missing} outputs have no score and are left out."
