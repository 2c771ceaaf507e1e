"""Parses units: after a number, and currencies before it."""

from __future__ import annotations

from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.core.quantities.numbers import Parsed
from resay.core.quantities.quantity import Quantity
from resay.core.quantities.tokens import Tokens
from resay.core.quantities.words import (
    AREAS,
    CELSIUS,
    CENTS,
    CJK_UNITS,
    CUBES,
    CURRENCIES,
    DEGREES,
    DOLLARS,
    FAHRENHEIT,
    LETTERS,
    MARKS,
    NATIONAL,
    NATIONS,
    PER,
    PER_CENT,
    PLURALS,
    UNITS,
)

# How far back a quotation that a mark may close is looked for.
_MAX_QUOTED_CHARS: Final = 200
_OPENING_APOSTROPHE: Final = lazy_pattern(r"(?<!\w)'\w")
_INCHES: Final = lazy_pattern(r""" ?\d{1,2}(?:\.\d)?(?: \d/\d{1,2})?(?:"|'')""")
_KELVIN_AT_0_CELSIUS: Final = 273.15
_CELSIUS_PER_FAHRENHEIT: Final = 5 / 9


class UnitParser:
    """Parses the units of a text.

    Args:
        tokens: The tokens of the text.
    """

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._text_at = tokens.text_at

    def currency_before(self, index: int) -> tuple[str, int] | None:
        """Return the currency that precedes a number, and the index of the number, or None."""
        tokens = self._tokens
        word, after = tokens.texts[index], index + 1
        if word in DOLLARS and self._text_at(after) == "$" and not tokens.gap(after):
            word, after = DOLLARS[word], after + 1
        elif word not in CURRENCIES:
            return None
        number = self._text_at(after)
        if not number or not number[0].isdecimal():
            return None
        return (word, after) if tokens.gap(after) in ("", " ", ". ", ".") else None

    def parse(self, number: Quantity, after: int, last: Quantity | None) -> Parsed | None:
        """Parse the unit after a number.

        Args:
            number: The number.
            after: The index of the token after it.
            last: The quantity before it.
        """
        tokens = self._tokens
        if tokens.is_unspaced(number.end):
            for word, (unit, scale) in CJK_UNITS.items():
                if tokens.original.startswith(word, number.end):
                    return number.with_unit(unit, scale, number.end + len(word)), after
        is_behind = after < len(tokens) and tokens.gap(after) in ("", " ")
        if not is_behind or self._precedes_amount(after):
            return None
        measured = self._in_two_words(number, after) or self._smaller_unit(number, after, last)
        if measured is not None:
            return measured
        if (
            tokens.texts[after] == "-"
            and self._text_at(after + 1) in UNITS
            and not tokens.gap(after + 1)
        ):
            after += 1
        if tokens.texts[after] in DEGREES:
            return self._temperature(number, after)
        power = 2 if tokens.texts[after] in AREAS else 3 if tokens.texts[after] in CUBES else 1
        if power > 1:
            after += 1
        word = self._text_at(after)
        unit = self._length_of_mark(number, after, last) if word in MARKS else UNITS.get(word)
        if unit is None or (word in LETTERS and not tokens.original[number.end - 1].isdecimal()):
            return None
        return self._with_power_or_speed(number, after, power, *unit)

    def _precedes_amount(self, index: int) -> bool:
        """Whether a currency sign belongs to the number behind it: "class 1 € 150"."""
        sign = self._tokens.texts[index]
        is_sign = sign in CURRENCIES and not sign.isalpha()
        return is_sign and self._text_at(index + 1)[:1].isdecimal()

    def _smaller_unit(self, number: Quantity, after: int, last: Quantity | None) -> Parsed | None:
        """Parse the minutes of "1h 45m", and the inches of "6 ft 2 in"."""
        word = self._tokens.texts[after]
        if word == "m" and self._follows(number, last, "s", 3600.0):
            return number.with_unit("s", 60.0, self._tokens[after].end), after + 1
        if word == "in" and self._follows(number, last, "m", 0.3048):
            return number.with_unit("m", 0.0254, self._tokens[after].end), after + 1
        return None

    def _follows(self, number: Quantity, last: Quantity | None, unit: str, scale: float) -> bool:
        """Whether a number directly follows a measure."""
        return (
            last is not None
            and last.unit == unit
            and last.scale == scale
            and self._tokens.original[last.end : number.start].strip() in ("", "and", ",")
        )

    def _in_two_words(self, number: Quantity, after: int) -> Parsed | None:
        """Parse "per cent", and a currency that its country tells, such as "Swiss francs"."""
        tokens = self._tokens
        if tokens.texts[after] in PER_CENT and self._text_at(after + 1) in CENTS:
            return number.with_unit("share", 0.01, tokens[after + 1].end), after + 2
        # "New Zealand dollars"
        if tokens.texts[after] == "new":
            after += 1
        nation, name = self._text_at(after), self._text_at(after + 1)
        if nation not in NATIONS or not name or tokens.gap(after + 1) != " ":
            return None
        unit = NATIONAL.get((nation, PLURALS.get(name, name.removesuffix("s"))))
        if unit is None:
            return None
        return number.with_unit(unit, 1.0, tokens[after + 1].end), after + 2

    def _length_of_mark(
        self, number: Quantity, index: int, last: Quantity | None
    ) -> tuple[str, float] | None:
        """Return the unit of the marks in 5'10"; None if they quote or stand for letters."""
        text, mark = self._tokens.original, self._tokens[index]
        if self._tokens.gap(index):
            return None
        if mark.text == "'" and _INCHES.match(text, mark.end):
            return MARKS[mark.text]
        if mark.text == '"':
            return (
                MARKS[mark.text] if is_inch_mark(self._tokens, index, number.start, last) else None
            )
        before = text[max(number.start - _MAX_QUOTED_CHARS, 0) : number.start]
        is_quote = _is_in_word(self._tokens, index) or _OPENING_APOSTROPHE.search(before)
        return None if is_quote else MARKS[mark.text]

    def _with_power_or_speed(
        self, number: Quantity, index: int, power: int, unit: str, scale: float
    ) -> Parsed | None:
        """Parse what follows a unit: "carrés", "per hour"."""
        if power > 1 and unit != "m":
            return None
        after = index + 1
        word = self._text_at(after)
        if unit == "m" and power == 1 and word in AREAS | CUBES and self._tokens.gap(after) == " ":
            power, after = 2 if word in AREAS else 3, after + 1
        if power > 1:
            unit, scale = f"m{power}", scale**power
        elif unit in ("m", "kg") and word in PER:
            time = UNITS.get(self._text_at(after + 1))
            if time and time[0] == "s":
                unit, scale, after = f"{unit}/s", scale / time[1], after + 2
        return number.with_unit(unit, scale, self._tokens[after - 1].end), after

    def _temperature(self, number: Quantity, index: int) -> Parsed:
        """Parse "°C", "degrees Fahrenheit" and mere degrees."""
        after = index + 1
        value, unit, scale = number.plain, "deg", 1.0
        word = self._text_at(after)
        if word in CELSIUS:
            value, unit = value + _KELVIN_AT_0_CELSIUS, "K"
        elif word in FAHRENHEIT:
            value = (value - 32) / 1.8 + _KELVIN_AT_0_CELSIUS
            unit, scale = "K", _CELSIUS_PER_FAHRENHEIT
        if unit == "K":
            after += 1
        measured = number._replace(
            unit=unit,
            low=value,
            high=value,
            scale=scale,
            step=number.step * scale,
            end=self._tokens[after - 1].end,
        )
        return measured, after


def is_inch_mark(tokens: Tokens, index: int, start: int, last: Quantity | None) -> bool:
    """Return whether a double quote behind a number stands for inches; others close a quotation.

    Args:
        tokens: The tokens of the text.
        index: The index of the mark.
        start: The start of the number.
        last: The quantity before the number.
    """
    if tokens.gap(index) or _is_in_word(tokens, index):
        return False
    text = tokens.original
    before = text[max(start - _MAX_QUOTED_CHARS, 0) : start]
    follows_feet = last is not None and text[last.end - 1] == "'"
    return follows_feet or before.count('"') % 2 == 0


def _is_in_word(tokens: Tokens, index: int) -> bool:
    """Whether a letter or digit directly follows a mark."""
    end = tokens[index].end
    return tokens.original[end : end + 1].isalnum()
