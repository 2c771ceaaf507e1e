"""The values of numerals: digits with separators, Chinese numerals, and number words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.core.quantities.words import CJK_DIGITS, CJK_SCALES, CJK_TENS, COMPOUND_PARTS, SMALL

_MAX_CJK_CHARS: Final = 24
_MAX_COMPOUND_CHARS: Final = 50
_COMPOUND: Final = lazy_pattern(
    r"(?:(?P<thousands>\w{0,30}?)(?:tausend|duizend|mila|mille))?"
    r"(?:(?P<hundreds>\w{0,12}?)(?:hundert|honderd|cento))?(?:und|en|e)?(?P<rest>\w{0,20})"
)


def read_digits(text: str, groups_with: Callable[[str], bool]) -> tuple[float | None, float, int]:
    """Parse digits with separators.

    Args:
        text: The digits.
        groups_with: Whether a mark before three digits groups thousands.

    Returns:
        The value, or None; the place value of the last digit; the number of significant digits.
    """
    whole, fraction = text, ""
    marks = [character for character in text if character in ".,"]
    if marks:
        groups = text.replace(",", ".").split(".")
        thousands = all(len(group) == 3 for group in groups[1:]) and 1 <= len(groups[0]) <= 3
        if len(set(marks)) == 2 and marks.count(marks[-1]) == 1:
            whole, fraction = "".join(groups[:-1]), groups[-1]
        elif len(marks) > 1:
            if not (thousands or _is_in_lakhs(groups)):
                return None, 1, 1
            whole = "".join(groups)
        elif thousands and groups[0] != "0" and (groups[1] == "000" or groups_with(marks[0])):
            whole = "".join(groups)
        else:
            whole, fraction = groups
    value = float(f"{whole}.{fraction or 0}")
    # Trailing zeros of a whole number are not significant; those after a decimal point are.
    significant = whole.lstrip("0") if fraction else whole.strip("0")
    if not value:
        step = 1.0
    elif fraction:
        step = 10.0 ** -len(fraction)
    else:
        step = 10.0 ** (len(whole) - len(whole.rstrip("0")))
    return value, step, max(len(significant) + len(fraction), 1)


def _is_in_lakhs(groups: Sequence[str]) -> bool:
    """Whether digits are grouped as in India: 5,00,000."""
    sizes = [len(group) for group in groups]
    return sizes[0] <= 2 and sizes[-1] == 3 and all(size == 2 for size in sizes[1:-1])


def significant_digits(value: float) -> int:
    """Return the number of significant digits of a whole number in words."""
    return len(str(int(value)).strip("0")) or 1


def cjk_value(text: str) -> tuple[float, float] | None:
    """Return the value of Chinese numerals and the place value of the last, or None."""
    if len(text) > _MAX_CJK_CHARS:
        return None
    if all(character in CJK_DIGITS for character in text):
        return float("".join(str(CJK_DIGITS[character]) for character in text)), 1.0
    total = section = digit = 0.0
    step = 1.0
    for character in text:
        if character in CJK_DIGITS:
            digit, step = float(CJK_DIGITS[character]), 1.0
        elif character in CJK_TENS:
            step = float(CJK_TENS[character])
            section, digit = section + (digit or 1) * step, 0.0
        else:
            step = float(CJK_SCALES[character])
            total, section, digit = (total + section + digit or 1) * step, 0.0, 0.0
    return total + section + digit, step


@lru_cache(4096)
def compound_value(word: str) -> int | None:
    """Return the value of a number written as one word: `fünftausend`, `tweehonderdvijftig`."""
    if len(word) > _MAX_COMPOUND_CHARS or not any(part in word for part in COMPOUND_PARTS):
        return None
    match = _COMPOUND.fullmatch(word)
    if match is None:
        return None
    value = 0
    for name, factor in (("thousands", 1000), ("hundreds", 100), ("rest", 1)):
        part = match[name]
        if part is None:
            continue
        if part:
            count = SMALL.get(part)
            if count is None and name == "thousands":
                count = compound_value(part)
            if count is None:
                return None
        else:
            count = 1 if factor > 1 else 0
        value += count * factor
    return value or None


@dataclass(slots=True)
class NumberInWords:
    """A number that is parsed word by word.

    Attributes:
        words: The number of words so far.
        thousands: The finished part: thousands and above.
        group: The part below a thousand.
        step: The place value of the last word.
    """

    words: int = 0
    thousands: float = 0.0
    group: float = 0.0
    step: float = 1.0

    @property
    def value(self) -> float:
        """The value so far."""
        return self.thousands + self.group

    @property
    def is_round(self) -> bool:
        """Whether the last word was a thousand or more."""
        return self.thousands > 0 and not self.group

    def scale(self, scale: float) -> None:
        """Multiply by a thousand, a million and so on."""
        if 0 < self.thousands < scale:
            # "cuatro mil quinientos millones": all before is multiplied.
            self.thousands = self.value * scale
        else:
            self.thousands += (self.group or 1) * scale
        self.group, self.step = 0.0, scale

    def add_hundreds(self, hundreds: int) -> None:
        """Multiply by a hundred, or add hundreds that are one word, such as "doscientos"."""
        multiplies = hundreds == 100 and self.group < 100
        self.group = (self.group or 1) * 100 if multiplies else self.group + hundreds
        self.step = 100.0

    def add(self, value: int) -> None:
        """Add a number below a hundred."""
        self.group, self.step = self.group + value, 1.0

    def can_add(self, value: int) -> bool:
        """Whether a number below a hundred may follow: "forty two", but not "two three"."""
        tens = self.group % 100
        if not tens:
            return True
        # French counts on in teens from sixty and eighty.
        return (
            (tens % 10 == 0 and tens >= 20 and 0 < value < 10)
            or (tens in (60, 80) and value < 20)
            or (tens == 10 and value in (7, 8, 9))
        )
