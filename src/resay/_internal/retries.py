"""Retry failed calls, with backoff or the delay that the server asks for."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import anyio
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_random_exponential,
)
from tenacity.stop import stop_base

from resay._internal.patterns import lazy_pattern
from resay.errors import ResayError

T = TypeVar("T")

_MAX_WAIT_S = 60.0
_SECONDS = lazy_pattern(r"[0-9]+(\.[0-9]+)?")


def is_retryable(error: BaseException) -> bool:
    """Return whether an error is one of ours and retryable."""
    return isinstance(error, ResayError) and getattr(error, "retryable", False)


def retrier(retries: int, multiplier: float, deadline: float = math.inf) -> AsyncRetrying:
    """Return a retrier that repeats a function after retryable errors.

    Args:
        retries: The maximum number of retries.
        multiplier: See `wait_retry_after`.
        deadline: See `StopIfRetryAfterIsLate`.
    """
    return AsyncRetrying(
        stop=stop_after_attempt(retries + 1) | StopIfRetryAfterIsLate(retries, deadline),
        retry=retry_if_exception(is_retryable),
        wait=wait_retry_after(multiplier),
        sleep=anyio.sleep,
        reraise=True,
    )


async def call_with_retries(
    work: Callable[[], Awaitable[T]], retries: int, multiplier: float, deadline: float = math.inf
) -> T:
    """Call a function, and retry it after retryable errors.

    Args:
        work: The function.
        retries: The maximum number of retries.
        multiplier: See `wait_retry_after`.
        deadline: See `StopIfRetryAfterIsLate`.

    Returns:
        The function's result.

    Raises:
        Exception: The error of the last attempt.
    """
    # Most calls succeed at once, and the retrier costs more than many of them.
    try:
        return await work()
    except Exception as error:
        if not (retries and is_retryable(error)):
            raise
        failed = [error]

    async def again() -> T:
        if failed:
            raise failed.pop()
        return await work()

    return await retrier(retries, multiplier, deadline)(again)


def wait_retry_after(multiplier: float) -> Callable[[RetryCallState], float]:
    """Return a wait function: the delay the server asks for, at most 60 s, or a random backoff.

    Args:
        multiplier: The maximum random delay before the second attempt, in seconds. It doubles with
            each attempt, up to 8 s.
    """
    backoff = wait_random_exponential(multiplier=multiplier, max=8.0)

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        retry_after: float | None = getattr(error, "retry_after_s", None)
        return backoff(state) if retry_after is None else min(max(retry_after, 0.0), _MAX_WAIT_S)

    return wait


class StopIfRetryAfterIsLate(stop_base):
    """Stop if the server asks for a delay that nobody here waits for.

    That is one which ends after the deadline, or which all waits together do not reach.

    Args:
        retries: The maximum number of retries.
        deadline: When the caller stops waiting, on the event loop's clock. That of the enclosing
            cancel scopes counts, too.
    """

    def __init__(self, retries: int, deadline: float) -> None:
        self._retries = retries
        self._deadline = deadline

    def __call__(self, retry_state: RetryCallState) -> bool:
        """Return whether to stop after a failed attempt."""
        error = retry_state.outcome.exception() if retry_state.outcome else None
        retry_after: float | None = getattr(error, "retry_after_s", None)
        if retry_after is None:
            return False
        waits_left = self._retries + 1 - retry_state.attempt_number
        ends_at = anyio.current_time() + retry_after
        return (
            retry_after > waits_left * _MAX_WAIT_S
            or ends_at > self._deadline
            or ends_at > anyio.current_effective_deadline()
        )


def retry_after_s(headers: Any) -> float | None:
    """Return the delay of a `Retry-After` header in seconds; None without a valid one.

    Args:
        headers: The response headers, with lower-case names if lookups are case-sensitive.
    """
    value = str(headers.get("retry-after", "")) if headers else ""
    if _SECONDS.fullmatch(value):
        return float(value)
    try:
        date = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    aware = date if date.tzinfo else date.replace(tzinfo=timezone.utc)
    return (aware - datetime.now(timezone.utc)).total_seconds()
