"""Parses dates: with the month in words, in digits, or with Chinese signs."""

from __future__ import annotations

from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.core.quantities.numbers import NumberParser, Parsed
from resay.core.quantities.quantity import Quantity
from resay.core.quantities.tokens import CJK, Token, Tokens
from resay.core.quantities.words import (
    BEFORE_MONTHS,
    BEFORE_YEARS,
    MONTHS,
    ORDINAL_ENDINGS,
    PARTS_OF_MONTHS,
)

_MARKS: Final = lazy_pattern("[-./]")
_CJK_CENTURIES: Final = ("世纪", "世紀", "세기")
# The sign for a year, month or day, by its other forms.
_CJK_SIGNS: Final = {"년": "年", "월": "月", "일": "日", "号": "日"}
_CJK_AFTER_YEAR: Final = "月日号월일"
# Years of two digits after this one are of the 20th century.
_LAST_OF_2000S: Final = 40


class DateParser:
    """Parses the dates of a text.

    Args:
        tokens: The tokens of the text.
        numbers: Its numbers.
        parts_of_months: Whether "the end of March" is a date.
    """

    def __init__(
        self, tokens: Tokens, numbers: NumberParser, *, parts_of_months: bool = False
    ) -> None:
        self._tokens = tokens
        self._numbers = numbers
        self._parts_of_months = parts_of_months
        self._text_at = tokens.text_at

    def numeric(self, token: Token) -> Quantity | None:
        """Parse "1932-03-19" and "19.03.1932"; "3/4/1932" may be in April or in March."""
        if len(token.text) < 6:
            return None
        parts = _MARKS.split(token.text)
        if len(parts) != 3 or not all(part.isdecimal() for part in parts):
            return None
        first, month, last = map(int, parts)
        may_be_swapped = False
        if len(parts[0]) == 4:
            year, day = first, last
        elif len(parts[2]) in (2, 4):
            day, year = first, last
            if len(parts[2]) == 2:
                year += 1900 if year > _LAST_OF_2000S else 2000
            may_be_swapped = "/" in token.text and day <= 12 and month <= 12
            if month > 12:
                day, month = month, day
        else:
            return None
        if not (1 <= month <= 12 and 1 <= day <= 31):
            return None
        return Quantity(
            start=token.start,
            end=token.end,
            kind="date",
            year=year,
            month=month,
            day=day,
            swapped=may_be_swapped,
        )

    def month_first(self, index: int) -> Parsed | None:
        """Parse "March 19, 1932", "March 19" or "March 1932"."""
        tokens, token = self._tokens, self._tokens[index]
        day, end, after = None, token.end, index + 1
        if tokens.has_gap_in(after, (" ", ". ")) and self._is_day(after):
            day, end, after = int(tokens.texts[after]), tokens[after].end, after + 1
            if self._text_at(after) in ORDINAL_ENDINGS and tokens.gap(after) == "":
                end, after = tokens[after].end, after + 1
        year, year_end, after_year = self._year(after, (" ", ", ", ". ", ","))
        if year is not None:
            end, after = year_end, after_year
        date = Quantity(
            start=token.start, end=end, kind="date", year=year, month=MONTHS[token.text], day=day
        )
        if day is None:
            part = self._part_of_month(index) if self._parts_of_months else None
            if part is not None:
                start, (first, last) = part
                date = date._replace(start=start, low=float(first), high=float(last))
            elif year is None:
                return None
        return date, after

    def _part_of_month(self, index: int) -> tuple[int, tuple[int, int]] | None:
        """Return where "the end of" begins before a month, and its first and last day."""
        before = index - 1
        if self._text_at(before) in BEFORE_MONTHS or self._text_at(before) == "-":
            before -= 1
        days = PARTS_OF_MONTHS.get(self._text_at(before))
        if days is None or self._tokens[index].start - self._tokens[before].end > 4:
            return None
        return self._tokens[before].start, days

    def day_first(self, number: Quantity, index: int, after: int) -> Parsed | None:
        """Parse "19 March 1932", "19. März" or "19th of March, 1932"."""
        if not (1 <= number.plain <= 31 and number.plain == int(number.plain) and not number.unit):
            return None
        tokens = self._tokens
        if self._text_at(after) in BEFORE_MONTHS:
            after += 1
        if self._text_at(after) == "'":
            after += 1
        month = MONTHS.get(self._text_at(after))
        if month is None or tokens[after].start - number.end > 7:
            return None
        end, after = tokens[after].end, after + 1
        year, year_end, after_year = self._year(after, (" ", ", ", ". "))
        if year is not None:
            end, after = year_end, after_year
        date = Quantity(
            start=tokens[index].start,
            end=end,
            kind="date",
            year=year,
            month=month,
            day=int(number.plain),
        )
        return date, after

    def _year(self, index: int, gaps: tuple[str, ...]) -> tuple[int | None, int, int]:
        """Return the year at a token or after "of", its end, and the index after it."""
        if self._text_at(index) in BEFORE_YEARS:
            index += 1
        text = self._text_at(index)
        if self._tokens.has_gap_in(index, gaps) and text.isdecimal() and 3 <= len(text) <= 4:
            return int(text), self._tokens[index].end, index + 1
        return None, 0, index

    def _is_day(self, index: int) -> bool:
        text = self._text_at(index)
        return text.isdecimal() and len(text) <= 2 and 1 <= int(text) <= 31

    def cjk(self, number: Quantity, after: int) -> Parsed | None:
        """Parse 1932年3月19日, and centuries, if such a sign follows a numeral."""
        tokens, text = self._tokens, self._tokens.original
        if not tokens.is_unspaced(number.end):
            return None
        if text.startswith(_CJK_CENTURIES, number.end):
            return number._replace(unit="century", end=number.end + 2), after
        parts: dict[str, int] = {}
        end, current = number.end, number
        while True:
            sign = text[end : end + 1]
            sign = _CJK_SIGNS.get(sign, sign)
            if sign not in ("年", "月", "日") or sign in parts or current.plain > 9999:
                break
            if sign == "年" and current.plain < 100:
                break
            parts[sign] = int(current.plain)
            end += 1
            part = self._cjk_part(end, after)
            if part is None:
                break
            current, after = part
            end = current.end
        if not parts:
            return None
        date = Quantity(
            start=number.start,
            end=end,
            kind="date",
            year=parts.get("年"),
            month=parts.get("月"),
            day=parts.get("日"),
        )
        return date, after

    def _cjk_part(self, position: int, index: int) -> Parsed | None:
        """Parse the month or day that follows directly."""
        tokens, text = self._tokens, self._tokens.original
        if index >= len(tokens) or text[position : tokens[index].start].strip():
            return None
        first = tokens.texts[index][0]
        if not first.isdecimal() and first not in CJK:
            return None
        part = self._numbers.parse(index)
        if part is None:
            return None
        sign = text[part[0].end : part[0].end + 1]
        return part if sign and sign in _CJK_AFTER_YEAR else None
