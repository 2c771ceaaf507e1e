"""Whatever ends a run, each row has one verdict in the end, and none is paid for twice."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from resay import ConfigurationError, Guard
from resay_lab.batch import Local, RowScorer, run_batch
from resay_lab.batch.rows import Row
from resay_lab.batch.scoring import Scored
from support.batch import (
    JUDGED,
    NGRAM,
    LoggingJudge,
    calls_of,
    finished_rows,
    killing,
    lines_of,
    made_rows,
    started,
    write_lines,
)

CALLS_A_ROW = 6


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "in.jsonl", made_rows(60))


# How often it is killed. Where there are no calls, rows are checked in processes.
@pytest.mark.parametrize(("kind", "often"), [("judged", 4), ("plain", 2), ("ray", 4)])
@pytest.mark.timeout(1200)
def test_killed_at_random_it_comes_to_the_same(
    source: Path, tmp_path: Path, kind: str, often: int
) -> None:
    if kind == "ray":
        pytest.importorskip("ray", reason="Ray is not installed; it is an extra of its own")
    whole, out, log = tmp_path / "whole.jsonl", tmp_path / "out.jsonl", tmp_path / "log"
    guard = Guard(NGRAM)
    if kind == "judged":
        guard = Guard(JUDGED, provider=LoggingJudge(tmp_path / "other"))
    run_batch(guard, source, whole, engine=Local(1))
    chance = random.Random(17)
    kills, paid = 0, dict[int, int]()
    with killing(kind, source, out, log) as go_on:
        while kills < (20 if os.environ.get("RESAY_TEST_BENCHES") else often):
            kept, before = finished_rows(out), len(calls_of(log))
            if not go_on(chance.randrange(2, 40), kills):
                # It came to its end: from the start again.
                assert out.read_bytes() == whole.read_bytes()
                out.unlink()
                (tmp_path / "out.jsonl.run").unlink()
                log.unlink(missing_ok=True)
                paid.clear()
                continue
            kills += 1
            for row in calls_of(log)[before:]:
                paid[row] = paid.get(row, 0) + 1
                assert row not in kept
        kept = finished_rows(out)
        assert not go_on(0, 0)
    assert out.read_bytes() == whole.read_bytes()
    assert not set(calls_of(log)[sum(paid.values()) :]) & kept


def test_the_command_ends_with_ctrl_c_and_goes_on(tmp_path: Path) -> None:
    rows = made_rows(6)
    source, out = write_lines(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl"
    code = f"""
import anyio
from pathlib import Path
from resay import Guard
from resay_lab.batch import Local, run_batch
from support.batch import JUDGED, LoggingJudge
class Held(LoggingJudge):
    async def complete(self, query, *, n=1):
        found = await super().complete(query, n=n)
        if "Bridge 4" in str(query.messages):
            print("held", flush=True)
            await anyio.sleep_forever()
        return found
