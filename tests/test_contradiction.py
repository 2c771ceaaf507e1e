from __future__ import annotations

from resay import Contradiction
from resay.contradiction import Contradictions
from resay.evidence import Sample

SAMPLES = [
    Sample(0, "The bridge opened in 1932. It has five million rivets."),
    Sample(1, "The bridge opened in 1932. It has nine million rivets."),
    Sample(2, "Kangaroos live in Australia."),
]


def test_the_nearest_other_sentence_is_found() -> None:
    found = Contradictions(SAMPLES).of("It has six million rivets.", [1, 2])
    assert found == Contradiction("sample", 1, "It has nine million rivets.")


def test_a_sentence_that_says_the_same_contradicts_nothing() -> None:
    found = Contradictions(SAMPLES[:1]).of("The bridge opened in 1932.")
    assert found is None or "1932" not in found.text


def test_what_is_about_something_else_is_not_quoted() -> None:
    assert Contradictions(SAMPLES).of("Marie Curie won two Nobel prizes.") is None
    assert Contradictions(SAMPLES).of("It has six million rivets.", [2]) is None


def test_without_samples_there_is_nothing() -> None:
    assert Contradictions([]).of("It has six million rivets.") is None


def test_references_say_so() -> None:
    found = Contradictions(SAMPLES[:1], "reference").of("It has six million rivets.")
    assert found is not None
    assert found.source == "reference"
