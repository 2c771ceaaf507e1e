"""Parses the quantities of a text from left to right."""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from itertools import compress, count
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.core.normalization import NormalizedText
from resay.core.quantities.dates import DateParser
from resay.core.quantities.numbers import NumberParser, Parsed
from resay.core.quantities.numerals import compound_value
from resay.core.quantities.periods import PeriodParser
from resay.core.quantities.plain_math import read_plainly
from resay.core.quantities.quantity import FIRST_YEAR, LAST_YEAR, Quantity
from resay.core.quantities.romans import RomanParser
from resay.core.quantities.times import TimeParser
from resay.core.quantities.tokens import Tokens
from resay.core.quantities.units import UnitParser, is_inch_mark
from resay.core.quantities.words import (
    ABOUT,
    ABOUT_AFTER_MORE,
    ABOUT_OR_RANGE,
    AFTER_ARTICLES,
    AFTER_NUMBERS,
    ARTICLES,
    BEFORE_NUMBERS,
    BETWEEN,
    CENTURIES,
    COMPOUND_PARTS,
    DECADES,
    FIRST_CHARS,
    HALVES,
    JOINS,
    MONTHS,
    MORE,
    ONLY_CURRENCIES,
    ONLY_JOINS,
    ORDINAL_ENDINGS,
    ORDINALS,
    PERIODS_BEFORE_NUMBERS,
    RANGE_SIGNS,
    ROMANS,
    SCALES,
    SKIPPED,
    STARTS,
    STARTS_AND_ROMANS,
    UNITS,
)

_DIGIT_OR_SIGN: Final = lazy_pattern(r"[0-9$\\]")
_ASCII_WORD: Final = lazy_pattern(r"[a-z]+")
_AMOUNT_STARTS: Final = tuple("$0123456789")
_MIN_COMPOUND_CHARS: Final = 9
_MAX_PLAIN_DIGITS: Final = 15
_MAX_DIGITS_OF_HOUR: Final = 2
_WORDS_AND_DIGITS: Final = lazy_pattern(
    rf'("?)([A-Za-z]+(?: [A-Za-z]+)*) (\d{{1,{_MAX_PLAIN_DIGITS}}})\1'
)
_MAX_CHARS_BESIDE_DIGITS: Final = 64
_COMPOUND_PART: Final = lazy_pattern("|".join(COMPOUND_PARTS))
# Units of which a smaller one may follow: "5 ft 10 in".
_SUMMED_UNITS: Final = frozenset(("m", "s", "kg", "year"))


class _Parsers:
    """The parsers of each kind of quantity.

    Args:
        tokens: The tokens of the text.
        parts_of_months: Whether "the end of March" is a date.
    """

    def __init__(self, tokens: Tokens, *, parts_of_months: bool) -> None:
        self.numbers = NumberParser(tokens)
        self.units = UnitParser(tokens)
        self.dates = DateParser(tokens, self.numbers, parts_of_months=parts_of_months)
        self.times = TimeParser(tokens)
        self.periods = PeriodParser(tokens)
        self.romans = RomanParser(tokens)


