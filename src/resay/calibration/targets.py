"""What a user wants of the thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from resay.errors import ConfigurationError

__all__ = ["Target", "Unit"]

Unit = Literal["passage", "sentence"]

_WORDS = {
    ("passage", "fpr"): "at most {:g} % of the correct responses are flagged",
    ("passage", "recall"): "at least {:g} % of the hallucinated responses are flagged",
    ("sentence", "fpr"): (
        "on average over responses, at most {:g} % of the correct sentences of one are flagged"
    ),
    ("sentence", "recall"): (
        "on average over responses, at least {:g} % of the hallucinated sentences of one are"
        " flagged"
    ),
}


@dataclass(frozen=True, slots=True)
class Target:
    """A rate to be kept.

    Attributes:
        unit: `passage`: whole responses; `sentence`: the sentences of each.
        kind: `fpr`: how much of what is correct is flagged, at most; `recall`: how much of what is
            hallucinated is flagged, at least.
        rate: The rate, between 0 and 1.
    """

    unit: Unit
    kind: Literal["fpr", "recall"]
    rate: float

    def __post_init__(self) -> None:
        if (self.unit, self.kind) not in _WORDS:
            raise ConfigurationError(
                f"there is no target {self.unit!r} {self.kind!r}; the unit is 'passage' or"
                " 'sentence', the kind 'fpr' or 'recall'"
            )
        if not 0 < self.rate < 1:
            raise ConfigurationError(
                f"{self.name} must be between 0 and 1, such as 0.05, not {self.rate!r}"
            )

    @property
    def name(self) -> str:
        """What it is called on the command line, such as `passage-fpr`."""
        return f"{self.unit}-{self.kind}"

    @property
    def about_hallucinated(self) -> bool:
        """Whether it is about what is hallucinated, in place of what is correct."""
        return self.kind == "recall"

    @property
    def alpha(self) -> Fraction:
        """How much may go wrong: false alarms, or misses."""
        rate = Fraction(str(self.rate))
        return 1 - rate if self.kind == "recall" else rate

    def __str__(self) -> str:
        return _WORDS[self.unit, self.kind].format(100 * self.rate)