guard = Guard(JUDGED, provider=Held(Path({str(tmp_path / "log")!r})))
summary = run_batch(guard, {str(source)!r}, {str(out)!r}, engine=Local(1, 1))
print(summary.stopped)
"""
    with started("-c", code) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read().split()[-1] == b"interrupted"
    assert process.returncode == 0
    assert finished_rows(out) == {0, 1, 2, 3}
    assert not out.exists()
    log = tmp_path / "more"
    summary = run_batch(Guard(JUDGED, provider=LoggingJudge(log)), source, out, resume=True)
    assert set(calls_of(log)) == {4, 5}
    assert (summary.tally.rows, summary.new, summary.stopped) == (6, 2, None)
    assert [row["name"] for row in lines_of(out)] == [row["name"] for row in rows]


@pytest.mark.parametrize("system", ["any", "without pthread_kill"])
def test_a_run_that_does_not_end_by_itself_is_interrupted(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    if system != "any":
        monkeypatch.delattr(signal, "pthread_kill")
    monkeypatch.setattr("resay_lab.batch.run._GRACE_S", 0.0)

    def stuck(scorer: RowScorer, rows: Iterator[Row]) -> Iterator[list[Scored]]:
        yield scorer.score([next(rows)])
        signal.raise_signal(signal.SIGINT)
        for _ in range(1000):
            threading.Event().wait(0.01)
        raise AssertionError("not interrupted")

    out = tmp_path / "out.jsonl"
    summary = run_batch(Guard(NGRAM), source, out, engine=stuck)
    assert summary.stopped == "interrupted"
    run_batch(Guard(NGRAM), source, out, engine=Local(1), resume=True)
    assert len(lines_of(out)) == 60


@pytest.mark.parametrize("limit", [{"max_calls": 30}, {"max_cost_usd": 0.030}])
def test_a_budget_of_the_whole_run_stops_it(source: Path, tmp_path: Path, limit: dict) -> None:
    out, log = tmp_path / "out.jsonl", tmp_path / "log"
    guard = Guard(JUDGED, provider=LoggingJudge(log))
    first = run_batch(guard, source, out, engine=Local(1, 4), **limit)
    assert first.stopped == "budget"
    assert first.tally.calls == len(calls_of(log)) == 30
    assert first.tally.cost_usd == pytest.approx(0.030)
    assert not out.exists()
    # What was spent counts on.
    again = run_batch(guard, source, out, engine=Local(1, 4), resume=True, **limit)
    assert (again.stopped, again.new, len(calls_of(log))) == ("budget", 0, 30)
    rest = run_batch(guard, source, out, resume=True)
    assert rest.stopped is None
    assert len(calls_of(log)) == 60 * CALLS_A_ROW
    assert len(lines_of(out)) == 60


def test_a_finished_run_is_not_done_again(source: Path, tmp_path: Path) -> None:
    out, log = tmp_path / "out.jsonl", tmp_path / "log"
    guard = Guard(JUDGED, provider=LoggingJudge(log))
    first = run_batch(guard, source, out)
    again = run_batch(guard, source, out, resume=True)
    assert again.tally == first.tally
    assert again.new == 0
    assert len(calls_of(log)) == 60 * CALLS_A_ROW
    with pytest.raises(ConfigurationError, match=r"exists; use --resume"):
        run_batch(guard, source, out)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"guard": Guard(NGRAM | {"threshold": {"passage": 0.4}})}, "a different policy"),
        ({"where": "lang == 'de'"}, "a different where"),
        ({"prefix": "resay_"}, "a different prefix"),
        ({"source": made_rows(3)}, "a different input"),
    ],
)
def test_what_is_resumed_must_be_the_same(
    source: Path, tmp_path: Path, changed: dict, said: str
) -> None:
    out = tmp_path / "out.jsonl"
    kept = {"guard": Guard(NGRAM), "source": source, "engine": Local(1)}
    run_batch(**kept, out=out)
    with pytest.raises(ConfigurationError, match=said):
        run_batch(**(kept | changed), out=out, resume=True)


def test_two_runs_do_not_write_one_file(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"

    def second(_: object) -> None:
        with pytest.raises(ConfigurationError, match="another run is writing"):
            run_batch(Guard(NGRAM), source, out, resume=True)

    run_batch(Guard(NGRAM), source, out, limit=3, on_progress=second)
    assert len(lines_of(out)) == 3


def test_a_finished_run_keeps_nothing_of_the_rows(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    run_batch(Guard(NGRAM), source, out, engine=Local(1), limit=50)
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", "out.jsonl", "out.jsonl.run"}
    stored = (tmp_path / "out.jsonl.run").read_bytes()
    assert b'"rows": 50' in stored
    assert b"Bridge" not in stored


@pytest.mark.parametrize("resume", [False, True])
def test_a_file_of_another_kind_is_kept(source: Path, tmp_path: Path, resume: bool) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("mine")
    with pytest.raises(ConfigurationError, match="exists"):
        run_batch(Guard(NGRAM), source, out, resume=resume)
    assert out.read_text() == "mine"
    out.unlink()
    run = tmp_path / "out.jsonl.run"
    run.write_text("mine, and long enough not to be taken for a database that is empty" * 20)
    with pytest.raises(ConfigurationError, match="not written by a batch run"):
        run_batch(Guard(NGRAM), source, out, resume=resume)
    assert run.read_text().startswith("mine")
