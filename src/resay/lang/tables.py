"""Reads the tables of the language files, `<code>.toml` beside this module.

A file has one table for each subject, such as `[prompts]`. Lists of words are texts, in which
spaces and line breaks separate them; those of `[judge]` have phrases, which commas separate. To add
a language, add a file.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, Final

# Python has a reader of its own since 3.11.
_TOML: Any = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
_FOLDER: Final = files("resay.lang")
_SUFFIX: Final = ".toml"
# The first line of a table, or of one inside it.
_HEADER: Final = re.compile(r"^\[(\w+)(?:\.\w+)*\]$", re.MULTILINE)
# A text whose words are those of several languages is taken to be in the first of them.
_MOST_LIKELY: Final = (
    *("en", "de", "fr", "es", "it", "pt", "nl", "sv"),
    *("pl", "tr", "ru", "ar", "hi", "ja", "zh", "ko"),
)


@cache
def codes() -> tuple[str, ...]:
    """Return the codes of the languages that have a file, the most likely ones first."""
    others: list[str] = []
    for file in _FOLDER.iterdir():
        code = file.name.removesuffix(_SUFFIX)
        if file.name.endswith(_SUFFIX) and code not in _MOST_LIKELY:
            others.append(code)
    return (*_MOST_LIKELY, *sorted(others))


@cache
def table(code: str, name: str) -> Mapping[str, Any]:
    """Return a table of a language.

    Args:
        code: The language's code (ISO 639-1).
        name: The table's name.

    Returns:
        The table; empty if the language's file has none of that name.
    """
    source = _sources(code).get(name)
    return {} if source is None else _TOML.loads(source)[name]


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text that separates them by spaces."""
    return frozenset(words.split())


def phrase_set(phrases: str) -> frozenset[str]:
    """Return the words and phrases of a text that separates them by commas."""
    parts = (" ".join(part.split()) for part in phrases.split(","))
    return frozenset(part for part in parts if part)


@cache
def _sources(code: str) -> Mapping[str, str]:
    """Return the text of each table of a language, which is parsed when it is first asked for.

    Parsing all of all languages is a good part of what starting takes; few are needed.
    """
    text = _FOLDER.joinpath(code + _SUFFIX).read_text(encoding="utf-8")
    headers = list(_HEADER.finditer(text))
    ends = [*(header.start() for header in headers[1:]), len(text)]
    sources: defaultdict[str, str] = defaultdict(str)
    for header, end in zip(headers, ends, strict=True):
        sources[header[1]] += text[header.start() : end]
    return sources
