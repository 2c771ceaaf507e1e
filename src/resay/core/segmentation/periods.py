"""Whether a period ends a sentence, or belongs to an abbreviation, a number or a label."""

from __future__ import annotations

import re
from typing import Literal

from resay._internal.patterns import lazy_pattern
from resay.core.segmentation.sentence_words import (
    ABBREVIATIONS,
    BEFORE_CLOCK,
    BEFORE_LABEL,
    BEFORE_NUMBER,
    BEFORE_ORDINAL,
    CLOCK,
    COMPANIES,
    ERAS_AND_DEGREES,
    LABELLED,
    NEVER_FINAL,
    ORDINAL_MONTHS,
    RARELY_FINAL,
    ROLES,
    TITLES,
)
from resay.core.segmentation.terminators import LEADING_MARKS, LOOK_BEHIND, TERMINATOR, Terminator

_Finality = Literal["never", "rarely", "usually"]
_ALNUM = lazy_pattern(r"[^\W_]")
_CAPITAL_NEXT = lazy_pattern(r"\s+[A-Z]")
_LETTER_STOPS = lazy_pattern(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")
_SPACED_LETTER = lazy_pattern(r"[^\W\d_]\.")
_ABJAD = lazy_pattern(r"[\u05d0-\u05ea\u0620-\u06d3]")
_LONGEST_ROMAN = 5
_LONGEST_ENUMERATOR = 20
_ENUMERATOR = lazy_pattern(
    rf"\d{{1,3}}(?:\.\d{{1,3}}){{0,4}}|[^\W\d_]|[ivxIVX]{{1,{_LONGEST_ROMAN}}}"
)
_LABEL = lazy_pattern(r"[IVXLCM]{1,6}|[A-Z]")
_MAY_CONTINUE = ABBREVIATIONS | BEFORE_NUMBER
_ORDINAL_MONTH = lazy_pattern(rf"(?:{ORDINAL_MONTHS})\b")


def is_abbreviation(text: str, period: int, sentence_start: int = 0) -> bool:
    """Return whether a period before white space ends no sentence: "No. 3", "St. John".

    Args:
        text: The text.
        period: The position of the period.
        sentence_start: The start of its sentence, at which an enumerator may stand: "1. Open the
            door."
    """
    if _follows_plain_word(text, period):
        return False
    match = TERMINATOR.match(text, period)
    if match is None or match[1] != ".":
        return False
    return not ends_after_period(text, Terminator.of(text, match, match.end()), sentence_start)


def is_plain_end(text: str, match: re.Match[str]) -> bool:
    """Return whether a period lies between an ordinary word or a year and a capital: most do.

    A fast path that agrees with `ends_after_period`.

    Args:
        text: The text.
        match: The match of `TERMINATOR`.
    """
    start, end = match.span()
    if end - start > 1 or text[start] != "." or not _CAPITAL_NEXT.match(text, end):
        return False
    return _follows_plain_word(text, start)


def _follows_plain_word(text: str, period: int) -> bool:
    """Whether a period follows an ordinary word or a year, which `ends_after_period` lets end."""
    words = text[max(0, period - LOOK_BEHIND) : period].rsplit(None, 1)
    if not words or text[period - 1].isspace():
        return False
    word = words[-1]
    if not word.isascii() or not word.isalpha():
        # A year
        return len(word) > 3 and word.isascii() and word.isdigit()
    if len(word) <= _LONGEST_ROMAN and _ENUMERATOR.fullmatch(word):
        return False
    key = word.lower()
    return len(key) > 1 and key not in _MAY_CONTINUE and not key.endswith("str")


def ends_after_period(text: str, period: Terminator, sentence_start: int) -> bool:
    """Return whether a period ends a sentence.

    Args:
        text: The text.
        period: The period.
        sentence_start: The start of its sentence.
    """
    if not period.word_before:
        return True
    if _is_enumerator(text, period, sentence_start) or _is_ordinal(period):
        return False
    key = period.word_before.lower()
    finality = _finality(key, period)
    if period.next_character.isdigit():
        return finality == "usually" and key not in BEFORE_NUMBER
    return finality == "usually" or (finality == "rarely" and period.next_opens)


def _is_enumerator(text: str, period: Terminator, sentence_start: int) -> bool:
    """Whether the word is a number or letter before an enumerated item: "1. Open the door."."""
    word = period.word_before
    if len(word) > _LONGEST_ENUMERATOR or not _ENUMERATOR.fullmatch(word):
        return False
    if word.isdigit() and period.earlier_word.endswith((":", ";")):
        return True
    start = period.start - len(word)
    is_near = start - sentence_start <= LOOK_BEHIND
    return is_near and _ALNUM.search(text, sentence_start, start) is None


def _is_ordinal(period: Terminator) -> bool:
    """Whether the word is an ordinal number, as in "3. Oktober"."""
    if not period.word_before.isdigit() or len(period.word_before) > 3:
        return False
    if _ORDINAL_MONTH.match(period.next_word):
        return True
    return period.earlier_word.lower() in BEFORE_ORDINAL and not period.next_opens


def _finality(key: str, period: Terminator) -> _Finality:
    """Return how often a sentence ends after a word with a period and before a capital.

    Args:
        key: The word, in lower case.
        period: The period.
    """
    word, next_word = period.word_before, period.next_word
    if key in NEVER_FINAL:
        is_acronym = word.isupper() and "." not in key
        return "usually" if is_acronym else "never"
    if key in TITLES:
        return "never" if word.istitle() and not period.closers else "rarely"
    if key in RARELY_FINAL or key.endswith("str"):  # Hauptstr. 5
        return "rarely"
    if len(key) == 1:
        return _finality_of_letter(period)
    if key in BEFORE_LABEL and _LABEL.fullmatch(next_word):
        is_label = next_word not in {"I", "A"} or word[0].isupper()
        return "never" if is_label else "usually"
    if key in COMPANIES:
        is_role = next_word.isupper() and 2 <= len(next_word) <= 5
        return "rarely" if is_role or next_word.lower() in ROLES else "usually"
    if key in CLOCK:
        return "never" if next_word.lower() in BEFORE_CLOCK else "usually"
    if _LETTER_STOPS.fullmatch(key) and key not in ERAS_AND_DEGREES:
        return "rarely"
    return "usually"


def _finality_of_letter(period: Terminator) -> _Finality:
    letter, earlier_word = period.word_before, period.earlier_word
    if letter.isdigit():
        return "usually"
    if _ABJAD.match(letter):
        # A title or an initial, unless it gives the era of a year.
        return "usually" if earlier_word[-1:].isdigit() else "rarely"
    if _SPACED_LETTER.fullmatch(earlier_word) and earlier_word.islower():
        return "never"  # z. B., d. h., u. a.
    if letter.isupper():
        is_word = letter == "I" and earlier_word[:1].islower()
        is_label = earlier_word.lower().lstrip(LEADING_MARKS) in LABELLED
        return "usually" if is_word or is_label else "rarely"
    return "rarely" if letter.islower() and letter not in {"x", "y"} else "usually"
