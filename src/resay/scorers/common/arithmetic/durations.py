"""Durations: "18 years before", "for 18 years", "aged 33", "seven hours"."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from itertools import combinations

from resay.core.quantities import Quantity
from resay.scorers.common.arithmetic.claim import MAX_MEANT, ComputedClaim, combined
from resay.scorers.common.arithmetic.result import ComputedResult, agrees, order_of
from resay.scorers.common.arithmetic.values import Value

# A time before or after is between two.
_COMPARED = 2
_EXACT = 1e-6
_MONTHS = 12
_DAY_S = 86_400.0
_MINUTE_S = 60
_MINUTES_OF_DAY = 24 * 60


def duration(claim: ComputedClaim) -> ComputedResult | None:
    """Return how long it is from one date or time to another; None if it is unclear which."""
    quantity, direction = claim.quantity, claim.computation.direction
    if quantity.unit == "s" and quantity.scale < _DAY_S:
        dates = [value for value in claim.documents.values if value.quantity.unit == "clock"]
    else:
        dates = claim.documents.dates
    pairs = _pairs(claim, dates)
    decided: ComputedResult | None = None
    for first, second in pairs:
        if first.quantity.unit == "clock":
            # From the evening to the next morning, perhaps.
            earlier, later = first, second
        else:
            earlier, later = sorted((first, second), key=lambda value: order_of(value.quantity))
        amounts = amounts_between(earlier.quantity, later.quantity, quantity)
        if not amounts:
            continue
        is_turned = (direction == 1 and first is earlier) or (direction == -1 and first is later)
        if order_of(earlier.quantity) == order_of(later.quantity):
            is_turned = False
        agreeing = [each for each in amounts if not is_turned and _agrees(quantity, each)]
        result = claim.result(
            (agreeing or amounts)[0],
            f"{later.written} - {earlier.written}",
            (first, second),
            is_right=bool(agreeing),
        )
        if result.is_right:
            return result
        decided = decided or result
    if decided is None or claim.is_stated():
        return None
    if not direction:
        return decided if len(pairs) == 1 else None
    # "100 members two years later" does not say of what the two dates are.
    subjects = len(claim.mentioned(dates)) + (claim.identified_before(dates) is not None)
    return decided if subjects == _COMPARED and len(pairs) <= MAX_MEANT else None


def _agrees(claimed: Quantity, amount: float) -> bool:
    """Whether a duration is the claimed one: two and a half hours are not three."""
    is_exact = abs(claimed.low - amount) <= _EXACT * max(abs(amount), 1.0)
    return is_exact or (claimed.about and agrees(claimed, amount))


def _pairs(claim: ComputedClaim, dates: Sequence[Value]) -> list[tuple[Value, Value]]:
    """Return the pairs of dates that a claim may be about."""
    subjects = claim.mentioned(dates)
    if len(subjects) > 2:
        return []
    if claim.computation.direction or len(subjects) == 2:
        pairs = claim.pairs(dates)
        if pairs or claim.computation.direction:
            return pairs
        first, second = (claim.meant(subject.values) for subject in subjects)
        return combined(first, second)
    about = [value for value in dates if claim.stems & (value.labels | value.subject)]
    in_one = [
        (first, second)
        for first, second in combinations(about, 2)
        if first.sentence == second.sentence
    ]
    if len(about) <= MAX_MEANT:
        return in_one if len(in_one) == 1 else list(combinations(about, 2))
    return in_one[:MAX_MEANT]


def amounts_between(earlier: Quantity, later: Quantity, claimed: Quantity) -> list[float]:
    """Return what may be said to lie between two dates or times, in the unit of a claim.

    Args:
        earlier: The earlier one.
        later: The later one.
        claimed: What the claim says.
    """
    if earlier.unit == "clock":
        minutes = (later.low - earlier.low) % _MINUTES_OF_DAY
        return [minutes * _MINUTE_S]
    if earlier.year is None or later.year is None:
        return _days_between(earlier, later) if claimed.unit == "s" else []
    years = later.year - earlier.year
    if claimed.unit != "s" and (claimed.scale >= 1 or not claimed.unit):
        return _years_between(earlier, later, years, is_about=claimed.about)
    if not (earlier.month and later.month):
        return []
    if claimed.unit == "year":
        return [years + (later.month - earlier.month) / _MONTHS]
    return _days_between(earlier, later)


def _years_between(
    earlier: Quantity, later: Quantity, years: int, *, is_about: bool
) -> list[float]:
    """Return the years between two dates: the full ones first, if their months tell."""
    if earlier.month and later.month:
        is_before = (later.month, later.day or 0) < (earlier.month, earlier.day or 0)
        return [float(years - 1), float(years)] if is_before else [float(years)]
    return [float(years), float(years - 1)] if is_about else [float(years)]


def _days_between(earlier: Quantity, later: Quantity) -> list[float]:
    """Return the days between two dates, without and with the last; none if they are not given."""
    if not (earlier.month and earlier.day and later.month and later.day):
        return []
    year = earlier.year or later.year or 2001
    try:
        first = date(year, earlier.month, earlier.day)
        last = date(later.year or year, later.month, later.day)
    except ValueError:
        return []
    days = (last - first).days
    return [days * _DAY_S, (days + 1) * _DAY_S]
