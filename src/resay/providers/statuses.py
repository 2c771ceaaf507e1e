"""What the HTTP statuses of providers mean."""

from __future__ import annotations

import math
from collections.abc import Mapping

UNUSABLE_STATUSES = frozenset({401, 403, 404})
"""The HTTP statuses for a bad key, one that may not do this, and a model that does not exist."""
_HINTS: Mapping[int, str] = {
    400: "check the model's name and parameters",
    401: "check the API key",
    403: "check what the API key may do",
    404: "check the model's name and `api_base`",
    429: "rate limited by the provider; lower `limits.concurrency` or raise `limits.retries`",
}


def hint_of(status: int, retry_after_s: float | None, default: str) -> str:
    """Return what to do about a request that failed with a status.

    Args:
        status: The HTTP status.
        retry_after_s: Seconds that the provider asks to wait, if it does.
        default: What to do if the status says nothing.
    """
    if retry_after_s is None or retry_after_s <= 0:
        return _HINTS.get(status, default)
    seconds = math.ceil(retry_after_s)
    if status == 429:
        return (
            f"rate limited by the provider: it asks to wait {seconds} s; lower"
            " `limits.concurrency`, or send fewer requests"
        )
    return f"{_HINTS.get(status, default)}; it asks to wait {seconds} s"


def detail_of(status: int, retry_after_s: float | None) -> str:
    """Return what a failed request's status means in a few words, for verdicts.

    Args:
        status: The HTTP status.
        retry_after_s: Seconds that the provider asks to wait, if it does.
    """
    if status != 429:
        return f"HTTP {status}"
    if retry_after_s is None or retry_after_s <= 0:
        return "rate limited"
    return f"rate limited for {math.ceil(retry_after_s)} s"


def is_final(status: int) -> bool:
    """Return whether a request with this status would fail again."""
    return 300 <= status < 500 and status not in (408, 409, 429)
