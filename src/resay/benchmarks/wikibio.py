"""The WikiBio GPT-3 hallucination data set.

Manakul, Liusie and Gales, "SelfCheckGPT: Zero-Resource Black-Box Hallucination Detection for
Generative Large Language Models", EMNLP 2023, section 7: 238 passages GPT-3 wrote about people,
1908 sentences labelled by people, 20 samples for each passage.

Sentences are to be found as NonFact (minor or major inaccurate), NonFact* (major inaccurate, in the
passages where not every sentence is) and Factual (accurate, by the negated score). Passages are to
be ranked by the mean of their labels, with accurate 0, minor inaccurate 0.5, major inaccurate 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from resay.benchmarks import metrics
from resay.benchmarks.corrections import Correction, compare, correct
from resay.benchmarks.entries import Entry
from resay.benchmarks.judges import BenchJudge, RecordedJudge, Recording
from resay.benchmarks.loading import Lenient, choose_rows, parse_row, read_lines
from resay.benchmarks.measuring import Item, Measured, measure
from resay.benchmarks.reporting import COST_COLUMNS, cost_of, failures_of
from resay.benchmarks.table import Column, ResultTable, Row
from resay.benchmarks.wikibio_entries import ENTRIES
from resay.benchmarks.wikibio_figures import FIGURE_COLUMNS, Label, explain, figures
from resay.benchmarks.wikibio_recorded import Recorded
from resay.core.passage import Passage
from resay.core.query import Query
from resay.errors import ConfigurationError
from resay.scorers.prompt import render

__all__ = ["COLUMNS", "ENTRIES", "Corpus", "load", "notes_on", "recorded_judge", "run"]

_DATA = "wikibio_gpt3.jsonl"
_RECORDED = "wikibio_gpt3_recorded.jsonl"

COLUMNS = (
    Column("method", "method"),
    Column("variant", "variant"),
    Column("judge", "judge"),
    *FIGURE_COLUMNS,
    *COST_COLUMNS,
)
"""What readers see of a row."""

# What an answer that cannot be read counts.
_UNREAD = {
    "prompt": "were neither yes nor no and count 0.5",
    "direct_question": "were neither yes nor no and count 1",
}


class _DataRow(Lenient):
    prompt: str = ""
    passage: str
    sentences: list[str]
    labels: list[Label]
    samples: list[str]


class _RecordedRow(Lenient):
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
    path = data / _DATA
    lines = read_lines(path)
    indices = choose_rows(lines, rows, path)
    read = [parse_row(_DataRow, lines, i, path) for i in indices]
    passages = [_passage(row) for row in read]
    return Corpus(
        tuple(
            Item(i, passage, tuple(row.samples), query=_query(row))
            for i, row, (passage, _) in zip(indices, read, passages, strict=True)
        ),
        tuple(tuple(row.labels) for row in read),
        sum(joined for _, joined in passages),
    )


def _query(row: _DataRow) -> Query | None:
    return Query.of(row.prompt) if row.prompt.strip() else None


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
    path = data / _RECORDED
    lines = read_lines(path)
    recordings: dict[int, Recording] = {}
    for item in corpus.items:
        row = parse_row(_RecordedRow, lines, item.index, path)
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


async def run(
    corpus: Corpus,
    entries: Sequence[Entry],
    judge: BenchJudge | None,
    *,
    recorded: Mapping[str, Sequence[Measured]] | None = None,
    concurrency: int = 16,
    done: Callable[[], object] = lambda: None,
) -> ResultTable:
    """Measure methods on the data set.

    Args:
        corpus: The passages.
        entries: What to measure.
        judge: Who answers for judges; may be None when no entry needs one.
        recorded: The scores of the entries that are `Recorded`, by their names.
        concurrency: How many requests a live judge gets at once.
        done: Called after each passage of each method that is measured.

    Returns:
        One row for each entry, and for a correction one without it and one for each of its forms.

    Raises:
        MissingDependencyError: scikit-learn or scipy is not installed.
        ProviderError: A live judge does not answer.
    """
    metrics.require()
    if judge is not None:
        await judge.prepare()
    rows: list[Row] = []
    notes = list(_notes(corpus, entries))
    known: dict[str, Sequence[Measured]] = dict(recorded or {})
    for entry in entries:
        if isinstance(entry, Recorded):
            rows.append({**_row(entry, entry.variant, None, corpus, known[entry.name]), **_UNKNOWN})
            notes.append(_note_on_recorded(entry, known[entry.name]))
            continue
        method = entry.base if isinstance(entry, Correction) else entry
        asked = judge if entry.needs_judge else None
        if method.name not in known:
            known[method.name] = await measure(
                entry.config(asked), corpus.items, asked, concurrency=concurrency, done=done
            )
            notes += notes_on(method, known[method.name])
        results = known[method.name]
        if not isinstance(entry, Correction):
            rows.append(_row(entry, entry.variant, asked, corpus, results))
            continue
        forms = await correct(corpus.items, results)
        for form, corrected in forms.items():
            rows.append(_row(entry, f"{entry.variant}-{form}", asked, corpus, corrected))
        notes += compare(entry, corpus.labels, forms)
    about = {"passages": len(corpus.items)}
    return ResultTable("wikibio", COLUMNS, tuple(rows), tuple(notes), about)


# What recorded scores took.
_UNKNOWN: Mapping[str, None] = dict.fromkeys(("calls", "tokens", "seconds"))


def _note_on_recorded(entry: Entry, results: Sequence[Measured]) -> str:
    there = sum(result.passage is not None for result in results)
    return (
        f"{entry.name}: scores that the code released with the paper gave; they are recorded for"
        f" {there} of the {len(results)} passages, and the figures are of those."
    )


def _row(
    entry: Entry,
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


def _notes(corpus: Corpus, entries: Sequence[Entry]) -> Iterator[str]:
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


def notes_on(entry: Entry, results: Sequence[Measured]) -> Iterator[str]:
    """Yield what went wrong when a method was measured, if anything did.

    Args:
        entry: The method.
        results: What was measured.
    """
    yield from failures_of(entry.name, results)
    if unread := sum(result.scores.undetermined for result in results):
        yield f"{entry.name}: {unread} answers {_UNREAD.get(entry.method, 'could not be read')}."
    if missing := sum(score is None for result in results for score in result.sentences):
        yield f"{entry.name}: {missing} sentences have no score and are left out."
