"""The figures of docs/actions.md."""

from __future__ import annotations

from actions.judging import cases, judged
from resay import Guard

GUARD = Guard({"chain": [{"method": "actions"}]})


def test_what_is_not_done_is_found_and_what_is_done_is_not_flagged() -> None:
    results = [
        judged(case, GUARD.check(case["answer"], question=case["messages"])) for case in cases()
    ]
    assert len(results) == 301
    wrong = [result for result in results if not result.is_clean]
    clean = [result for result in results if result.is_clean]
    assert sum(result.flagged for result in wrong) >= 0.95 * len(wrong)
    assert sum(result.flagged for result in clean) <= 0.02 * len(clean)
    assert sum(not result.mistakes for result in results) >= 0.95 * len(results)
