"""Words of numbers, units and dates, in all languages that have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from resay.core.quantities.tokens import CJK
from resay.lang.language import all_words, languages
from resay.lang.tables import phrase_set, word_set

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


def _with_joined_halves() -> dict[str, float]:
    """Return numbers and a half that are one word, as in German: "viereinhalb"."""
    values: dict[str, float] = {}
    for words in _NUMBERS.values():
        for ending in words.get("joined_half", "").split():
            for number, value in _numbered(words["from_zero"]).items():
                values[f"{number}{ending}"] = value + 1 / 2
    return values


PARTS: Final[Mapping[str, float]] = _with_joined_halves() | _valued(
    {
        "half": 1 / 2,
        "third": 1 / 3,
        "quarter": 1 / 4,
        "fifth": 1 / 5,
        "one_and_a_half": 3 / 2,
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
# "19 of March of 1932".
BEFORE_MONTHS: Final = _words("before_months")
BEFORE_YEARS: Final = _words("before_years")
DECADES: Final = _all_numbered("decades", 192, 10)
# "In his eighties" and "in his late eighties" are ages.
POSSESSIVES: Final = _words("possessives")
PARTS_OF_AGES: Final = _words("parts_of_ages")
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
    ("USD", 1.0, "us_dollar", "usd"),
    ("CAD", 1.0, "", "cad"),
    ("AUD", 1.0, "", "aud"),
    ("NZD", 1.0, "", "nzd"),
    ("HKD", 1.0, "", "hkd"),
    ("SGD", 1.0, "", "sgd"),
    ("cent", 0.01, "", "¢ cents"),
    ("GBP", 1.0, "", "£ gbp quid"),
    ("GBP", 0.01, "", "p pence"),
    ("JPY", 1.0, "yen", "¥ jpy yen"),
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
    units: dict[str, tuple[str, float]] = {}
    for unit, scale, name, symbols in _UNITS:
        words = symbols.split()
        for language in languages():
            words += language.units.get(name, "").split()
        units.update(dict.fromkeys(words, (unit, scale)))
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
BEFORE_TIMES: Final = _words("before_times") | {"-", ":", ""}
# Before an hour and minutes with a period or a letter between: "alle 18.30", "à 8h30".
BEFORE_HOURS: Final = _words("before_hours")
TIMES_OF_DAY: Final = _valued({"midnight": 0.0, "noon": 720.0})
OCLOCK: Final = _words("oclock")


def _phrases(name: str) -> frozenset[str]:
    """Return the phrases of all languages."""
    phrases: set[str] = set()
    for words in _NUMBERS.values():
        phrases |= phrase_set(words.get(name, ""))
    return frozenset(phrases)


def _unspaced(name: str) -> tuple[str, ...]:
    """Return the words of all languages without spaces."""
    words: set[str] = set()
    for language in languages():
        words |= word_set(language.unspaced_times.get(name, ""))
    return tuple(sorted(words))


# Behind a time: whether it is one after noon.
HALVES_OF_DAY: Final = {
    **dict.fromkeys(("a.m.", "am", *sorted(_phrases("morning"))), False),
    **dict.fromkeys(("p.m.", "pm", *sorted(_phrases("afternoon"))), True),
}
# Before a time, in scripts without spaces.
UNSPACED_HALVES_OF_DAY: Final = {
    **dict.fromkeys(_unspaced("morning"), False),
    **dict.fromkeys(_unspaced("afternoon"), True),
}
UNSPACED_OCLOCK: Final = _unspaced("oclock")
# The days of a part of a month.
PARTS_OF_MONTHS: Final = {
    **dict.fromkeys(_words("begin_of_month"), (1, 10)),
    **dict.fromkeys(_words("middle_of_month"), (11, 20)),
    **dict.fromkeys(_words("end_of_month"), (21, 31)),
}
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
ABOUT_OR_RANGE: Final = ABOUT | SKIPPED | RANGE_SIGNS

CJK_DIGITS: Final = {
    **{c: n for n, c in enumerate("〇一二三四五六七八九")},
    "零": 0,
    "两": 2,
    "兩": 2,
}
CJK_TENS: Final = {"十": 10, "百": 100, "千": 1000}
CJK_SCALES: Final = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8, "만": 10**4, "억": 10**8}


def _unspaced_units() -> dict[str, tuple[str, float]]:
    units: dict[str, tuple[str, float]] = {}
    for unit, scale, name, _ in _UNITS:
        for language in languages():
            words = language.unspaced_units.get(name, "").split()
            units.update(dict.fromkeys(words, (unit, scale)))
    # The first that matches counts: 千米 is not 米.
    return dict(sorted(units.items(), key=lambda entry: -len(entry[0])))


CJK_UNITS: Final[Mapping[str, tuple[str, float]]] = _unspaced_units()
# Before one of these a single numeral is a number; otherwise it is part of a word.
COUNTERS: Final = frozenset("年月日号個个名人位座层層条條根颗顆次岁歳本匹頭头台辆家间間章世")

ROMAN_NUMBERS: Final = {
    tens + units: 10.0 * t + u
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


ONLY_CURRENCIES: Final = (CURRENCIES | frozenset(DOLLARS)).difference(
    *(SMALL, HUNDREDS, SCALES, PARTS, DOZENS, ORDINALS, DECADES, MONTHS, TIMES_OF_DAY, ROMANS),
    *(ARTICLES, HALVES),
)
"""These begin a quantity only before digits or a sign: "US $5", but not "American film"."""

# Tokens that change the meaning of an adjacent number; a plain year has none of them.
_CHANGING: Final = frozenset[str]().union(
    *(UNITS, MONTHS, SCALES, CJK_SCALES, CENTURIES, DEGREES, AREAS, CUBES, PER_CENT),
    *(ORDINAL_ENDINGS, HALVES, PARTS, CURRENCIES, MARKS, ("-", "/", "of", "am", "pm")),
    ("a", "p", "di", "d", "der", "k", "new", "in"),
    *(NATIONS, TIMES_OF_DAY, OCLOCK),
    # The first token of "de la tarde" and "'s avonds".
    {phrase.replace("'", "' ").split()[0] for phrase in HALVES_OF_DAY},
)
AFTER_NUMBERS: Final = _CHANGING | JOINS
ONLY_JOINS: Final = JOINS - _CHANGING
"""Behind a number these change it only before a half: "2 and a half"."""
AFTER_ARTICLES: Final = AFTER_NUMBERS | STARTS | BEFORE_MONTHS
PERIODS_BEFORE_NUMBERS: Final = CENTURIES | {"q", "fy"}
BEFORE_NUMBERS: Final = frozenset[str]().union(
    *(ABOUT, SKIPPED, RANGE_SIGNS, JOINS, CURRENCIES, ("minus",), PERIODS_BEFORE_NUMBERS),
)
