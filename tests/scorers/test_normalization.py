from __future__ import annotations

import json
from typing import Any

import pytest

from resay import Guard

# The same sentence in other characters.
PAIRS = [
    ("The part number is A‑12‑9.", "The part number is A-12-9."),
    ("It happened on 2024‑05‑17.", "It happened on 2024-05-17."),
    ("The café was founded by Zoe\u0308 Mu\u0308ller.", "The café was founded by Zoë Müller."),
    ("The gas is CO₂.", "The gas is CO2."),
    ("It was built in １９３２ by Ｓｍｉｔｈ.", "It was built in 1932 by Smith."),
    (
        "It was founded by Bern\u00adhard Katzen\u00adbach.",
        "It was founded by Bernhard Katzenbach.",
    ),
    ("He lived 1946–1952 in Rome.", "He lived 1946-1952 in Rome."),
    ("It weighs 5\u202f000\u00a0kg.", "It weighs 5 000 kg."),
    ("It’s O’Brien’s “Dog” album.", "It's O'Brien's \"Dog\" album."),
    ("He is 5′10″ tall.", "He is 5'10\" tall."),
    ("The oﬃce is in Fluﬀ Street.", "The office is in Fluff Street."),
    ("You need 2½ cups.", "You need 2 1/2 cups."),
    ("The lake has 20 ㎢.", "The lake has 20 km²."),
    ("It was −5 °C.", "It was -5 °C."),
    ("The tower—built in 1889—is tall.", "The tower - built in 1889 - is tall."),
    ("The 19ᵗʰ of March.", "The 19th of March."),
]
DIFFERENT = [
    ("The area is 10² metres.", "The area is 102 metres."),
    ("It was −5 degrees.", "It was 5 degrees."),
    ("You need 2½ cups.", "You need 21 cups."),
]


def scored(answer: str, sample: str, **policy: Any) -> float:
    guard = Guard({"sampling": {"min": 1}, **policy})
    verdict = guard.check(answer, samples=[sample] * 3, question="Tell me about it.")
    assert verdict.score is not None
    return verdict.score


@pytest.mark.parametrize("method", ["facts", "ngram"])
@pytest.mark.parametrize(("one", "other"), PAIRS)
@pytest.mark.all_turns
def test_the_same_in_other_characters_is_the_same(one: str, other: str, method: str) -> None:
    chain = [{"method": method}]
    same = scored(other, other, chain=chain)
    assert scored(one, other, chain=chain) == pytest.approx(same)
    assert scored(other, one, chain=chain) == pytest.approx(same)


@pytest.mark.parametrize("method", ["facts", "ngram"])
@pytest.mark.parametrize(("one", "other"), DIFFERENT)
@pytest.mark.all_turns
def test_texts_of_different_meaning_differ(one: str, other: str, method: str) -> None:
    chain = [{"method": method}]
    assert scored(one, other, chain=chain) > scored(other, other, chain=chain) + 0.3


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_documents_in_other_characters_support_a_claim(one: str, other: str) -> None:
    policy: dict[str, Any] = {"chain": [{"method": "references", "by": "words"}]}
    guard = Guard(policy)
    for answer, document in ((one, other), (other, one)):
        verdict = guard.check(answer, references=[f"An introduction. {document}"])
        assert verdict.decision == "consistent"


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_fields_in_other_characters_are_equal(one: str, other: str) -> None:
    form = {"type": "json_object"}
    guard = Guard({"sampling": {"min": 1}, "chain": [{"method": "facts"}]})
    verdict = guard.check(
        json.dumps({"name": one, "count": 1}),
        samples=[json.dumps({"name": other, "count": 1})] * 3,
        question="Fill in the form.",
        params={"response_format": form},
    )
    assert [sentence.score for sentence in verdict.sentences] == [0.0, 0.0]


def test_reasons_quote_the_text_as_it_is_written() -> None:
    guard = Guard({"sampling": {"min": 1}, "chain": [{"method": "facts"}]})
    verdict = guard.check(
        "It opened on 2024‑05‑17.",
        samples=["It opened on 2023‑06‑18."] * 3,
        question="When did it open?",
    )
    assert "2024‑05‑17" in str(verdict.claims[0].reason)
