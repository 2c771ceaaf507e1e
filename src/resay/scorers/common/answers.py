"""Reads the answers of judges about numbered items: in lines, blocks, tables, and JSON.

Each part of an answer is attributed to the items it names; what an answer says about an item
counts if it says one thing only. An item that is missing, or of which two different things are
said, is undetermined, never guessed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Generic, TypeAlias, TypeVar, cast

from resay._internal.patterns import lazy_pattern
from resay.lang.language import all_phrases
from resay.scorers.common.choices import Choices
from resay.scorers.common.item_numbers import (
    ITEM_WORDS,
    KEY_NUMBER,
    NUMBERS,
    as_number,
    attributed,
    number_of,
    numbers_in,
    only_value,
    plain_key,
)
from resay.scorers.common.judge_json import json_values, without_fences, without_json

T = TypeVar("T")

Entries: TypeAlias = list[tuple[int, T]]
"""Numbers of items, each with what an answer says about it."""

_HEADER = lazy_pattern(
    rf"^[^\w\n]*(?:(?P<word>{ITEM_WORDS})[\s._:#*]*)?(?P<numbers>{NUMBERS})\s*[条項项個个号號번]?"
    r"(?P<mark>[^\w\n]+|$)(?P<rest>[^\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)
# A further item on the same line.
_INLINE = lazy_pattern(
    rf"(?:(?<=[\s,;|/])|^)[*_`(\[]{{0,6}}(?:(?:{ITEM_WORDS})[\s._:#*]*)?(?P<numbers>{NUMBERS})"
    r"[*_`)\]]*\s*(?:[:：.)\]=]|→|->|=>|[–—-]\s|\bis\b)[\s*_`\"'“‘(\[]*",
    re.IGNORECASE,
)
_LEADING_WORD = lazy_pattern(r"^(?:is|are|was|were|ist|sind|est|es|è|é|→|->|=>)\s+", re.IGNORECASE)
_ALL = lazy_pattern(
    r"^[^\w\n]*(?:all|every|each|both|alle|toutes?|tous|todas?|todos|tutte|tutti)"
    r"(?:\s+(?:of\s+)?(?:the\s+)?(?:\w+\s+)?(?:claims?|statements?|sentences?|aussagen|affirmations"
    r"|afirmaciones|affermazioni|afirmações|\d{1,6}))?"
    r"(?:\s+(?:claims?|statements?|sentences?))?[\s:：*_-]*(?:are|is|sind|sont|son|sono|são)?\s*"
    r"(?P<rest>[^\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)
_ITEM_WORD = lazy_pattern(rf"\b(?:{ITEM_WORDS})\b", re.IGNORECASE)
_NUMBERS_ONLY = lazy_pattern(NUMBERS, re.IGNORECASE)
_ROW = lazy_pattern(r"^\s*\|.*\|\s*$")
_VERDICT_KEYS = all_phrases("judge", "verdict_keys")
_MAX_DEPTH = 5
_MAX_CHOICE_CHARS = 120
# A judge that writes more than this is not answering.
_MAX_CHARS = 60_000
_BLANK = lazy_pattern(r"[^\S\n]{2,}")
_BLANK_LINES = lazy_pattern(r"\n\s*\n\s*")


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
    text = text[:_MAX_CHARS]
    values = attributed(_JsonReader(count, choices, parse or choices.read).entries(text), count)
    if any(value is not None for value in values):
        return values
    text = unicodedata.normalize("NFKC", without_fences(without_json(text))).strip()
    text = _BLANK_LINES.sub("\n\n", _BLANK.sub(" ", text))
    reader = _TextReader(count, choices, parse or choices.read)
    for read_form in reader.forms(text):
        values = attributed(read_form(text), count)
        if any(value is not None for value in values):
            return values
    return [None] * count


@dataclass(frozen=True, slots=True)
class NumberedBlock:
    """The part of an answer that is about some items.

    Attributes:
        numbers: The items' numbers, as written.
        text: What is said about them, behind the numbers and in the lines below.
    """

    numbers: tuple[int, ...]
    text: str


def numbered_blocks(text: str, count: int) -> list[NumberedBlock]:
    """Return the numbered parts of an answer, each up to the next number.

    Args:
        text: The answer.
        count: Number of items, numbered from 1.
    """
    return _blocks(unicodedata.normalize("NFKC", without_fences(text[:_MAX_CHARS])), count)


def _blocks(text: str, count: int) -> list[NumberedBlock]:
    headers: list[re.Match[str]] = []
    for header in _HEADER.finditer(text):
        # "2 texts say so" begins no block.
        is_set_apart = header["word"] or header["mark"].strip() or not header["rest"]
        if is_set_apart and max(numbers_in(header["numbers"])) <= count:
            headers.append(header)
    blocks: list[NumberedBlock] = []
    for header, following in zip_longest(headers, headers[1:]):
        end = len(text) if following is None else following.start()
        below = text[header.end() : end]
        blocks.append(NumberedBlock(numbers_in(header["numbers"]), f"{header['rest']}\n{below}"))
    return blocks


@dataclass(frozen=True, slots=True)
class _LineReader(Generic[T]):
    """Reads numbered lines.

    Attributes:
        count: Number of items.
        choices: What the judge may choose.
        parse: Reads the part about one item.
    """

    count: int
    choices: Choices[T]
    parse: Callable[[str], T | None]

    def in_lines(self, text: str) -> Entries[T]:
        """Return the values of lines that begin with numbers."""
        entries: Entries[T] = []
        for line in text.splitlines():
            header = _HEADER.match(line)
            several = self._on_one_line(line)
            if several or header is None:
                entries += several
                continue
            value = self._value_behind_number(header["rest"], is_row=_ROW.match(line) is not None)
            entries += _for_each(numbers_in(header["numbers"]), value)
        return entries

    def _value_behind_number(self, text: str, *, is_row: bool) -> T | None:
        if is_row:
            cells = [self.choices.whole(cell) for cell in text.split("|")]
            if any(value is not None for value in cells):
                return only_value(cells)
        return self.parse(_LEADING_WORD.sub("", text.lstrip(" \t*_`:")))

    def _on_one_line(self, line: str) -> Entries[T]:
        """Return the values of a line with several items, such as `1: yes, 2: no`."""
        labels: list[re.Match[str]] = []
        for match in _INLINE.finditer(line):
            after = line[match.end() : match.end() + _MAX_CHOICE_CHARS]
            if self.choices.first(after) is not None:
                labels.append(match)
        if len(labels) < 2:
            return []
        entries: Entries[T] = []
        for label, following in zip_longest(labels, labels[1:]):
            end = len(line) if following is None else following.start()
            value = self.parse(line[label.end() : end].rstrip(" ,;|/"))
            entries += _for_each(numbers_in(label["numbers"]), value)
        return entries

    def is_copied_menu(self, lines: Sequence[str]) -> bool:
        """Return whether values without numbers are the choices, in the prompt's order."""
        if len(lines) < 2 or len(lines) != len(self.choices.order):
            return False
        offered = [self.choices.whole(word) for word in self.choices.order]
        return [self.choices.whole(line) for line in lines] == offered


