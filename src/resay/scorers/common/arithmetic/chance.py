"""Whether a number that could be computed is so by chance.

With many numbers in documents, some sum, product or ratio of two is near almost any number. Where
no word says how a number was computed, it counts as computed only if so few ways were tried, and
the number is so exact, that one of them hardly gives it by chance.
"""

from __future__ import annotations

from resay.core.quantities import Quantity
from resay.scorers.common.arithmetic.result import place_value

# The probability that is taken for hardly by chance.
_CHANCE = 0.06


def is_by_chance(probability: float) -> bool:
    """Return whether something of a probability may well be by chance."""
    return probability > _CHANCE


def chance_of(quantity: Quantity, tried: int) -> float:
    """Return how likely one of several computed numbers is a number by chance.

    Args:
        quantity: The number: the larger and the less round it is, the less likely.
        tried: How many were computed.
    """
    units = abs(quantity.plain) / place_value(quantity.plain)
    zeros = len(str(round(units))) - len(str(round(units)).rstrip("0"))
    return tried * 10.0 ** (zeros // 2) / max(units, 1.0)
