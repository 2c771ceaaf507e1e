"""Parses times of day: "18:00", "6 p.m.", "18.30 Uhr", "à 18h30", "noon"."""

from __future__ import annotations

import re
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.core.quantities.numbers import Parsed
from resay.core.quantities.quantity import Quantity
from resay.core.quantities.tokens import Tokens
from resay.core.quantities.words import (
    BEFORE_HOURS,
    BEFORE_TIMES,
    CJK_UNITS,
    HALVES_OF_DAY,
    JOINS,
    OCLOCK,
    RANGE_SIGNS,
    SCALES,
    TIMES_OF_DAY,
    UNITS,
    UNSPACED_HALVES_OF_DAY,
    UNSPACED_OCLOCK,
)

_MINUTES_OF_DAY: Final = 24 * 60.0
_NOON: Final = 12 * 60.0
_LONGEST_HALF: Final = max(map(len, HALVES_OF_DAY))


def _halves_by_token() -> dict[str, list[tuple[str, bool]]]:
    halves: dict[str, list[tuple[str, bool]]] = {}
    for half, is_afternoon in HALVES_OF_DAY.items():
        halves.setdefault(Tokens(half).texts[0], []).append((half, is_afternoon))
    return halves


# The halves of the day by their first tokens.
_HALVES_BY_TOKEN: Final = _halves_by_token()
# Behind "5時": minutes, or a half; a duration has another sign there.
_UNSPACED_MINUTES: Final = lazy_pattern(r"\s?(?:([0-5]?\d)\s?[分분]|[半반])?")
_OF_DURATION: Final = tuple("间間간")
# Also the sign for points.
_POINTS: Final = frozenset("点點")


_WITH_PERIOD: Final = lazy_pattern(r"([01]?\d|2[0-4])\.([0-5]\d)")
_HOUR: Final = lazy_pattern(r"[01]?\d|2[0-4]")
_MINUTES: Final = lazy_pattern(r"[0-5]\d")
_ABBREVIATED_HOUR: Final = "h"


