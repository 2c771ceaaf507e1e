"""Finds the words that negate a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.core.word_filter import WordFilter
from resay.lang.detection import detect_from_words
from resay.lang.language import all_words

_WORD: Final = lazy_pattern(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_NUMBER_AFTER_NO: Final = lazy_pattern(r"\.?\s{0,3}[#*_]{0,3}\d|\.\s?(?:[IVXL]{2,6}|[VX])\b")
# How many words after a negation may make it part of a phrase such as "not quite sure".
_PHRASE_WORDS: Final = 3


@cache
def _negations() -> frozenset[str]:
    verbs = all_words("negation", "contracted")
    contractions = {f"{verb}n{apostrophe}t" for verb in verbs for apostrophe in "'’"}
    return all_words("negation", "words") | contractions


@cache
def _parts_of_negations() -> frozenset[str]:
    # "isn't" may have been split.
    return _negations() | {"t"}


def may_negate(words: Sequence[str]) -> bool:
    """Quick check whether one of a sentence's lower-cased words may negate it."""
    return not _parts_of_negations().isdisjoint(words)


def _has_negation(word: str) -> bool:
    return not _parts_of_negations().isdisjoint(_WORD.findall(word))


may_contain_negation: Final = WordFilter(_has_negation).passes_any
"""Quick check whether `negations` may find any in a text with these lower-cased words."""


def negations(text: str) -> tuple[tuple[int, int], ...]:
    """Find negating words, as offsets in code points.

    "Not sure", "not only" and the like negate no claim and are left out.

    Args:
        text: Any text.
    """
    negating = _negations()
    if negating.isdisjoint(_WORD.findall(text.lower())):
        return ()
    matches = list(_WORD.finditer(text))
    words = [match[0].lower() for match in matches]
    spans: list[tuple[int, int]] = []
    is_portuguese: bool | None = None
    for index, word in enumerate(words):
        if word not in negating:
            continue
        following = words[index + 1 : index + 1 + _PHRASE_WORDS]
        if not all_words("negation", "not_before").isdisjoint(following):
            continue
        match = matches[index]
        if word == "no":
            # In Portuguese it means "in the", and before a digit it is short for "number".
            if is_portuguese is None:
                is_portuguese = detect_from_words(words) == "pt"
            if is_portuguese or _NUMBER_AFTER_NO.match(text, match.end()):
                continue
        spans.append(match.span())
    return tuple(spans)
