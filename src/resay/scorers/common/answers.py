"""Reads the answers of judges about numbered items: in lines, blocks, tables, and JSON.

Each part of an answer is attributed to the items it names; what an answer says about an item
counts if it says one thing only. An item that is missing, or of which two different things are
said, is undetermined, never guessed.
"""

from __future__ import annotations

import ast
import json
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Any, Generic, TypeVar, cast

from resay.lang.language import all_alternatives, all_phrases
from resay.scorers.common.choices import Choices

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

# JSON anywhere in a text.

_FENCE = re.compile(r"^[ \t]*```[a-z]*[ \t]*|```[ \t]*$", re.MULTILINE)
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_CLOSING = {"{": "}", "[": "]"}
# A text may hold any number of brackets.
_MOST_ATTEMPTS = 24
_MOST_CHARS_REPAIRED = 20_000


class _Twice:
    """The value of a key that an object has twice, with different values."""


_TWICE = _Twice()


def _without_twice(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for key, value in pairs:
        entries[key] = _TWICE if key in entries and entries[key] != value else value
    return entries


_DECODER = json.JSONDecoder(object_pairs_hook=_without_twice, strict=False)


def json_values(text: str) -> list[Any]:
    """Return the JSON objects and lists in a text, whatever is around them.

    Reads what models write in place of JSON too: trailing commas, Python's literals, typographic
    quotes. Of a value that breaks off, the complete parts are returned.

    Args:
        text: The text.
    """
    return [value for value, _, _ in _json_spans(text)]


def _json_spans(text: str) -> Iterator[tuple[Any, int, int]]:
    """Yield the JSON objects and lists in a text, with their places."""
    attempts = 0
    position = _next_bracket(text, 0)
    while position >= 0 and attempts < _MOST_ATTEMPTS:
        value, end = _value_at(text, position)
        if end > position:
            yield value, position, end
        else:
            attempts += 1
            end = position + 1
        position = _next_bracket(text, end)


def without_json(text: str) -> str:
    """Return a text without its JSON, except for lists of numbers, which may number its lines.

    Args:
        text: The text.
    """
    parts: list[str] = []
    position = 0
    for value, start, end in _json_spans(text):
        items = cast("list[Any]", value) if isinstance(value, list) else [value]
        if not items or all(isinstance(item, (int, float)) for item in items):
            continue
        parts.append(text[position:start])
        position = end
    return "".join([*parts, text[position:]])


def _next_bracket(text: str, start: int) -> int:
    places = [place for place in (text.find("{", start), text.find("[", start)) if place >= 0]
    return min(places, default=-1)


def _value_at(text: str, start: int) -> tuple[Any, int]:
    """Return the value that begins at a bracket, and its end; the start if there is none."""
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        pass
    end = _end_of_brackets(text, start)
    if end < 0 or end - start > _MOST_CHARS_REPAIRED:
        return None, start
    written = text[start:end]
    without_commas = _TRAILING_COMMA.sub(r"\1", written)
    straight = without_commas.translate(str.maketrans("“”„‟«»", '"' * 6))
    for decode in (
        partial(_DECODER.decode, without_commas),
        partial(_DECODER.decode, straight),
        partial(ast.literal_eval, written),
    ):
        # What models write can be malformed in any way.
        with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return decode(), end
    return None, start


def _end_of_brackets(text: str, start: int) -> int:
    """Return the end of the brackets that open at a place, or -1 if they do not close."""
    open_brackets: list[str] = []
    quote = ""
    position = start
    limit = min(len(text), start + _MOST_CHARS_REPAIRED)
    while position < limit:
        character = text[position]
        if quote:
            if character == "\\":
                position += 1
            elif character == quote:
                quote = ""
        elif character == '"':
            quote = character
        elif character in _CLOSING:
            open_brackets.append(_CLOSING[character])
        elif character in "}]":
            if not open_brackets or open_brackets.pop() != character:
                return -1
            if not open_brackets:
                return position + 1
        position += 1
    return -1


# Numbered items.

_ITEM_WORDS = all_alternatives("judge", "items")
_NUMBERS = (
    r"\d{1,6}(?:\s*(?:[-–—~〜]|\bto\b|\bthrough\b|\bbis\b|\bà\b|\bhasta\b)\s*\d{1,6}"
    r"|\s*(?:[,;&、，]|,?\s*\b(?:and|und|et|y|e|en|и)\b)\s*#?\d{1,6}){0,60}"
)
_HEADER = re.compile(
    rf"^[^\w\n]*(?:(?P<word>{_ITEM_WORDS})[\s._:#*]*)?(?P<numbers>{_NUMBERS})\s*[条項项個个号號번]?"
    r"(?P<mark>[^\w\n]+|$)(?P<rest>[^\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)
# A further item on the same line.
_INLINE = re.compile(
    rf"(?:(?<=[\s,;|/])|^)[*_`(\[]{{0,6}}(?:(?:{_ITEM_WORDS})[\s._:#*]*)?(?P<numbers>{_NUMBERS})"
    r"[*_`)\]]*\s*(?:[:：.)\]=]|→|->|=>|[–—-]\s|\bis\b)[\s*_`\"'“‘(\[]*",
    re.IGNORECASE,
)
_LEADING_WORD = re.compile(r"^(?:is|are|was|were|ist|sind|est|es|è|é|→|->|=>)\s+", re.IGNORECASE)
_RANGE = re.compile(r"(\d{1,6})\s*(?:[-–—~〜]|to|through|bis|à|hasta)\s*(\d{1,6})", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,6}")
_KEY_NUMBER = re.compile(
    rf"(?:[^\W\d_]{{1,15}})?[\s._#:-]{{0,3}}(?P<numbers>{_NUMBERS})\.?", re.IGNORECASE
)
_ALL = re.compile(
    r"^[^\w\n]*(?:all|every|each|both|alle|toutes?|tous|todas?|todos|tutte|tutti)"
    r"(?:\s+(?:of\s+)?(?:the\s+)?(?:\w+\s+)?(?:claims?|statements?|sentences?|aussagen|affirmations"
    r"|afirmaciones|affermazioni|afirmações|\d{1,6}))?"
    r"(?:\s+(?:claims?|statements?|sentences?))?[\s:：*_-]*(?:are|is|sind|sont|son|sono|são)?\s*"
    r"(?P<rest>[^\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)
_ROW = re.compile(r"^\s*\|.*\|\s*$")
_NUMBER_NAMES = all_phrases("judge", "item_keys")
_VALUE_NAMES = all_phrases("judge", "verdict_keys")
_MOST_NESTED = 5
_MOST_CHARS_OF_CHOICE = 120
# A judge that writes more than this is not answering.
_MOST_CHARS = 60_000
_BLANK = re.compile(r"[^\S\n]{2,}")
_BLANK_LINES = re.compile(r"\n\s*\n\s*")


@dataclass(frozen=True, slots=True)
class _Part:
    """The part of an answer that is about some items.

    Attributes:
        numbers: The items' numbers, as written.
        text: What is said about them, behind the numbers.
        below: The lines below, up to the next number.
    """

    numbers: tuple[int, ...]
    text: str
    below: str = ""


def _parts_of(text: str, count: int) -> list[_Part]:
    """Return the numbered parts of an answer about `count` items, in order."""
    headers = [
        header
        for header in _HEADER.finditer(text)
        if max(_numbers_in(header["numbers"])) <= count
        # "2 texts say so" begins no part.
        and (header["word"] or header["mark"].strip() or not header["rest"])
    ]
    parts: list[_Part] = []
    for header, following in zip_longest(headers, headers[1:]):
        end = len(text) if following is None else following.start()
        numbers = _numbers_in(header["numbers"])
        parts.append(_Part(numbers, header["rest"], text[header.end() : end]))
    return parts


def _numbers_in(written: str) -> tuple[int, ...]:
    """Return the numbers that a list such as `1, 3-5` names; of an impossible range, the first."""
    numbers: list[int] = []
    position = 0
    while match := _NUMBER.search(written, position):
        span = _RANGE.match(written, match.start())
        position = match.end()
        if span is not None:
            first, last = int(span[1]), int(span[2])
            position = span.end()
            if first < last <= first + 200:
                numbers += range(first, last + 1)
                continue
            return (*numbers, first)
        numbers.append(int(match[0]))
    return tuple(numbers)


def read_items(
    text: str, count: int, choices: Choices[T], parse: Callable[[str], T | None] | None = None
) -> list[T | None]:
    """Read what a judge chose for each of several numbered items.

    Reads lines (`2. **No**, because ...`, `2-3: yes`), several on a line, blocks with the choice
    after the reason, tables, lists of the items by choice (`Yes: 1, 3`), and JSON in any wrapping:
    an object by number, a list in order, a list of objects.

    Args:
        text: The judge's answer.
        count: Number of items it was given, numbered from 1.
        choices: What it may choose.
        parse: Reads the part about one item; None for `choices.read`.

    Returns:
        One entry per item; None for what is missing, unclear or said in two ways.
    """
    reading = _Reading(count, choices, parse or choices.read)
    for entries in reading.entries(text[:_MOST_CHARS]):
        found = _attributed(entries, count)
        if any(value is not None for value in found):
            return found
    return [None] * count


def _attributed(entries: Sequence[tuple[int, T]], count: int) -> list[T | None]:
    """Return the value of each item; None if it has none, or several that differ."""
    numbers = {number for number, _ in entries}
    first = 1
    if 0 in numbers and count not in numbers:
        # Counted from 0, if all are there; otherwise nobody knows which item is meant.
        if numbers != set(range(count)):
            return [None] * count
        first = 0
    values = agreed(entries)
    return [values.get(number) for number in range(first, first + count)]


@dataclass(frozen=True, slots=True)
class _Reading(Generic[T]):
    """Reads one answer in the forms it may have."""

    count: int
    choices: Choices[T]
    parse: Callable[[str], T | None]

    def entries(self, text: str) -> Iterator[list[tuple[int, T]]]:
        """Yield the numbers and values that an answer gives, by one form after the other."""
        yield self._in_json(text)
        clean = unicodedata.normalize("NFKC", _FENCE.sub("", without_json(text))).strip()
        clean = _BLANK_LINES.sub("\n\n", _BLANK.sub(" ", clean))
        # Asked about a single item, judges omit its number.
        if self.count == 1 and self.choices.first(clean) is not None:
            yield self._of_whole(clean)
        yield self._in_lines(clean)
        yield self._by_choice(clean)
        yield self._in_blocks(clean)
        yield self._of_all(clean)
        yield self._in_order(clean)
        if self.count == 1:
            yield self._of_whole(clean)

    def _of_whole(self, text: str) -> list[tuple[int, T]]:
        value = self.parse(text)
        return [] if value is None else [(1, value)]

    def _in_lines(self, text: str) -> list[tuple[int, T]]:
        entries: list[tuple[int, T]] = []
        for line in text.splitlines():
            header = _HEADER.match(line)
            several = self._on_one_line(line)
            entries += several
            if header is None or several:
                continue
            value = self._of_part(header["rest"], is_row=_ROW.match(line) is not None)
            if value is not None:
                entries += [(number, value) for number in _numbers_in(header["numbers"])]
        return entries

    def _of_part(self, text: str, *, is_row: bool = False) -> T | None:
        """Return what the text behind a number says."""
        if is_row:
            cells = [self.choices.whole(cell) for cell in text.split("|")]
            stated = [value for value in cells if value is not None]
            if stated:
                return stated[0] if len({repr(value) for value in stated}) == 1 else None
        return self.parse(_LEADING_WORD.sub("", text.lstrip(" \t*_`:")))

    def _on_one_line(self, line: str) -> list[tuple[int, T]]:
        """Return the values of a line with several items, such as `1: yes, 2: no`."""
        most = _MOST_CHARS_OF_CHOICE
        matches = ((m, line[m.end() : m.end() + most]) for m in _INLINE.finditer(line))
        marks = [mark for mark, after in matches if self.choices.first(after) is not None]
        if len(marks) < 2:
            return []
        entries: list[tuple[int, T]] = []
        for mark, following in zip_longest(marks, marks[1:]):
            end = len(line) if following is None else following.start()
            value = self.parse(line[mark.end() : end].rstrip(" ,;|/"))
            if value is not None:
                entries += [(number, value) for number in _numbers_in(mark["numbers"])]
        return entries

    def _by_choice(self, text: str) -> list[tuple[int, T]]:
        """Return the values of an answer that lists the items of each choice."""
        entries: list[tuple[int, T]] = []
        for line in text.splitlines():
            word, colon, listed = line.partition(":")
            value = self.choices.whole(word) if colon else None
            bare = re.sub(rf"\b(?:{_ITEM_WORDS})\b", "", listed, flags=re.IGNORECASE)
            bare = bare.strip(" .*_`[]()#")
            if value is not None and re.fullmatch(_NUMBERS, bare, re.IGNORECASE):
                entries += [(number, value) for number in _numbers_in(bare)]
        return entries

    def _in_blocks(self, text: str) -> list[tuple[int, T]]:
        """Return the values of an answer that gives its reasons in lines below the numbers."""
        entries: list[tuple[int, T]] = []
        for part in _parts_of(text, self.count):
            value = self.parse(f"{part.text}\n{part.below}".strip())
            if value is not None:
                entries += [(number, value) for number in part.numbers]
        return entries

    def _of_all(self, text: str) -> list[tuple[int, T]]:
        matches = list(_ALL.finditer(text))
        values = [self.choices.first(match["rest"]) for match in matches]
        stated = [value for value in values if value is not None]
        if len(stated) != 1 or _HEADER.search(text):
            return []
        return [(number, stated[0]) for number in range(1, self.count + 1)]

    def _in_order(self, text: str) -> list[tuple[int, T]]:
        """Return the values of an answer with a bare choice per line, one for each item."""
        lines = [line for line in text.splitlines() if line.strip()]
        values = [self.choices.whole(line) for line in lines]
        if len(lines) != self.count or self._is_copied_menu(lines):
            return []
        return [(i, value) for i, value in enumerate(values, 1) if value is not None]

    def _is_copied_menu(self, lines: Sequence[str]) -> bool:
        """Return whether values without numbers are the choices, in the prompt's order."""
        if len(lines) < 2 or len(lines) != len(self.choices.order):
            return False
        offered = [self.choices.whole(word) for word in self.choices.order]
        return [self.choices.whole(line) for line in lines] == offered

    def _in_json(self, text: str) -> list[tuple[int, T]]:
        entries: list[tuple[int, T]] = []
        loose: list[T | None] = []
        for value in json_values(text):
            entries += self._of_json(value)
            if isinstance(value, dict):
                loose.append(self._value_of(cast("dict[str, Any]", value)))
        if not entries and len(loose) == self.count:
            # One object for each item, one after the other.
            return [(i, value) for i, value in enumerate(loose, 1) if value is not None]
        return entries

    def _of_json(self, data: Any, depth: int = 0) -> list[tuple[int, T]]:
        if depth > _MOST_NESTED:
            return []
        if isinstance(data, dict):
            return self._of_object(cast("dict[Any, Any]", data), depth)
        if isinstance(data, (list, tuple)):
            return self._of_list(list(cast("Iterable[Any]", data)), depth)
        return []

    def _of_object(self, data: Mapping[Any, Any], depth: int) -> list[tuple[int, T]]:
        entries: list[tuple[int, T]] = []
        number = number_of(data)
        value = self._value_of(data)
        if number is not None and value is not None:
            return [(number, value)]
        for key, inner in data.items():
            numbered = _KEY_NUMBER.fullmatch(str(key).strip())
            if numbered is not None:
                value = self._value_in(inner)
                if value is not None:
                    entries += [(n, value) for n in _numbers_in(numbered["numbers"])]
        if entries:
            return entries
        for key, inner in data.items():
            value = self.choices.whole(str(key))
            if value is not None and isinstance(inner, list):
                numbers = [as_number(entry) for entry in cast("list[Any]", inner)]
                entries += [(n, value) for n in numbers if n is not None]
        if entries:
            return entries
        for inner in data.values():
            entries += self._of_json(inner, depth + 1)
        return entries

    def _of_list(self, data: list[Any], depth: int) -> list[tuple[int, T]]:
        pairs: list[Any] = [p for p in data if isinstance(p, (list, tuple))]
        if data and len(pairs) == len(data) and all(len(pair) == 2 for pair in pairs):
            numbered = [(as_number(number), self._value_in(value)) for number, value in pairs]
            return [(n, value) for n, value in numbered if n is not None and value is not None]
        entries: list[tuple[int, T]] = []
        for entry in data:
            if isinstance(entry, str):
                entries += self._in_lines(unicodedata.normalize("NFKC", entry))
            else:
                entries += self._of_json(entry, depth + 1)
        if entries or len(data) != self.count:
            return entries
        if all(isinstance(entry, str) for entry in data) and self._is_copied_menu(data):
            return []
        values = [self._value_in(entry) for entry in data]
        return [(i, value) for i, value in enumerate(values, 1) if value is not None]

    def _value_in(self, data: Any) -> T | None:
        if isinstance(data, dict):
            return self._value_of(cast("dict[Any, Any]", data))
        if isinstance(data, bool):
            return self.choices.whole("yes" if data else "no")
        return self.parse(data) if isinstance(data, str) else None

    def _value_of(self, data: Mapping[Any, Any]) -> T | None:
        """Return the value that an object states about one item."""
        chosen = [self.choices.whole(str(key)) for key, value in data.items() if value is True]
        stated = [value for value in chosen if value is not None]
        if not stated:
            named = [self._value_in(v) for key, v in data.items() if _plain(key) in _VALUE_NAMES]
            stated = [value for value in named if value is not None]
        if not stated:
            others = [self.choices.whole(v) for v in data.values() if isinstance(v, str)]
            stated = [value for value in others if value is not None]
        return stated[0] if len({repr(value) for value in stated}) == 1 else None


def _plain(key: object) -> str:
    return re.sub(r"[\s_.-]+", "", str(key).casefold())


def numbered_parts(text: str, count: int) -> list[tuple[tuple[int, ...], str]]:
    """Return the numbers of items in an answer, each with the text up to the next one.

    Args:
        text: The answer.
        count: Number of items, numbered from 1.
    """
    clean = unicodedata.normalize("NFKC", _FENCE.sub("", text[:_MOST_CHARS]))
    return [(part.numbers, f"{part.text}\n{part.below}") for part in _parts_of(clean, count)]


def number_of(data: Mapping[Any, Any]) -> int | None:
    """Return the number of the item that a JSON object is about.

    Args:
        data: The object.
    """
    named = [as_number(value) for key, value in data.items() if _plain(key) in _NUMBER_NAMES]
    numbers = [number for number in named if number is not None]
    return numbers[0] if numbers and len(set(numbers)) == 1 else None


def as_number(value: object) -> int | None:
    """Return the number that a JSON value stands for, such as `3`, `"3"` or `"claim 3"`.

    Args:
        value: The value.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return value if 0 <= value < 1_000_000 else None
    if isinstance(value, float):
        return int(value) if value.is_integer() and 0 <= value < 1_000_000 else None
    if not isinstance(value, str):
        return None
    match = _KEY_NUMBER.fullmatch(value.strip().strip("[]()*\"'"))
    numbers = _numbers_in(match["numbers"]) if match else ()
    return numbers[0] if len(numbers) == 1 else None


_LINE = re.compile(
    r"^[\W_]*(?:(?:claim|sentence|aussage|affirmation|afirmación|affermazione|afirmação|陈述|主張)\s*)?"
    r"(\d{1,6})[\W_]+(\S.*)$",
    re.IGNORECASE,
)


def parse_numbered(text: str, count: int, parse: Callable[[str], T | None]) -> list[T | None]:
    """Parse one line of free text for each of several numbered items.

    Accepts lines such as `1: When did it open?`, `2. **None**`, `- Claim 3 - ...`, and JSON: an
    object by number, a list in order, or a list of objects. A number that is missing, out of range
    or answered twice in different ways is undetermined.

    Args:
        text: The answer.
        count: Number of items, numbered from 1.
        parse: Parses one line; returns None if it cannot.

    Returns:
        One entry per item, None for undetermined.
    """
    entries = ((number, parse(line)) for number, line in _numbered_lines(text, count))
    return _attributed([(n, value) for n, value in entries if value is not None], count)


def _numbered_lines(text: str, count: int) -> list[tuple[int, str]]:
    for value in json_values(text):
        lines = _lines_in_json(value, count)
        if lines:
            return lines
    matches = (_LINE.match(line) for line in _FENCE.sub("", text).splitlines())
    return [(int(m.group(1)), m.group(2)) for m in matches if m]


def _lines_in_json(data: Any, count: int) -> list[tuple[int, str]]:
    if isinstance(data, dict):
        entries = cast("dict[Any, Any]", data)
        numbered = [(as_number(str(key)), value) for key, value in entries.items()]
        lines = [(n, v) for n, v in numbered if n is not None and isinstance(v, str)]
        inner = next(iter(entries.values()), None)
        return lines or (_lines_in_json(inner, count) if len(entries) == 1 else [])
    items = cast("list[Any]", data) if isinstance(data, list) else []
    if len(items) == count and all(isinstance(item, str) for item in items):
        return list(enumerate(cast("list[str]", items), 1))
    by_number: list[tuple[int, str]] = []
    for item in items:
        fields = cast("dict[Any, Any]", item) if isinstance(item, dict) else {}
        number = number_of(fields)
        texts = [v for v in fields.values() if isinstance(v, str) and as_number(v) != number]
        if number is not None and len(texts) == 1:
            by_number.append((number, texts[0]))
    return by_number


# Scores by name.

_POINTS = re.compile(
    r"(?P<score>-?\d+(?:[.,]\d{1,2})?)(?![.,]?\d)(?:\s*%)?"
    r"(?:\s*(?:/|out of|of)\s*(?P<whole>\d{1,4}))?(?:\s*(?:points?|pts)\b)?"
    r"(?=[\s*_`\"'.,;|)\]]|$)",
    re.IGNORECASE,
)
# Between a name and its points: closing marks, a separator, opening marks. A dash that touches the
# number is its sign.
_SCORED = re.compile(
    r"(?<![^\W\d_])(?P<name>[^\W\d_]+)[\])*_`\"']*\s*(?:[:：=–—|]\s*|-\s+)?[\[(*_`\"']*"
    + _POINTS.pattern,
    re.IGNORECASE,
)
_OUT_OF_RANGE = -1.0
_NEXT_WORD = re.compile(r"[ \t]+([^\W\d_]+)")
_REASON_FOLLOWS = frozenset(["as", "because", "since"])
_AROUND_NAME = " \t\r\n*_`\"'“”‘’«»「」#>[](){}:：-•"


def parse_named_scores(text: str, names: Sequence[str]) -> list[float | None]:
    """Parse one score from 0 to 100 for each of several names.

    Accepts `[Tom] 50`, `**Tom**: 50`, `Tom - 50/100`, `| Tom | 50 |`, several on a line, and JSON
    such as `{"Tom": 50}` or `[{"student": "Tom", "points": 50}]`. A name is undetermined if it is
    missing, or if its score is out of range or ambiguous; a score out of anything but 100 is out of
    range. A number followed by other words, as in `[Tom] 50 people came`, is not a score.

    Args:
        text: The judge's answer.
        names: The names to score.

    Returns:
        One score per name, in [0, 100], or None.
    """
    by_name = {name.casefold(): name for name in names}
    data = json_values(text)
    # A name in brackets is no list.
    if any(isinstance(value, dict) or (value and isinstance(value[0], dict)) for value in data):
        scored = [entry for value in data for entry in _scored_json(value, by_name)]
    else:
        scored = list(_scored_in(text, by_name))
    values = agreed(
        [(by_name[n.casefold()], score) for n, score in scored if n.casefold() in by_name]
    )
    scores = [values.get(name) for name in names]
    return [s if s is not None and 0.0 <= s <= 100.0 else None for s in scores]


def _scored_in(text: str, names: Collection[str]) -> Iterator[tuple[str, float]]:
    for match in _SCORED.finditer(text):
        follows = _NEXT_WORD.match(text, match.end())
        word = follows[1].casefold() if follows else None
        if word is None or word in names or word in _REASON_FOLLOWS:
            yield match["name"], _points(match)


def _scored_json(data: Any, names: Collection[str], depth: int = 0) -> list[tuple[str, float]]:
    entries: list[tuple[str, float]] = []
    if depth > _MOST_NESTED:
        return entries
    if isinstance(data, list):
        for item in cast("list[Any]", data):
            entries += _scored_json(item, names, depth + 1)
        return entries
    fields = cast("dict[Any, Any]", data) if isinstance(data, dict) else {}
    for name, value in fields.items():
        points = _json_points(value)
        if points is not None:
            entries.append((str(name).strip(_AROUND_NAME), points))
        elif isinstance(value, (dict, list)):
            entries += _scored_json(value, names, depth + 1)
    texts = [str(value).strip(_AROUND_NAME) for value in fields.values()]
    named = [text for text in texts if text.casefold() in names]
    points_given = [p for p in map(_json_points, fields.values()) if p is not None]
    if len(named) == 1 and len(points_given) == 1:
        entries.append((named[0], points_given[0]))
    return entries


def _json_points(value: object) -> float | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        # Larger integers may not fit into a float.
        return float(value) if 0 <= value <= 100 else _OUT_OF_RANGE
    match = _POINTS.fullmatch(value.strip()) if isinstance(value, str) else None
    return _points(match) if match else None


def _points(match: re.Match[str]) -> float:
    # A score out of anything but 100 must not pass for one out of 100.
    if int(match["whole"] or 100) != 100:
        return _OUT_OF_RANGE
    return float(match["score"].replace(",", "."))


def agreed(entries: Iterable[tuple[K, V]]) -> dict[K, V]:
    """Return the value of each key, without keys that have different values.

    Args:
        entries: The keys and values.
    """
    values_by_key: dict[K, list[V]] = {}
    for key, value in entries:
        values = values_by_key.setdefault(key, [])
        if value not in values:
            values.append(value)
    return {key: values[0] for key, values in values_by_key.items() if len(values) == 1}
