"""Differences, ratios and order: "14 m longer than", "twice as long", "the oldest"."""

from __future__ import annotations

from collections.abc import Collection

from resay.scorers.common.arithmetic.claim import MAX_MEANT, ComputedClaim
from resay.scorers.common.arithmetic.result import (
    ComputedResult,
    agrees,
    amount,
    is_money,
    order_of,
    same_unit,
)
from resay.scorers.common.arithmetic.values import Value

# How far a ratio may be from the multiple that it is said to be, as a share of that.
_NEAR = 0.15


def difference(claim: ComputedClaim) -> ComputedResult | None:
    """Return how much more the first of two values is than the second."""
    decided: ComputedResult | None = None
    pairs = claim.pairs(claim.comparable(claim.quantity))
    for first, second in pairs:
        a, b = amount(first.quantity), amount(second.quantity)
        computed = (a - b) * (claim.computation.direction or 1)
        larger, smaller = (first, second) if a >= b else (second, first)
        result = claim.result(
            computed,
            f"{larger.written} - {smaller.written}",
            (first, second),
            is_right=agrees(claim.quantity, computed),
        )
        if result.is_right:
            return result
        decided = decided or result
    return decided if len(pairs) <= MAX_MEANT else None


def ratio(claim: ComputedClaim) -> ComputedResult | None:
    """Return how many times as much the first of two values is."""
    decided: ComputedResult | None = None
    pairs = claim.pairs(claim.under_named_heads(claim.documents.numbers))
    for first, second in pairs:
        a, b = amount(first.quantity), amount(second.quantity)
        if not b or not same_unit(first.quantity, second.quantity):
            continue
        multiple = claim.quantity
        # "Twice" is no rounded number: 1.5 times is not twice.
        is_near = abs(a / b - multiple.low) <= _NEAR * multiple.low
        # "More than twice as long."
        is_right = (agrees(multiple, a / b) and (is_near or multiple.about)) or (
            multiple.about and multiple.low > 1 and a / b >= multiple.low
        )
        sign = f"{first.written} / {second.written}"
        result = claim.result(a / b, sign, (first, second), is_right=is_right)
        if result.is_right:
            return result
        decided = decided or result
    return decided if len(pairs) <= MAX_MEANT else None


def order(claim: ComputedClaim) -> ComputedResult | None:
    """Return whether the first of two values is the larger or later one."""
    values = _of_units(claim, claim.computation.units)
    if len(claim.mentioned(values)) != 2:
        return None
    pairs = claim.pairs(values)
    direction = claim.computation.direction
    outcomes: set[bool] = set()
    for first, second in pairs:
        outcomes.add((order_of(first.quantity) - order_of(second.quantity)) * direction > 0)
    if len(outcomes) != 1:
        return None
    first, second = pairs[0]
    is_right = outcomes.pop()
    a, b = order_of(first.quantity), order_of(second.quantity)
    sign = "=" if a == b else ">" if a > b else "<"
    arithmetic = f"{first.written} {sign} {second.written}"
    return claim.comparison(arithmetic, (first, second), is_right=is_right)


def extreme(claim: ComputedClaim) -> ComputedResult | None:
    """Return whether a value is the largest, latest, smallest or earliest of all."""
    values = _compared(claim, _of_units(claim, claim.computation.units))
    if len({value.column for value in values}) != 1 or len(values) < 2:
        return None
    subjects = claim.identified(values)
    if len(subjects) != 1 or len(subjects[0].values) != 1:
        return None
    value = subjects[0].values[0]
    direction = claim.computation.direction
    best = max(values, key=lambda value: direction * order_of(value.quantity))
    is_right = order_of(best.quantity) == order_of(value.quantity)
    rank = "highest" if direction > 0 else "lowest"
    if "date" in claim.computation.units:
        rank = "latest" if direction > 0 else "earliest"
    arithmetic = f"{best.written} is the {rank} of {len(values)} values"
    return claim.comparison(arithmetic, (value, best), is_right=is_right)


def _compared(claim: ComputedClaim, values: list[Value]) -> list[Value]:
    """Return the values that an answer compares: those that it states, if it states several."""
    stated = [*claim.parsed, *claim.parsed_before]
    of_answer = [
        value
        for value in values
        if any(value.quantity.value == quantity.value for quantity in stated)
    ]
    different = {order_of(value.quantity) for value in of_answer}
    identities = {value.identity for value in of_answer}
    return of_answer if len(different) > 1 and len(identities) > 1 else values


def _of_units(claim: ComputedClaim, units: Collection[str]) -> list[Value]:
    """Return the values that a word such as "longer" may compare."""
    if "date" in units:
        return claim.documents.dates
    numbers = claim.documents.numbers
    if not units:
        return claim.under_named_heads(numbers)
    if "money" in units:
        of_unit = [value for value in numbers if is_money(value.quantity.unit)]
    else:
        of_unit = [value for value in numbers if value.quantity.unit in units]
    bare = [value for value in numbers if not value.quantity.unit]
    return claim.under_named_heads(of_unit or bare)
