"""Parses numbers: in digits, in words, in Chinese numerals, and as fractions."""

from __future__ import annotations

from math import gcd
from typing import Final, TypeAlias

from resay._internal.patterns import lazy_pattern
from resay.core.quantities.numerals import (
    NumberInWords,
    cjk_value,
    compound_value,
    read_digits,
    significant_digits,
)
from resay.core.quantities.quantity import Quantity
from resay.core.quantities.tokens import CJK, Tokens
from resay.core.quantities.words import (
    ARTICLES,
    CJK_SCALES,
    CJK_UNITS,
    COUNTERS,
    DENOMINATORS,
    DOZENS,
    HALVES,
    HUNDREDS,
    JOINS,
    LANGUAGES_OF,
    ONLY_IN,
    ORDINALS,
    PARTS,
    SCALES,
    SHORT_SCALES,
    SMALL,
    UNITS,
)

Parsed: TypeAlias = tuple[Quantity, int]
"""A quantity, and the index of the token after it."""

_DIGITS: Final = lazy_pattern(r"\d+(?:[.,]\d+)*")
# The last of the groups that spaces separate, with a fraction: "1 250,50".
_LAST_GROUP: Final = lazy_pattern(r"\d{3},\d{1,2}")
_MAX_DIGITS: Final = 40
# The longest number whose thousands are separated by spaces.
_MAX_SPACED_DIGITS: Final = 12
_MAX_WORDS: Final = 12
# Articles that are also the number after "and".
_ONES: Final = frozenset(("one", "un", "uno", "una", "um", "uma"))


