"""Errors for arguments that a function does not take."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from resay.core.provider_params import PROVIDER_PARAMS

P = ParamSpec("P")
T = TypeVar("T")

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
# What others call our parameters, and how each of ours is passed. A name of several is that of the
# first one that a function has.
_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "response": ("answer", "completion", "generation", "output", "reply", "text"),
    "question": (
        "conversation",
        "history",
        "input",
        "messages",
        "prompt",
        "query",
        "text",
        "user_prompt",
    ),
    "references": (
        "chunks",
        "context",
        "contexts",
        "docs",
        "documents",
        "evidence",
        "ground_truth",
        "passages",
        "sources",
    ),
    "stream_mode": ("mode",),
}
_SYSTEM_NAMES = ("instructions", "system", "system_prompt")
_HINTS: Mapping[str, str] = {
    "response": "pass it as `response`",
    "question": "pass it as `question`, a text or a list of messages",
    "references": "pass it as `references`, a list of texts or `Document`s",
    "stream_mode": "pass it as `stream_mode`",
}
_SYSTEM_HINT = (
    "pass it as a message of `question`:"
    " [{'role': 'system', 'content': ...}, {'role': 'user', 'content': ...}]"
)


def suggest_keywords(function: Callable[P, T]) -> Callable[P, T]:
    """Have a function name the nearest of its keywords if it is called with an unknown one.

    Args:
        function: The function or method, which may be async. If it has a parameter `params`, the
            error says of a provider's parameter that it goes there.

    Returns:
        The function. It raises a TypeError for an unknown keyword, and for arguments that need
        their names.
    """
    parameters = inspect.signature(function).parameters
    names = [name for name in parameters if name not in ("self", "cls")]
    positional = [name for name in parameters if parameters[name].kind in _POSITIONAL]

    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            _refuse_unknown(function, names, kwargs)
            _refuse_unnamed(function, names, positional, args)
            return await function(*args, **kwargs)

        return cast("Callable[P, T]", call_async)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        _refuse_unknown(function, names, kwargs)
        _refuse_unnamed(function, names, positional, args)
        return function(*args, **kwargs)

    return call


def _refuse_unknown(
    function: Callable[..., object], names: Collection[str], given: Iterable[str]
) -> None:
    for name in given:
        if name not in names:
            message = f"{function.__qualname__}() got an unexpected keyword argument {name!r}"
            raise TypeError(f"{message}; {_hint(name, names)}")


def _refuse_unnamed(
    function: Callable[..., object],
    names: Collection[str],
    positional: Sequence[str],
    given: Sequence[object],
) -> None:
    if len(given) <= len(positional):
        return
    unnamed = [f"`{name}`" for name in positional if name in names]
    others = [f"`{name}=`" for name in names if name not in positional]
    count = "no argument" if not unnamed else f"only {' and '.join(unnamed)}"
    raise TypeError(
        f"{function.__qualname__}() takes {count} without a name; pass the others by name:"
        f" {', '.join(others)}"
    )


def _hint(name: str, names: Collection[str]) -> str:
    takes_params = "params" in names
    if takes_params and name in PROVIDER_PARAMS:
        return _params_hint(name)
    # Most processes make no such mistake.
    from difflib import get_close_matches

    other_names = _hints_of_other_names(names)
    if name in other_names:
        return other_names[name]
    for nearest in get_close_matches(name, [*names, *other_names], n=1):
        return other_names.get(nearest) or f"did you mean {nearest!r}?"
    for nearest in get_close_matches(name, PROVIDER_PARAMS, n=1) if takes_params else ():
        return _params_hint(nearest)
    return f"it takes {', '.join(map(repr, names))}"


def _hints_of_other_names(names: Collection[str]) -> dict[str, str]:
    """Return what to do instead, by each name that others have for a function's parameters."""
    hints: dict[str, str] = {}
    for parameter, other_names in _OTHER_NAMES.items():
        if parameter in names:
            for other_name in other_names:
                hints.setdefault(other_name, _HINTS[parameter])
    if "question" in names:
        hints.update(dict.fromkeys(_SYSTEM_NAMES, _SYSTEM_HINT))
    return hints


def _params_hint(param: str) -> str:
    return f"the provider's parameters, such as `{param}`, go in `params`"
