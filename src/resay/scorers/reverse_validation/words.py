"""Splits names into words that can be compared, however they are spelled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from anyascii import anyascii

from resay._internal.patterns import lazy_pattern
from resay.scorers.reverse_validation.word_lists import (
    FULL_FORMS,
    FULL_IN_CAPITALS,
    NUMBERS,
    SMALL_WORDS,
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text.

    Attributes:
        text: The word as written.
        start: Its start offset, in code points.
        end: Its end offset (exclusive).
        key: Its folded form, for comparing.
        small: Whether names are compared without it if it is inside one.
    """

    text: str
    start: int
    end: int
    key: str
    small: bool

    @property
    def capital(self) -> bool:
        """Whether it begins with a capital letter."""
        return self.text[0].isupper()

    @property
    def number(self) -> bool:
        """Whether it is a number, in digits or in capital Roman numerals."""
        return self.key.isdecimal() and (self.text[0].isdecimal() or self.text.isupper())


# Scripts without spaces: each character is a word, so that a name is found inside a run of them.
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_LETTER = rf"[^\W\d_{_UNSPACED}]"
_ALNUM = rf"[^\W_{_UNSPACED}]"
_WORD = lazy_pattern(
    rf"{_LETTER}(?:\.{_LETTER})+\.?(?!{_ALNUM})|[&{_UNSPACED}]|{_ALNUM}+(?:[\u0300-\u036f]+{_ALNUM}*)*(?:\+\+|#(?!{_ALNUM}))?"
)
_ROMAN = lazy_pattern(r"(?=.)(x{0,3})(ix|iv|v?i{0,3})")
_ROMAN_DIGITS = {"": 0, "i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8}
_ORDINAL = lazy_pattern(r"(\d+)(?:st|nd|rd|th)")
# Next to these marks a numeral is a letter: the V of "V-2" and the i of "i'm".
_JOINED = frozenset("-‐‑'’/@")


def fold(text: str) -> str:
    """Reduce a word to lower-case ASCII letters and digits if it can be transliterated."""
    if re.fullmatch(f"[{_UNSPACED}]", text):
        return text
    plain = "".join(anyascii(c) or c for c in text.casefold()).casefold()
    return "".join(c for c in plain if c.isalnum() or c in "+#") or text.casefold()


def split_words(text: str) -> list[Word]:
    """Split a text into words, with abbreviations expanded and numerals as digits."""
    return [_word(text, match) for match in _WORD.finditer(text)]


def _word(text: str, match: re.Match[str]) -> Word:
    start, end = match.span()
    around = text[max(0, start - 1) : start] + text[end : end + 1]
    written = match.group()
    key = fold(written)
    if key == "s" and text[max(0, start - 1) : start] in ("'", "’"):
        return Word(written, start, end, key, small=True)
    small = key in SMALL_WORDS
    if key in FULL_IN_CAPITALS and (written.isupper() or "." in written):
        key = FULL_IN_CAPITALS[key]
    elif not _JOINED.intersection(around):
        key = _numeral(key)
    return Word(written, start, end, FULL_FORMS.get(key, key), small)


def _numeral(key: str) -> str:
    if key in NUMBERS:
        return NUMBERS[key]
    if ordinal := _ORDINAL.fullmatch(key):
        return ordinal[1]
    roman = _ROMAN.fullmatch(key)
    if roman is None:
        return key
    ones = 9 if roman[2] == "ix" else _ROMAN_DIGITS[roman[2]]
    return str(10 * len(roman[1]) + ones)


def join(words: Sequence[Word]) -> str:
    """Join words into one key, so that hyphens and spaces make no difference.

    Small words inside are left out, those at the ends are not. Adjacent numbers stay separate.
    """
    joined = ""
    for i, word in enumerate(words):
        if word.small and 0 < i < len(words) - 1:
            continue
        apart = joined[-1:].isdecimal() and word.key[:1].isdecimal()
        joined += f"|{word.key}" if apart else word.key
    return joined


_SPELLINGS = (
    (lazy_pattern(r"(bio|cosmo|eco|geo|neuro|psycho|socio|techno)logical"), r"\1"),
    (lazy_pattern(r"our"), "or"),
    (lazy_pattern(r"mme\b"), "m"),
    (lazy_pattern(r"is(ation|ed|ing|e)\b"), r"iz\1"),
    (lazy_pattern(r"tsch|tch|tsh"), "ch"),
    (lazy_pattern(r"sch"), "sh"),
    (lazy_pattern(r"ph"), "f"),
    (lazy_pattern(r"([bdgkrt])h"), r"\1"),
    (lazy_pattern(r"ae"), "e"),
    (lazy_pattern(r"ck|q|c(?![ehiy])"), "k"),
    (lazy_pattern(r"x"), "ks"),
    (lazy_pattern(r"w"), "v"),
    (lazy_pattern(r"[yj]"), "i"),
    (lazy_pattern(r"([a-z])\1+"), r"\1"),
)


def respell(key: str) -> str:
    """Unify spellings of a name that differ by transliteration, or between British and American.

    Only spellings of the same sound are unified; a vowel that sounds different makes another name.
    """
    for pattern, spelling in _SPELLINGS:
        key = pattern.sub(spelling, key)
    return key
