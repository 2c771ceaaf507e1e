"""The cost of what Resay writes (pages, the cache, the journal), and the speed of a large journal.

Each figure is the best of several turns, in which Resay and what it is compared with are measured
one after the other.
"""

from __future__ import annotations

import json
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import cache, partial
from itertools import accumulate
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import psycopg
from starlette.applications import Starlette

from performance.readings import COLUMNS, Part, Reading, row_of
from resay import Guard, Request, Usage, Verdict
from resay.adapters import run_sync
from resay.adapters.pages import page
from resay.plugins import Completion, Completions, VerdictRecord, new_id
from resay.providers.caching import close_caches
from resay_lab.benchmarks.table import Column, ResultTable, Row
from resay_server.dashboard import routes
from resay_server.dashboard.figures import FiguresCache
from resay_server.dashboard.query import SPANS, DashboardQuery
from resay_server.journal import Entry, Journal, JournalConfig, open_journal
from resay_server.journal.postgres import PostgresDatabase
from resay_server.journal.rows import COLUMNS as ENTRY_COLUMNS
from resay_server.journal.rows import row_of as journal_row
from resay_server.journal.search_terms import entry_terms, row_name_terms
from resay_server.journal.sqlite import build_rollups
from resay_server.journal.statements import insert
from support.postgres import PostgresServer, binaries

__all__ = ["run", "run_journal"]

_NGRAM = {"chain": [{"method": "ngram"}]}
_SAMPLES = 20

_PAGE = Part("page", "a page of 3,000 verdicts, 8 sentences each", "s", most=3)
_COLD = Part("cache, cold", "a check with a cache in a file: 20 samples are kept", "x", most=1.3)
_WARM = Part("cache, warm", "the same again: 20 samples are found", "x", most=1)
_BYTES = Part("journal, bytes", "an entry of 8 sentences, without words", "B", most=1000)
_DAYS = Part("journal, 30 days", "figures of 30 days, 1,000,000 entries", "s", most=0.3)
_TENANT = Part("journal, tenant", "the newest 50 of a rare tenant, the same", "ms", most=20)


def run(entries: int = 1_000_000, verdicts: int = 3000, turns: int = 5) -> ResultTable:
    """Measure pages of verdicts, the cache in a file, and the journal.

    Args:
        entries: How many entries the journal has.
        verdicts: How many verdicts are on the page.
        turns: How often each side is measured.

    Returns:
        A row for each part.
    """
    check_s = _check_seconds(turns)
    rows = [
        row_of(_PAGE, partial(_page, verdicts, turns)),
        row_of(_COLD, partial(_cache_reading, check_s, "cold")),
        row_of(_WARM, partial(_cache_reading, check_s, "warm")),
        *_journal_rows(entries, turns),
    ]
    return ResultTable("disk", COLUMNS, tuple(rows), _NOTES)


_NOTES = (
    "page and journal: processor time, that of threads with it.",
    "cache: time on the clock, because threads write; the provider, in the same process, answers at"
    " once.",
    "journal: entries evenly over 30 days, of three models and twenty tenants, and a rare one.",
)


def _page(verdicts: int, turns: int) -> Reading:
    shown = [_verdict(i % 30) for i in range(verdicts)]
    data = [verdict.to_dict() for verdict in shown]
    ours, limit = inf, inf
    for _ in range(turns):
        ours = min(ours, _cpu_s(partial(page, shown)))
        limit = min(limit, _cpu_s(partial(json.dumps, data)))
    return Reading(ours, None, {"turns": turns}, "the same as JSON", limit)


@cache
def _verdict(number: int) -> Verdict:
    guard = Guard({**_NGRAM, "cache": {"store": "none"}})
    return guard.check(_answer(number), samples=[_answer(number + i) for i in (0, 2, 3, 5, 8)])


def _answer(number: int) -> str:
    sentences = [
        f"The {i}. bridge of <Ada & Sons> was opened in {1900 + number + i}." for i in range(8)
    ]
    return " ".join(sentences)


class _Instant:
    """A provider that answers at once, so that only Resay's own work is measured."""

    cache_source = "instant"

    async def takes_n(self, request: Request) -> bool:
        return True

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        answers = (Completion(_answer(request.index + i), "stop") for i in range(n))
        return Completions(tuple(answers), Usage(n))


