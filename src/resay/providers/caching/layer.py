"""A layer that gives what was answered before, and asks only for the rest."""

from __future__ import annotations

from dataclasses import replace

from resay.core.query import Query
from resay.core.verdict import Usage
from resay.errors import BudgetExceededError
from resay.providers.base import Completion, Completions, Layer, Provider
from resay.providers.caching.cache import Cache
from resay.providers.caching.flights import Outcome
from resay.providers.caching.keys import keys_of
from resay.providers.fanout import refuses_n

__all__ = ["Caching"]


class Caching(Layer):
    """Gives what was answered before, and asks only for the rest.

    What is found costs nothing. Equal requests at the same time are sent once: whoever came first
    pays, the others get the same answer, or the same error. When the first is cancelled, or may not
    ask because its own budget is used up, another takes over. Failures are never kept, and neither
    is the provider's own object for an answer.

    It goes around the layers that retry, limit and meter, so that what is found takes none of
    their time or places.

    Args:
        inner: Who answers what is not there.
        cache: What is there.
        version: What asks and in which version, such as `prompt/1.2.0`. Answers given to another
            are not found.
        source: Who answers, as `source_of` says; answers of others are not found.
    """

    def __init__(self, inner: Provider, cache: Cache, *, version: str, source: str = "") -> None:
        super().__init__(inner)
        self._cache = cache
        self._version = version
        self._source = source

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Give n answers, those with the indices `query.index` to `query.index + n - 1`.

        Args:
            query: What to ask. Where it holds values that JSON does not know, it is passed on.
            n: How many answers to ask for.

        Returns:
            The first of them, without a gap: all of them, unless the wrapped provider gave fewer
            or failed for some, whose errors are then attached.

        Raises:
            ProviderError: The first could not be had.
        """
        keys = keys_of(query, n, version=self._version, source=self._source)
        if keys is None:
            return await self.inner.complete(query, n=n)
        return await _Request(self.inner, self._cache, query, keys).run()


class _Request:
    """One request: what it has so far."""

    def __init__(self, inner: Provider, cache: Cache, query: Query, keys: tuple[str, ...]) -> None:
        self._inner = inner
        self._cache = cache
        self._query = query
        self._keys = keys
        self._answers: dict[str, Completion] = {}
        self._failures: list[Exception] = []
        self._usage = Usage()

    async def run(self) -> Completions:
        wanted = list(self._keys)
        while wanted:
            # What is ours lands before we wait for others, or two requests could wait for each
            # other.
            led, followed = self._cache.flights.claim(wanted)
            await self._lead(led)
            outcomes = {key: await flight.wait() for key, flight in followed.items()}
            for key, outcome in outcomes.items():
                self._take(key, outcome)
            wanted = [key for key, outcome in outcomes.items() if outcome is None]
        return self._result()

    async def _lead(self, keys: list[str]) -> None:
        error: Exception | None = None
        try:
            self._answers.update(await self._cache.get(keys) if keys else {})
            missing = [key for key in keys if key not in self._answers]
            if missing:
                error = await self._ask(missing)
        finally:
            for key in keys:
                answer = self._answers.get(key)
                self._cache.flights.land(key, replace(answer, raw=None) if answer else error)

    async def _ask(self, keys: list[str]) -> Exception | None:
        """Ask for answers; return the error that is true of all who want one of them."""
        first = self._query.index + self._keys.index(keys[0])
        try:
            arrived = await self._inner.complete(replace(self._query, index=first), n=len(keys))
        except Exception as error:
            self._failures.append(error)
            return error if _is_shared(error, len(keys)) else None
        fresh = dict(zip(keys, arrived.items, strict=False))
        self._answers.update(fresh)
        self._failures.extend(arrived.failures)
        self._usage += arrived.usage
        await self._cache.put(fresh)
        return None

    def _take(self, key: str, outcome: Outcome) -> None:
        if isinstance(outcome, Completion):
            self._answers[key] = outcome
        elif outcome is not None and outcome not in self._failures:
            self._failures.append(outcome)

    def _result(self) -> Completions:
        items: list[Completion] = []
        # Up to the first gap: whoever tops up the rest goes on from there, and must not be given
        # twice what lies behind it.
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
