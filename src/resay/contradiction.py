"""Finds what a sample says in place of a flagged sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, log

from resay.evidence import Sample
from resay.tokens import tokenize
from resay.verdict import Contradiction, EvidenceKind

__all__ = ["Contradictions"]

# Below this share of common weight two sentences are about different things.
_RELATED = 0.2


@dataclass(frozen=True, slots=True)
class _Candidate:
    sample: int
    text: str
    words: frozenset[str]


class Contradictions:
    """The sentences of all samples or references, ready to be searched.

    Words weigh by how few of the sentences hold them, so that names and numbers count and "the"
    does not.

    Args:
        samples: The samples or references of one check.
        source: Which of the two they are.
    """

    def __init__(self, samples: Sequence[Sample], source: EvidenceKind = "sample") -> None:
        self._source: EvidenceKind = source
        self._candidates = [
            _Candidate(sample.index, sentence.text, frozenset(tokenize(sentence.text)))
            for sample in samples
            for sentence in sample.passage.sentences
        ]
        frequency = Counter(word for c in self._candidates for word in c.words)
        total = len(self._candidates)
        self._weights: Mapping[str, float] = {
            word: log((1 + total) / count) for word, count in frequency.items()
        }
        self._rarest = log(1 + total)

    def of(self, sentence: str, against: Collection[int] | None = None) -> Contradiction | None:
        """Return the sample sentence on the same matter that says something else.

        Args:
            sentence: The flagged sentence.
            against: Indices of the samples that do not support it; None when that is not known.

        Returns:
            The nearest sentence that is not the same, or None when no sample comes near.
        """
        words = frozenset(tokenize(sentence))
        rated = [
            (self._likeness(words, c.words), c)
            for c in self._candidates
            if c.words != words and (against is None or c.sample in against)
        ]
        likeness, best = max(rated, key=lambda pair: pair[0], default=(0.0, None))
        if best is None or likeness < _RELATED:
            return None
        return Contradiction(self._source, best.sample, best.text)

    def _likeness(self, a: frozenset[str], b: frozenset[str]) -> float:
        return self._weight(a & b) / (self._weight(a | b) or 1.0)

    def _weight(self, words: frozenset[str]) -> float:
        # Exact, so that the order in which a set gives its words decides no tie.
        return fsum(self._weights.get(word, self._rarest) for word in words)
