"""Reading of a policy, or of another file in the same format, from YAML.

The YAML has fewer surprises than PyYAML's defaults. `on`, `yes`, `010`, `1:30` and dates are text.
Duplicate keys, keys that are not text, tags, and more values or levels than a policy can need are
problems. `${NAME}` and `${NAME:-default}` in a value stand for an environment variable; the default
also replaces an empty one, and `$$` is one `$`. Substituted text never becomes structure; an
unquoted value is only typed again, so `${N:-7}` is a number and `"${N:-7}"` is text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import Any, cast

import yaml

from resay._internal.importing import name_as_written
from resay._internal.patterns import lazy_pattern
from resay.errors import PolicyError
from resay.policy.document import (
    Document,
    Path,
    Position,
    UnreadableError,
    check_bounds,
    finite,
    truncated,
    without_surrogates,
)

MAX_BYTES = 1024 * 1024
"""The largest file accepted, in bytes; a policy needs about 1,000."""

_VARIABLE = lazy_pattern(r"\$\$|\$\{([A-Za-z_]\w*)(?::-((?:[^}$]|\$(?!\{))*))?\}|\$\{", re.ASCII)
_INT = lazy_pattern(r"[-+]?(?:0|[1-9][0-9]{0,300})")
_FLOAT = lazy_pattern(
    r"[-+]?(?=\S*[.eE])(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
)
_WORDS: Mapping[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}


def read_text(path: FilePath, source: str, file_kind: str = "policy") -> str:
    """Read a policy file, or another file in the same format.

    Args:
        path: The file, in UTF-8.
        source: The name of the file in messages.
        file_kind: What messages call this kind of file.

    Raises:
        PolicyError: The file cannot be read, or is too large.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) <= MAX_BYTES:
            return data.decode("utf-8-sig")
        message = _too_large(file_kind)
    except UnicodeDecodeError as error:
        message = f"not UTF-8 (byte {error.start}); save the file as UTF-8"
    except FileNotFoundError:
        message = "no such file"
    except IsADirectoryError:
        message = "is a directory; pass a file"
    except OSError as error:
        message = f"cannot be read: {error.strerror or type(error).__name__}"
    # Raised outside the handlers, so that the traceback does not contain the text.
    raise PolicyError([f"{source}: {message}"])


def _too_large(file_kind: str) -> str:
    return f"larger than {MAX_BYTES:,} bytes; check that it is a {file_kind}"


def read_yaml(
    text: str,
    *,
    source: str,
    env: Mapping[str, str],
    file_kind: str = "policy",
    example: str = "chain: [{method: prompt}]",
) -> Document:
    """Parse the text of a policy, or of another file in the same format.

    Args:
        text: YAML, one document with a mapping at the top.
        source: The name of the text in messages; its path, if it has one.
        env: The environment variables.
        file_kind: What messages call this kind of file.
        example: The shortest valid text, shown if the text is empty.

    Returns:
        The data, with the problems that did not prevent reading the rest.

    Raises:
        PolicyError: The text cannot be read at all.
    """
    try:
        if len(text) > MAX_BYTES:
            raise UnreadableError(_too_large(file_kind))
        root = _compose(text, file_kind, example)
        converter = _Converter(env)
        converter.document.data = converter.convert(root, (), root.start_mark.line + 1)
    except UnreadableError as error:
        problem = error.problem
    else:
        return converter.document
    # Raised outside the handler, so that the traceback does not contain the text.
    raise PolicyError([problem.text(source)])


