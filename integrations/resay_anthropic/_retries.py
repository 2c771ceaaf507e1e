"""What the SDK does after an attempt that failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from anthropic import APIConnectionError, APIRequest, APIStatusError, RetryableError

from resay_anthropic._responses import raw_of

__all__ = ["returns_within_s"]

# The SDK's own waits, where the provider asks for none: so long at first, twice as long each time.
_FIRST_S = 0.5
_LONGEST_S = 8.0
# A busy machine is late, and what the SDK does besides takes time too.
_LATE_S = 5.0


def returns_within_s(request: APIRequest, outcome: object) -> float | None:
    """Return in what time the SDK sends a request again, if it does.

    Args:
        request: The attempt.
        outcome: The response to it that is no success, or the exception it ended in.

    Returns:
        So many seconds at most; None where this was the last attempt. That cannot be known where
        there is no response, because only the client knows how often it tries.
    """
    wanted, raw = _verdict_on(outcome)
    if not wanted or not _may_try(request, outcome):
        return None
    usual = min(_FIRST_S * 2.0 ** min(request.retries_taken, 10), _LONGEST_S)
    return max(usual, _asked_for_s(raw)) + _LATE_S


def _verdict_on(outcome: object) -> tuple[bool, Any]:
    """Return whether an outcome is one of those that are tried again, and its raw response."""
    if not isinstance(outcome, BaseException):
        raw = raw_of(outcome)
        return _is_temporary(raw), raw
    for error in _causes(outcome):
        if isinstance(error, APIStatusError):
            return _is_temporary(error.response), error.response
        if isinstance(error, (APIConnectionError, RetryableError)):
            return True, None
    return False, None


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        yield current
        seen.add(id(current))
        current = current.__cause__


def _is_temporary(raw: Any) -> bool:
    if raw.is_success:
        return False
    told = raw.headers.get("x-should-retry")
    if told in ("true", "false"):
        return told == "true"
    return raw.status_code in (408, 409, 429) or raw.status_code >= 500


def _may_try(request: APIRequest, outcome: object) -> bool:
    allowed: object = request.max_retries
    if not isinstance(allowed, int):
        # No public attribute leads from a request or its response to the client.
        allowed = getattr(getattr(outcome, "_client", None), "max_retries", None)
    return not isinstance(allowed, int) or request.retries_taken < allowed


def _asked_for_s(raw: Any) -> float:
    headers: Mapping[str, str] = {} if raw is None else raw.headers
    in_ms, in_s = headers.get("retry-after-ms"), headers.get("retry-after")
    try:
        return float(in_ms) / 1000 if in_ms else float(in_s or 0)
    # A date, which Anthropic does not send.
    except ValueError:
        return 0.0
