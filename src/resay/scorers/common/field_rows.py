"""Reads fields outside of JSON: in tables, in tags, and in lines such as `supported_by: 1, 3`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from resay._internal.patterns import lazy_pattern
from resay.scorers.common.claim_fields import CONTRADICTION, SUPPORT
from resay.scorers.common.item_numbers import as_number

_CELLS = lazy_pattern(r"(?<!\\)\|")
_LINE_OF_TABLE = lazy_pattern(r"^\s*\|?[\s:|-]+\|?\s*$")
_KEYS = (
    r"claim(?:[\s_](?:id|number|no))?|id|number"
    rf"|(?:[^\W\d_]+[ _-])?(?:{SUPPORT})(?:[ _-](?:by|samples?|documents?|sources?|texts?))?"
    rf"|(?:[^\W\d_]+[ _-])?(?:{CONTRADICTION})(?:[ _-](?:by|samples?|documents?|sources?|texts?))?"
    r"|verdict|words|quotes?|reason\w*|samples?|documents?|sources?|by"
)
_KEY = rf"(?:^|(?<=[\s,;{{(|>])|(?<=[-*+]\s))[\"'“*_`]*(?P<key>{_KEYS})[\"'”*_`]*\s*[:=：][*_`]*"
_FIELD = lazy_pattern(_KEY, re.IGNORECASE | re.MULTILINE)
_TAGGED = lazy_pattern(
    r"<(?P<name>[a-z_]{2,20})>\s*(?P<inside>[^<>]*?)\s*</(?P=name)>", re.IGNORECASE
)
_OPENED = lazy_pattern(r"<claim\b[^<>\d]{0,20}(\d{1,6})[^<>]{0,20}>", re.IGNORECASE)
_ENDS = lazy_pattern(r"[\n}]|;\s")
_NUMBER_KEYS = ("claim", "id", "number")

FieldRow = tuple[int | None, dict[str, Any]]
"""The number of a claim, if it has one, and the fields about it."""


def field_rows(text: str) -> Iterator[FieldRow]:
    """Yield the rows of tables, and fields that are below or beside each other.

    Args:
        text: The answer, without its JSON.
    """
    yield from _table_rows(text)
    yield from _field_groups(text)


def _table_rows(text: str) -> Iterator[FieldRow]:
    """Yield the rows of tables with a head."""
    head: list[str] = []
    for line in text.splitlines():
        if line.count("|") < 2:
            head = []
            continue
        if _LINE_OF_TABLE.match(line):
            continue
        cells = [cell.strip(" *_`") for cell in _CELLS.split(line.strip().strip("|"))]
        if not head:
            head = cells
        elif len(cells) == len(head):
            number = as_number(cells[0])
            if number is not None:
                fields: dict[str, Any] = dict(zip(head, cells, strict=True))
                del fields[head[0]]
                yield number, fields


def _field_groups(text: str) -> Iterator[FieldRow]:
    """Yield fields such as `supported_by: 1, 3`, grouped by the claim that comes before them."""
    text = _OPENED.sub(r"\nclaim: \1\n", text)
    text = _TAGGED.sub(r"\n\g<name>: \g<inside>\n", text)
    matches = list(_FIELD.finditer(text))
    group: dict[str, Any] = {}
    claim: int | None = None
    for match, following in zip_longest(matches, matches[1:]):
        key = match["key"].casefold()
        is_number = key.startswith(_NUMBER_KEYS)
        if is_number or key in group:
            if group:
                yield claim, group
            group = {}
            claim = None
        value = text[match.end() : len(text) if following is None else following.start()]
        end = _ENDS.search(value)
        value = (value if end is None else value[: end.start()]).strip(" \t\r,*_`\"'“”")
        if is_number:
            claim = as_number(value.split(",")[0].strip(" \"'"))
        else:
            group[key] = value
    if group:
        yield claim, group
