"""What methods share that correct the scores of the previous steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from resay.core.passage import Passage
from resay.core.scores import Scores
from resay.scorers.base import Need, ScorerTraits
from resay.scorers.evidence import Evidence


class CorrectingScorer(ABC):
    """Base class of methods that calculate corrected scores from all scores of a passage.

    Attributes:
        cause: What raises or lowers a score, as its reason says it.
    """

    needs: ClassVar[frozenset[Need]] = frozenset({"scores"})
    traits: ClassVar[ScorerTraits] = ScorerTraits()
    cause: ClassVar[str]

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Correct the scores of the previous steps.

        Args:
            passage: The whole passage.
            evidence: Its `scores` are corrected.

        Returns:
            One corrected score per sentence; None if there is none to correct.
        """
        scores = self.corrected(evidence.scores)
        return Scores(
            sentences=tuple(scores), reasons=tuple(map(self._reason, evidence.scores, scores))
        )

    @abstractmethod
    def corrected(self, scores: Sequence[float | None]) -> list[float | None]:
        """Return the corrected scores; None if there is none to correct."""

    def _reason(self, before: float | None, after: float | None) -> str | None:
        if before is None or after is None or f"{before:.2f}" == f"{after:.2f}":
            return None
        return f"{'raised' if after > before else 'lowered'} from {before:.2f} by {self.cause}"
