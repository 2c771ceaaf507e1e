"""What the chain says of labelled responses."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from resay.core.verdict import over
from resay.policy import Threshold

__all__ = ["Outcome"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the chain says of a response, and what people say.

    A sentence without a score is never flagged, whatever the threshold.

    Attributes:
        score: The passage score, in [0, 1].
        sentences: The score of each sentence; None where no method had anything to say.
        hallucinated: Whether the response is labelled as hallucinated; None where it is not
            labelled.
        wrong: The same for each sentence; empty where no sentence is labelled.
    """

    score: float
    sentences: tuple[float | None, ...] = ()
    hallucinated: bool | None = None
    wrong: tuple[bool | None, ...] = ()

    @property
    def highest(self) -> float | None:
        """The greatest score of a sentence; None where none has one."""
        return max((score for score in self.sentences if score is not None), default=None)

    def flagged(self, threshold: Threshold) -> bool:
        """Return whether a response with these scores is flagged."""
        return over(self.score, threshold.passage) or any(
            over(score, threshold.sentence) for score in self.sentences
        )

    def labelled(self, wrong: bool) -> list[float | None]:
        """Return the scores of the sentences that are labelled as this."""
        pairs = zip(self.sentences, self.wrong, strict=True) if self.wrong else ()
        return [score for score, label in pairs if label is wrong]

    def share_flagged(self, wrong: bool, threshold: float | None) -> Fraction | None:
        """Return which share of its sentences labelled as this is flagged.

        Returns:
            The share, or None where no sentence is labelled as this.
        """
        scores = self.labelled(wrong)
        if not scores:
            return None
        return Fraction(sum(over(score, threshold) for score in scores), len(scores))
