from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.errors import ConfigurationError
from resay.testing import Invention, Subject, World

ORCHARD = Subject(
    "Ombra Orchard",
    ("the Orchard",),
    (
        ("Ombra Orchard was planted in 1804.", "In 1804 Ombra Orchard was planted."),
        "It grows pears.",
    ),
    (
        Invention("It has {number:200-300} trees, set by {person} of {place}."),
        Invention("The best harvest was in {month} {year:1900-1910}."),
    ),
)
WORLD = World([ORCHARD, Subject("Ombra", facts=("Ombra is a valley.",))])


def say(question: str, seed: int = 0, world: World = WORLD, **given: object) -> str:
    return world.answer(question, random.Random(seed), **given).text


def test_known_facts_are_in_every_answer_and_inventions_change() -> None:
    answers = [WORLD.answer("Tell me about Ombra Orchard.", random.Random(i)) for i in range(20)]

    for answer in answers:
        facts = [s.text for s in answer.statements if not s.invented]
        assert facts[0] in ORCHARD.facts[0]
        assert facts[1:] == ["It grows pears."]
        assert any(s.invented for s in answer.statements)
        assert answer.statements[0].text == facts[0]
    assert len({s.text for answer in answers for s in answer.statements if s.invented}) > 20
    assert len({answer.statements[0].text for answer in answers}) == 2


def test_the_same_generator_state_gives_the_same_text() -> None:
    assert say("Ombra Orchard?", 5) == say("Ombra Orchard?", 5) != say("Ombra Orchard?", 6)


@pytest.mark.parametrize("subject", World.default().subjects, ids=lambda subject: subject.name)
def test_the_default_world_says_three_to_six_sentences(subject: Subject) -> None:
    for seed in range(10):
        answer = World.default().answer(f"Tell me about {subject.name}.", random.Random(seed))
        assert 3 <= len(answer.statements) <= 6
        assert subject.name in answer.statements[0].text


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("What do you know about the orchard?", "Ombra Orchard was planted in 1804."),
        ("Is OMBRA  ORCHARD in Ombra, at Ombra Orchard road?", "Ombra Orchard was planted"),
        ("Where is Ombra?", "Ombra is a valley."),
        ("Is Ombrage a word?", "Thank you for asking about Ombrage; "),
        ("Describe the Zubrowka Treaty.", "Thank you for asking about Zubrowka Treaty; "),
        (
            "Use the documents.\n\nWho was Zebulon Quist?",
            "Thank you for asking about Zebulon Quist",
        ),
        ("what is the history of glass?", "Thank you for asking about history glass; "),
        ("", "Thank you for asking about this subject; "),
    ],
)
def test_the_question_decides_the_subject(question: str, start: str) -> None:
    seed = next(s for s in range(50) if say("Ombra Orchard", s).startswith("Ombra Orchard was"))

    assert say(question, seed).startswith(start)


def test_a_question_without_a_subject_is_about_the_last_one_named() -> None:
    answer = say("How many trees?", before=["What is Ombra?", "And Ombra Orchard?", "Nice."])

    assert "It grows pears." in answer


def test_an_unknown_subject_gets_one_known_sentence_and_made_up_ones() -> None:
    first = World().answer("Who was Zebulon Quist?", random.Random(1))
    other = World().answer("Who was Zebulon Quist?", random.Random(2))

    assert [s.invented for s in first.statements].count(False) == 1
    assert first.statements[0] == other.statements[0]
    assert set(first.statements[1:]).isdisjoint(other.statements[1:])
    assert len(first.statements) >= 3


def test_what_the_model_is_told_takes_the_place_of_what_it_would_make_up() -> None:
    context = "Answer from this:\n[1] It has 250 trees, all set by hand.\n[2] The best harvest?"
    answers = [
        WORLD.answer("Ombra Orchard", random.Random(i), context=context).statements
        for i in range(20)
    ]

    texts = [s.text for answer in answers for s in answer if s.text.startswith("It has")]
    assert texts
    assert set(texts) == {"It has 250 trees, all set by hand."}
    assert any(s.invented and s.text.startswith("The best") for a in answers for s in a)


@given(seed=st.integers(), low=st.integers(0, 2000), width=st.integers(0, 2000))
def test_ranges_hold(seed: int, low: int, width: int) -> None:
    sentence = Invention(f"{{number:{low}-{low + width}}} and {{year:{low}-{low + width}}}.").say(
        random.Random(seed)
    )

    number, year = re.fullmatch(r"([\d,]+) and (\d+)\.", sentence).groups()  # type: ignore[union-attr]  # fails the test if None
    assert low <= int(number.replace(",", "")) <= low + width
    assert low <= int(year) <= low + width


@pytest.mark.parametrize(
    ("build", "problem"),
    [
        (lambda: Invention("It has rivets."), "makes nothing up"),
        (lambda: Invention("It has {rivets} rivets."), "unknown slot 'rivets'"),
        (lambda: Invention("By {person:1-2}."), "unknown slot 'person'"),
        (lambda: Invention("In {year:1900-1800}."), "range 1900-1800 is empty"),
        (lambda: Subject(" ", facts=("A.",)), "empty name"),
        (lambda: Subject("A", ("",), ("A.",)), "empty name or alias"),
        (lambda: Subject("A"), "nothing to say about 'A'"),
        (lambda: Subject("A", facts="A fact."), "one string"),
    ],
)
def test_what_cannot_work_is_refused_with_the_value(build, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(problem)):
        build()
