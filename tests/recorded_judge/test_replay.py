"""What a large model answered as the judge is read as it was meant."""

from __future__ import annotations

import pytest

from recorded_judge.replay import Task, check


@pytest.mark.parametrize(
    ("task", "wrong"),
    [
        ("actions", set[str]()),
        # It takes advice for a claim.
        ("documents", {"g6-54"}),
        # The salutation of a draft, which is no claim.
        ("conversation", {"c7-21"}),
    ],
)
def test_answers_are_flagged_as_a_large_model_judges(task: Task, wrong: set[str]) -> None:
    outcomes = check(task, "judge")
    assert {outcome.id for outcome in outcomes if outcome.flagged is outcome.is_clean} == wrong
    assert {outcome.requests for outcome in outcomes} <= {0, 1}
