"""Whether a text mentions something by its name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from resay._internal.patterns import lazy_pattern

_WORD: Final = lazy_pattern(r"[^\W_]+")
_BETWEEN_WORDS: Final = lazy_pattern(r"[\W_]{1,3}\Z")
# "X100-S" does not name an X100.
_PART_OF_ANOTHER: Final = lazy_pattern(r"[-‐‑]\w")
_NEXT_WORD: Final = lazy_pattern(r"[ \u00a0]([^\W_])")
_YEAR: Final = lazy_pattern(r"1[5-9]\d\d|20\d\d")


class MentionIndex:
    """The words of a text, in which many names are looked up.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._matches = list(_WORD.finditer(text))
        self._words = [match[0].lower() for match in self._matches]
        self._indexes_by_word: dict[str, list[int]] = {}
        for index, word in enumerate(self._words):
            self._indexes_by_word.setdefault(word, []).append(index)
        self._scores: dict[str, float] = {}

    def score(self, name: str) -> float:
        """Return how surely the text mentions a name, as `mention_score` does."""
        if name not in self._scores:
            words = _WORD.findall(name.lower())
            indexes = self._indexes_by_word.get(words[0], []) if words else []
            self._scores[name] = max((self._score_at(index, words) for index in indexes), default=0)
        return self._scores[name]

    def _score_at(self, index: int, words: Sequence[str]) -> float:
        """Return how surely a name begins at a word of the text."""
        last = index + len(words) - 1
        if self._words[index : last + 1] != words:
            return 0.0
        for before, after in pairwise(self._matches[index : last + 1]):
            if not _BETWEEN_WORDS.match(self._text, before.end(), after.start()):
                return 0.0
        end = self._matches[last].end()
        if _PART_OF_ANOTHER.match(self._text, end):
            return 0.0
        next_word = _NEXT_WORD.match(self._text, end)
        return 0.5 if next_word and not next_word[1].islower() else 1.0


def mention_score(name: str, text: str) -> float:
    """Return how surely a text mentions a name, ignoring spaces, hyphens and case.

    Args:
        name: The name.
        text: The text.

    Returns:
        1 if it does, 0 if it does not or only as a part of another word (X100 in X100-S), 0.5 if it
        is followed by words that may belong to a longer name (X100 Pro).
    """
    return MentionIndex(text).score(name)


def mentions_name(name: str, text: str) -> bool:
    """Return whether a text mentions a name, not just as a part of another: X100 is no X100-S."""
    return mention_score(name, text) > 0


def mentions_similar(name: str, text: str) -> bool:
    """Return whether a text names something similar to a name with a number: an X110, for X100.

    Args:
        name: The name. Nothing is similar to one without digits, of digits alone, or with a year:
            March 1932.
        text: A text that does not mention it.
    """
    words = _WORD.findall(name)
    with_digits = [index for index, word in enumerate(words) if any(map(str.isdigit, word))]
    if not with_digits or words[0].isdigit():
        return False
    first = with_digits[0]
    if _YEAR.fullmatch(words[first]):
        return False
    brand = "".join(rf"{re.escape(word)}[\W_]{{1,3}}" for word in words[:first])
    # Without a brand, only the same letters are similar: an A4 is no X100.
    similar = r"\w*\d\w*" if first else re.sub(r"\d+", r"\\d+", re.escape(words[0]))
    return re.search(rf"(?<![^\W_]){brand}{similar}", text, re.IGNORECASE) is not None
