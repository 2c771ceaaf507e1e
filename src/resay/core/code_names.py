"""External names in code: imports, installed packages, calls and flags, to compare across samples.

A model that invents a package, or a function of one, rarely invents it twice. `CodeReader` finds
the external names that code uses: imported packages and their imported members, calls on them (and
on the results of calls), installed packages, and flags of commands. Names that the code defines
itself, and those of the language and its standard library, are left out.

Nothing is executed or parsed as a program: answers contain fragments, and text that only looks like
code. The code is split into tokens, which are read once, in linear time. Supported are Python,
JavaScript and TypeScript, Java, Go, Rust, C#, Ruby and shells.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from itertools import takewhile
from types import ModuleType

from resay._internal.event_loops import stop_if_abandoned
from resay.core.code import (
    MAX_CHARS,
    Code,
    CodeName,
    Language,
    NameKind,
    Path,
    Token,
    tokens_of,
)
from resay.lang.tables import word_set

__all__ = ["CodeReader", "is_standard"]


def is_standard(name: CodeName) -> bool:
    """Whether a name is known to belong to Python's standard library.

    Members of the more common modules are looked up in the module; members of the others are
    assumed to exist.
    """
    if name.language != "python" or name.kind in {"install", "flag"}:
        return False
    first = name.path[0]
    if first not in sys.stdlib_module_names:
        return False
    return name.kind == "package" or _is_defined(name.path)


# Modules whose import has no side effects.
_LOOKED_INTO = word_set(
    "argparse asyncio base64 collections contextlib copy csv dataclasses datetime decimal enum"
    " functools glob hashlib heapq html io itertools json logging math operator os pathlib pickle"
    " random re secrets shutil socket statistics string struct subprocess sys tempfile textwrap"
    " threading time typing urllib uuid"
)


@cache
def _module(name: str) -> object | None:
    try:
        return import_module(name)
    except ImportError:
        return None


def _is_defined(path: Path) -> bool:
    if path[0] not in _LOOKED_INTO:
        return True
    here: object = _module(path[0])
    for place, part in enumerate(path[1:], 1):
        # The attributes of a value are unknown, and so are those that a module creates on access.
        if not isinstance(here, (type, ModuleType)):
            return True
        bare = part.removesuffix("()")
        dotted = ".".join(path[: place + 1])
        owners = here.__mro__ if isinstance(here, type) else (here,)
        owner = next((one for one in owners if bare in vars(one)), None)
        if owner is not None:
            found: object = vars(owner)[bare]
        elif dotted in _SUBMODULES:
            found = _module(dotted)
        else:
            return False
        # The result of a function is unknown; that of a class is an instance of it.
        if part != bare and not isinstance(found, type):
            return True
        here = found
    return True


_SUBMODULES = word_set(
    "collections.abc html.parser json.decoder logging.config logging.handlers os.path"
    " urllib.error urllib.parse urllib.request"
)


# Commands that install packages, by the language of the packages.
_INSTALLS = re.compile(
    r"""
    (?:^|&&|\|\||;|\$\(|`)[ \t]*(?:[$%>!#][ \t]*)?(?:sudo[ \t]+)?
    (?:(?:python3?|py)[ \t]+-m[ \t]+)?
    (?: (?P<python>(?:uv[ \t]+)?pip[23]?[ \t]+install
        |(?:uv|poetry|pdm)[ \t]+add|pipenv[ \t]+install)
      | (?P<javascript>(?:npm|pnpm)[ \t]+(?:install|i|add)|(?:yarn|bun)[ \t]+add)
      | (?P<rust>cargo[ \t]+(?:add|install))
      | (?P<go>go[ \t]+(?:get|install))
      | (?P<ruby>gem[ \t]+install|bundle[ \t]+add)
      | (?P<csharp>dotnet[ \t]+add[ \t]+package)
    )
    [ \t]+(?P<rest>[^\n;&|`)]*)
    """,
    re.VERBOSE | re.MULTILINE,
)
_COMMAND = re.compile(
    r"(?:^|&&|\|\|?|;)[ \t]*(?:[$%>!#][ \t]+)?(?:sudo[ \t]+)?"
    r"(?P<command>[a-z][\w.-]{1,30})(?P<rest>(?:[ \t][^\n;&|]*)?)",
    re.MULTILINE,
)
_INSTALLED: list[Language] = ["python", "javascript", "rust", "go", "ruby", "csharp"]
_WORD = re.compile(r"\S+")
_PACKAGE = re.compile(r"[@A-Za-z][\w./@-]*[\w]|[A-Za-z]")
_FLAG = re.compile(r"--[a-z][\w-]{1,40}(?==|\Z)")
# The word after one of these flags is not a package.
_TAKES_VALUE = word_set(
    "-r --requirement -c --constraint -e --editable -i --index-url --extra-index-url -f -t --target"
    " --registry --version --features -F --group --source"
)


def commands(code: Code) -> Iterator[CodeName]:
    """Yield installed packages, and long flags of commands."""
    text = code.text[:MAX_CHARS]
    for match in _INSTALLS.finditer(text):
        stop_if_abandoned()
        language: Language = next(one for one in _INSTALLED if match[one])
        skips = False
        for word in _WORD.finditer(match["rest"]):
            token = word.group().strip("\"'")
            if token.startswith("#"):
                break
            if skips or token.startswith("-"):
                skips = not skips and token in _TAKES_VALUE
                continue
            name = _PACKAGE.match(_without_version(token))
            if name is None or "://" in token or token.startswith((".", "/")):
                continue
            at = code.start + match.start("rest") + word.start() + word.group().index(name.group())
            yield CodeName("install", language, (name.group(),), at, at + len(name.group()))
    for match in _COMMAND.finditer(text):
        stop_if_abandoned()
        for word in _WORD.finditer(match["rest"]):
            flag = _FLAG.match(word.group())
            if flag is not None:
                at = code.start + match.start("rest") + word.start()
                path = (match["command"], flag.group())
                yield CodeName("flag", "shell", path, at, at + len(flag.group()))


def _without_version(word: str) -> str:
    """Return the package name of "requests[socks]>=2", "react@18" and "@types/node@20"."""
    name = re.split(r"[\[=<>~!^;]", word, maxsplit=1)[0]
    at = name.find("@", 1)
    return name if at < 0 else name[:at]


_MAX_PARTS = 8
_LONGEST_NAME = 80
# Maximum number of tokens of an import.
_MAX_TOKENS = 120


@dataclass(slots=True)
class CodeReader:
    """Reads the code of one response, block by block, in order.

    Attributes:
        attributes: All names after a dot, regardless of their owner.
    """

    attributes: set[str] = field(default_factory=set[str])
    _known: dict[Language, dict[str, Path]] = field(default_factory=dict[Language, dict[str, Path]])
    _last: Language | None = None

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
            language = self._last or "python"
        if language is None:
            return
        if language == "shell":
            yield from commands(code)
            return
        if not code.inline:
            self._last = language
        known = self._known.setdefault(language, dict(_CUSTOMARY.get(language, {})))
        tokens = tokens_of(code, language)
        yield from _NameFinder(tokens, language, known, self.attributes).names()


# Customary names of packages, for responses that do not show the import.
_CUSTOMARY: Mapping[Language, Mapping[str, Path]] = {
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
_OPENING = {"(": ")", "[": "]", "{": "}"}
_SKIPPED = word_set(
    "await new return yield typeof in is not and or if else elif while match try"
    " async throw raise go defer ref mut pub static final const let var val print"
)
_DEFINES = word_set("def function fn func class struct enum interface trait fun")


class _NameFinder:
    """Reads tokens once, and tracks what names refer to."""

    def __init__(
        self,
        tokens: list[Token],
        language: Language,
        known: dict[str, Path],
        attributes: set[str],
    ) -> None:
        self._tokens = tokens
        self._language: Language = language
        self._known = known
        self._attributes = attributes
        self._at = 0
        self._current: Path | None = None
        self._stack: list[tuple[str, Path | None]] = []
        self._target: tuple[str, int] | None = None
        self._is_plain = True

    def names(self) -> Iterator[CodeName]:
        """Yield the names in order."""
        starts = True
        while self._at < len(self._tokens):
            stop_if_abandoned()
            token = self._tokens[self._at]
            if starts and token.kind == "name":
                before = self._at
                yield from self._import()
                if self._at > before:
                    continue
            yield from self._read(token)
            self._at += 1
            starts = (
                token.kind == "line"
                or token.text in {";", "{", "}"}
                or (starts and token.text in {">", "$", "."})
            )
        self._assign()

    def _peek(self, by: int = 0) -> Token:
        at = self._at + by
        return self._tokens[at] if 0 <= at < len(self._tokens) else _END

    def _read(self, token: Token) -> Iterator[CodeName]:
        if token.kind == "name":
            yield from self._read_name(token)
        elif token.kind == "line":
            following = self._peek(1).text
            if following not in {".", "?."} and not self._inside:
                self._assign()
                self._current = None
        elif token.text in _OPENING:
            self._stack.append((token.text, self._current if token.text == "(" else None))
            self._current = None
        elif token.text in {")", "]", "}"}:
            self._close(token.text)
        elif token.text in {"=", ":="} and not self._inside:
            self._begin_assignment()
        elif token.text == ";":
            self._assign()
            self._current = None
        elif token.text not in {".", "::", "?.", "?", "&", "\\"}:
            self._current = None
            if self._target and len(self._stack) == self._target[1]:
                self._is_plain = False

    @property
    def _inside(self) -> bool:
        """Whether the end of a line is insignificant: inside parentheses."""
        return bool(self._stack) and self._stack[-1][0] != "{"

    def _close(self, mark: str) -> None:
        if not self._stack:
            return
        opened, callee = self._stack.pop()
        self._current = None
        if opened == "(" and mark == ")" and callee:
            self._current = (*callee[:-1], _called(callee[-1]))

    def _read_name(self, token: Token) -> Iterator[CodeName]:
        before, text = self._peek(-1).text, token.text
        if before in {".", "::", "?."}:
            self._attributes.add(text)
            if self._current is None or text == "await":
                return
            if len(self._current) >= _MAX_PARTS or len(text) > _LONGEST_NAME:
                self._current = None
                return
            self._current = (*self._current, text)
            # Report "np.linalg.norm" as a whole, not its parts.
            if self._peek(1).text not in {".", "::", "?."} or self._peek(2).kind != "name":
                yield CodeName("member", self._language, self._current, token.start, token.end)
        else:
            self._read_root(text)

    def _read_root(self, text: str) -> None:
        """Read a name that does not follow a dot."""
        if text in _DEFINES:
            self._define()
        elif text == "for":
            for name in takewhile(lambda t: t.kind == "name" or t.text in ",(", self._after(8)):
                if name.text in {"in", "of"}:
                    break
                self._known.pop(name.text, None)
        elif text == "as" and self._language == "python":
            self._bind(self._peek(1).text)
        elif text not in _SKIPPED:
            self._current = self._known.get(text) or self._crate(text)

    def _crate(self, text: str) -> Path | None:
        """Return the crate at the beginning of a path; Rust does not require its import."""
        is_path = self._language == "rust" and self._peek(1).text == "::"
        return (text,) if is_path and text.islower() and text not in _RUST else None

    def _after(self, count: int) -> Sequence[Token]:
        return self._tokens[self._at + 1 : self._at + 1 + count]

    def _define(self) -> None:
        """Forget the names that a definition or its parameters shadow."""
        self._known.pop(self._peek(1).text, None)
        self._current = None
        if self._peek(2).text != "(":
            return
        for token in takewhile(lambda t: t.text != ")", self._tokens[self._at + 3 : self._at + 63]):
            self._known.pop(token.text, None)

    def _bind(self, name: str) -> None:
        """Bind a name to the result of the last call: `with httpx.Client() as client`."""
        current = self._current
        if current is not None and current[-1].endswith("()"):
            self._known[name] = current
        else:
            self._known.pop(name, None)

    def _begin_assignment(self) -> None:
        self._assign()
        at = self._at - 1
        # "x: int = 1" and "a, b := f()"
        while self._known_at(at) and self._known_at(at - 2) and self._tokens[at - 1].text in ":,":
            at -= 2
        self._current = None
        if self._known_at(at) and (at == 0 or self._tokens[at - 1].text not in {".", "?.", "::"}):
            self._target = self._tokens[at].text, len(self._stack)
            self._is_plain = True

    def _known_at(self, at: int) -> bool:
        return at >= 0 and self._tokens[at].kind == "name"

    def _assign(self) -> None:
        """Finish the open assignment, if any."""
        if self._target is None:
            return
        name, depth = self._target
        if len(self._stack) > depth:
            return
        self._target = None
        if self._is_plain:
            self._bind(name)
        else:
            self._known.pop(name, None)

    # The methods below read imports.

    def _import(self) -> Iterator[CodeName]:
        """Read the import that begins here, if any, and move past it."""
        word, language = self._peek().text, self._language
        if language == "python" and word == "import":
            yield from self._python_import()
        elif language == "python" and word == "from":
            yield from self._python_from()
        elif language == "javascript" and word in {"import", "const", "let", "var", "export"}:
            yield from self._javascript_import()
        elif language == "java" and word == "import":
            yield from self._dotted_import(("java", "javax", "kotlin", "scala", "jdk", "sun"))
        elif language == "csharp" and word in {"using", "global"}:
            yield from self._dotted_import(("System",))
        elif language == "go" and word == "import":
            yield from self._go_import()
        elif language == "rust" and word in {"use", "extern"}:
            yield from self._rust_use()
        elif language == "ruby" and word in {"require", "gem"}:
            named = self._peek(1) if self._peek(1).kind == "text" else self._peek(2)
            if named.kind == "text" and named.text.partition("/")[0] not in _RUBY:
                kind: NameKind = "package" if word == "require" else "install"
                yield self._name(kind, (named.text,), named)

    def _name(
        self, kind: NameKind, path: Path, first: Token, last: Token | None = None
    ) -> CodeName:
        end = (last or first).end
        return CodeName(kind, self._language, path, first.start, end, imported=kind == "member")

    def _dotted(self, mark: str = ".") -> list[Token]:
        """Read a dotted name and move past it."""
        parts: list[Token] = []
        while self._peek().kind == "name" and len(parts) < _MAX_PARTS:
            parts.append(self._peek())
            self._at += 1
            if self._peek().text != mark or self._peek(1).kind != "name":
                break
            self._at += 1
        return parts

    def _as(self, otherwise: str) -> str:
        """Read the alias after "as", if any, and move past it."""
        if self._peek().text == "as" and self._peek(1).kind == "name":
            self._at += 2
            return self._peek(-1).text
        return otherwise

    def _python_import(self) -> Iterator[CodeName]:
        self._at += 1
        while parts := self._dotted():
            path = tuple(part.text for part in parts)
            alias = self._as("")
            self._known[alias or path[0]] = path if alias else path[:1]
            yield self._name("package", path[:1], parts[0])
            if len(path) > 1:
                yield self._name("member", path, parts[-1])
            if self._peek().text != ",":
                break
            self._at += 1

    def _python_from(self) -> Iterator[CodeName]:
        self._at += 1
        parts = self._dotted()
        if not parts or self._peek().text != "import":
            # Its own module, "from . import x": these names shadow others.
            while self._peek().kind != "line" and self._peek() is not _END:
                self._known.pop(self._peek().text, None)
                self._at += 1
            return
        path = tuple(part.text for part in parts)
        yield self._name("package", path[:1], parts[0])
        self._at += 1
        is_open = self._peek().text == "("
        self._at += is_open
        while True:
            while self._peek().text == "," or (is_open and self._peek().kind == "line"):
                self._at += 1
            token = self._peek()
            if token.kind != "name":
                break
            self._at += 1
            self._known[self._as(token.text)] = (*path, token.text)
            yield self._name("member", (*path, token.text), token)
        self._at += is_open and self._peek().text == ")"

    def _javascript_import(self) -> Iterator[CodeName]:
        """Read `import … from "m"`, `import "m"` and `const … = require("m")`."""
        at = self._javascript_module()
        if at is None:
            return
        clause = self._tokens[self._at + 1 : at]
        named = self._tokens[at]
        self._at = at + 1
        parts = named.text.split("/")
        count = 2 if named.text.startswith("@") else 1
        path = ("/".join(parts[:count]), *parts[count:])
        is_own = not named.text or named.text[0] in "./#~"
        is_standard = path[0] in _NODE or named.text.startswith("node:")
        if not (is_own or is_standard):
            yield self._name("package", path[:1], replace(named, text=path[0]))
        for name, alias, token in _javascript_bound(clause):
            if is_own or is_standard:
                self._known.pop(alias, None)
                continue
            self._known[alias] = (*path, name) if name else path
            if name:
                yield self._name("member", (*path, name), token)

    def _javascript_module(self) -> int | None:
        """Return the index of the token that names the imported module; None without an import."""
        is_import = self._peek().text in {"import", "export"}
        depth = 0
        for at in range(self._at + 1, min(len(self._tokens), self._at + _MAX_TOKENS)):
            token, before = self._tokens[at], self._tokens[at - 1].text
            if token.kind == "text":
                is_named = before in {"from", "import"} if is_import else before == "("
                return at if is_named else None
            if token.text == "(" and (is_import or before != "require"):
                return None
            if token.text in {";", "=>"} or (token.kind == "line" and not depth):
                return None
            depth += (token.text == "{") - (token.text == "}")
        return None

    def _dotted_import(self, standard: Sequence[str]) -> Iterator[CodeName]:
        """Read `import a.b.C;` and `using A.B;`."""
        before = self._at
        self._at += 1
        if self._peek().text in {"static", "using"}:
            self._at += 1
        parts = self._dotted()
        path = tuple(part.text for part in parts)
        ends = self._peek().text in {";", ".", "as"} or self._peek().kind == "line"
        if not path or not ends:
            self._at = before
            return
        if path[0] in standard:
            return
        if len(path) == 1 or self._language == "csharp":
            yield self._name("package", path, parts[0], parts[-1])
            return
        yield self._name("package", path[:2], parts[0], parts[1])
        if self._peek().text != "." and len(path) > 2:
            self._known[self._as(path[-1])] = path
            yield self._name("member", path, parts[-1])

    def _go_import(self) -> Iterator[CodeName]:
        self._at += 1
        is_open = self._peek().text == "("
        self._at += is_open
        while self._peek() is not _END:
            token = self._peek()
            # A raw string may contain anything; a path contains no space.
            if token.kind == "text" and not any(map(str.isspace, token.text)):
                yield from self._go_module(token, self._peek(-1))
            elif token.kind == "line":
                if not is_open:
                    return
            elif token.kind != "name" and token.text not in "._":
                return
            self._at += 1

    def _go_module(self, token: Token, before: Token) -> Iterator[CodeName]:
        parts = token.text.split("/")
        if len(parts) > 1 and re.fullmatch(r"v\d+", parts[-1]):
            parts.pop()
        alias = before.text if before.kind == "name" and before.text != "import" else parts[-1]
        if "." not in parts[0]:
            self._known.pop(alias, None)
            return
        count = 3 if parts[0] in {"github.com", "gitlab.com", "bitbucket.org"} else 2
        path = ("/".join(parts[:count]), *parts[count:])[:_MAX_PARTS]
        self._known[alias] = path
        yield self._name("package", path[:1], replace(token, text=path[0]))
        if len(path) > 1:
            start = token.start + len("/".join((path[0], *path[1:-1]))) + 1
            yield self._name("member", path, Token("text", path[-1], start))

    def _rust_use(self) -> Iterator[CodeName]:
        """Read `use a::b::{c, d as e};`, with one level of braces."""
        before = self._at
        self._at += 1
        if self._peek().text == "crate":
            self._at += 1
        parts = self._dotted("::")
        path = tuple(part.text for part in parts)
        following = self._peek().text
        if not path or following not in {";", "::", "as"}:
            self._at = before
            return
        if path[0] in _RUST:
            return
        yield self._name("package", path[:1], parts[0])
        if following == "::":
            yield from self._rust_braces(path)
            return
        self._known[self._as(path[-1])] = path
        if len(path) > 1:
            yield self._name("member", path, parts[-1])

    def _rust_braces(self, path: Path) -> Iterator[CodeName]:
        self._at += 1
        if self._peek().text != "{":
            return
        self._at += 1
        while self._peek().text not in {"}", ";"} and self._peek() is not _END:
            inner = self._dotted("::")
            if not inner:
                if self._peek().text == "{":
                    return
                self._at += 1
                continue
            whole = (*path, *(part.text for part in inner))[:_MAX_PARTS]
            self._known[self._as(whole[-1])] = whole
            if inner[-1].text != "self":
                yield self._name("member", whole, inner[-1])


_END = Token("end", "", 0)


def _called(part: str) -> str:
    return part if part.endswith("()") else f"{part}()"


def _javascript_bound(clause: Sequence[Token]) -> Iterator[tuple[str, str, Token]]:
    """Yield the bindings of an import: the imported name (empty for all), its alias, its token."""
    depth = at = 0
    while at < len(clause):
        token = clause[at]
        after = [other.text for other in clause[at + 1 : at + 3]]
        depth += (token.text == "{") - (token.text == "}")
        if token.text in {"=", "from"}:
            return
        if token.kind == "name" and token.text != "type":
            if len(after) == 2 and after[0] in {"as", ":"}:
                yield token.text if depth else "", after[1], token
                at += 2
            elif token.text == "as":
                yield "", after[0] if after else "", token
                at += 1
            else:
                yield token.text if depth else "", token.text, token
        at += 1


_RUST = word_set("std core alloc crate self super")
_NODE = word_set(
    "assert async_hooks buffer child_process cluster console constants crypto dgram dns domain"
    " events fs http http2 https inspector module net os path perf_hooks process punycode"
    " querystring readline repl stream string_decoder test timers tls tty url util v8 vm wasi"
    " worker_threads zlib"
)
_RUBY = word_set(
    "json net set date time uri csv yaml erb fileutils tempfile open-uri optparse ostruct digest"
    " securerandom socket logger benchmark pathname stringio timeout bigdecimal zlib open3"
    " forwardable singleton observer English shellwords pp prime matrix rexml openssl"
    " base64 minitest"
)
