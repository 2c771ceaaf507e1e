"""Mu-SHROOM: hallucinated spans of answers, in 14 languages.

Vázquez et al., "SemEval-2025 Task 3: Mu-SHROOM, the Multilingual Shared-task on Hallucinations and
Related Observable Overgeneration Mistakes", SemEval 2025: answers of instruction-tuned models to
questions about Wikipedia's pages in Arabic, Basque, Catalan, Chinese, Czech, English, Farsi,
Finnish, French, German, Hindi, Italian, Spanish and Swedish. People marked hallucinated spans; a
soft label is the share of people who marked a span, a hard label a span that more than half marked.

The figures are those of the task's own scorer, per answer and then averaged for each language:

    IoU          characters marked by both the people and the method, of those marked by either;
                 1 if neither marks any
    correlation  Spearman's, of each character's score with its share of people; if either is
                 constant, 1 if both are and 0 otherwise

The score of a claim applies to each of its characters; if a method returns spans, those count. A
method marks characters with a score over 0.5, as the scorer derives hard labels from soft ones.

The released rows have neither samples nor references. Rows may have them under `samples` and
`references`, each a list of texts; methods that need evidence that no row has are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal

from pydantic import Field, field_validator

from resay import Passage, Request
from resay.errors import ConfigurationError
from resay.plugins import Claim, ClaimRules, Scores
from resay_lab.benchmarks import metrics
from resay_lab.benchmarks.entries import Baseline, BenchEntry
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

Split = Literal["tst", "val"]
"""The test set or the validation set, as in the file names."""
_SPLITS = re.compile(r"[.-](tst|val|test|validation|train)")
_NAMES = {"test": "tst", "validation": "val"}
_MARKED_OVER = 0.5
_SAMPLES = {"evidence": "samples"}
ENTRIES: tuple[BenchEntry, ...] = (
    Baseline("mark", "all", {}),
    Baseline("mark", "none", {}),
    BenchEntry("facts", "samples", _SAMPLES),
    BenchEntry("ngram", "samples", _SAMPLES),
    BenchEntry("references", "words", {"by": "words"}),
    BenchEntry("grounding", "references", {}, extra=True),
    BenchEntry("prompt", "english", {"mode": "per_sample", **_SAMPLES}, live_only=True),
    BenchEntry(
        "prompt", "auto", {"mode": "per_sample", "language": "auto", **_SAMPLES}, live_only=True
    ),
    BenchEntry("direct_question", "english", {}, live_only=True),
    BenchEntry("direct_question", "auto", {"language": "auto"}, live_only=True),
)
"""All entries of this benchmark. `auto` asks the judge in the answer's language."""

COLUMNS = (
    Column("method", "method"),
    Column("variant", "variant"),
    Column("judge", "judge"),
    Column("language", "language"),
    Column("outputs", "outputs", 0),
    Column("iou", "IoU", 4),
    Column("correlation", "correlation", 4),
    Column("marked", "marked", 3),
    Column("silent", "silent", 0),
    *COST_COLUMNS,
)
"""The columns of the printed table."""


class _Soft(DataRow):
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    prob: float = Field(ge=0, le=1)


class _DataRow(DataRow):
    id: str
    lang: str = Field(min_length=2)
    model_input: str = ""
    model_output_text: str
    soft_labels: list[_Soft] | None = None
    hard_labels: list[tuple[int, int]] | None = None
    samples: tuple[str, ...] = ()
    references: tuple[str, ...] = ()

    @field_validator("id", mode="before")
    @classmethod
    def _may_be_a_number(cls, value: object) -> object:
        return str(value) if isinstance(value, int) else value


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels of each character of a text.

    Attributes:
        soft: The probability that each character is hallucinated, in [0, 1].
        hard: The indices of the marked characters.
    """

    soft: tuple[float, ...]
    hard: frozenset[int]

    @classmethod
    def of(
        cls,
        length: int,
        soft: Sequence[tuple[int, int, float]],
        hard: Sequence[tuple[int, int]] | None = None,
    ) -> Labels:
        """Convert labels of spans to labels of characters.

        Args:
            length: The number of characters of the text; spans are cut off at its end.
            soft: Spans with their probability; the last one that covers a character counts.
            hard: Marked spans; if None, spans with a probability over 0.5 are marked.
        """
        values = [0.0] * length
        for start, end, probability in soft:
            values[start:end] = [probability] * len(values[start:end])
        if hard is None:
            hard = [(start, end) for start, end, probability in soft if probability > _MARKED_OVER]
        marked: set[int] = set()
        for start, end in hard:
            marked.update(range(start, min(end, length)))
        return cls(soft=tuple(values), hard=frozenset(marked))

    @property
    def is_constant(self) -> bool:
        """Whether all characters have the same probability."""
        return len({round(probability, 8) for probability in self.soft}) == 1


def iou(truth: Labels, predicted: Labels) -> float:
    """Return the share of characters marked by both, of those marked by either."""
    either = truth.hard | predicted.hard
    return len(truth.hard & predicted.hard) / len(either) if either else 1.0


def correlation(truth: Labels, predicted: Labels) -> float:
    """Return Spearman's correlation; if one is constant, 1 if both are and 0 otherwise."""
    if truth.is_constant or predicted.is_constant:
        return float(truth.is_constant and predicted.is_constant)
    return (metrics.spearman(predicted.soft, truth.soft) or 0.0) / 100.0


