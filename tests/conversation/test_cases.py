"""The figures of docs/methods.md."""

from __future__ import annotations

from conversation.judging import cases, judged
from resay import Guard

GUARD = Guard({"chain": [{"method": "facts", "evidence": "conversation"}]})


IN_OTHER_WORDS = ("everyday", "reworded")


def test_contradictions_are_found_and_what_may_differ_is_not_flagged() -> None:
    results = [
        judged(case, GUARD.check(case["answer"], question=case["messages"])) for case in cases()
    ]
    clean = [result for result in results if result.is_clean]
    assert len(clean) >= 60
    assert not [result.case["id"] for result in clean if result.flagged]
    similar = [result for result in results if result.case["half"] not in IN_OTHER_WORDS]
    wrong = [result for result in similar if not result.is_clean]
    assert len(wrong) >= 60
    assert sum(result.flagged for result in wrong) >= 0.9 * len(wrong)
    assert sum(not result.mistakes for result in similar) >= 0.95 * len(similar)
