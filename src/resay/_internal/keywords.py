"""Errors for keyword arguments that a function does not have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")


def suggest_keywords(function: Callable[P, T]) -> Callable[P, T]:
    """Have a function name the nearest of its keywords if it is called with an unknown one.

    Args:
        function: The function or method, which may be async. If it has a parameter `params`, the
            error also says that this is where a provider's parameters go.

    Returns:
        The function. It raises a TypeError for an unknown keyword.
    """
    parameters = inspect.signature(function).parameters
    known = [name for name in parameters if name not in ("self", "cls")]

    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            _refuse_unknown(function, known, kwargs)
            return await function(*args, **kwargs)

        return cast("Callable[P, T]", call_async)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        _refuse_unknown(function, known, kwargs)
        return function(*args, **kwargs)

    return call


def _refuse_unknown(
    function: Callable[..., object], known: Collection[str], given: Iterable[str]
) -> None:
    for name in given:
        if name in known:
            continue
        message = f"{function.__qualname__}() got an unexpected keyword argument {name!r}"
        nearest = get_close_matches(name, known, n=1)
        if nearest:
            message += f"; did you mean {nearest[0]!r}?"
        elif "params" in known:
            message += "; the provider's parameters, such as `temperature`, go in `params`"
        raise TypeError(message)
