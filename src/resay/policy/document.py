"""A policy as plain data: the position of each value, and readable validation errors."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal, cast, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from resay._internal.strict import MISSING_TAG, UNKNOWN_TAG
from resay.errors import PolicyError
from resay.scorers import ScorerConfig, imported_config, registry

Path = tuple[str | int, ...]
"""The path of a value: keys and list indexes from the top."""
MAX_VALUES = 10_000
MAX_DEPTH = 50
_SHOWN = 60
_FUNCTION: Path = ("when", "call")
"""Where a policy made in Python may contain a function; a file contains its name."""
_SIMPLE_KEY = re.compile(r"[\w-]{1,60}")


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
    """Return the `repr` of a value, truncated if it is too long for a message."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


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


class UnreadableError(Exception):
    """A problem that makes further reading pointless."""

    def __init__(self, message: str, line: int | None = None, path: Path = ()) -> None:
        super().__init__(message)
        self.problem = Problem(path, message, line)


def copy_mapping(data: Mapping[Any, Any], *, source: str) -> Document:
    """Copy a policy given as a mapping, so that later changes to the mapping do not affect it.

    Args:
        data: The policy. `${NAME}` has no meaning in it.
        source: The name of the policy in messages.

    Returns:
        The data, with the problems that did not prevent copying the rest.

    Raises:
        PolicyError: The policy is too large, too deep, or contains itself.
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


class _Copy:
    """Copies plain data; use one instance per mapping."""

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
            cleaned = without_surrogates(value)
            if cleaned is None:
                self.document.mark_unreadable(path, "contains an unpaired surrogate")
            return cleaned
        if value is None or isinstance(value, (bool, int, float)):
            return finite(value, path, self.document)
        if path == _FUNCTION and callable(value):
            return value
        message = "must be text, a number, true, false, null, a list or a mapping"
        self.document.mark_unreadable(path, f"{message}, not {_type_name(value)}")
        return None


def _type_name(value: object) -> str:
    return f"an object of type {type(value).__qualname__!r}"


_CREDENTIALS = re.compile(r"://[^/\s]*@")
_SECRET = re.compile(
    r"api_?key|access_?key|private_?key|token|secret|authorization|passw|credential|cookie",
    re.IGNORECASE,
)
_HIDDEN = "'***'"
# Shorter ones would also match inside ordinary words.
_SHORTEST_SECRET = 6
_KINDS: Mapping[str, str] = {
    "a whole number": "int_type int_parsing int_parsing_size int_from_float",
    "a number": "float_type float_parsing decimal_type decimal_parsing",
    "a finite number": "finite_number",
    "true or false": "bool_type bool_parsing",
    "text": "string_type string_sub_type string_unicode",
    "null": "none_required",
    "a mapping": "model_type model_attributes_type dict_type mapping_type dataclass_type",
    "a list": "list_type tuple_type set_type frozen_set_type iterable_type",
}
_EXPECTED = {kind: expected for expected, kinds in _KINDS.items() for kind in kinds.split()}
_BOUNDS: Mapping[str, str] = {
    "greater_than": "greater than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "multiple_of": "a multiple of {multiple_of}",
    "string_pattern_mismatch": "text that matches {pattern!r}",
}
# A number with a leading zero is text even without quotes.
_UNQUOTED: Mapping[str, re.Pattern[str]] = {
    "int_type": re.compile(r"-?(?:0|[1-9][0-9]*)"),
    "float_type": re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"),
    "bool_type": re.compile(r"true|false"),
}
_SIZES: Mapping[str, str] = {
    "too_short": "must have at least {min_length}, not {actual_length}",
    "too_long": "must have at most {max_length}, not {actual_length}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
}
_MISSING = frozenset({"missing", MISSING_TAG})
_CHOICES = frozenset({"literal_error", "enum"})
_QUOTED = re.compile(r"'([^']*)'")
_PART = re.compile(r"[\w-]+")


@dataclass(frozen=True, slots=True)
class _Finding:
    """One error: either the expected kind of value, or a message."""

    path: Path
    expected: str | None = None
    message: str = ""
    hint: str = ""


def problems_of(
    error: ValidationError, document: Document, model: type[BaseModel]
) -> list[Problem]:
    """Return readable problems for pydantic's validation errors.

    Args:
        error: pydantic's errors.
        document: The validated document.
        model: The model it was validated with.

    Returns:
        One problem for each thing to fix, without those that merely follow from problems found
        while reading.
    """
    errors = error.errors(include_url=False, include_input=False)
    findings = [
        _finding(details, document, model)
        for details in errors
        if not _is_consequence(details, document)
    ]
    return [*_type_problems(findings, document), *_statements(findings, document)]


def _is_consequence(details: ErrorDetails, document: Document) -> bool:
    """Return whether this error merely follows from another problem."""
    kind = details["type"]
    path = _data_path(details, document.data)
    if kind == "too_short":
        # pydantic does not count the rejected entries.
        least: int = details.get("ctx", {})["min_length"]
        value = _value_at(path, document.data)
        return isinstance(value, list) and len(cast("list[object]", value)) >= least
    if kind == "default_factory_not_called":
        return True
    if kind == "extra_forbidden":
        return False
    return any(_related(path, other) for other in document.unreadable)


def _related(one: Path, other: Path) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _type_problems(findings: list[_Finding], document: Document) -> Iterator[Problem]:
    """Join what union members expect; if the type of one matched, only its errors count."""
    paths = dict.fromkeys(f.path for f in findings if f.expected)
    for path in paths:
        inside = [f for f in findings if f.path[: len(path)] == path]
        if any(len(f.path) > len(path) or not f.expected for f in inside):
            continue
        here = [f for f in findings if f.path == path and f.expected]
        expected = " or ".join(dict.fromkeys(f.expected or "" for f in here))
        hint = next((f.hint for f in here if f.hint), "")
        message = f"must be {expected}, not {_shown(path, document)}{hint}"
        yield Problem(path, message, _line(path, document))


def _statements(findings: list[_Finding], document: Document) -> Iterator[Problem]:
    for finding in dict.fromkeys(f for f in findings if not f.expected):
        yield Problem(finding.path, finding.message, _line(finding.path, document))


def _finding(details: ErrorDetails, document: Document, model: type[BaseModel]) -> _Finding:
    kind = details["type"]
    path = _data_path(details, document.data)
    context = details.get("ctx", {})
    if kind in _EXPECTED:
        return _Finding(path, _EXPECTED[kind], hint=_quotes_hint(kind, path, document))
    if kind in _CHOICES:
        expected = str(context["expected"])
        return _Finding(path, expected, hint=_choice_hint(expected, path, document))
    if kind in _BOUNDS:
        bounds = {name: _plain_number(bound) for name, bound in context.items()}
        return _Finding(path, _BOUNDS[kind].format_map(bounds))
    return _Finding(path, message=_message(details, path, document, model))


def _plain_number(bound: object) -> object:
    return int(bound) if isinstance(bound, float) and bound.is_integer() else bound


def _message(details: ErrorDetails, path: Path, document: Document, model: type[BaseModel]) -> str:
    kind = details["type"]
    context = details.get("ctx", {})
    if kind == "missing":
        return "required, but missing"
    if kind == MISSING_TAG:
        return f"required, but missing; there are {_listed(context['known'])}"
    if kind == UNKNOWN_TAG:
        return _unknown_tag(path, context, document)
    if kind == "extra_forbidden":
        return _unknown_key(path, document, model)
    if kind in _SIZES:
        return _size(kind, context)
    return _validator_message(details, path, document)


def _unknown_tag(path: Path, context: Mapping[str, Any], document: Document) -> str:
    what = f"unknown {context['noun']} {_shown(path, document)}"
    return f"{what}; {_nearest(_value_at(path, document.data), context['known'])}"


def _unknown_key(path: Path, document: Document, model: type[BaseModel]) -> str:
    key = path[-1]
    known = _known_keys(path[:-1], document.data, model)
    what = f"unknown key {shortened(key)}"
    return f"{what}; {_nearest(key, known)}" if known else what


def _nearest(value: object, known: Iterable[str]) -> str:
    names = list(known)
    near = get_close_matches(value.casefold(), names, n=1) if isinstance(value, str) else []
    return f"did you mean {near[0]!r}?" if near else f"there are {_listed(names)}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _size(kind: str, context: Mapping[str, Any]) -> str:
    if context.get("min_length") == 1:
        return "must not be empty"
    return _SIZES[kind].format_map(context)


def _validator_message(details: ErrorDetails, path: Path, document: Document) -> str:
    """Return the message of a validator, which may be third-party code, without secrets."""
    if _is_secret(path):
        return "is not valid"
    cause = details.get("ctx", {}).get("error")
    text = str(cause) if isinstance(cause, Exception) else details["msg"]
    text = " ".join(text.replace("Input should be", "must be").split())
    for secret in _secrets(document):
        text = text.replace(secret, "***")
    for part in _parts_from_environment(path, document):
        text = re.sub(rf"(?<!\w){re.escape(part)}(?!\w)", "***", text)
    return text or "is not valid"


def _parts_from_environment(path: Path, document: Document) -> list[str]:
    """Return the parts of a value that only its variables contain, such as a module's name.

    A message about `package.module:name` names the module and the name separately.
    """
    position = document.positions.get(path)
    if position is None or position.written is None:
        return []
    parts = _PART.findall(str(_value_at(path, document.data)))
    written = _PART.findall(position.written)
    return sorted((part for part in parts if part not in written), key=len, reverse=True)


def _quotes_hint(kind: str, path: Path, document: Document) -> str:
    value = _value_at(path, document.data)
    if not isinstance(value, str) or kind not in _UNQUOTED:
        return ""
    return "; write it without quotes" if _UNQUOTED[kind].fullmatch(value) else ""


def _choice_hint(expected: str, path: Path, document: Document) -> str:
    value = _value_at(path, document.data)
    choices: list[str] = _QUOTED.findall(expected)
    near = get_close_matches(value.casefold(), choices, n=1) if isinstance(value, str) else []
    return f"; did you mean {near[0]!r}?" if near else ""


def _data_path(details: ErrorDetails, data: object) -> Path:
    """Return the path without the names of union members and validators that pydantic inserts."""
    loc = details["loc"]
    path: Path = ()
    for step in loc:
        if _value_at((*path, step), data, default=_Nothing) is not _Nothing:
            path = (*path, step)
    return (*path, loc[-1]) if details["type"] in _MISSING else path


class _Nothing:
    """Marks an absent value."""


def _value_at(path: Path, data: object, default: object = None) -> object:
    for step in path:
        if isinstance(data, dict) and step in data:
            data = cast("dict[str | int, object]", data)[step]
        elif isinstance(data, list) and isinstance(step, int):
            items = cast("list[object]", data)
            if step >= len(items):
                return default
            data = items[step]
        else:
            return default
    return data


def _line(path: Path, document: Document) -> int | None:
    """Return the value's line; for a missing or unknown key, that of the nearest enclosing key."""
    position = document.positions.get(path)
    if position is not None:
        return position.value
    while path and path not in document.positions:
        path = path[:-1]
    return document.positions[path].key if path in document.positions else None