def _check_seconds(turns: int) -> dict[str, float]:
    """Return the seconds of a check with no cache (`none`), a `cold` one and a `warm` one."""
    best: dict[str, float] = dict.fromkeys(("none", "cold", "warm"), inf)
    with TemporaryDirectory() as folder:
        try:
            cached = _checker({"store": "sqlite", "path": str(Path(folder, "answers.db"))})
            uncached = _checker({"store": "none"})
            # Many: the write of one check may still go on during the next.
            for number in range(10 * turns):
                question = f"What is known of bridge {number}?"
                best["none"] = min(best["none"], _wall_s(partial(uncached, question)))
                best["cold"] = min(best["cold"], _wall_s(partial(cached, question)))
                best["warm"] = min(best["warm"], _wall_s(partial(cached, question)))
        finally:
            run_sync(close_caches)
    return best


def _checker(cache: dict[str, Any]) -> Callable[[str], Verdict]:
    policy = {**_NGRAM, "cache": cache, "sampling": {"max": _SAMPLES, "confidence": None}}
    guard = Guard(policy, provider=_Instant(), model="instant")

    def check(question: str) -> Verdict:
        verdict = guard.check(_answer(0), question=question)
        if verdict.samples != _SAMPLES:
            raise RuntimeError(verdict.reason)
        return verdict

    check("What is a bridge?")
    return check


def _cache_reading(seconds: dict[str, float], which: str) -> Reading:
    ratio = seconds[which] / seconds["none"]
    ours_ms, none_ms = 1000 * seconds[which], 1000 * seconds["none"]
    return Reading(
        ratio,
        f"{ours_ms:.2f} ms, without a cache {none_ms:.2f} ms",
        {"ms": round(ours_ms, 3), "limit_ms": round(none_ms, 3)},
        "without a cache",
        1.0,
    )


_MODELS = ("openai/gpt-4.1-mini", "anthropic/claude-haiku", "openai/gpt-4.1")


def _journal_rows(entries: int, turns: int) -> list[Row]:
    with TemporaryDirectory() as folder:
        path = Path(folder, "journal.db")
        journal = open_journal(JournalConfig(url=f"sqlite:///{path}"))
        try:
            _fill(journal, path, entries)
            run_sync(journal.recent)
            return [
                row_of(_BYTES, partial(_bytes, path, entries), 0),
                row_of(_DAYS, partial(_days, journal, turns)),
                row_of(_TENANT, partial(_tenant, journal, turns)),
            ]
        finally:
            run_sync(journal.aclose)


def _fill(journal: Journal, path: Path, entries: int) -> None:
    """Write entries of the last 30 days in one transaction."""
    verdict = _verdict(0)
    first = Entry.of(
        VerdictRecord(
            verdict=verdict, model=_MODELS[0], policy="default", action="annotate", api="chat"
        )
    )
    run_sync(journal.append, first)
    run_sync(journal.aclose)
    rng = random.Random(0)
    # The verdict is packed only once, since packing takes longer than writing.
    bare = replace(first, verdict={})
    now = time.time()

    def rows() -> Iterator[tuple[Any, ...]]:
        for i in range(1, entries):
            entry = replace(
                bare,
                id=new_id(),
                time=now - 30 * 86_400 * (1 - i / entries),
                model=rng.choice(_MODELS),
                tenant="rare" if i % 5000 == 1 else f"tenant {i % 20}",
                request_id=f"req-{i:012}",
                latency_s=rng.lognormvariate(0, 1),
                check_s=rng.lognormvariate(-1, 1),
            )
            yield (*journal_row(entry, "all")[:-2], packed_verdict, None)

    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        (packed_verdict,) = connection.execute(
            "SELECT verdict FROM resay_journal_entries"
        ).fetchone()
        connection.execute("BEGIN")
        connection.executemany(insert(1), rows())
        connection.execute("COMMIT")
        _build_all_rollups(connection)


def _build_all_rollups(connection: sqlite3.Connection) -> None:
    unfinished = True
    while unfinished:
        connection.execute("BEGIN")
        unfinished = build_rollups(connection, time.time())
        connection.execute("COMMIT")


def _bytes(path: Path, entries: int) -> Reading:
    entry_bytes = path.stat().st_size / entries
    verdict = json.dumps(_verdict(0).to_dict(content=False), separators=(",", ":"))
    return Reading(entry_bytes, None, {"entries": entries}, "the verdict as JSON", len(verdict))


def _days(journal: Journal, turns: int) -> Reading:
    span = SPANS["30d"]

    def from_rollups() -> None:
        run_sync(FiguresCache(journal).get, DashboardQuery(span))

    def from_entries() -> None:
        # From a time where no rollup begins, so that the entries are read.
        until = time.time() // 1 + 0.5
        run_sync(journal.summary, until - span.length_s, until, span.step_s)

    ours = min(_cpu_s(from_rollups) for _ in range(turns))
    limit = _cpu_s(from_entries)
    beside = "one of its three questions, from the entries"
    return Reading(ours, None, {"turns": turns}, beside, limit)


