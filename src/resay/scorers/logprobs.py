"""The response's own token probabilities (`logprobs`).

Manakul, Liusie and Gales, "SelfCheckGPT: Zero-Resource Black-Box Hallucination Detection for
Generative Large Language Models", EMNLP 2023, section 3.1, section 7.2 and appendix A.1.

What a model knows it writes with probable tokens; where it makes something up, many tokens would do
as well. `resay.scorers.uncertainty` has the equations, and how their values become scores.

Cost: no calls; the tokens come with the response. Good at: names and numbers that the model
guesses. Bad at: errors the model is sure of, and open wording, which is as improbable as a guess:
it sees no difference between not knowing what to say and not knowing how to say it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import ClassVar, Literal, cast

from resay._internal.tasks import compute
from resay.core.passage import Passage
from resay.core.verdict import Scores
from resay.scorers.base import Need, ScorerConfig
from resay.scorers.common.parts import CompositeConfig, Part
from resay.scorers.evidence import Evidence
from resay.scorers.uncertainty import UncertaintyConfig, score_tokens

__all__ = ["Logprobs", "alternatives_wanted"]


class Logprobs:
    """Scores sentences by the probabilities that the model gave its own tokens."""

    name: ClassVar[str] = "logprobs"
    needs: ClassVar[frozenset[Need]] = frozenset({"logprobs"})

    class Config(UncertaintyConfig):
        """Settings of `logprobs`."""

        method: Literal["logprobs"] = "logprobs"

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or self.Config()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Score sentences and passage.

        Args:
            passage: The response; its `sentences` are scored.
            evidence: The tokens of the response, in `logprobs`.

        Returns:
            Scores in [0, 1] with the unbounded values in `raw` and `raw_passage`; inconclusive
            where there are no tokens, or not those of the response.
        """
        if not evidence.logprobs:
            return Scores(
                inconclusive="the provider returned no token log-probabilities for the response"
            )
        return await compute(partial(score_tokens, passage, evidence.logprobs, self.config))


def alternatives_wanted(steps: Iterable[ScorerConfig]) -> int:
    """Return how many of the most probable tokens to ask for at each place of the response.

    Args:
        steps: The steps of a chain.

    Returns:
        As many as the step needs that needs most; 0 where none needs any.
    """
    return max(map(_alternatives, steps), default=0)


def _alternatives(step: ScorerConfig) -> int:
    if isinstance(step, CompositeConfig):
        parts = cast("CompositeConfig[Part]", step).parts
        return alternatives_wanted(part.scorer for part in parts)
    return step.alternatives if isinstance(step, Logprobs.Config) else 0
