"""What is written and kept: pages, the cache and the journal, each beside something smaller.

The best of several turns, in which ours and what it is compared with are measured one after the
other.
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
from itertools import count
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from performance.readings import COLUMNS, Part, Reading, row_of
from resay._internal.event_loops import run_sync
from resay.benchmarks.table import ResultTable, Row
from resay.core.query import Query
from resay.core.usage import Usage
from resay.core.verdict import Verdict
from resay.guard import Guard
from resay.providers import Completion, Completions
from resay.providers.caching import close_caches
from resay.reporting.dashboard.query import SPANS, FiguresDesk
from resay.reporting.journal import Entry, Journal, JournalConfig, open_journal
from resay.reporting.journal.database import insert
from resay.reporting.journal.database import row_of as journal_row
from resay.reporting.journal.entry import new_id
from resay.reporting.journal.sqlite import roll_up
from resay.reporting.render.html import page

__all__ = ["run"]

_NGRAM = {"chain": [{"method": "ngram"}]}
_SAMPLES = 20

_PAGE = Part("page", "a page of 3,000 verdicts, 8 sentences each", "s", most=3)
_COLD = Part("cache, cold", "a check with a cache in a file: 20 samples are kept", "x", most=1.3)
_WARM = Part("cache, warm", "the same again: 20 samples are found", "x", most=1)
_BYTES = Part("journal, bytes", "an entry of 8 sentences, without words", "B", most=1000)
_DAYS = Part("journal, 30 days", "figures of 30 days, 1,000,000 entries", "s", most=0.3)
_TENANT = Part("journal, tenant", "the newest 50 of a rare tenant, the same", "ms", most=20)


def run(entries: int = 1_000_000, verdicts: int = 3000, turns: int = 5) -> ResultTable:
    """Measure what is written and kept.

    Args:
        entries: How many the journal has.
        verdicts: How many are on the page.
        turns: How often to measure each side.

    Returns:
        A row for each part.
    """
    cached = _cached(turns)
    rows = [
        row_of(_PAGE, partial(_page, verdicts, turns)),
        row_of(_COLD, partial(_beside_none, cached, "cold")),
        row_of(_WARM, partial(_beside_none, cached, "warm")),
        *_journal(entries, turns),
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
    return Reading(
        ours,
        None,
        {"turns": turns},
        "the same as JSON",
        limit,
    )


@cache
def _verdict(number: int) -> Verdict:
    guard = Guard({**_NGRAM, "cache": {"store": "none"}})
    return guard.check(_answer(number), samples=[_answer(number + i) for i in (0, 2, 3, 5, 8)])


def _answer(number: int) -> str:
    said = (f"The {i}. bridge of <Ada & Sons> was opened in {1900 + number + i}." for i in range(8))
    return " ".join(said)


class _Instant:
    """Answers at once, so that nothing but our own work is measured."""

    cache_source = "instant"

    async def takes_n(self, query: Query) -> bool:
        return True

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        answers = (Completion(_answer(query.index + i), "stop") for i in range(n))
        return Completions(tuple(answers), Usage(n))


def _cached(turns: int) -> dict[str, float]:
    """Return the seconds of a check without a cache, with a cold one, and with a warm one."""
    best: dict[str, float] = dict.fromkeys(("none", "cold", "warm"), inf)
    with TemporaryDirectory() as folder:
        try:
            kept = _drawing({"store": "sqlite", "path": str(Path(folder, "answers.db"))})
            bare = _drawing({"store": "none"})
            # Many: the write of one check may still go on during the next.
            for question in _questions(10 * turns):
                best["none"] = min(best["none"], _wall_s(partial(bare, question)))
                best["cold"] = min(best["cold"], _wall_s(partial(kept, question)))
                best["warm"] = min(best["warm"], _wall_s(partial(kept, question)))
        finally:
            run_sync(close_caches)
    return best


def _questions(turns: int) -> Iterator[str]:
    return (f"What is known of bridge {i}?" for i, _ in zip(count(), range(turns), strict=False))


def _drawing(cache: dict[str, Any]) -> Callable[[str], Verdict]:
    policy = {**_NGRAM, "cache": cache, "sampling": {"max": _SAMPLES, "confidence": None}}
    guard = Guard(policy, provider=_Instant(), model="instant")

    def check(question: str) -> Verdict:
        verdict = guard.check(_answer(0), question=question)
        if verdict.samples != _SAMPLES:
            raise RuntimeError(verdict.reason)
        return verdict

    check("What is a bridge?")
    return check


def _beside_none(seconds: dict[str, float], which: str) -> Reading:
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


def _journal(entries: int, turns: int) -> list[Row]:
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
    """Write entries of the last 30 days, as a journal would, but without waiting for each."""
    verdict = _verdict(0)
    first = Entry.of(verdict, model=_MODELS[0], policy="default", action="annotate", api="chat")
    run_sync(journal.append, first)
    run_sync(journal.aclose)
    chance = random.Random(0)
    # The verdict is packed once: that takes longer than to write it.
    bare = replace(first, verdict={})
    now = time.time()

    def rows() -> Iterator[tuple[Any, ...]]:
        for i in range(1, entries):
            entry = replace(
                bare,
                id=new_id(),
                time=now - 30 * 86_400 * (1 - i / entries),
                model=chance.choice(_MODELS),
                tenant="rare" if i % 5000 == 1 else f"tenant {i % 20}",
                request_id=f"req-{i:012}",
                latency_s=chance.lognormvariate(0, 1),
                check_s=chance.lognormvariate(-1, 1),
            )
            yield (*journal_row(entry, "all")[:-2], kept, None)

    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        (kept,) = connection.execute("SELECT verdict FROM resay_journal_entries").fetchone()
        connection.execute("BEGIN")
        connection.executemany(insert(1), rows())
        connection.execute("COMMIT")
        more = True
        while more:
            connection.execute("BEGIN")
            more = roll_up(connection, now)
            connection.execute("COMMIT")


def _bytes(path: Path, entries: int) -> Reading:
    each = path.stat().st_size / entries
    text = len(json.dumps(_verdict(0).to_dict(content=False), separators=(",", ":")))
    return Reading(each, None, {"entries": entries}, "the verdict as JSON", text)


def _days(journal: Journal, turns: int) -> Reading:
    span = SPANS["30d"]

    def kept() -> None:
        run_sync(FiguresDesk(journal).get, span, "model")

    def summed() -> None:
        # From where no rollup begins, so that the entries are read.
        until = time.time() // 1 + 0.5
        run_sync(journal.summary, until - span.length_s, until, span.step_s)

    ours, limit = inf, inf
    for _ in range(turns):
        ours = min(ours, _cpu_s(kept))
    limit = _cpu_s(summed)
    return Reading(
        ours,
        None,
        {"turns": turns},
        "one of its three questions, from the entries",
        limit,
    )


def _tenant(journal: Journal, turns: int) -> Reading:
    ours, limit = inf, inf
    for _ in range(turns):
        ours = min(ours, _cpu_s(partial(run_sync, partial(journal.recent, 50, tenant="rare"))))
        limit = min(limit, _cpu_s(partial(run_sync, partial(journal.recent, 50))))
    return Reading(
        1000 * ours,
        None,
        {"turns": turns},
        "the newest of all",
        1000 * limit,
    )


def _cpu_s(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _wall_s(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
