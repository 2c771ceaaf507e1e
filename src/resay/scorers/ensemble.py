"""Clipped weighted sum of the scores of several methods (`ensemble`).

"A Multiple-Fill-in-the-Blank Exam Approach for Enhancing Zero-Resource Hallucination Detection in
Large Language Models", section 3.4.

    H_+(i) = clip(sum_m C_m H_m(i))

with a weight C_m for each method and clip the restriction to [0, 1]. The paper weights FIBE and
SelfCheckGPT-Prompt 0.5 each if used together, 1 if used alone, and Direct Question 0.2. For the
composition with Snowballing Correction, chain this step and `snowballing`.

A method that scores only passages gives every sentence the same score. If a part has no score for a
sentence, the weights of the others are scaled up to the sum of all.

Cost: that of its parts, which run concurrently. Good at: methods that err on different sentences.
Bad at: parts whose scores mean different things at the same value; `combination` standardises them
first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import field_validator

from resay.core.scores import Scores
from resay.scorers.common.composite import Composite, CompositeConfig, ScorerPart


class Ensemble(Composite):
    """Adds the weighted scores of several methods."""

    name: ClassVar[str] = "ensemble"

    class Config(CompositeConfig[ScorerPart]):
        """Settings of `ensemble`."""

        method: Literal["ensemble"] = "ensemble"

        @field_validator("parts")
        @classmethod
        def _must_weigh_something(cls, parts: tuple[ScorerPart, ...]) -> tuple[ScorerPart, ...]:
            if sum(part.weight for part in parts) <= 0:
                raise ValueError("the weights must add up to more than 0")
            return parts

    def __init__(self, config: Ensemble.Config) -> None:
        super().__init__(config.parts)
        self._weights = [part.weight for part in config.parts]

    def values(self, parts: Sequence[Scores], sentence: int) -> list[float | None]:
        """Return H_m of a sentence for each part m."""
        return [scores.of_sentence(sentence) for scores in parts]

    def combined(self, values: Sequence[Sequence[float | None]]) -> list[float | None]:
        """Return H_+ of each sentence from its H_m."""
        return [clipped_sum(self._weights, of_sentence) for of_sentence in values]


def clipped_sum(weights: Sequence[float], scores: Sequence[float | None]) -> float | None:
    """Return H_+ of one sentence (section 3.4).

    Args:
        weights: The weight of each part.
        scores: Its scores; the weight of a part without one goes to the others.

    Returns:
        The sum, in [0, 1]; None if no part with a weight has a score.
    """
    weighted = [(w, s) for w, s in zip(weights, scores, strict=True) if s is not None]
    weight = sum(w for w, _ in weighted)
    if weight <= 0:
        return None
    total = sum(w * s for w, s in weighted) * sum(weights) / weight
    return min(max(total, 0.0), 1.0)
