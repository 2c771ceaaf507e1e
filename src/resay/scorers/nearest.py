"""Finds the few sentences of a text that a sentence is best compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum, log

from resay.tokens import tokenize

__all__ = ["Nearest"]


class Nearest:
    """The sentences of a text, ready to be searched.

    Words weigh by how few of the text's sentences hold them, so that names and numbers count and
    "the" hardly does.

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
        """Return the sentences that share most with a sentence.

        Args:
            sentence: What is compared.
            count: How many are wanted, at least 1.

        Returns:
            At most so many, in the text's order; the earlier where they share as much.
        """
        words = frozenset(tokenize(sentence))
        # Exact, so that the order in which a set gives its words decides no tie.
        shared = [fsum(self._weights[word] for word in words & bag) for bag in self._words]
        best = sorted(range(len(shared)), key=lambda i: -shared[i])[:count]
        return [self._sentences[i] for i in sorted(best)]
