"""The layer that requests only missing answers."""

from __future__ import annotations

from dataclasses import replace

from resay.core.request import Request
from resay.core.usage import Usage
from resay.errors import BudgetExceededError
from resay.providers.base import Completion, Completions, Layer, Provider
from resay.providers.caching.cache import Cache
from resay.providers.caching.keys import keys_of
from resay.providers.layers import refuses_n


class Caching(Layer):
    """Return cached answers, and request only the missing ones.

    Cached answers cost nothing. Equal concurrent requests are sent once: the first caller pays, the
    others get the same answer, or the same error. If the first is cancelled, or refused because its
    own budget is used up, another takes over. Failures are never cached, and neither is the
    provider's own object for an answer.

    It belongs outside the layers that retry, limit and meter, so that cached answers use none of
    their time or slots.

    Args:
        inner: The provider of missing answers.
        cache: The cache.
        version: Name and version of the caller, such as `prompt/1.2.0`. Answers to other callers
            are not found.
        source: The result of `source_of`; answers from other sources are not found.
    """

    def __init__(self, inner: Provider, cache: Cache, *, version: str, source: str = "") -> None:
        super().__init__(inner)
        self._cache = cache
        self._version = version
        self._source = source

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Return n answers, those with the indices `request.index` to `request.index + n - 1`.

        Args:
            request: The request. If it holds values that JSON cannot represent, it bypasses the
                cache.
            n: Number of answers.

        Returns:
            The first of them, without a gap: all of them, unless the wrapped provider returned
            fewer or failed for some, whose errors are then attached.

        Raises:
            ProviderError: The first answer is missing.
        """
        keys = keys_of(request, n, version=self._version, source=self._source)
        if keys is None:
            return await self.inner.complete(request, n=n)
        return await _CachedRequest(self.inner, self._cache, request, keys).run()


class _CachedRequest:
    """One request and its results so far."""

    def __init__(
        self, inner: Provider, cache: Cache, request: Request, keys: tuple[str, ...]
    ) -> None:
        self._inner = inner
        self._cache = cache
        self._request = request
        self._keys = keys
        self._answers: dict[str, Completion] = {}
        self._failures: list[Exception] = []
        self._usage = Usage()

    async def run(self) -> Completions:
        missing = list(self._keys)
        while missing:
            # Our own keys are completed before we wait for others, or two requests could deadlock.
            claimed, others = self._cache.in_flight.claim(missing)
            await self._fetch(claimed)
            missing.clear()
            for key, request in others.items():
                outcome = await request.wait()
                if outcome is None:
                    missing.append(key)
                elif isinstance(outcome, Completion):
                    self._answers[key] = outcome
                elif outcome not in self._failures:
                    self._failures.append(outcome)
        return self._result()

    async def _fetch(self, keys: list[str]) -> None:
        error: Exception | None = None
        try:
            self._answers.update(await self._cache.get(keys) if keys else {})
            missing = [key for key in keys if key not in self._answers]
            if missing:
                error = await self._ask(missing)
        finally:
            for key in keys:
                answer = self._answers.get(key)
                if answer is not None and answer.raw is not None:
                    answer = replace(answer, raw=None)
                self._cache.in_flight.complete(key, error if answer is None else answer)

    async def _ask(self, keys: list[str]) -> Exception | None:
        """Request answers; return an error if it applies to all of their waiters."""
        first = self._request.index + self._keys.index(keys[0])
        try:
            completions = await self._inner.complete(
                replace(self._request, index=first), n=len(keys)
            )
        except Exception as error:
            self._failures.append(error)
            return error if _is_shared(error, len(keys)) else None
        answers = dict(zip(keys, completions.items, strict=False))
        self._answers.update(answers)
        self._failures.extend(completions.failures)
        self._usage += completions.usage
        await self._cache.put(answers)
        return None

    def _result(self) -> Completions:
        items: list[Completion] = []
        # Up to the first gap: a caller that requests the others continues from there, and must not
        # get the answers behind it twice.
        for key in self._keys:
            if key not in self._answers:
                break
            items.append(self._answers[key])
        if not items and self._failures:
            raise self._failures[0]
        return Completions(tuple(items), self._usage, tuple(self._failures))


def _is_shared(error: Exception, n: int) -> bool:
    # Others have their own budget, and may want a single answer, for which no `n` can be refused.
    return not isinstance(error, BudgetExceededError) and not (n > 1 and refuses_n(error))
