"""The fleet bench must see what is lost, what comes twice and what was not checked."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from performance.__main__ import app
from performance.fleet import CALLS, PHASES, SAMPLES, FinishedRequest, PhaseLog, judge_phase
from performance.soak_answers import Ended
from performance.soak_checks import Written
from performance.soak_plan import Plan
from support.postgres import binaries

KILLED, _, RESTARTED = PHASES
SCANNED = dict.fromkeys(range(3), SAMPLES)
DECISIONS = ("flagged", "consistent", "consistent")
REQUESTS = [
    FinishedRequest(Ended(Plan(number, "chat"), "answered", decision), ended_s=100.0 + number)
    for number, decision in enumerate(DECISIONS)
]
ENTRIES = [
    Written(request.end.plan.request_id, "consistent", "default", None) for request in REQUESTS
]


def problems_of(
    requests: list[FinishedRequest] = REQUESTS,
    entries: list[Written] = ENTRIES,
    samples: dict[int, int] = SCANNED,
    **fields: object,
) -> list[str]:
    log = PhaseLog(KILLED, requests, most_calls=CALLS)
    for name, value in fields.items():
        setattr(log, name, value)
    return judge_phase(log, entries, samples, CALLS)[1]


def with_last_end(**fields: object) -> list[FinishedRequest]:
    """Return the requests with other fields in the end of the last one."""
    *others, last = REQUESTS
    return [*others, replace(last, end=replace(last.end, **fields))]


def test_a_phase_in_which_all_went_well_has_no_problems() -> None:
    row, problems = judge_phase(PhaseLog(KILLED, REQUESTS), ENTRIES, SCANNED, CALLS)
    assert problems == []
    counts = ("again", "lost", "wrong", "twice", "unscanned", "unchecked", "unwritten")
    assert [row[name] for name in counts] == [0] * 7
    assert row["requests"] == 3


@pytest.mark.parametrize("outcome", ["lost", "refused", "error"])
def test_a_request_without_an_answer_is_lost(outcome: str) -> None:
    [problem] = problems_of(with_last_end(outcome=outcome, decision=None))
    assert "is lost" in problem


def test_a_wrong_answer_is_a_problem() -> None:
    assert (
        "another request's"
        in problems_of(with_last_end(problems=("it has another request's answer",)))[0]
    )


def test_an_answer_called_checked_was_checked() -> None:
    # Which answers the upstream invents is known.
    assert "is said to be flagged" in problems_of(with_last_end(decision="flagged"))[0]
    assert "with 2 samples" in problems_of(samples={**SCANNED, 2: SAMPLES - 1})[0]
    assert "with 0 samples" in problems_of(samples={0: SAMPLES, 1: SAMPLES})[0]
    # `inconclusive` is honest without samples.
    assert (
        problems_of(with_last_end(decision="inconclusive"), samples={0: SAMPLES, 1: SAMPLES}) == []
    )


def test_the_journal_has_each_request_once() -> None:
    assert "in the journal 2 times" in problems_of(entries=[*ENTRIES, ENTRIES[0]])[0]
    assert "is not in the journal" in problems_of(entries=ENTRIES[:2])[0]
    # Entries that a killed gateway had not written yet are lost.
    assert problems_of(entries=ENTRIES[:2], killed_s=[102.5]) == []
    assert "is not in the journal" in problems_of(entries=ENTRIES[:2], killed_s=[110.0])[0]


def test_more_calls_than_allowed_are_a_problem() -> None:
    assert problems_of(most_calls=CALLS) == []
    assert f"{CALLS + 1} calls were under way" in problems_of(most_calls=CALLS + 1)[0]


def test_no_attempt_fails_where_nobody_is_killed() -> None:
    retried = [*REQUESTS[:2], replace(REQUESTS[2], failures=("lost",))]
    assert problems_of(retried) == []
    assert "attempts failed" in problems_of(retried, phase=RESTARTED)[0]


@pytest.mark.timeout(600)
def test_a_small_one_loses_nothing() -> None:
    pytest.importorskip("aiohttp")
    for program in ("redis-server", "nginx"):
        if shutil.which(program, path="/usr/bin:/usr/sbin:/usr/local/bin") is None:
            pytest.skip(f"{program} is not installed")
    if binaries() is None:
        pytest.skip("PostgreSQL is not installed")
    words = ["--requests", "150", "--kills", "1", "--outage-s", "2", "--json"]
    result = CliRunner().invoke(app, ["fleet", *words])
    document = json.loads(result.stdout)
    assert (result.exit_code, document["problems"]) == (0, [])
    assert [row["requests"] for row in document["rows"]] == [60, 60, 30]
    assert [row["stopped"] for row in document["rows"]] == [1, 1, 3]
    assert document["rows"][1]["away_s"] >= 2
