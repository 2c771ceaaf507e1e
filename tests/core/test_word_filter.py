"""Words are tested once each."""

from __future__ import annotations

from collections import Counter

import pytest

from resay.core import word_filter
from resay.core.word_filter import WordFilter


def test_each_word_is_tested_once() -> None:
    tested: Counter[str] = Counter()

    def is_long(word: str) -> bool:
        tested[word] += 1
        return len(word) > 3

    words = WordFilter(is_long)
    assert not words.passes_any(["a", "the", "a"])
    assert words.passes_any(["a", "mill"])
    assert words.passes_any(["the", "mill"])
    assert words.passes("mill")
    assert not words.passes("the")
    assert not words.passes_any([])
    assert set(tested.values()) == {1}


def test_it_forgets_words_rather_than_growing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_filter, "_MAX_WORDS", 4)
    words = WordFilter(str.isdigit)
    for number in range(20):
        assert words.passes(str(number))
        assert not words.passes(f"n{number}")
    remembered = vars(words)["_passed"] | vars(words)["_failed"]
    assert len(remembered) <= 4
