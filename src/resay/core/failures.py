"""Failed calls, by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def tally(kinds: Iterable[str]) -> str:
    """Return the count of each kind, most frequent first: `TimeoutError x3, KeyError x1`."""
    return ", ".join(f"{kind} x{count}" for kind, count in Counter(kinds).most_common())
