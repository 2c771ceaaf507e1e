"""The load bench must see who is slow, and take no wrong answer for a figure."""

from __future__ import annotations

import json
import os
import stat
import sys
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from performance.__main__ import app
from performance.load import SUBJECTS, Setting, total
from performance.load_asking import Sent, Subject, body_of, problem_in
from performance.load_process import cpu_s, memory_mb, peak_mb, raise_file_limit
from performance.load_rows import Round, row_of, rows_of
from performance.load_servers import litellm_path, upstream
from performance.load_streams import Held, rows

_, PEER, OFF, GUARDED, *_ = SUBJECTS
STREAMED = next(s for s in SUBJECTS if s.streamed and s.policy == "ngram")
TINY = ["--rounds", "1", "--requests", "4", "--concurrency", "2"]
VERDICT = b'"hallucination": {"decision": "flagged", "score": 1.0, "samples": 3}'
END = b"\n\ndata: [DONE]\n\n"


def took(seconds: float, *problems: str | None, calls: int = 2) -> Round:
    return Round(seconds, tuple(Sent(seconds, p) for p in problems or (None, None)), 0.004, calls)


@pytest.mark.parametrize(
    ("subject", "status", "data", "problem"),
    [
        (GUARDED, 200, b"{" + VERDICT + b"}", None),
        (GUARDED, 502, b"{" + VERDICT + b"}", "status 502"),
        (GUARDED, 200, b"{}", "decisions []"),
        (GUARDED, 200, b"{" + VERDICT.replace(b"flagged", b"inconclusive") + b"}", "decisions ["),
        (GUARDED, 200, b"{" + VERDICT.replace(b"3}", b"2}") + b"}", "another number of samples"),
        (OFF, 200, b"{" + VERDICT + b"}", "decisions ['flagged']"),
        (OFF, 200, b"{" + VERDICT.replace(b"flagged", b"skipped") + b"}", None),
        (PEER, 200, b"{}", None),
        (PEER, 200, b"{" + VERDICT + b"}", "decisions ["),
        (STREAMED, 200, b"data: {" + VERDICT + b"}" + END, None),
        (STREAMED, 200, b"data: {" + VERDICT + b"}\n\n", "a stream without its end"),
        (STREAMED, 200, b"data: {" + VERDICT + b"}\n\ndata: {" + VERDICT + b"}" + END, "decisions"),
    ],
)
def test_an_answer_is_looked_at(
    subject: Subject, status: int, data: bytes, problem: str | None
) -> None:
    actual = problem_in(subject, status, data)
    assert (actual is None) if problem is None else (actual or "").startswith(problem)


def test_a_row_compares_rates_of_the_same_round() -> None:
    peer = [took(1.0), took(4.0), took(1.0)]
    row = row_of(OFF, [took(0.5), took(1.0), took(0.8)], peer)
    assert (row["ratio"], row["ratio_low"], row["ratio_high"]) == (2.0, 1.25, 4.0)
    assert (row["rate"], row["rate_low"], row["rate_high"]) == (2.5, 2.0, 4.0)
    assert (row["p50_ms"], row["p99_ms"], row["cpu_ms"], row["calls"]) == (800, 1000, 2.0, 1.0)
    assert (row["target"], row["met"], row["outcome"]) == (">= 2", True, "met")
    slower = row_of(OFF, [took(0.51)], [took(1.0)])
    assert (slower["met"], slower["outcome"]) == (False, "MISSED")


def test_answers_that_failed_are_no_rate() -> None:
    row = row_of(OFF, [took(0.1, None, "status 500", "status 500", None)], [took(1.0)])
    assert (row["rate"], row["failed"], row["outcome"]) == (20.0, 2, "MISSED")
    assert row["remark"] == "2 requests failed: 2 x status 500"
    nothing = row_of(GUARDED, [took(0.1, "status 500")], [took(1.0)])
    assert (nothing["rate"], nothing["p50_ms"], nothing["met"]) == (0.0, None, False)


def test_whoever_is_missing_has_a_row_that_says_so() -> None:
    ours = {s: [took(1.0)] for s in SUBJECTS if s.server != "litellm"}
    table = rows_of(SUBJECTS, ours, {"litellm": "skipped: not here"})
    assert [row["subject"] for row in table] == [subject.name for subject in SUBJECTS]
    assert [row["remark"] for row in table if row["skipped"]] == ["skipped: not here"] * 2
    assert all(row.get("ratio") is None and row.get("met") is None for row in table)


def test_only_the_same_call_is_compared() -> None:
    passed = next(s for s in SUBJECTS if s.name == "gateway, passed on")
    row = row_of(passed, [took(1.0)], [took(1.0)])
    assert (row["ratio"], row["target"], row["path"]) == (None, None, "/v1/messages/count_tokens")


