"""Failed calls, by kind."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterable

from resay.errors import ConfigurationError, ProviderError, ScorerError


def failure_kind(error: BaseException) -> str:
    """Return what went wrong without an error's message, which may quote a request.

    That is its type, with what a provider's error says of itself: `ProviderError: HTTP 500`.
    """
    name = type(error).__name__
    detail = error.detail if isinstance(error, ProviderError) else None
    return f"{name}: {detail}" if detail else name


def described(error: BaseException) -> str:
    """Return an error's type, with its message if that is known to contain nothing of an answer."""
    inner = _first_inside(error)
    is_ours = isinstance(inner, (ConfigurationError, ScorerError))
    return f"{type(inner).__name__}: {inner}" if is_ours else type(inner).__name__


def traced(error: BaseException) -> str:
    """Return an error's type and where it was raised, one line a frame, the innermost last.

    Unlike a traceback it has no message, which might quote an answer.
    """
    inner = _first_inside(error)
    lines = [type(inner).__name__]
    for frame, line in traceback.walk_tb(inner.__traceback__):
        code = frame.f_code
        lines.append(f'  File "{code.co_filename}", line {line}, in {code.co_name}')
    return "\n".join(lines)


def _first_inside(error: BaseException) -> BaseException:
    """Return the first error inside of the groups in which task groups wrap errors."""
    inner = error
    while nested := getattr(inner, "exceptions", ()):
        inner = nested[0]
    return inner


def tally(kinds: Iterable[str]) -> str:
    """Return the count of each kind, most frequent first: `TimeoutError x3, KeyError x1`."""
    return ", ".join(f"{kind} x{count}" for kind, count in Counter(kinds).most_common())
