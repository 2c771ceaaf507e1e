"""Targets of a calibration: the rates that a user asks for, and the guarantees about them.

The rate is the mean of a loss in [0, 1] over responses like those labelled. As the threshold moves
in one direction, the loss can only fall (fewer false alarms as it rises, fewer misses as it falls);
of the thresholds at which the guarantee holds, the calibration takes the one that moved least in
that direction.

`expected`: Angelopoulos, Bates, Fisch, Lei and Schuster, "Conformal Risk Control", ICLR 2024,
Theorem 1. With n losses whose mean is R at a threshold, and the next one's at most 1,

    n / (n + 1) R + 1 / (n + 1) <= alpha

makes the expected loss of the next response at most alpha, over calibrations and responses. It
assumes that the n + 1 responses are exchangeable.

`probable`: Bates, Angelopoulos, Lei, Malik and Jordan, "Distribution-Free, Risk-Controlling
Prediction Sets", Journal of the ACM 2021. The upper confidence bound of the rate is at most alpha,
at a confidence of 1 - delta, where

    P(Bin(n, alpha) <= n R) <= delta

for losses that are 0 or 1 (the exact bound of Clopper and Pearson), and for others (the bound of
Hoeffding and Bentkus, section 3.1)

    min(exp(-n h(min(R, alpha), alpha)), e P(Bin(n, alpha) <= ceil(n R))) <= delta
    h(a, b) = a log(a / b) + (1 - a) log((1 - a) / (1 - b))

Then the rate is at most alpha in at least a share 1 - delta of all calibrations (Theorem 1). It
assumes that the responses are drawn independently of each other from the same source.

`jeffreys`: Brown, Cai and DasGupta, "Interval Estimation for a Binomial Proportion", Statistical
Science 2001. The upper end of the Jeffreys interval is at most alpha,

    I_alpha(n R + 1/2, n (1 - R) + 1/2) >= 1 - delta

with I the regularised incomplete beta function. It is narrower than `probable`, especially for
shares, whose bound there holds for any distribution: shares of sentences vary less than losses of
0 or 1 with the same mean, for which the interval is made. Its coverage is 1 - delta on average
over rates and may be a little less at a particular one.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from resay.adapters import load_optional
from resay.errors import ConfigurationError

Unit = Literal["passage", "sentence"]
_MAX_NEEDED = 1_000_000
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
    """A rate to keep.

    Attributes:
        unit: `passage`: whole responses; `sentence`: the sentences of each.
        kind: `fpr`: the maximum share of correct items that are flagged; `recall`: the minimum
            share of hallucinated items that are flagged.
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
        """Its name on the command line, such as `passage-fpr`."""
        return f"{self.unit}-{self.kind}"

    @property
    def about_hallucinated(self) -> bool:
        """Whether it is about hallucinated items rather than correct ones."""
        return self.kind == "recall"

    @property
    def alpha(self) -> Fraction:
        """The tolerated share of errors: false alarms, or misses."""
        rate = Fraction(str(self.rate))
        return 1 - rate if self.kind == "recall" else rate

    def __str__(self) -> str:
        return _WORDS[self.unit, self.kind].format(100 * self.rate)


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The promise of a calibration about a rate.

    Attributes:
        kind: `probable`: at least a share `confidence` of calibrations keep it; `jeffreys`: about
            that share do; `expected`: it is kept on average over calibrations.
        confidence: The share, between 0 and 1; `expected` ignores it.
    """

    kind: Literal["probable", "jeffreys", "expected"] = "probable"
    confidence: float = 0.9

    def __post_init__(self) -> None:
        if self.kind not in ("probable", "jeffreys", "expected"):
            raise ConfigurationError(
                f"there is no guarantee {self.kind!r}; take 'probable', 'jeffreys' or 'expected'"
            )
        if not 0 < self.confidence < 1:
            raise ConfigurationError(
                f"the confidence must be between 0 and 1, such as 0.9, not {self.confidence!r}"
            )

    def holds(self, total: Fraction, count: int, alpha: Fraction, *, binary: bool) -> bool:
        """Return whether these losses guarantee that the rate is at most `alpha`.

        Args:
            total: The sum of the losses at some threshold, each in [0, 1].
            count: The number of losses.
            alpha: The rate, between 0 and 1.
            binary: Whether losses of this kind can only be 0 or 1.

        Raises:
            MissingDependencyError: scipy is not installed.
        """
        if self.kind == "expected":
            return total + 1 <= alpha * (count + 1)
        delta = float(1 - Fraction(str(self.confidence)))
        if self.kind == "jeffreys":
            # Jeffreys' posterior probability of a rate of at most alpha.
            hits, misses = float(total), count - float(total)
            share = _special().betainc(hits + 0.5, misses + 0.5, float(alpha))
            return total < count and bool(share >= 1 - delta)
        if binary:
            return bool(_special().bdtr(int(total), count, float(alpha)) <= delta)
        return hoeffding_bentkus(total, count, alpha) <= delta

    def needed(self, alpha: Fraction) -> int:
        """Return how many responses are needed if none of them has a loss.

        Args:
            alpha: The rate, between 0 and 1.
        """
        if self.kind == "expected":
            return math.ceil(1 / alpha) - 1
        if self.kind == "jeffreys":
            return (
                bisect_left(
                    range(1, _MAX_NEEDED),
                    True,
                    key=lambda n: self.holds(Fraction(0), n, alpha, binary=True),
                )
                + 1
            )
        delta = 1 - Fraction(str(self.confidence))
        estimate = math.ceil(math.log(float(delta)) / math.log1p(-float(alpha)))
        first = max(estimate - 1, 1)
        # The logarithmic estimate is off by less than one.
        return next(
            n for n in range(first, first + 4) if self.holds(Fraction(0), n, alpha, binary=True)
        )

    def __str__(self) -> str:
        if self.kind == "expected":
            return "on average over calibrations like this"
        if self.kind == "jeffreys":
            return f"in about {100 * self.confidence:g} % of calibrations like this"
        return f"in at least {100 * self.confidence:g} % of calibrations like this"


def _special() -> Any:
    return load_optional("scipy.special", package="scipy", extra="calibrate", purpose="calibrating")


def hoeffding_bentkus(total: Fraction, n: int, alpha: Fraction) -> float:
    """Return an upper bound on the probability of so small a sum of losses if their mean is alpha.

    Args:
        total: The sum of the losses, each in [0, 1].
        n: The number of losses.
        alpha: The mean, between 0 and 1.

    Raises:
        MissingDependencyError: scipy is not installed.
    """
    if n == 0:
        return 1.0
    special = _special()
    rate, limit = float(min(total / n, alpha)), float(alpha)
    divergence = special.rel_entr(rate, limit) + special.rel_entr(1 - rate, 1 - limit)
    hoeffding = math.exp(-n * max(float(divergence), 0.0))
    return min(hoeffding, math.e * float(special.bdtr(math.ceil(total), n, limit)))
