"""How the SDK retries a request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from anthropic import APIConnectionError, APIRequest, APIStatusError, RetryableError

from resay_anthropic._responses import raw_of

# The SDK's first and longest delay without a `retry-after` header, which doubles with each retry.
_FIRST_S = 0.5
_LONGEST_S = 8.0
# Slack for a busy machine, and for the SDK's own work between attempts.
_SLACK_S = 5.0


def retry_within_s(request: APIRequest, outcome: object) -> float | None:
    """Return the time within which the SDK will retry a request.

    Args:
        request: The attempt.
        outcome: The unsuccessful response to it, or the exception that it raised.

    Returns:
        An upper bound in seconds, or None if this was the last attempt. Without a response, that
        cannot be known, because only the client knows its `max_retries`.
    """
    retries, raw = _retry_decision(outcome)
    if not retries or not _has_retries_left(request, outcome):
        return None
    usual = min(_FIRST_S * 2.0 ** min(request.retries_taken, 10), _LONGEST_S)
    return max(usual, _retry_after_s(raw)) + _SLACK_S


def _retry_decision(outcome: object) -> tuple[bool, Any]:
    """Return whether the SDK retries after an outcome, and the outcome's raw response."""
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
    should_retry = raw.headers.get("x-should-retry")
    if should_retry in ("true", "false"):
        return should_retry == "true"
    return raw.status_code in (408, 409, 429) or raw.status_code >= 500


def _has_retries_left(request: APIRequest, outcome: object) -> bool:
    allowed: object = request.max_retries
    if not isinstance(allowed, int):
        # No public attribute of a request or a response leads to the client.
        allowed = getattr(getattr(outcome, "_client", None), "max_retries", None)
    return not isinstance(allowed, int) or request.retries_taken < allowed


def _retry_after_s(raw: Any) -> float:
    headers: Mapping[str, str] = {} if raw is None else raw.headers
    in_ms, in_s = headers.get("retry-after-ms"), headers.get("retry-after")
    try:
        return float(in_ms) / 1000 if in_ms else float(in_s or 0)
    # A date, which Anthropic does not send.
    except ValueError:
        return 0.0
