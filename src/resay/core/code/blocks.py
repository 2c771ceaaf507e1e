"""The code in a response: blocks, and inline code between backticks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from resay._internal.patterns import lazy_pattern
from resay.core.code.names import CodeLanguage
from resay.core.passage import Piece, Sentence

_ALIASES: list[tuple[CodeLanguage, str]] = [
    ("python", "python py python3 py3 ipython pycon"),
    ("javascript", "javascript js jsx typescript ts tsx node nodejs mjs cjs vue svelte"),
    ("java", "java kotlin kt scala groovy"),
    ("go", "go golang"),
    ("rust", "rust rs"),
    ("csharp", "csharp cs c# dotnet"),
    ("ruby", "ruby rb"),
    ("shell", "bash sh shell console zsh terminal shellsession fish powershell ps1 cmd bat"),
]
_LANGUAGES: dict[str, CodeLanguage] = {
    alias: language for language, aliases in _ALIASES for alias in aliases.split()
}
_FENCE = lazy_pattern(
    r"[ \t>*+-]{0,40}(?P<mark>`{3,}|~{3,})[ \t]*(?:\{?\.?)(?P<info>[^\s`~,{}]*)[^\n\r]*"
)
_SPAN = lazy_pattern(r"(?<!`)(`{1,2})(?!`)([^`\n]{1,200})\1(?!`)")
# Signs of a language, for code without a language tag.
_SIGNS: list[tuple[CodeLanguage, str]] = [
    (
        "shell",
        r"^[ \t]*(?:[$%>][ \t]+)?(?:sudo |python3? -m )?(?:pip3?|npm|yarn|pnpm|cargo|gem|poetry"
        r"|uv|go get|dotnet add)[ \t]+(?:install|i|add|get|package|pip)\b",
    ),
    ("go", r"^package \w+\s*$|^import \(\s*$|\bfunc \w*\(.*\{\s*$|^func "),
    ("rust", r"^(?:pub )?use [\w:]+::|\bfn \w+\(|\blet mut "),
    ("csharp", r"^using [\w.]+;|\bnamespace [\w.]+|\bConsole\.Write"),
    (
        "java",
        r"^import (?:static )?[\w.]+;|\bpublic (?:static |final )*(?:class|void|interface) ",
    ),
    (
        "javascript",
        r"\brequire\(['\"]|^import .{0,200}from ['\"]|^(?:const|let|var) |=>|^import ['\"]",
    ),
    ("ruby", r"^require ['\"]|^\s*end\s*$|^gem ['\"]"),
    ("python", r"^(?:from [\w.]+ )?import [\w.]+|^\s*def \w+\(.*:\s*$|^\s*print\("),
]
_SIGN_PATTERNS: list[tuple[CodeLanguage, re.Pattern[str]]] = [
    (language, lazy_pattern(signs, re.MULTILINE)) for language, signs in _SIGNS
]


@dataclass(frozen=True, slots=True)
class Code:
    """A span of code.

    Attributes:
        text: The code.
        start: Its start in the response, in code points.
        language: Its language; None if unknown or not supported.
        inline: Whether it is inside a sentence.
        sentence: The index of that sentence; -1 for a block.
    """

    text: str
    start: int
    language: CodeLanguage | None
    inline: bool = False
    sentence: int = -1


def language_of(info: str, text: str) -> CodeLanguage | None:
    """Detect the language of code.

    Args:
        info: The info string of its fence; may be empty.
        text: The code.
    """
    if info:
        return _LANGUAGES.get(info.lower())
    beginning = text[:4_000]
    for language, signs in _SIGN_PATTERNS:
        if signs.search(beginning):
            return language
    return None


def code_in(sentences: Iterable[tuple[int, Sentence]], others: Iterable[Piece]) -> list[Code]:
    """Find the code of a response: blocks, and inline code between backticks.

    Args:
        sentences: Its sentences, each with its index.
        others: The pieces that are in none of them.

    Returns:
        The spans of code in order.
    """
    spans = [_block(piece.text, piece.start) for piece in others if piece.kind == "code"]
    for index, sentence in sentences:
        if "`" not in sentence.text:
            continue
        for match in _SPAN.finditer(sentence.text):
            text = match[2]
            spans.append(
                Code(
                    text=text,
                    start=sentence.start + match.start(2),
                    language=language_of("", text),
                    inline=True,
                    sentence=index,
                )
            )
    return sorted(spans, key=lambda code: code.start)


def _block(text: str, start: int) -> Code:
    """Return the code in a block, without its fence."""
    fence = _FENCE.match(text)
    if fence is None:
        return Code(text, start, language_of("", text))
    body = text[fence.end() :].rstrip()
    unclosed = body.rstrip(fence["mark"][0])
    if len(body) - len(unclosed) >= len(fence["mark"]):
        body = unclosed
    return Code(body, start + fence.end(), language_of(fence["info"], body))
