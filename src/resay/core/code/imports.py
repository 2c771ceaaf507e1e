"""Reads imports: which packages and members code imports, and by which names it then uses them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from resay._internal.patterns import lazy_pattern
from resay.core.code.cursor import END, MAX_PARTS, TokenCursor
from resay.core.code.names import CodeLanguage, CodeName, NameKind, Path
from resay.core.code.tokens import CodeToken
from resay.lang.tables import word_set

# Maximum number of tokens of an import.
_MAX_TOKENS = 120
_GO_VERSION = lazy_pattern(r"v\d+")
_GO_HOSTS = frozenset({"github.com", "gitlab.com", "bitbucket.org"})
_JAVA_STANDARD = word_set("java javax kotlin scala jdk sun")
_CSHARP_STANDARD = word_set("System")
RUST_STANDARD = word_set("std core alloc crate self super")
"""The beginnings of paths in Rust that name no other package."""
_NODE_STANDARD = word_set(
    "assert async_hooks buffer child_process cluster console constants crypto dgram dns domain"
    " events fs http http2 https inspector module net os path perf_hooks process punycode"
    " querystring readline repl stream string_decoder test timers tls tty url util v8 vm wasi"
    " worker_threads zlib"
)
_RUBY_STANDARD = word_set(
    "json net set date time uri csv yaml erb fileutils tempfile open-uri optparse ostruct digest"
    " securerandom socket logger benchmark pathname stringio timeout bigdecimal zlib open3"
    " forwardable singleton observer English shellwords pp prime matrix rexml openssl"
    " base64 minitest"
)


@dataclass(slots=True)
class ImportReader:
    """Reads imports and records what they bind names to.

    Attributes:
        cursor: The tokens.
        language: Their language.
        bindings: What each name refers to, which imports change.
    """

    cursor: TokenCursor
    language: CodeLanguage
    bindings: dict[str, Path]

    def read(self) -> Iterator[CodeName]:
        """Read the import that begins at the cursor, if any, and move past it."""
        word, language = self.cursor.current.text, self.language
        if language == "python" and word == "import":
            yield from self._python_import()
        elif language == "python" and word == "from":
            yield from self._python_from()
        elif language == "javascript" and word in {"import", "const", "let", "var", "export"}:
            yield from self._javascript_import()
        elif language == "java" and word == "import":
            yield from self._dotted_import(_JAVA_STANDARD)
        elif language == "csharp" and word in {"using", "global"}:
            yield from self._dotted_import(_CSHARP_STANDARD)
        elif language == "go" and word == "import":
            yield from self._go_import()
        elif language == "rust" and word in {"use", "extern"}:
            yield from self._rust_use()
        elif language == "ruby" and word in {"require", "gem"}:
            yield from self._ruby_require()

    def _package(self, path: Path, first: CodeToken, last: CodeToken | None = None) -> CodeName:
        """Return an imported package, given its first and last token."""
        return self._name("package", path, first, last)

    def _member(self, path: Path, token: CodeToken) -> CodeName:
        """Return an imported member, given its token."""
        return self._name("member", path, token, imported=True)

    def _name(
        self,
        kind: NameKind,
        path: Path,
        first: CodeToken,
        last: CodeToken | None = None,
        *,
        imported: bool = False,
    ) -> CodeName:
        return CodeName(
            kind=kind,
            language=self.language,
            path=path,
            start=first.start,
            end=(last or first).end,
            imported=imported,
        )

    def _python_import(self) -> Iterator[CodeName]:
        """Read `import a.b as c, d`."""
        cursor = self.cursor
        cursor.advance()
        while parts := cursor.read_dotted():
            path = _path(parts)
            alias = cursor.read_alias("")
            if alias:
                self.bindings[alias] = path
            else:
                self.bindings[path[0]] = path[:1]
            yield self._package(path[:1], parts[0])
            if len(path) > 1:
                yield self._member(path, parts[-1])
            if not cursor.skip(","):
                break

    def _python_from(self) -> Iterator[CodeName]:
        """Read `from a.b import c, d as e`."""
        cursor = self.cursor
        cursor.advance()
        parts = cursor.read_dotted()
        if not parts or not cursor.skip("import"):
            # Its own module, "from . import x": these names shadow others.
            while cursor.current.kind != "line" and cursor.current is not END:
                self.bindings.pop(cursor.current.text, None)
                cursor.advance()
            return
        path = _path(parts)
        yield self._package(path[:1], parts[0])
        is_open = cursor.skip("(")
        while True:
            while cursor.current.text == "," or (is_open and cursor.current.kind == "line"):
                cursor.advance()
            token = cursor.current
            if token.kind != "name":
                break
            cursor.advance()
            member = (*path, token.text)
            self.bindings[cursor.read_alias(token.text)] = member
            yield self._member(member, token)
        if is_open:
            cursor.skip(")")

    def _javascript_import(self) -> Iterator[CodeName]:
        """Read `import … from "m"`, `import "m"` and `const … = require("m")`."""
        cursor = self.cursor
        index = self._javascript_module()
        if index is None:
            return
        clause = cursor.tokens[cursor.position + 1 : index]
        module = cursor.tokens[index]
        cursor.position = index + 1
        parts = module.text.split("/")
        package_parts = 2 if module.text.startswith("@") else 1
        package = "/".join(parts[:package_parts])
        path = (package, *parts[package_parts:])
        is_own = not module.text or module.text[0] in "./#~"
        is_standard = package in _NODE_STANDARD or module.text.startswith("node:")
        is_external = not is_own and not is_standard
        if is_external:
            yield self._package((package,), replace(module, text=package))
        for binding in _javascript_bindings(clause):
            if not is_external:
                self.bindings.pop(binding.alias, None)
                continue
            member = (*path, binding.name) if binding.name else path
            self.bindings[binding.alias] = member
            if binding.name:
                yield self._member(member, binding.token)

    def _javascript_module(self) -> int | None:
        """Return the index of the token that names the imported module; None without an import."""
        tokens, begin = self.cursor.tokens, self.cursor.position
        is_import = tokens[begin].text in {"import", "export"}
        depth = 0
        for index in range(begin + 1, min(len(tokens), begin + _MAX_TOKENS)):
            token, before = tokens[index], tokens[index - 1].text
            if token.kind == "text":
                is_module = before in {"from", "import"} if is_import else before == "("
                return index if is_module else None
            if token.text == "(" and (is_import or before != "require"):
                return None
            if token.text in {";", "=>"} or (token.kind == "line" and not depth):
                return None
            depth += (token.text == "{") - (token.text == "}")
        return None

    def _dotted_import(self, standard: frozenset[str]) -> Iterator[CodeName]:
        """Read `import a.b.C;` and `using A.B;`.

        Args:
            standard: The first parts of the names of the standard library.
        """
        cursor = self.cursor
        begin = cursor.position
        cursor.advance()
        if cursor.current.text in {"static", "using"}:
            cursor.advance()
        parts = cursor.read_dotted()
        path = _path(parts)
        is_complete = cursor.current.text in {";", ".", "as"} or cursor.current.kind == "line"
        if not path or not is_complete:
            cursor.position = begin
            return
        if path[0] in standard:
            return
        if len(path) == 1 or self.language == "csharp":
            yield self._package(path, parts[0], parts[-1])
            return
        yield self._package(path[:2], parts[0], parts[1])
        if cursor.current.text != "." and len(path) > 2:
            self.bindings[cursor.read_alias(path[-1])] = path
            yield self._member(path, parts[-1])

    def _go_import(self) -> Iterator[CodeName]:
        """Read `import "a/b"` and `import ( … )`."""
        cursor = self.cursor
        cursor.advance()
        is_open = cursor.skip("(")
        while cursor.current is not END:
            token = cursor.current
            # A raw string may contain anything; a path contains no space.
            if token.kind == "text" and not any(map(str.isspace, token.text)):
                yield from self._go_module(token, before=cursor.peek(-1))
            elif token.kind == "line":
                if not is_open:
                    return
            elif token.kind != "name" and token.text not in "._":
                return
            cursor.advance()

    def _go_module(self, token: CodeToken, before: CodeToken) -> Iterator[CodeName]:
        parts = token.text.split("/")
        if len(parts) > 1 and _GO_VERSION.fullmatch(parts[-1]):
            parts.pop()
        has_alias = before.kind == "name" and before.text != "import"
        alias = before.text if has_alias else parts[-1]
        is_standard = "." not in parts[0]
        if is_standard:
            self.bindings.pop(alias, None)
            return
        package_parts = 3 if parts[0] in _GO_HOSTS else 2
        package = "/".join(parts[:package_parts])
        path = (package, *parts[package_parts:])[:MAX_PARTS]
        self.bindings[alias] = path
        yield self._package((package,), replace(token, text=package))
        if len(path) > 1:
            start = token.start + len("/".join(path[:-1])) + 1
            yield self._member(path, CodeToken("text", path[-1], start))

    def _rust_use(self) -> Iterator[CodeName]:
        """Read `use a::b::{c, d as e};`, with one level of braces."""
        cursor = self.cursor
        begin = cursor.position
        cursor.advance()
        cursor.skip("crate")
        parts = cursor.read_dotted("::")
        path = _path(parts)
        following = cursor.current.text
        if not path or following not in {";", "::", "as"}:
            cursor.position = begin
            return
        if path[0] in RUST_STANDARD:
            return
        yield self._package(path[:1], parts[0])
        if following == "::":
            yield from self._rust_braces(path)
            return
        self.bindings[cursor.read_alias(path[-1])] = path
        if len(path) > 1:
            yield self._member(path, parts[-1])

    def _rust_braces(self, path: Path) -> Iterator[CodeName]:
        cursor = self.cursor
        cursor.advance()
        if not cursor.skip("{"):
            return
        while cursor.current.text not in {"}", ";"} and cursor.current is not END:
            parts = cursor.read_dotted("::")
            if not parts:
                if cursor.current.text == "{":
                    return
                cursor.advance()
                continue
            member = (*path, *_path(parts))[:MAX_PARTS]
            self.bindings[cursor.read_alias(member[-1])] = member
            if parts[-1].text != "self":
                yield self._member(member, parts[-1])

    def _ruby_require(self) -> Iterator[CodeName]:
        """Read `require "a/b"`, `require("a")` and `gem "a"`."""
        cursor = self.cursor
        library = cursor.peek(1) if cursor.peek(1).kind == "text" else cursor.peek(2)
        if library.kind != "text" or library.text.partition("/")[0] in _RUBY_STANDARD:
            return
        kind: NameKind = "package" if cursor.current.text == "require" else "install"
        yield self._name(kind, (library.text,), library)


@dataclass(frozen=True, slots=True)
class _JavascriptBinding:
    """A name that an import binds.

    Attributes:
        name: The imported member; empty for the whole module.
        alias: The name by which the code uses it.
        token: The token of the imported name.
    """

    name: str
    alias: str
    token: CodeToken


def _javascript_bindings(clause: Sequence[CodeToken]) -> Iterator[_JavascriptBinding]:
    """Yield what an import binds.

    Args:
        clause: The tokens between its first word and the module.
    """
    depth = index = 0
    while index < len(clause):
        token = clause[index]
        following = [after.text for after in clause[index + 1 : index + 3]]
        depth += (token.text == "{") - (token.text == "}")
        if token.text in {"=", "from"}:
            return
        if token.kind == "name" and token.text != "type":
            name = token.text if depth else ""
            if len(following) == 2 and following[0] in {"as", ":"}:
                yield _JavascriptBinding(name, following[1], token)
                index += 2
            elif token.text == "as":
                yield _JavascriptBinding("", following[0] if following else "", token)
                index += 1
            else:
                yield _JavascriptBinding(name, token.text, token)
        index += 1


def _path(parts: Sequence[CodeToken]) -> Path:
    return tuple(part.text for part in parts)
