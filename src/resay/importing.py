"""What users name as `package.module:name`."""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import Any

from resay.errors import ConfigurationError

__all__ = ["import_named", "is_async", "name_of"]


@cache
def import_named(path: str) -> Any:
    """Import what a path names, once.

    Args:
        path: Where it is, `package.module:name`; the name may have dots in it.

    Raises:
        ConfigurationError: There is nothing at that place.
    """
    module, _, name = path.partition(":")
    try:
        found: Any = import_module(module)
    except Exception as error:
        raise ConfigurationError(
            f"{path!r} cannot be imported: {type(error).__name__} in {module!r}; see that it is"
            " installed or on the path"
        ) from error
    try:
        return attrgetter(name)(found)
    except AttributeError as error:
        raise ConfigurationError(
            f"{path!r} cannot be imported: there is no {name!r} in {module!r}"
        ) from error


def is_async(function: object) -> bool:
    """Return whether calling it gives something to wait for, as far as it says."""
    call = getattr(function, "__call__", None)  # noqa: B004 - what an object's class defines
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def name_of(found: object) -> str:
    """What to call a function or an object in messages and in JSON: `package.module:name`."""
    if isinstance(found, str):
        return found
    name = getattr(found, "__qualname__", type(found).__qualname__)
    return f"{getattr(found, '__module__', type(found).__module__)}:{name}"
