"""The values that an answer names, and whether the log of calls has or yields them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import combinations, pairwise
from operator import attrgetter
from typing import Final, Literal

from resay._internal.patterns import lazy_pattern
from resay.core.quantities import Quantity, quantities
from resay.scorers.actions.calls import PATHS, CallFacts, solid
from resay.scorers.actions.words import ActionWords, fields

ValueKind = Literal["id", "path", "address", "quote", "number", "date", "clock", "weekday"]

_ADDRESS: Final = lazy_pattern(
    r"https?://[^\s)>\]\"'”,]+|(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+"
)
_HANDLE: Final = lazy_pattern(r"(?<![\w/#@])[#@][a-z_][\w-]+")
_PATH: Final = lazy_pattern(
    r"(?<![\w@./:-])(?:~|\.{1,2})?/?(?:[\w.+-]+/)+[\w.+-]*\w|(?<![\w@./-])[\w+-]+(?:\.[\w+-]+)*"
    r"\.[A-Za-z][A-Za-z0-9]{1,4}(?![\w/])"
)
_ID: Final = lazy_pattern(r"(?<![\w./@-])#?\w+(?:[-_/#:.]\w+)*(?![\w@])")
# "mid-2024", "24-hour"
_COMPOUND: Final = lazy_pattern(r"[a-z]{3,}-(?:19|20)\d\d|\d+-[a-z]+|[A-Z]?[a-z]+-\d{1,2}")
# "The log: 350 lines"
_COUNTING: Final = lazy_pattern(r"(?<=: |s )\d+ [a-z]+s\b")
_HYPHENED: Final = lazy_pattern(r"[a-z]-\Z")
_PHONE: Final = lazy_pattern(r"(?<![\w.-])\+?\d[\d ()/-]{7,18}\d(?!\w|\.\d)")
_DATED: Final = lazy_pattern(r"\d{4}-\d\d|\d{1,3}(?: \d{3})+\Z")
_MIN_PHONE: Final = 9
_CODE: Final = lazy_pattern(r"(?<![\w-])[A-Z0-9]{5,10}(?![\w-])")
_CLOCK: Final = lazy_pattern(
    r"(?<![\d.:,])([01]?\d|2[0-4])(?:[:h.]|\s?h\s?|\s?Uhr\s?)([0-5]\d)(?!\d|[.,]\d)\s*(am|pm|a\.m\.|p\.m\.)?"
    r"|(?<![\d.:,])(1[0-2]|0?\d)\s?(am|pm|a\.m\.|p\.m\.)(?!\w)"
    r"|(午前|午後|上午|下午|晚上|오전|오후)?\s?([01]?\d|2[0-4])[時点點시]\s?(?:([0-5]?\d)[分분]|(半|반))?",
    re.IGNORECASE,
)
_UNIT_WORD: Final = lazy_pattern(
    r"\d+(?:[.,]\d+)?(?:st|nd|rd|th|s|ms|m|km|cm|mm|kg|g|mg|l|ml|h|min|gb|mb|kb|tb|gib|mib|kib|tib|k|d|x|%|°|er|e"
    r"|am|pm|px|w|kw|kwh|mbit|hz|ghz|mhz|ème|eme|º|ª|a|o|go|mo|ko|€|\$|£|c|f|v|p|fps|bit|bits|b|en|te|ten|ter|st|t)"
    r"|\d+h\d*|\d{1,2}[:.]\d{2}",
    re.IGNORECASE,
)
# French counts octets, and Russian writes МБ.
_BINARY: Final = lazy_pattern(r"(\d+(?:[.,]\d+)?)\s?([KMGTКМГТ])i?[BoБ]", re.IGNORECASE)
_BINARY_UNIT: Final = lazy_pattern(r"\s?(?:[KMGT]iB|[KkMGT]i?o|[КкМГТ][Бб])\b")
_QUOTES: Final = lazy_pattern(
    r"“([^”\n]{3,300})”|„([^“”\n]{3,300})[“”]|«\s?([^»\n]{3,300}?)\s?»|「([^」\n]{2,300})」|\"([^\"\n]{3,300})\""
    r"|(?<!\w)'([^'\n]{6,300})'(?!\w)|`([^`\n]{3,300})`"
)
_SPOKEN: Final = lazy_pattern(
    r" (?:(?P<before>to|till|vor|voor|i) |(?P<after>past|after|nach|over|över) )?", re.IGNORECASE
)
_WORDS: Final = lazy_pattern(r"[^\W_]+")
_POWERS: Final = {"K": 1, "M": 2, "G": 3, "T": 4, "К": 1, "М": 2, "Г": 3, "Т": 4}
_SCALES: Final = (
    1.0,
    100.0,
    0.01,
    1000.0,
    0.001,
    60.0,
    1 / 60,
    3600.0,
    1 / 3600,
    86400.0,
    1 / 86400,
)
_MAX_NUMBERS: Final = 60
_MAX_SMALL: Final = 12
_WEEK: Final = 7
_DAY: Final = 1440
_HOUR: Final = 60
_NOON: Final = 12
# By what times in time zones differ, but for three or four of them.
_ZONES: Final = 30
# What one of the units is that tools have, in those that quantities are compared in.
_CONVERSIONS: Final[Mapping[str, Sequence[float]]] = {
    "m": (1609.344, 0.9144, 0.3048, 0.0254),
    "kg": (0.45359237, 0.028349523),
}
_METRIC: Final = (1000.0, 1.0, 0.01, 0.001)
_ICE: Final = 273.15
_MAX_DEGREES: Final = 1.0
_ABOUT: Final = 0.01
_ROUNDED: Final = 2
_MIN_CODE: Final = 5
_QUOTE_WORDS: Final = 2
_CUE_CHARS: Final = 30
_start_of: Final = attrgetter("start")


@dataclass(frozen=True, slots=True)
class Value:
    """A value that an answer names.

    Attributes:
        kind: What it is.
        start: Its start in the answer.
        end: Its end.
        text: Its words.
        quantity: The number or date.
        minutes: The time of day, in minutes.
    """

    kind: ValueKind
    start: int
    end: int
    text: str
    quantity: Quantity | None = None
    minutes: tuple[int, ...] = ()

    @property
    def is_name(self) -> bool:
        """Whether it names one thing: it is there, letter by letter, or not."""
        return self.kind in ("id", "path", "address", "quote")


def values_in(
    text: str, start: int, end: int, words: ActionWords, numbers: Sequence[Quantity]
) -> list[Value]:
    """Return the values of a stretch of an answer, in order, none inside another.

    Args:
        text: The answer.
        start: Where the stretch starts.
        end: Where it ends.
        words: The words of its language.
        numbers: The numbers and dates of the whole answer, in order; number words depend on its
            language.
    """
    values: list[Value] = []
    taken = bytearray(max(end - start, 0))
    first, last = (bisect_left(numbers, edge, key=_start_of) for edge in (start, end))
    numbers = numbers[first:last]
    # What is written in a form of its own comes before what may be a part of it.
    for candidates in (
        _quotes(text, start, end, words),
        _names(text, start, end),
        _clocks(text, start, end),
        _spoken_clocks(text, numbers),
        _quantities_of("date", text, numbers),
        _ids(text, start, end, words),
        _days(text, start, end, words),
        _quantities_of("number", text, numbers),
    ):
        for value in candidates:
            span = slice(value.start - start, value.end - start)
            if not any(taken[span]):
                taken[span] = b"\x01" * len(taken[span])
                values.append(value)
    return sorted(values, key=lambda value: value.start)


def _quotes(text: str, start: int, end: int, words: ActionWords) -> Iterator[Value]:
    """Yield what a tool is quoted with: The server answered "Access denied"."""
    for match in _QUOTES.finditer(text, start, end):
        group = next(index for index in range(1, 8) if match[index] is not None)
        is_short = len(match[group].split()) < _QUOTE_WORDS
        if not is_short and words.quotes.search(text[start : match.start()].lower()):
            yield Value("quote", match.start(group), match.end(group), match[group])


def _names(text: str, start: int, end: int) -> Iterator[Value]:
    """Yield addresses and paths."""
    for match in _ADDRESS.finditer(text, start, end):
        bare = match[0].rstrip(".,;:")
        yield Value("address", match.start(), match.start() + len(bare), bare)
    for match in _HANDLE.finditer(text, start, end):
        yield Value("address", match.start(), match.end(), match[0])
    for match in _PHONE.finditer(text, start, end):
        # "020 7946 0182", and not "2026-05-04"
        has_gap = " " in match[0] or match[0].startswith("+")
        if has_gap and len(solid(match[0])) >= _MIN_PHONE and not _DATED.search(match[0]):
            yield Value("id", match.start(), match.end(), match[0])
    for match in _PATH.finditer(text, start, end):
        bare = match[0].rstrip(".,;:")
        if _is_path(bare):
            yield Value("path", match.start(), match.start() + len(bare), bare)


def _is_path(text: str) -> bool:
    """Return whether it is a path or a file's name, and not "and/or", "e.g." or "Node.js"."""
    extension = text.rpartition(".")[2].lower()
    if extension in fields().extensions:
        return not re.fullmatch(r"[A-Z][a-z]+\.js", text)
    return "/" in text and (text.startswith(("/", "~", ".")) or text.count("/") > 1 or "_" in text)


