"""One script with an SDK's own client and with a guarded one: what users see of both."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import BaseModel

from simulation import Fault, RequestRecord, SimulatedProvider
from support.known_world import WORLD

__all__ = ["LOOK_UP", "POLICY", "QUESTION", "Founding", "Sdk", "Seen"]

# The main call first, so that the provider answers it as it answers the plain client.
POLICY = {
    "chain": [{"method": "ngram"}],
    "sampling": {"max": 2, "start": "after"},
    "stream": "after",
}
QUESTION = "What is Canberra?"
LOOK_UP = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}


class Founding(BaseModel):
    name: str
    year: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of a call, equal where the guard made no difference.

    Attributes:
        outcome: What it gave or raised.
        asked: What the SDK sent for it. How large a body is depends on how its JSON is spaced,
            which nobody compares.
        requests: How many requests there were, the guard's own included.
    """

    outcome: Any
    asked: list[Any]
    requests: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Sdk:
    """How an SDK is used.

    Attributes:
        opened: Opens a client of a provider, which is guarded where the policy is not None:
            `opened(provider, policy, **settings)`.
        opened_async: The same of the async client.
        is_main: Whether the SDK sent a request for its caller, and not the guard for a sample.
        new: The fields that the provider gives anew each time.
        repeats_messages: Whether an error says the same each time: no number of its request.
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

    def _seen(self, outcome: Any, provider: SimulatedProvider) -> Seen:
        requests = provider.requests
        asked = [
            (request.path, request.body, request.headers.get("x-stainless-retry-count"))
            for request in requests
            if self.is_main(request)
        ]
        return Seen(outcome, asked, len(requests))

    def _observed(self, value: Any) -> Any:
        """Return what a user can see of a value, without what differs from call to call."""
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
