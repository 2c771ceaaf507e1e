"""Tracebacks without the frames between a caller and an error of Resay's own."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from resay.errors import ConfigurationError, ResayError

P = ParamSpec("P")
T = TypeVar("T")


def has_needless_frames(error: ResayError) -> bool:
    """Return whether the traceback of an error says nothing that its message does not.

    The message says what to do, and the way to it is sixty lines long. An error that another
    package raised, such as a provider of the user's own, keeps the line that raised it.
    """
    return (
        isinstance(error, ConfigurationError)
        or getattr(error, "unusable", False)
        or _is_raised_by_resay(error)
    )


def short_traceback(
    work: Callable[P, Coroutine[Any, Any, T]],
) -> Callable[P, Coroutine[Any, Any, T]]:
    """Return an async function whose errors have no needless frames.

    Args:
        work: The async function or method.
    """

    @wraps(work)
    async def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await work(*args, **kwargs)
        except ResayError as error:
            if has_needless_frames(error):
                raise error.with_traceback(None)  # noqa: B904 - it is the same error
            raise

    return run


def _is_raised_by_resay(error: ResayError) -> bool:
    entry = error.__traceback__
    while entry is not None and entry.tb_next is not None:
        entry = entry.tb_next
    module = "" if entry is None else entry.tb_frame.f_globals.get("__name__", "")
    package = module.partition(".")[0]
    return package == "resay" or package.startswith("resay_")
