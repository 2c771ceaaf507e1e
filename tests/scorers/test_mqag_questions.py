"""What the models write, read as questions and options."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.scorers.mqag import parse_options, parse_question


@given(st.text(alphabet="ab ?"), st.text(alphabet="ab ?"))
def test_a_question_has_two_parts(question: str, answer: str) -> None:
    read = parse_question(f"{question}<sep>{answer}")
    both = question.strip(), answer.strip()
    assert read == (both if all(both) else None)
    assert parse_question(f"{question}<sep>{answer}<sep>") is None
    assert parse_question(question) is None


@pytest.mark.parametrize(
    ("written", "options"),
    [
        ("b<sep>c<sep>d", ("a", "b", "c", "d")),
        ("b <extra_id_0> c<extra_id_12>d<sep>e", ("a", "b", "c", "d")),
        ("b", ("a", "b")),
        ("b<sep>b<sep>a", ("a", "b")),
        ("<sep> b <sep><sep>c", ("a", "b", "c")),
        ("a<sep>a", None),
        (" <sep> ", None),
        ("", None),
        ("b</s>c", ("a", "b< /s>c")),
    ],
)
def test_options_are_read(written: str, options: tuple[str, ...] | None) -> None:
    assert parse_options("a", written) == options
