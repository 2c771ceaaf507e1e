"""Rollups change no figure."""

from __future__ import annotations

import json
import random
import sqlite3
from array import array
from collections.abc import Iterable
from contextlib import closing
from dataclasses import fields, replace
from itertools import count
from math import ceil, fsum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resay import Usage
from resay.adapters import run_sync
from resay_server.journal import Entry, Journal, JournalConfig, Slice, open_journal
from resay_server.journal.migrations import MIGRATIONS, SET_VERSION
from resay_server.journal.rollups import values_of_ranks
from resay_server.journal.rows import COLUMNS, row_of
from resay_server.journal.statements import insert
from support.journal import entry, make_verdict
from support.postgres import PostgresServer

pytestmark = pytest.mark.anyio
HALF_HOUR = 1800
# Where days, hours and half hours begin.
DAY = 1_700_006_400.0
BYS = (None, "model", "policy", "tenant", "api")


def journal_in(path: Path | str, **options: Any) -> Journal:
    """Open the journal in a file or at an address."""
    url = path if isinstance(path, str) else f"sqlite:///{path}"
    return open_journal(JournalConfig(url=url, **options))


async def write_entries(path: Path | str, entries: Iterable[Entry], **options: Any) -> None:
    """Write entries with a journal of its own, which looks at once for rollups to be made."""
    journal = journal_in(path, **options)
    for each in entries:
        assert await journal.append(each)
    await journal.aclose()


def stored_rollups(path: Path | str) -> list[tuple[Any, ...]]:
    """The buckets of which there are rollups, with the fields, in half hours of the day."""
    sql = "SELECT bucket, field, name, latencies IS NULL FROM resay_journal_rollups"
    if isinstance(path, str):
        rows = query_postgres(path, sql)
    else:
        with closing(sqlite3.connect(path)) as connection:
            rows = connection.execute(sql).fetchall()
    return [(int(bucket - DAY / HALF_HOUR), *rest) for bucket, *rest in rows]


