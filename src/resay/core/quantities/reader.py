"""Parse the quantities of a text from left to right."""

from __future__ import annotations

import re
from dataclasses import replace
from math import gcd

from resay.core.quantities.quantity import Quantity
from resay.core.quantities.words import (
    ABOUT,
    ABOUT_AFTER_MORE,
    AFTER_NUMBERS,
    AREAS,
    ARTICLES,
    BEFORE_NUMBERS,
    BEFORE_TIMES,
    BETWEEN,
    CELSIUS,
    CENTS,
    CENTURIES,
    CJK,
    CJK_SCALES,
    CJK_UNITS,
    COMPOUND_PARTS,
    COUNTERS,
    CUBES,
    CURRENCIES,
    DATE_MARKS,
    DECADES,
    DEGREES,
    DENOMINATORS,
    DOLLARS,
    DOZENS,
    FAHRENHEIT,
    FIRST_CHARS,
    HALVES,
    HUNDREDS,
    JOINS,
    LANGUAGES_OF,
    LETTERS,
    MARKS,
    MONTHS,
    MORE,
    NATIONAL,
    NATIONS,
    NUMBERED_BY_ROMAN,
    ONLY_IN,
    ORDINAL_ENDINGS,
    ORDINALS,
    PARTS,
    PER,
    PER_CENT,
    PLURALS,
    POSSESSIVES,
    RANGE_SIGNS,
    ROMAN_NUMBERS,
    ROMANS,
    SCALES,
    SHORT_SCALES,
    SKIPPED,
    SMALL,
    STARTS,
    STARTS_AND_ROMANS,
    TIMES_OF_DAY,
    UNITS,
    Token,
    Tokens,
    Total,
    cjk_value,
    compound_value,
    read_digits,
)
from resay.lang.detection import detect_from_words

_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_MAX_WORDS = 12
_MAX_PLAIN = 15
# How far back a quotation that a mark may close is looked for.
_QUOTED_CHARS = 200
_OPENING_APOSTROPHE = re.compile(r"(?<!\w)'\w")
_INCHES = re.compile(r""" ?\d{1,2}(?:\.\d)?(?: \d/\d{1,2})?(?:"|'')""")


