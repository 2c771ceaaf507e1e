"""Earlier answers are compared with alike wherever the messages come from."""

from __future__ import annotations

import pytest

from actions.seams import SEAMS, asked_by
from conversation.judging import POLICY, cases
from resay import Guard

CHOSEN = (
    "year",
    "second-turn",
    "waterproof",
    "zh-year",
    "cart",
    "parcel",
    "corrected-self",
    "more",
)
GUARD = Guard(POLICY)


@pytest.mark.parametrize("name", SEAMS)
def test_every_seam_has_the_earlier_answers(name: str) -> None:
    chosen = [case for case in cases() if case["id"] in CHOSEN]
    assert len(chosen) == len(CHOSEN)
    with asked_by(name, POLICY) as ask:
        for case in chosen:
            by_guard = GUARD.check(case["answer"], question=case["messages"])
            by_seam = ask(case)
            assert by_seam.decision == by_guard.decision, case["id"]
            assert by_seam.flagged == bool(case["flag"]), case["id"]
            assert [claim.reason for claim in by_seam.claims] == [
                claim.reason for claim in by_guard.claims
            ]
