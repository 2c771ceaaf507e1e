"""Code in a response: its spans, its tokens, and the names it uses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from resay.core.passage import Piece, Sentence

Language = Literal["python", "javascript", "java", "go", "rust", "csharp", "ruby", "shell"]
NameKind = Literal["package", "install", "member", "flag"]
Path = tuple[str, ...]
"""A qualified name: `("numpy", "linalg", "norm")`. A called part ends with `()`: `("pandas",
"read_csv()", "groupby")`."""


@dataclass(frozen=True, slots=True)
class CodeName:
    """An external name that code uses.

    Attributes:
        kind: An imported `package`, one that is installed (`install`), a `member` of one, or the
            `flag` of a command.
        language: The language of the code; with `install`, the language of the package.
        path: The qualified name; its first part is the package or the command.
        start: The start of its last part in the response, in code points.
        end: The end of that part (exclusive).
        imported: Whether this is the place of its import.
    """

    kind: NameKind
    language: Language
    path: Path
    start: int
    end: int
    imported: bool = False

    @property
    def dotted(self) -> str:
        """The whole name, as written in code."""
        if self.kind == "flag":
            return " ".join(self.path)
        return self._joined(self.path)

    def _joined(self, path: Path) -> str:
        return ("::" if self.language == "rust" else ".").join(path)

    @property
    def statement(self) -> str:
        """A sentence that says how the code uses it."""
        if self.kind == "package":
            return f"The code imports {self.dotted}."
        if self.kind == "install":
            return f"The code installs the package {self.dotted}."
        if self.kind == "flag":
            return f"The code calls {self.path[0]} with {self.path[-1]}."
        if self.imported:
            return f"The code imports {self.path[-1]} from {self._joined(self.path[:-1])}."
        return f"The code uses {self.dotted}."


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
    language: Language | None
    inline: bool = False
    sentence: int = -1


_ALIASES: list[tuple[Language, str]] = [
    ("python", "python py python3 py3 ipython pycon"),
    ("javascript", "javascript js jsx typescript ts tsx node nodejs mjs cjs vue svelte"),
    ("java", "java kotlin kt scala groovy"),
    ("go", "go golang"),
    ("rust", "rust rs"),
    ("csharp", "csharp cs c# dotnet"),
    ("ruby", "ruby rb"),
    ("shell", "bash sh shell console zsh terminal shellsession fish powershell ps1 cmd bat"),
]
_LANGUAGES: dict[str, Language] = {
    alias: language for language, aliases in _ALIASES for alias in aliases.split()
}
_FENCE = re.compile(
    r"[ \t>*+-]{0,40}(?P<mark>`{3,}|~{3,})[ \t]*(?:\{?\.?)(?P<info>[^\s`~,{}]*)[^\n\r]*"
)
_SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)([^`\n]{1,200})\1(?!`)")
# Signs of a language, for code without a language tag.
_SIGNS: list[tuple[Language, str]] = [
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
_SIGN_PATTERNS: list[tuple[Language, re.Pattern[str]]] = [
    (language, re.compile(signs, re.MULTILINE)) for language, signs in _SIGNS
]


def language_of(info: str, text: str) -> Language | None:
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
    found = [_block(piece.text, piece.start) for piece in others if piece.kind == "code"]
    for place, sentence in sentences:
        for match in _SPAN.finditer(sentence.text) if "`" in sentence.text else ():
            language = language_of("", match[2])
            found.append(Code(match[2], sentence.start + match.start(2), language, True, place))
    return sorted(found, key=lambda code: code.start)


def _block(text: str, start: int) -> Code:
    fence = _FENCE.match(text)
    if fence is None:
        return Code(text, start, language_of("", text))
    inner = text[fence.end() :]
    body = inner.rstrip()
    closing = body.rstrip(fence["mark"][0])
    if len(body) - len(closing) >= len(fence["mark"]):
        body = closing
    return Code(body, start + fence.end(), language_of(fence["info"], body))


@dataclass(frozen=True, slots=True)
class Token:
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
    return re.compile(
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


_LEXERS: Mapping[Language, re.Pattern[str]] = {
    "python": _lexer(f"{_TRIPLE}|{_STRINGS}", _HASHES),
    "javascript": _lexer(f"{_STRINGS}|{_BACKTICKS}", _SLASHES),
    "java": _lexer(f"{_TRIPLE}|{_CHARS}", _SLASHES),
    "go": _lexer(f"{_CHARS}|{_BACKTICKS}", _SLASHES),
    "rust": _lexer(_CHARS, _SLASHES),
    "csharp": _lexer(_CHARS, _SLASHES),
    "ruby": _lexer(_STRINGS, _HASHES),
}
MAX_CHARS = 200_000
"""The maximum number of characters read of a span of code."""


def tokens_of(code: Code, language: Language) -> list[Token]:
    """Split code into tokens, without its comments."""
    found: list[Token] = []
    for match in _LEXERS[language].finditer(code.text[:MAX_CHARS]):
        kind = match.lastgroup or "mark"
        if kind == "comment":
            continue
        text, start = match.group(), code.start + match.start()
        if kind == "text":
            marks = len(text) - len(text.lstrip(text[0]))
            marks = 1 if marks in {1, 2} else 3
            text, start = text[marks:].rstrip(text[0]), start + marks
        found.append(Token(kind, text, start))
    return found
