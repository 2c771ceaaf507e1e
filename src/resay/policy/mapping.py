"""The copy of a policy that is given as a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel

from resay.errors import PolicyError
from resay.policy.document import (
    Document,
    Path,
    UnreadableError,
    check_bounds,
    finite,
    without_surrogates,
)

_FUNCTION: Path = ("when", "call")
"""Where a policy made in Python may contain a function; a file contains its name."""


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
    copier = _Copier()
    try:
        copier.document.data = copier.copy(data, ())
    except UnreadableError as error:
        problem = error.problem
    else:
        return copier.document
    raise PolicyError([problem.text(source)])


class _Copier:
    """Copies plain data; use one instance per mapping."""

    def __init__(self) -> None:
        self.document = Document()
        self._values = 0

    def copy(self, value: object, path: Path) -> Any:
        self._values += 1
        check_bounds(len(path), self._values, None, path)
        if isinstance(value, BaseModel):
            value = value.model_dump()
        if isinstance(value, Mapping):
            return self._mapping(cast("Mapping[object, object]", value), path)
        if isinstance(value, (list, tuple)):
            items = cast("list[object] | tuple[object, ...]", value)
            return [self.copy(item, (*path, i)) for i, item in enumerate(items)]
        return self._leaf(value, path)

    def _mapping(self, value: Mapping[object, object], path: Path) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key, item in value.items():
            if isinstance(key, str) and without_surrogates(key) == key:
                data[key] = self.copy(item, (*path, key))
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
