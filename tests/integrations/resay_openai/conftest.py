"""Guarded clients over real HTTP, and both ways to ask them."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from resay_openai import GuardedAsyncOpenAI, GuardedOpenAI
from simulation import SimulatedProvider
from support.covering import alternating
from support.known_world import WORLD

Make = Callable[..., Any]
Finish = Callable[[Any], Awaitable[Any]]


@pytest.fixture
def provider() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=5, world=WORLD) as provider:
        yield provider


@pytest.fixture(params=alternating("sync", "async"))
async def make(provider: SimulatedProvider, request: pytest.FixtureRequest) -> AsyncIterator[Make]:
    """Makes guarded clients of one of both kinds, which are closed in the end.

    Those that block do so inside a running event loop, as in a notebook.
    """
    async with AsyncExitStack() as stack:

        def make(policy: Any, **kwargs: Any) -> Any:
            given = {"base_url": provider.base_url, "api_key": "simulated", "max_retries": 0}
            kind: Any = GuardedOpenAI if request.param == "sync" else GuardedAsyncOpenAI
            client = kind(policy=policy, **{**given, **kwargs})
            if isinstance(client, GuardedAsyncOpenAI):
                stack.push_async_callback(client.close)
            else:
                stack.callback(client.close)
            return client

        yield make


@pytest.fixture
def done() -> Finish:
    """Waits for what a client of either kind gives, and lists what it streams."""

    async def done(value: Any) -> Any:
        value = await value if inspect.isawaitable(value) else value
        if hasattr(value, "__aiter__"):
            return [item async for item in value]
        return list(value) if hasattr(value, "__next__") else value

    return done
