"""Finds the bands of `settle`."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from itertools import accumulate
from math import nextafter

from resay.errors import ConfigurationError
from resay.plugins import Settle

_DIGITS = 6


def fit_bands(
    scores: Sequence[float],
    decided: Sequence[bool],
    error: float,
    *,
    threshold: float | None = None,
) -> Settle:
    """Find the bands that settle the most sentences within a share of differing decisions.

    A sentence settled from below counts as not flagged, one settled from above as flagged. On
    either side, and so among all settled ones, at most the share `error` of the given sentences is
    decided differently from the final step. That share is measured on these sentences, after a
    search over all bands: expect a little more for others.

    Args:
        scores: The step's score for each sentence, in [0, 1].
        decided: For each sentence, whether the final step flags it.
        error: The share of settled sentences that may be decided differently, in [0, 1).
        threshold: The score above which a settled sentence is flagged. If given, `below` is at most
            and `above` at least this, so that settled sentences are decided as counted here.

    Returns:
        The bands, to at most six decimals; None for a side on which nothing can be settled.

    Raises:
        ConfigurationError: The error is out of range, or there is not one decision for each score.
    """
    if not 0 <= error < 1:
        raise ConfigurationError(f"the error of settled sentences must be in [0, 1), not {error!r}")
    if len(scores) != len(decided):
        raise ConfigurationError(
            f"{len(scores)} scores and {len(decided)} decisions; pass one decision for each score"
        )
    table = _Table(scores, decided, Fraction(str(error)))
    low = high = 0
    most_settled = -1
    # Of pairs that settle as many, the one with the lowest cuts.
    for pair in table.pairs(threshold):
        settled = table.settled(*pair)
        if settled > most_settled or (settled == most_settled and sum(pair) < low + high):
            low, high = pair
            most_settled = settled
    return table.bands(low, high, threshold)


class _Table:
    """The distinct scores in order, with the number of flagged sentences up to each.

    A cut is the number of distinct scores below it.
    """

    def __init__(self, scores: Sequence[float], decided: Sequence[bool], error: Fraction) -> None:
        self.values = sorted(set(scores))
        positions = {value: i for i, value in enumerate(self.values)}
        counts = [0] * len(self.values)
        flagged = [0] * len(self.values)
        for score, flag in zip(scores, decided, strict=True):
            counts[positions[score]] += 1
            flagged[positions[score]] += flag
        self._counts = list(accumulate(counts, initial=0))
        self._flagged = list(accumulate(flagged, initial=0))
        self._error = error

    def settled(self, low: int, high: int) -> int:
        """Return how many sentences are below the lower or above the upper cut."""
        return self._counts[low] + self._counts[-1] - self._counts[high]

    def pairs(self, threshold: float | None) -> Iterator[tuple[int, int]]:
        """Yield each allowed lower cut with the upper one that settles the most."""
        count = len(self.values)
        # `below` settles scores under it, `above` scores over it; the threshold itself flags none.
        lowest = bisect_right(self.values, threshold) if threshold is not None else 0
        highest = bisect_left(self.values, threshold) if threshold is not None else count
        # A score of 1 is under no `below`, one of 0 over no `above`.
        highest = min(highest, bisect_left(self.values, 1.0))
        lowest = max(lowest, bisect_right(self.values, 0.0))
        uppers = [high for high in range(lowest, count + 1) if self._above_is_right(high)]
        for low in range(highest + 1):
            if self._below_is_right(low):
                first = bisect_left(uppers, low if self._can_meet(low) else low + 1)
                if first < len(uppers):
                    yield low, uppers[first]

    def _can_meet(self, cut: int) -> bool:
        """Return whether both bands can end at a cut: whether a number fits between its scores."""
        if not 0 < cut < len(self.values):
            return True
        return nextafter(self.values[cut - 1], 1.0) < self.values[cut]

    def _below_is_right(self, low: int) -> bool:
        return self._flagged[low] <= self._error * self._counts[low]

    def _above_is_right(self, high: int) -> bool:
        count = self._counts[-1] - self._counts[high]
        return count - (self._flagged[-1] - self._flagged[high]) <= self._error * count

    def bands(self, low: int, high: int, threshold: float | None) -> Settle:
        """Return the bands of two cuts, as numbers with few digits."""
        values, count = self.values, len(self.values)
        if 0 < low == high < count:
            middle = _between(values[low - 1], values[low]) if threshold is None else threshold
            return Settle(below=middle, above=middle)
        below = above = None
        if low:
            upper = values[low] if low < count else 1.0
            if threshold is not None:
                upper = min(upper, threshold)
            below = _shortest(values[low - 1], upper)
        if high < count:
            lower = values[high - 1] if high else 0.0
            if threshold is not None:
                lower = max(lower, threshold)
            above = -_shortest(-values[high], -lower)
        return Settle(below=below, above=above)


def _between(lower: float, upper: float) -> float:
    """Return a number between two others that are not adjacent floats."""
    short = _shortest(lower, upper)
    return short if short < upper else (lower + upper) / 2


def _shortest(lower: float, upper: float) -> float:
    """Return the number with the fewest digits that is over `lower` and at most `upper`."""
    for digits in range(1, _DIGITS + 1):
        step = Decimal(1).scaleb(-digits)
        value = Decimal(repr(lower)).quantize(step, ROUND_CEILING)
        number = float(value if value > Decimal(repr(lower)) else value + step)
        if lower < number <= upper:
            return number
    return upper