def _shown(path: Path, document: Document) -> str:
    if _is_secret(path):
        return _HIDDEN
    position = document.positions.get(path)
    if position is not None and position.written is not None:
        # Values from the environment must not appear in logs.
        return f"the value of {shortened(position.written)}"
    value = _value_at(path, document.data)
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    if isinstance(value, str) and _CREDENTIALS.search(value):
        return _HIDDEN
    words = {None: "null", True: "true", False: "false"}
    return words[value] if value is None or isinstance(value, bool) else shortened(value)


def _is_secret(path: Path) -> bool:
    return any(
        isinstance(step, str) and (step == "params" or _SECRET.search(step)) for step in path
    )


def _secrets(document: Document) -> list[str]:
    found = {
        text
        for path, text in _texts(document.data, ())
        if _is_secret(path) or _CREDENTIALS.search(text)
    }
    found |= {
        str(_value_at(path, document.data))
        for path, position in document.positions.items()
        if position.written is not None
    }
    return sorted((s for s in found if len(s) >= _SHORTEST_SECRET), key=len, reverse=True)


def _texts(data: object, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(data, str):
        yield path, data
    elif isinstance(data, dict):
        for key, value in cast("dict[str, object]", data).items():
            yield from _texts(value, (*path, key))
    elif isinstance(data, list):
        for i, value in enumerate(cast("list[object]", data)):
            yield from _texts(value, (*path, i))


def _known_keys(path: Path, data: object, model: type[BaseModel]) -> list[str]:
    """Return the keys of all models that may appear at a path."""
    models = [model]
    for i, step in enumerate(path):
        if isinstance(step, str):
            annotations = [
                m.model_fields[step].annotation for m in models if step in m.model_fields
            ]
            models = [m for annotation in annotations for m in _models_in(annotation)]
        here = _value_at(path[: i + 1], data)
        if isinstance(here, dict):
            keys = cast("dict[str, object]", here)
            models = [m for m in models if _may_be(m, keys)] or _imported(keys)
    fields = [(name, field) for m in models for name, field in m.model_fields.items()]
    return list(dict.fromkeys(field.alias or name for name, field in fields))


def _imported(data: dict[str, object]) -> list[type[BaseModel]]:
    """Return the settings model of a step's scorer, if the step names it by import path."""
    method = data.get("method")
    return [imported_config(method)] if isinstance(method, str) and ":" in method else []


def _models_in(annotation: object) -> list[type[BaseModel]]:
    if annotation is ScorerConfig:
        return [scorer.Config for scorer in registry().values()]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models_in(argument)]


def _may_be(model: type[BaseModel], data: dict[str, object]) -> bool:
    """Return whether the data matches the model in every key that allows only one value."""
    tags = {
        name: get_args(field.annotation)[0]
        for name, field in model.model_fields.items()
        if get_origin(field.annotation) is Literal and len(get_args(field.annotation)) == 1
    }
    return all(data.get(name, tag) == tag for name, tag in tags.items())
