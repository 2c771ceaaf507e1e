"""Sentence ends in Thai and Lao, which put a space after a sentence and between phrases too."""

from __future__ import annotations

from resay._internal.patterns import lazy_pattern
from resay.core.segmentation.characters import after_space
from resay.core.segmentation.sentence_words import (
    AWAITS,
    BEGINS,
    CONTINUES,
    POLITE_ENDS,
    SUBORDINATES,
)
from resay.core.segmentation.terminators import LOOK_BEHIND, THAI

_HAS_THAI = lazy_pattern(rf"[{THAI}]\s")
_LOOK_AHEAD = 40
# The fewest letters of a sentence, and of phrases between which a space ends one.
_SHORT, _LONG = 8, 20


def has_thai(text: str) -> bool:
    """Return whether a text has a Thai or Lao letter before white space."""
    return _HAS_THAI.search(text) is not None


def ends_at_space(text: str, start: int, end: int, sentence_start: int) -> bool:
    """Return whether a space ends a sentence: between long phrases, or before an opener.

    If in doubt, it does not: a claim with two statements is still checked, but half a claim says
    nothing.

    Args:
        text: The text.
        start: The end of the last phrase.
        end: The start of the space.
        sentence_start: The start of the sentence.
    """
    sentence = text[max(sentence_start, start - 2 * LOOK_BEHIND) : start].lstrip()
    before = sentence.rsplit(None, 1)[-1] if sentence else ""
    next_start = after_space(text, end)
    after = text[next_start : next_start + _LOOK_AHEAD].split(None, 1)[0]
    if before.endswith(POLITE_ENDS):
        return True
    if before.endswith(AWAITS) or after.startswith(CONTINUES):
        return False
    if before.startswith(SUBORDINATES) or sentence.startswith(SUBORDINATES):
        return False
    if after.startswith(BEGINS):
        return len(sentence) > _SHORT and len(after) >= _SHORT
    return not before[-1:].isdigit() and min(len(before), len(after)) >= _LONG
