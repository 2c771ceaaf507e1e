"""Finds the few sentences of a text that a sentence is best compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum, log, sqrt

from resay.tokens import tokenize

__all__ = ["Nearest"]


class Nearest:
    """The sentences of a text, ready to be searched.

    Words weigh by how few of the text's sentences hold them, so that names and numbers count and
    "the" hardly does; sentences are as near as the cosine of their weighted words says.

    Args:
        sentences: The text's sentences.
    """

    def __init__(self, sentences: Sequence[str]) -> None:
        self._sentences = sentences
        self._words = [frozenset(tokenize(sentence)) for sentence in sentences]
        frequency = Counter(word for words in self._words for word in words)
        self._weights: Mapping[str, float] = {
            word: log((1 + len(sentences)) / count) for word, count in frequency.items()
        }

    def to(self, sentence: str, count: int) -> list[str]:
        """Return the sentences that are nearest to a sentence.

        Args:
            sentence: What is compared.
            count: How many are wanted, at least 1.

        Returns:
            At most so many, in the text's order; the earlier where they are as near.
        """
        words = frozenset(tokenize(sentence))
        nearness = [self._nearness(words, other) for other in self._words]
        best = sorted(range(len(nearness)), key=lambda i: -nearness[i])[:count]
        return [self._sentences[i] for i in sorted(best)]

    def _nearness(self, words: frozenset[str], other: frozenset[str]) -> float:
        """Return the cosine, but for the length of the one sentence that all are compared with."""
        length = sqrt(self._squares(other))
        return self._squares(words & other) / length if length else 0.0

    def _squares(self, words: frozenset[str]) -> float:
        # Exact, so that the order in which a set gives its words decides no tie.
        return fsum(self._weights[word] ** 2 for word in words)
