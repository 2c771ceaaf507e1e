"""What the documents of a request say of the claims of an answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from resay.core.editions import newness
from resay.core.grounds import Grounds
from resay.core.references import Reference
from resay.core.scores import UnsupportedSpan


@dataclass(slots=True)
class GroundedClaim:
    """What documents say of one claim.

    Attributes:
        score: Its score; None if there is none.
        reason: A one-line explanation.
        grounds: The documents that speak for or against it.
        spans: The words that no document says, or that one contradicts.
    """

    score: float | None = None
    reason: str | None = None
    grounds: tuple[Grounds, ...] = ()
    spans: tuple[UnsupportedSpan, ...] = ()

    @property
    def supporting(self) -> frozenset[int]:
        """The indexes of the documents that support it."""
        return frozenset(ground.reference for ground in self.grounds if ground.supports)

    @property
    def is_denied(self) -> bool:
        """Whether a document says something else."""
        return any(not ground.supports for ground in self.grounds)

    def flag(self, reason: str) -> None:
        """Make it wrong, whatever documents say of it."""
        self.score, self.reason = 1.0, reason


def supporting(documents: Sequence[int]) -> str:
    """Say that documents support a claim.

    Args:
        documents: Their indexes.
    """
    return f"{_named(documents)} {'supports' if len(documents) == 1 else 'support'} it"


def contradicting(documents: Sequence[int], *, newer: bool = False) -> str:
    """Say that documents contradict a claim.

    Args:
        documents: Their indexes.
        newer: Whether to add that they are newer than others.
    """
    is_one = len(documents) == 1
    text = f"{_named(documents)} {'contradicts' if is_one else 'contradict'} it"
    return f"{text} and {'is' if is_one else 'are'} newer" if newer else text


def _named(documents: Sequence[int]) -> str:
    numbers = [str(document + 1) for document in documents]
    if len(numbers) == 1:
        return f"reference {numbers[0]}"
    return f"references {', '.join(numbers[:-1])} and {numbers[-1]}"


def are_newer(
    documents: Collection[int], others: Collection[int], references: Sequence[Reference]
) -> bool:
    """Return whether some documents have an edition newer than those of others."""
    editions = _editions(documents, references)
    other_editions = _editions(others, references)
    return bool(editions and other_editions) and max(editions) > max(other_editions)


def _editions(documents: Collection[int], references: Sequence[Reference]) -> list[tuple[int, ...]]:
    editions = [references[document].edition for document in documents]
    return [newness(edition) for edition in editions if edition]
