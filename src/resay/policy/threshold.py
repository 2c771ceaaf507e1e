"""The scores above which anything is flagged: the section `threshold`."""

from __future__ import annotations

from pydantic import Field, model_validator

from resay._internal.strict import Strict
from resay.core.decision import Band
from resay.core.scores import over
from resay.scorers.base import Unit


class Threshold(Strict):
    """The scores above which a response or sentence is flagged."""

    passage: Unit | None = Field(
        default=0.5,
        description="Flag the response if its score is above this; null = ignore the score of the"
        " response.",
    )
    sentence: Unit | None = Field(
        default=0.5,
        description="Flag a sentence if its score is above this; null = ignore the scores of"
        " sentences.",
    )
    doubtful: Unit | None = Field(
        default=None,
        description="Mark a sentence as doubtful, without flagging it, if its score is above"
        " this; null = every sentence that is not flagged is supported.",
    )

    @model_validator(mode="after")
    def _must_flag_something(self) -> Threshold:
        if self.passage is None and self.sentence is None:
            raise ValueError(
                "passage and sentence must not both be null, or nothing is ever flagged; set one"
            )
        if self.doubtful is not None and (self.sentence is None or self.doubtful >= self.sentence):
            raise ValueError(
                f"doubtful ({self.doubtful!r}) must be less than sentence ({self.sentence!r})"
            )
        return self

    def band(self, score: float | None, *, denied: bool = False) -> Band | None:
        """Return the band of a sentence's or claim's score.

        Args:
            score: The score.
            denied: Whether a text that it was compared with says something else.

        Returns:
            The band; None without a score or threshold.
        """
        if score is None or self.sentence is None:
            return None
        if over(score, self.sentence):
            return "contradicted" if denied else "unsupported"
        return "doubtful" if over(score, self.doubtful) else "supported"

    @property
    def lowest(self) -> float | None:
        """The lower of the two: no score below it can flag anything."""
        thresholds = [score for score in (self.passage, self.sentence) if score is not None]
        return min(thresholds, default=None)

    @property
    def passage_alone(self) -> float | None:
        """The passage threshold if it can be exceeded without a flagged sentence, else None."""
        if self.passage is None or self.sentence is None or self.passage < self.sentence:
            return self.passage
        return None
