"""The time of searching and indexing a folder, beside SQLite's full-text search alone."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from statistics import median

from resay.retrieval import FolderRetriever, index_folder
from resay.retrieval.folder_database import TABLES
from resay.retrieval.folder_stems import Stemmer, words_of
from resay_lab.benchmarks.table import Column, ResultTable, Row

__all__ = ["run"]

_COLUMNS = (
    Column("part", "part"),
    Column("documents", "documents", 0),
    Column("ours_ms", "ours, ms", 2),
    Column("limit_ms", "limit, ms", 2),
    Column("ratio", "ratio", 2),
    Column("target", "target"),
    Column("met", "met"),
)
_NOTES = (
    "Texts of 50 to 150 made-up words with the frequencies of a language's; questions with four"
    " words of one text among common ones. Times of searches are medians, those of"
    " indexes processor time.",
    "The limit is SQLite's FTS5 with the same texts in one column, in memory: a query with all"
    " words of the question, and `INSERT` of all texts. Ours also divides files, finds inflected"
    " words and opens the index for each search.",
    "stems alone: FTS5 with the columns of our index and stems made beforehand, in memory. No index"
    " in which inflected words are found beside the exact ones takes less.",
)
_STOP_WORDS = (
    *("the", "of", "and", "in", "a", "to", "was", "is", "for", "on", "as", "by", "with", "he"),
    *("that", "at", "from", "it", "his", "an", "were", "are", "which", "be", "this", "or"),
)
_SEARCH_MS = 5.0
_INDEX_RATIO = 2.0
_QUESTIONS = 40
_K = 6


def run(documents: int = 20_000) -> ResultTable:
    """Measure folders of a tenth of the documents, and of all.

    Args:
        documents: How many there are in the larger folder.

    Returns:
        Rows for searching, searching with a filter and indexing.
    """
    rows: list[Row] = []
    for count in (max(documents // 10, 100), documents):
        with tempfile.TemporaryDirectory() as directory:
            rows += _rows(Path(directory), _Corpus.of(count))
    return ResultTable("folder", _COLUMNS, tuple(rows), _NOTES)


@dataclass(frozen=True, slots=True)
class _Corpus:
    """Random texts, and questions about them."""

    texts: Sequence[str]
    questions: Sequence[str]

    @classmethod
    def of(cls, count: int) -> _Corpus:
        rng = random.Random(count)
        vocabulary = [*_STOP_WORDS, *_random_words(40_000, rng)]
        weights = list(accumulate(1 / (rank + 2.7) for rank in range(len(vocabulary))))
        stop_words = set(_STOP_WORDS)
        texts: list[str] = []
        rare_words: list[list[str]] = []
        for _ in range(count):
            words = rng.choices(vocabulary, cum_weights=weights, k=rng.randint(50, 150))
            texts.append(_sentences(words))
            rare_words.append([word for word in words if word not in stop_words])
        questions: list[str] = []
        for _ in range(_QUESTIONS):
            a, b, c, d = rng.sample(rng.choice(rare_words), 4)
            questions.append(f"When was the {a} of {b} {c} in the {d} and which was it?")
        return cls(texts, questions)


def _sentences(words: Sequence[str]) -> str:
    """Return a text of sentences of 14 words."""
    starts = range(0, len(words), 14)
    return " ".join(f"{' '.join(words[i : i + 14]).capitalize()}." for i in starts)


def _random_words(count: int, rng: random.Random) -> list[str]:
    starts = (*"bcdfghjklmnprstvwz", "br", "st", "tr", "pl", "ch", "sh")
    vowels = (*"aeiou", "ea", "ou")
    endings = ["", "s", "ing", "ed", "er", "ation", "ly", "es"]
    # A dictionary, since a set has no order.
    result: dict[str, None] = {}
    while len(result) < count:
        syllables = (rng.choice(starts) + rng.choice(vowels) for _ in range(rng.randint(2, 3)))
        stem = "".join(syllables) + rng.choice(starts)
        result.update(dict.fromkeys(stem + ending for ending in rng.sample(endings, 3)))
    return list(result)[:count]


def _rows(directory: Path, corpus: _Corpus) -> list[Row]:
    count = len(corpus.texts)
    bare = sqlite3.connect(":memory:")
    bare_ms = _cpu_ms(partial(_fill, bare, corpus.texts))
    rows = [_index_row("index, stems alone", count, _stemmed_ms(corpus.texts), bare_ms)]
    for part, per_file in (("index, a file each", 1), ("index, 50 to a file", 50)):
        folder = directory / str(per_file)
        _write_files(folder, corpus.texts, per_file)
        ours_ms = _cpu_ms(partial(index_folder, folder))
        rows.append(_index_row(part, count, ours_ms, bare_ms))
    for part, conditions in (("search", {}), ("search with a filter", {"half": "even"})):
        retriever = FolderRetriever(folder, refresh=False, filter=conditions)
        ours_ms, limit_ms = asyncio.run(_search_ms(retriever, bare, corpus.questions))
        rows.append(_search_row(part, count, ours_ms, limit_ms))
    bare.close()
    return rows


async def _search_ms(
    retriever: FolderRetriever, bare: sqlite3.Connection, questions: Sequence[str]
) -> tuple[float, float]:
    ours: list[float] = []
    limit: list[float] = []
    for question in questions:
        started = time.perf_counter()
        await retriever.retrieve(question, k=_K)
        ours.append(1000 * (time.perf_counter() - started))
        limit.append(_timed_ms(partial(_bare_search, bare, question)))
    return median(ours), median(limit)


def _index_row(part: str, documents: int, ours_ms: float, limit_ms: float) -> Row:
    is_met = ours_ms <= _INDEX_RATIO * limit_ms
    return _row(part, documents, ours_ms, limit_ms, f"<= {_INDEX_RATIO:g} x", is_met=is_met)


def _search_row(part: str, documents: int, ours_ms: float, limit_ms: float) -> Row:
    is_met = ours_ms <= _SEARCH_MS
    return _row(part, documents, ours_ms, limit_ms, f"<= {_SEARCH_MS:g} ms", is_met=is_met)


def _row(
    part: str, documents: int, ours_ms: float, limit_ms: float, target: str, *, is_met: bool
) -> Row:
    return {
        "part": part,
        "documents": documents,
        "ours_ms": round(ours_ms, 3),
        "limit_ms": round(limit_ms, 3),
        "ratio": round(ours_ms / limit_ms, 3),
        "target": target,
        "met": is_met,
    }


def _cpu_ms(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return 1000 * (time.process_time() - started)


def _timed_ms(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - started)


def _write_files(folder: Path, texts: Sequence[str], per_file: int) -> None:
    folder.mkdir()
    for first in range(0, len(texts), per_file):
        half = "odd" if first // per_file % 2 else "even"
        sections = "\n\n".join(f"## Part\n\n{text}" for text in texts[first : first + per_file])
        (folder / f"{first:06}.md").write_text(f"---\nhalf: {half}\n---\n{sections}\n")


def _fill(bare: sqlite3.Connection, texts: Sequence[str]) -> None:
    bare.execute("CREATE VIRTUAL TABLE words USING fts5 (text)")
    bare.executemany("INSERT INTO words VALUES (?)", ((text,) for text in texts))
    bare.commit()


def _stemmed_ms(texts: Sequence[str]) -> float:
    """Return the time that SQLite takes for our columns, in milliseconds."""
    stems = Stemmer("en").stems([words_of(text) for text in texts])
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in TABLES:
            connection.execute(statement)
        return _cpu_ms(partial(_fill_stemmed, connection, texts, stems))


def _fill_stemmed(
    connection: sqlite3.Connection, texts: Sequence[str], stems: Sequence[str]
) -> None:
    rows = zip(texts, stems, strict=True)
    connection.execute("BEGIN")
    connection.executemany(
        "INSERT INTO words (path, title, text, pieces, stems) VALUES ('a.md', 'Part', ?, '', ?)",
        rows,
    )
    connection.execute("COMMIT")


def _bare_search(bare: sqlite3.Connection, question: str) -> object:
    words = dict.fromkeys(question.lower().replace("?", "").split())
    expression = " OR ".join(f'"{word}"' for word in words)
    statement = "SELECT rowid, text FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
    return bare.execute(statement, (expression, _K)).fetchall()
