"""The four statistics of token probabilities; `resay.scorers.logprobs` has their equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum
from statistics import fmean
from typing import Literal

from pydantic import Field

from resay._internal.plurals import counted
from resay.core.logprobs import TokenLogprob
from resay.core.passage import Passage
from resay.core.scores import Scores
from resay.scorers.base import ScorerConfig
from resay.scorers.common.token_alignment import Alignment, align

_HIGHEST_SURPRISE = 100.0
# Lower values are not distinguished: providers pad lists with -9999 or -inf.
_LOWEST = -9999.0


class UncertaintyConfig(ScorerConfig):
    """Base class of the settings of methods that use token probabilities."""

    measure: Literal["probability", "entropy"] = Field(
        default="probability",
        description="What to measure for each token: how improbable it was (probability), or how"
        " open the choice was (entropy).",
    )
    pool: Literal["average", "maximum"] = Field(
        default="average",
        description="How to pool a sentence's tokens. The maximum exceeds 0.5 as soon as one token"
        " has a probability below 0.5, so adjust `threshold` with it.",
    )
    top: int = Field(
        default=5,
        ge=2,
        le=1000,
        description="For entropy: the number of most probable tokens to compute it over if the"
        " whole distribution is not known. OpenAI's chat models return at most 20, others 5.",
    )

    @property
    def alternatives(self) -> int:
        """Number of most probable tokens needed at each position."""
        return self.top if self.measure == "entropy" else 0


@dataclass(frozen=True, slots=True)
class _TokenValue:
    """The value of one token."""

    index: int
    value: float


def surprise(token: TokenLogprob) -> float | None:
    """Return -log p of a token in nats, in [0, 100]; None if p is unknown."""
    if token.logprob is None:
        return None
    return min(max(-token.logprob, 0.0), _HIGHEST_SURPRISE)


def perplexity(token: TokenLogprob, top: int) -> float | None:
    """Return the perplexity of the choice of a token, at least 1.

    Args:
        token: The token.
        top: How many of the most probable tokens to use if the entropy of the whole distribution
            is unknown.

    Returns:
        The number of equally probable tokens with the same uncertainty; None if fewer than two
        alternatives are known.
    """
    if token.entropy is not None:
        return exp(max(token.entropy, 0.0))
    logprobs = _most_probable(token, top)
    if len(logprobs) < 2:
        return None
    # Relative to the greatest, so that very small probabilities do not all underflow.
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
        settings: The statistic to compute.

    Returns:
        Sentence and passage scores with their unbounded values in `raw` and `raw_passage`;
        inconclusive if the tokens are not those of the text, or lack the required values.
    """
    alignment = align(tokens, passage)
    if alignment is None:
        return Scores(error="the tokens given do not make up the text of the response")
    is_entropy = settings.measure == "entropy"
    rows: list[list[_TokenValue]] = [[] for _ in passage.sentences]
    for i, (token, owner) in enumerate(zip(tokens, alignment.owners, strict=True)):
        value = perplexity(token, settings.top) if is_entropy else surprise(token)
        if owner is not None and value is not None:
            rows[owner].append(_TokenValue(i, value))
    if not any(rows):
        error = "no token of the response's sentences has a log-probability"
        if is_entropy:
            error = (
                "the tokens came without their most probable alternatives, which an entropy is"
                " made of"
            )
        return Scores(error=error)
    is_average = settings.pool == "average"
    pooled = fmean if is_average else max
    raw = [pooled([value.value for value in row]) if row else None for row in rows]
    if is_average:
        raw_passage = fmean(value.value for row in rows for value in row)
    else:
        raw_passage = fmean(value for value in raw if value is not None)
    return Scores(
        sentences=tuple(None if value is None else _score(value, settings) for value in raw),
        passage=_score(raw_passage, settings) if is_average else None,
        raw=tuple(value or 0.0 for value in raw),
        raw_passage=raw_passage,
        reasons=tuple(_reason(row, tokens, alignment, settings) for row in rows),
        lost=tuple(i for i, value in enumerate(raw) if value is None),
    )


def _score(value: float, settings: UncertaintyConfig) -> float:
    return 1 - exp(-value) if settings.measure == "probability" else 1 - 1 / max(value, 1.0)


def _reason(
    row: Sequence[_TokenValue],
    tokens: Sequence[TokenLogprob],
    alignment: Alignment,
    settings: UncertaintyConfig,
) -> str | None:
    if not row:
        return None
    worst = max(row, key=lambda value: value.value)
    token_text = alignment.texts[worst.index] or "a blank"
    if settings.measure == "probability":
        return (
            f"its least probable token is {token_text!r}, with probability {exp(-worst.value):.2g}"
        )
    token = tokens[worst.index]
    over = "the whole vocabulary"
    if token.entropy is None:
        count = len(_most_probable(token, settings.top))
        over = f"the {counted(count, 'most probable token')}"
    return (
        f"{token_text!r} was as open as a choice between {worst.value:.1f} equally probable tokens"
        f" (entropy over {over})"
    )
