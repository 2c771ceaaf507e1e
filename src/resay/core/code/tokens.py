"""The tokens of code, read in linear time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from resay._internal.patterns import lazy_pattern
from resay.core.code.blocks import Code
from resay.core.code.names import CodeLanguage

MAX_CHARS = 200_000
"""The maximum number of characters read of a span of code."""


@dataclass(frozen=True, slots=True)
class CodeToken:
    """A token of code.

    Attributes:
        kind: `name`, `text` (a string), `line` (the end of one), or `mark`.
        text: Its text; for a string, the text between its quotes.
        start: Its start in the response.
    """

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """Its end (exclusive)."""
        return self.start + len(self.text)


_STRINGS = r'"(?:[^"\\\n]|\\.)*"?' r"|'(?:[^'\\\n]|\\.)*'?"
_TRIPLE = r'"""(?:[^"\\]|\\.|"(?!""))*(?:"""|\Z)' r"|'''(?:[^'\\]|\\.|'(?!''))*(?:'''|\Z)"
_BACKTICKS = r"`(?:[^`\\]|\\.)*(?:`|\Z)"
_CHARS = r'"(?:[^"\\\n]|\\.)*"?' r"|'(?:[^'\\\n]|\\.)'"
_SLASHES = r"//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)"
_HASHES = r"\#[^\n]*"


def _lexer(strings: str, comments: str) -> re.Pattern[str]:
    return lazy_pattern(
        rf"""
        (?P<comment>{comments})
      | (?P<text>{strings})
      | (?P<name>[^\W\d]\w*)
      | (?P<number>\d[\w.]*)
      | (?P<line>[\n\r]+)
      | (?P<mark>:=|::|\?\.|=>|->|[=!<>+*/%|&^-]=|===|[^\s\w])
        """,
        re.VERBOSE | re.DOTALL,
    )


_LEXERS: Mapping[CodeLanguage, re.Pattern[str]] = {
    "python": _lexer(f"{_TRIPLE}|{_STRINGS}", _HASHES),
    "javascript": _lexer(f"{_STRINGS}|{_BACKTICKS}", _SLASHES),
    "java": _lexer(f"{_TRIPLE}|{_CHARS}", _SLASHES),
    "go": _lexer(f"{_CHARS}|{_BACKTICKS}", _SLASHES),
    "rust": _lexer(_CHARS, _SLASHES),
    "csharp": _lexer(_CHARS, _SLASHES),
    "ruby": _lexer(_STRINGS, _HASHES),
}


def tokens_of(code: Code, language: CodeLanguage) -> list[CodeToken]:
    """Split code into tokens, without its comments."""
    tokens: list[CodeToken] = []
    for match in _LEXERS[language].finditer(code.text[:MAX_CHARS]):
        kind = match.lastgroup or "mark"
        if kind == "comment":
            continue
        text, start = match.group(), code.start + match.start()
        if kind == "text":
            quote = text[0]
            quotes = 3 if len(text) - len(text.lstrip(quote)) > 2 else 1
            text, start = text[quotes:].rstrip(quote), start + quotes
        tokens.append(CodeToken(kind, text, start))
    return tokens
