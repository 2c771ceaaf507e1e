"""Parses centuries, decades, quarters and fiscal years."""

from __future__ import annotations

from resay.core.quantities.numbers import Parsed
from resay.core.quantities.quantity import Quantity
from resay.core.quantities.tokens import Tokens
from resay.core.quantities.words import CENTURIES, DECADES, PARTS_OF_AGES, POSSESSIVES


class PeriodParser:
    """Parses the periods of a text.

    Args:
        tokens: The tokens of the text.
    """

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._text_at = tokens.text_at

    def century(
        self, number: Quantity, index: int, after: int, last: Quantity | None, *, is_ordinal: bool
    ) -> Parsed | None:
        """Parse "19th century", "19th-century" and "siglo 19"."""
        tokens = self._tokens
        if self._text_at(after) == "-":
            after += 1
        if self._text_at(after) in CENTURIES and tokens[after].start - number.end <= 2:
            return number._replace(unit="century", end=tokens[after].end), after + 1
        if (
            self._text_at(index - 1) in CENTURIES
            and tokens.is_free(index - 1, last)
            and not is_ordinal
            and number.plain <= 30
        ):
            return number._replace(unit="century", start=tokens[index - 1].start), after
        return None

    def decade(self, number: Quantity, index: int, after: int) -> Parsed | None:
        """Parse "1990s" and "1990's"; the 1900s are a century."""
        tokens = self._tokens
        if not tokens.texts[index][0].isdecimal() or number.plain < 10:
            return None
        ending = after + 1 if self._text_at(after) == "'" else after
        if self._text_at(ending) != "s" or tokens[ending].start - number.end != ending - after:
            return None
        decade = number._replace(unit="decade", end=tokens[ending].end)
        if number.plain < 100 and self._is_age(index):
            return decade._replace(unit="ages"), ending + 1
        if number.plain < 100 and number.plain % 10 == 0:
            year = number.plain + 1900
            decade = decade._replace(low=year, high=year, plain=year)
        if number.plain % 100 == 0 and number.plain >= 1000:
            century = number.plain // 100 + 1
            decade = decade._replace(unit="century", low=century, high=century, step=1.0)
        return decade, ending + 1

    def named_decade(self, index: int) -> Quantity | None:
        """Parse "the eighties", and "in his eighties", which is an age."""
        token = self._tokens[index]
        year = float(DECADES[token.text])
        if self._is_age(index):
            return Quantity.of_value(token.start, token.end, year - 1900, unit="ages")
        if self._text_at(index - 1) in POSSESSIVES | PARTS_OF_AGES:
            return None
        return Quantity.of_value(token.start, token.end, year, unit="decade")

    def _is_age(self, index: int) -> bool:
        """Whether decades are those of a person's age: "in his thirties", "in her mid-30s"."""
        before = index - 2 if self._text_at(index - 1) == "-" else index - 1
        if self._text_at(before) in PARTS_OF_AGES:
            before -= 1
        return self._text_at(before) in POSSESSIVES

    def numbered(self, number: Quantity, index: int, after: int) -> Parsed | None:
        """Parse "Q3", the third quarter, and "FY2021", the fiscal year."""
        before = self._text_at(index - 1)
        if before not in ("q", "fy") or self._tokens.gap(index):
            return None
        if number.plain != int(number.plain):
            return None
        start = self._tokens[index - 1].start
        if before == "q" and 1 <= number.plain <= 4:
            return number._replace(unit="ordinal", start=start), after
        if before == "fy" and 1900 <= number.plain <= 2199:
            return number._replace(year=int(number.plain), start=start), after
        return None
