"""Engines: all come to the same, and lose no row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio.lowlevel
import pytest

from resay import ConfigurationError, Guard, ScorerError
from resay_lab.batch import Engine, Local, Ray, Row, RowScorer, Scored, engine_of, run_batch
from resay_lab.batch.engines import default_concurrency
from resay_lab.batch.estimate import estimate
from support.batch import JUDGED, NGRAM, LoggingJudge, calls_of, lines_of, made_rows

ROWS = made_rows(120)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    out = tmp_path_factory.mktemp("expected") / "out.jsonl"
    run_batch(Guard(NGRAM), ROWS, out, engine=Local(1))
    return out.read_bytes()


@pytest.mark.parametrize("engine", [engine_of("local", workers=2), "support.batch:one_by_one"])
def test_engines_come_to_the_same(tmp_path: Path, expected: bytes, engine: str | Engine) -> None:
    summary = run_batch(Guard(NGRAM), ROWS, tmp_path / "out.jsonl", engine=engine)
    assert (tmp_path / "out.jsonl").read_bytes() == expected
    assert summary.tally.decisions == {"flagged": 40, "consistent": 80}


@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("ignore")  # Ray warns of what it does itself
def test_ray_comes_to_the_same(tmp_path: Path, expected: bytes) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed; it is an extra of its own")
    try:
        run_batch(Guard(NGRAM), ROWS, tmp_path / "out.jsonl", engine=Ray(2, window=50))
    finally:
        ray.shutdown()
    assert (tmp_path / "out.jsonl").read_bytes() == expected


def test_a_row_that_ends_its_process_costs_no_other(tmp_path: Path) -> None:
    rows = [{"response": "This one is deadly." if i == 70 else f"It has {i}."} for i in range(100)]
    guard = Guard({"chain": [{"method": "support.batch:Deadly"}]})
    run_batch(guard, rows, tmp_path / "out.jsonl", engine=Local(2))
    found = lines_of(tmp_path / "out.jsonl")
    assert [row["response"] for row in found] == [row["response"] for row in rows]
    errors = {i: row["error"] for i, row in enumerate(found) if row["error"]}
    assert errors == {70: "ScorerError: the worker process exited"}


def test_what_asks_batch_apis_has_many_rows_wait_and_costs_half(tmp_path: Path) -> None:
    prices = {"openai/judge": {"input": 1.0, "output": 1.0}}
    live = {"chain": [{"method": "prompt"}], "prices": prices}
    batched = live | {"calls": {"via": "batch", "state": str(tmp_path / "state.db")}}
    rows = [{"response": "It has 3.", "samples": ["It has 3.", "It has 4.", "It has 5."]}]
    scorers = [RowScorer(Guard(policy, model="openai/judge")) for policy in (live, batched)]
    few, many = map(default_concurrency, scorers)
    assert many > 50 * few
    one, half = (estimate(scorer.guard, rows).cost_usd for scorer in scorers)
    assert one
    assert half == pytest.approx([cost / 2 for cost in one])


def test_calls_are_made_in_this_process(tmp_path: Path) -> None:
    log = tmp_path / "log"
    running = most = 0

    class Counting(LoggingJudge):
        async def complete(self, query: Any, *, n: int = 1) -> Any:
            nonlocal running, most
            running += 1
            most = max(most, running)
            try:
                await anyio.lowlevel.checkpoint()
                return await super().complete(query, n=n)
            finally:
                running -= 1

    guard = Guard(JUDGED | {"limits": {"process": {"concurrency": 3}}}, provider=Counting(log))
    run_batch(guard, ROWS, tmp_path / "out.jsonl", engine=Local(2, 5))
    # The policy's limit for a process holds for the whole run.
    assert most == 3
    assert sorted(set(calls_of(log))) == list(range(120))


def test_an_engine_may_fail(tmp_path: Path) -> None:
    def failing(scorer: RowScorer, rows: Iterator[Row]) -> Iterator[list[Scored]]:
        yield scorer.score([next(rows)])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_batch(Guard(NGRAM), ROWS, tmp_path / "out.jsonl", engine=failing)
    rest = run_batch(Guard(NGRAM), ROWS, tmp_path / "out.jsonl", engine=Local(1), resume=True)
    assert (rest.tally.rows, rest.new) == (120, 119)


def test_an_engine_that_loses_rows_is_found_out(tmp_path: Path) -> None:
    def losing(scorer: RowScorer, rows: Iterator[Row]) -> Iterator[list[Scored]]:
        yield scorer.score(row for row in rows if row.number % 60)

    with pytest.raises(ScorerError, match="2 rows produced no result"):
        run_batch(Guard(NGRAM), ROWS, tmp_path / "out.jsonl", engine=losing)
    assert not (tmp_path / "out.jsonl").exists()
    run_batch(Guard(NGRAM), ROWS, tmp_path / "out.jsonl", resume=True)
    assert len(lines_of(tmp_path / "out.jsonl")) == 120


def test_rows_that_cannot_be_read_end_the_run(tmp_path: Path) -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield from ROWS
        raise ZeroDivisionError

    for number, guard in enumerate(
        (Guard(NGRAM), Guard(JUDGED, provider=LoggingJudge(tmp_path / "log")))
    ):
        with pytest.raises(ZeroDivisionError):
            run_batch(guard, broken(), tmp_path / f"{number}.jsonl", engine=Local(2, 2))


def test_a_guard_that_exists_here_only_is_refused(tmp_path: Path) -> None:
    guard = Guard(NGRAM, on_verdict=lambda _: None)
    with pytest.raises(ConfigurationError, match="cannot pickle this guard"):
        run_batch(guard, ROWS, tmp_path / "out.jsonl", engine=Local(2))
    assert run_batch(guard, ROWS, tmp_path / "one.jsonl", engine=Local(1)).tally.rows == 120


@pytest.mark.parametrize("name", ["spark", "no_such_module:engine", "local:"])
def test_there_are_no_other_engines(name: str) -> None:
    with pytest.raises(ConfigurationError):
        engine_of(name)
