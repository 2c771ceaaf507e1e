"""A number, a measure or a date, and when two of them can be the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Literal

Kind = Literal["number", "date"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number, a measure, a range or a date, and where it is.

    Attributes:
        start: Code-point offset of its first character.
        end: Code-point offset after its last character.
        kind: What it is.
        unit: What is measured, as a base unit: `m`, `kg`, `s`, `K`, `share`, `EUR`, `ordinal`,
            `century`, ...; empty for a bare number, and for dates.
        low: Its value in that unit; of a range the lower one.
        high: The same as `low`; of a range the higher one.
        plain: The number as it is written, before its unit is applied.
        step: What its last significant digit is worth, in the base unit.
        digits: How many significant digits it has.
        about: Whether the text says that it is not exact.
        scale: What one of the unit as written is in the base unit.
        year: Of a date, or of a bare number that can be one.
        month: Of a date.
        day: Of a date.
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

    def comparable(self, other: Quantity) -> bool:
        """Return whether both measure the same kind of thing, so that they can disagree."""
        if "date" in (self.kind, other.kind):
            return self.year_or_date and other.year_or_date
        if self.year is not None and other.year is None and other.unit:
            return False
        if other.year is not None and self.year is None and self.unit:
            return False
        return self.unit == other.unit or self._unnamed(other)

    @property
    def year_or_date(self) -> bool:
        """Whether it is a date, or a number that can be a year."""
        return self.kind == "date" or self.year is not None

    def agrees(self, other: Quantity) -> bool:
        """Return whether both can be the same: equal, or as far apart as rounding allows.

        A number that is said to be "about" so much, or is written in fewer digits (two at least,
        and in thousands or with decimals), agrees with what rounds to it. A point agrees with a
        range that it lies in, and a date with one that says less.
        """
        if "date" in (self.kind, other.kind):
            return self._same_date(other)
        if self.unit != other.unit:
            if {self.unit, other.unit} == {"century", "decade"}:
                return self._century() == other._century()
            # "57." may answer what others answer with "57 cm".
            return self._unnamed(other) and _near(self.plain, other.plain)
        if self.low != self.high or other.low != other.high:
            if self.low != self.high and other.low != other.high:
                return _near(self.low, other.low) and _near(self.high, other.high)
            point, wide = (self, other) if self.low == self.high else (other, self)
            return wide.low <= point.low <= wide.high
        if _near(self.low, other.low):
            return True
        if self.year is not None and other.year is not None:
            return (self.about or other.about) and abs(self.low - other.low) <= 2
        coarse, fine = (self, other) if self.step >= other.step else (other, self)
        return abs(self.low - other.low) <= _slack(coarse, fine) * (1 + 1e-9)

    def supported_by(self, other: Quantity) -> float:
        """Return how much of it the other says, in [0, 1].

        "19 March 1932" is said by "1932" in part: it agrees, and leaves the day out.
        """
        if not self.agrees(other):
            return 0.0
        if self.kind != "date":
            return 1.0
        mine = sum(part is not None for part in (self.year, self.month, self.day))
        pairs = ((self.year, other.year), (self.month, other.month), (self.day, other.day))
        return sum(a is not None and b is not None for a, b in pairs) / mine

    def _unnamed(self, other: Quantity) -> bool:
        """Whether one of both leaves open in which unit it is."""
        units = {self.unit, other.unit}
        # "400 mg" may leave out "per day", but a distance is no speed.
        a_rate = any(f"{unit}/s" in units for unit in units - {"m"})
        return "" in units or units == {"deg", "K"} or a_rate

    def _century(self) -> float:
        return self.low if self.unit == "century" else self.low // 100 + 1

    def _same_date(self, other: Quantity) -> bool:
        if not (self.year_or_date and other.year_or_date):
            return False
        if self._fits(self.month, self.day, other.month, other.day, other.year):
            return True
        return (self.swapped or other.swapped) and self._fits(
            self.day, self.month, other.month, other.day, other.year
        )

    def _fits(self, month: int | None, day: int | None, *parts: int | None) -> bool:
        pairs = list(zip((month, day, self.year), parts, strict=True))
        known = [(a, b) for a, b in pairs if a is not None and b is not None]
        return bool(known) and all(a == b for a, b in known)

    def times(self, factor: float, end: int) -> Quantity:
        """Return it multiplied, as "2" by "million" that ends there."""
        return replace(
            self,
            low=self.low * factor,
            high=self.high * factor,
            plain=self.plain * factor,
            step=self.step * factor,
            end=end,
        )

    def measured(self, unit: str, scale: float, end: int) -> Quantity:
        """Return a bare number with a unit that ends there."""
        return replace(
            self,
            unit=unit,
            low=self.low * scale,
            high=self.high * scale,
            step=self.step * scale,
            scale=scale,
            end=end,
        )

    @property
    def meaning(self) -> tuple[object, ...]:
        """What it says, without where; equal ones say the same."""
        return _MEANING(self)


_MEANING = attrgetter(
    "kind", "unit", "low", "high", "step", "about", "year", "month", "day", "swapped"
)


def _near(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b))


def _slack(coarse: Quantity, fine: Quantity) -> float:
    """How far the finer one may be off."""
    if coarse.about or fine.about:
        return max(min(coarse.step / 2, abs(coarse.low) / 20), fine.step / 2 if fine.about else 0)
    if not _near(coarse.scale, fine.scale):
        return min(coarse.step / 2, abs(coarse.low) / 20)
    rounded = coarse.digits >= 2 and (abs(coarse.plain) >= 1000 or coarse.step < coarse.scale)
    return coarse.step / 2 if rounded and coarse.step > fine.step * 1.5 else 0.0