class _Loader(yaml.SafeLoader):
    """PyYAML's parser, with limits and without its type resolution."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._values = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self._depth += 1
        self._values += 1
        check_bounds(self._depth, self._values, self.line + 1)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def resolve(self, *_: object) -> str:  # pyright: ignore[reportIncompatibleMethodOverride] - we resolve the types
        # No tag, so that a node with a tag is one that is tagged in the file.
        return ""


def _compose(text: str, file_kind: str, example: str) -> yaml.Node:
    loader = _loader(text)
    try:
        return _only_document(loader, file_kind, example)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        raise UnreadableError(_syntax_message(error, text, line), line) from None
    except (ValueError, OverflowError):
        # PyYAML does not catch these for out-of-range numbers in directives and escapes.
        message = "not valid YAML: an escape or a number is out of range"
        raise UnreadableError(message, loader.line + 1) from None
    finally:
        loader.dispose()


def _loader(text: str) -> _Loader:
    try:
        return _Loader(text)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise UnreadableError("a character that YAML does not allow", line) from None


def _only_document(loader: _Loader, file_kind: str, example: str) -> yaml.Node:
    node = loader.get_node() if loader.check_node() else None
    if node is None or (isinstance(node, yaml.ScalarNode) and node.value == ""):
        raise UnreadableError(f"the {file_kind} is empty; the shortest is: {example}", 1)
    if loader.check_node():
        message = f"a second document begins here; a {file_kind} must be a single document"
        raise UnreadableError(message, loader.line + 1)
    if not isinstance(node, yaml.MappingNode):
        kind = "a list" if isinstance(node, yaml.SequenceNode) else "a single value"
        line = node.start_mark.line + 1
        raise UnreadableError(f"a {file_kind} must be a mapping (key: value), not {kind}", line)
    return node


def _syntax_message(error: yaml.MarkedYAMLError, text: str, line: int | None) -> str:
    problem = error.problem or error.context or "cannot be read"
    # PyYAML names the alias or tag, which may be the start of an unquoted password.
    if "alias" in problem:
        return "an alias (*name) without its anchor (&name); quote a value that begins with *"
    if "tag" in problem:
        return "tags (!name) are not supported; quote a value that begins with !"
    lines = text.split("\n")
    if line is not None and line <= len(lines) and "${" in lines[line - 1]:
        problem += "; inside { } and [ ], quote ${…}, or write the value on a line of its own"
    return f"not valid YAML: {problem}"


class _Converter:
    """Converts nodes to plain data; use one instance per text."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.document = Document()
        self._env = env
        self._values = 0
        self._open: set[int] = set()

    def convert(self, node: yaml.Node, path: Path, key_line: int) -> Any:
        line = node.start_mark.line + 1
        self._count(path, line)
        self.document.positions[path] = Position(key_line, line)
        self._refuse_tag(node, path, line)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path, Position(key_line, line))
        if isinstance(node, yaml.MappingNode):
            data: dict[str, Any] = {}
            self._fill(data, node, path)
            return data
        with self._inside(node, path):
            return [
                self.convert(item, (*path, i), item.start_mark.line + 1)
                for i, item in enumerate(cast("list[yaml.Node]", node.value))
            ]

    def _count(self, path: Path, line: int) -> None:
        self._values += 1
        check_bounds(len(path), self._values, line, path)

    def _refuse_tag(self, node: yaml.Node, path: Path, line: int) -> None:
        if node.tag:
            message = "tags (!name) are not supported; quote a value that begins with !"
            self.document.mark_unreadable(path, message, line)

    @contextmanager
    def _inside(self, node: yaml.Node, path: Path) -> Generator[None]:
        if id(node) in self._open:
            line = node.start_mark.line + 1
            raise UnreadableError("an alias (*name) refers to itself", line, path)
        self._open.add(id(node))
        yield
        self._open.remove(id(node))

    def _fill(self, data: dict[str, Any], node: yaml.MappingNode, path: Path) -> None:
        """Add keys that `data` lacks: first the node's own keys, then those it merges in."""
        with self._inside(node, path):
            key_lines: dict[str, int] = {}
            merged: list[yaml.Node] = []
            for key_node, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
                line = key_node.start_mark.line + 1
                key = self._key(key_node, path, line)
                if key is None:
                    continue
                if key in key_lines:
                    message = f"duplicate key {truncated(key)}, first used on line {key_lines[key]}"
                    self.document.report((*path, key), message, line)
                    continue
                key_lines[key] = line
                if key == "<<" and _is_plain(key_node):
                    merged.append(value)
                elif key not in data:
                    data[key] = self.convert(value, (*path, key), line)
            for value in merged:
                self._merge(data, value, path)

    def _merge(self, data: dict[str, Any], value: yaml.Node, path: Path) -> None:
        line = value.start_mark.line + 1
        is_list = isinstance(value, yaml.SequenceNode)
        sources = cast("list[yaml.Node]", value.value) if is_list else [value]
        for source in sources:
            self._count(path, line)
            if isinstance(source, yaml.MappingNode):
                self._refuse_tag(source, path, line)
                self._fill(data, source, path)
            else:
                message = "only a mapping, or a list of them, can be merged in"
                self.document.report((*path, "<<"), message, line)

    def _key(self, node: yaml.Node, path: Path, line: int) -> str | None:
        self._refuse_tag(node, path, line)
        if not isinstance(node, yaml.ScalarNode):
            self.document.report(path, "a key must be text, not a list or a mapping", line)
            return None
        text = cast("str", node.value)
        key = _scalar_value(text) if _is_plain(node) else text
        if not isinstance(key, str):
            message = f"a key must be text; write it as {truncated(text)}"
            self.document.report(path, message, line)
            return None
        return self._checked_text(key, path, line)

    def _scalar(self, node: yaml.ScalarNode, path: Path, position: Position) -> Any:
        written = cast("str", node.value)
        text = self._interpolated(written, path, position.value)
        if text is None:
            return None
        if text != written:
            self.document.positions[path] = Position(position.key, position.value, written)
            name_as_written(text, written)
        value = _scalar_value(text) if _is_plain(node) else text
        if isinstance(value, str):
            return self._checked_text(value, path, position.value)
        return finite(value, path, self.document, position.value)

    def _interpolated(self, text: str, path: Path, line: int) -> str | None:
        failed = False

        def value_of(match: re.Match[str]) -> str:
            nonlocal failed
            if match.group() == "$$":
                return "$"
            message, value = self._variable(match)
            if message:
                failed = True
                self.document.mark_unreadable(path, message, line)
            return value

        text = _VARIABLE.sub(value_of, text)
        return None if failed else text

    def _variable(self, match: re.Match[str]) -> tuple[str | None, str]:
        name, default = cast("tuple[str | None, str | None]", match.groups())
        if name is None:
            return (
                "invalid '${'; write ${NAME} or ${NAME:-default}, or '$${' for a literal '${'",
                "",
            )
        value = self._env.get(name)
        if default is not None:
            return None, value or default
        if value is None:
            message = f"the environment variable {name!r} is not set"
            return f"{message}; set it or write ${{{name}:-default}}", ""
        return None, value

    def _checked_text(self, text: str, path: Path, line: int) -> str | None:
        cleaned = without_surrogates(text)
        if cleaned is None:
            self.document.mark_unreadable(path, "contains an unpaired surrogate", line)
        return cleaned


def _is_plain(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.style is None


def _scalar_value(text: str) -> object:
    """Return the value of an unquoted scalar; anything ambiguous is text."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
