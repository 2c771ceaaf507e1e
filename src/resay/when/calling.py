"""Functions of the user's that a policy names."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import Any, cast

import anyio.to_thread

from resay.errors import ConfigurationError
from resay.query import Query

__all__ = ["Decide", "asks", "name_of", "resolve"]

Decide = Callable[[Query | None, str], bool | Awaitable[bool]]
"""Called with the query and the response's text; says whether to check it."""


def resolve(function: str | Decide) -> Decide:
    """Find a function, and see that it can be called with a query and a text.

    Args:
        function: The function, or where it is, `package.module:name`. What is imported is
            imported once.

    Returns:
        The function.

    Raises:
        ConfigurationError: It cannot be imported, or not be called like that.
    """
    found: Any = _import(function) if isinstance(function, str) else function
    if not callable(found):
        raise ConfigurationError(f"{name_of(function)!r} is no function; name one that is")
    try:
        inspect.signature(found).bind(None, "")
    except TypeError as error:
        raise ConfigurationError(
            f"{name_of(function)!r} must take two arguments, the query and the response's text"
        ) from error
    except ValueError:
        pass  # Some functions written in C do not say what they take.
    return cast("Decide", found)


async def asks(function: Decide, query: Query | None, text: str) -> bool:
    """Ask a function of the user's, in a thread of its own unless it is asynchronous.

    Args:
        function: What `resolve` found.
        query: The query, where there is one.
        text: The response's text.

    Returns:
        What it says.

    Raises:
        TypeError: It says nothing.
        Exception: Whatever it raises.
    """
    if _is_async(function):
        answer: Any = function(query, text)
    else:
        # Abandoned, so that a function that hangs does not hold up a deadline.
        answer = await anyio.to_thread.run_sync(function, query, text, abandon_on_cancel=True)
    if inspect.isawaitable(answer):
        answer = await answer
    if answer is None:
        raise TypeError("it returned None; return True or False")
    return bool(answer)


def name_of(function: object) -> str:
    """What to call a function in messages and in JSON: `package.module:name`."""
    if isinstance(function, str):
        return function
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', type(function).__module__)}:{name}"


def _is_async(function: Decide) -> bool:
    call = getattr(function, "__call__", None)  # noqa: B004 - what an object's class defines
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


@cache
def _import(path: str) -> Any:
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
