"""Draws scores towards the mean of their passage (`leaning`).

Sentences next to wrong ones are more often wrong, and sentences next to well-supported ones more
often right. The scores of the previous steps are therefore drawn towards their mean,

    H_L(i) = (1 - lean) H(i) + lean mean_j H(j)

the sum that `combination` takes of its z, and the form of the James-Stein estimator (James and
Stein, "Estimation with Quadratic Loss", 1961). It changes neither the mean of the passage nor the
order of its sentences; a single-sentence answer has nothing to lean on.

It decides when a score alone says little. A sentence that no sample mentions may be a true detail
or an invention: next to sentences that the samples repeat it is taken for the former, next to
others like it for the latter. With a lean of at most (H - t) / H, a score H stays over a threshold
t whatever the other sentences score.

Sentences without a score count nowhere, and remain without one.

Cost: no calls. Good at: answers that are mostly right or mostly made up, such as those about
matters a model does not know. Bad at: a single invention that no sample contradicts, in an answer
that is otherwise right. Do not put it after `snowballing` or a `combination` that leans: the
passage would count twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from resay.core.scores import mean_score
from resay.scorers.base import ScorerConfig
from resay.scorers.common.correcting import CorrectingScorer


class Leaning(CorrectingScorer):
    """Draws the scores of sentences towards the mean of their passage."""

    name: ClassVar[str] = "leaning"
    cause: ClassVar[str] = "what is around it"

    class Config(ScorerConfig):
        """Settings of `leaning`."""

        method: Literal["leaning"] = "leaning"
        lean: Annotated[float, Field(ge=0, lt=1)] = Field(
            default=0.15,
            description="The weight of the response's mean in each sentence's score; 0 = none.",
        )

    def __init__(self, config: Leaning.Config | None = None) -> None:
        self.config = config or self.Config()

    def corrected(self, scores: Sequence[float | None]) -> list[float | None]:
        """Return the corrected scores; None if there is none to correct."""
        mean, lean = mean_score(scores), self.config.lean
        # Computed as an offset from the score, so that equal scores stay identical to the last bit.
        return [
            None if score is None or mean is None else score + lean * (mean - score)
            for score in scores
        ]
