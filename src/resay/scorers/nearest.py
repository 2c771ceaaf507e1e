"""Finds the few sentences of a text that a sentence is best compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from math import fsum, log, sqrt

from resay._internal.tasks import stop_if_abandoned
from resay.core.nearness import Shared
from resay.core.tokens import tokenize

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
        self._squares = {
            word: log((1 + len(sentences)) / count) ** 2 for word, count in frequency.items()
        }
        self._lengths = [sqrt(self._square(words)) for words in self._words]
        self._shared = Shared(self._words, self._squares)

    def to(self, sentence: str, count: int) -> list[str]:
        """Return the sentences that are nearest to a sentence.

        Args:
            sentence: What is compared.
            count: How many are wanted, at least 1.

        Returns:
            At most so many, in the text's order; the earlier where they are as near.
        """
        stop_if_abandoned()
        words = frozenset(tokenize(sentence))
        found, rest = self._shared.with_any(words)
        bounds = [(-(weight + rest) / self._lengths[i], i) for i, weight in found.items()]
        near = [i for _, i in self._shared.first(bounds)]
        best = sorted(near, key=lambda i: (-self._nearness(words, i), i))[:count]
        others = (i for i in range(len(self._sentences)) if i not in found)
        best += islice(others, count - len(best))
        return [self._sentences[i] for i in sorted(best)]

    def _nearness(self, words: frozenset[str], other: int) -> float:
        """Return the cosine, but for the length of the one sentence that all are compared with."""
        return self._square(words & self._words[other]) / self._lengths[other]

    def _square(self, words: frozenset[str]) -> float:
        # Exact, so that the order in which a set gives its words decides no tie.
        return fsum(self._squares[word] for word in words)