def query_postgres(url: str, *statements: str) -> list[Any]:
    """What PostgreSQL answers to the last of some statements."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        cursor = [connection.execute(sql.encode()) for sql in statements][-1]
        return cursor.fetchall() if cursor.description else []


def buckets(path: Path | str) -> set[int]:
    return {bucket for bucket, *_ in stored_rollups(path)}


def expected(
    entries: Iterable[Entry], since: float, until: float, step_s: float, by: Any
) -> list[Slice]:
    """What `summary` promises, made the plain way."""
    parts: dict[tuple[int, str | None], list[Entry]] = {}
    for each in entries:
        if since <= each.time < until:
            name = getattr(each, by) if by else None
            parts.setdefault((int((each.time - since) // step_s), name), []).append(each)
    ordered = sorted(parts, key=lambda key: (key[0], key[1] is not None, key[1] or ""))
    return [_slice(since + key[0] * step_s, key[1], parts[key]) for key in ordered]


def _slice(start: float, name: str | None, part: list[Entry]) -> Slice:
    def rank(percent: int, values: Iterable[float]) -> float:
        return sorted(values)[ceil(len(part) * percent / 100) - 1]

    costs = [(each.usage.cost_usd, each.check_usage.cost_usd) for each in part]
    decisions = [each.decision for each in part]
    return Slice(
        start,
        name,
        len(part),
        {d: decisions.count(d) for d in ("consistent", "flagged", "inconclusive", "skipped")},
        sum(each.action == "block" for each in part),
        sum(each.action == "regenerate" for each in part),
        rank(50, [each.latency_s for each in part]),
        rank(95, [each.latency_s for each in part]),
        rank(50, [each.check_s for each in part]),
        rank(95, [each.check_s for each in part]),
        fsum(main or 0.0 for main, _ in costs) + fsum(check or 0.0 for _, check in costs),
        fsum(check or 0.0 for _, check in costs),
        sum(None in pair for pair in costs),
    )


def assert_same(ours: list[Slice], wanted: list[Slice]) -> None:
    assert len(ours) == len(wanted)
    for actual, other in zip(ours, wanted, strict=True):
        for field in fields(Slice):
            value: Any = getattr(other, field.name)
            # Sums of dollars depend on the order in their last digit.
            value = pytest.approx(value, rel=1e-12) if field.name.endswith("_usd") else value
            assert getattr(actual, field.name) == value, field.name


async def assert_all_same(path: Path | str, entries: Iterable[Entry], days: int = 1) -> None:
    chosen = list(entries)
    end = DAY + days * 86_400
    journal = journal_in(path)
    # The last begins where no rollup does.
    spans = [
        (DAY, end, 1800.0),
        (DAY, end, 43_200.0),
        (DAY, end, end - DAY),
        (DAY + 7, end, 3600.0),
    ]
    for since, until, step_s in spans:
        for by in BYS:
            ours = await journal.summary(since, until, step_s, by)
            assert_same(ours, expected(chosen, since, until, step_s, by))
    await journal.aclose()


VERDICTS = {d: make_verdict(d) for d in ("consistent", "flagged", "inconclusive", "skipped")}
COST = st.none() | st.floats(0, 10)


def _entry(
    decision: str, second: float, main: float | None, check: float | None, **given: Any
) -> Entry:
    costs = {"usage": Usage(1, cost_usd=main), "check_usage": Usage(1, cost_usd=check)}
    return entry(VERDICTS[decision], time=DAY + second, **costs, **given)


ENTRIES = st.builds(
    _entry,
    decision=st.sampled_from(list(VERDICTS)),
    # Half hours in which there are some, and where they meet.
    second=st.floats(0, 3 * HALF_HOUR)
    | st.sampled_from([0.0, 1799.9999998, 1800.0, 3600.0, 86_399.9]),
    main=COST,
    check=COST,
    model=st.sampled_from(["a", "b"]),
    policy=st.just("default"),
    tenant=st.sampled_from([None, "a", "Ä", "b"]),
    api=st.sampled_from(["chat", "check"]),
    action=st.sampled_from(["allow", "annotate", "block", "regenerate"]),
    latency_s=st.floats(0, 100),
    check_s=st.sampled_from([0.0, 0.5, 1.0]),
)


def test_figures_are_those_of_the_entries(tmp_path: Path) -> None:
    numbers = count()

    @settings(max_examples=15)
    @given(
        st.lists(st.lists(ENTRIES, min_size=1, max_size=12), min_size=1, max_size=3),
        st.none() | st.integers(1, 20),
    )
    def check(batches: list[list[Entry]], most: int | None) -> None:
        path = tmp_path / str(next(numbers)) / "journal.db"
        for batch in batches:
            # What comes later is of times of which there are rollups by then.
            run_sync(write_entries, path, batch)
        everything = [each for batch in batches for each in batch]
        assert buckets(path) == {int((each.time - DAY) // HALF_HOUR) for each in everything}
        if most is not None:
            journal = journal_in(path, max_entries=most)
            run_sync(journal.prune)
            run_sync(journal.aclose)
            everything = sorted(everything, key=lambda each: (each.time, each.id))[-most:]
        run_sync(assert_all_same, path, everything)

    check()


async def test_many_entries_have_the_same_percentiles(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    chance = random.Random(7)
    entries = [
        entry(
            VERDICTS["consistent"],
            time=DAY + i * 20.0,
            model=chance.choice("abc"),
            latency_s=chance.lognormvariate(0, 1),
            check_s=float(chance.randrange(3)),
        )
        for i in range(4300)
    ]
    journal = journal_in(path, max_waiting=5000)
    for each in entries:
        assert await journal.append(each)
    await journal.aclose()
    await assert_all_same(path, entries)


async def test_what_a_late_entry_makes_wrong_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    first, other = entry(time=DAY + 1, latency_s=1.0), entry(time=DAY + HALF_HOUR)
    await write_entries(path, [first, other])
    assert buckets(path) == {0, 1}
    journal = journal_in(path)
    assert await journal.append(entry(time=DAY + 5 * HALF_HOUR))
    await journal.flush()
    # It has looked for rollups to be made, and does not look again at once.
    late = entry(time=DAY + 2, latency_s=9.0)
    assert await journal.append(late)
    await journal.flush()
    assert 0 not in buckets(path)
    (whole,) = await journal.summary(DAY, DAY + HALF_HOUR, HALF_HOUR)
    assert (whole.entries, whole.latency_p50_s, whole.latency_p95_s) == (2, 1.0, 9.0)
    await journal.aclose()
    await write_entries(path, [entry(time=DAY + 6 * HALF_HOUR)])
    assert 0 in buckets(path)


def _some(count: int, start: int = 0) -> list[Entry]:
    return [
        _entry(
            list(VERDICTS)[i % 4],
            start + i * 400.0,
            None if i % 5 else 0.01 * i,
            0.02,
            tenant=(None, "a", "Ä")[i % 3],
            model="ab"[i % 2],
            latency_s=float(i * 7 % 13),
        )
        for i in range(count)
    ]


async def test_figures_in_postgresql_are_those_of_the_entries(postgres: PostgresServer) -> None:
    url = postgres.database()
    entries = _some(40)
    await write_entries(url, entries)
    done = {int((each.time - DAY) // HALF_HOUR) for each in entries}
    assert buckets(url) == done
    await assert_all_same(url, entries)
    # Late entries and deletions remove what they make wrong, and it is made again.
    journal = journal_in(url)
    now = entry(time=4_000_000_000.0)
    assert await journal.append(now)
    await journal.flush()
    late = _some(2, 13)
    for each in late:
        assert await journal.append(each)
    await journal.flush()
    assert buckets(url) == done - {0}
    await assert_all_same(url, [*entries, *late])
    await journal.forget(tenant="a")
    await journal.aclose()
    left = [each for each in (*entries, *late) if each.tenant != "a"]
    await assert_all_same(url, left)
    await write_entries(url, [replace(now, id="now")])
    assert buckets(url) == done
    await assert_all_same(url, left)


async def test_older_tables_of_postgresql_get_rollups(postgres: PostgresServer) -> None:
    url = postgres.database()
    entries = _some(20)
    await write_entries(url, entries)
    query_postgres(
        url,
        "DROP FUNCTION resay_journal_change CASCADE",
        "DROP TABLE resay_journal_rollups, resay_journal_changed",
        "ALTER TABLE resay_journal_sampled RENAME TO resay_journal_draws",
        "ALTER TABLE resay_journal_entries DROP COLUMN evidence",
        "UPDATE resay_journal_version SET version = 4",
    )
    await assert_all_same(url, entries)
    assert stored_rollups(url) == []
    new = entry(time=DAY + 80_000)
    await write_entries(url, [new])
    assert buckets(url) == {*range(5), 44}
    await assert_all_same(url, [*entries, new])


async def test_a_bucket_that_somebody_writes_to_is_left_for_later(
    postgres: PostgresServer,
) -> None:
    import psycopg

    url = postgres.database()
    first = _some(1)
    await write_entries(url, first)
    copied = "INSERT INTO resay_journal_entries SELECT 'copy', time, " + _REST
    with psycopg.connect(url) as slow:
        slow.execute(f"{copied} FROM resay_journal_entries".encode())
        await write_entries(url, [entry(time=DAY + HALF_HOUR)])
        # What is being written is not there yet, and its bucket has the rollup that it had.
        assert buckets(url) == {0, 1}
    assert buckets(url) == {1}
    await write_entries(url, [entry(time=DAY + 2 * HALF_HOUR)])
    assert buckets(url) == {0, 1, 2}
    (whole,) = await (journal := journal_in(url)).summary(DAY, DAY + HALF_HOUR, HALF_HOUR)
    assert whole.entries == 2
    await journal.aclose()


async def test_what_is_not_over_has_no_rollup(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    now = entry(time=4_000_000_000.0)
    await write_entries(path, [now, entry(time=DAY)])
    assert buckets(path) == {0}


async def test_latencies_are_kept_once_where_all_entries_have_one_name(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    await write_entries(path, [entry(time=DAY, model=model, tenant="t") for model in "ab"])
    assert set(stored_rollups(path)) == {
        (0, "", None, 0),
        (0, "model", "a", 0),
        (0, "model", "b", 0),
        (0, "policy", "default", 1),
        (0, "tenant", "t", 1),
        (0, "api", "check", 1),
    }


async def test_a_file_of_an_older_version_is_changed_in_place(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    entries = [
        entry(time=DAY + 600.0 * i, tenant="t" if i % 5 else None, latency_s=float(i % 7))
        for i in range(60)
    ]
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in MIGRATIONS[0]:
            connection.execute(statement)
        connection.execute(SET_VERSION, (1,))
        # As it was written then: as text.
        rows = [tuple(map(_plain, row_of(each, "none")[:-1])) for each in entries]
        connection.executemany(insert(1, COLUMNS), rows)
    journal = journal_in(path)
    listed = await journal.recent(100)
    assert [each.id for each in listed] == [each.id for each in reversed(entries)]
    assert listed[0].verdict == make_verdict().to_dict(content=False)
    assert len(await journal.recent(100, tenant="t")) == 48
    await journal.aclose()
    # Nothing was written yet, so all is read.
    assert stored_rollups(path) == []
    await assert_all_same(path, entries)
    new = entry(time=DAY + 80_000)
    await write_entries(path, [new])
    assert buckets(path) == {*range(20), 44}
    await assert_all_same(path, [*entries, new])


def _plain(value: object) -> object:
    return str(value) if isinstance(value, str) else value


async def test_a_large_old_file_gets_its_rollups_a_part_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    await write_entries(path, [entry(id="first", time=DAY)])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM resay_journal_rollups")
        connection.execute(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 25000)"
            f" INSERT INTO resay_journal_entries SELECT 'x' || n.i, time + n.i * 3.0, {_REST}"
            " FROM resay_journal_entries, n"
        )
        connection.commit()
    journal = journal_in(path)
    before = -1
    while before < len(buckets(path)):
        before = len(buckets(path))
        await journal.append(entry(time=DAY + 86_000))
        await journal.flush()
    assert buckets(path) - {47} == set(range(42))
    await journal.aclose()


_REST = (
    "request_id, model, policy, tenant, api, action, decision, score, reason, flagged, sentences,"
    " latency_s, check_s, main_calls, main_prompt_tokens, main_completion_tokens, main_cost_usd,"
    " main_cancelled, check_calls, check_prompt_tokens, check_completion_tokens, check_cost_usd,"
    " check_cancelled, verdict, question, evidence"
)


async def test_a_verdict_without_words_takes_little_room(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    await write_entries(path, [entry()], content="none")
    with closing(sqlite3.connect(path)) as connection:
        ((size,),) = connection.execute("SELECT length(verdict) FROM resay_journal_entries")
    assert size < len(json.dumps(make_verdict().to_dict(content=False))) / 3
    (only,) = await (journal := journal_in(path)).recent()
    assert only.verdict == make_verdict().to_dict(content=False)
    await journal.aclose()


async def test_a_tenant_is_found_without_a_look_at_all_entries(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    await write_entries(path, [entry(tenant="t")])
    with closing(sqlite3.connect(path)) as connection:
        plan = connection.execute(
            "EXPLAIN QUERY PLAN SELECT * FROM resay_journal_entries WHERE tenant = ?"
            " ORDER BY time DESC, id DESC LIMIT 50",
            ("t",),
        ).fetchall()
    assert [step[-1] for step in plan] == [
        "SEARCH resay_journal_entries USING INDEX resay_journal_by_tenant (tenant=?)"
    ]


@given(
    st.integers(0, 2**32),
    st.integers(1, 60),
    st.integers(1, 400),
    st.sampled_from([1, 2, 40, 10**6]),
    st.data(),
)
def test_the_value_of_a_rank_is_that_of_all_sorted(
    seed: int, runs: int, longest: int, values: int, data: st.DataObject
) -> None:
    chance = random.Random(seed)
    parts = [
        array(
            "d", sorted(float(chance.randrange(values)) for _ in range(chance.randint(1, longest)))
        )
        for _ in range(runs)
    ]
    everything = sorted(value for part in parts for value in part)
    ranks = [1, len(everything), data.draw(st.integers(1, len(everything)))]
    assert values_of_ranks(parts, ranks) == [everything[rank - 1] for rank in ranks]
