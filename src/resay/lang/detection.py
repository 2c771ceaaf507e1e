"""Tells the language of a text from its script and its most common words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.lang.language import languages

_WORD: Final = lazy_pattern(r"\w+")
_KANA: Final = lazy_pattern(r"[\u3041-\u3096\u30a1-\u30fa]")
_HAN: Final = lazy_pattern(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_LETTER: Final = lazy_pattern(r"[^\W\d_]")
# The weight of a word: the least common multiple of 1 to 10, so that its shares are whole numbers,
# whose sums are the same in any order.
_WEIGHT: Final = 2_520
# The characters of texts whose languages are compared.
_LANGUAGE_CHARS: Final = 2_000
# Texts in different scripts differ by this much in the share of their Latin letters.
_OTHER_SCRIPT: Final = 0.9


def detect(text: str, *, min_words: int = 1, unique: bool = False) -> str | None:
    """Return the code of the language that a text is most likely written in.

    Args:
        text: The text.
        min_words: See `detect_from_words`.
        unique: See `detect_from_words`.

    Returns:
        The code, or None if the language is not known.
    """
    if not text.isascii():
        ideographs, letters = len(_HAN.findall(text)), len(_LETTER.findall(text))
        kana = len(_KANA.findall(text))
        if 2 * (ideographs + kana) > letters:
            # A Japanese name or a quotation does not make a Chinese text Japanese.
            return "ja" if 4 * kana > ideographs else "zh"
    return detect_from_words(_WORD.findall(text.lower()), min_words=min_words, unique=unique)


def is_in_other_language(text: str, others: Sequence[str]) -> bool:
    """Return whether a text is in another language than all of several, as far as it is known.

    Args:
        text: The text.
        others: The others.
    """
    text = text[:_LANGUAGE_CHARS]
    others = [other[:_LANGUAGE_CHARS] for other in others]
    latin = _latin_share(text)
    if latin is not None:
        shares = map(_latin_share, others)
        if all(share is not None and abs(latin - share) > _OTHER_SCRIPT for share in shares):
            return True
    language = detect(text, min_words=2)
    if language is None:
        return False
    # The first of them mostly tells, which matters where they are the rows of a table.
    languages_of_others = (detect(other, min_words=2, unique=True) for other in others)
    return all(other not in (None, language) for other in languages_of_others)


def _latin_share(text: str) -> float | None:
    """Return the share of a text's letters that are Latin; None if it has no letters."""
    letters = list(filter(str.isalpha, text))
    if not letters:
        return None
    return sum(letter < "\u0250" for letter in letters) / len(letters)


def detect_from_words(
    words: Iterable[str], *, min_words: int = 1, unique: bool = False
) -> str | None:
    """Return the code of the language that words are most likely of.

    Each different common word counts once. A word that several languages share counts for each of
    them, divided by their number: "do" says little, "how" says English.

    Args:
        words: The words of the text, in lower case.
        min_words: How many different common words of the language the text must contain.
        unique: Whether to return None if several languages are equally likely; otherwise, the first
            of them in `languages`.

    Returns:
        The code, or None if there are too few common words, or the most likely language has no stop
        words.
    """
    codes_by_word = _codes_by_word()
    common_words = codes_by_word.keys() & words
    weights: dict[str, int] = {}
    for word in common_words:
        codes = codes_by_word[word]
        weight = _WEIGHT // len(codes)
        for code in codes:
            weights[code] = weights.get(code, 0) + weight
    max_weight = max(weights.values(), default=0)
    most_likely = [code for code, weight in weights.items() if weight == max_weight]
    if unique and len(most_likely) > 1:
        return None
    for code in _codes_with_stop_words():
        if code in most_likely:
            word_count = sum(code in codes_by_word[word] for word in common_words)
            if word_count >= min_words:
                return code
    return None


@cache
def _codes_by_word() -> Mapping[str, list[str]]:
    codes_by_word: dict[str, list[str]] = {}
    for language in languages():
        for word in language.common_words:
            codes_by_word.setdefault(word, []).append(language.code)
    return codes_by_word


@cache
def _codes_with_stop_words() -> tuple[str, ...]:
    return tuple(language.code for language in languages() if language.stop_words)