def test_an_unknown_process_takes_nothing() -> None:
    own = os.getpid()
    if not Path("/proc/self/stat").exists():
        pytest.skip("no /proc")
    worked, held, peak = cpu_s(own), memory_mb(own), peak_mb(own)
    assert worked is not None
    assert held is not None
    assert peak is not None
    assert worked > 0
    assert 1 < held <= peak
    assert (cpu_s(2**30), memory_mb(2**30), peak_mb(2**30)) == (None, None, None)


def test_the_limit_of_files_is_never_lowered() -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert raise_file_limit(1) in (None, before[0])
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before


def test_the_proxy_is_the_one_that_is_named(tmp_path: Path) -> None:
    assert litellm_path(str(tmp_path / "litellm")) is None
    assert litellm_path(sys.executable) == sys.executable


def test_the_upstream_repeats_what_the_simulated_model_said(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    whole, streamed = body_of(GUARDED, 1), body_of(STREAMED, 1)
    with upstream("performance.load_upstream", {"kept": 2}, tmp_path / "log") as server:
        url = f"{server.url}/v1/chat/completions"
        texts = [httpx.post(url, content=whole).json()["choices"] for _ in range(5)]
        first, *others = [httpx.post(url, content=streamed) for _ in range(3)]
        unknown = httpx.post(f"{server.url}/v1/nothing", content=b"{}")
        asked = httpx.get(f"{server.url}/asked").json()
    # Two that differ, then the same again.
    assert texts[0] != texts[1]
    assert texts[2:] == [texts[0], texts[1], texts[0]]
    assert "Quarrel Point" in texts[0][0]["message"]["content"]
    assert first.headers["content-type"] == "text/event-stream"
    assert first.text.endswith("data: [DONE]\n\n")
    assert [other.text == first.text for other in others] == [False, True]
    assert unknown.status_code == 404
    assert asked == {"/v1/chat/completions": 8, "/v1/nothing": 1, "held": 0}


def test_everybody_is_measured(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    broken = tmp_path / "litellm"
    broken.write_text("#!/bin/sh\necho it is broken >&2\nexit 1\n")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    result = CliRunner().invoke(app, ["load", *TINY, "--json", "--litellm", str(broken)])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["setting"]["concurrency"] == 2
    table = document["rows"]
    assert [(r["subject"], r["answer"] == "streamed") for r in table] == [
        (subject.name, subject.streamed) for subject in SUBJECTS
    ]
    measured = [row for row in table if not row["skipped"]]
    assert {row["remark"] for row in table if row["skipped"]} == {
        "skipped: the LiteLLM proxy did not start: it is broken"
    }
    assert len(measured) == total(Setting(rounds=1)) - 2
    for row in measured:
        assert (row["failed"], row["requests"], row["remark"]) == (0, 4, None)
        assert row["calls"] == (2 if row["subject"] == GUARDED.name else 1)
        assert row["rate"] > 0


def test_without_a_client_the_bench_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    result = CliRunner().invoke(app, ["load", *TINY])
    assert result.exit_code == 0
    assert result.stderr.startswith("load skipped: ")


def test_streams_are_held_open_at_once() -> None:
    pytest.importorskip("aiohttp")
    result = CliRunner().invoke(app, ["load", "--streams", "6", "--json"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    held, whole, memory = document["rows"]
    assert (held["value"], held["target"], held["met"]) == (6.0, ">= 6", True)
    assert (whole["value"], whole["met"], whole["remark"]) == (6.0, True, None)
    assert memory["met"] in (True, None)


def test_streams_that_break_and_memory_that_grows_are_missed() -> None:
    good = Held(2, (Sent(1.0), Sent(1.0)), 80.0, 100.0, 1024.0)
    assert [row["met"] for row in rows(good, 2)] == [True, True, True]
    fewer = rows(replace(good, held=1), 2)
    assert [row["met"] for row in fewer] == [False, True, True]
    broken = rows(replace(good, sent=(Sent(1.0), Sent(1.0, "status 503"))), 2)
    assert [row["met"] for row in broken] == [True, False, True]
    assert broken[1]["remark"] == "1 x status 503"
    assert rows(replace(good, peak_mb=1024.5), 2)[2]["met"] is False
    assert rows(replace(good, peak_mb=None), 2)[2]["met"] is None


def test_too_many_streams_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("performance.load_streams.raise_file_limit", lambda _: 100)
    result = CliRunner().invoke(app, ["load", "--streams", "50"])
    assert result.exit_code == 0
    assert "load skipped: 50 streams take 406 open files, and 100 are allowed" in result.stderr
