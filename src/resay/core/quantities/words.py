"""Words of numbers, units and dates, in all languages that have them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from resay.lang.language import all_words, languages
from resay.lang.tables import word_set

_NUMBERS: Final = {language.code: language.numbers for language in languages() if language.numbers}


def _words(name: str) -> frozenset[str]:
    """Return the words of all languages."""
    return all_words("numbers", name)


def _valued(values: Mapping[str, float]) -> dict[str, float]:
    """Return the value of each word under the names of values."""
    return {word: value for name, value in values.items() for word in _words(name)}


def _numbered(words: str, start: int = 0, step: int = 1) -> dict[str, int]:
    """Number words in order; `a/b` are two spellings of one, and `_` stands for none."""
    values: dict[str, int] = {}
    for index, spellings in enumerate(words.split()):
        if spellings != "_":
            values.update(dict.fromkeys(spellings.split("/"), (start + index) * step))
    return values


def _all_numbered(name: str, start: int, step: int = 1) -> dict[str, int]:
    """Number the words that each language has under a name."""
    values: dict[str, int] = {}
    for words in _NUMBERS.values():
        values |= _numbered(words.get(name, ""), start, step)
    return values


def _below_hundred() -> dict[str, int]:
    values: dict[str, int] = {}
    for words in _NUMBERS.values():
        units, tens = _numbered(words["from_zero"]), _numbered(words["tens"], 2, 10)
        values |= units | tens
        joined = words.get("joined")
        if joined is None:
            continue
        digits = {word: number for word, number in units.items() if 0 < number < 10}
        for ten, tenfold in tens.items():
            for unit, number in digits.items():
                # Italian drops a vowel before another, and Dutch writes a diaeresis after one.
                stem = ten[:-1] if joined == _ITALIAN and unit[0] in "uo" else ten
                values[joined.format(unit=unit, ten=stem)] = tenfold + number
                values[f"{unit}ën{ten}"] = tenfold + number
                if joined == _ITALIAN and unit == "tre":
                    values[f"{ten}tré"] = tenfold + number
    return values


_ITALIAN: Final = "{ten}{unit}"
SMALL: Final = {
    **_below_hundred(),
    **dict.fromkeys(_words("twice"), 2),
    **dict.fromkeys(_words("thrice"), 3),
}


def _languages_of_small_numbers() -> dict[str, frozenset[str]]:
    codes: dict[str, frozenset[str]] = {}
    for code, words in _NUMBERS.items():
        for word in (*_numbered(words["from_zero"]), *_numbered(words["tens"])):
            codes[word] = codes.get(word, frozenset()) | {code}
    return codes


LANGUAGES_OF: Final[Mapping[str, frozenset[str]]] = _languages_of_small_numbers()
"""The languages in which a number below a hundred is this word."""
HUNDREDS: Final = _all_numbered("hundreds", 1, 100)
SCALES: Final[Mapping[str, float]] = _valued(
    {
        "thousand": 1e3,
        "lakh": 1e5,
        "million": 1e6,
        "crore": 1e7,
        "billion": 1e9,
        "trillion": 1e12,
    }
)
SHORT_SCALES: Final = {"m": 1e6, "b": 1e9, "bn": 1e9, "k": 1e3}
PARTS: Final[Mapping[str, float]] = _valued(
    {
        "half": 1 / 2,
        "third": 1 / 3,
        "quarter": 1 / 4,
        "fifth": 1 / 5,
        "one_and_a_half": 3 / 2,
        "two_and_a_half": 5 / 2,
        "three_and_a_half": 7 / 2,
    }
)
# Of fractions written with a slash.
DENOMINATORS: Final = frozenset((2, 3, 4, 5, 6, 8, 16, 32, 64))
HALVES: Final = _words("and_a_half")
DOZENS: Final = dict.fromkeys(_words("dozen"), 12)
ORDINALS: Final = {**_all_numbered("ordinals", 2), **_all_numbered("tens_ordinals", 3, 10)}
# Also articles: numbers only if another number word or a unit follows.
ARTICLES: Final = _words("articles")


def _ambiguous_numbers() -> dict[str, frozenset[str | None]]:
    # Units and fractions, but no ordinals.
    codes: dict[str, frozenset[str | None]] = {"seconde": frozenset(), "secondo": frozenset()}
    for code, words in _NUMBERS.items():
        for word in words.get("only_here", "").split():
            codes[word] = codes.get(word, frozenset()) | {code}
    return codes


# Numbers in one language, but ordinary words in another.
ONLY_IN: Final[Mapping[str, frozenset[str | None]]] = _ambiguous_numbers()
JOINS: Final = _words("join")
ORDINAL_ENDINGS: Final = _words("ordinal_endings")

MONTHS: Final = _all_numbered("months", 1)
DECADES: Final = _all_numbered("decades", 192, 10)
# "In his eighties" is an age.
POSSESSIVES: Final = word_set("his her their my your our its mid early late")
CENTURIES: Final = _words("century")
NUMBERED_BY_ROMAN: Final = _words("with_roman_numbers")

# The unit and its scale, the name of its words in the language files, and its symbols.
_UNITS: Final[Sequence[tuple[str, float, str, str]]] = (
    ("m", 1e-9, "nanometre", "nm"),
    ("m", 1e-6, "micrometre", "µm μm"),
    ("m", 1e-3, "millimetre", "mm"),
    ("m", 1e-2, "centimetre", "cm"),
    ("m", 1.0, "metre", "m"),
    ("m", 1e3, "kilometre", "km"),
    ("m", 0.0254, "inch", ""),
    ("m", 0.3048, "foot", "ft"),
    ("m", 0.9144, "yard", "yd"),
    ("m", 1609.344, "mile", "mi"),
    ("m/s", 1 / 3.6, "", "kph kmh"),
    ("m/s", 0.44704, "", "mph"),
    ("m/s", 1852 / 3600, "knot", "kn"),
    ("m2", 1.0, "square_metre", "m² sqm"),
    ("m2", 1e6, "square_kilometre", "km²"),
    ("m2", 1e4, "hectare", "ha"),
    ("m2", 4046.8564224, "acre", ""),
    ("m3", 1.0, "cubic_metre", "m³"),
    ("m3", 1e-3, "litre", "l"),
    ("m3", 2.365882365e-4, "cup", ""),
    ("m3", 1.478676478125e-5, "tablespoon", "tbsp"),
    ("m3", 4.92892159375e-6, "teaspoon", "tsp"),
    ("m3", 1e-5, "", "cl"),
    ("m3", 1e-9, "microlitre", "µl μl"),
    ("m3", 1e-6, "millilitre", "ml"),
    ("kg", 1e-9, "microgram", "µg μg mcg"),
    ("kg", 1e-6, "milligram", "mg"),
    ("kg", 1e-3, "gram", "g"),
    ("kg", 1.0, "kilogram", "kg"),
    ("kg", 1e3, "tonne", "t"),
    ("kg", 0.45359237, "pound", "lb lbs"),
    ("kg", 0.028349523125, "ounce", "oz"),
    ("s", 1e-9, "nanosecond", "ns"),
    ("s", 1e-6, "microsecond", "µs μs"),
    ("s", 1e-3, "millisecond", "ms"),
    ("s", 1.0, "second", "s"),
    ("s", 60.0, "minute", ""),
    ("s", 3600.0, "hour", "h"),
    ("s", 86400.0, "day", ""),
    ("s", 604800.0, "week", ""),
    ("s", 1209600.0, "fortnight", ""),
    ("year", 1 / 12, "month", ""),
    ("year", 1.0, "year", ""),
    ("year", 10.0, "decade", ""),
    ("B", 1.0, "", "byte bytes"),
    ("B", 1e3, "", "kb kilobyte kilobytes"),
    ("B", 1e6, "", "mb megabyte megabytes"),
    ("B", 1e9, "", "gb gigabyte gigabytes"),
    ("B", 1e12, "", "tb terabyte terabytes"),
    ("W", 1.0, "", "w watt watts"),
    ("W", 1e3, "", "kw kilowatt kilowatts"),
    ("W", 1e6, "", "mw megawatt megawatts"),
    ("W", 1e9, "", "gw gigawatt gigawatts"),
    ("W", 1e12, "", "tw terawatt terawatts"),
    ("W", 735.49875, "", "ps hp horsepower"),
    ("J", 3.6e3, "", "wh"),
    ("J", 3.6e6, "", "kwh"),
    ("J", 3.6e9, "", "mwh"),
    ("J", 3.6e12, "", "gwh"),
    ("J", 3.6e15, "", "twh"),
    ("J", 1e3, "", "kj kilojoule"),
    ("J", 4184.0, "", "kcal kilocalories"),
    ("V", 1.0, "", "volt volts"),
    ("Ah", 1.0, "", "ah"),
    ("Ah", 1e-3, "", "mah"),
    ("dB", 1.0, "decibel", "db"),
    ("lm", 1.0, "lumen", "lm"),
    ("Hz", 1.0, "", "hz hertz"),
    ("Hz", 1e3, "", "khz"),
    ("Hz", 1e6, "", "mhz"),
    ("Hz", 1e9, "", "ghz"),
    ("share", 0.01, "percent", "%"),
    ("share", 0.001, "permille", "‰"),
    ("EUR", 1.0, "euro", "€ eur"),
    ("$", 1.0, "dollar", "$"),
    ("USD", 1.0, "", "usd"),
    ("CAD", 1.0, "", "cad"),
    ("AUD", 1.0, "", "aud"),
    ("NZD", 1.0, "", "nzd"),
    ("HKD", 1.0, "", "hkd"),
    ("SGD", 1.0, "", "sgd"),
    ("cent", 0.01, "", "¢ cents"),
    ("GBP", 1.0, "", "£ gbp quid"),
    ("GBP", 0.01, "", "p pence"),
    ("JPY", 1.0, "", "¥ jpy yen"),
    ("CNY", 1.0, "", "cny yuan renminbi rmb"),
    ("KRW", 1.0, "", "₩ krw"),
    ("CHF", 1.0, "", "chf franken"),
    ("NOK", 1.0, "", "nok"),
    ("DKK", 1.0, "", "dkk"),
    ("PLN", 1.0, "", "pln zloty złoty złotych zlotys"),
    ("RUB", 1.0, "", "rub ₽ rouble roubles ruble rubles"),
    ("INR", 1.0, "", "₹ inr rs rupee rupees"),
)


def _units() -> dict[str, tuple[str, float]]:
    words_by_name = [language.units for language in languages()]
    units: dict[str, tuple[str, float]] = {}
    for unit, scale, name, symbols in _UNITS:
        for words in (symbols, *(its.get(name, "") for its in words_by_name)):
            units.update(dict.fromkeys(words.split(), (unit, scale)))
    return units


UNITS: Final[Mapping[str, tuple[str, float]]] = _units()
# Units after digits, unless they close a quotation.
MARKS: Final[Mapping[str, tuple[str, float]]] = {"'": ("m", 0.3048), '"': ("m", 0.0254)}
CURRENCIES: Final = word_set(
    "€ $ £ ¥ ₹ ₩ ₽ eur usd cad aud nzd hkd sgd gbp jpy cny krw chf nok dkk pln rub inr rs"
)
# What precedes a dollar sign, or the name of a currency that several countries have.
DOLLARS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("us", "american"), "USD"),
    **dict.fromkeys(("c", "ca", "can", "canadian"), "CAD"),
    **dict.fromkeys(("a", "au", "australian"), "AUD"),
    **dict.fromkeys(("nz", "zealand"), "NZD"),
    **dict.fromkeys(("hk", "kong"), "HKD"),
    **dict.fromkeys(("s", "sg", "singapore"), "SGD"),
}
NATIONAL: Final[Mapping[tuple[str, str], str]] = {
    **{(word, "dollar"): unit for word, unit in DOLLARS.items() if len(word) > 3 or word == "us"},
    ("swiss", "franc"): "CHF",
    ("norwegian", "krone"): "NOK",
    ("danish", "krone"): "DKK",
    ("indian", "rupee"): "INR",
    ("british", "pound"): "GBP",
}
# "New Zealand dollars".
NATIONS: Final = frozenset(nation for nation, _ in NATIONAL)
PLURALS: Final = {"kroner": "krone"}
# "Shortly after midnight" is no time, and "a midnight sun" neither.
BEFORE_TIMES: Final = word_set("at is was until till from to by and or - :") | {""}
TIMES_OF_DAY: Final = {"midnight": 0, "noon": 720, "midday": 720}
# Single letters are units only after digits, not after number words.
LETTERS: Final = frozenset(word for word in UNITS if len(word) == 1 and word.isalpha())
AREAS: Final = _words("square")
CUBES: Final = _words("cubic")
PER_CENT: Final = _words("per_cent")
CENTS: Final = _words("cent")
PER: Final = _words("per") | {"/"}
DEGREES: Final = _words("degrees") | {"°"}
CELSIUS: Final = word_set("c celsius centigrade")
FAHRENHEIT: Final = word_set("f fahrenheit")

ABOUT: Final = _words("about") | {"~", "≈"}
ABOUT_AFTER_MORE: Final = _words("than")
MORE: Final = _words("more")
# Words allowed between "about" and its number.
SKIPPED: Final = _words("after_about")
BETWEEN: Final = _words("between")
RANGE_SIGNS: Final = _words("to") | {"-"}

# Scripts without spaces, whose characters are not words.
UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
CJK_DIGITS: Final = {
    **{c: n for n, c in enumerate("〇一二三四五六七八九")},
    "零": 0,
    "两": 2,
    "兩": 2,
}
CJK_TENS: Final = {"十": 10, "百": 100, "千": 1000}
CJK_SCALES: Final = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8, "만": 10**4, "억": 10**8}
CJK = "〇一二三四五六七八九零两兩十百千万萬亿億"
CJK_UNITS: Final[Mapping[str, tuple[str, float]]] = {
    "公里": ("m", 1e3),
    "千米": ("m", 1e3),
    "厘米": ("m", 1e-2),
    "毫米": ("m", 1e-3),
    "米": ("m", 1.0),
    "公斤": ("kg", 1.0),
    "千克": ("kg", 1.0),
    "克": ("kg", 1e-3),
    "吨": ("kg", 1e3),
    "小时": ("s", 3600.0),
    "時間": ("s", 3600.0),
    "分钟": ("s", 60.0),
    "秒": ("s", 1.0),
    "キロ": ("m", 1e3),
    "メートル": ("m", 1.0),
    "킬로미터": ("m", 1e3),
    "미터": ("m", 1.0),
    "欧元": ("EUR", 1.0),
    "美元": ("USD", 1.0),
    "ドル": ("USD", 1.0),
    "円": ("JPY", 1.0),
}
# Before one of these a single numeral is a number; otherwise it is part of a word.
COUNTERS: Final = frozenset("年月日号個个名人位座层層条條根颗顆次岁歳本匹頭头台辆家间間章世")

DATE_MARKS = re.compile("[-./]")
ROMAN_NUMBERS: Final = {
    tens + units: 10 * t + u
    for t, tens in enumerate(("", "x", "xx", "xxx", "xl", "l", "lx", "lxx", "lxxx", "xc"))
    for u, units in enumerate(("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"))
    if tens + units
}
# With the endings of French and Dutch ordinals.
ROMANS: Final = {
    numeral + ending: (numeral, ending)
    for ending in ("", "e", "er", "ème", "ste", "de")
    for numeral in ROMAN_NUMBERS
}


def cjk_value(text: str) -> tuple[float, float] | None:
    """Return the value of Chinese numerals and the place value of the last, or None."""
    if len(text) > 24:
        return None
    if all(c in CJK_DIGITS for c in text):
        return (float("".join(str(CJK_DIGITS[c]) for c in text)), 1.0)
    total = section = digit = 0.0
    step = 1.0
    for c in text:
        if c in CJK_DIGITS:
            digit, step = float(CJK_DIGITS[c]), 1.0
        elif c in CJK_TENS:
            section, digit, step = section + (digit or 1) * CJK_TENS[c], 0.0, float(CJK_TENS[c])
        else:
            total, section, digit = (total + section + digit or 1) * CJK_SCALES[c], 0.0, 0.0
            step = float(CJK_SCALES[c])
    return total + section + digit, step


COMPOUND = re.compile(
    r"(?:(?P<t>\w{0,30}?)(?:tausend|duizend|mila|mille))?"
    r"(?:(?P<h>\w{0,12}?)(?:hundert|honderd|cento))?(?:und|en|e)?(?P<r>\w{0,20})"
)


@lru_cache(4096)
def compound_value(word: str) -> int | None:
    """Return the value of a number written as one word: `fünftausend`, `tweehonderdvijftig`."""
    if len(word) > 50 or not any(part in word for part in COMPOUND_PARTS):
        return None
    match = COMPOUND.fullmatch(word)
    if match is None:
        return None
    value = 0
    for name, factor in (("t", 1000), ("h", 100), ("r", 1)):
        part = match.group(name)
        if part is None:
            continue
        count = 1 if not part and factor > 1 else SMALL.get(part, 0 if not part else -1)
        if count < 0 and name == "t":
            inner = compound_value(part)
            count = -1 if inner is None else inner
        if count < 0:
            return None
        value += count * factor
    return value or None


COMPOUND_PARTS: Final = ("tausend", "duizend", "mila", "mille", "hundert", "honderd", "cento")
STARTS: Final = (
    frozenset(SMALL)
    | frozenset(HUNDREDS)
    | (frozenset(SCALES) - {"k"})
    | frozenset(PARTS)
    | frozenset(DOZENS)
    | frozenset(ORDINALS)
    | frozenset(DECADES)
    | frozenset(MONTHS)
    | CURRENCIES
    | frozenset(DOLLARS)
    | frozenset(TIMES_OF_DAY)
) - {"a", "c", "s", "can"}

FIRST_CHARS: Final = frozenset("0123456789" + CJK)
STARTS_AND_ROMANS: Final = STARTS | frozenset(ROMANS)


# Tokens that change the meaning of an adjacent number; a plain year has none of them.
AFTER_NUMBERS: Final = frozenset[str]().union(
    *(UNITS, MONTHS, SCALES, CJK_SCALES, CENTURIES, JOINS, DEGREES, AREAS, CUBES, PER_CENT),
    *(ORDINAL_ENDINGS, HALVES, PARTS, CURRENCIES, MARKS, ("-", "/", "uhr", "of", "am", "pm")),
    ("a", "p", "di", "d", "der", "k", "new", "in"),
    *(NATIONS, TIMES_OF_DAY),
)
BEFORE_NUMBERS: Final = frozenset[str]().union(
    *(ABOUT, SKIPPED, RANGE_SIGNS, JOINS, CENTURIES, CURRENCIES, ("minus", "q", "fy")),
)


def _token(letters: str, more: str) -> re.Pattern[str]:
    # Only digits need a lookbehind.
    return re.compile(
        rf"""
        [{letters}]+
      | (?=\d)
        (?: (?<![\d.])\d{{4}}(?:-\d{{1,2}}-|\.\d{{1,2}}\.|/\d{{1,2}}/)\d{{1,2}}(?!\d)
          | (?<![\d.])\d{{1,2}}(?:-\d{{1,2}}-|\.\d{{1,2}}\.|/\d{{1,2}}/)(?:\d{{4}}|\d\d)(?!\d)
          | (?<![\d:.,])\d{{1,2}}:[0-5]\d(?![\d:])
          | \d+(?:[.,]\d+)*
        )
      | {more}
        """,
        re.VERBOSE,
    )


_TOKEN = _token(rf"^\W\d_{UNSPACED}", rf"[{CJK}]+|[-%‰€$£¥₹₩₽¢°~≈/'\"]")
_ASCII_TOKEN = _token("a-z", "[-%$~/'\"]")


@dataclass(slots=True)
class Token:
    """A word, number or mark, and its position."""

    text: str
    start: int
    end: int


class Tokens:
    """The tokens of a text, created on access, because most are never needed."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.texts: list[str] = (_ASCII_TOKEN if text.isascii() else _TOKEN).findall(text)
        self._starts: list[int] = []
        self._end = 0
        self._made: dict[int, Token] = {}

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, i: int) -> Token:
        token = self._made.get(i)
        if token is None:
            start = self._start(i)
            token = self._made[i] = Token(self.texts[i], start, start + len(self.texts[i]))
        return token

    def _start(self, i: int) -> int:
        # Text between tokens contains no match: any possible start of a token begins one.
        for word in self.texts[len(self._starts) : i + 1]:
            self._end = self._text.index(word, self._end)
            self._starts.append(self._end)
            self._end += len(word)
        return self._starts[i]


