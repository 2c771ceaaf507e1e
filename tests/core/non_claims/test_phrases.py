from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Passage
from resay.core.claims import Rules, is_single_sentence
from resay.core.non_claims.forms import Act
from resay.core.non_claims.phrases import CompiledPhrases, compiled_languages
from resay.core.non_claims.sentences import languages_of
from resay.lang.phrases import Phrases


def read_table(what: str) -> list[tuple[str, str]]:
    """Read the questions and sentences of `phrases.tsv` that claim nothing, or claim something."""
    table = Path(__file__).with_name("phrases.tsv").read_text(encoding="utf-8")
    rows = (row.split("\t") for row in table.splitlines())
    return [(question, sentence) for kind, question, sentence in rows if kind == what]


def kinds(text: str, question: str) -> set[str]:
    passage = Passage.of(text)
    rules = Rules(question, strict=True)
    alone = is_single_sentence(passage)
    claims = [rules.read(s, index, alone=alone) for index, s in enumerate(passage.sentences)]
    return {claim.kind for of_sentence in claims for claim in of_sentence}


@pytest.mark.parametrize(("question", "text"), read_table("nothing"))
def test_talk_about_the_conversation_claims_nothing(question: str, text: str) -> None:
    assert kinds(text, question) <= {"filler", "refusal", "question"}


@pytest.mark.parametrize(("question", "text"), read_table("claim"))
def test_statements_and_presuppositions_about_the_world_are_claims(
    question: str, text: str
) -> None:
    assert kinds(text, question) & {"fact", "hedged"}


@pytest.mark.parametrize("known", [True, False])
def test_presuppositions_of_the_question_are_no_claims(known: bool) -> None:
    question = "How many convictions does Ada Moor have?" if known else "Who is Ada Moor?"
    expected = {"refusal"} if known else {"fact"}
    assert kinds("I can't discuss her convictions.", question) == expected


def test_a_pattern_may_span_lines() -> None:
    pattern = """
    hello(?: (?:there
      |again))?
    | good (?:book|film)
    """
    polite = CompiledPhrases(Phrases(polite=pattern)).acts["polite"]
    texts = ["hello", "hello there", "hello again", "good film", "good", "there", "| good film"]
    matches = [text for text in texts if polite.fullmatch(text)]
    assert matches == ["hello", "hello there", "hello again", "good film"]


def test_a_word_may_be_in_several_classes_by_its_beginning_and_its_end() -> None:
    own = CompiledPhrases(Phrases(document="contract* *letter", deed="contract", held="contracted"))
    assert own.classes("contract") == {"document", "deed"}
    assert own.classes("contracted") == {"document", "held"}
    assert own.classes("newsletter") == {"document"}
    assert own.classes("murder") == frozenset()


def test_every_language_has_every_act() -> None:
    assert all(set(each.acts) == set(get_args(Act)) for each in compiled_languages())


@given(
    st.lists(
        st.sampled_from(
            ["no", "the", "der", "nicht", "que", "это", "не", "は", "Zanzibar", "x" * 60, "ok", "1"]
        ),
        max_size=8,
    ).map(" ".join)
)
def test_a_text_may_be_in_the_languages_with_most_of_its_words(text: str) -> None:
    counts = {
        language: sum(language.is_empty(word) for word in text.split())
        for language in compiled_languages()
        if language.letters.search(text)
    }
    most = max((counts[language] for language in counts if language.has_classes), default=0)
    expected = [one for one in counts if counts[one] == most or not one.has_classes]
    assert languages_of(text) == expected
