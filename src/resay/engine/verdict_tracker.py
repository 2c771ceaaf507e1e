"""Predicts the verdict of a response while it is written."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

from resay.core.scores import over
from resay.policy import Policy
from resay.scorers import Step


class VerdictTracker:
    """Tracks a response being written: would it be flagged if it ended here?

    Args:
        policy: The policy.
        corrections: The steps that correct the scores at the end.

    Attributes:
        has_claims: Whether any claim of it has a score, reliable or not, or it is flagged anyway.
    """

    def __init__(self, policy: Policy, corrections: Sequence[Step] = ()) -> None:
        self.has_claims = False
        self._threshold = policy.threshold
        self._corrections = corrections
        self._scores: list[float | None] = []
        self._total = 0.0
        self._scored = 0
        self._in_doubt = False
        self._over = False
        self._is_flagged = False

    def add(self, score: float | None, *, sure: bool) -> None:
        """Add the next claim.

        Args:
            score: Its score.
            sure: Whether the score is reliable.
        """
        self.has_claims = self.has_claims or score is not None
        score = score if sure else None
        self._scores.append(score)
        self._total += score or 0.0
        self._scored += score is not None
        self._in_doubt = self._in_doubt or not sure
        self._over = self._over or over(score, self._threshold.sentence)

    def flag(self) -> None:
        """Flag the response regardless of its sentences' scores."""
        self._is_flagged = True
        self.has_claims = True

    @property
    def flagged(self) -> bool:
        """Whether it would be flagged; claims in doubt count as supported, as in a verdict."""
        if self._is_flagged:
            return True
        if not self._corrections:
            return self._over or self._exceeds(self._total, self._scored)
        scores = self._scores
        for step in self._corrections:
            scores = step.corrected(scores)
        scored = [score for score in scores if score is not None]
        above = any(over(score, self._threshold.sentence) for score in scored)
        return above or self._exceeds(fsum(scored), len(scored))

    def _exceeds(self, total: float, scored: int) -> bool:
        count = len(self._scores) if self._in_doubt else scored
        return count > 0 and over(total / count, self._threshold.passage)
