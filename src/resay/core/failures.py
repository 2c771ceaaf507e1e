"""Failed calls, by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from resay.errors import ProviderError


def failure_kind(error: BaseException) -> str:
    """Return what went wrong without an error's message, which may quote a request.

    That is its type, with what a provider's error says of itself: `ProviderError: HTTP 500`.
    """
    name = type(error).__name__
    detail = error.detail if isinstance(error, ProviderError) else None
    return f"{name}: {detail}" if detail else name


def tally(kinds: Iterable[str]) -> str:
    """Return the count of each kind, most frequent first: `TimeoutError x3, KeyError x1`."""
    return ", ".join(f"{kind} x{count}" for kind, count in Counter(kinds).most_common())
