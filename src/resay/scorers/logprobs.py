"""The response's own token probabilities (`logprobs`): SelfCheckGPT's four statistics.

Manakul, Liusie and Gales, "SelfCheckGPT: Zero-Resource Black-Box Hallucination Detection for
Generative Large Language Models", EMNLP 2023, section 3.1, section 7.2 and appendix A.1.

A model writes facts it knows with probable tokens; if it makes something up, many tokens would do
as well. With p_ij the probability of the j-th token of sentence i, and H_ij the uncertainty of its
choice, a sentence of J tokens has (section 3.1)

    Avg(-log p)   -1/J sum_j log p_ij        Avg(H)   1/J sum_j H_ij
    Max(-log p)    max_j (-log p_ij)         Max(H)    max_j H_ij

and the passage has the average over the tokens of all its sentences, or the mean of its sentences'
maxima (section 7.2).

H_ij is the perplexity of the distribution, as in the paper's experiments: two to the power of its
entropy in bits (appendix A.1, Eq. 13), which is the number of equally probable tokens with the same
uncertainty. It is computed over the whole vocabulary if the model returns that, and else over the k
most probable tokens; as in the released experiments, these are normalised to sum to 1, so the total
probability of all other tokens is left out.

The values are unbounded: `raw` and `raw_passage` keep them, -log p in nats, H as a number of
tokens. The score keeps their order:

    probability   1 - exp(-value)    1 minus the (geometric mean) probability; 0.5 at p = 0.5
    entropy       1 - 1 / value      0.5 for a choice as open as between two tokens

The passage score is that of the average, or the mean of the sentence scores. Probabilities have a
lower bound of e^-100.

A provider's list of tokens does not quite match the response; `token_alignment` finds them in it.

Cost: no calls; the tokens come with the response. Good at: names and numbers that the model
guesses. Bad at: errors the model is sure of, and open wording, which is as improbable as a guess:
it cannot distinguish not knowing what to say from not knowing how to say it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import ClassVar, Literal, cast

from resay._internal.event_loops import compute
from resay.core.passage import Passage
from resay.core.scores import Scores
from resay.scorers.base import Need, ScorerConfig, ScorerTraits
from resay.scorers.common.composite import CompositeConfig, ScorerPart
from resay.scorers.common.token_uncertainty import UncertaintyConfig, score_tokens
from resay.scorers.evidence import Evidence


class Logprobs:
    """Scores sentences by the probabilities that the model gave its own tokens."""

    name: ClassVar[str] = "logprobs"
    needs: ClassVar[frozenset[Need]] = frozenset({"logprobs"})
    traits: ClassVar[ScorerTraits] = ScorerTraits()

    class Config(UncertaintyConfig):
        """Settings of `logprobs`."""

        method: Literal["logprobs"] = "logprobs"

    def __init__(self, config: Logprobs.Config | None = None) -> None:
        self.config = config or self.Config()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Score sentences and passage.

        Args:
            passage: The response; its `sentences` are scored.
            evidence: The tokens of the response, in `logprobs`.

        Returns:
            Scores in [0, 1] with the unbounded values in `raw` and `raw_passage`; inconclusive
            without tokens, or if they are not those of the response.
        """
        if not evidence.logprobs:
            return Scores(error="the provider returned no token log-probabilities for the response")
        return await compute(partial(score_tokens, passage, evidence.logprobs, self.config))


def alternatives_needed(steps: Iterable[ScorerConfig]) -> int:
    """Return how many of the most probable tokens to request at each position of the response.

    Args:
        steps: The steps of a chain.

    Returns:
        The greatest number that any step needs; 0 if none needs any.
    """
    return max(map(_alternatives, steps), default=0)


def _alternatives(step: ScorerConfig) -> int:
    if isinstance(step, CompositeConfig):
        parts = cast("CompositeConfig[ScorerPart]", step).parts
        return alternatives_needed(part.scorer for part in parts)
    return step.alternatives if isinstance(step, Logprobs.Config) else 0