class NumberParser:
    """Parses the numbers of a text, without their units.

    Args:
        tokens: The tokens of the text.
    """

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._text_at = tokens.text_at

    def parse(self, index: int) -> Parsed | None:
        """Parse the number that begins at a token."""
        first = self._text_at(index)
        if not first:
            return None
        if first[0] in CJK:
            return self._cjk(index)
        if first[0].isdecimal():
            return self._digits(index)
        return self._words(index)

    def half(self, after: int) -> int | None:
        """Return the index after "and a half" if it begins at a token, or None."""
        if self._text_at(after) not in JOINS:
            return None
        index = after + 2 if self._text_at(after + 1) in ARTICLES else after + 1
        return index + 1 if self._text_at(index) in HALVES else None

    def read_half(self, number: Quantity, after: int) -> Parsed:
        """Parse the rest of "two and a half", if there is one."""
        after_half = self.half(after)
        is_whole = number.plain == int(number.plain)
        if after_half is None or number.unit or not is_whole or number.step > 1e3:
            return number, after
        number = number.with_value(
            number.plain + 0.5, step=0.5, end=self._tokens[after_half - 1].end
        )
        scale = SCALES.get(self._text_at(after_half))
        if scale:
            return number.multiplied(scale, self._tokens[after_half].end), after_half + 1
        return number, after_half

    def read_short_scale(self, number: Quantity, after: int) -> Parsed:
        """Parse the letter of "$5m", if there is one."""
        word = self._text_at(after)
        if word in SHORT_SCALES and self._tokens[after].start - number.end <= 1:
            return number.multiplied(SHORT_SCALES[word], self._tokens[after].end), after + 1
        return number, after

    def _digits(self, index: int) -> Parsed | None:
        tokens, token = self._tokens, self._tokens[index]
        if len(token.text) > _MAX_DIGITS or not _DIGITS.fullmatch(token.text):
            return None
        text, end, after = self._joined_thousands(index)
        # A final period belongs to the sentence; the pattern excludes it.
        value, step, digits = read_digits(text, self._groups_with)
        if value is None:
            return None
        number = Quantity.of_value(token.start, end, value, step=step, digits=digits)
        word = self._text_at(after)
        scale = SCALES.get(word)
        # "300 K" is a temperature, and "4K" a format.
        if word == "k" and (tokens[after].start > end or tokens.original[end] != "k"):
            scale = None
        # "2 milla" is miles, but "2 mil" is two thousand.
        if scale and tokens[after].start - end <= 1:
            number, after = number.multiplied(scale, tokens[after].end), after + 1
        word = self._text_at(after)
        # "100万": digits with one Chinese scale.
        if word in CJK_SCALES and tokens[after].start == end:
            number, after = number.multiplied(CJK_SCALES[word], tokens[after].end), after + 1
        if end == token.end and text.isdecimal():
            return self._fraction(number, index) or self._mixed(number, after) or (number, after)
        return number, after

    def _joined_thousands(self, index: int) -> tuple[str, int, int]:
        """Join digits with a space between thousands: "5 000", "1 000 000,50".

        Returns:
            The digits, their end in the text, and the index of the token after them.
        """
        tokens, first = self._tokens, self._tokens[index]
        text, end, after = first.text, first.end, index + 1
        if len(first.text) > 3 or first.text == "0":
            return text, end, after
        while (
            len(text) <= _MAX_SPACED_DIGITS
            and text.isdecimal()
            and after < len(tokens)
            and _is_group(tokens.texts[after])
            and tokens.gap(after) == " "
        ):
            text, end, after = text + tokens.texts[after], tokens[after].end, after + 1
        return text, end, after

    def _groups_with(self, mark: str) -> bool:
        """Whether a mark before three digits groups thousands instead of being a decimal point."""
        return mark == "," or self._tokens.language not in ("en", None)

    def _fraction(self, number: Quantity, index: int) -> Parsed | None:
        """Parse "1/2" and "3/4"; "17/20" and scores such as "3-2" stay two numbers."""
        tokens = self._tokens
        denominator = self._text_at(index + 2)
        if self._text_at(index + 1) != "/" or tokens.gap(index + 1):
            return None
        if not denominator.isdecimal() or tokens.gap(index + 2) or len(denominator) > 2:
            return None
        if self._text_at(index + 3) == "/" and not tokens.gap(index + 3):
            return None
        upper, lower = int(number.plain), int(denominator)
        if not (0 < upper < lower and lower in DENOMINATORS and gcd(upper, lower) == 1):
            return None
        end = tokens[index + 2].end
        return number.with_value(upper / lower, step=1 / lower, end=end), index + 3

    def _mixed(self, number: Quantity, after: int) -> Parsed | None:
        """Parse the fraction of "2 1/2" and "2-1/2"."""
        tokens = self._tokens
        if self._text_at(after) == "-" and not tokens.gap(after):
            after += 1
        numerator = self._text_at(after)
        if not numerator.isdecimal() or tokens.gap(after) not in ("", " "):
            return None
        start = tokens[after].start
        upper = float(numerator) if len(numerator) == 1 else 0.0
        parsed = self._fraction(number._replace(start=start, plain=upper), after)
        if parsed is None or start - number.end > 1:
            return None
        fraction, after = parsed
        value = number.plain + fraction.plain
        return number.with_value(value, step=fraction.step, end=fraction.end), after

    def _words(self, index: int) -> Parsed | None:
        """Parse number words: "forty-two thousand", "zweihundert", "quatre-vingt-dix"."""
        if self._is_foreign_name(index):
            return None
        tokens = self._tokens
        total = NumberInWords()
        after = last = index
        while total.words < _MAX_WORDS and self._continues_number(index, after, last):
            word = tokens.texts[after]
            if word == "-" or (word in JOINS and total.words):
                after += 1
                if word in JOINS and self._joins_nothing(after, total.group):
                    break
                continue
            if word in PARTS and (total.words <= 1 or word.endswith("s")):
                return self._part(index, after, total.group)
            if not self._accept_word(total, word):
                if word in ORDINALS and not total.is_round and self._is_in_its_language(word):
                    return self._ordinal(index, after, total.value)
                break
            total.words += 1
            last = after
            after += 1
        if not total.words:
            return None
        number = Quantity.of_value(
            tokens[index].start,
            tokens[last].end,
            total.value,
            step=total.step,
            digits=significant_digits(total.value),
        )
        return number, last + 1

    def _continues_number(self, index: int, after: int, last: int) -> bool:
        """Whether a token directly follows the words so far, or follows a joining word."""
        if after == index:
            return True
        if after >= len(self._tokens):
            return False
        is_joined = after <= last + 1 or self._text_at(after - 1) in {"-", *JOINS}
        return is_joined and self._tokens.gap(after) in ("", " ")

    def _accept_word(self, total: NumberInWords, word: str) -> bool:
        """Add a word to a number if it continues it, and return whether it does."""
        is_first = not total.words
        if is_first and not self._is_in_its_language(word):
            return False
        if word in SCALES and word != "k":
            total.scale(SCALES[word])
        elif word in HUNDREDS:
            total.add_hundreds(HUNDREDS[word])
        elif word in ("vingt", "vingts") and total.group == 4:
            total.group, total.step = 80.0, 1.0
        elif word in SMALL and (is_first or total.can_add(SMALL[word])):
            total.add(SMALL[word])
        elif word in DOZENS:
            total.group, total.step = (total.group or 1) * 12, 1.0
        else:
            value = compound_value(word) if is_first else None
            if value is None:
                return False
            total.group = float(value)
        return True

    def _joins_nothing(self, after: int, group: float) -> bool:
        """Whether "and" joins two separate numbers."""
        word = self._text_at(after)
        value = SMALL.get(word)
        if value is None or word in ARTICLES - _ONES:
            return True
        return group % 100 != 0 and not (group % 10 == 0 and value < 10)

    def _is_in_its_language(self, word: str) -> bool:
        return word not in ONLY_IN or self._tokens.language in ONLY_IN[word]

    def _is_foreign_name(self, index: int) -> bool:
        """Whether a word is a number in another language only: "Otto" is a name in English."""
        token = self._tokens[index]
        if token.text not in LANGUAGES_OF or not self._tokens.original[token.start].isupper():
            return False
        return self._tokens.language not in {None, *LANGUAGES_OF[token.text]}

    def _part(self, index: int, last: int, count: float) -> Parsed:
        """Parse a half, or two thirds."""
        tokens = self._tokens
        value = (count or 1.0) * PARTS[tokens.texts[last]]
        number = Quantity.of_value(
            tokens[index].start, tokens[last].end, value, unit="part", step=value
        )
        after = last + 1
        # "half a million"
        multiplied = after + 1 if self._text_at(after) in ARTICLES else after
        scale = SCALES.get(self._text_at(multiplied))
        if scale:
            number = number._replace(unit="").multiplied(scale, tokens[multiplied].end)
            return number, multiplied + 1
        if self._text_at(after) == "of" and self._text_at(after + 1) in ARTICLES:
            # "three quarters of an hour"
            multiplied = after + 2
        if multiplied > after and self._text_at(multiplied) in UNITS:
            return number._replace(unit="", end=tokens[multiplied - 1].end), multiplied
        return number, after

    def _ordinal(self, index: int, last: int, before: float) -> Parsed | None:
        if before and before % 10:
            return None
        tokens = self._tokens
        value = before + ORDINALS[tokens.texts[last]]
        return Quantity.of_value(tokens[index].start, tokens[last].end, value), last + 1

    def _cjk(self, index: int) -> Parsed | None:
        token = self._tokens[index]
        numeral = cjk_value(token.text)
        if numeral is None or (len(token.text) == 1 and not self._counts(token.end)):
            return None
        value, step = numeral
        number = Quantity.of_value(
            token.start, token.end, value, step=step, digits=significant_digits(value)
        )
        return number, index + 1

    def _counts(self, position: int) -> bool:
        """Whether something that is counted follows a single numeral."""
        text = self._tokens.original
        if text[position : position + 1] in COUNTERS:
            return True
        return any(text.startswith(unit, position) for unit in CJK_UNITS)


def _is_group(text: str) -> bool:
    """Whether digits may be the thousands, or what follows them: "250", "250,50"."""
    return (len(text) == 3 and text.isdecimal()) or _LAST_GROUP.fullmatch(text) is not None
