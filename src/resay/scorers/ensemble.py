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

from resay.core.passage import Passage
from resay.core.verdict import Scores
from resay.scorers.base import Need
from resay.scorers.common.parts import CompositeConfig, Part, Parts, joined, only_passages
from resay.scorers.evidence import Evidence


class Ensemble:
    """Adds the weighted scores of several methods."""

    name: ClassVar[str] = "ensemble"

    class Config(CompositeConfig[Part]):
        """Settings of `ensemble`."""

        method: Literal["ensemble"] = "ensemble"

        @field_validator("parts")
        @classmethod
        def _must_weigh_something(cls, parts: tuple[Part, ...]) -> tuple[Part, ...]:
            if sum(part.weight for part in parts) <= 0:
                raise ValueError("the weights must add up to more than 0")
            return parts

    def __init__(self, config: Config) -> None:
        self._weights = tuple(part.weight for part in config.parts)
        self._parts = Parts(part.scorer for part in config.parts)
        self.needs: frozenset[Need] = self._parts.needs
        self.by_text = self._parts.by_text

    async def prepare(self) -> None:
        """Load the resources of the parts now instead of on first use."""
        await self._parts.prepare()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Score with every part and add the results.

        Args:
            passage: The passage; its `sentences` are scored.
            evidence: The evidence that the parts need.

        Returns:
            Sentence scores, or a passage score if no part scores sentences.
        """
        results = await self._parts.score(passage, evidence)
        if only_passages(results):
            whole = clipped_sum(self._weights, [r.scores.passage for r in results])
            return joined(results, (), whole)
        sentences = [
            clipped_sum(self._weights, [r.of_sentence(i) for r in results])
            for i in range(len(passage.sentences))
        ]
        return joined(results, sentences, None)


def clipped_sum(weights: Sequence[float], scores: Sequence[float | None]) -> float | None:
    """Return H_+ of one sentence (section 3.4).

    Args:
        weights: The weight of each part.
        scores: Its scores; the weight of a part without one goes to the others.

    Returns:
        The sum, in [0, 1]; None if no part with a weight has a score.
    """
    known = [(w, s) for w, s in zip(weights, scores, strict=True) if s is not None]
    weight = sum(w for w, _ in known)
    if weight <= 0:
        return None
    total = sum(w * s for w, s in known) * sum(weights) / weight
    return min(max(total, 0.0), 1.0)
