"""Snowballing Correction (`snowballing`).

"A Multiple-Fill-in-the-Blank Exam Approach for Enhancing Zero-Resource Hallucination Detection in
Large Language Models", section 3.3.

A model that has said something false over-commits to it: sentences after a hallucination are more
likely hallucinated too. The scores of the previous steps are therefore corrected,

    H_S(i) = clip(H(i) + max(0, sum_{k<i} H(k) - theta) / |R|)        i = 0 .. |R| - 1

with |R| the number of sentences and clip the restriction to [0, 1].

That sum grows with the position in the passage, faster the more a judge doubts in general: after a
few sentences nearly every score is 1, and the ranking of the sentences is lost. `normalise: true`,
which is not in the paper, divides the corrected score by the greatest value it can take there:

    H_S(i) = (|R| H(i) + max(0, sum_{k<i} H(k) - theta)) / (|R| + max(0, i - theta))

Nothing is clipped. With theta = 0 it is a weighted mean of H(i) and the scores before it, so that
a passage of equal scores is unchanged whatever the judge's base rate, and supported sentences
lower the scores that follow them. `resay bench wikibio --methods snowballing` measures both.

Sentences without a score count neither in the sum, nor in i or |R|, and remain without one.

Cost: no calls. Good at: long passages in which one error causes others. Bad at: as published,
judges that doubt much; in either form, passages whose errors are unrelated to each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from resay.scorers.base import ScorerConfig
from resay.scorers.common.correcting import CorrectingScorer


class Snowballing(CorrectingScorer):
    """Raises the scores of sentences that follow doubtful ones."""

    name: ClassVar[str] = "snowballing"
    cause: ClassVar[str] = "what comes before it"

    class Config(ScorerConfig):
        """Settings of `snowballing`."""

        method: Literal["snowballing"] = "snowballing"
        theta: Annotated[float, Field(ge=0)] = Field(
            default=0.1,
            description="How much earlier doubt to ignore: of the sum of the scores before a"
            " sentence, only the excess over this counts.",
        )
        normalise: bool = Field(
            default=False,
            description="Divide by the greatest value the corrected score can take, so that the"
            " correction does not depend on how much a judge doubts in general.",
        )

    def __init__(self, config: Snowballing.Config | None = None) -> None:
        self.config = config or self.Config()

    def corrected(self, scores: Sequence[float | None]) -> list[float | None]:
        """Return the corrected scores; None if there is none to correct."""
        theta, normalise = self.config.theta, self.config.normalise
        available = [score for score in scores if score is not None]
        corrected = iter(correct(available, theta=theta, normalise=normalise))
        return [None if score is None else next(corrected) for score in scores]


def correct(scores: Sequence[float], *, theta: float = 0.1, normalise: bool = False) -> list[float]:
    """Return the corrected scores of a passage (section 3.3).

    Args:
        scores: H(i) of each sentence in order, in [0, 1].
        theta: How much of the sum before a sentence to ignore, at least 0.
        normalise: Divide by the greatest value instead of clipping.

    Returns:
        H_S(i) of each sentence, in [0, 1].
    """
    corrected: list[float] = []
    for i, score in enumerate(scores):
        before = max(0.0, sum(scores[:i]) - theta)
        greatest = max(0.0, i - theta) if normalise else 0.0
        # Equal to the quotient in the module docstring, but exact if nothing needs correction.
        value = score + (before - greatest * score) / (len(scores) + greatest)
        corrected.append(min(max(value, 0.0), 1.0))
    return corrected
