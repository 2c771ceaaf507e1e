"""Several answers to one query: in one request where the provider takes `n`, else in many."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from resay.errors import ProviderRefusedError
from resay.providers.base import Completion, Completions, Layer, Provider
from resay.query import Query
from resay.verdict import Usage

__all__ = ["FanOut", "draw"]


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

    async def ask(n: int) -> int:
        answers = await provider.complete(query, n=n)
        spent.append(answers.usage)
        taken = answers.items[:n]
        for completion in taken:
            land(completion)
        return len(taken)

    async def ask_for_one() -> None:
        try:
            await ask(1)
        # Whatever a provider raises costs this answer only, never the user's own.
        except Exception as error:
            fail(error)

    missing = count
    if count > 1 and await provider.takes_n(query):
        try:
            missing -= await ask(count)
        except Exception as error:
            if not _refuses_n(error):
                fail(error)
                return Usage()
    async with anyio.create_task_group() as tasks:
        for _ in range(missing):
            tasks.start_soon(ask_for_one)
    return sum(spent, Usage())


def _refuses_n(error: Exception) -> bool:
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
