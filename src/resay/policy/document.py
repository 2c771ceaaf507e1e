"""A policy as plain data, with the position of each value."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, cast

from resay._internal.patterns import lazy_pattern

Path = tuple[str | int, ...]
"""The path of a value: keys and list indexes from the top."""
MAX_VALUES = 10_000
MAX_DEPTH = 50
_MAX_REPR_CHARS = 60
_SIMPLE_KEY = lazy_pattern(r"[\w-]{1,60}")


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem in a policy.

    Attributes:
        path: Its path; empty for the policy as a whole.
        message: What is wrong and how to fix it.
        line: The line in the file, from 1; None without a file.
    """

    path: Path
    message: str
    line: int | None = None

    @property
    def key(self) -> str:
        """Its path as messages show it: `chain[0].method`."""
        return _path_text(self.path)

    def text(self, source: str) -> str:
        """Return the problem as one line, `source:line: path: message`."""
        position = source if self.line is None else f"{source}:{self.line}"
        key = self.key
        return f"{position}: {key}: {self.message}" if key else f"{position}: {self.message}"


def _path_text(path: Path) -> str:
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _SIMPLE_KEY.fullmatch(step):
            parts.append(f".{step}" if parts else step)
        else:
            parts.append(f"[{truncated(step)}]")
    return "".join(parts)


def truncated(value: object) -> str:
    """Return the `repr` of a value, truncated if it is too long for a message."""
    text = repr(value)
    return text if len(text) <= _MAX_REPR_CHARS else f"{text[: _MAX_REPR_CHARS - 1]}…"


@dataclass(frozen=True, slots=True)
class Position:
    """The position of a value in the file.

    Attributes:
        key: The line of its key, or of the value itself in a list.
        value: The line on which the value starts.
        written: The value as written, if a variable was substituted in it.
    """

    key: int
    value: int
    written: str | None = None


@dataclass(slots=True)
class Document:
    """Plain data with its positions in the file and the problems found in it.

    Attributes:
        data: Mappings, lists, text, numbers, booleans and nulls.
        positions: The position of every value; empty without a file.
        problems: The problems found while reading.
        unreadable: Paths at which None replaces a value that could not be read.
    """

    data: Any = None
    positions: dict[Path, Position] = field(default_factory=dict[Path, Position])
    problems: list[Problem] = field(default_factory=list[Problem])
    unreadable: set[Path] = field(default_factory=set[Path])

    def report(self, path: Path, message: str, line: int | None = None) -> None:
        """Record a problem and continue reading."""
        self.problems.append(Problem(path, message, line))

    def mark_unreadable(self, path: Path, message: str, line: int | None = None) -> None:
        """Record a problem that makes a value unreadable, and continue with None in its place."""
        self.report(path, message, line)
        self.unreadable.add(path)

    def value_at(self, path: Path, default: object = None) -> object:
        """Return the value at a path, or the default if there is none."""
        value: object = self.data
        for step in path:
            if isinstance(value, dict) and step in value:
                value = cast("dict[str | int, object]", value)[step]
            elif isinstance(value, list) and isinstance(step, int):
                items = cast("list[object]", value)
                if step >= len(items):
                    return default
                value = items[step]
            else:
                return default
        return value

    def line_of(self, path: Path) -> int | None:
        """Return a value's line; for an absent one, that of the nearest enclosing key."""
        position = self.positions.get(path)
        if position is not None:
            return position.value
        while path and path not in self.positions:
            path = path[:-1]
        return self.positions[path].key if path in self.positions else None


class UnreadableError(Exception):
    """A problem that makes further reading pointless."""

    def __init__(self, message: str, line: int | None = None, path: Path = ()) -> None:
        super().__init__(message)
        self.problem = Problem(path, message, line)


def check_bounds(depth: int, values: int, line: int | None, path: Path = ()) -> None:
    """Refuse data deeper or larger than any policy needs, such as an alias bomb.

    Args:
        depth: The nesting depth of the value.
        values: The number of values so far.
        line: The line of the value, if there is a file.
        path: The path of the value.

    Raises:
        UnreadableError: A bound is exceeded.
    """
    if depth > MAX_DEPTH:
        raise UnreadableError(f"nested more than {MAX_DEPTH} levels deep", line, path[:4])
    if values > MAX_VALUES:
        raise UnreadableError(
            f"more than {MAX_VALUES} values after expanding aliases (*name); remove some",
            line,
            path[:4],
        )


def without_surrogates(text: str) -> str | None:
    """Join surrogate pairs, as in JSON escapes; return None if one half is missing."""
    try:
        text.encode()
    except UnicodeEncodeError:
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            return None
    return text


def finite(value: object, path: Path, document: Document, line: int | None = None) -> object:
    """Return the value; if it is NaN or infinite, None, with a problem added to `document`."""
    if isinstance(value, float) and not math.isfinite(value):
        document.mark_unreadable(path, f"must be a finite number, not {value!r}", line)
        return None
    return value
