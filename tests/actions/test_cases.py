"""The figures of docs/actions.md."""

from __future__ import annotations

from collections.abc import Collection

from actions.formats import tools_of
from actions.judging import cases, judged
from resay import Guard
from support.judged_cases import Judged

GUARD = Guard({"chain": [{"method": "actions"}]})
OURS = ("dev", "test", "later")
NEW = ("new", "near misses", "others 1", "others 2", "others 3", "others 4", "others 5", "others 7")


def results_of(halves: Collection[str]) -> list[Judged]:
    return [
        judged(
            case,
            GUARD.check(case["answer"], question=case["messages"], params=tools_of(case)),
        )
        for case in cases()
        if case["half"] in halves
    ]


def shares(results: list[Judged]) -> tuple[float, float, float]:
    """Return the shares of what is found, of false alarms, and of answers right in all parts."""
    wrong = [result for result in results if not result.is_clean]
    clean = [result for result in results if result.is_clean]
    found = sum(result.flagged for result in wrong) / len(wrong)
    alarms = sum(result.flagged for result in clean) / len(clean)
    return found, alarms, sum(not result.mistakes for result in results) / len(results)


def test_what_is_not_done_is_found_and_what_is_done_is_not_flagged() -> None:
    results = results_of(OURS)
    assert len(results) == 301
    found, alarms, right = shares(results)
    assert found >= 0.9
    assert alarms == 0
    assert right >= 0.95


def test_answers_of_tools_and_wordings_that_others_thought_of_are_judged() -> None:
    results = results_of(NEW)
    assert len(results) == 877
    found, alarms, right = shares(results)
    assert found >= 0.735
    assert alarms == 0
    assert right >= 0.79
