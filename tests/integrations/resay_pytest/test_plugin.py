"""The fixture `assert_grounded`, as a test of an application uses it."""

from __future__ import annotations

import pytest

from resay_pytest import AssertGrounded

HANDBOOK = "The Garmo bridge opened in 1932. It is 212 m long."
QUESTION = "When did the Garmo bridge open?"


@pytest.mark.parametrize(
    "answer",
    [
        "It opened in 1932.",
        "I do not know.",
        "Das weiß ich leider nicht.",
        "I'm sorry, but I can't help with that. Please contact support.",
        "I do not know. It is 212 m long.",
    ],
)
def test_what_states_nothing_unfaithful_passes(
    answer: str, assert_grounded: AssertGrounded
) -> None:
    verdict = assert_grounded(answer, question=QUESTION, references=[HANDBOOK])
    assert verdict.decision in ("consistent", "skipped")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("It opened in 1942.", "the answer is flagged"),
        ("I do not know. It opened in 1942.", "the answer is flagged"),
        ("", "contains no words"),
        ("Thanks!", "claims nothing"),
    ],
)
def test_what_is_wrong_or_says_nothing_fails(
    answer: str, reason: str, assert_grounded: AssertGrounded
) -> None:
    with pytest.raises(pytest.fail.Exception, match=reason):
        assert_grounded(answer, question=QUESTION, references=[HANDBOOK])


def test_a_test_may_demand_an_answer(assert_grounded: AssertGrounded) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"claims nothing \(refusal\)"):
        assert_grounded(
            "I do not know.", question=QUESTION, references=[HANDBOOK], may_refuse=False
        )