@dataclass(frozen=True, slots=True)
class Output:
    """A model's answer with its human labels.

    Attributes:
        item: The answer with its claims, its question and its evidence.
        language: Its language code, in upper case.
        truth: The human labels.
    """

    item: Item
    language: str
    truth: Labels


def load(
    data: Path, split: Split, languages: Sequence[str], rows: slice
) -> tuple[tuple[Output, ...], int]:
    """Read the answers.

    Reads the files named `mushroom*.jsonl` in the folder, and all `.jsonl` files in its subfolder
    `mushroom`. A file whose name states no split counts as both test and validation. If an answer
    is in several files, the one whose name sorts last counts: v2 before v1.

    Args:
        data: The folder.
        split: Which set to read.
        languages: Language codes, in upper or lower case; empty for all.
        rows: Which rows of each file to read.

    Returns:
        The answers, and the number of rows left out because they have no labels.

    Raises:
        ConfigurationError: A file is invalid, or has no such rows.
    """
    chosen_languages = {language.upper() for language in languages}
    outputs: dict[tuple[str, str], Output] = {}
    unlabelled = 0
    for path in _files(data, split):
        lines = read_lines(path)
        for i in choose_rows(lines, rows, path):
            row = parse_row(_DataRow, lines, i, path)
            language = row.lang.upper()
            key = language, row.id
            if key in outputs or not row.model_output_text:
                continue
            if chosen_languages and language not in chosen_languages:
                continue
            if row.soft_labels is None:
                unlabelled += 1
                continue
            try:
                outputs[key] = Output(_item(len(outputs), row), language, _truth(row))
            except ConfigurationError as error:
                raise ConfigurationError(f"{str(path)!r}, line {i + 1}: {error}") from error
    return tuple(sorted(outputs.values(), key=lambda output: output.language)), unlabelled


def _files(data: Path, split: Split) -> list[Path]:
    paths = [*data.glob("mushroom*.jsonl"), *(data / "mushroom").glob("*.jsonl")]
    files: list[Path] = []
    for path in sorted(paths, key=lambda path: path.name, reverse=True):
        match = _SPLITS.search(path.name)
        name = match[1] if match else split
        if _NAMES.get(name, name) == split:
            files.append(path)
    return files


def _truth(row: _DataRow) -> Labels:
    soft = [(label.start, label.end, label.prob) for label in row.soft_labels or ()]
    return Labels.of(len(row.model_output_text), soft, row.hard_labels)


def _item(index: int, row: _DataRow) -> Item:
    passage, rules = Passage.of(row.model_output_text), ClaimRules(row.model_input)
    claims: list[Claim] = []
    for i, sentence in enumerate(passage.sentences):
        claims += (claim for claim in rules.read(sentence, i) if claim.is_checkable)
    request = Request.of(row.model_input) if row.model_input.strip() else None
    return Item(index, passage.with_sentences(claims), row.samples, row.references, request=request)


async def run(
    outputs: Sequence[Output],
    entries: Sequence[BenchEntry],
    judge: BenchJudge | None,
    *,
    unlabelled: int = 0,
    concurrency: int = 16,
    done: Callable[[], object] = lambda: None,
) -> ResultTable:
    """Measure methods on Mu-SHROOM.

    Args:
        outputs: The models' answers.
        entries: The entries to measure.
        judge: The judge; may be None if no entry needs one.
        unlabelled: The number of rows left out because they have no labels.
        concurrency: The maximum number of concurrent requests to a live judge.
        done: Called after each answer of each entry.

    Returns:
        For each entry, one row for each language and one for their mean.

    Raises:
        MissingDependencyError: scikit-learn or scipy is not installed.
        ProviderError: A live judge failed to answer.
    """
    metrics.require()
    if judge is not None and outputs:
        await judge.prepare()
    rows: list[Row] = []
    notes = list(_notes(outputs, unlabelled))
    for entry in entries if outputs else ():
        usable = [output for output in outputs if _has_evidence(output.item, entry)]
        if not usable:
            notes.append(f"{entry.name}: skipped: no row has `{_required_key(entry)}`.")
            continue
        entry_judge = judge if entry.needs_judge else None
        results: Sequence[Measured] | None = None
        if not isinstance(entry, Baseline):
            results = await measure(
                entry.config(entry_judge),
                [output.item for output in usable],
                entry_judge,
                concurrency=concurrency,
                done=done,
            )
            notes += failures_of(entry.name, results)
        rows += _rows(entry, entry_judge, usable, results)
        missing = len(outputs) - len(usable)
        if missing:
            key = _required_key(entry)
            notes.append(f"{entry.name}: {missing} rows without `{key}` are left out.")
    about = {"outputs": len(outputs)}
    return ResultTable("mushroom", COLUMNS, tuple(rows), tuple(notes), about)


