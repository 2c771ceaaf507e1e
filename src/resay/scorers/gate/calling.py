"""Functions of the user's that a policy names."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, cast

import anyio.to_thread

from resay._internal.importing import import_named, is_async, name_of
from resay.core.query import Query
from resay.errors import ConfigurationError

__all__ = ["Decide", "asks", "resolve"]

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
    found: Any = import_named(function) if isinstance(function, str) else function
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
    if is_async(function):
        answer: Any = function(query, text)
    else:
        # Abandoned, so that a function that hangs does not hold up a deadline.
        answer = await anyio.to_thread.run_sync(function, query, text, abandon_on_cancel=True)
    if inspect.isawaitable(answer):
        answer = await answer
    if answer is None:
        raise TypeError("it returned None; return True or False")
    return bool(answer)
