"""A policy as plain data: where each value stands, and what is wrong with it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import BaseModel

from resay.errors import PolicyError

__all__ = [
    "Document",
    "Path",
    "Problem",
    "Spot",
    "UnreadableError",
    "check_bounds",
    "copy_mapping",
    "finite",
    "shortened",
    "without_surrogates",
]

Path = tuple[str | int, ...]
"""Where a value stands: keys and positions from the top."""

MAX_VALUES = 10_000
MAX_DEPTH = 50

_SHOWN = 60
_FUNCTION: Path = ("when", "call")
"""Where a policy made in Python may hold a function; in a file its name stands there."""
_SIMPLE_KEY = re.compile(r"[\w-]{1,60}")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a policy.

    Attributes:
        path: Where; empty for the policy as a whole.
        message: What is wrong and what to do about it.
        line: The line in the file, from 1; None where there is no file.
    """

    path: Path
    message: str
    line: int | None = None

    def text(self, source: str) -> str:
        """Return the problem as one line, `source:line: path: message`."""
        where = source if self.line is None else f"{source}:{self.line}"
        path = _path_text(self.path)
        return f"{where}: {path}: {self.message}" if path else f"{where}: {self.message}"


def _path_text(path: Path) -> str:
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _SIMPLE_KEY.fullmatch(step):
            parts.append(f".{step}" if parts else step)
        else:
            parts.append(f"[{shortened(step)}]")
    return "".join(parts)


def shortened(value: object) -> str:
    """Return the `repr` of a value, cut where it is too long for a message."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a value stands in the file.

    Attributes:
        key: The line of its key, or of the value itself in a list.
        value: The line on which the value starts.
        written: The value as written, where a variable was put in.
    """

    key: int
    value: int
    written: str | None = None


@dataclass(slots=True)
class Document:
    """Plain data, where it came from, and what was wrong with it.

    Attributes:
        data: Mappings, lists, text, numbers, booleans and nulls.
        spots: The place of every value; empty where there is no file.
        problems: What was found wrong while reading.
        lost: Places where None stands in for a value that could not be read.
    """

    data: Any = None
    spots: dict[Path, Spot] = field(default_factory=dict[Path, Spot])
    problems: list[Problem] = field(default_factory=list[Problem])
    lost: set[Path] = field(default_factory=set[Path])

    def report(self, path: Path, message: str, line: int | None = None) -> None:
        """Note a problem and go on reading."""
        self.problems.append(Problem(path, message, line))

    def lose(self, path: Path, message: str, line: int | None = None) -> None:
        """Note a problem for which a value could not be read, and go on with None for it."""
        self.report(path, message, line)
        self.lost.add(path)


class UnreadableError(Exception):
    """A problem after which there is no point in reading on."""

    def __init__(self, message: str, line: int | None = None, path: Path = ()) -> None:
        super().__init__(message)
        self.problem = Problem(path, message, line)


def copy_mapping(data: Mapping[Any, Any], *, source: str) -> Document:
    """Copy a policy given as a mapping, so that nobody can change it later.

    Args:
        data: The policy. `${NAME}` has no meaning in it.
        source: What to call it in messages.

    Returns:
        The data, with the problems that did not stand in the way of copying the rest.

    Raises:
        PolicyError: It is too large, too deep, or holds itself.
    """
    copying = _Copy()
    try:
        copying.document.data = copying.build(data, ())
    except UnreadableError as error:
        problem = error.problem
    else:
        return copying.document
    raise PolicyError([problem.text(source)])


def check_bounds(depth: int, values: int, line: int | None, path: Path = ()) -> None:
    """Stop at what is deeper or larger than a policy can need, as an alias bomb is.

    Args:
        depth: How many levels down the value stands.
        values: How many values there are so far.
        line: Its line, where there is a file.
        path: Its place.

    Raises:
        UnreadableError: It is too much.
    """
    if depth > MAX_DEPTH:
        raise UnreadableError(f"nested more than {MAX_DEPTH} levels deep", line, path[:4])
    if values > MAX_VALUES:
        raise UnreadableError(
            f"more than {MAX_VALUES} values once aliases (*name) are expanded; a policy needs few",
            line,
            path[:4],
        )


def without_surrogates(text: str) -> str | None:
    """Join surrogate pairs, as JSON writes them; None where one half is missing."""
    try:
        text.encode()
    except UnicodeEncodeError:
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            return None
    return text


def finite(value: object, path: Path, document: Document, line: int | None = None) -> object:
    """Return the value, or None and a problem in `document` where it is NaN or infinite."""
    if isinstance(value, float) and not math.isfinite(value):
        document.lose(path, f"must be a finite number, not {value!r}", line)
        return None
    return value


class _Copy:
    """Copies plain data; one per mapping."""

    def __init__(self) -> None:
        self.document = Document()
        self._values = 0

    def build(self, value: object, path: Path) -> Any:
        self._values += 1
        check_bounds(len(path), self._values, None, path)
        if isinstance(value, BaseModel):
            value = value.model_dump()
        if isinstance(value, Mapping):
            return self._mapping(cast("Mapping[object, object]", value), path)
        if isinstance(value, (list, tuple)):
            items = cast("list[object] | tuple[object, ...]", value)
            return [self.build(item, (*path, i)) for i, item in enumerate(items)]
        return self._leaf(value, path)

    def _mapping(self, value: Mapping[object, object], path: Path) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key, item in value.items():
            if isinstance(key, str) and without_surrogates(key) == key:
                data[key] = self.build(item, (*path, key))
            else:
                self.document.report(path, f"a key must be text, not {_type_name(key)}")
        return data

    def _leaf(self, value: object, path: Path) -> object:
        if isinstance(value, str):
            whole = without_surrogates(value)
            if whole is None:
                self.document.lose(path, "holds half of a surrogate pair")
            return whole
        if value is None or isinstance(value, (bool, int, float)):
            return finite(value, path, self.document)
        if path == _FUNCTION and callable(value):
            return value
        message = "must be text, a number, true, false, null, a list or a mapping"
        self.document.lose(path, f"{message}, not {_type_name(value)}")
        return None


def _type_name(value: object) -> str:
    return f"an object of type {type(value).__qualname__!r}"
