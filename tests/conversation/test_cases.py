"""The figures of docs/methods.md."""

from __future__ import annotations

from conversation.judging import cases, judged
from resay import Guard

GUARD = Guard({"chain": [{"method": "facts", "evidence": "conversation"}]})


def test_contradictions_are_found_and_what_may_differ_is_not_flagged() -> None:
    results = [
        judged(case, GUARD.check(case["answer"], question=case["messages"])) for case in cases()
    ]
    wrong = [result for result in results if not result.is_clean]
    clean = [result for result in results if result.is_clean]
    assert len(wrong) >= 60
    assert len(clean) >= 60
    assert sum(result.flagged for result in wrong) >= 0.9 * len(wrong)
    assert not [result.case["id"] for result in clean if result.flagged]
    assert sum(not result.mistakes for result in results) >= 0.95 * len(results)