def _clocks(text: str, start: int, end: int) -> Iterator[Value]:
    for match in _CLOCK.finditer(text, start, end):
        minutes = _minutes(match)
        if minutes:
            shown = match[0].rstrip()
            yield Value("clock", match.start(), match.start() + len(shown), shown, minutes=minutes)


def _spoken_clocks(text: str, numbers: Sequence[Quantity]) -> Iterator[Value]:
    """Yield "quarter to eight", "half past seven", "halb acht"."""
    for part, hour in pairwise(numbers):
        gap = _SPOKEN.fullmatch(text, part.end, hour.start)
        is_hour = hour.unit == "" and 0 < hour.low <= _NOON and hour.low == int(hour.low)
        if gap is None or not is_hour or part.unit != "share" or part.low not in (0.25, 0.5):
            continue
        around = int(hour.low) * _HOUR, int(hour.low) % _NOON * _HOUR + _DAY // 2
        minutes = int(part.low * _HOUR)
        # Without a word between them, it may be either side of the hour.
        signs = (-1, 1) if gap["before"] is gap["after"] is None else (1 if gap["after"] else -1,)
        times = tuple((time + sign * minutes) % _DAY for time in around for sign in signs)
        span = slice(part.start, hour.end)
        yield Value("clock", part.start, hour.end, text[span], minutes=times)


