"""Names, numbers and dates that a sentence adds to the question.

A greeting, a refusal or a title claims nothing, unless it contains what the user did not say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from resay._internal.patterns import lazy_pattern
from resay.core.quantities import quantities
from resay.lang.language import all_alternatives, all_words

_CAPITALISED = lazy_pattern(r"(?<![\w'’-])(?!I\b)[^\W\d_][\w'’-]*")
_WORD = lazy_pattern(r"\w+")
_MANY_NEW_WORDS = 2
_STEM = 5
_MIN_LETTERS = 3
# Smaller numbers are spelled like other words in other languages.
_SMALL = 12


@cache
def _reason() -> re.Pattern[str]:
    # After "why" comes what is presupposed.
    return re.compile(rf"\b(?:{all_alternatives('questions', 'why')})\b(.*)", re.DOTALL)


@cache
def _predicate() -> re.Pattern[str]:
    """What makes a title say something: "Not for children", "Allergic to nuts"."""
    denies = all_alternatives("claims", "denies")
    pronouns = all_alternatives("claims", "pronouns")
    prepositions = all_alternatives("claims", "prepositions")
    joins = all_alternatives("claims", "joins")
    return re.compile(
        rf"(?:\A(?:{denies})|\b(?:{pronouns})|\w (?:{prepositions})"
        # "Ada Moor, a felon", but not "bridges, tunnels and towers"
        rf"|,(?!.*\b(?:{joins})\b)) (.*)",
        re.DOTALL,
    )


def words_in(text: str) -> frozenset[str]:
    """Return the words of a text, case-folded."""
    return frozenset(_WORD.findall(text.casefold()))


def new_names(text: str, question_words: frozenset[str]) -> Iterator[str]:
    """Yield the capitalised words that do not begin a sentence, case-folded.

    Args:
        text: The text.
        question_words: The words of the question, case-folded. Names of these words are left out.
    """
    for match in _CAPITALISED.finditer(text):
        if not match[0][0].isupper():
            continue
        before = text[: match.start()].rstrip(" \"'“”‘’«»([*_")
        if not before or before[-1] in ".!?:;…\n。！？¿¡":
            continue
        name = match[0].casefold().replace("’", "'").removesuffix("'s")
        if not question_words.issuperset(_WORD.findall(name)):
            yield name


def has_new_number(text: str, question_words: frozenset[str]) -> bool:
    """Return whether a text contains a number, measure or date, in digits or words.

    Args:
        text: The text.
        question_words: The words of the question, case-folded. Numbers of these words do not count.
    """
    for quantity in quantities(text):
        is_plain = quantity.kind == "number" and quantity.unit in ("", "ordinal")
        if is_plain and quantity.high < _SMALL:
            continue
        words = _WORD.findall(text[quantity.start : quantity.end].casefold())
        if not question_words.issuperset(words):
            return True
    return False


def has_new_reason(text: str, question_words: frozenset[str]) -> bool:
    """Return whether a text asks why something is so that was not said: "why it hid the defect".

    Args:
        text: The text.
        question_words: The words of the question, case-folded, in any of their forms.
    """
    reason = _reason().search(text.casefold())
    if reason is None:
        return False
    new_words = [word for word in words_in(reason[1]) if is_new_word(word, question_words)]
    return len(new_words) >= _MANY_NEW_WORDS


def is_new_word(word: str, question_words: frozenset[str]) -> bool:
    """Return whether a word has a meaning of its own and was not said in any of its forms.

    Args:
        word: The word, case-folded.
        question_words: The words of the question, case-folded.
    """
    if word in all_words("words", "stop") or len(word) < _MIN_LETTERS:
        return False
    if word.removesuffix("s") in question_words or f"{word}s" in question_words:
        return False
    if len(word) < _STEM:
        return True
    return not any(other.startswith(word[:_STEM]) for other in question_words)


def has_new_predicate(title: str, question_words: frozenset[str]) -> bool:
    """Return whether a title says something that was not said: "Allergic to penicillin".

    Titles of that form may also say nothing: "Settings for beginners".

    Args:
        title: The title.
        question_words: The words of the question, case-folded.
    """
    predicate = _predicate().search(title.casefold())
    if predicate is None:
        return False
    return any(is_new_word(word, question_words) for word in words_in(predicate[1]))
