"""The PHD benchmark: passage-level hallucination detection.

Yang, Sun and Wan, "A New Benchmark and Reverse Validation Method for Passage-level Hallucination
Detection", Findings of EMNLP 2023, sections 3, 5 and 6: 300 passages ChatGPT wrote about entities,
labelled as a whole by people, 100 for each of three domains: entities of which much (high), less
(medium) or little (low) is found on the web.

Non-factual passages are to be found; figures are F1, precision and recall (Tables 3 and 5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from resay.benchmarks import metrics
from resay.benchmarks.entries import Entry
from resay.benchmarks.judges import BenchJudge
from resay.benchmarks.loading import Lenient, choose_rows, parse_row, read_lines
from resay.benchmarks.measuring import Item, Measured, measure
from resay.benchmarks.phd_entries import DOMAINS, Baseline, Domain, published
from resay.benchmarks.phd_recorded import Recordings, Threshold
from resay.benchmarks.reporting import COST_COLUMNS, cost_of, failures_of
from resay.benchmarks.table import Column, ResultTable, Row
from resay.core.passage import Passage
from resay.core.query import Query
from resay.core.verdict import Scores, tally
from resay.errors import ConfigurationError
from resay.scorers.reverse_validation import ReverseValidation

__all__ = ["COLUMNS", "Corpus", "Ids", "Match", "load", "run"]

Match = Literal["names", "exact"]
Ids = Literal["even", "odd"]

_DATA = "phd.jsonl"
_FLAG_OVER = 0.5

COLUMNS = (
    Column("method", "method"),
    Column("variant", "variant"),
    Column("judge", "judge"),
    Column("match", "match"),
    Column("domain", "domain"),
    Column("f1", "F1", 1),
    Column("precision", "P", 1),
    Column("recall", "R", 1),
    Column("flagged", "flagged", 0),
    Column("undetermined", "undetermined", 0),
    *COST_COLUMNS,
)
"""What readers see of a row."""


class _DataRow(Lenient):
    entity: str
    domain: Domain
    passage: str
    label: Literal["factual", "non-factual"]
    samples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Corpus:
    """The passages to be scored.

    Attributes:
        items: The passages, each with its entity as part of the query.
        wrong: Which of them people called non-factual.
        domains: The domain of each.
    """

    items: tuple[Item, ...]
    wrong: tuple[bool, ...]
    domains: tuple[Domain, ...]


def load(data: Path, rows: slice, ids: Ids | None = None) -> Corpus:
    """Read the data set.

    Args:
        data: The folder it is in.
        rows: Which rows to take.
        ids: Take only those of them with an even, or with an odd, number.

    Returns:
        The passages.

    Raises:
        ConfigurationError: The file is not there, not valid, or has no such rows.
    """
    path = data / _DATA
    lines = read_lines(path)
    remainders = {None: (0, 1), "even": (0,), "odd": (1,)}[ids]
    indices = [i for i in choose_rows(lines, rows, path) if i % 2 in remainders]
    if not indices:
        raise ConfigurationError(f"none of those rows of {str(path)!r} is {ids}; pass other --rows")
    read = [parse_row(_DataRow, lines, i, path) for i in indices]
    return Corpus(
        tuple(_item(i, row) for i, row in zip(indices, read, strict=True)),
        tuple(row.label == "non-factual" for row in read),
        tuple(row.domain for row in read),
    )


def _item(index: int, row: _DataRow) -> Item:
    # Section 3.1.
    query = Query.of(f"Please write a brief Wikipedia for {row.entity}", entity=row.entity)
    return Item(index, Passage.of(row.passage), row.samples, query=query)


@dataclass(frozen=True, slots=True)
class _Finding:
    """What one entry says of every passage.

    Attributes:
        entry: The entry.
        flagged: Which passages it calls non-factual.
        judge: Who was asked, if anybody.
        results: What was measured, one for each passage; empty for a baseline.
        match: How names were compared, where they were.
    """

    entry: Entry
    flagged: Sequence[bool]
    judge: BenchJudge | None = None
    results: Sequence[Measured] = ()
    match: Match | None = None


async def run(
    corpus: Corpus,
    entries: Sequence[Entry],
    judge: BenchJudge | None,
    *,
    recordings: Recordings | None = None,
    threshold: Threshold | None = None,
    match: Match = "names",
    concurrency: int = 16,
    done: Callable[[], object] = lambda: None,
) -> ResultTable:
    """Measure methods on the data set.

    Args:
        corpus: The passages.
        entries: What to measure.
        judge: The model that answers for judges; None where the recordings do.
        recordings: What was recorded about the passages: answers, and scores for `bertscore`.
        threshold: What `bertscore` flags is over it.
        match: How `reverse_validation` compares names.
        concurrency: How many requests a live judge gets at once.
        done: Called after each passage of each entry.

    Returns:
        Four rows for each entry: all passages and each domain, if there are passages of it.

    Raises:
        ConfigurationError: What an entry needs is not there.
        ProviderError: A live judge does not answer.
    """
    if judge is not None:
        await judge.prepare()
    findings: list[_Finding] = []
    for entry in entries:
        if isinstance(entry, Baseline):
            flags = _flags_of(entry, corpus, recordings, threshold)
            findings.append(_Finding(entry, flags))
            continue
        asked = (judge or _recorded(entry, recordings)) if entry.needs_judge else None
        matched = match if entry.method == "reverse_validation" else None
        config = entry.config(asked, **({"match": matched} if matched else {}))
        results = await measure(config, corpus.items, asked, concurrency=concurrency, done=done)
        flags = [_flags(result.scores) for result in results]
        findings.append(_Finding(entry, flags, asked, results, matched))
    notes = (
        *_notes(findings),
        *_notes_on_matching(findings, recordings if judge is None else None),
        *(_note_on(threshold) for f in findings if threshold and f.entry.method == "bertscore"),
        *(note for finding in findings for note in _notes_on(finding)),
    )
    rows = tuple(row for finding in findings for row in _rows(corpus, finding))
    return ResultTable("phd", COLUMNS, rows, notes, {"passages": len(corpus.items)})


def _recorded(entry: Entry, recordings: Recordings | None) -> BenchJudge:
    if recordings is None:
        raise ConfigurationError(f"{entry.name!r} needs a judge or the recordings; pass one")
    return recordings.judge(entry.name)


def _flags(scores: Scores) -> bool:
    return not _is_undetermined(scores) and (scores.passage_score or 0.0) > _FLAG_OVER


def _is_undetermined(scores: Scores) -> bool:
    return scores.inconclusive is not None or scores.passage_score is None


def _flags_of(
    baseline: Baseline,
    corpus: Corpus,
    recordings: Recordings | None,
    threshold: Threshold | None,
) -> list[bool]:
    if baseline.method == "all_false":
        return [True] * len(corpus.items)
    if recordings is None or threshold is None:
        raise ConfigurationError(
            f"{baseline.name!r} needs the recordings and a threshold; pass them"
        )
    return recordings.over(threshold.value)


def _rows(corpus: Corpus, finding: _Finding) -> Iterator[Row]:
    everything = range(len(corpus.items))
    yield _row(corpus, finding, "all", everything)
    for domain in DOMAINS:
        indices = [i for i in everything if corpus.domains[i] == domain]
        if indices:
            yield _row(corpus, finding, domain, indices)


def _row(
    corpus: Corpus, finding: _Finding, domain: Domain | Literal["all"], indices: Sequence[int]
) -> Row:
    wrong = [corpus.wrong[i] for i in indices]
    flagged = [finding.flagged[i] for i in indices]
    results = [finding.results[i] for i in indices] if finding.results else []
    figures = {
        "f1": metrics.f1(wrong, flagged),
        "precision": metrics.precision(wrong, flagged),
        "recall": metrics.recall(wrong, flagged),
    }
    nothing = {column.key: None for column in COST_COLUMNS}
    cost = cost_of(results, finding.judge) if results else nothing
    return {
        "method": finding.entry.method,
        "variant": finding.entry.variant,
        "judge": finding.judge.name if finding.judge else None,
        "match": finding.match,
        "domain": domain,
        "passages": len(indices),
        # Readers see one decimal; rounded to two, some would be rounded the wrong way.
        **{key: None if value is None else round(value, 4) for key, value in figures.items()},
        "flagged": sum(flagged),
        "undetermined": sum(_is_undetermined(result.scores) for result in results),
        **cost,
        "paper": published(finding.entry, domain),
    }


def _notes(findings: Sequence[_Finding]) -> Iterator[str]:
    yield (
        "Non-factual passages are to be found: F1, P (precision) and R (recall) in percent; flagged"
        " and undetermined are numbers of passages. Undetermined ones count as not flagged."
    )
    yield "calls, tokens and s (seconds) are means per passage."
    judges = [finding.judge for finding in findings if finding.judge]
    if any(not judge.reports_tokens for judge in judges):
        yield from _notes_on_recorded(findings)
    if judges:
        yield "The paper's judge was ChatGPT (gpt-3.5-turbo-0301) at temperature 0."
    ours = [f.entry.name for f in findings if f.results and published(f.entry, "all") is None]
    if ours:
        yield (
            f"{', '.join(ours)}: not in the paper; a passage is flagged when its score is over"
            f" {_FLAG_OVER:g}, which nobody has tuned."
        )


def _notes_on_recorded(findings: Sequence[_Finding]) -> Iterator[str]:
    yield "s of a recorded judge is the time without its model; its tokens were not recorded."
    papers = [(f.entry.name, published(f.entry, "all") or {}) for f in findings if f.judge]
    tokens = [f"{name} {paper['tokens']:g}" for name, paper in papers if "tokens" in paper]
    if tokens:
        yield f"The paper's tokens per passage (Table 5): {', '.join(tokens)}."


def _notes_on_matching(
    findings: Sequence[_Finding], recordings: Recordings | None
) -> Iterator[str]:
    matched = [finding for finding in findings if finding.match]
    if not matched:
        return
    if matched[0].match == "exact":
        yield "match exact: the answer must hold the entity's name, as in the paper."
    else:
        yield (
            "match names, Resay's default: the answer must give the entity, by any way to write its"
            " name. The paper's figures are those of exact matching. The rules were made looking at"
            " even rows (and, early on, at a few odd ones); --ids odd measures on the others."
        )
    if any(finding.entry.variant == "matching" for finding in matched):
        share = ReverseValidation.Config().share
        yield (
            f"matching: less than {share:g} % of the requirements met is flagged, as in the"
            " authors' released code; their paper says that only over 90 % will do."
        )
    if recordings is not None:
        for finding in matched:
            yield _note_on_leaks(finding, recordings)


def _note_on_leaks(finding: _Finding, recordings: Recordings) -> str:
    variant = "question" if finding.entry.variant == "question" else "matching"
    noun = "questions" if variant == "question" else "lists of requirements"
    text = (
        f"{finding.entry.name}: {recordings.leaks(variant)} of {len(recordings.rows)} recorded"
        f" {noun} name the entity, which gives the answer away."
    )
    if finding.match == "exact":
        return text
    return f"{text} Resay takes the name out, but the recorded answers are to the text as it was."


def _note_on(threshold: Threshold) -> str:
    return (
        "bertscore: recorded scores of SelfCheckGPT's code, not of Resay's scorer. Flagged is"
        f" what is over {threshold.value:.4f}. As in the paper the threshold is the one with the"
        f" best F1 ({threshold.f1:.1f}) for WikiBio, here for the {threshold.passages} passages"
        " with recorded scores. Those are rescaled with BERTScore's baseline and these are not;"
        f" rescaled, the threshold is {threshold.rescaled:.4f}."
    )


def _notes_on(finding: _Finding) -> Iterator[str]:
    yield from failures_of(finding.entry.name, finding.results)
    undetermined = [r.scores for r in finding.results if _is_undetermined(r.scores)]
    if undetermined:
        reasons = tally(scores.inconclusive or "no score" for scores in undetermined)
        yield (
            f"{finding.entry.name}: {len(undetermined)} of {len(finding.results)} passages are"
            f" undetermined ({reasons})."
        )