def _ids(text: str, start: int, end: int, words: ActionWords) -> Iterator[Value]:
    for match in _ID.finditer(text, start, end):
        if _is_id(text, start, match, words):
            yield Value("id", match.start(), match.end(), match[0])
    for match in _CODE.finditer(text, start, end):
        before = text[max(start, match.start() - _CUE_CHARS) : match.start()].lower()
        if words.numbered.search(before) and not match[0].isdigit():
            yield Value("id", match.start(), match.end(), match[0])


def _days(text: str, start: int, end: int, words: ActionWords) -> Iterator[Value]:
    """Yield the days of the week."""
    lowered = text[start:end].lower()
    for day, pattern in enumerate(words.weekdays):
        for match in pattern.finditer(lowered):
            first, last = start + match.start(), start + match.end()
            yield Value("weekday", first, last, text[first:last], minutes=(day,))


def _quantities_of(
    kind: Literal["number", "date"], text: str, numbers: Sequence[Quantity]
) -> Iterator[Value]:
    for quantity in numbers:
        is_whole = kind == "number" or quantity.month is not None or quantity.day is not None
        # The 88 of "job-88" counts nothing.
        is_named = _HYPHENED.search(text, max(0, quantity.start - 2), quantity.start)
        if quantity.kind == kind and is_whole and quantity.unit != "clock" and not is_named:
            first, last = quantity.start, quantity.end
            binary = _BINARY_UNIT.match(text, last)
            last = binary.end() if binary is not None else last
            yield Value(kind, first, last, text[first:last], quantity)


