"""Small layers around a provider: retries, a limit on concurrency, a meter, a time limit."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

import anyio
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_random_exponential,
)

from resay.errors import ProviderError, ProviderTimeoutError
from resay.providers.base import Completions, Layer, Provider
from resay.query import Query
from resay.verdict import Usage

__all__ = ["Limited", "Metered", "Retrying", "TimeLimited"]

_LONGEST_WAIT_S = 60.0


class Metered(Layer):
    """Counts what passes through. Make one for each thing you want counted.

    Attributes:
        usage: The total so far. A call counts when it is sent, its tokens when it is answered.
    """

    def __init__(self, inner: Provider) -> None:
        super().__init__(inner)
        self.usage = Usage()

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the wrapped provider and count."""
        self.usage += Usage(calls=1)
        completions = await self.inner.complete(query, n=n)
        spent = completions.usage
        # One request to us may be several to the provider: a chain with two models in it.
        more = max(spent.calls - 1, 0)
        self.usage += Usage(more, spent.prompt_tokens, spent.completion_tokens, spent.cost_usd)
        return completions


class Limited(Layer):
    """Lets at most so many requests through at once; the others wait their turn.

    The limiter belongs to one event loop. Make it where the loop runs.
    """

    def __init__(self, inner: Provider, limiter: AbstractAsyncContextManager[object]) -> None:
        super().__init__(inner)
        self._limiter = limiter

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Wait for a free place, then ask the wrapped provider."""
        async with self._limiter:
            return await self.inner.complete(query, n=n)


class TimeLimited(Layer):
    """Gives up on a request that takes too long."""

    def __init__(self, inner: Provider, seconds: float) -> None:
        super().__init__(inner)
        self._seconds = seconds

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the wrapped provider.

        Raises:
            ProviderTimeoutError: There was no answer in time.
        """
        with anyio.move_on_after(self._seconds):
            return await self.inner.complete(query, n=n)
        raise ProviderTimeoutError(
            f"no answer within {self._seconds:g} s; raise `limits.timeout_s`"
        )


class Retrying(Layer):
    """Sends a request again when the failure says that this may help.

    The only layer that retries: those of the SDKs below are switched off, so that a budget of two
    retries never becomes nine requests. Waits as long as the provider asks (`Retry-After`), at
    most 60 s, else a random time growing from 0.5 s.
    """

    def __init__(self, inner: Provider, retries: int) -> None:
        super().__init__(inner)
        self._retries = retries

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the wrapped provider, several times if need be.

        Raises:
            ProviderError: The last failure, when retries are used up or pointless.
        """
        attempts = AsyncRetrying(
            stop=stop_after_attempt(self._retries + 1),
            retry=retry_if_exception(_may_help),
            wait=_wait,
            sleep=anyio.sleep,
            reraise=True,
        )
        return await attempts(self.inner.complete, query, n=n)


def _may_help(error: BaseException) -> bool:
    return isinstance(error, ProviderError) and error.retryable


_backoff = wait_random_exponential(multiplier=0.5, max=8.0)


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, ProviderError) and error.retry_after_s is not None:
        return min(max(error.retry_after_s, 0.0), _LONGEST_WAIT_S)
    return _backoff(state)
