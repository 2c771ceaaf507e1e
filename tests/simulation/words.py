"""How the simulated provider compares texts: by their numbers, names and other words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FUNCTION_WORDS", "SUPPORT", "WORD", "exact", "fold", "stems", "supports"]

SUPPORT = 0.6
"""The share of a sentence's words that a text must have to speak of the same thing."""

WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’\-][^\W\d_]+)*")
"""A word, or a number with its separators."""

_LISTED = """a about after all also although an and any are as at be because been before being both
but by can could did do does during each for from had has have he her hers him his how i if in into
is it its may me might more most my no nor not of on one only or other our please she should since
so some such tell than that the their them then there these they this those through to under until
up us was we were what when where which while who whom whose why will with would you your"""
FUNCTION_WORDS = frozenset(_LISTED.split())
"""Words that say nothing about what a sentence is about, in lower case."""


def supports(context: str, sentence: str) -> bool:
    """Return whether a text supports a sentence, by the look of it.

    It does when it has all numbers and names of the sentence and at least 60 % of its other words,
    function words left out.
    """
    said, present = WORD.findall(sentence), WORD.findall(context)
    missing = exact(said) - {fold(word) for word in present}
    wanted = stems(said)
    return not missing and len(wanted & stems(present)) >= SUPPORT * len(wanted)


def exact(words: Sequence[str]) -> set[str]:
    """Return the numbers and names among words, folded: what must agree to the letter."""
    found = {fold(word) for word in words if word[0].isdigit() or word[0].isupper()}
    return found - FUNCTION_WORDS


def fold(word: str) -> str:
    """Return a word without possessive, or a number without thousands separators."""
    if word[0].isdigit():
        return re.sub(r",(?=\d{3}(?:\D|$))", "", word)
    return re.sub(r"['’]s?$", "", word.casefold())


def stems(words: Sequence[str]) -> set[str]:
    """Return the stems of all words that are neither function words nor numbers."""
    kept = {fold(word) for word in words if not word[0].isdigit()} - FUNCTION_WORDS
    return {re.sub(r"(?:ing|ed|es|s|e)$", "", word) for word in kept}
