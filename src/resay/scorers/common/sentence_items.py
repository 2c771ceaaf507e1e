"""The names and words that a sentence states, and what they weigh beside its quantities."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.scorers.common.words import ignored_words, word_stems, words_of

QUANTITY_WEIGHT: Final = 6.0
"""The weight of a quantity, which can hardly be paraphrased."""

NAME_WEIGHT: Final = 4.0
"""The weight of a name, divided among its words."""

WORD_WEIGHT: Final = 1.0
"""The weight of another word, at most."""

WORDS_AT_MOST: Final = 3.0
"""The weight of all other words of a sentence, at most."""

CASELESS: Final = 1.5
"""The factor of words in scripts without capitals, where any word may be a name."""

UNDOUBTED: Final = 2.0
"""The weight of what a sentence says besides its items, which nobody doubts."""

_LONG_WORD = 6
_LONGEST_NAME = 8
_HOST_OR_FILE = lazy_pattern(r"\w\.[a-z]{2,}$")


@dataclass(frozen=True, slots=True)
class NamesAndWords:
    """The names of a sentence, and its other words without the commonest.

    Attributes:
        names: By stem, the word of a name, and the stems of that name.
        words: By stem, another word.
    """

    names: Mapping[str, tuple[str, tuple[str, ...]]]
    words: Mapping[str, str]

    @classmethod
    def of(
        cls,
        text: str,
        spans: Sequence[tuple[int, int]],
        *,
        known: Collection[str],
        letters: Collection[str] = (),
        nouns: bool = False,
    ) -> NamesAndWords:
        """Sort the words of a sentence.

        Args:
            text: The sentence.
            spans: What is not a word in it, such as quantities, in order.
            known: Stems to leave out, because the question has them.
            letters: Single letters to leave out.
            nouns: Whether all nouns are capitalised, as in German.
        """
        names: dict[str, tuple[str, tuple[str, ...]]] = {}
        words: dict[str, str] = {}
        written = list(words_of(text).finditer(text))
        name: list[str] = []
        last, span, covered = -1, 0, 0
        for i, match in enumerate(written):
            while span < len(spans) and spans[span][0] <= match.start():
                covered, span = max(covered, spans[span][1]), span + 1
            if match.start() < covered:
                continue
            word = match.group()
            if word in letters:
                continue
            is_name = word[0].isupper() and _is_name(text, written, i, nouns=nouns)
            # Hosts and files are called so, whatever the sentence says of them.
            is_name = is_name or ("." in word and _HOST_OR_FILE.search(word) is not None)
            parts = word_stems(word.lower())
            for part in parts:
                if part in known:
                    continue
                shown = word if len(parts) == 1 else part
                if not is_name:
                    words.setdefault(part, shown)
                elif part not in names:
                    goes_on = i == last + 1 and len(name) < _LONGEST_NAME
                    name = [*name, part] if goes_on else [part]
                    last = i
                    for stem in name:
                        names[stem] = (names.get(stem, (shown,))[0], tuple(name))
        return cls(names, words)

    def name_weights(self) -> dict[str, float]:
        """Return the weights of the words of names, by stem."""
        return {stem: NAME_WEIGHT / len(name) for stem, (_, name) in self.names.items()}

    def word_weights(self) -> dict[str, float]:
        """Return the weights of the other words, by stem."""
        weights = {stem: _word_weight(word) for stem, word in self.words.items()}
        total = sum(weights.values())
        if total <= WORDS_AT_MOST:
            return weights
        return {stem: weight * WORDS_AT_MOST / total for stem, weight in weights.items()}


def quadratic_mean(squares: float, weight: float, undoubted: float = UNDOUBTED) -> float:
    """Return the doubt about a sentence.

    Args:
        squares: The sum of its items' squared doubts, each times the item's weight.
        weight: The sum of the weights.
        undoubted: The weight of what nobody doubts.
    """
    return min(sqrt(squares / (undoubted + weight)), 1.0)


def _word_weight(word: str) -> float:
    weight = WORD_WEIGHT * min(len(word), _LONG_WORD) / _LONG_WORD
    return weight if word.lower() != word.upper() else CASELESS * weight


def _is_name(text: str, written: Sequence[re.Match[str]], i: int, *, nouns: bool) -> bool:
    """Return whether a capitalised word is part of a name.

    The first word of a sentence is one only next to another capitalised word, or alone. If nouns
    are capitalised, as in German, every name needs another capitalised word next to it.
    """

    def capital(k: int) -> bool:
        if not 0 <= k < len(written):
            return False
        word = written[k].group()
        between = text[written[min(k, i)].end() : written[max(k, i)].start()]
        is_capital = word[0].isupper() and word.lower() not in ignored_words()
        return is_capital and between in (" ", ". ", "-", "'")

    beside = capital(i + 1) or (capital(i - 1) and (i > 1 or not nouns))
    if nouns:
        return beside or len(written) == 1
    first = i == 0 and not text[: written[0].start()].strip(" \t\"'“”«»„*_(-#>")
    return beside or not first or len(written) == 1
