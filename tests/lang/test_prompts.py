"""The texts of prompts in the language files."""

from __future__ import annotations

from string import Formatter

import pytest
from pydantic import ValidationError

from resay.lang.language import languages, load
from resay.lang.tables import table
from resay.scorers.common.languages import AskedInConfig, choices_in

CODES = [language.code for language in languages() if language.has_prompts]


def fields_of(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("code", CODES)
def test_a_policy_may_name_each_language_that_has_prompts(code: str) -> None:
    assert AskedInConfig(language=code).language == code


def test_a_policy_may_not_name_a_language_without_prompts() -> None:
    with pytest.raises(ValidationError, match="'auto', 'en', 'de'"):
        AskedInConfig(language="nl")


@pytest.mark.all_turns
@pytest.mark.parametrize("code", CODES)
def test_each_language_has_all_prompts_with_their_fields(code: str) -> None:
    prompts = load(code).prompts
    assert fields_of(prompts.per_sample.again) == {"count"}
    assert fields_of(prompts.together.again) == {"count", "form"}
    together = prompts.together
    assert together.words in together.example
    assert together.quote in together.example
    assert all(
        name in together.rules for name in ("supported_by", "contradicted_by", "words", "quote")
    )
    assert "reason" in together.brief
    assert "JSON" in together.rules
    question = prompts.direct_question
    assert (question is None) is (code == "en")
    assert question is None or fields_of(question.question) == {"context", "claim"}


@pytest.mark.all_turns
@pytest.mark.parametrize("code", CODES)
def test_the_words_that_a_prompt_offers_are_read(code: str) -> None:
    words = load(code).prompts.answers
    choices = choices_in(code)
    for verdict, phrases in (
        ("supported", words.supported),
        ("contradicted", words.contradicted),
        ("not_mentioned", words.not_mentioned),
    ):
        assert {choices.whole(phrase) for phrase in phrases} == {verdict}
        assert phrases[0] in load(code).prompts.per_sample.rules


def test_a_table_that_a_language_does_not_have_is_empty() -> None:
    assert table("en", "nothing") == {}
