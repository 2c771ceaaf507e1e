"""What the models write, read as questions and options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Passage
from resay.scorers.mqag import ChoiceQuestion, parse_options, parse_question, write_questions


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


class Writer:
    """Writes the same from every prompt."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def max_input_tokens(self) -> None:
        return None

    async def generate(self, prompts: Sequence[str], **_: Any) -> list[list[str]]:
        return [[self._text] for _ in prompts]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("others", "questions"),
    [("Bob", [ChoiceQuestion(0, "Who?", ("Ann", "Bob"))]), ("Ann", []), ("", [])],
)
async def test_a_question_without_other_options_is_left_out(
    others: str, questions: list[ChoiceQuestion]
) -> None:
    first: Any = Writer("Who?<sep>Ann")
    second: Any = Writer(others)
    assert await write_questions(Passage.of("Ann built it."), first, second, 1, 0) == questions
