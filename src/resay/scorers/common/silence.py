"""How much a sample that does not mention a claim counts against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from resay.core.scores import Scores, mean_score
from resay.scorers.common.comparing import Entries, best_scores

# Entry of a claim that is not mentioned, until `facts` has scored it.
_SILENCE = 0.6


class Between(BaseModel):
    """A weight between two bounds, set by the score of `facts`.

    If a judge finds a claim not mentioned, it may be a true detail or an invention. `facts` knows
    more: whether other samples have the claim's numbers and names (0.3 of its score here), and how
    little the samples say of each other (0.7).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    min: Annotated[float, Field(ge=0.0, le=1.0)] = Field(
        default=0.15, description="The weight if `facts` scores the claim 0."
    )
    max: Annotated[float, Field(ge=0.0, le=1.0)] = Field(
        default=0.7,
        description="The weight if `facts` scores the claim 1, and for the items of lists and"
        " tables, which samples leave out when they do not agree.",
    )

    @model_validator(mode="after")
    def _must_be_in_order(self) -> Between:
        if self.min > self.max:
            raise ValueError(f"min ({self.min!r}) must not be greater than max ({self.max!r})")
        return self

    def at(self, share: float) -> float:
        """Return the weight at a share of the way from `min` to `max`."""
        return self.min + (self.max - self.min) * share


class Weights(BaseModel):
    """How much each kind of evidence counts against a claim."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    contradicted: Annotated[float, Field(ge=0.0, le=1.0)] = Field(
        default=1.0,
        description="The weight of a sample that says something else about the same subject.",
    )
    not_mentioned: Annotated[float, Field(ge=0.0, le=1.0)] | Between = Field(
        default=0.6,
        description="The weight of a sample that does not mention the subject, or of which the"
        " judge says only that it does not support the claim. With `min` and `max`, it depends"
        " on the score of `facts`.",
    )

    @model_validator(mode="after")
    def _must_be_in_order(self) -> Weights:
        weaker = self.not_mentioned
        weaker = weaker.max if isinstance(weaker, Between) else weaker
        if weaker > self.contradicted:
            raise ValueError(
                f"not_mentioned ({weaker!r}) must not be greater than contradicted"
                f" ({self.contradicted!r}): it is the weaker evidence"
            )
        return self

    @property
    def silence(self) -> float:
        """The entry of a claim that is not mentioned, until more is known."""
        return _SILENCE if isinstance(self.not_mentioned, Between) else self.not_mentioned


def weigh_silence(scores: Scores, weights: Sequence[float], *, any_of: bool) -> Scores:
    """Return scores with another entry where a sample does not mention a claim.

    Args:
        scores: The scores, with the columns they average and the samples that are silent.
        weights: The entry of each claim in the columns of these samples.
        any_of: Whether one supporting text is enough, as with documents.
    """
    if not scores.columns:
        return scores
    silent = scores.silent or ((),) * len(weights)
    columns: list[Entries] = []
    for number, column in enumerate(scores.columns):
        entries = enumerate(column)
        columns.append(
            tuple(weights[claim] if number in silent[claim] else entry for claim, entry in entries)
        )
    if any_of:
        means = best_scores(columns, scores.silent, len(weights))
    else:
        means = [mean_score(row) for row in zip(*columns, strict=True)]
    return replace(scores, sentences=tuple(means), columns=tuple(columns))
