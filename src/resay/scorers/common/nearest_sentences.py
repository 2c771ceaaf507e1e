"""The sentences of a text that are nearest to another sentence, by their words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from math import log, sqrt

from resay._internal.event_loops import stop_if_abandoned
from resay.core.tokens import CachedTokenizer, InvertedIndex, tokenize


class NearestSentences:
    """A text's sentences, indexed to find those nearest to another sentence.

    Words weigh more the fewer of the text's sentences contain them, so that names and numbers count
    and "the" hardly does; nearness is the cosine of the weighted words.

    Args:
        sentences: The text's sentences.
    """

    def __init__(self, sentences: Sequence[str]) -> None:
        self._sentences = sentences
        tokenizer, total = CachedTokenizer(), 1 + len(sentences)
        self._words = [tokenizer.tokens(sentence) for sentence in sentences]
        self._shared = InvertedIndex(self._words, lambda count: log(total / count) ** 2)
        self._lengths = [sqrt(self._shared.weight(words)) for words in self._words]

    def to(self, sentence: str, count: int) -> list[str]:
        """Return the sentences nearest to a sentence.

        Args:
            sentence: The sentence to compare with.
            count: Number of sentences to return, at least 1.

        Returns:
            At most `count` sentences, in the text's order; of equally near ones, the earlier.
        """
        stop_if_abandoned()
        words = set(tokenize(sentence))
        weights, unknown = self._shared.search(words)
        bounds = [(-(weight + unknown) / self._lengths[i], i) for i, weight in weights.items()]
        near = [i for _, i in self._shared.smallest(bounds)]
        best = sorted(near, key=lambda i: (-self._nearness(words, i), i))[:count]
        others = (i for i in range(len(self._sentences)) if i not in weights)
        best += islice(others, count - len(best))
        return [self._sentences[i] for i in sorted(best)]

    def _nearness(self, words: set[str], other: int) -> float:
        """Return the cosine times the constant norm of the sentence that all are compared with."""
        return self._shared.weight(words & self._words[other]) / self._lengths[other]
