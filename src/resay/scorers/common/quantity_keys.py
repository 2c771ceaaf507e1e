"""Finds the quantities that another may agree with, by keys that they share."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import floor, log

from resay.core.quantities import MONEY, Quantity

Key = tuple[object, ...]
"""What quantities that may agree have in common."""

# The size of zero, whose logarithm does not exist.
_SIZE_OF_ZERO = -1_000


class QuantityKeys:
    """An index of quantities.

    Args:
        quantities: The quantities.
    """

    def __init__(self, quantities: Sequence[Quantity]) -> None:
        self._quantities = quantities
        self._positions: defaultdict[Key, list[int]] = defaultdict(list)
        for position, quantity in enumerate(quantities):
            for key in _keys_of(quantity, near=False):
                self._positions[key].append(position)
        for positions in self._positions.values():
            positions.sort(key=self._value)

    def candidates(self, quantity: Quantity, limit: int) -> list[int]:
        """Return the positions of quantities that a quantity may agree with, in order.

        Args:
            quantity: The quantity.
            limit: How many to return for each key: of more, those nearest in value.
        """
        candidates: set[int] = set()
        for key in _keys_of(quantity, near=True):
            positions = self._positions.get(key, ())
            if len(positions) > limit:
                middle = bisect_left(positions, quantity.low, key=self._value)
                positions = positions[max(middle - limit // 2, 0) : middle + limit // 2]
            candidates.update(positions)
        return sorted(candidates)

    def _value(self, position: int) -> float:
        return self._quantities[position].low


def _keys_of(quantity: Quantity, *, near: bool) -> Iterator[Key]:
    """Yield the keys that a quantity shares with every quantity it may agree with.

    Args:
        quantity: The quantity.
        near: Whether to add keys of slightly smaller and larger values.
    """
    if quantity.year is not None:
        yield "year", quantity.year
    if quantity.kind == "date":
        for month in {quantity.month, quantity.day if quantity.swapped else None} - {None}:
            yield "month", month
        return
    if quantity.unit == "century":
        yield "century", quantity.low
    elif quantity.unit == "decade":
        yield "century", quantity.low // 100 + 1
    yield "plain", quantity.plain
    if quantity.unit:
        # A rounded number may leave its unit out.
        yield from _sizes("", quantity.plain, near=near)
    for value in {quantity.low, (quantity.low + quantity.high) / 2, quantity.high}:
        yield from _sizes(quantity.unit, value, near=near)
        if quantity.unit in MONEY:
            yield from _sizes("money", value, near=near)
        if quantity.unit in ("", "share"):
            yield from _sizes("share or number", value, near=near)


def _sizes(name: str, value: float, *, near: bool) -> Iterator[Key]:
    """Yield the keys of a value by its size, and perhaps those of the sizes beside it."""
    size = floor(4 * log(abs(value))) if value else _SIZE_OF_ZERO
    for near_size in (size - 1, size, size + 1) if near else (size,):
        yield name, near_size