def _is_id(text: str, start: int, match: re.Match[str], words: ActionWords) -> bool:
    token = match[0]
    digits = sum(map(str.isdigit, token))
    letters = sum(map(str.isalpha, token))
    if not digits or _UNIT_WORD.fullmatch(token):
        return False
    cued = _cued(text, start, match, words)
    if _COMPOUND.fullmatch(token) and not cued:
        return False
    if re.search(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\u0600-\u06ff\u0900-\u097f]", token):
        return False
    if letters:
        has_mark = any(mark in token for mark in "-_/")
        is_code = token.isupper() and len(token) >= _MIN_CODE
        return digits >= 2 or (letters >= 2 and has_mark) or is_code or cued
    if token.startswith("#"):
        return True
    if not token.isdigit():
        return False
    return digits >= 5 or (digits >= 3 and cued and not _COUNTING.match(text, match.start()))


def _cued(text: str, start: int, match: re.Match[str], words: ActionWords) -> bool:
    """Return whether a word is called a number of something: "ticket 482"."""
    before = text[max(start, match.start() - _CUE_CHARS) : match.start()].lower()
    return words.right_before_number.search(before) is not None


def _minutes(match: re.Match[str]) -> tuple[int, ...]:
    if match[1] is not None:
        hour, minute, half = int(match[1]), int(match[2]), (match[3] or "").lower()
    elif match[4] is not None:
        hour, minute, half = int(match[4]), 0, match[5].lower()
    elif match[7] is not None:
        hour, minute = int(match[7]), 30 if match[9] else int(match[8] or 0)
        half = {"午前": "a", "上午": "a", "오전": "a"}.get(match[6] or "", "p" if match[6] else "")
    else:
        return ()
    if half.startswith("p"):
        return ((hour % 12 + 12) * 60 + minute,)
    if half.startswith("a"):
        return ((hour % 12) * 60 + minute,)
    if hour <= 12:
        return (hour * 60 + minute, (hour % 12 + 12) * 60 + minute)
    return (hour * 60 + minute,)