def _required_key(entry: BenchEntry) -> str | None:
    """Return the key of a row that an entry requires, if any."""
    if entry.method in {"grounding", "references"}:
        return "references"
    evidence = entry.settings.get("evidence")
    return None if evidence is None else str(evidence)


def _has_evidence(item: Item, entry: BenchEntry) -> bool:
    key = _required_key(entry)
    return key is None or bool(item.samples if key == "samples" else item.references)


def _rows(
    entry: BenchEntry,
    judge: BenchJudge | None,
    outputs: Sequence[Output],
    results: Sequence[Measured] | None,
) -> Iterator[Row]:
    figures_by_language: dict[str, list[dict[str, float]]] = {}
    results_by_language: dict[str, list[Measured]] = {}
    for i, output in enumerate(outputs):
        if results is None:
            predicted = _baseline_labels(entry, output)
        else:
            predicted = _labels(output.item.passage, results[i].scores)
            results_by_language.setdefault(output.language, []).append(results[i])
        figures_by_language.setdefault(output.language, []).append(
            {
                "iou": iou(output.truth, predicted),
                "correlation": correlation(output.truth, predicted),
                "marked": len(predicted.hard) / len(predicted.soft),
            }
        )
    means: list[dict[str, float]] = []
    for language, figures in figures_by_language.items():
        mean = _mean_figures(figures)
        means.append(mean)
        of_language = None if results is None else results_by_language[language]
        yield _row(entry, judge, language, mean, of_language, len(figures))
    yield _row(entry, judge, "mean", _mean_figures(means), results, len(outputs))


def _mean_figures(figures: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {key: fmean(one_output[key] for one_output in figures) for key in figures[0]}


def _row(
    entry: BenchEntry,
    judge: BenchJudge | None,
    language: str,
    figures: Mapping[str, float],
    results: Sequence[Measured] | None,
    outputs: int,
) -> Row:
    return {
        "method": entry.method,
        "variant": entry.variant,
        "judge": judge.name if judge else None,
        "language": language,
        "outputs": outputs,
        **{key: round(value, 4) for key, value in figures.items()},
        "silent": None if results is None else sum(_is_silent(r.scores) for r in results),
        **({} if results is None else cost_of(results, judge)),
    }


def _is_silent(scores: Scores) -> bool:
    return scores.passage_score is None or scores.error is not None


def _baseline_labels(entry: BenchEntry, output: Output) -> Labels:
    length = len(output.truth.soft)
    return Labels.of(length, [(0, length, 1.0)] if entry.variant == "all" else [])


def _labels(passage: Passage, scores: Scores) -> Labels:
    """Return a method's labels of each character; 0 for characters without a score."""
    spans: list[tuple[int, int, float]] = []
    if scores.spans:
        for claim_spans in scores.spans:
            spans += ((span.start, span.end, span.score) for span in claim_spans)
    else:
        for claim, score in zip(passage.sentences, scores.sentences, strict=True):
            spans.append((claim.start, claim.end, score or 0.0))
    # If claims overlap, the greatest score counts.
    return Labels.of(len(passage.text), sorted(spans, key=lambda span: span[2]))


def _notes(outputs: Sequence[Output], unlabelled: int) -> Iterator[str]:
    if not outputs:
        yield "mushroom: skipped: no data."
    else:
        yield (
            "IoU and correlation are those of the task's scorer, from 0 (correlation: -1) to 1;"
            " marked is the share of characters that score over"
            f" {_MARKED_OVER:g}. mean: of the languages."
        )
        yield (
            "silent counts answers about which a method decides nothing; nothing in them is marked."
            " calls, tokens and s (seconds) are means per answer."
        )
    if unlabelled:
        yield f"{unlabelled} rows without `soft_labels` are left out."