@dataclass(frozen=True, slots=True)
class _TextReader(_LineReader[T]):
    """Reads an answer without JSON in the forms it may have."""

    def forms(self, text: str) -> list[Callable[[str], Entries[T]]]:
        """Return the readers of the forms that an answer may have, in the order to try them."""
        forms = [
            self.in_lines,
            self._by_choice,
            self._in_blocks,
            self._of_all,
            self._in_order,
        ]
        if self.count == 1:
            # Asked about a single item, judges omit its number.
            begins_with_choice = self.choices.first(text) is not None
            forms.insert(0 if begins_with_choice else len(forms), self._of_whole)
        return forms

    def _of_whole(self, text: str) -> Entries[T]:
        return _for_each([1], self.parse(text))

    def _by_choice(self, text: str) -> Entries[T]:
        """Return the values of an answer that lists the items of each choice."""
        entries: Entries[T] = []
        for line in text.splitlines():
            word, colon, listed = line.partition(":")
            value = self.choices.whole(word) if colon else None
            if value is not None:
                numbers = _ITEM_WORD.sub("", listed).strip(" .*_`[]()#")
                if _NUMBERS_ONLY.fullmatch(numbers):
                    entries += _for_each(numbers_in(numbers), value)
        return entries

    def _in_blocks(self, text: str) -> Entries[T]:
        """Return the values of an answer that gives its reasons in lines below the numbers."""
        entries: Entries[T] = []
        for block in _blocks(text, self.count):
            entries += _for_each(block.numbers, self.parse(block.text.strip()))
        return entries

    def _of_all(self, text: str) -> Entries[T]:
        """Return the value that an answer gives all items: "All claims are true"."""
        values = [self.choices.first(match["rest"]) for match in _ALL.finditer(text)]
        stated = [value for value in values if value is not None]
        if len(stated) != 1 or _HEADER.search(text):
            return []
        return _for_each(range(1, self.count + 1), stated[0])

    def _in_order(self, text: str) -> Entries[T]:
        """Return the values of an answer with a bare choice per line, one for each item."""
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) != self.count or self.is_copied_menu(lines):
            return []
        return _in_order_of([self.choices.whole(line) for line in lines])


