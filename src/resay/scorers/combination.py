"""Weighted sum of the standardised values of several methods (`combination`).

Manakul, Liusie and Gales, "SelfCheckGPT", the first version of the paper, section 3.4: "a simple
combination of the standardised scores" of its BERTScore, question answering and n-gram methods.
Here it takes any methods:

    z(i) = sum_m w_m (x_m(i) - mean_m) / deviation_m
    score(i) = 1 / (1 + exp(-intercept - (1 - lean) z(i) - lean mean_j z(j)))

x_m is the method's own unbounded value if it has one (`ngram`), else its score; or with `scale:
log_odds` the log-odds of its score, which distinguish a sentence that 20 of 20 samples contradict
from one that 19 contradict. With equal weights, `intercept: 0` and `lean: 0`, sentences are ranked
as by the paper's mean.

The mean and deviation of x_m depend on the model and the domain, as do weights, intercept and lean;
a policy must set the first two, because no default would be right. `resay calibrate` learns all of
them by logistic regression, so that the score is the probability that a sentence is wrong in texts
like those it learned from. `lean` is how far each sentence leans on its passage: sentences next to
wrong ones are more often wrong. It needs the whole passage, and never changes the order of
sentences within one.

A method that scores only passages gives every sentence the same value. A part without a score for a
sentence counts as its mean. The passage score is the mean of the sentence scores (SelfCheckGPT,
Eq. 12).

Cost: that of its parts, which run concurrently. Good at: parts whose scores mean different things
at the same value. Bad at: texts unlike those it was calibrated on. Do not put `snowballing` after a
combination that leans: the passage would count twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Annotated, ClassVar, Literal, Protocol

from pydantic import Field, field_validator

from resay.core.scores import Scores, mean_score
from resay.scorers.common.composite import Composite, CompositeConfig, ScorerPart
from resay.scorers.common.logistic import logistic

Scale = Literal["raw", "log_odds"]

# Keeps the odds of 0 and 1 finite. Values from 0.5 % to 5 % give much the same results.
_MARGIN = 0.02


class Standard(Protocol):
    """The distribution of one part's values, and their weight."""

    @property
    def mean(self) -> float:
        """Their mean."""
        ...

    @property
    def deviation(self) -> float:
        """Their standard deviation, greater than 0."""
        ...

    @property
    def weight(self) -> float:
        """The factor of a standardised value."""
        ...


class StandardisedPart(ScorerPart):
    """A method with the distribution of its values."""

    mean: float = Field(
        description="The mean of the method's values over sentences like those to be checked."
    )
    deviation: Annotated[float, Field(gt=0)] = Field(
        description="The standard deviation of the method's values over the same sentences."
    )
    scale: Scale = Field(
        default="raw",
        description="The value to use: the method's own unbounded value if it has one, else its"
        " score (raw); or the log-odds of its score (log_odds).",
    )


class Combination(Composite):
    """Adds the weighted standardised values of several methods."""

    name: ClassVar[str] = "combination"

    class Config(CompositeConfig[StandardisedPart]):
        """Settings of `combination`."""

        method: Literal["combination"] = "combination"
        intercept: float = Field(
            default=0.0,
            allow_inf_nan=False,
            description="A constant added to the sum; at 0, a sentence whose values are all average"
            " scores 0.5.",
        )
        lean: Annotated[float, Field(ge=0, lt=1)] = Field(
            default=0.0,
            description="The weight of the response's mean in each sentence's score; 0 = none.",
        )

        @field_validator("parts")
        @classmethod
        def _must_weigh_something(
            cls, parts: tuple[StandardisedPart, ...]
        ) -> tuple[StandardisedPart, ...]:
            if not any(part.weight for part in parts):
                raise ValueError("the weights must not all be 0")
            return parts

    def __init__(self, config: Combination.Config) -> None:
        super().__init__(config.parts)
        self.config = config

    def values(self, parts: Sequence[Scores], sentence: int) -> list[float | None]:
        """Return x_m of a sentence for each part m."""
        values: list[float | None] = []
        for standard, scores in zip(self.config.parts, parts, strict=True):
            value = scores.value_of_sentence(sentence)
            if standard.scale == "log_odds":
                score = scores.of_sentence(sentence)
                value = None if score is None else log_odds(score)
            values.append(value)
        return values

    def combined(self, values: Sequence[Sequence[float | None]]) -> list[float | None]:
        """Return the score of each sentence from its x_m."""
        sums = [weighted_sum(self.config.parts, of_sentence) for of_sentence in values]
        return combine(sums, intercept=self.config.intercept, lean=self.config.lean)


def weighted_sum(standards: Sequence[Standard], values: Sequence[float | None]) -> float | None:
    """Return the weighted sum z of standardised values.

    Args:
        standards: Mean, deviation and weight of each value.
        values: The values of one sentence; None counts as the mean.

    Returns:
        The sum, or None if all values are None.
    """
    terms: list[float] = []
    for standard, value in zip(standards, values, strict=True):
        if value is not None:
            terms.append(standard.weight * (value - standard.mean) / standard.deviation)
    return sum(terms) if terms else None


def combine(z: Sequence[float | None], *, intercept: float, lean: float) -> list[float | None]:
    """Return the scores of a passage's sentences from their sums z.

    Args:
        z: One sum per sentence; None if no part scored it.
        intercept: Added to each.
        lean: How far each leans on the mean of all, in [0, 1).

    Returns:
        Scores in [0, 1], None where z is.
    """
    mean = mean_score(z) or 0.0
    return [
        None if value is None else logistic(intercept + (1 - lean) * value + lean * mean)
        for value in z
    ]


def log_odds(score: float) -> float:
    """Return the log-odds of a score, first scaled to [0.02, 0.98] to keep them finite."""
    inside = _MARGIN + (1 - 2 * _MARGIN) * score
    return log(inside / (1 - inside))