class TimeParser:
    """Parses the times of day of a text, in minutes since midnight.

    Args:
        tokens: The tokens of the text.
    """

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._text_at = tokens.text_at

    def named(self, index: int) -> Quantity | None:
        """Parse "at noon"; "shortly after midnight" is no time, and "a midnight sun" neither."""
        word = self._text_at(index)
        if word not in TIMES_OF_DAY or self._text_at(index - 1) not in BEFORE_TIMES:
            return None
        token = self._tokens[index]
        return Quantity.of_value(token.start, token.end, TIMES_OF_DAY[word], unit="clock")

    def clock(self, index: int) -> Parsed | None:
        """Parse "18:00", "6 p.m.", "6:30 PM", "18 Uhr"."""
        with_letter = self._with_letter(index)
        if with_letter is not None:
            return with_letter
        with_period = self._with_period(index)
        mark = ":" if with_period is None else "."
        hours, _, minutes = self._tokens.texts[index].partition(mark)
        if not hours.isdecimal() or len(hours) > 2 or (minutes and not minutes.isdecimal()):
            return None
        half = self._half_before(self._tokens[index].start)
        if not minutes and self._tokens.is_unspaced(self._tokens[index].end):
            return self._unspaced(index, is_afternoon=half)
        is_marked, is_afternoon, end, after = self._mark(index)
        is_afternoon = half if is_afternoon is None else is_afternoon
        if not (is_marked or minutes or self._text_at(after) in TIMES_OF_DAY):
            return None
        value = _minutes_of_day(int(hours), int(minutes or 0), is_afternoon=is_afternoon)
        if value >= _MINUTES_OF_DAY + 1:
            return None
        start = self._tokens[index].start
        if minutes and is_afternoon is None and with_period is None:
            duration = self._duration(start, value, after)
            if duration is not None:
                return duration
        if self._text_at(after) in TIMES_OF_DAY:
            end, after = self._tokens[after].end, after + 1
        return Quantity.of_value(start, end, value % _MINUTES_OF_DAY, unit="clock"), after

    def _with_period(self, index: int) -> re.Match[str] | None:
        """Return the hours and minutes of "18.30 Uhr" and "alle 18.30"; others are numbers."""
        match = _WITH_PERIOD.fullmatch(self._tokens.texts[index])
        following = self._text_at(index + 1)
        if match is None or following in OCLOCK:
            return match
        if following in RANGE_SIGNS or following in JOINS:
            # "9.30 bis 18.00 Uhr"
            is_range = _WITH_PERIOD.fullmatch(self._text_at(index + 2)) is not None
            if is_range and self._text_at(index + 3) in OCLOCK:
                return match
        if self._text_at(index - 1) not in BEFORE_HOURS:
            return None
        # "alle 2.50 euro"
        is_amount = following in UNITS or following in SCALES
        return match if not is_amount or following == _ABBREVIATED_HOUR else None

    def _with_letter(self, index: int) -> Parsed | None:
        """Parse "à 18h30" and "18 h 30"; a small number of hours may be a duration: "1h30"."""
        tokens = self._tokens
        hours, minutes = self._text_at(index), self._text_at(index + 2)
        if self._text_at(index + 1) != _ABBREVIATED_HOUR or not _HOUR.fullmatch(hours):
            return None
        if not _MINUTES.fullmatch(minutes) or self._text_at(index + 3) in UNITS:
            return None
        if {tokens.gap(index + 1), tokens.gap(index + 2)} - {"", " "}:
            return None
        is_range = self._text_at(index + 3) in RANGE_SIGNS and (
            self._text_at(index + 5) == _ABBREVIATED_HOUR
        )
        is_time = is_range or self._text_at(index - 1) in BEFORE_HOURS
        if int(hours) <= _NOON / 60 and not is_time:
            return None
        value = (60.0 * int(hours) + int(minutes)) % _MINUTES_OF_DAY
        start, end = tokens[index].start, tokens[index + 2].end
        return Quantity.of_value(start, end, value, unit="clock"), index + 3

    def _half_before(self, start: int) -> bool | None:
        """Return whether a word before a time says that it is after noon, as in 午後5時."""
        start -= self._tokens.original[start - 1 : start] == " "
        if not self._tokens.is_unspaced(start - 1):
            return None
        for half, is_afternoon in UNSPACED_HALVES_OF_DAY.items():
            if self._tokens.original.endswith(half, 0, start):
                return is_afternoon
        return None

    def _unspaced(self, index: int, *, is_afternoon: bool | None) -> Parsed | None:
        """Parse "17時", "下午5点半"."""
        text, token = self._tokens.original, self._tokens[index]
        sign = next((word for word in UNSPACED_OCLOCK if text.startswith(word, token.end)), None)
        if sign is None or any(text.startswith(unit, token.end) for unit in CJK_UNITS):
            return None
        after_sign = token.end + len(sign)
        match = _UNSPACED_MINUTES.match(text, after_sign)
        end = match.end() if match and match[0].strip() else after_sign
        if text.startswith(_OF_DURATION, after_sign):
            return None
        if sign in _POINTS and is_afternoon is None and end == after_sign:
            return None
        minutes = 0
        if match and match[0].strip():
            minutes = int(match[1]) if match[1] else 30
        value = _minutes_of_day(int(token.text), minutes, is_afternoon=is_afternoon)
        if value >= _MINUTES_OF_DAY + 1:
            return None
        after = index + 1
        while after < len(self._tokens) and self._tokens[after].start < end:
            after += 1
        return Quantity.of_value(token.start, end, value % _MINUTES_OF_DAY, unit="clock"), after

    def _mark(self, index: int) -> tuple[bool, bool | None, int, int]:
        """Return what marks a number as a time, such as "Uhr" or "p.m.".

        Returns:
            Whether anything does; whether it says that the time is after noon, None if neither;
            its end, or that of the number; the index of the token after it.
        """
        tokens = self._tokens
        end, after = tokens[index].end, index + 1
        is_marked = self._text_at(after) in OCLOCK
        if is_marked:
            end, after = tokens[after].end, after + 1
        following = tokens.lower[end : end + _LONGEST_HALF + 2].lstrip(" ")
        for half, is_afternoon in _HALVES_BY_TOKEN.get(self._text_at(after), ()):
            if is_marked and half == "am":
                # "12 Uhr am Mittwoch".
                continue
            if following.startswith(half) and not following[len(half) : len(half) + 1].isalnum():
                end = tokens.lower.index(half, end) + len(half)
                while after < len(tokens) and tokens[after].start < end:
                    after += 1
                return True, is_afternoon, end, after
        return is_marked, None, end, after

    def _duration(self, start: int, minutes: float, after: int) -> Parsed | None:
        """Parse "1:45 hours", which is no time of day."""
        unit, scale = UNITS.get(self._text_at(after), ("", 1.0))
        if unit != "s" or scale not in (60.0, 3600.0):
            return None
        step = scale / 60.0
        value = minutes * step
        duration = Quantity(
            start=start,
            end=self._tokens[after].end,
            unit=unit,
            low=value,
            high=value,
            plain=value / scale,
            step=step,
            scale=scale,
        )
        return duration, after + 1


def _minutes_of_day(hour: int, minutes: int, *, is_afternoon: bool | None) -> float:
    """Return a time in minutes since midnight; of the half of the day that is given, if one is."""
    value = 60.0 * hour + minutes
    if is_afternoon is None or value >= _NOON + 60:
        return value
    return value % _NOON + (_NOON if is_afternoon else 0.0)
