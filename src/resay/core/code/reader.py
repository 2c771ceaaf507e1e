"""External names in code, to compare across samples.

A model that invents a package, or a function of one, rarely invents it twice. `CodeReader` finds
the external names that code uses: imported packages and their imported members, calls on them (and
on the results of calls), installed packages, and flags of commands. Names that the code defines
itself, and those of the language and its standard library, are left out.

Nothing is executed or parsed as a program: answers contain fragments, and text that only looks like
code. The code is split into tokens, which are read once, in linear time. Supported are Python,
JavaScript and TypeScript, Java, Go, Rust, C#, Ruby and shells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from resay._internal.event_loops import stop_if_abandoned
from resay.core.code.blocks import Code
from resay.core.code.commands import names_in_commands
from resay.core.code.cursor import MAX_PARTS, TokenCursor
from resay.core.code.imports import RUST_STANDARD, ImportReader
from resay.core.code.names import CodeLanguage, CodeName, Path
from resay.core.code.tokens import CodeToken, tokens_of
from resay.lang.tables import word_set

_LONGEST_NAME = 80
# Customary names of packages, for responses that do not show the import.
_CUSTOMARY: Mapping[CodeLanguage, Mapping[str, Path]] = {
    "python": {
        **{name: (name,) for name in ("numpy", "pandas", "requests", "torch", "tensorflow")},
        "np": ("numpy",),
        "pd": ("pandas",),
        "plt": ("matplotlib", "pyplot"),
        "tf": ("tensorflow",),
        "sns": ("seaborn",),
        "nx": ("networkx",),
    },
    "javascript": {"axios": ("axios",)},
}
_DOTS = frozenset({".", "::", "?."})
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")
_IN_EXPRESSION = frozenset({".", "::", "?.", "?", "&", "\\"})
_KEYWORDS = word_set(
    "await new return yield typeof in is not and or if else elif while match try"
    " async throw raise go defer ref mut pub static final const let var val print"
)
_DEFINITIONS = word_set("def function fn func class struct enum interface trait fun")
_MAX_LOOP_NAMES = 8
_MAX_PARAMETER_TOKENS = 60


@dataclass(slots=True)
class CodeReader:
    """Reads the code of one response, block by block, in order.

    Attributes:
        attributes: All names after a dot, regardless of their owner.
    """

    attributes: set[str] = field(default_factory=set[str])
    _bindings: dict[CodeLanguage, dict[str, Path]] = field(
        default_factory=dict[CodeLanguage, dict[str, Path]]
    )
    _last_language: CodeLanguage | None = None

    def read(self, code: Code) -> Iterator[CodeName]:
        """Yield the names in the next span of code.

        Args:
            code: The code.

        Yields:
            The names in order; the same name for each use.
        """
        language = code.language
        if code.inline and language is None:
            # `np.dot(a, b)` is in the language of the previous code.
            language = self._last_language or "python"
        if language is None:
            return
        if language == "shell":
            yield from names_in_commands(code)
            return
        if not code.inline:
            self._last_language = language
        bindings = self._bindings.setdefault(language, dict(_CUSTOMARY.get(language, {})))
        tokens = tokens_of(code, language)
        yield from _NameReader(tokens, language, bindings, self.attributes).read()


@dataclass(slots=True)
class _Assignment:
    """An assignment whose value is being read.

    Attributes:
        name: The name that is assigned.
        depth: How many brackets are open around it.
        is_plain: Whether its value is a name or a call so far, and no other expression.
    """

    name: str
    depth: int
    is_plain: bool = True


class _NameReader:
    """Reads tokens once, and tracks what names refer to."""

    def __init__(
        self,
        tokens: Sequence[CodeToken],
        language: CodeLanguage,
        bindings: dict[str, Path],
        attributes: set[str],
    ) -> None:
        self._cursor = TokenCursor(tokens)
        self._language: CodeLanguage = language
        self._bindings = bindings
        self._imports = ImportReader(self._cursor, language, bindings)
        self._attributes = attributes
        # What the expression that is being read refers to.
        self._current: Path | None = None
        # The open brackets, each with the function that it calls.
        self._open: list[tuple[str, Path | None]] = []
        self._assignment: _Assignment | None = None

    def read(self) -> Iterator[CodeName]:
        """Yield the names in order."""
        cursor = self._cursor
        begins_statement = True
        while not cursor.is_at_end:
            stop_if_abandoned()
            token = cursor.current
            if begins_statement and token.kind == "name":
                position = cursor.position
                yield from self._imports.read()
                if cursor.position > position:
                    continue
            yield from self._read_token(token)
            cursor.advance()
            ends_statement = token.kind == "line" or token.text in {";", "{", "}"}
            is_prompt = begins_statement and token.text in {">", "$", "."}
            begins_statement = ends_statement or is_prompt
        self._end_assignment()

    def _read_token(self, token: CodeToken) -> Iterator[CodeName]:
        if token.kind == "name":
            yield from self._read_name(token)
        elif token.kind == "line":
            goes_on = self._cursor.peek(1).text in {".", "?."} or self._is_in_brackets
            if not goes_on:
                self._end_statement()
        elif token.text in _OPENING:
            self._open.append((token.text, self._current if token.text == "(" else None))
            self._current = None
        elif token.text in _CLOSING:
            self._close(token.text)
        elif token.text in {"=", ":="} and not self._is_in_brackets:
            self._begin_assignment()
        elif token.text == ";":
            self._end_statement()
        elif token.text not in _IN_EXPRESSION:
            self._current = None
            if self._assignment and len(self._open) == self._assignment.depth:
                self._assignment.is_plain = False

    @property
    def _is_in_brackets(self) -> bool:
        """Whether the end of a line is insignificant: inside parentheses."""
        return bool(self._open) and self._open[-1][0] != "{"

    def _close(self, bracket: str) -> None:
        if not self._open:
            return
        opened, function = self._open.pop()
        self._current = None
        if opened == "(" and bracket == ")" and function:
            name = function[-1]
            called = name if name.endswith("()") else f"{name}()"
            self._current = (*function[:-1], called)

    def _read_name(self, token: CodeToken) -> Iterator[CodeName]:
        cursor = self._cursor
        if cursor.peek(-1).text not in _DOTS:
            self._read_first_name(token.text)
            return
        self._attributes.add(token.text)
        if self._current is None or token.text == "await":
            return
        if len(self._current) >= MAX_PARTS or len(token.text) > _LONGEST_NAME:
            self._current = None
            return
        self._current = (*self._current, token.text)
        # Report "np.linalg.norm" as a whole, not its parts.
        goes_on = cursor.peek(1).text in _DOTS and cursor.peek(2).kind == "name"
        if not goes_on:
            yield CodeName(
                kind="member",
                language=self._language,
                path=self._current,
                start=token.start,
                end=token.end,
            )

    def _read_first_name(self, text: str) -> None:
        """Read a name that does not follow a dot."""
        if text in _DEFINITIONS:
            self._read_definition()
        elif text == "for":
            self._read_loop_names()
        elif text == "as" and self._language == "python":
            # "with httpx.Client() as client"
            self._bind(self._cursor.peek(1).text)
        elif text not in _KEYWORDS:
            self._current = self._bindings.get(text) or self._crate(text)

    def _crate(self, text: str) -> Path | None:
        """Return the crate at the beginning of a path; Rust does not require its import."""
        is_path = self._language == "rust" and self._cursor.peek(1).text == "::"
        return (text,) if is_path and text.islower() and text not in RUST_STANDARD else None

    def _read_loop_names(self) -> None:
        """Forget the names that a loop shadows."""
        for token in self._cursor.next_tokens(1, _MAX_LOOP_NAMES):
            is_target = token.kind == "name" or token.text in ",("
            if not is_target or token.text in {"in", "of"}:
                break
            self._bindings.pop(token.text, None)

    def _read_definition(self) -> None:
        """Forget the names that a definition or its parameters shadow."""
        cursor = self._cursor
        self._bindings.pop(cursor.peek(1).text, None)
        self._current = None
        if cursor.peek(2).text != "(":
            return
        for token in cursor.next_tokens(3, 2 + _MAX_PARAMETER_TOKENS):
            if token.text == ")":
                break
            self._bindings.pop(token.text, None)

    def _bind(self, name: str) -> None:
        """Bind a name to the result of the last call."""
        current = self._current
        if current is not None and current[-1].endswith("()"):
            self._bindings[name] = current
        else:
            self._bindings.pop(name, None)

    def _begin_assignment(self) -> None:
        self._end_assignment()
        tokens = self._cursor.tokens
        index = self._cursor.position - 1
        # "x: int = 1" and "a, b := f()"
        while self._is_name(index) and self._is_name(index - 2) and tokens[index - 1].text in ":,":
            index -= 2
        self._current = None
        is_attribute = index > 0 and tokens[index - 1].text in _DOTS
        if self._is_name(index) and not is_attribute:
            self._assignment = _Assignment(tokens[index].text, depth=len(self._open))

    def _is_name(self, index: int) -> bool:
        return index >= 0 and self._cursor.tokens[index].kind == "name"

    def _end_statement(self) -> None:
        self._end_assignment()
        self._current = None

    def _end_assignment(self) -> None:
        """Finish the open assignment, if any."""
        assignment = self._assignment
        if assignment is None or len(self._open) > assignment.depth:
            return
        self._assignment = None
        if assignment.is_plain:
            self._bind(assignment.name)
        else:
            self._bindings.pop(assignment.name, None)
