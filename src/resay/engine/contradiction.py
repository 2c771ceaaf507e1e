"""Finds what a sample says in place of a flagged sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from math import fsum, log

from resay._internal.tasks import stop_if_abandoned
from resay.core.nearness import Shared
from resay.core.tokens import tokenize
from resay.core.verdict import Contradiction, EvidenceKind
from resay.scorers.evidence import Sample

__all__ = ["Contradictions"]

# Below this share of common weight two sentences are about different things.
_RELATED = 0.2
# What rounding can make of a likeness.
_ROUNDING = 1e-9


class Contradictions:
    """The sentences of all samples or references, ready to be searched.

    Words weigh by how few of the sentences hold them, so that names and numbers count and "the"
    does not. Finding the nearest sentence takes time by the length of what is looked for, and
    hardly by how much there is to search.

    Args:
        samples: The samples or references of one check.
        source: Which of the two they are.
    """

    def __init__(self, samples: Sequence[Sample], source: EvidenceKind = "sample") -> None:
        self._source: EvidenceKind = source
        self._sentences: list[tuple[int, str]] = []
        self._words: list[frozenset[str]] = []
        for sample in samples:
            for sentence in sample.passage.sentences:
                stop_if_abandoned()
                self._sentences.append((sample.index, sentence.text))
                self._words.append(frozenset(tokenize(sentence.text)))
        total = len(self._words)
        frequency = Counter(word for words in self._words for word in words)
        self._weights = {word: log((1 + total) / count) for word, count in frequency.items()}
        self._rarest = log(1 + total)
        self._totals = [self._weight(words) for words in self._words]
        self._shared = Shared(self._words, self._weights)

    def of(self, sentence: str, against: Collection[int] | None = None) -> Contradiction | None:
        """Return the sample sentence on the same matter that says something else.

        Args:
            sentence: The flagged sentence.
            against: Indices of the samples that do not support it; None when that is not known.

        Returns:
            The nearest sentence that is not the same, or None when no sample comes near.
        """
        words = frozenset(tokenize(sentence))
        own = self._weight(words)
        found, rest = self._shared.with_any(words, _RELATED * own)
        bounds: list[tuple[float, int]] = []
        for place, weight in found.items():
            most = min(weight + rest, own, self._totals[place])
            bound = most / (own + self._totals[place] - most)
            if bound >= _RELATED - _ROUNDING and (
                against is None or self._sentences[place][0] in against
            ):
                bounds.append((-bound, place))
        likeness, nearest = 0.0, -1
        for negative, place in self._shared.first(bounds):
            if -negative < likeness - _ROUNDING:
                break
            other = self._words[place]
            rated = 0.0 if other == words else self._likeness(words, other)
            # Of equally near ones the first is quoted.
            if rated > likeness or (rated == likeness and place < nearest):
                likeness, nearest = rated, place
        if likeness < _RELATED:
            return None
        return Contradiction(self._source, *self._sentences[nearest])

    def _likeness(self, a: frozenset[str], b: frozenset[str]) -> float:
        return self._weight(a & b) / self._weight(a | b)

    def _weight(self, words: frozenset[str]) -> float:
        # Exact, so that the order in which a set gives its words decides no tie.
        return fsum(self._weights.get(word, self._rarest) for word in words)
