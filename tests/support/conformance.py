"""Runs one script with an SDK's own client and with a guarded one, to compare what users see."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import BaseModel

from simulation import Fault, RequestRecord, SimulatedProvider
from support.known_world import WORLD

__all__ = ["LOOK_UP", "POLICY", "QUESTION", "Founding", "Sdk", "Seen"]

# The main call comes first, so that the provider answers it as it answers the plain client.
POLICY = {
    "chain": [{"method": "ngram"}],
    "sampling": {"max": 2, "start": "after"},
    "stream_mode": "after",
}
QUESTION = "What is Canberra?"
LOOK_UP = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}


class Founding(BaseModel):
    name: str
    year: int


@dataclass(frozen=True, slots=True)
class Seen:
    """The result of a call, equal if the guard made no difference.

    Attributes:
        outcome: The returned value or the exception.
        asked: The requests that the SDK sent for it, without the size of bodies, which depends on
            the spacing of their JSON.
        requests: The number of requests, including the guard's own.
    """

    outcome: Any
    asked: list[Any]
    requests: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Sdk:
    """How to use an SDK.

    Attributes:
        opened: Opens a client of a provider, guarded if the policy is not None:
            `opened(provider, policy, **settings)`.
        opened_async: Opens an async client in the same way.
        is_main: Whether the SDK sent a request for its caller, and not the guard for a sample.
        new: The fields that the provider generates anew each time.
        repeats_messages: Whether an error's message is the same each time, without a request id.
    """

    opened: Callable[..., AbstractContextManager[Any]]
    opened_async: Callable[..., AbstractAsyncContextManager[Any]]
    is_main: Callable[[RequestRecord], bool]
    new: Container[str]
    repeats_messages: bool

    def run(
        self, shape: Callable[[Any], Any], faults: Iterable[Fault], policy: Any, **settings: Any
    ) -> Seen:
        with SimulatedProvider(seed=3, world=WORLD, faults=faults) as provider:
            with self.opened(provider, policy, **settings) as client:
                try:
                    outcome = self._observed(shape(client))
                except Exception as error:
                    outcome = self._raised(error)
            return self._seen(outcome, provider)

    async def arun(
        self,
        shape: Callable[[Any], Awaitable[Any]],
        faults: Iterable[Fault],
        policy: Any,
        **settings: Any,
    ) -> Seen:
        with SimulatedProvider(seed=3, world=WORLD, faults=faults) as provider:
            async with self.opened_async(provider, policy, **settings) as client:
                try:
                    outcome = self._observed(await shape(client))
                except Exception as error:
                    outcome = self._raised(error)
            return self._seen(outcome, provider)

    def both(
        self, shape: Callable[[Any], Any], faults: Iterable[Fault], policy: Any, **settings: Any
    ) -> tuple[Seen, Seen]:
        """Run the guarded client and the SDK's own at the same time: both may wait long."""
        with ThreadPoolExecutor(1) as pool:
            plain = pool.submit(self.run, shape, faults, None, **settings)
            return self.run(shape, faults, policy, **settings), plain.result()

    async def aboth(
        self,
        shape: Callable[[Any], Awaitable[Any]],
        faults: Iterable[Fault],
        policy: Any,
        **settings: Any,
    ) -> tuple[Seen, Seen]:
        """Run the guarded client and the SDK's own at the same time, like `both`."""
        return await asyncio.gather(
            self.arun(shape, faults, policy, **settings),
            self.arun(shape, faults, None, **settings),
        )

    def _seen(self, outcome: Any, provider: SimulatedProvider) -> Seen:
        requests = provider.requests
        asked = [
            (request.path, request.body, request.headers.get("x-stainless-retry-count"))
            for request in requests
            if self.is_main(request)
        ]
        return Seen(outcome, asked, len(requests))

    def _observed(self, value: Any) -> Any:
        """Return the user-visible parts of a value, without fields that differ between calls."""
        if isinstance(value, BaseModel):
            return type(value).__qualname__, self._observed(value.model_dump())
        if isinstance(value, dict):
            fields = cast("Mapping[Any, Any]", value)
            return {k: self._observed(v) for k, v in fields.items() if k not in self.new}
        if isinstance(value, (list, tuple)):
            return [self._observed(item) for item in cast("Iterable[Any]", value)]
        return value

    def _raised(self, error: Exception) -> Any:
        status, body = getattr(error, "status_code", None), getattr(error, "body", None)
        message = str(error) if self.repeats_messages else None
        return type(error).__qualname__, status, message, self._observed(body)