class Source:
    """Texts and numbers in which values are searched: a call, several, or what the user wrote.

    Args:
        texts: Texts.
        calls: Calls, with all their values.
    """

    def __init__(self, texts: Sequence[str] = (), calls: Sequence[CallFacts] = ()) -> None:
        self._texts = texts
        self.calls = calls

    @cached_property
    def text(self) -> str:
        """All its words in lower case."""
        return "\n".join([*(text.lower() for text in self._texts), *(c.text for c in self.calls)])

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words."""
        words = {word for call in self.calls for word in call.words}
        for text in self._texts:
            words.update(_WORDS.findall(text.lower().replace("_", " ")))
        return frozenset(words)

    @cached_property
    def _solid(self) -> str:
        return "".join([*map(solid, self._texts), *(call.solid for call in self.calls)])

    @cached_property
    def quantities(self) -> list[Quantity]:
        """Its numbers and dates."""
        found: list[Quantity] = []
        for text in self._texts:
            found += quantities(text)
        for call in self.calls:
            found += call.quantities
        return found

    @cached_property
    def _clocks(self) -> frozenset[int]:
        text = re.sub(r"(?<=\d)t(?=\d\d:)", " ", self.text)
        text = re.sub(r"(?<=\d\d:\d\d):\d\d(?:\.\d+)?(?:z|[+-]\d\d:?\d\d)?", " ", text)
        clocks: set[int] = set()
        for match in _CLOCK.finditer(text):
            clocks.update(_minutes(match))
        return frozenset(clocks)

    @cached_property
    def dates(self) -> list[Quantity]:
        """Its dates."""
        return [q for q in self.quantities if q.kind == "date" and q.day is not None]

    @cached_property
    def weekdays(self) -> frozenset[int]:
        """The days of the week of its whole dates."""
        days: set[int] = set()
        for quantity in self.dates:
            day = _weekday(quantity)
            if day is not None:
                days.add(day)
        return frozenset(days)

    def has_time(self, quantity: Quantity) -> bool:
        """Return whether a bare number may be the day or the hour of a time: "at 7", "13 marca"."""
        if quantity.unit:
            return False
        minutes = int(quantity.low) * 60, (int(quantity.low) + 12) * 60
        is_hour = not self._clocks.isdisjoint(minutes) or any(map(self._ends_at, minutes))
        return is_hour or any(day.day == quantity.low for day in self.dates)

    def shares_clock(self, other: Source) -> bool:
        """Return whether both have a time of day."""
        return not self._clocks.isdisjoint(other._clocks)

    def has_clock_elsewhere(self, value: Value) -> bool:
        """Return whether it has a time of day that may be another in some other time zone."""
        return any(
            (minutes - own) % _ZONES == 0 for minutes in value.minutes for own in self._clocks
        )

    @property
    def has_clock(self) -> bool:
        """Whether it has a time of day."""
        return bool(self._clocks)

    def has(self, value: Value) -> bool:
        """Return whether it has a value, or one that is the same but for rounding or unit."""
        if value.is_name:
            letters = solid(value.text)
            return not letters or letters in self._solid or self._has_words(value.text)
        if value.kind == "clock":
            is_there = bool(self._clocks & set(value.minutes))
            return is_there or value.text.lower() in self.text
        if value.kind == "weekday":
            return value.minutes[0] in self.weekdays or value.text.lower() in self.text
        quantity = value.quantity
        if quantity is None:
            return True
        if any(quantity.agrees(other) for other in self.quantities):
            return True
        if value.kind == "date":
            return False
        return self._has_number(quantity, value.text)

    def _has_words(self, text: str) -> bool:
        """Return whether it has all pieces of an identifier: a path with another root."""
        return "/" in text and solid(text.rsplit("/", 1)[1]) in self._solid and "://" not in text

    def _has_number(self, quantity: Quantity, text: str) -> bool:
        rounds = quantity.digits >= _ROUNDED or quantity.about or quantity.step < quantity.scale
        slack = quantity.step / 2 * 1.001 if rounds else abs(quantity.low) * 1e-9
        targets = ((quantity.low, slack), (quantity.plain, slack / quantity.scale))
        is_near = any(_has_near(self._scaled_numbers, target, near) for target, near in targets)
        return is_near or _is_binary(text, self.numbers) or self._converts(quantity)

    def _converts(self, quantity: Quantity) -> bool:
        """Return whether one of its numbers is a length, weight or temperature in another unit."""
        if quantity.unit in ("K", "deg"):
            celsius = quantity.low - _ICE if quantity.unit == "K" else (quantity.low - 32) / 1.8
            is_celsius = quantity.unit == "K" and quantity.scale == 1
            others = [] if is_celsius else [celsius]
            if is_celsius or quantity.unit == "deg":
                others.append(quantity.plain * 1.8 + 32)
            return any(_has_near(self.numbers, other, _MAX_DEGREES) for other in others)
        slack = quantity.scale / 2
        units = _CONVERSIONS.get(quantity.unit, ())
        # "6 miles", and 10 km
        units = _METRIC if quantity.scale in units else units
        return any(_has_near(self.numbers, quantity.low / unit, slack / unit) for unit in units)

    @cached_property
    def _scaled_numbers(self) -> list[float]:
        """Its numbers in all units that they may be converted to, in order."""
        return sorted(number * scale for number in self.numbers for scale in _SCALES)

    @cached_property
    def numbers(self) -> list[float]:
        """Its numbers, in order."""
        numbers = {number for call in self.calls for _, number in call.numbers}
        for quantity in self.quantities:
            numbers |= {quantity.plain, quantity.low}
        return sorted(numbers)

    def yields(self, value: Value) -> bool:
        """Return whether a number follows from it: a count, a sum, a difference, a share."""
        quantity = value.quantity
        if value.kind == "clock":
            return any(self._ends_at(minutes) for minutes in value.minutes)
        if quantity is None:
            return False
        is_whole = quantity.low == int(quantity.low)
        if is_whole and int(quantity.low) in self._counts:
            return True
        # Any small number is some difference of others.
        derived = () if is_small(value) else self._derived
        step = max(quantity.step, 1e-9)
        slack = step / 2 * 1.001 if quantity.digits >= 2 or quantity.about or step < 1 else 1e-6
        if quantity.about:
            slack = max(slack, _ABOUT * abs(quantity.low))
        targets = ((quantity.low, slack), (quantity.plain, slack / quantity.scale))
        return any(_has_near(derived, target, near) for target, near in targets)

    def _ends_at(self, minutes: int) -> bool:
        """Return whether a time of day follows from another and a duration."""
        durations = {number for number in self.numbers if 0 < number < _DAY}
        for start in self._clocks:
            distance = minutes - start
            if distance in durations or distance / 60 in durations:
                return True
        return False

    @cached_property
    def _counts(self) -> frozenset[int]:
        return frozenset(count for call in self.calls for count in call.counts)

    @cached_property
    def _derived(self) -> list[float]:
        """Sums, differences, products and shares of its numbers, in order."""
        derived: list[float] = []
        numbers = self.numbers[:_MAX_NUMBERS]
        for smaller, larger in combinations(numbers, 2):
            derived += _of_two(smaller, larger)
        return sorted(derived)


def _has_near(numbers: Sequence[float], target: float, slack: float) -> bool:
    """Return whether one of some numbers, which are in order, is as good as another."""
    # The conversation of an agent has thousands: only its neighbours can be near.
    index = bisect_left(numbers, target)
    return any(abs(number - target) <= slack for number in numbers[max(index - 1, 0) : index + 1])


def _of_two(smaller: float, larger: float) -> Iterator[float]:
    """Yield what follows from two numbers."""
    yield from (smaller + larger, larger - smaller, smaller * larger)
    yield from ((smaller + larger) / 100, (larger - smaller) / 100)
    for part, whole in ((smaller, larger), (larger, smaller)):
        if whole:
            share = part / whole
            yield from (share, 1 - share, share - 1, 100 * share, 100 - 100 * share)


def ordinal_of(quantity: Quantity) -> int | None:
    """Return the number of a date's day; None if it is no day of a calendar."""
    if quantity.year is None or quantity.month is None or quantity.day is None:
        return None
    try:
        return date(quantity.year, quantity.month, quantity.day).toordinal()
    except ValueError:
        return None


