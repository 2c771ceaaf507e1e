"""Failed calls, by kind."""

from __future__ import annotations

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
    # Task groups wrap errors in groups; the first error inside counts.
    inner = error
    while nested := getattr(inner, "exceptions", ()):
        inner = nested[0]
    is_ours = isinstance(inner, (ConfigurationError, ScorerError))
    return f"{type(inner).__name__}: {inner}" if is_ours else type(inner).__name__


def tally(kinds: Iterable[str]) -> str:
    """Return the count of each kind, most frequent first: `TimeoutError x3, KeyError x1`."""
    return ", ".join(f"{kind} x{count}" for kind, count in Counter(kinds).most_common())
