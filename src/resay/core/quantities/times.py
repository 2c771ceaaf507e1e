"""Parses times of day: "18:00", "6 p.m.", "noon"."""

from __future__ import annotations

from typing import Final

from resay.core.quantities.numbers import Parsed
from resay.core.quantities.quantity import Quantity
from resay.core.quantities.tokens import Tokens
from resay.core.quantities.words import BEFORE_TIMES, OCLOCK, TIMES_OF_DAY, UNITS

_HALVES_OF_DAY: Final = ("a.m.", "p.m.", "am", "pm")
_MINUTES_OF_DAY: Final = 24 * 60.0


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
        hours, _, minutes = self._tokens.texts[index].partition(":")
        if not hours.isdecimal() or len(hours) > 2 or (minutes and not minutes.isdecimal()):
            return None
        mark, end, after = self._mark(index)
        if not (mark or minutes or self._text_at(after) in TIMES_OF_DAY):
            return None
        hour = int(hours)
        if mark in _HALVES_OF_DAY:
            hour = hour % 12 + (12 if mark.startswith("p") else 0)
        value = 60.0 * hour + int(minutes or 0)
        if value >= _MINUTES_OF_DAY + 1:
            return None
        start = self._tokens[index].start
        if minutes and mark not in _HALVES_OF_DAY:
            duration = self._duration(start, value, after)
            if duration is not None:
                return duration
        if self._text_at(after) in TIMES_OF_DAY:
            end, after = self._tokens[after].end, after + 1
        return Quantity.of_value(start, end, value % _MINUTES_OF_DAY, unit="clock"), after

    def _mark(self, index: int) -> tuple[str, int, int]:
        """Return what marks a number as a time, such as "p.m."; its end; the index after it.

        An empty text, the end of the number and the index after it, if nothing does.
        """
        tokens = self._tokens
        end, after = tokens[index].end, index + 1
        if self._text_at(after) in OCLOCK:
            return tokens.texts[after], tokens[after].end, after + 1
        following = tokens.lower[end : end + 5].lstrip(" ")
        for half in _HALVES_OF_DAY:
            if following.startswith(half) and not following[len(half) : len(half) + 1].isalnum():
                end = tokens.lower.index(half, end) + len(half)
                while after < len(tokens) and tokens[after].start < end:
                    after += 1
                return half, end, after
        return "", end, after

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