class Reader:
    """Parses one text from left to right, a few tokens at a time.

    Args:
        text: The text.
        parts_of_months: Whether "the end of March" is a date.
    """

    def __init__(self, text: str, *, parts_of_months: bool = False) -> None:
        self._text = text
        self._parts_of_months = parts_of_months
        self._tokens = Tokens(text)
        self._text_at = self._tokens.text_at
        self._quantities: list[Quantity] = []

    def read(self) -> list[Quantity]:
        """Return the quantities in order."""
        after = 0
        for index in compress(count(), map(_may_begin, self._tokens.texts)):
            if index >= after:
                after = self._read(index)
        return self._quantities

    @cached_property
    def _parsers(self) -> _Parsers:
        """What parses more than plain digits; texts without need none."""
        return _Parsers(self._tokens, parts_of_months=self._parts_of_months)

    @property
    def _last(self) -> Quantity | None:
        return self._quantities[-1] if self._quantities else None

    def _read(self, index: int) -> int:
        """Parse the quantity at a token; return the index to continue at."""
        word = self._tokens.texts[index]
        if word in ARTICLES:
            # Most articles are no numbers.
            if self._is_mere_article(index):
                return index + 1
        elif word in ONLY_CURRENCIES and not self._text_at(index + 1).startswith(_AMOUNT_STARTS):
            return index + 1
        elif self._is_plain(index):
            return self._read_plain(index)
        if word in HALVES and self._read_half_after_unit(index):
            return index + 1
        if word in ROMANS and word not in STARTS:
            is_capital = self._text[self._tokens[index].start].isupper()
            return self._keep(
                self._parsers.romans.parse(index, self._last) if is_capital else None, index
            )
        one_word = self._in_one_word(index)
        if one_word is not None:
            self._quantities.append(one_word)
            return index + 1
        if word in DECADES:
            return index + 1
        if word in MONTHS:
            return self._keep(self._parsers.dates.month_first(index), index)
        return self._read_number(index)

    def _in_one_word(self, index: int) -> Quantity | None:
        """Parse a time, a date or a decade that is a single token."""
        word = self._tokens.texts[index]
        if word[0].isdecimal():
            return None if word.isdecimal() else self._parsers.dates.numeric(self._tokens[index])
        if word in DECADES:
            return self._parsers.periods.named_decade(index)
        return self._parsers.times.named(index)

    def _keep(self, parsed: Parsed | None, index: int) -> int:
        """Store what was parsed at a token, if anything; return the index to continue at."""
        if parsed is None:
            return index + 1
        quantity, after = parsed
        self._quantities.append(quantity)
        return after

    def _is_plain(self, index: int) -> bool:
        """Whether a token is digits, and nothing is a part of the number beside them: most are."""
        word, following = self._tokens.texts[index], self._text_at(index + 1)
        return (
            word.isdecimal()
            and len(word) <= _MAX_PLAIN_DIGITS
            and (following not in AFTER_NUMBERS or self._is_unchanged(index))
            and not following[:1].isdecimal()
            and self._text_at(index - 1) not in PERIODS_BEFORE_NUMBERS
            and not self._tokens.is_before_unspaced(index)
        )

    def _is_unchanged(self, index: int) -> bool:
        """Whether what follows digits does not change them: "1932 and", or the quoted "item 12"."""
        following = self._text_at(index + 1)
        if following in ONLY_JOINS:
            after = self._text_at(index + 2)
            return after not in HALVES and after not in ARTICLES
        if following == "-":
            # "1932-1941", but not "8-metre", "19-century" and "2-1/2".
            after = self._text_at(index + 2)
            is_fraction = after.isdecimal() and self._text_at(index + 3) == "/"
            return after not in UNITS and after not in CENTURIES and not is_fraction
        if following == "in":
            # "1932 in Ulm", but not "6 in the morning" and "6 ft 2 in".
            is_time = len(self._tokens.texts[index]) <= _MAX_DIGITS_OF_HOUR
            return not is_time and (self._last is None or self._last.unit != "m")
        if following != '"':
            return False
        return not is_inch_mark(self._tokens, index + 1, self._tokens[index].start, self._last)

    def _is_mere_article(self, index: int) -> bool:
        """Whether an article is no number, as before "a unit" and in "half a million"."""
        following = self._text_at(index + 1)
        return (
            following[:1].isalpha()
            and following not in AFTER_ARTICLES
            and self._text_at(index - 1) not in BEFORE_NUMBERS
            and not self._tokens.is_before_unspaced(index)
        )

    def _read_plain(self, index: int) -> int:
        number = Quantity.of_digits(self._tokens.start(index), self._tokens.texts[index])
        if self._text_at(index - 1) in BEFORE_NUMBERS:
            self._add(number, index)
        else:
            self._quantities.append(number)
        return index + 1

    def _read_half_after_unit(self, index: int) -> bool:
        """Parse "an hour and a half" at its "half"; elsewhere an article is not a number."""
        join = index - 2 if self._text_at(index - 1) in ARTICLES else index - 1
        article = join - 2
        unit = UNITS.get(self._text_at(join - 1))
        if (
            unit is None
            or self._text_at(join) not in JOINS
            or self._text_at(article) not in ARTICLES
        ):
            return False
        start, end = self._tokens[article].start, self._tokens[index].end
        number = Quantity.of_value(start, end, 1.5, step=0.5).with_unit(*unit, end)
        self._add(number, article)
        return True

    def _read_number(self, index: int) -> int:
        """Parse a number, with the currency before it or what follows it."""
        currency = self._parsers.units.currency_before(index)
        clock = self._parsers.times.clock(index)
        if clock is not None:
            self._share_clock(clock[0], index)
            return self._keep(clock, index)
        parsed = self._parsers.numbers.parse(currency[1] if currency else index)
        if parsed is None:
            return index + 1
        number, after = self._parsers.numbers.read_half(*parsed)
        if currency is None:
            return self._read_context(number, index, after)
        unit, scale = UNITS.get(currency[0], (currency[0], 1.0))
        number, after = self._parsers.numbers.read_short_scale(number, after)
        number = number.with_unit(unit, scale, number.end)._replace(start=self._tokens[index].start)
        self._add(number, index)
        return max(after, index + 1)

    def _read_context(self, number: Quantity, index: int, after: int) -> int:
        """Parse what follows a number: a month, an ordinal's ending, a century, a unit."""
        is_ordinal = self._text_at(after - 1) in ORDINALS
        if self._has_ordinal_ending(number, index, after):
            number = number._replace(end=self._tokens[after].end)
            is_ordinal, after = True, after + 1
        dated = (
            self._parsers.dates.cjk(number, after)
            or self._parsers.dates.day_first(number, index, after)
            or self._parsers.periods.century(
                number, index, after, self._last, is_ordinal=is_ordinal
            )
            or self._parsers.periods.decade(number, index, after)
        )
        if dated is not None:
            return self._keep(dated, index)
        if is_ordinal:
            self._add(number._replace(unit="ordinal"), index)
            return after
        measured = self._parsers.units.parse(number, after, self._last)
        if measured is not None:
            number, after = self._read_half_of_unit(*measured)
            self._add(number, index)
            return after
        period = self._parsers.periods.numbered(number, index, after)
        if period is not None:
            return self._keep(period, index)
        if after == index + 1 and self._tokens.texts[index] in ARTICLES:
            return after
        if number.unit == "part":
            number = number._replace(unit="share")
        written = self._text[number.start : number.end]
        if written.isdecimal() and len(written) == 4 and FIRST_YEAR <= number.plain <= LAST_YEAR:
            number = number._replace(year=int(number.plain))
        self._add(number, index)
        return after

    def _has_ordinal_ending(self, number: Quantity, index: int, after: int) -> bool:
        """Whether the "th" of "19th" directly follows digits."""
        return (
            self._text_at(after) in ORDINAL_ENDINGS
            and number.plain == int(number.plain)
            and self._tokens.texts[index][0].isdecimal()
            and self._tokens[after].start == number.end
        )

    def _read_half_of_unit(self, number: Quantity, after: int) -> Parsed:
        """Parse the rest of "one hour and a half", if there is one."""
        after_half = self._parsers.numbers.half(after)
        if after_half is None or number.plain != int(number.plain) or number.unit == "share":
            return number, after
        value = number.low + number.scale / 2
        with_half = number._replace(
            low=value,
            high=value,
            plain=number.plain + 0.5,
            step=number.scale / 2,
            end=self._tokens[after_half - 1].end,
        )
        return with_half, after_half

    def _add(self, number: Quantity, index: int) -> None:
        """Store a number, with what precedes it: "about", or the lower end of its range."""
        if self._is_minus(index):
            number = number._replace(
                start=self._tokens[index - 1].start,
                low=number.low - 2 * number.plain * number.scale,
                high=number.high - 2 * number.plain * number.scale,
                plain=-number.plain,
            )
            index -= 1
        if self._is_approximate(index):
            number = number._replace(about=True)
        last = self._last
        if last is not None:
            merged = self._range(last, number, index) or self._sum(last, number)
            if merged is not None:
                self._quantities[-1] = merged
                return
            self._share_unit(last, number)
        self._quantities.append(number)

    def _share_unit(self, number: Quantity, following: Quantity) -> None:
        """Give a bare number the unit behind the next: "from about 4.2 to about 4.6 million"."""
        between = self._text[number.end : following.start].lower().split()
        if number.unit or number.kind == "date" or number.year is not None:
            return
        if RANGE_SIGNS.isdisjoint(between) or not ABOUT_OR_RANGE.issuperset(between):
            return
        written = self._tokens.lower[following.start : following.end].split()
        factor = math.prod(SCALES[word] for word in written if word in SCALES)
        if following.unit or factor != 1:
            scaled = number.multiplied(factor, number.end)
            if following.unit:
                scaled = scaled.with_unit(following.unit, following.scale, number.end)
            self._quantities[-1] = scaled

    def _share_clock(self, time: Quantity, index: int) -> None:
        """Read the number before a time as one: "8-13 Uhr", "5 to 7 pm"."""
        last, sign = self._last, self._text_at(index - 1)
        if last is None or sign not in RANGE_SIGNS or last.unit or last.year_or_date:
            return
        between = self._tokens.lower[last.end : time.start].strip()
        hours = time.low - time.low % 720 if last.plain < 12 and time.low % 720 else 0.0
        value = 60.0 * last.plain
        value += hours if value + hours < time.low else 0.0
        if between == sign and last.plain == int(last.plain) and value < time.low:
            self._quantities[-1] = Quantity.of_value(last.start, last.end, value, unit="clock")

    def _is_minus(self, index: int) -> bool:
        """Whether a number is preceded by a minus sign, not a dash or hyphen."""
        before = self._text_at(index - 1)
        if before == "minus":
            return self._tokens.is_free(index - 1, self._last)
        if before != "-" or self._tokens.gap(index):
            return False
        start = self._tokens[index - 1].start
        return start == 0 or self._text[start - 1] in " ("

    def _is_approximate(self, index: int) -> bool:
        before = index - 2 if self._text_at(index - 1) in SKIPPED else index - 1
        word = self._text_at(before)
        if word not in ABOUT:
            return False
        return word not in ABOUT_AFTER_MORE or self._text_at(before - 1) in MORE

    def _range(self, low: Quantity, high: Quantity, index: int) -> Quantity | None:
        """Return the range of two numbers: "5-10 km", "between 5 and 10 km"."""
        sign = self._text_at(index - 1)
        if not (sign in RANGE_SIGNS or (sign in JOINS and self._follows_between(low))):
            return None
        token = self._tokens[index - 1]
        if not 0 <= token.start - low.end <= 1 or high.start - token.end > 1:
            return None
        if low.low != low.high or low.year is not None or high.year is not None:
            return None
        if low.kind != "number" or high.kind != "number" or low.unit not in ("", high.unit):
            return None
        # Degrees do not begin at zero.
        value = low.low if low.unit else high.low - (high.plain - low.plain) * high.scale
        if value >= high.low:
            return None
        return high._replace(start=low.start, low=value, about=high.about or low.about)

    def _follows_between(self, number: Quantity) -> bool:
        words = self._tokens.lower[max(number.start - 10, 0) : number.start].split()
        return bool(words) and words[-1] in BETWEEN

    def _sum(self, large: Quantity, small: Quantity) -> Quantity | None:
        """Return the sum of "5 ft 10 in" and "3 hours and 20 minutes"."""
        if large.unit != small.unit or small.unit not in _SUMMED_UNITS:
            return None
        if large.scale <= small.scale or small.start - large.end > 5:
            return None
        between = self._text[large.end : small.start].strip()
        if between and between not in JOINS:
            return None
        total = large.low + small.low
        return small._replace(start=large.start, low=total, high=total, plain=total / small.scale)


