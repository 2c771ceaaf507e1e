"""Find the words that negate a sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from resay.lang.detection import detect_from_words
from resay.lang.language import all_words

_NEGATED: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_IS_NUMBERED: Final = re.compile(r"\.?\s{0,3}[#*_]{0,3}\d|\.\s?(?:[IVXL]{2,6}|[VX])\b")


@cache
def _negations() -> frozenset[str]:
    verbs = all_words("negation", "contracted")
    return all_words("negation", "words") | {f"{verb}n{mark}t" for verb in verbs for mark in "'’"}


@cache
def _maybe_negations() -> frozenset[str]:
    # "isn't" may have been split.
    return _negations() | {"t"}


def may_negate(words: Sequence[str]) -> bool:
    """Quick check whether one of a sentence's lower-cased words may negate it."""
    return not _maybe_negations().isdisjoint(words)


def negations(text: str) -> tuple[tuple[int, int], ...]:
    """Find negating words, as offsets in code points.

    "Not sure", "not only" and the like negate no claim and are left out.

    Args:
        text: Any text.
    """
    negating = _negations()
    if negating.isdisjoint(_NEGATED.findall(text.lower())):
        return ()
    words = [(m.group().lower(), m.start(), m.end()) for m in _NEGATED.finditer(text)]
    found: list[tuple[int, int]] = []
    portuguese: bool | None = None
    for i, (word, start, end) in enumerate(words):
        if word not in negating:
            continue
        following = {w for w, _, _ in words[i + 1 : i + 4]}
        if not following.isdisjoint(all_words("negation", "not_before")):
            continue
        if word == "no":
            # In Portuguese it means "in the", and before a digit it is short for "number".
            if portuguese is None:
                portuguese = detect_from_words([w for w, _, _ in words]) == "pt"
            if portuguese or _IS_NUMBERED.match(text, end):
                continue
        found.append((start, end))
    return tuple(found)
