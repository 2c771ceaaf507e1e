"""Several answers to one query: in one request where the provider takes `n`, else in many."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio

from resay.core.query import Query
from resay.core.verdict import Usage
from resay.errors import ProviderRefusedError
from resay.providers.base import Completion, Completions, Layer, Provider

__all__ = ["FanOut", "draw", "refuses_n"]


async def draw(
    provider: Provider,
    query: Query,
    count: int,
    land: Callable[[Completion], None],
    fail: Callable[[Exception], None],
) -> Usage:
    """Ask for `count` answers and hand over each as it lands.

    A provider that takes `n` is asked once, then topped up one by one for what it left out. Many
    ignore `n` and answer once, and a proxy may refuse it: then every answer gets its own request.
    Each answer is asked for under its own index, from the query's on; in a request for several the
    first stands for all.

    Args:
        provider: Who is asked.
        query: What is asked.
        count: How many answers are wanted, at least 0.
        land: Called with each answer, in order of arrival.
        fail: Called with the error of each request that failed for good.

    Returns:
        What the requests that succeeded cost.
    """
    spent: list[Usage] = []

    async def ask(first: int, n: int) -> Completions:
        answers = await provider.complete(replace(query, index=query.index + first), n=n)
        spent.append(answers.usage)
        for completion in answers.items[:n]:
            land(completion)
        return answers

    async def ask_for_one(place: int) -> None:
        try:
            await ask(place, 1)
        # Whatever a provider raises costs this answer only, never the user's own.
        except Exception as error:
            fail(error)

    landed = 0
    if count > 1 and await provider.takes_n(query):
        landed, failures = await _together(ask, count)
        lasting = [error for error in failures if not refuses_n(error)]
        for error in lasting:
            fail(error)
        if lasting:
            return sum(spent, Usage())
    async with anyio.create_task_group() as tasks:
        for place in range(landed, count):
            tasks.start_soon(ask_for_one, place)
    return sum(spent, Usage())


async def _together(
    ask: Callable[[int, int], Awaitable[Completions]], count: int
) -> tuple[int, tuple[Exception, ...]]:
    """Ask for all at once; return how many there are, and why the others are not."""
    try:
        answers = await ask(0, count)
    except Exception as error:
        return 0, (error,)
    landed = len(answers.items)
    return landed, answers.failures if landed < count else ()


def refuses_n(error: Exception) -> bool:
    """Return whether each answer should be asked for on its own after this error."""
    # A bad request may be about `n` alone; a bad key or an overload is not, and asking n times
    # more would only make it worse.
    return isinstance(error, ProviderRefusedError) and error.status in (400, 422)


class FanOut(Layer):
    """Makes a provider keep its promise of n answers."""

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask for exactly n answers.

        Args:
            query: What to ask.
            n: How many answers are wanted, at least 1.

        Returns:
            The answers that could be had, at least one, with the failures of the others attached.

        Raises:
            Exception: Nothing could be had; the first failure is raised.
        """
        items: list[Completion] = []
        failures: list[Exception] = []
        usage = await draw(self.inner, query, n, items.append, failures.append)
        if not items:
            raise failures[0]
        return Completions(tuple(items), usage, tuple(failures))
