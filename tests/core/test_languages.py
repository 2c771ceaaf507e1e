from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.core.languages import STOP_WORDS, guess_language, guess_language_of


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The bridge is in the north."),
        # "a", "do", "as", "no" and "i" are common words of other languages too.
        ("en", "How do I get a refund?"),
        ("en", "Do I need a visa?"),
        ("en", "Who won a Grammy?"),
        ("en", "When do you open?"),
        ("en", "I am on a diet. What do I eat?"),
        ("en", "What causes a rainbow?"),
        ("en", "You need a passport."),
        ("de", "Die Brücke ist nicht im Norden."),
        ("de", "Wann fährt der Bus?"),
        ("fr", "Le pont est dans le nord."),
        ("fr", "Combien coûte un billet ?"),
        ("es", "El puente está en el norte."),
        ("es", "¿Cuándo sale el tren?"),
        ("it", "Il ponte è nel nord."),
        ("it", "Quanto costa il biglietto?"),
        ("pt", "O rio tem uma ponte em São Paulo."),
        ("pt", "Qual o preço?"),
        ("nl", "De brug is niet in het noorden."),
        ("nl", "Hoe laat vertrekt de trein?"),
    ],
)
def test_the_language_is_that_of_the_most_common_words(language: str, text: str) -> None:
    assert guess_language_of(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Sydney 1932",
        "橋は1932年に開通した。",
        # Languages without rules are not taken for their neighbours.
        "El pont és al nord i va ser construït per la ciutat.",
        "Bron är i norr och den är 300 meter.",
        "Broen er i nord og den blev bygget af byen.",
        "Podul este în nord și a fost construit de oraș.",
    ],
)
def test_no_language(text: str) -> None:
    assert guess_language_of(text) is None


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Die Brücke misst 1.500 m.", "de"),
        ("Kostet der Bus etwas?", "de"),
        ("La tour mesure 1.500 m.", "fr"),
        ("El Teide mide 3.718 m.", "es"),
        ("in", "en"),
    ],
)
def test_of_equally_likely_languages_the_first_is_taken(text: str, language: str) -> None:
    words = re.findall(r"\w+", text.lower())
    assert guess_language(words) == language
    assert guess_language(words, unique=True) is None


def test_a_text_may_be_too_short() -> None:
    assert guess_language(["the", "bridge"]) == "en"
    assert guess_language(["the", "bridge"], fewest=2) is None
    assert guess_language(["the", "bridge", "was"], fewest=2) == "en"


@given(st.lists(st.sampled_from(sorted(frozenset[str]().union(*STOP_WORDS.values())))))
def test_neither_order_nor_repetition_matters(words: list[str]) -> None:
    assert guess_language(words) == guess_language([*reversed(words), *words])
