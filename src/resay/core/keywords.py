"""Errors for keyword arguments that a function does not have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from resay.core.provider_params import PROVIDER_PARAMS

P = ParamSpec("P")
T = TypeVar("T")


def suggest_keywords(function: Callable[P, T]) -> Callable[P, T]:
    """Have a function name the nearest of its keywords if it is called with an unknown one.

    Args:
        function: The function or method, which may be async. If it has a parameter `params`, the
            error says of a provider's parameter that it goes there.

    Returns:
        The function. It raises a TypeError for an unknown keyword.
    """
    parameters = inspect.signature(function).parameters
    names = [name for name in parameters if name not in ("self", "cls")]

    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            _refuse_unknown(function, names, kwargs)
            return await function(*args, **kwargs)

        return cast("Callable[P, T]", call_async)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        _refuse_unknown(function, names, kwargs)
        return function(*args, **kwargs)

    return call


def _refuse_unknown(
    function: Callable[..., object], names: Collection[str], given: Iterable[str]
) -> None:
    for name in given:
        if name not in names:
            message = f"{function.__qualname__}() got an unexpected keyword argument {name!r}"
            raise TypeError(f"{message}; {_hint(name, names)}")


def _hint(name: str, names: Collection[str]) -> str:
    takes_params = "params" in names
    if takes_params and name in PROVIDER_PARAMS:
        return _params_hint(name)
    # Most processes make no such mistake.
    from difflib import get_close_matches

    for nearest in get_close_matches(name, names, n=1):
        return f"did you mean {nearest!r}?"
    for nearest in get_close_matches(name, PROVIDER_PARAMS, n=1) if takes_params else ():
        return _params_hint(nearest)
    return f"it takes {', '.join(map(repr, names))}"


def _params_hint(param: str) -> str:
    return f"the provider's parameters, such as `{param}`, go in `params`"