class Reader:
    """Parses one text from left to right, a few tokens at a time."""

    def __init__(self, text: str) -> None:
        self._text = text
        low = text.lower()
        # Lower-casing lengthens a few characters; such texts stay unchanged, to keep offsets valid.
        self._low = low if len(low) == len(text) else text
        self._found: list[Quantity] = []
        self._language: str | None = ""
        self._tokens = Tokens(self._low)
        self._texts, self._count = self._tokens.texts, len(self._tokens)

    def read(self) -> list[Quantity]:
        """Return the quantities in order."""
        texts, after = self._tokens.texts, 0
        compounds = any(part in self._low for part in COMPOUND_PARTS)
        for i, word in enumerate(texts):
            if i >= after and (
                word in STARTS_AND_ROMANS
                or (not "a" <= word[0] <= "z" and (word[0] in FIRST_CHARS or word[0].isdecimal()))
                or (compounds and len(word) > 8 and compound_value(word) is not None)
            ):
                after = self._read(i)
        return self._found

    def _read(self, i: int) -> int:
        """Parse the quantity at a token; return the index to continue at."""
        first = self._tokens[i]
        if self._is_plain(i):
            return self._plain(i)
        if first.text in HALVES and self._after_one_unit(i):
            return i + 1
        if first.text in TIMES_OF_DAY and self._text_at(i - 1) in BEFORE_TIMES:
            return self._time_of_day(i)
        if first.text in ROMANS and first.text not in STARTS:
            return self._roman_alone(i)
        date = self._numeric_date(first) if first.text[0].isdecimal() else None
        if date is not None:
            self._found.append(date)
            return i + 1
        if first.text in MONTHS or first.text in DECADES:
            return self._named_decade(i) if first.text in DECADES else self._month_first(i)
        currency = self._currency_before(i)
        clock = self._clock(i)
        if clock is not None:
            self._found.append(clock[0])
            return clock[1]
        number = self._number(currency[1] if currency else i)
        if number is None:
            return i + 1
        value, j = self._and_a_half(*number)
        if currency:
            unit, scale = UNITS.get(currency[0], (currency[0], 1.0))
            value, j = self._short_scale(value, j)
            self._add(
                replace(value.with_unit(unit, scale, value.end), start=first.start),
                i,
                is_year=False,
            )
            return max(j, i + 1)
        return self._with_context(value, i, j)

    def _time_of_day(self, i: int) -> int:
        token = self._tokens[i]
        minutes = float(TIMES_OF_DAY[token.text])
        found = Quantity(
            token.start, token.end, unit="clock", low=minutes, high=minutes, plain=minutes
        )
        self._found.append(found)
        return i + 1

    def _roman_alone(self, i: int) -> int:
        roman = self._roman(i) if self._text[self._tokens[i].start].isupper() else None
        if roman is None:
            return i + 1
        self._found.append(roman[0])
        return roman[1]

    def _is_plain(self, i: int) -> bool:
        """Whether a token is digits that no neighbour can change: most numbers are."""
        word, following = self._texts[i], self._text_at(i + 1)
        return (
            word.isdecimal()
            and len(word) <= _MAX_PLAIN
            and following not in AFTER_NUMBERS
            and not following[:1].isdecimal()
            and self._text_at(i - 1) not in BEFORE_NUMBERS
            and not self._is_unspaced(self._tokens[i].end)
        )

    def _plain(self, i: int) -> int:
        at, text = self._tokens[i], self._texts[i]
        value, count = float(text), len(text.strip("0")) or 1
        step = 10.0 ** (len(text) - len(text.rstrip("0"))) if value else 1.0
        year = int(value) if len(text) == 4 and 1000 <= value <= 2199 else None
        found = Quantity(
            at.start, at.end, low=value, high=value, plain=value, step=step, digits=count, year=year
        )
        self._found.append(found)
        return i + 1

    def _with_context(self, number: Quantity, i: int, j: int) -> int:
        """Parse what follows a number: a month, an ordinal's ending, a century, a unit."""
        is_ordinal = self._text_at(j - 1) in ORDINALS
        ending = self._ordinal_ending(number, i, j)
        if ending is not None:
            is_ordinal, number, j = True, ending, j + 1
        found = self._cjk_date(number, j) or self._day_first(number, i, j)
        found = found or self._century(number, i, j, ordinal=is_ordinal)
        found = found or self._decade(number, i, j)
        if found:
            return found
        unit = None if is_ordinal else self._unit(number, j)
        if unit is not None:
            number, j = self._unit_and_a_half(*unit)
            self._add(number, i, is_year=False)
            return j
        if is_ordinal:
            self._add(replace(number, unit="ordinal"), i, is_year=False)
            return j
        dated = self._period(number, i, j)
        if dated:
            return dated
        if j == i + 1 and self._texts[i] in ARTICLES:
            return j
        if number.unit == "part":
            number = replace(number, unit="share")
        written = self._text[number.start : number.end]
        is_year = written.isdecimal() and len(written) == 4 and 1000 <= number.plain <= 2199
        self._add(number, i, is_year=is_year)
        return j

    def _period(self, number: Quantity, i: int, j: int) -> int | None:
        """Parse "Q3", the third quarter, and "FY2021", the fiscal year."""
        before = self._text_at(i - 1)
        if before not in ("q", "fy") or self._gap(i) or number.plain != int(number.plain):
            return None
        start = self._tokens[i - 1].start
        if before == "q" and 1 <= number.plain <= 4:
            self._found.append(replace(number, unit="ordinal", start=start))
            return j
        if before == "fy" and 1900 <= number.plain <= 2199:
            self._found.append(replace(number, year=int(number.plain), start=start))
            return j
        return None

    def _ordinal_ending(self, number: Quantity, i: int, j: int) -> Quantity | None:
        """Parse the "th" of "19th", which directly follows digits."""
        if self._text_at(j) not in ORDINAL_ENDINGS or number.plain != int(number.plain):
            return None
        if not self._texts[i][0].isdecimal() or self._tokens[j].start != number.end:
            return None
        return replace(number, end=self._tokens[j].end)

    def _after_one_unit(self, i: int) -> bool:
        """Parse "an hour and a half" at its "half"; elsewhere an article is not a number."""
        joins = i - 2 if self._text_at(i - 1) in ARTICLES else i - 1
        unit, first = UNITS.get(self._text_at(joins - 1)), joins - 2
        if (
            unit is None
            or self._text_at(joins) not in JOINS
            or self._text_at(first) not in ARTICLES
        ):
            return False
        start, end = self._tokens[first].start, self._tokens[i].end
        one = Quantity(start, end, low=1.5, high=1.5, plain=1.5, step=0.5)
        self._add(one.with_unit(*unit, end), first, is_year=False)
        return True

    def _unit_and_a_half(self, number: Quantity, j: int) -> tuple[Quantity, int]:
        """Parse the rest of "an hour and a half"."""
        k = self._half(j)
        if k is None or number.plain != int(number.plain) or number.unit == "share":
            return number, j
        value = number.low + number.scale / 2
        found = replace(
            number,
            low=value,
            high=value,
            plain=number.plain + 0.5,
            step=number.scale / 2,
            end=self._tokens[k - 1].end,
        )
        return found, k

    def _add(self, number: Quantity, i: int, *, is_year: bool) -> None:
        """Store a number, with what precedes it: "about", or the lower end of its range."""
        if is_year:
            number = replace(number, year=int(number.plain))
        before = self._text_at(i - 1)
        if self._is_minus(i):
            number = replace(
                number,
                start=self._tokens[i - 1].start,
                low=number.low - 2 * number.plain * number.scale,
                high=number.high - 2 * number.plain * number.scale,
                plain=-number.plain,
            )
            i, before = i - 1, self._text_at(i - 2)
        gap = i - 2 if before in SKIPPED else i - 1
        hint = self._text_at(gap)
        if hint in ABOUT and (hint not in ABOUT_AFTER_MORE or self._text_at(gap - 1) in MORE):
            number = replace(number, about=True)
        last = self._found[-1] if self._found else None
        if (
            last is not None
            and i > 0
            and (before in RANGE_SIGNS or (before in JOINS and self._is_between(last)))
            and self._tokens[i - 1].start >= last.end
            and self._tokens[i - 1].start - last.end <= 1
            and number.start - self._tokens[i - 1].end <= 1
            and last.low == last.high
            and not is_year
            and last.year is None
            and last.kind == number.kind == "number"
            and last.unit in ("", number.unit)
        ):
            low = last.low if last.unit else last.plain * number.scale
            if low < number.low:
                self._found[-1] = replace(
                    number, start=last.start, low=low, about=number.about or last.about
                )
                return
        if (
            last is not None
            and last.unit == number.unit
            and number.unit in ("m", "s", "kg", "year")
            and last.scale > number.scale
            and number.start - last.end <= 5
            and self._text[last.end : number.start].strip()
            in ("", "and", "und", "et", "y", "e", "en")
        ):
            # "5 ft 10 in", "3 hours and 20 minutes".
            total = last.low + number.low
            self._found[-1] = replace(
                number, start=last.start, low=total, high=total, plain=total / number.scale
            )
            return
        self._found.append(number)

    def _is_between(self, first: Quantity) -> bool:
        words = self._low[max(first.start - 10, 0) : first.start].split()
        return bool(words) and words[-1] in BETWEEN

    def _is_minus(self, i: int) -> bool:
        """Whether a number is preceded by a minus sign, not a dash or hyphen."""
        before = self._text_at(i - 1)
        if before == "minus":
            return self._is_free(i - 1)
        if before != "-" or self._gap(i):
            return False
        start = self._tokens[i - 1].start
        return start == 0 or self._text[start - 1] in " ("

    def _text_at(self, i: int) -> str:
        return self._texts[i] if 0 <= i < self._count else ""

    def _gap(self, i: int) -> str:
        """Return the text between a token and the previous one."""
        return self._low[self._tokens[i - 1].end : self._tokens[i].start]

    # --- numbers

    def _number(self, i: int) -> tuple[Quantity, int] | None:
        token = self._tokens[i] if i < self._count else None
        if token is None:
            return None
        if token.text[0] in CJK:
            return self._cjk_number(i)
        if token.text[0].isdecimal():
            return self._digits(i)
        return self._words(i)

    def _digits(self, i: int) -> tuple[Quantity, int] | None:
        token = self._tokens[i]
        text, end, j = token.text, token.end, i + 1
        if len(text) > 40 or not _DIGITS.fullmatch(text):
            return None
        # Thousands separated by a space: "5 000", "1 000 000".
        while (
            len(text) <= 12
            and text.isdecimal()
            and j < self._count
            and len(self._tokens[j].text) == 3
            and self._tokens[j].text.isdecimal()
            and self._gap(j) == " "
            and len(token.text) <= 3
            and token.text != "0"
        ):
            text, end, j = text + self._tokens[j].text, self._tokens[j].end, j + 1
        # A final period belongs to the sentence; the pattern excludes it.
        value, step, count = read_digits(text, self._groups_with)
        if value is None:
            return None
        number = Quantity(
            token.start, end, low=value, high=value, plain=value, step=step, digits=count
        )
        scale = SCALES.get(self._text_at(j))
        # "300 K" is a temperature, and "4K" a format.
        is_k = self._text_at(j) == "k"
        if is_k and (self._tokens[j].start > end or self._text[end] != "k"):
            scale = None
        if scale and self._tokens[j].start - end <= 1:
            # "2 milla" is miles, but "2 mil" is two thousand.
            number, j = number.multiplied(scale, self._tokens[j].end), j + 1
        following = self._text_at(j)
        if following in CJK_SCALES and self._tokens[j].start == end:
            # "100万": digits with one Chinese scale.
            number, j = number.multiplied(float(CJK_SCALES[following]), self._tokens[j].end), j + 1
        if end == token.end and text.isdecimal():
            return self._fraction(number, i) or self._mixed(number, j) or (number, j)
        return number, j

    def _fraction(self, number: Quantity, i: int) -> tuple[Quantity, int] | None:
        """Parse "1/2" and "3/4"; "17/20" and scores such as "3-2" stay two numbers."""
        below = self._text_at(i + 2)
        if self._text_at(i + 1) != "/" or self._gap(i + 1) or not below.isdecimal():
            return None
        if self._gap(i + 2) or len(below) > 2:
            return None
        if self._text_at(i + 3) == "/" and not self._gap(i + 3):
            return None
        upper, lower = int(number.plain), int(below)
        if not (0 < upper < lower and lower in DENOMINATORS and gcd(upper, lower) == 1):
            return None
        value = upper / lower
        end = self._tokens[i + 2].end
        found = replace(number, low=value, high=value, plain=value, step=1 / lower, end=end)
        return found, i + 3

    def _mixed(self, number: Quantity, j: int) -> tuple[Quantity, int] | None:
        """Parse the fraction of "2 1/2" and "2-1/2"."""
        if self._text_at(j) == "-" and not self._gap(j):
            j += 1
        if not self._text_at(j).isdecimal() or self._gap(j) not in ("", " "):
            return None
        start = self._tokens[j].start
        upper = float(self._text_at(j)) if len(self._text_at(j)) == 1 else 0.0
        found = self._fraction(replace(number, start=start, plain=upper), j)
        if found is None or start - number.end > 1:
            return None
        part, end = found
        value = number.plain + part.plain
        whole = replace(number, low=value, high=value, plain=value, step=part.step, end=part.end)
        return whole, end

    def _groups_with(self, mark: str) -> bool:
        """Whether a mark before three digits groups thousands instead of being a decimal point."""
        if mark == ",":
            return True
        return self._in() not in ("en", None)

    def _in(self) -> str | None:
        if self._language == "":
            self._language = detect_from_words([token.text for token in self._tokens])
        return self._language

    def _words(self, i: int) -> tuple[Quantity, int] | None:
        """Parse number words: "forty-two thousand", "zweihundert", "quatre-vingt-dix"."""
        if self._is_foreign_name(i):
            return None
        total = Total()
        j = last = i
        while j < self._count and total.words < _MAX_WORDS and self._goes_on(i, j, last):
            word = self._texts[j]
            if word == "-" or (word in JOINS and total.words):
                j += 1
                if word in JOINS and self._joins_nothing(j, total.group):
                    break
                continue
            if word in PARTS and (total.words <= 1 or word.endswith("s")):
                return self._part(i, j, total.group)
            if not self._takes(total, word):
                if word in ORDINALS and not total.is_round and self._is_in_its_language(word):
                    return self._ordinal(i, j, total.value)
                break
            total.words += 1
            j, last = j + 1, j
        if not total.words:
            return None
        value = total.value
        found = Quantity(
            self._tokens[i].start,
            self._tokens[last].end,
            low=value,
            high=value,
            plain=value,
            step=total.step,
            digits=len(str(int(value)).strip("0")) or 1,
        )
        return found, last + 1

    def _goes_on(self, i: int, j: int, last: int) -> bool:
        """Whether a token directly follows those parsed so far, or follows a joining word."""
        if j == i:
            return True
        joined = j <= last + 1 or self._text_at(j - 1) in {"-", *JOINS}
        return joined and self._gap(j) in ("", " ")

    def _takes(self, total: Total, word: str) -> bool:
        """Add a word to a number, if it continues it."""
        first = not total.words
        if first and not self._is_in_its_language(word):
            return False
        if word in SCALES and word != "k":
            total.scale(SCALES[word])
        elif word in HUNDREDS:
            total.hundreds(HUNDREDS[word])
        elif word in ("vingt", "vingts") and total.group == 4:
            total.group, total.step = 80.0, 1.0
        elif word in SMALL and (first or total.fits(SMALL[word])):
            total.group, total.step = total.group + SMALL[word], 1.0
        elif word in DOZENS:
            total.group, total.step = (total.group or 1) * 12, 1.0
        else:
            value = compound_value(word) if first else None
            if value is None:
                return False
            total.group = float(value)
        return True

    def _joins_nothing(self, j: int, group: float) -> bool:
        """Whether "and" joins two separate numbers."""
        word = self._text_at(j)
        value = SMALL.get(word)
        return (
            value is None
            or word in ARTICLES - {"one", "un", "uno", "una", "um", "uma"}
            or (group % 100 != 0 and not (group % 10 == 0 and value < 10))
        )

    def _is_in_its_language(self, word: str) -> bool:
        return word not in ONLY_IN or self._in() in ONLY_IN[word]

    def _is_foreign_name(self, i: int) -> bool:
        """Whether a word is a number in another language only: "Otto" is a name in English."""
        word, at = self._texts[i], self._tokens[i].start
        if word not in LANGUAGES_OF or not self._text[at].isupper():
            return False
        return self._in() not in {None, *LANGUAGES_OF[word]}

    def _part(self, i: int, j: int, count: float) -> tuple[Quantity, int]:
        """Parse a half, or two thirds."""
        word = self._tokens[j].text
        value = (count or 1.0) * PARTS[word]
        end, k = self._tokens[j].end, j + 1
        found = Quantity(
            self._tokens[i].start,
            end,
            unit="part",
            low=value,
            high=value,
            plain=value,
            step=value,
            scale=1.0,
        )
        # "half a million"
        follow = k + 1 if self._text_at(k) in ARTICLES else k
        scale = SCALES.get(self._text_at(follow))
        if scale:
            return replace(found, unit="").multiplied(scale, self._tokens[follow].end), follow + 1
        if self._text_at(k) == "of" and self._text_at(k + 1) in ARTICLES:
            # "three quarters of an hour"
            follow = k + 2
        if self._text_at(follow) in UNITS and follow > k:
            return replace(found, unit="", end=self._tokens[follow - 1].end), follow
        return found, k

    def _ordinal(self, i: int, j: int, before: float) -> tuple[Quantity, int] | None:
        if before and before % 10:
            return None
        value = before + ORDINALS[self._tokens[j].text]
        found = Quantity(
            self._tokens[i].start, self._tokens[j].end, low=value, high=value, plain=value
        )
        return found, j + 1

    def _short_scale(self, number: Quantity, j: int) -> tuple[Quantity, int]:
        """Parse the letter of "$5m", and the word of "$5 million"."""
        word = self._text_at(j)
        if word in SHORT_SCALES and self._tokens[j].start - number.end <= 1:
            return number.multiplied(SHORT_SCALES[word], self._tokens[j].end), j + 1
        return number, j

    def _currency_before(self, i: int) -> tuple[str, int] | None:
        word, j = self._tokens[i].text, i + 1
        if word in DOLLARS and self._text_at(j) == "$" and not self._gap(j):
            word, j = DOLLARS[word], j + 1
        elif word not in CURRENCIES:
            return None
        following = self._text_at(j)
        if (
            not following
            or not following[0].isdecimal()
            or self._gap(j) not in ("", " ", ". ", ".")
        ):
            return None
        return word, j

    def _cjk_number(self, i: int) -> tuple[Quantity, int] | None:
        token = self._tokens[i]
        value = cjk_value(token.text)
        following = self._text[token.end : token.end + 1]
        if value is None or (
            len(token.text) == 1
            and following not in COUNTERS
            and not any(self._text.startswith(unit, token.end) for unit in CJK_UNITS)
        ):
            return None
        scale = value[1]
        found = Quantity(
            token.start,
            token.end,
            low=value[0],
            high=value[0],
            plain=value[0],
            step=scale,
            digits=len(str(int(value[0])).strip("0")) or 1,
        )
        return found, i + 1

    def _and_a_half(self, number: Quantity, j: int) -> tuple[Quantity, int]:
        """Parse the rest of "two and a half"."""
        k = self._half(j)
        if k is None or number.unit or number.plain != int(number.plain) or number.step > 1e3:
            return number, j
        value = number.plain + 0.5
        end = self._tokens[k - 1].end
        found = replace(number, low=value, high=value, plain=value, step=0.5, end=end)
        scale = SCALES.get(self._text_at(k))
        if scale:
            return found.multiplied(scale, self._tokens[k].end), k + 1
        return found, k

    def _half(self, j: int) -> int | None:
        """Return the end of "and a half" if it begins at a token, or None."""
        if self._text_at(j) not in JOINS:
            return None
        k = j + 2 if self._text_at(j + 1) in ARTICLES else j + 1
        return k + 1 if self._text_at(k) in HALVES else None

    def _clock(self, i: int) -> tuple[Quantity, int] | None:
        """Parse a time of day: "18:00", "6 p.m.", "6:30 PM", "18 Uhr"."""
        text, end, j = self._texts[i], self._tokens[i].end, i + 1
        hours, _, minutes = text.partition(":")
        if not hours.isdecimal() or len(hours) > 2 or (minutes and not minutes.isdecimal()):
            return None
        half = self._low[end : end + 5].lstrip(" ")
        sign = next((s for s in ("a.m.", "p.m.", "am", "pm") if half.startswith(s)), None)
        follows = half[len(sign) : len(sign) + 1] if sign else ""
        if sign and not follows.isalnum():
            end = self._low.index(sign, end) + len(sign)
            while j < self._count and self._tokens[j].start < end:
                j += 1
        elif self._text_at(j) == "uhr":
            end, j = self._tokens[j].end, j + 1
        elif not minutes and self._text_at(j) not in TIMES_OF_DAY:
            return None
        hour = int(hours) % 12 + 12 * (sign[0] == "p") if sign else int(hours)
        value = 60.0 * hour + int(minutes or 0)
        if value >= 24 * 60 + 1:
            return None
        start = self._tokens[i].start
        unit, scale = UNITS.get(self._text_at(j), ("", 1.0))
        if not sign and minutes and unit == "s" and scale in (60.0, 3600.0):
            # "1:45 hours" is no time of day.
            value *= scale / 60.0
            end = self._tokens[j].end
            found = Quantity(
                start, end, unit=unit, low=value, high=value, plain=value / scale, scale=scale
            )
            return replace(found, step=scale / 60.0), j + 1
        if self._text_at(j) in TIMES_OF_DAY:
            end, j = self._tokens[j].end, j + 1
        value %= 24 * 60.0
        return Quantity(start, end, unit="clock", low=value, high=value, plain=value), j

    # --- units

    def _unit(self, number: Quantity, j: int) -> tuple[Quantity, int] | None:
        """Parse the unit after a number."""
        if self._is_unspaced(number.end):
            for word, (unit, scale) in CJK_UNITS.items():
                if self._text.startswith(word, number.end):
                    return number.with_unit(unit, scale, number.end + len(word)), j
        if j >= self._count or self._gap(j) not in ("", " "):
            return None
        word, following = self._texts[j], self._text_at(j + 1)
        measured = self._in_two_words(number, j) or self._smaller_unit(number, j)
        if measured is not None:
            return measured
        if word == "-" and following in UNITS and not self._gap(j + 1):
            j, word, following = j + 1, following, self._text_at(j + 2)
        if word in DEGREES:
            return self._temperature(number, j)
        power = 2 if word in AREAS else 3 if word in CUBES else 1
        if power > 1:
            j, word = j + 1, following
        known = self._length_of_mark(number, j) if word in MARKS else UNITS.get(word)
        if known is None or (word in LETTERS and not self._text[number.end - 1].isdecimal()):
            return None
        return self._power_or_speed(number, j, power, *known)

    def _smaller_unit(self, number: Quantity, j: int) -> tuple[Quantity, int] | None:
        """Parse the minutes of "1h 45m", and the inches of "6 ft 2 in"."""
        if self._texts[j] == "m" and self._follows(number, "s", 3600.0):
            return number.with_unit("s", 60.0, self._tokens[j].end), j + 1
        if self._texts[j] == "in" and self._follows(number, "m", 0.3048):
            return number.with_unit("m", 0.0254, self._tokens[j].end), j + 1
        return None

    def _follows(self, number: Quantity, unit: str, scale: float) -> bool:
        """Whether a number directly follows a measure."""
        last = self._found[-1] if self._found else None
        return (
            last is not None
            and last.unit == unit
            and last.scale == scale
            and self._text[last.end : number.start].strip() in ("", "and", ",")
        )

    def _in_two_words(self, number: Quantity, j: int) -> tuple[Quantity, int] | None:
        """Parse "per cent", and a currency that its country tells, such as "Swiss francs"."""
        if self._texts[j] in PER_CENT and self._text_at(j + 1) in CENTS:
            return number.with_unit("share", 0.01, self._tokens[j + 1].end), j + 2
        if self._texts[j] == "new":
            j += 1
        nation, name = self._text_at(j), self._text_at(j + 1)
        if nation not in NATIONS or self._gap(j + 1) != " ":
            return None
        unit = NATIONAL.get((nation, PLURALS.get(name, name.removesuffix("s"))))
        if unit is None:
            return None
        return number.with_unit(unit, 1.0, self._tokens[j + 1].end), j + 2

    def _length_of_mark(self, number: Quantity, j: int) -> tuple[str, float] | None:
        """Return the unit of the marks in 5'10"; None if they quote or stand for letters."""
        mark, end = self._text_at(j), self._tokens[j].end
        before = self._text[max(number.start - _QUOTED_CHARS, 0) : number.start]
        if self._gap(j):
            return None
        if mark == "'" and _INCHES.match(self._text, end):
            return MARKS[mark]
        if self._text[end : end + 1].isalnum():
            return None
        if mark == "'":
            return None if _OPENING_APOSTROPHE.search(before) else MARKS[mark]
        after_feet = bool(self._found) and self._text[self._found[-1].end - 1] == "'"
        return MARKS[mark] if after_feet or before.count('"') % 2 == 0 else None

    def _power_or_speed(
        self, number: Quantity, j: int, power: int, unit: str, scale: float
    ) -> tuple[Quantity, int] | None:
        """Parse what follows a unit: "carrés", "per hour"."""
        if power > 1 and unit != "m":
            return None
        k = j + 1
        following = self._text_at(k)
        if unit == "m" and power == 1 and following in AREAS | CUBES and self._gap(k) == " ":
            power, k = 2 if following in AREAS else 3, k + 1
        if power > 1:
            unit, scale = f"m{power}", scale**power
        elif unit in ("m", "kg") and following in PER:
            per = UNITS.get(self._text_at(k + 1))
            if per and per[0] == "s":
                unit, scale, k = f"{unit}/s", scale / per[1], k + 2
        return number.with_unit(unit, scale, self._tokens[k - 1].end), k

    def _is_unspaced(self, position: int) -> bool:
        return position < len(self._text) and self._text[position] >= "\u3040"

    def _temperature(self, number: Quantity, j: int) -> tuple[Quantity, int]:
        end, k = self._tokens[j].end, j + 1
        word = self._text_at(k)
        value, unit, scale = number.plain, "deg", 1.0
        if word in CELSIUS or word in FAHRENHEIT:
            fahrenheit = word in FAHRENHEIT
            value = (number.plain - 32) / 1.8 + 273.15 if fahrenheit else number.plain + 273.15
            unit, scale = "K", 5 / 9 if fahrenheit else 1.0
            end, k = self._tokens[k].end, k + 1
        found = replace(
            number, unit=unit, low=value, high=value, scale=scale, step=number.step * scale, end=end
        )
        return found, k

    # --- dates

    def _numeric_date(self, token: Token) -> Quantity | None:
        if len(token.text) < 6 or token.text.isdecimal():
            return None
        parts = DATE_MARKS.split(token.text)
        if len(parts) != 3 or not all(part.isdecimal() for part in parts):
            return None
        a, b, c = map(int, parts)
        if len(parts[0]) == 4:
            year, month, day, swapped = a, b, c, False
        elif len(parts[2]) in (2, 4):
            year = c if len(parts[2]) == 4 else c + (1900 if c > 40 else 2000)
            day, month, swapped = a, b, "/" in token.text and a <= 12 and b <= 12
            if month > 12:
                day, month = month, day
        else:
            return None
        if not (1 <= month <= 12 and 1 <= day <= 31):
            return None
        return Quantity(
            token.start, token.end, "date", year=year, month=month, day=day, swapped=swapped
        )

    def _month_first(self, i: int) -> int:
        """Parse "March 19, 1932", "March 19" or "March 1932"."""
        token = self._tokens[i]
        month, j, day, year = MONTHS[token.text], i + 1, None, None
        end = token.end
        if self._gap_is(j, (" ", ". ")) and self._is_day(j):
            day, end, j = int(self._tokens[j].text), self._tokens[j].end, j + 1
            if self._text_at(j) in ORDINAL_ENDINGS and self._gap(j) == "":
                end, j = self._tokens[j].end, j + 1
        k = j + 1 if self._text_at(j) in ("de", "del", "of", "di") else j
        if self._gap_is(k, (" ", ", ", ". ", ",")) and self._is_year(k):
            year, end, j = int(self._tokens[k].text), self._tokens[k].end, k + 1
        if day is None and year is None:
            return i + 1
        self._found.append(Quantity(token.start, end, "date", year=year, month=month, day=day))
        return j

    def _day_first(self, number: Quantity, i: int, j: int) -> int | None:
        """Parse "19 March 1932", "19. März" or "19th of March, 1932"."""
        if not (1 <= number.plain <= 31 and number.plain == int(number.plain) and not number.unit):
            return None
        k = j + 1 if self._text_at(j) in ("of", "de", "di", "d") else j
        if self._text_at(k) == "'":
            k += 1
        if self._text_at(k) not in MONTHS or self._tokens[k].start - number.end > 7:
            return None
        month, end, j = MONTHS[self._text_at(k)], self._tokens[k].end, k + 1
        k = j + 1 if self._text_at(j) in ("de", "del", "of", "di") else j
        year = None
        if self._gap_is(k, (" ", ", ", ". ")) and self._is_year(k):
            year, end, j = int(self._tokens[k].text), self._tokens[k].end, k + 1
        self._found.append(
            Quantity(
                self._tokens[i].start, end, "date", year=year, month=month, day=int(number.plain)
            )
        )
        return j

    def _gap_is(self, i: int, gaps: tuple[str, ...]) -> bool:
        return 0 < i < self._count and self._gap(i) in gaps

    def _is_day(self, i: int) -> bool:
        text = self._text_at(i)
        return text.isdecimal() and len(text) <= 2 and 1 <= int(text) <= 31

    def _is_year(self, i: int) -> bool:
        text = self._text_at(i)
        return text.isdecimal() and 3 <= len(text) <= 4

    def _cjk_date(self, number: Quantity, j: int) -> int | None:
        """Parse 1932年3月19日, and centuries, if such a sign follows a numeral."""
        if not self._is_unspaced(number.end):
            return None
        if self._text.startswith(("世纪", "世紀", "세기"), number.end):
            self._found.append(replace(number, unit="century", end=number.end + 2))
            return j
        parts: dict[str, int] = {}
        start, end, current = number.start, number.end, number
        while True:
            sign = {"년": "年", "월": "月", "일": "日", "号": "日"}.get(
                self._text[end : end + 1], self._text[end : end + 1]
            )
            if sign not in ("年", "月", "日") or sign in parts or current.plain > 9999:
                break
            if sign == "年" and current.plain < 100:
                break
            parts[sign] = int(current.plain)
            end += 1
            following = self._tokens[j] if j < self._count else None
            if following is None or self._text[end : following.start].strip():
                break
            nxt = (
                self._number(j)
                if following.text[0].isdecimal() or following.text[0] in CJK
                else None
            )
            if nxt is None or self._text[nxt[0].end : nxt[0].end + 1] not in "月日号월일":
                break
            if not self._text[nxt[0].end : nxt[0].end + 1]:
                break
            current, j = nxt
            end = current.end
        if not parts:
            return None
        end = min(end, len(self._text))
        self._found.append(
            Quantity(
                start,
                end,
                "date",
                year=parts.get("年"),
                month=parts.get("月"),
                day=parts.get("日"),
            )
        )
        return j

    def _century(self, number: Quantity, i: int, j: int, *, ordinal: bool) -> int | None:
        following, before = self._text_at(j), self._text_at(i - 1)
        if following == "-":
            following, j = self._text_at(j + 1), j + 1
        if following in CENTURIES and self._tokens[j].start - number.end <= 2:
            self._found.append(replace(number, unit="century", end=self._tokens[j].end))
            return j + 1
        if before in CENTURIES and self._is_free(i - 1) and not ordinal and number.plain <= 30:
            self._found.append(replace(number, unit="century", start=self._tokens[i - 1].start))
            return j
        return None

    def _is_free(self, i: int) -> bool:
        """Whether a token is not yet part of a quantity."""
        return not self._found or self._found[-1].end <= self._tokens[i].start

    def _decade(self, number: Quantity, i: int, j: int) -> int | None:
        """Parse "1990s" and "1990's"; the 1900s are a century."""
        if not self._texts[i][0].isdecimal() or number.plain < 10:
            return None
        k = j + 1 if self._text_at(j) == "'" else j
        if self._text_at(k) != "s" or self._tokens[k].start - number.end != k - j:
            return None
        found = replace(number, unit="decade", end=self._tokens[k].end)
        if number.plain < 100 and self._is_of_somebody(i):
            self._found.append(replace(found, unit="ages"))
            return k + 1
        if number.plain < 100 and number.plain % 10 == 0:
            year = number.plain + 1900
            found = replace(found, low=year, high=year, plain=year)
        if number.plain % 100 == 0 and number.plain >= 1000:
            value = number.plain // 100 + 1
            found = replace(found, unit="century", low=value, high=value, step=1.0)
        self._found.append(found)
        return k + 1

    def _named_decade(self, i: int) -> int:
        """Parse "the eighties"."""
        token, year = self._tokens[i], float(DECADES[self._texts[i]])
        if self._is_of_somebody(i):
            age = year - 1900
            found = Quantity(token.start, token.end, unit="ages", low=age, high=age, plain=age)
            self._found.append(found)
        elif self._text_at(i - 1) not in POSSESSIVES:
            found = Quantity(token.start, token.end, unit="decade", low=year, high=year, plain=year)
            self._found.append(found)
        return i + 1

    def _is_of_somebody(self, i: int) -> bool:
        """Whether decades are those of a person's age: "in his thirties", "in her mid-30s"."""
        before = i - 2 if self._text_at(i - 1) == "-" else i - 1
        if self._text_at(before) in ("mid", "early", "late"):
            before -= 1
        return self._text_at(before) in POSSESSIVES - {"mid", "early", "late"}

    def _roman(self, i: int) -> tuple[Quantity, int] | None:
        """Parse a Roman numeral if it is unambiguous."""
        token = self._tokens[i]
        numeral, suffix = ROMANS[token.text]
        if self._text[token.start : token.start + len(numeral)] != numeral.upper():
            return None
        before, following = self._text_at(i - 1), self._text_at(i + 1)
        value = float(ROMAN_NUMBERS[numeral])
        found = Quantity(token.start, token.end, low=value, high=value, plain=value)
        if following in CENTURIES:
            return replace(found, unit="century", end=self._tokens[i + 1].end), i + 2
        if before in CENTURIES and self._is_free(i - 1):
            return replace(found, unit="century", start=self._tokens[i - 1].start), i + 1
        if suffix:
            return None
        named = (
            i > 0
            and len(numeral) >= 2
            and self._gap(i) == " "
            and self._text[self._tokens[i - 1].start].isupper()
            and len(before) > 2
        )
        if before in NUMBERED_BY_ROMAN or named:
            return replace(found, unit="ordinal"), i + 1
        return None
