"""Splits the answer to a search into clauses."""

from __future__ import annotations

from collections.abc import Iterator

from resay._internal.patterns import lazy_pattern
from resay.core.segmentation.sentences import sentence_ends

# "It may be X, but the closest match is Y": what follows says something else.
_TURN = lazy_pattern(
    r"[,;]\s+(?=(?:but|however|though|although|so|the (?:closest|nearest|best))\b)"
)


def clauses_of(answer: str) -> Iterator[str]:
    """Yield the clauses of an answer, in order, without blank ones."""
    for line in answer.splitlines():
        start = 0
        for end in (*sentence_ends(line), len(line)):
            for clause in _TURN.split(line[start:end]):
                if clause.strip():
                    yield clause
            start = end
