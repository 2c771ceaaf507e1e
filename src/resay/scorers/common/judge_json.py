"""Reads the JSON in a judge's answer, whatever is around it and however it is malformed."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any, cast

from resay._internal.patterns import lazy_pattern

_FENCE = lazy_pattern(r"^[ \t]*```[a-z]*[ \t]*|```[ \t]*$", re.MULTILINE)
_TRAILING_COMMA = lazy_pattern(r",(\s*[}\]])")
_OPENING_BRACKET = lazy_pattern(r"[{\[]")
_WORD = lazy_pattern(r"[^\W_]")
_CLOSING = {"{": "}", "[": "]"}
# A text may hold any number of brackets.
_MAX_ATTEMPTS = 24
_MAX_REPAIRED_CHARS = 20_000


class _Ambiguous:
    """The value of a key that an object has twice, with different values."""


_AMBIGUOUS = _Ambiguous()


def _with_ambiguous_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for key, value in pairs:
        entries[key] = _AMBIGUOUS if key in entries and entries[key] != value else value
    return entries


_DECODER = json.JSONDecoder(object_pairs_hook=_with_ambiguous_keys, strict=False)
_STRAIGHT_QUOTES = str.maketrans("“”„‟«»", '"' * 6)


def json_values(text: str) -> list[Any]:
    """Return the JSON objects and lists in a text, whatever is around them.

    Reads what models write in place of JSON too: trailing commas, Python's literals, typographic
    quotes. Of a value that breaks off, the complete parts are returned.

    Args:
        text: The text.
    """
    return [value for value, _, _ in _values_with_spans(text)]


def numbered_objects(text: str, key: str) -> list[Mapping[str, Any]] | None:
    """Return the objects of the last list of an answer, or those that it gives without a list.

    Lists with nothing but space and commas between them are one.

    Args:
        text: The answer.
        key: The key that says what an object is about. What is in brackets otherwise is no answer.

    Returns:
        The objects, none for an empty list; None if there is neither, or it may only be quoted.
    """
    bare: list[Mapping[str, Any]] = []
    lists: list[list[Mapping[str, Any]]] = []
    empty_lists: list[tuple[int, int]] = []
    start_of_next = len(text)
    for value, start, end in reversed(list(_values_with_spans(text))):
        entries = _only_list(value)
        objects = _objects_with([value] if entries is None else entries, key)
        if lists and (not objects or entries is None or text[end:start_of_next].strip(" \t\r\n,")):
            break
        if objects is None:
            continue
        if entries is None:
            bare += objects
        elif objects:
            lists.append(objects)
            start_of_next = start
        else:
            empty_lists.append((start, end))
    if any(_is_by_itself(text, *span) for span in empty_lists[:_MAX_ATTEMPTS]):
        # Beside objects, or inside one that cannot be decoded, it is not the answer.
        is_answer = re.search(rf"\b{key}\b[\"'”]?\s*:", text, re.IGNORECASE) is None
        return [] if is_answer else None
    return list(chain.from_iterable(reversed(lists))) or bare[::-1] or None


def _is_by_itself(text: str, start: int, end: int) -> bool:
    """Return whether no word is before a part of a text on its line, or none follows at all."""
    start_of_line = text.rfind("\n", 0, start) + 1
    return not (_WORD.search(text, start_of_line, start) and _WORD.search(text, end))


def _only_list(value: Any) -> list[Any] | None:
    """Return a list, or the one that an object such as `{"claims": [...]}` has; else None."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        value = next(iter(fields.values())) if len(fields) == 1 else None
    return cast("list[Any]", value) if isinstance(value, list) else None


def _objects_with(entries: Iterable[Any], key: str) -> list[Mapping[str, Any]] | None:
    """Return entries if all of them are objects that have a key; else None."""
    objects: list[Mapping[str, Any]] = []
    for entry in entries:
        if not isinstance(entry, Mapping) or key not in entry:
            return None
        objects.append(cast("Mapping[str, Any]", entry))
    return objects


def _values_with_spans(text: str) -> Iterator[tuple[Any, int, int]]:
    """Yield the JSON objects and lists in a text, with their offsets."""
    attempts = 0
    position = _next_bracket(text, 0)
    while position >= 0 and attempts < _MAX_ATTEMPTS:
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
    for value, start, end in _values_with_spans(text):
        items = cast("list[Any]", value) if isinstance(value, list) else [value]
        if not items or all(isinstance(item, (int, float)) for item in items):
            continue
        parts.append(text[position:start])
        position = end
    return "".join([*parts, text[position:]])


def _next_bracket(text: str, start: int) -> int:
    """Return the position of the next opening bracket, or -1."""
    match = _OPENING_BRACKET.search(text, start)
    return -1 if match is None else match.start()


def _value_at(text: str, start: int) -> tuple[Any, int]:
    """Return the value that begins at a bracket, and its end; the start if there is none."""
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        pass
    end = _end_of_brackets(text, start)
    if end < 0 or end - start > _MAX_REPAIRED_CHARS:
        return None, start
    written = text[start:end]
    without_commas = _TRAILING_COMMA.sub(r"\1", written)
    decodings = (
        partial(_DECODER.decode, without_commas),
        partial(_DECODER.decode, without_commas.translate(_STRAIGHT_QUOTES)),
        partial(ast.literal_eval, written),
    )
    for decode in decodings:
        # What models write can be malformed in any way.
        with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return decode(), end
    return None, start


def _end_of_brackets(text: str, start: int) -> int:
    """Return the end of the brackets that open at a place, or -1 if they do not close."""
    open_brackets: list[str] = []
    quote = ""
    position = start
    limit = min(len(text), start + _MAX_REPAIRED_CHARS)
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


def without_fences(text: str) -> str:
    """Return a text without the marks of code blocks.

    Args:
        text: The text.
    """
    return _FENCE.sub("", text)