@dataclass(slots=True)
class Total:
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
        self.thousands += (self.group or 1) * scale
        self.group, self.step = 0.0, scale

    def hundreds(self, hundreds: int) -> None:
        """Multiply by a hundred, or add hundreds that are one word, such as "doscientos"."""
        multiplies = hundreds == 100 and self.group < 100
        self.group = (self.group or 1) * 100 if multiplies else self.group + hundreds
        self.step = 100.0

    def fits(self, value: int) -> bool:
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


def _is_in_lakhs(groups: Sequence[str]) -> bool:
    """Whether digits are grouped as in India: 5,00,000."""
    sizes = [len(group) for group in groups]
    return sizes[0] <= 2 and sizes[-1] == 3 and all(size == 2 for size in sizes[1:-1])


def read_digits(text: str, groups_with: Callable[[str], bool]) -> tuple[float | None, float, int]:
    """Parse digits with separators.

    Args:
        text: The digits.
        groups_with: Whether a mark before three digits groups thousands.

    Returns:
        The value, or None; the place value of the last digit; the number of significant digits.
    """
    whole, fraction = text, ""
    marks = [c for c in text if c in ".,"]
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
    stripped = whole.lstrip("0") if fraction else whole.strip("0")
    step = 10.0 ** -len(fraction) if fraction else 10.0 ** (len(whole) - len(whole.rstrip("0")))
    return value, step if value else 1.0, max(len(stripped) + len(fraction), 1)


_DIGIT_OR_SIGN = re.compile(r"[0-9$\\]")
_ASCII_WORD = re.compile(r"[a-z]+")


def may_contain_quantity(low: str) -> bool:
    """Return whether a text has a digit, or a word that may begin a quantity.

    Args:
        low: The text in lower case.
    """
    if not low.isascii() or _DIGIT_OR_SIGN.search(low):
        return True
    words = _ASCII_WORD.findall(low)
    if not STARTS_AND_ROMANS.isdisjoint(words):
        return True
    return any(part in low for part in COMPOUND_PARTS)
