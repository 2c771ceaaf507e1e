"""Stems for comparing words, and detection of yes-or-no questions, languages and order.

Common words are dropped, and only the part that the forms of a word share is compared.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.lang.language import all_alternatives, all_words

_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    # Korean has spaces, but attaches particles to its words.
    r"\uac00-\ud7af"
)
_IS_UNSPACED = lazy_pattern(rf"[{_UNSPACED}]")
# The quick pattern; \w does not match the vowel signs of Indic scripts, _ANY_WORD does.
WORD = lazy_pattern(r"[^\W_]+(?:[.&_-][^\W_]+)*")
_SIGNS = r"\u0300-\u036f\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
_HAS_SIGNS = lazy_pattern(rf"[{_SIGNS}{_UNSPACED}]")
_ANY_WORD = lazy_pattern(
    rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}](?:[^\W{_UNSPACED}]|[.&-](?=[^\W_])|[{_SIGNS}])*"
)
_ENDINGS: Final = (
    "ungen", "ings", "ung", "ing", "edly", "ers", "est", "ed", "er", "en", "em", "es", "ly", "s",
    "e",
)  # fmt: skip
_STEM_CHARS = 6


def ignored_words() -> frozenset[str]:
    """Return the words of all languages that are dropped."""
    return all_words("comparison", "ignored")


def _stem(word: str) -> str:
    """Reduce a lower-case word of any language to the part that its forms share."""
    if len(word) <= 3:
        return word
    if word.startswith("ال") and len(word) > 4:
        word = word[2:]
    if word.endswith(_ENDINGS):
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= 4:
                word = word[: -len(ending)]
                break
    return word[:_STEM_CHARS] if word.isalpha() else word


@lru_cache(16_384)
def word_stems(word: str) -> tuple[str, ...]:
    """Return the stems of a lower-case word.

    Common words have none; scripts without spaces yield pairs of characters.
    """
    ignored = ignored_words()
    if word in ignored:
        return ()
    if not word.isascii() and _IS_UNSPACED.match(word):
        pairs = [word[i : i + 2] for i in range(max(len(word) - 1, 1))]
        return tuple(pair for pair in pairs if pair not in ignored)
    return (_stem(word),)


def words_of(text: str) -> re.Pattern[str]:
    """Return the pattern that matches a text's words; the fast one suffices for most texts."""
    return WORD if is_quick(text) else _ANY_WORD


def is_quick(text: str) -> bool:
    """Return whether the fast pattern matches the words of a text, and so of all parts of it."""
    return text.isascii() or not _HAS_SIGNS.search(text)


def is_plain(text: str) -> bool:
    """Return whether all patterns of words find the same in a text and in parts of it."""
    return text.isascii() and "_" not in text


def stems_of(text: str) -> list[str]:
    """Return the stems of a text's words, in order."""
    words = words_of(text).findall(text.lower())
    return [stem for word in words for stem in word_stems(word)]


# "No. 3" is a number, but "No. 1932 was the year" answers.
_NUMBER = lazy_pattern(r"\.\s{0,2}[*_]{0,2}\d{1,3}(?![\w.,]?\d)")


@cache
def _polar() -> re.Pattern[str]:
    verbs = all_alternatives("questions", "polar")
    return re.compile(rf"(?:[^?\n]{{0,120}}[,;:.]\s)?(?:{verbs})\s", re.IGNORECASE)


@cache
def _not_polar() -> re.Pattern[str]:
    return re.compile(rf"(?:{all_alternatives('questions', 'not_polar')})\b", re.IGNORECASE)


@cache
def _polar_anywhere() -> re.Pattern[str]:
    return re.compile(all_alternatives("questions", "polar_anywhere"))


@cache
def _order() -> re.Pattern[str]:
    words = all_alternatives("questions", "order")
    signs = all_alternatives("questions", "order_anywhere")
    return re.compile(rf"\b(?:{words})\b|{signs}", re.IGNORECASE)


@cache
def _inverts() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{all_alternatives('comparison', 'inverts')})\b", re.IGNORECASE)


# Texts differ in order if at least one in this many adjacent pairs is reversed.
_OUT_OF_ORDER = 3


def asks_yes_or_no(question: str) -> bool:
    """Return whether a question asks for yes or no."""
    start = question.lstrip()
    begins = _polar().match(start) is not None and _not_polar().match(start) is None
    return begins or _polar_anywhere().search(question) is not None


def stance(text: str) -> str | None:
    """Return the "yes" or "no" that a text begins with as an answer, or None."""
    match = WORD.search(text)
    if match is None:
        return None
    word, following = match.group().lower(), text[match.end() :].rstrip()
    if word == "no" and _NUMBER.match(following):
        return None
    # "No" may abbreviate "number", and "si" may mean "if"; as answers they precede a mark.
    if following and following[0] not in ",.!;:，。、\n" and following.lstrip(" ")[0] not in "–—-":
        return None
    if word in all_words("comparison", "yes"):
        return "yes"
    return "no" if word in all_words("comparison", "no") else None


def restricts(text: str) -> bool:
    """Return whether a text says that something holds only in part."""
    words = (match.group().lower() for match in WORD.finditer(text))
    return not all_words("comparison", "restricts").isdisjoint(words)


def share(stems: Collection[str], others: Collection[str]) -> float:
    """Return the share of stems that are among others; 0 if there are none."""
    return sum(stem in others for stem in stems) / len(stems) if stems else 0.0


def asks_for_order(question: str) -> bool:
    """Return whether a question asks for the order of steps or items."""
    return _order().search(question) is not None


def out_of_order(text: str, other: str) -> bool | None:
    """Return whether two texts mention the same things in a different order.

    Returns:
        None if they share fewer than two, or one has a word such as "before" or "after".
    """
    if _inverts().search(text) or _inverts().search(other):
        return None
    stems, others = list(dict.fromkeys(stems_of(text))), list(dict.fromkeys(stems_of(other)))
    positions = [others.index(stem) for stem in stems if stem in others and not stem[0].isdigit()]
    if len(positions) < 2:
        return None
    reversed_pairs = sum(first > second for first, second in pairwise(positions))
    return _OUT_OF_ORDER * reversed_pairs >= len(positions) - 1
