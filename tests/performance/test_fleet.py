"""The fleet bench must see what is lost, what comes twice and what was not checked."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from performance.__main__ import app
from performance.fleet import CALLS, PHASES, SAMPLES, Asked, Found, judge
from performance.soak_answers import Ended
from performance.soak_checks import Written
from performance.soak_plan import Plan
from support.postgres import binaries

KILLED, _, RESTARTED = PHASES
SCANNED = dict.fromkeys(range(3), SAMPLES)
KNOWN = ("flagged", "consistent", "consistent")
ASKED = [
    Asked(Ended(Plan(number, "chat"), "answered", decision), ended_s=100.0 + number)
    for number, decision in enumerate(KNOWN)
]
ENTRIES = [Written(one.ended.plan.request_id, "consistent", "default", None) for one in ASKED]


def judged(
    asked: list[Asked] = ASKED,
    entries: list[Written] = ENTRIES,
    samples: dict[int, int] = SCANNED,
    **about: object,
) -> list[str]:
    found = Found(KILLED, asked, most=CALLS)
    for name, value in about.items():
        setattr(found, name, value)
    return judge(found, entries, samples, CALLS)[1]


def changed(**about: object) -> list[Asked]:
    """Have the last request end otherwise."""
    return [*ASKED[:2], replace(ASKED[2], ended=replace(ASKED[2].ended, **about))]


def test_a_phase_in_which_all_went_well_has_no_problems() -> None:
    row, problems = judge(Found(KILLED, ASKED), ENTRIES, SCANNED, CALLS)
    assert problems == []
    counts = ("again", "lost", "wrong", "twice", "unscanned", "unchecked", "unwritten")
    assert [row[name] for name in counts] == [0] * 7
    assert row["requests"] == 3


@pytest.mark.parametrize("outcome", ["lost", "refused", "error"])
def test_a_request_without_an_answer_is_lost(outcome: str) -> None:
    [problem] = judged(changed(outcome=outcome, decision=None))
    assert "is lost" in problem


def test_a_wrong_answer_is_a_problem() -> None:
    assert "another request's" in judged(changed(problems=("it has another request's answer",)))[0]


def test_what_is_called_checked_was_checked() -> None:
    # What the upstream makes up is known, and so is what it does not.
    assert "is said to be flagged" in judged(changed(decision="flagged"))[0]
    assert "with 2 samples" in judged(samples={**SCANNED, 2: SAMPLES - 1})[0]
    assert "with 0 samples" in judged(samples={0: SAMPLES, 1: SAMPLES})[0]
    # To say that nobody looked is honest.
    assert judged(changed(decision="inconclusive"), samples={0: SAMPLES, 1: SAMPLES}) == []


def test_the_journal_has_each_request_once() -> None:
    assert "in the journal 2 times" in judged(entries=[*ENTRIES, ENTRIES[0]])[0]
    assert "is not in the journal" in judged(entries=ENTRIES[:2])[0]
    # A gateway that is killed takes along what it has not written yet.
    assert judged(entries=ENTRIES[:2], killed_s=[102.5]) == []
    assert "is not in the journal" in judged(entries=ENTRIES[:2], killed_s=[110.0])[0]


def test_more_calls_than_allowed_are_a_problem() -> None:
    assert judged(most=CALLS) == []
    assert f"{CALLS + 1} calls were under way" in judged(most=CALLS + 1)[0]


def test_no_attempt_fails_where_nobody_is_killed() -> None:
    again = [*ASKED[:2], replace(ASKED[2], failures=("lost",))]
    assert judged(again) == []
    assert "attempts failed" in judged(again, phase=RESTARTED)[0]


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