def _tenant(journal: Journal, turns: int) -> Reading:
    ours, limit = inf, inf
    for _ in range(turns):
        ours = min(ours, _cpu_s(partial(run_sync, partial(journal.recent, 50, tenant="rare"))))
        limit = min(limit, _cpu_s(partial(run_sync, partial(journal.recent, 50))))
    return Reading(1000 * ours, None, {"turns": turns}, "the newest of all", 1000 * limit)


def _cpu_s(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _wall_s(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


# --- the speed of a large journal ----------------------------------------------------------------

_JOURNAL_COLUMNS = (
    Column("database", "database"),
    Column("part", "what is asked"),
    Column("rows", "entries", 0),
    Column("first_ms", "the first time, ms", 1),
    Column("ms", "median of the next, ms", 1),
    Column("most_ms", "goal, ms", 0),
)
_JOURNAL_NOTES = (
    "entries evenly over 30 days, of three models and twenty tenants, each with its question and an"
    " answer of a sentence, in words of which some are much more frequent than others.",
    "search: the newest 51 entries, as the page asks for them. page: the HTML of `/ui` as an"
    " application in the same process gives it, with its figures; each by a journal that was just"
    " opened, so that nothing is remembered. The first time: the first of its kind after opening.",
)
_SEARCHES = {
    "search: a word of every entry": {"words": "bridge"},
    "search: a word of 1 in 10": {"words": "viaduct"},
    "search: a word of 1 in 1,000": {"words": "aqueduct"},
    "search: a word of one entry": {"words": "case500"},
    "search: the beginning of a word": {"words": "viad*"},
    "search: three words": {"words": "which bridge aqueduct"},
    "search: a frequent word of a rare tenant": {"words": "viaduct", "tenant": "rare"},
    "search: a request id": {"request_id": "req-000000000500"},
}
_PAGES = {
    "page: the first": "/ui",
    "page: searching for a word of 1 in 10": "/ui?words=viaduct",
    "page: 30 days": "/ui?span=30d",
}


def run_journal(entries: int = 1_000_000, turns: int = 5) -> ResultTable:
    """Measure how fast a journal with questions and answers is searched, and its pages rendered.

    Args:
        entries: How many entries the journal of each database has.
        turns: How often each question is asked after the first time.

    Returns:
        A row for each question and database.
    """
    rows: list[Row] = []
    with TemporaryDirectory() as folder:
        path = Path(folder, "journal.db")
        _fill_file(path, entries)
        rows += _question_rows("SQLite", f"sqlite:///{path}", entries, turns, most_ms=1000)
    programs = binaries()
    if programs is not None:
        with PostgresServer(programs) as server:
            url = server.database()
            _fill_server(url, entries)
            rows += _question_rows("PostgreSQL", url, entries, turns, most_ms=300)
    return ResultTable("journal", _JOURNAL_COLUMNS, tuple(rows), _JOURNAL_NOTES)


def _question_rows(
    database: str, url: str, entries: int, turns: int, *, most_ms: float
) -> list[Row]:
    def row(part: str, seconds: list[float], goal_ms: float | None) -> Row:
        first, *later = seconds
        middle = sorted(later)[len(later) // 2] if later else first
        return {
            "database": database,
            "part": part,
            "rows": entries,
            "first_ms": 1000 * first,
            "ms": 1000 * middle,
            "most_ms": goal_ms,
        }

    rows: list[Row] = []
    for part, filters in _SEARCHES.items():
        journal = open_journal(JournalConfig(url=url))
        run_sync(journal.recent, 1)
        search = partial(run_sync, partial(journal.recent, 51, **filters))
        rows.append(row(part, [_wall_s(search) for _ in range(1 + turns)], most_ms))
        run_sync(journal.aclose)
    for part, path in _PAGES.items():
        seconds = [_page_s(url, path) for _ in range(1 + turns)]
        rows.append(row(part, seconds, 1000 if part == "page: the first" else None))
    return rows


def _page_s(url: str, path: str) -> float:
    """Return the seconds that a page of the dashboard takes, by a journal that was just opened."""
    journal = open_journal(JournalConfig(url=url))

    async def fetch() -> float:
        await journal.recent(1)
        transport = httpx.ASGITransport(app=Starlette(routes=routes(journal, hosts=None)))
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as browser:
            started = time.perf_counter()
            response = await browser.get(path, timeout=None)
            seconds = time.perf_counter() - started
        await journal.aclose()
        response.raise_for_status()
        return seconds

    return run_sync(fetch)


def _rows_with_words(entries: int) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield entries of the last 30 days as rows, each with its words as they are indexed."""
    rng = random.Random(0)
    words: list[str] = []
    for syllables in (2, 3, 4, 5):
        words += [_random_word(rng, syllables) for _ in range(10_000)]
    weights = list(accumulate(1 / (rank + 5) for rank in range(len(words))))
    guard = Guard({**_NGRAM, "cache": {"store": "none"}})
    bodies: list[tuple[tuple[Any, ...], str]] = []
    for _ in range(min(entries, 300)):
        answer, sample = (" ".join(rng.choices(words, cum_weights=weights, k=20)) for _ in range(2))
        verdict = guard.check(f"The {answer}.", samples=[f"The {sample}."])
        entry = Entry.of(
            VerdictRecord(
                verdict=verdict, model=_MODELS[0], policy="default", action="annotate", api="chat"
            )
        )
        row = journal_row(entry, "all")
        terms = set((entry_terms(row) or "").split()) - set(row_name_terms(row))
        bodies.append((row, " ".join(terms)))
    columns = {name: i for i, name in enumerate(ENTRY_COLUMNS)}
    name_terms: dict[object, str] = {}
    now = time.time()
    for i in range(entries):
        body, terms = rng.choice(bodies)
        question = f"which bridge is case{i}"
        if i % 10 == 0:
            question += " beside the viaduct"
        if i % 1000 == 0:
            question += " under the aqueduct"
        model, tenant = rng.choice(_MODELS), "rare" if i % 5000 == 0 else f"tenant {i % 20}"
        row = list(body)
        row[columns["id"]] = new_id()
        row[columns["time"]] = now - 30 * 86_400 * (1 - i / entries)
        row[columns["model"]], row[columns["tenant"]] = model, tenant
        row[columns["request_id"]] = f"req-{i:012}"
        row[columns["latency_s"]] = rng.lognormvariate(0, 1)
        row[columns["check_s"]] = rng.lognormvariate(-1, 1)
        row[columns["question"]] = f'"{question}"'
        names = (model, tenant, row[columns["decision"]])
        if names not in name_terms:
            name_terms[names] = " ".join(row_name_terms(tuple(row)))
        yield tuple(row), f"{name_terms[names]} {terms} {question}"


def _random_word(rng: random.Random, syllables: int) -> str:
    return "".join(rng.choice("bcdfglmnprstvz") + rng.choice("aeiou") for _ in range(syllables))


def _fill_file(path: Path, entries: int) -> None:
    journal = open_journal(JournalConfig(url=f"sqlite:///{path}"))
    run_sync(journal.recent)
    run_sync(journal.aclose)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # What triggers do for each entry is done at the end for all of them, which is faster.
        triggers = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA cache_size = -200000")
        connection.execute("BEGIN")
        insert_entry = insert(1)
        insert_words = "INSERT INTO resay_journal_words VALUES (?, ?, ?)"
        for row, terms in _rows_with_words(entries):
            connection.execute(insert_entry, row)
            connection.execute(insert_words, (int(row[1] * 1000) << 20, row[0], terms))
        connection.execute("COMMIT")
        connection.execute("INSERT INTO resay_journal_found(resay_journal_found) VALUES('rebuild')")
        connection.execute(
            "INSERT INTO resay_journal_changed"
            " SELECT DISTINCT CAST(time / 1800 AS INTEGER) FROM resay_journal_entries"
        )
        for _, sql in triggers:
            connection.execute(sql)
        _build_all_rollups(connection)


def _fill_server(url: str, entries: int) -> None:
    journal = open_journal(JournalConfig(url=url))
    run_sync(journal.recent)
    run_sync(journal.aclose)
    index = "resay_journal_words_by_word"
    with psycopg.connect(url, autocommit=True) as connection, TemporaryDirectory() as folder:
        words = Path(folder, "words")
        connection.execute(f"DROP INDEX {index}".encode())
        names = ", ".join(ENTRY_COLUMNS)
        with (
            words.open("w") as lines,
            connection.cursor().copy(
                f"COPY resay_journal_entries ({names}) FROM STDIN".encode()
            ) as copy,
        ):
            for row, terms in _rows_with_words(entries):
                copy.write_row(row)
                lines.write(f"{row[0]}\t{row[1]!r}\t{terms}\n")
        with (
            words.open() as lines,
            connection.cursor().copy(b"COPY resay_journal_words FROM STDIN") as copy,
        ):
            for line in lines:
                copy.write(line)
        connection.execute(b"SET maintenance_work_mem = '512MB'")
        connection.execute(
            f"CREATE INDEX {index} ON resay_journal_words USING gin (words)".encode()
        )
        run_sync(_build_postgres_rollups, url)
        # As the server does by itself after a while.
        connection.execute(b"VACUUM ANALYZE")


async def _build_postgres_rollups(url: str) -> None:
    session = PostgresDatabase(url).open()
    while await session.build_rollups(time.time()):
        pass
    await session.aclose()
