from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.lang.detection import detect_from_words
from resay.lang.language import all_words
from resay.plugins import detect


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
        ("sv", "Bron är i norr och den är 300 meter."),
        ("sv", "Vem ritade bron?"),
        ("nl", "De man woont in een huis."),
        ("ja", "橋は1932年に開通した。"),
        ("zh", "这座桥在北部。"),
        # A name in kana, and a quotation in English
        ("zh", "这座桥由さくら建筑事务所在一九三二年设计并建造完成，至今仍在使用。"),
        ("ja", "「the bridge」はいつ開通しましたか。"),
        ("en", "The bridge is called 大橋."),
    ],
)
def test_the_language_is_that_of_the_script_or_the_common_words(language: str, text: str) -> None:
    assert detect(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Sydney 1932",
        # Its letters are those of no language with a table of words.
        "Η γέφυρα είναι στον βορρά.",
        # Languages without rules are not taken for their neighbours.
        "El pont és al nord i va ser construït per la ciutat.",
        # Danish and Norwegian are not taken for Swedish.
        "Broen er i nord og den blev bygget af byen.",
        "Jeg vet ikke når den åpner.",
        "Podul este în nord și a fost construit de oraș.",
    ],
)
def test_no_language(text: str) -> None:
    assert detect(text) is None


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
    assert detect_from_words(words) == language
    assert detect_from_words(words, unique=True) is None


def test_a_text_may_be_too_short() -> None:
    assert detect_from_words(["the", "bridge"]) == "en"
    assert detect_from_words(["the", "bridge"], min_words=2) is None
    assert detect_from_words(["the", "bridge", "was"], min_words=2) == "en"


@given(st.lists(st.sampled_from(sorted(all_words("words", "stop")))))
def test_neither_order_nor_repetition_matters(words: list[str]) -> None:
    assert detect_from_words(words) == detect_from_words([*reversed(words), *words])
