"""What documents give for a computed value of a claim."""

from __future__ import annotations

from dataclasses import dataclass

from resay._internal.patterns import lazy_pattern
from resay.core.quantities import MONEY, Quantity
from resay.scorers.common.arithmetic.values import Value

_ABOUT = 0.05
_NUMBER = lazy_pattern(r"\d[\d.,' \u00a0]*\d|\d")


@dataclass(frozen=True, slots=True)
class ComputedResult:
    """What documents give for a computed value of a claim.

    Attributes:
        is_right: Whether the claim says the same.
        arithmetic: The arithmetic, such as "18 years = 1950 - 1932".
        records: The indexes of the records that have the operands.
        covers: The spans of the claim that it settles.
        number: The span of the number that is computed; None if the claim only compares.
        operands: The values that it is computed from.
        written: What the claim says there, as it writes it.
    """

    is_right: bool
    arithmetic: str
    records: frozenset[int]
    covers: tuple[tuple[int, int], ...]
    number: tuple[int, int] | None
    operands: tuple[Value, ...] = ()
    written: str = ""


def agrees(claimed: Quantity, result: float) -> bool:
    """Return whether a computed value is the claimed one, as exactly as that is written."""
    value = amount(claimed)
    difference = abs(value - result)
    if claimed.about:
        return difference <= max(_ABOUT * abs(result), claimed.step / 2)
    place = claimed.scale * place_value(claimed.plain)
    whole = round(result / claimed.scale) * claimed.scale
    if place == claimed.scale and abs(result - whole) < 1e-9 * max(1, abs(result)):
        return difference < 1e-6 * max(1.0, abs(value))
    return difference <= place / 2 * (1 + 1e-6)


def place_value(number: float) -> float:
    """Return the place value of the last digit of a number, at most 1."""
    digits = f"{number:.6f}".rstrip("0").partition(".")[2]
    return 10.0 ** -len(digits)


def amount(quantity: Quantity) -> float:
    """Return what is added up: of temperatures the degrees, because 0 °C is not nothing."""
    return quantity.plain if quantity.unit == "K" else quantity.low


def order_of(quantity: Quantity) -> float:
    """Return where a number or a date stands among others."""
    if quantity.year is None:
        return quantity.low
    return quantity.year + (quantity.month or 0) / 13 + (quantity.day or 0) / 500


def is_money(unit: str) -> bool:
    """Return whether a unit is a currency."""
    return unit in MONEY or (len(unit) == 3 and unit.isupper())


def same_unit(quantity: Quantity, other: Quantity) -> bool:
    """Return whether two numbers can be added up."""
    return quantity.unit == other.unit or (quantity.unit in MONEY and other.unit in MONEY)


def formatted(number: float) -> str:
    """Return a number as it is read."""
    if abs(number - round(number)) < 1e-9:
        return f"{round(number):,}"
    return f"{number:,.2f}".rstrip("0")


def in_unit(result: float, claimed: Quantity, written: str) -> str:
    """Return a computed value in the unit of a claim, as the claim writes it.

    Args:
        result: The value.
        claimed: The number of the claim.
        written: The number as written.
    """
    scale = 1.0 if claimed.unit == "K" else claimed.scale
    number = formatted(result / scale)
    if _NUMBER.search(written):
        return _NUMBER.sub(lambda _: number, written, count=1)
    _, _, unit = written.partition(" ")
    return f"{number} {unit}".strip()
