"""Tests that check answers. The second fails, and shows why."""

import pytest
from rows import ANSWERS, QUESTION, REFERENCE


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_answer_is_grounded(answer: str, assert_grounded) -> None:
    assert_grounded(answer, question=QUESTION, references=[REFERENCE])