# Texts share most of their words.
@lru_cache(16_384)
def _may_begin(word: str) -> bool:
    """Whether a quantity may begin with a token."""
    if word in STARTS_AND_ROMANS or word[0] in FIRST_CHARS or word[0].isdecimal():
        return True
    return len(word) >= _MIN_COMPOUND_CHARS and compound_value(word) is not None


def read_quantities(text: str, parts_of_months: bool) -> tuple[Quantity, ...]:
    """Return the quantities of a text, in order; see `quantities`.

    Args:
        text: Any text.
        parts_of_months: Whether "the end of March" is a date.
    """
    number = _number_after_words(text)
    if number is not None:
        return (number,)
    if not may_contain_quantity(text.lower()):
        return ()
    normalized = NormalizedText.of(text)
    in_normalized = read_plainly(
        normalized.text, lambda plain: Reader(plain, parts_of_months=parts_of_months).read()
    )
    if normalized.text == text:
        return in_normalized
    in_text: list[Quantity] = []
    last_end = 0
    for quantity in in_normalized:
        start, end = normalized.span(quantity.start, quantity.end)
        # Two may come from one character.
        start = max(start, last_end)
        if start < end:
            in_text.append(quantity._replace(start=start, end=end))
            last_end = end
    return tuple(in_text)


def _number_after_words(text: str) -> Quantity | None:
    """Return the only quantity of a text if it is a whole number behind ordinary words: "item 12".

    A fast path that agrees with `Reader`, since the objects of the bench `speed` have thousands of
    such values.

    Args:
        text: The text.
    """
    if len(text) > _MAX_CHARS_BESIDE_DIGITS:
        return None
    match = _WORDS_AND_DIGITS.fullmatch(text)
    if match is None:
        return None
    lower = match[2].lower()
    words = lower.split(" ")
    if words[-1] in BEFORE_NUMBERS or not STARTS_AND_ROMANS.isdisjoint(words):
        return None
    if _COMPOUND_PART.search(lower):
        return None
    return Quantity.of_digits(match.start(3), match[3])


def may_contain_quantity(lower: str) -> bool:
    """Return whether a text has a digit, or a word that may begin a quantity.

    Args:
        lower: The text in lower case.
    """
    if not lower.isascii() or _DIGIT_OR_SIGN.search(lower):
        return True
    if not STARTS_AND_ROMANS.isdisjoint(_ASCII_WORD.findall(lower)):
        return True
    return _COMPOUND_PART.search(lower) is not None