@dataclass(frozen=True, slots=True)
class _JsonReader(_LineReader[T]):
    """Reads the JSON in an answer."""

    def entries(self, text: str) -> Entries[T]:
        """Return the values that the JSON in an answer gives items."""
        entries: Entries[T] = []
        unnumbered: list[T | None] = []
        for value in json_values(text):
            entries += self._in_value(value, depth=0)
            if isinstance(value, dict):
                unnumbered.append(self._stated_by(cast("dict[str, Any]", value)))
        if not entries and len(unnumbered) == self.count:
            # One object for each item, one after the other.
            return _in_order_of(unnumbered)
        return entries

    def _in_value(self, data: Any, *, depth: int) -> Entries[T]:
        if depth > _MAX_DEPTH:
            return []
        if isinstance(data, dict):
            return self._in_object(cast("dict[Any, Any]", data), depth)
        if isinstance(data, (list, tuple)):
            return self._in_list(cast("Sequence[Any]", data), depth)
        return []

    def _in_object(self, fields: Mapping[Any, Any], depth: int) -> Entries[T]:
        number, value = number_of(fields), self._stated_by(fields)
        if number is not None and value is not None:
            return [(number, value)]
        entries = self._by_number(fields) or self._by_choice(fields)
        if not entries:
            for inner in fields.values():
                entries += self._in_value(inner, depth=depth + 1)
        return entries

    def _by_number(self, fields: Mapping[Any, Any]) -> Entries[T]:
        """Return the values of fields such as `"claim 1": "yes"`."""
        entries: Entries[T] = []
        for key, inner in fields.items():
            numbered = KEY_NUMBER.fullmatch(str(key).strip())
            if numbered is not None:
                entries += _for_each(numbers_in(numbered["numbers"]), self._stated_in(inner))
        return entries

    def _by_choice(self, fields: Mapping[Any, Any]) -> Entries[T]:
        """Return the values of fields such as `"yes": [1, 3]`."""
        entries: Entries[T] = []
        for key, inner in fields.items():
            value = self.choices.whole(str(key))
            if value is not None and isinstance(inner, list):
                for entry in cast("list[Any]", inner):
                    number = as_number(entry)
                    if number is not None:
                        entries.append((number, value))
        return entries

    def _in_list(self, data: Sequence[Any], depth: int) -> Entries[T]:
        if data and all(_is_pair(entry) for entry in data):
            return self._in_pairs(cast("Sequence[Sequence[Any]]", data))
        entries: Entries[T] = []
        for entry in data:
            if isinstance(entry, str):
                entries += self.in_lines(unicodedata.normalize("NFKC", entry))
            else:
                entries += self._in_value(entry, depth=depth + 1)
        if entries or len(data) != self.count:
            return entries
        if all(isinstance(entry, str) for entry in data) and self.is_copied_menu(data):
            return []
        return _in_order_of([self._stated_in(entry) for entry in data])

    def _in_pairs(self, pairs: Sequence[Sequence[Any]]) -> Entries[T]:
        """Return the values of a list such as `[[1, "yes"], [2, "no"]]`."""
        entries: Entries[T] = []
        for key, inner in pairs:
            number, value = as_number(key), self._stated_in(inner)
            if number is not None and value is not None:
                entries.append((number, value))
        return entries

    def _stated_in(self, data: Any) -> T | None:
        """Return the value that JSON states about one item."""
        if isinstance(data, dict):
            return self._stated_by(cast("dict[Any, Any]", data))
        if isinstance(data, bool):
            return self.choices.whole("yes" if data else "no")
        return self.parse(data) if isinstance(data, str) else None

    def _stated_by(self, fields: Mapping[Any, Any]) -> T | None:
        """Return the value that an object states about one item."""
        # {"yes": true, "no": false}
        chosen = [self.choices.whole(str(key)) for key, value in fields.items() if value is True]
        # {"verdict": "yes"}
        if not any(value is not None for value in chosen):
            chosen = [
                self._stated_in(value)
                for key, value in fields.items()
                if plain_key(key) in _VERDICT_KEYS
            ]
        # {"is it so": "yes"}
        if not any(value is not None for value in chosen):
            texts = [value for value in fields.values() if isinstance(value, str)]
            chosen = [self.choices.whole(text) for text in texts]
        return only_value(chosen)


def _for_each(numbers: Sequence[int], value: T | None) -> Entries[T]:
    return [] if value is None else [(number, value) for number in numbers]


def _in_order_of(values: Sequence[T | None]) -> Entries[T]:
    return [(number, value) for number, value in enumerate(values, 1) if value is not None]


def _is_pair(data: Any) -> bool:
    return isinstance(data, (list, tuple)) and len(cast("Sequence[Any]", data)) == 2
