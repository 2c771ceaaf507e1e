"""What the HTTP statuses of providers mean."""

from __future__ import annotations

from collections.abc import Mapping

UNUSABLE_STATUSES = frozenset({401, 403, 404})
"""The HTTP statuses for a bad key, one that may not do this, and a model that does not exist."""
STATUS_HINTS: Mapping[int, str] = {
    400: "check the model's name and parameters",
    401: "check the API key",
    403: "check what the API key may do",
    404: "check the model's name and `api_base`",
    429: "the provider limits the rate; lower `limits.concurrency` or raise `limits.retries`",
}
"""What to do about a request that failed with a status."""


def is_final(status: int) -> bool:
    """Return whether a request with this status would fail again."""
    return 300 <= status < 500 and status not in (408, 409, 429)
