"""Names that stand where an earlier answer has another name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from resay.core.normalization import NormalizedText
from resay.core.segmentation.spans import Span
from resay.scorers.common.words import stems_of, words_of
from resay.scorers.conversation.cues import Cues

_MAX_NAME_WORDS: Final = 4


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a claim or a statement.

    Attributes:
        lower: The word in its normal form, in lower case.
        start: Where it starts.
        end: Where it ends (exclusive).
        is_name: Whether it may be a part of a name.
    """

    lower: str
    start: int
    end: int
    is_name: bool


def words_in(text: str) -> list[Word]:
    """Return the words of a text.

    Args:
        text: The text.
    """
    source = NormalizedText.of(text)
    words: list[Word] = []
    for match in words_of(source.text).finditer(source.text):
        start, end = source.span(*match.span())
        is_name = end - start > 1 and text[start].isupper()
        words.append(Word(match[0].lower(), start, end, is_name))
    return words


def other_name(own: Sequence[Word], other: Sequence[Word], cues: Cues) -> Span | None:
    """Return where a claim has another name than a statement, if only one can be.

    Args:
        own: The words of the claim.
        other: The words of the statement.
        cues: The cues of their language.
    """
    shorter = min(len(own), len(other))
    first = 0
    while first < shorter and own[first].lower == other[first].lower:
        first += 1
    last = 0
    while last < shorter - first and own[-1 - last].lower == other[-1 - last].lower:
        last += 1
    names = own[first : len(own) - last]
    other_names = other[first : len(other) - last]
    if not (0 < len(names) <= _MAX_NAME_WORDS and 0 < len(other_names) <= _MAX_NAME_WORDS):
        return None
    if not all(word.is_name for word in (*names, *other_names)):
        return None
    before = " ".join(word.lower for word in own[:first])
    after = " ".join(word.lower for word in own[len(own) - last :])
    is_unique = bool(before) and cues.unique.search(before) is not None
    is_unique = is_unique or (not before and cues.unique_after.search(after) is not None)
    if not is_unique or not stems_of(f"{before} {after}"):
        return None
    return names[0].start, names[-1].end