def _weekday(quantity: Quantity) -> int | None:
    ordinal = ordinal_of(quantity)
    return None if ordinal is None else (ordinal - 1) % _WEEK


def _is_binary(text: str, numbers: Sequence[float]) -> bool:
    """Return whether a size in GB or GiB is a number of bytes, by powers of 1024."""
    match = _BINARY.search(text)
    if match is None:
        return False
    written = match[1].replace(",", ".")
    decimals = len(written.partition(".")[2])
    slack = 10.0**-decimals / 2 * 1.001
    for base in (1000, 1024):
        for number in numbers:
            if abs(number / base ** _POWERS[match[2].upper()] - float(written)) <= slack:
                return True
    return False


def is_small(value: Value) -> bool:
    """Return whether a number is so small that it may count what is not in the log."""
    quantity = value.quantity
    return (
        quantity is not None
        and quantity.unit in ("", "ordinal")
        and quantity.low == int(quantity.low)
        and quantity.low <= _MAX_SMALL
    )


def has_like(value: Value, facts: CallFacts, *, results: bool = False) -> bool:
    """Return whether a call has a value of the same shape: an id of the same form, a path."""
    shape = _shape(value.text)
    for leaf in facts.leaves if results else facts.argument_leaves:
        if not isinstance(leaf.value, (str, int)) or isinstance(leaf.value, bool):
            continue
        text = str(leaf.value)
        if solid(text) == solid(value.text):
            continue
        marks = ("@", "://")
        is_address = value.kind == "address" and " " not in text
        if is_address and any(mark in value.text and mark in text for mark in marks):
            return True
        if value.text[0] in "#@" and text[:1] == value.text[0]:
            return True
        if value.kind == "path" and PATHS.search(text):
            return True
        if value.kind == "id" and " " not in text and _shape(text) == shape:
            return True
        # "020 7946 0182"
        if " " in value.text and _shape(solid(text)) == _shape(solid(value.text)):
            return True
    return False


def _shape(text: str) -> str:
    """Return the form of an identifier: its letters, and `9` for runs of digits."""
    letters = re.sub(r"\d+", "9", text.strip("#"))
    return letters.lower() if re.search(r"[^\W\d_]", letters) else f"{len(text.strip('#'))} digits"
