"""What the methods that look at token probabilities share: SelfCheckGPT's four statistics.

With p_ij the probability of the j-th token of sentence i, and H_ij how open the choice of it was, a
sentence of J tokens has (section 3.1)

    Avg(-log p)   -1/J sum_j log p_ij        Avg(H)   1/J sum_j H_ij
    Max(-log p)    max_j (-log p_ij)         Max(H)    max_j H_ij

and the passage has the average over the tokens of all its sentences, or the mean of its sentences'
maxima (section 7.2).

H_ij is the perplexity of the distribution, as in the paper's experiments: two to the power of its
entropy in bits (appendix A.1, Eq. 13), which is the number of equally probable tokens that would
leave the choice as open. It is taken over the whole vocabulary where a model gives that, and else
over the k most probable tokens; those, as in the released experiments, are made to sum to 1, so the
probability that all other tokens have together is left out.

The values are unbounded: `raw` and `raw_passage` keep them, -log p in nats, H as a number of
tokens. The score keeps their order:

    probability   1 - exp(-value)    1 minus the (geometric mean) probability; 0.5 at p = 0.5
    entropy       1 - 1 / value      0.5 where the choice is as open as between two tokens

The passage score is that of the average, or the mean of the sentences' scores. A probability is
taken to be e^-100 at least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum
from statistics import fmean
from typing import Literal

from pydantic import Field

from resay.core.logprobs import TokenLogprob
from resay.core.passage import Passage
from resay.core.verdict import Scores
from resay.scorers.base import ScorerConfig
from resay.scorers.token_alignment import Alignment, align

__all__ = ["UncertaintyConfig", "perplexity", "score_tokens", "surprise"]

_HIGHEST_SURPRISE = 100.0
# Nothing in between is told apart: a list filled up with -9999 or with -inf.
_LOWEST = -9999.0


class UncertaintyConfig(ScorerConfig):
    """The base of steps that look at token probabilities."""

    measure: Literal["probability", "entropy"] = Field(
        default="probability",
        description="What is measured of each token: how improbable it was, or how open the choice"
        " of it was.",
    )
    pool: Literal["average", "maximum"] = Field(
        default="average",
        description="How a sentence's tokens are pooled. The maximum is over 0.5 as soon as one"
        " token was less probable than not; set `threshold` with it.",
    )
    top: int = Field(
        default=5,
        ge=2,
        le=1000,
        description="For entropy, over how many of the most probable tokens it is taken where the"
        " whole distribution is not known. OpenAI's chat models give 20 at most, others 5.",
    )

    @property
    def alternatives(self) -> int:
        """How many of the most probable tokens are wanted at each place."""
        return self.top if self.measure == "entropy" else 0


@dataclass(frozen=True, slots=True)
class _Value:
    """The value of one token."""

    index: int
    value: float


def surprise(token: TokenLogprob) -> float | None:
    """Return -log p of a token in nats, in [0, 100]; None where p is not known."""
    if token.logprob is None:
        return None
    return min(max(-token.logprob, 0.0), _HIGHEST_SURPRISE)


def perplexity(token: TokenLogprob, top: int) -> float | None:
    """Return how open the choice of a token was, at least 1.

    Args:
        token: The token.
        top: How many of the most probable tokens to look at where the entropy of the whole
            distribution is not known.

    Returns:
        The number of equally probable tokens that would leave the choice as open; None where not
        even two alternatives are known.
    """
    if token.entropy is not None:
        return exp(max(token.entropy, 0.0))
    logprobs = _most_probable(token, top)
    if len(logprobs) < 2:
        return None
    # Relative to the greatest, so that the exponentials of very small ones do not all vanish.
    shifted = [max(logprob - logprobs[0], -_HIGHEST_SURPRISE) for logprob in logprobs]
    total = fsum(map(exp, shifted))
    shares = [exp(logprob) / total for logprob in shifted]
    inverse = fsum(share * logprob for share, logprob in zip(shares, shifted, strict=True))
    return max(total * exp(-inverse), 1.0)


def _most_probable(token: TokenLogprob, top: int) -> list[float]:
    return sorted((max(other.logprob, _LOWEST) for other in token.top), reverse=True)[:top]


def score_tokens(
    passage: Passage, tokens: Sequence[TokenLogprob], settings: UncertaintyConfig
) -> Scores:
    """Score a passage by the probabilities of its tokens.

    Args:
        passage: The passage; its `sentences` are scored.
        tokens: The tokens of its text, see `align`.
        settings: Which statistic.

    Returns:
        Sentence and passage scores with their unbounded values in `raw` and `raw_passage`;
        inconclusive where the tokens are not those of the text, or have no such values.
    """
    alignment = align(tokens, passage)
    if alignment is None:
        return Scores(inconclusive="the tokens given do not make up the text of the response")
    rows: list[list[_Value]] = [[] for _ in passage.sentences]
    for i, (token, owner) in enumerate(zip(tokens, alignment.owners, strict=True)):
        value = _value(token, settings)
        if owner is not None and value is not None:
            rows[owner].append(_Value(i, value))
    if not any(rows):
        return Scores(inconclusive=_nothing_known(settings))
    raw = [_pooled(row, settings) for row in rows]
    known = [value for value in raw if value is not None]
    averages = settings.pool == "average"
    raw_passage = fmean(v.value for row in rows for v in row) if averages else fmean(known)
    return Scores(
        sentences=tuple(None if value is None else _score(value, settings) for value in raw),
        passage=_score(raw_passage, settings) if averages else None,
        raw=tuple(value or 0.0 for value in raw),
        raw_passage=raw_passage,
        why=tuple(_why(row, tokens, alignment, settings) for row in rows),
        lost=tuple(i for i, value in enumerate(raw) if value is None),
    )


def _value(token: TokenLogprob, settings: UncertaintyConfig) -> float | None:
    if settings.measure == "probability":
        return surprise(token)
    return perplexity(token, settings.top)


def _nothing_known(settings: UncertaintyConfig) -> str:
    if settings.measure == "probability":
        return "no token of the response's sentences has a log-probability"
    return "the tokens came without their most probable alternatives, which an entropy is made of"


def _pooled(row: Sequence[_Value], settings: UncertaintyConfig) -> float | None:
    if not row:
        return None
    values = [value.value for value in row]
    return max(values) if settings.pool == "maximum" else fmean(values)


def _score(value: float, settings: UncertaintyConfig) -> float:
    return 1 - exp(-value) if settings.measure == "probability" else 1 - 1 / max(value, 1.0)


def _why(
    row: Sequence[_Value],
    tokens: Sequence[TokenLogprob],
    alignment: Alignment,
    settings: UncertaintyConfig,
) -> str | None:
    if not row:
        return None
    worst = max(row, key=lambda value: value.value)
    said = alignment.texts[worst.index] or "a blank"
    if settings.measure == "probability":
        return f"its least probable token is {said!r}, with probability {exp(-worst.value):.2g}"
    token = tokens[worst.index]
    over = (
        "the whole vocabulary"
        if token.entropy is not None
        else f"the {len(_most_probable(token, settings.top))} most probable tokens"
    )
    return (
        f"{said!r} was as open as a choice between {worst.value:.1f} equally probable tokens"
        f" (entropy over {over})"
    )
