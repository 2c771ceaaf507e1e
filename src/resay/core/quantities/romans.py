"""Parses Roman numerals where they are unambiguous."""

from __future__ import annotations

from typing import Final

from resay.core.quantities.numbers import Parsed
from resay.core.quantities.quantity import Quantity
from resay.core.quantities.tokens import Tokens
from resay.core.quantities.words import CENTURIES, NUMBERED_BY_ROMAN, ROMAN_NUMBERS, ROMANS

_MIN_NAME_CHARS: Final = 3


class RomanParser:
    """Parses the Roman numerals of a text.

    Args:
        tokens: The tokens of the text.
    """

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._text_at = tokens.text_at

    def parse(self, index: int, last: Quantity | None) -> Parsed | None:
        """Parse a numeral with a century, after a noun such as "chapter", or after a name.

        Args:
            index: The index of its token.
            last: The quantity before it.
        """
        tokens, token = self._tokens, self._tokens[index]
        numeral, ending = ROMANS[token.text]
        written = tokens.original[token.start : token.start + len(numeral)]
        if written != numeral.upper():
            return None
        number = Quantity.of_value(token.start, token.end, ROMAN_NUMBERS[numeral])
        if self._text_at(index + 1) in CENTURIES:
            return number._replace(unit="century", end=tokens[index + 1].end), index + 2
        before = self._text_at(index - 1)
        if before in CENTURIES and tokens.is_free(index - 1, last):
            return number._replace(unit="century", start=tokens[index - 1].start), index + 1
        if not ending and (before in NUMBERED_BY_ROMAN or self._follows_name(index, numeral)):
            return number._replace(unit="ordinal"), index + 1
        return None

    def _follows_name(self, index: int, numeral: str) -> bool:
        """Whether a numeral belongs to a name: "Louis XIV"."""
        if index == 0 or len(numeral) < 2 or self._tokens.gap(index) != " ":
            return False
        before = self._tokens[index - 1]
        return len(before.text) >= _MIN_NAME_CHARS and self._tokens.original[before.start].isupper()
