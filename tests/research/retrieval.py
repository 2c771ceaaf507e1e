"""Measures whether search queries find the right document, on WikiBio.

The passages of the data set are about people, and each has a reference: the paragraph of Wikipedia
about the same person. All references are in one folder, under meaningless names. For each passage
with flagged sentences, queries are built in several ways and their rankings fused as in
regeneration; the benchmark counts how often the passage's own reference comes first.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from resay.adapters import id_of
from resay.engine.regeneration.asked_questions import asked_about
from resay.engine.regeneration.queries import search_queries
from resay.engine.regeneration.subjects import names_of
from resay.plugins import over
from resay.retrieval import FolderRetriever, Retriever, fused
from resay_lab.benchmarks.entries import BenchEntry
from resay_lab.benchmarks.measuring import BenchJudge, Item, measure
from resay_lab.benchmarks.rows import DataRow, parse_row, read_lines
from resay_lab.benchmarks.table import Column, ResultTable, Row
from resay_lab.benchmarks.wikibio import DATA, Corpus

# As applications wrap a question, with verbs that the rules for questions recognise.
_INSTRUCTIONS = """\
You are a careful assistant for students of history. Answer in a friendly tone and do not use lists.

{question}

Write three short paragraphs with dates and places of birth, in 200 words."""

COLUMNS = (
    Column("flagged_by", "flagged by"),
    Column("searched", "query"),
    Column("passages", "passages", 0),
    Column("searches", "searches", 2),
    Column("first", "first %", 1),
    Column("among_k", "among the first k %", 1),
)
"""The columns of the printed table."""


class _DataRow(DataRow):
    reference: str


@dataclass(frozen=True, slots=True)
class _Case:
    """A passage with flagged sentences.

    Attributes:
        question: The question it answers.
        answer: The whole passage.
        flagged: Its flagged sentences, in order.
        name: The file name of its reference.
    """

    question: str
    answer: str
    flagged: tuple[str, ...]
    name: str


WAYS: Mapping[str, Callable[[_Case], Sequence[str]]] = MappingProxyType(
    {
        "doubtful claims": lambda case: search_queries(_asked(case.question), case.flagged),
        "question + each sentence": lambda case: [f"{case.question} {s}" for s in case.flagged],
        "each sentence": lambda case: case.flagged,
        "question": lambda case: [case.question],
        "whole answer": lambda case: [case.answer],
    }
)
"""The ways to build search queries; the first is that of regeneration."""


def load_references(data: Path) -> tuple[str, ...]:
    """Return the references of all passages, including those that are not measured.

    Raises:
        ConfigurationError: The data set cannot be read, or is invalid.
    """
    path = data / DATA
    lines = read_lines(path)
    return tuple(parse_row(_DataRow, lines, i, path).reference for i in range(len(lines)))


async def run(
    corpus: Corpus,
    references: Sequence[str],
    entries: Sequence[BenchEntry],
    judge: BenchJudge | None,
    *,
    threshold: float = 0.5,
    k: int = 3,
    instructions: bool = False,
    concurrency: int = 16,
    done: Callable[[], object] = lambda: None,
) -> ResultTable:
    """Measure ways to search for references.

    Args:
        corpus: The passages.
        references: All references, in the order of the data set.
        entries: The methods that flag sentences, besides the human labels.
        judge: The judge; may be None if no entry needs one.
        threshold: A sentence with a score above it is flagged.
        k: The number of documents that each search returns, and the depth to which the fused
            ranking is searched for the reference.
        instructions: Whether to put instructions around each question.
        concurrency: The maximum number of concurrent requests to a live judge.
        done: Called after each scored passage and each row of the table.

    Returns:
        A row for each way to flag and each way to search.
    """
    names = [f"{id_of(reference)}.txt" for reference in references]
    flags = {"labels": [[label != "accurate" for label in row] for row in corpus.labels]}
    for entry in entries:
        scored = await measure(
            entry.config(judge), corpus.items, judge, concurrency=concurrency, done=done
        )
        flags[_named(entry, judge)] = [
            [over(score, threshold) for score in result.scores.sentences] for result in scored
        ]
    rows: list[Row] = []
    async with _folder_of(dict(zip(names, references, strict=True))) as retriever:
        for flagged_by, flagged in flags.items():
            cases = list(_cases(corpus.items, flagged, names))
            if instructions:
                cases = [
                    replace(case, question=_INSTRUCTIONS.format(question=case.question))
                    for case in cases
                ]
            for searched, way in WAYS.items():
                results = [await _rank(retriever, way(case), case.name, k) for case in cases]
                rows.append(_row(flagged_by, searched, results, k))
                done()
    about = {
        "passages": len(corpus.items),
        "references": len(references),
        "k": k,
        "threshold": threshold,
        "instructions": instructions,
    }
    notes = tuple(_notes(len(references), threshold, k, instructions=instructions))
    return ResultTable("retrieval", COLUMNS, tuple(rows), notes, about)


def _named(entry: BenchEntry, judge: BenchJudge | None) -> str:
    return f"{entry.name}, {judge.name}" if judge and entry.needs_judge else entry.name


def _cases(
    items: Sequence[Item], flags: Sequence[Sequence[bool]], names: Sequence[str]
) -> Iterator[_Case]:
    for item, flagged in zip(items, flags, strict=True):
        sentences = zip(item.passage.sentences, flagged, strict=True)
        doubtful = tuple(sentence.text for sentence, is_flagged in sentences if is_flagged)
        if doubtful:
            question = item.request.question if item.request else ""
            yield _Case(question, item.passage.text, doubtful, names[item.index])


@asynccontextmanager
async def _folder_of(texts: Mapping[str, str]) -> AsyncGenerator[Retriever, None]:
    """Yield a retriever over a temporary folder with the texts."""
    with TemporaryDirectory(prefix="resay-bench-") as folder:
        for name, text in texts.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        retriever = FolderRetriever(folder)
        await retriever.prepare()
        yield retriever


@dataclass(frozen=True, slots=True)
class _Ranked:
    """The outcome of the searches for one passage.

    Attributes:
        searches: The number of searches.
        rank: The rank of the reference in the fused ranking, from 1; None if it is not in there.
    """

    searches: int
    rank: int | None


async def _rank(retriever: Retriever, queries: Sequence[str], name: str, k: int) -> _Ranked:
    documents = fused([await retriever.retrieve(query, k=k) for query in queries])
    files = [Path(str(document.metadata["path"])).name for document in documents]
    return _Ranked(len(queries), files.index(name) + 1 if name in files else None)


def _row(flagged_by: str, searched: str, results: Sequence[_Ranked], k: int) -> Row:
    about: dict[str, Any] = {
        "flagged_by": flagged_by,
        "searched": searched,
        "passages": len(results),
    }
    if not results:
        return {**about, "searches": None, "first": None, "among_k": None}
    ranks = [result.rank or k + 1 for result in results]
    return {
        **about,
        "searches": round(fmean(result.searches for result in results), 3),
        "first": round(100 * fmean(rank == 1 for rank in ranks), 3),
        "among_k": round(100 * fmean(rank <= k for rank in ranks), 3),
    }


def _asked(question: str) -> str:
    """Return what a repair searches for of a question, without the instructions around it."""
    return asked_about(question, names_of(question))


def _notes(references: int, threshold: float, k: int, *, instructions: bool) -> Iterator[str]:
    yield (
        f"first: the share of passages with flagged sentences whose own reference, of {references},"
        f" comes first; each search gives {k} documents, and their rankings are fused."
    )
    yield f"searches: how many are made for a passage, in the mean. k is {k}."
    yield (
        f"labels: the sentences that people found inaccurate; others: those with scores over"
        f" {threshold:g}."
    )
    yield "doubtful claims: what regeneration searches for; it is not told the entity."
    if instructions:
        yield "Each question appears between three sentences of instructions."
