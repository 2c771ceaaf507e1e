"""What the documents of a request say of the claims of an answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from resay.core.editions import newness
from resay.core.grounds import Grounds
from resay.core.references import Reference
from resay.core.scores import Scores, UnsupportedSpan

NAMES_SOURCES = "it only names sources"
"""Why an entry of a list of sources has no score."""
# A score up to this is support.
_SUPPORTED = 0.5


@dataclass(slots=True)
class GroundedClaim:
    """What documents say of one claim.

    Attributes:
        score: Its score; None if there is none.
        reason: A one-line explanation.
        grounds: The documents that speak for or against it.
        spans: The words that no document says, or that one contradicts.
        method: The method that settled it, if that is another than the step's; None if it is not.
        is_source: Whether it is an entry of a list of sources that claims nothing.
    """

    score: float | None = None
    reason: str | None = None
    grounds: tuple[Grounds, ...] = ()
    spans: tuple[UnsupportedSpan, ...] = ()
    method: str | None = None
    is_source: bool = False

    @property
    def supporting(self) -> frozenset[int]:
        """The indexes of the documents that support it."""
        return frozenset(ground.reference for ground in self.grounds if ground.supports)

    @property
    def is_denied(self) -> bool:
        """Whether a document says something else."""
        return any(not ground.supports for ground in self.grounds)

    @property
    def is_flagged(self) -> bool:
        """Whether documents do not support it."""
        is_doubtful = self.score is not None and self.score > _SUPPORTED
        return is_doubtful and not self.supporting

    def leave_open(self, reason: str) -> None:
        """Flag it no more: the method cannot tell whether documents say it."""
        self.score, self.reason, self.spans = self.score and min(self.score, _SUPPORTED), reason, ()

    def flag(self, reason: str) -> None:
        """Make it wrong, whatever documents say of it."""
        self.score, self.reason, self.is_source = 1.0, reason, False


def scores_of_claims(
    claims: Sequence[GroundedClaim],
    columns: Sequence[tuple[float | None, ...]],
    denied: Sequence[bool | None],
) -> Scores:
    """Return what documents say of the claims of an answer as scores.

    Args:
        claims: What they say of each claim.
        columns: The scores of the claims against each document; none if there are none.
        denied: Whether a document says something else than each claim; None if that is not known.
    """
    return Scores(
        sentences=tuple(claim.score for claim in claims),
        columns=tuple(columns),
        reasons=tuple(claim.reason for claim in claims),
        grounds=tuple(claim.grounds for claim in claims),
        denied=tuple(denied),
        spans=tuple(claim.spans for claim in claims),
        methods=tuple(claim.method for claim in claims),
        sources=tuple(index for index, claim in enumerate(claims) if claim.is_source),
    )


def columns_of(claims: Sequence[GroundedClaim], count: int) -> list[tuple[float | None, ...]]:
    """Return for each document, by claim, 0 if it supports the claim, and 1 if it contradicts it.

    Args:
        claims: What documents say of each claim.
        count: The number of documents.
    """
    columns: list[tuple[float | None, ...]] = []
    for document in range(count):
        entries: list[float | None] = []
        for claim in claims:
            entry: float | None = None
            for ground in claim.grounds:
                if ground.reference == document:
                    entry = 0.0 if ground.supports else 1.0
            entries.append(entry)
        columns.append(tuple(entries))
    return columns


def supporting(documents: Sequence[int]) -> str:
    """Say that documents support a claim.

    Args:
        documents: Their indexes.
    """
    return f"{named(documents)} {'supports' if len(documents) == 1 else 'support'} it"


def contradicting(documents: Sequence[int], *, newer: bool = False) -> str:
    """Say that documents contradict a claim.

    Args:
        documents: Their indexes.
        newer: Whether to add that they are newer than others.
    """
    is_one = len(documents) == 1
    text = f"{named(documents)} {'contradicts' if is_one else 'contradict'} it"
    return f"{text} and {'is' if is_one else 'are'} newer" if newer else text


def named(documents: Sequence[int]) -> str:
    """Return how documents are called: references 1 and 2.

    Args:
        documents: Their indexes.
    """
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
