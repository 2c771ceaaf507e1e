"""The way of an answer back to its client, and what goes wrong on it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from resay.testing.faults import (
    CutConnection,
    Fault,
    MalformedJson,
    RateLimited,
    Refused,
    ServerError,
    Stall,
)

if TYPE_CHECKING:
    from simulation.apis import Api
    from simulation.body import InvalidRequestError
    from simulation.events import Event
    from simulation.record import RequestLog
    from simulation.serving import Exchange

__all__ = ["Delivery"]


@dataclass(frozen=True, slots=True)
class Delivery:
    """One request's way back to its client.

    Attributes:
        exchange: The request and its connection.
        log: Where it is recorded.
        index: Its number there.
        gate: What holds it when it hangs or stalls.
        api: The API it was meant for.
    """

    exchange: Exchange
    log: RequestLog
    index: int
    gate: asyncio.Event
    api: Api

    async def reply(self, status: int, body: object, *headers: tuple[str, str]) -> None:
        """Send a JSON body."""
        data = _encoded(body)
        length = ("content-length", str(len(data)))
        await self.exchange.start(status, "application/json", [self._id_header, length, *headers])
        await self.exchange.send(data, last=True)

    async def fail(
        self,
        status: int,
        message: str,
        *headers: tuple[str, str],
        cause: InvalidRequestError | None = None,
    ) -> None:
        """Send an error."""
        await self.reply(status, self.api.error(status, message, self._id, cause), *headers)

    async def fail_as(self, fault: RateLimited | ServerError | Refused) -> None:
        """Send the error that a fault is."""
        if not isinstance(fault, RateLimited):
            return await self.fail(fault.status, "The simulated provider fails on command.")
        after = fault.retry_after_s
        headers = [] if after is None else [("retry-after", f"{after:g}")]
        return await self.fail(429, "Rate limit reached for requests.", *headers)

    async def send(
        self, body: Mapping[str, Any], usage: Mapping[str, int], fault: Fault | None
    ) -> None:
        """Send a whole answer.

        Args:
            body: The answer.
            usage: What it says it cost.
            fault: What goes wrong on the way.
        """
        data = _encoded(body)
        half = data[: len(data) // 2]
        sent = half if isinstance(fault, MalformedJson) else data
        length = ("content-length", str(len(sent)))
        await self.exchange.start(200, "application/json", [self._id_header, length])
        if isinstance(fault, CutConnection):
            await self.exchange.send(half, last=False)
            await self.exchange.cut()
        if isinstance(fault, Stall):
            await self.exchange.send(half, last=False)
            await self.gate.wait()
            sent = data[len(half) :]
        if not isinstance(fault, MalformedJson):
            self.log.spend(self.index, usage)
        await self.exchange.send(sent, last=True)

    async def stream(
        self,
        pieces: Iterable[Event],
        usage: Mapping[str, int] | None,
        fault: Fault | None,
        *,
        first_s: float,
        whole_s: float,
    ) -> None:
        """Send an answer as a stream.

        Args:
            pieces: The answer.
            usage: What it says it cost; None where it says nothing.
            fault: What goes wrong on the way.
            first_s: How long it takes to its first event, in seconds.
            whole_s: How long it takes in all, in seconds, if that is longer.
        """
        events = [*pieces]
        middle = len(events) // 2
        paced = sum(event.paced for event in events)
        if not paced:
            first_s = max(first_s, whole_s)
        pause = max(0.0, whole_s - first_s) / max(1, paced)
        if isinstance(fault, MalformedJson):
            events[middle] = events[middle].halved()
        await self.exchange.start(200, "text/event-stream", [self._id_header])
        for position, event in enumerate(events):
            wait = pause if event.paced else 0.0
            await asyncio.sleep(wait if position else first_s)
            if position == middle and isinstance(fault, CutConnection):
                await self.exchange.cut()
            if position == middle and isinstance(fault, Stall):
                await self.gate.wait()
            last = position == len(events) - 1
            if last and usage is not None:
                self.log.spend(self.index, usage)
            await self.exchange.send(event.encoded(), last=last)

    @property
    def _id(self) -> str:
        return f"req_{self.index}"

    @property
    def _id_header(self) -> tuple[str, str]:
        return self.api.id_header, self._id


def _encoded(body: object) -> bytes:
    return json.dumps(body).encode()
