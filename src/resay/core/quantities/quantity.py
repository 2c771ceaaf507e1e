"""A number, measure or date, and the rules by which two of them agree."""

from __future__ import annotations

from operator import attrgetter
from typing import Final, Literal, NamedTuple

Kind = Literal["number", "date"]
FIRST_YEAR: Final = 1000
LAST_YEAR: Final = 2199
"""Four digits from the first to the last of these may be a year."""


class Quantity(NamedTuple):
    """A number, measure, range or date, with its position.

    A tuple, because the bench `speed` makes hundreds of them for each answer.

    Attributes:
        start: Code-point offset of its first character.
        end: Code-point offset after its last character.
        kind: Its kind.
        unit: The base unit: `m`, `kg`, `s`, `K`, `share`, `EUR`, `ordinal`, `century`, ...; empty
            for a bare number and for dates.
        low: Its value in that unit; for a range, the lower end; for the end of a month, its first
            day.
        high: The same as `low`; for a range, the upper end; for the end of a month, its last day.
        plain: The number as written, before its unit is applied.
        step: The place value of its last significant digit, in the base unit.
        digits: The number of significant digits.
        about: Whether the text says that it is approximate.
        scale: The size of the unit as written, in the base unit.
        year: The year of a date, or of a bare number that can be one.
        month: The month of a date.
        day: The day of a date.
        swapped: Whether month and day may also be the other way round.
    """

    start: int
    end: int
    kind: Kind = "number"
    unit: str = ""
    low: float = 0.0
    high: float = 0.0
    plain: float = 0.0
    step: float = 1.0
    digits: int = 1
    about: bool = False
    scale: float = 1.0
    year: int | None = None
    month: int | None = None
    day: int | None = None
    swapped: bool = False

    @classmethod
    def of_value(
        cls,
        start: int,
        end: int,
        value: float,
        *,
        unit: str = "",
        step: float = 1.0,
        digits: int = 1,
    ) -> Quantity:
        """Return a number that is written in its base unit.

        Args:
            start: Code-point offset of its first character.
            end: Code-point offset after its last character.
            value: Its value.
            unit: Its unit.
            step: The place value of its last significant digit.
            digits: The number of significant digits.
        """
        return cls(
            start=start,
            end=end,
            unit=unit,
            low=value,
            high=value,
            plain=value,
            step=step,
            digits=digits,
        )

    @classmethod
    def of_digits(cls, start: int, digits: str) -> Quantity:
        """Return the whole number that digits stand for, which may be a year.

        Args:
            start: Code-point offset of the first digit.
            digits: The digits, at most 15.
        """
        value = float(digits)
        zeros = len(digits) - len(digits.rstrip("0"))
        is_year = len(digits) == 4 and FIRST_YEAR <= value <= LAST_YEAR
        # By position, since the bench `speed` makes hundreds of them for each answer.
        return cls(
            start,
            start + len(digits),
            "number",
            "",
            value,
            value,
            value,
            10.0**zeros if value else 1.0,
            len(digits.strip("0")) or 1,
            False,
            1.0,
            int(value) if is_year else None,
        )

    def comparable(self, other: Quantity) -> bool:
        """Return whether both measure the same kind of thing and can therefore disagree."""
        if "date" in (self.kind, other.kind):
            return self.year_or_date and other.year_or_date
        if self.year is not None and other.year is None and other.unit:
            return False
        if other.year is not None and self.year is None and self.unit:
            return False
        return self.unit == other.unit or self._may_share_unit(other)

    @property
    def year_or_date(self) -> bool:
        """Whether it is a date, or a number that can be a year."""
        return self.kind == "date" or self.year is not None

    @property
    def is_part_of_month(self) -> bool:
        """Whether it is a part of a month, such as its end."""
        return self.kind == "date" and self.high > 0

    def agrees(self, other: Quantity) -> bool:
        """Return whether both can be the same: equal, or different only by rounding.

        A number marked as approximate, or written with fewer digits (at least two, and in thousands
        or with decimals), agrees with a number that rounds to it. A number agrees with a range that
        contains it, and a date with a less precise one.
        """
        if "date" in (self.kind, other.kind):
            return self._same_date(other)
        if self.unit != other.unit:
            return self._agrees_in_another_unit(other)
        if self.low != self.high or other.low != other.high:
            return self._agrees_with_range(other)
        if _near(self.low, other.low):
            return True
        if self.year is not None and other.year is not None:
            return (self.about or other.about) and abs(self.low - other.low) <= 2
        coarse, fine = (self, other) if self.step >= other.step else (other, self)
        return abs(self.low - other.low) <= _slack(coarse, fine) * (1 + 1e-9)

    def _agrees_with_range(self, other: Quantity) -> bool:
        """Whether two ranges are equal, or one of both contains the other, a number."""
        if self.low != self.high and other.low != other.high:
            return _near(self.low, other.low) and _near(self.high, other.high)
        number, limits = (self, other) if self.low == self.high else (other, self)
        return limits.low <= number.low <= limits.high

    def _agrees_in_another_unit(self, other: Quantity) -> bool:
        if {self.unit, other.unit} == {"century", "decade"}:
            return self._century() == other._century()
        if not self._may_share_unit(other):
            return False
        units = {self.unit, other.unit}
        if units <= MONEY or ("share" in units and _near(self.low, other.low)):
            # "$0.99" is 99 cents, and 3/4 is 75 %.
            return _near(self.low, other.low)
        # "57." may answer what others answer with "57 cm".
        return _near(self.plain, other.plain)

    def rounds(self, other: Quantity) -> bool:
        """Return whether it rounds a number, or is rounded by it, and one leaves the unit open.

        "2.4 million euros" rounds a price of 2,384,000. Too much may agree so to compare answers.
        """
        if bool(self.unit) == bool(other.unit) or "date" in (self.kind, other.kind):
            return False
        is_year = self.year is not None or other.year is not None
        is_range = self.low != self.high or other.low != other.high
        if is_year or is_range or not self.comparable(other):
            return False
        return self._without_unit().agrees(other._without_unit())

    def _without_unit(self) -> Quantity:
        """Return the number that it has in its unit as written."""
        return self._replace(
            unit="", low=self.plain, high=self.plain, step=self.step / self.scale, scale=1.0
        )

    def supported_by(self, other: Quantity) -> float:
        """Return how much of it the other confirms, in [0, 1].

        "1932" confirms "19 March 1932" in part: it agrees, but leaves out the day.
        """
        if not self.agrees(other):
            return 0.0
        if self.kind != "date":
            return 1.0
        parts = confirmed = 0
        for part in ("year", "month", "day"):
            if getattr(self, part) is not None:
                parts += 1
                confirmed += getattr(other, part) is not None
        return confirmed / parts

    def _may_share_unit(self, other: Quantity) -> bool:
        """Whether one of both leaves its unit open."""
        units = {self.unit, other.unit}
        if self._is_part or other._is_part or self._is_pound_and_pound(other):
            return True
        # "400 mg" may omit "per day", but a distance is not a speed.
        if units <= MONEY and not units.isdisjoint(_OF_ANY_COUNTRY):
            return "cent" in units or units <= _DOLLARS
        is_rate = any(f"{unit}/s" in units for unit in units - {"m"})
        return "" in units or units == {"deg", "K"} or is_rate

    @property
    def _is_part(self) -> bool:
        """Whether it is a part such as a half, of whatever."""
        return self.unit == "share" and self.scale == 1.0

    def _is_pound_and_pound(self, other: Quantity) -> bool:
        """Whether one is in pounds sterling, and the other in pounds that may be money too."""
        money, weight = (self, other) if self.unit == "GBP" else (other, self)
        return money.unit == "GBP" and weight.unit == "kg" and _near(weight.scale, _POUND)

    def _century(self) -> float:
        return self.low if self.unit == "century" else self.low // 100 + 1

    def _same_date(self, other: Quantity) -> bool:
        if not (self.year_or_date and other.year_or_date):
            return False
        if self.kind == other.kind == "date" and not self._is_in_part(other):
            return False
        if self._fits(self.month, self.day, other.month, other.day, other.year):
            return True
        return (self.swapped or other.swapped) and self._fits(
            self.day, self.month, other.month, other.day, other.year
        )

    def _is_in_part(self, other: Quantity) -> bool:
        """Whether the day of one date is in the part of the month that the other names."""
        for date, part in ((self, other), (other, self)):
            if part.is_part_of_month and date.day and not part.low <= date.day <= part.high:
                return False
        return True

    def _fits(self, month: int | None, day: int | None, *parts: int | None) -> bool:
        """Whether the parts that both dates have are equal, and there are any."""
        has_common_part = False
        for own, others in zip((month, day, self.year), parts, strict=True):
            if own is not None and others is not None:
                if own != others:
                    return False
                has_common_part = True
        return has_common_part

    def with_value(self, value: float, *, step: float, end: int) -> Quantity:
        """Return a bare number with another value, whose text ends at `end`."""
        return self._replace(low=value, high=value, plain=value, step=step, end=end)

    def multiplied(self, factor: float, end: int) -> Quantity:
        """Return it multiplied by a word that ends at `end`, such as "2" by "million"."""
        return self._replace(
            low=self.low * factor,
            high=self.high * factor,
            plain=self.plain * factor,
            step=self.step * factor,
            end=end,
        )

    def with_unit(self, unit: str, scale: float, end: int) -> Quantity:
        """Return a bare number with a unit that ends at `end`."""
        return self._replace(
            unit=unit,
            low=self.low * scale,
            high=self.high * scale,
            step=self.step * scale,
            scale=scale,
            end=end,
        )

    @property
    def value(self) -> tuple[object, ...]:
        """All of it but its position; quantities of equal values agree with the same others."""
        return self[2:]

    @property
    def meaning(self) -> tuple[object, ...]:
        """Its meaning without its position; equal meanings say the same."""
        return _MEANING(self)


_POUND = 0.45359237
_DOLLARS = frozenset(("$", "USD", "CAD", "AUD", "NZD", "HKD", "SGD"))
# Dollars and cents of whichever country.
_OF_ANY_COUNTRY = frozenset(("$", "cent"))
MONEY = _DOLLARS | {"EUR", "cent"}
"""Currencies that may be called by the same word or sign."""
_MEANING = attrgetter(
    "kind", "unit", "low", "high", "step", "about", "year", "month", "day", "swapped"
)


def _near(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b))


def _slack(coarse: Quantity, fine: Quantity) -> float:
    """Return the tolerated difference between two numbers of different precision."""
    if coarse.about or fine.about:
        return max(min(coarse.step / 2, abs(coarse.low) / 20), fine.step / 2 if fine.about else 0)
    if not _near(coarse.scale, fine.scale):
        return min(coarse.step / 2, abs(coarse.low) / 20)
    rounded = coarse.digits >= 2 and (abs(coarse.plain) >= 1000 or coarse.step < coarse.scale)
    return coarse.step / 2 if rounded and coarse.step > fine.step * 1.5 else 0.0
