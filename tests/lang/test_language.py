"""What is known of each language."""

from __future__ import annotations

import re
import sys
import unicodedata
from dataclasses import FrozenInstanceError
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from resay.core.quantities.words import CJK_UNITS, UNITS
from resay.errors import ConfigurationError
from resay.lang.language import all_phrases, languages, load, stop_words
from resay.lang.tables import codes, table
from resay.scorers.common.choices import fold

TOML: Any = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
SOURCES = Path(__file__).resolve().parents[2] / "src" / "resay"


def test_a_language_is_loaded_once_and_does_not_change() -> None:
    swedish = load("sv")
    assert load("sv") is swedish
    with pytest.raises(FrozenInstanceError):
        swedish.code = "no"  # pyright: ignore[reportAttributeAccessIssue]


def test_a_language_without_a_file_is_named() -> None:
    with pytest.raises(
        ConfigurationError, match="there is no language 'xx'; use one of 'ar', 'bn'"
    ):
        load("xx")


def test_a_language_without_prompts_is_named() -> None:
    with pytest.raises(
        ConfigurationError, match="there are no prompts in 'nl'; use one of 'de', 'en'"
    ):
        _ = load("nl").prompts


def test_each_part_of_a_language_can_be_read() -> None:
    for language in languages():
        has_words = any(table(language.code, name) for name in ("judge", "sentence_ends"))
        assert has_words or language.common_words or language.phrases or language.has_prompts
        assert language.common_words >= language.stop_words
        assert "{}" in language.sentences.no_answer_in_documents


def test_a_language_without_rules_has_no_stop_words() -> None:
    assert "og" in load("da").common_words
    assert stop_words("da") == stop_words("xx") == frozenset()
    assert "och" in stop_words("sv")


def test_every_list_of_words_is_read() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py"))
    read = set(re.findall(r"""["']([a-z_]+)["']""", source))
    subjects = ("words", "numbers", "negation", "comparison", "claims", "questions", "judge")
    for subject in (*subjects, "sentence_ends", "context", "citations"):
        for language in languages():
            assert table(language.code, subject).keys() <= read


def test_a_table_is_what_the_whole_file_says() -> None:
    for code in codes():
        text = (SOURCES / "lang" / f"{code}.toml").read_text(encoding="utf-8")
        tables: dict[str, Any] = TOML.loads(text)
        for name, entries in tables.items():
            assert table(code, name) == entries
        assert table(code, "nothing") == {}


def test_every_unit_is_read() -> None:
    for language in languages():
        for words in language.units.values():
            assert UNITS.keys() >= set(words.split())
        for words in language.unspaced_units.values():
            assert CJK_UNITS.keys() >= set(words.split())


def test_a_word_that_needs_to_be_the_whole_answer_does_so_in_every_language() -> None:
    clear = all_phrases("judge", "yes") | all_phrases("judge", "no")
    assert clear.isdisjoint(all_phrases("judge", "yes_alone") | all_phrases("judge", "no_alone"))


def test_the_words_of_judges_are_in_lower_case() -> None:
    for name in ("yes", "yes_alone", "no", "no_alone", "supported", "contradicted", "true"):
        for phrase in all_phrases("judge", name):
            assert phrase == unicodedata.normalize("NFC", fold(phrase))
