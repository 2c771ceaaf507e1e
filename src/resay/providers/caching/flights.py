"""Requests under way, so that equal ones at the same time pay once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import anyio

from resay.providers.base import Completion

__all__ = ["Flight", "Flights", "Outcome"]

Outcome = Completion | Exception | None
"""An answer; the error in place of one; or None, and whoever waits must ask for itself."""


class Flight:
    """One answer that somebody is asking for."""

    def __init__(self) -> None:
        self._landed = anyio.Event()
        self._outcome: Outcome = None

    def land(self, outcome: Outcome) -> None:
        """Tell everybody who waits."""
        self._outcome = outcome
        self._landed.set()

    async def wait(self) -> Outcome:
        """Wait until it lands and return what came of it."""
        await self._landed.wait()
        return self._outcome


class Flights:
    """Who is asking for what, in each event loop by itself.

    Not across loops: a loop stands still while a blocking call is made in it, and a request in
    another loop that waited for one in this would then wait for ever if the blocking call waits for
    that request. All blocking calls share one loop, so they also share their flights.
    """

    def __init__(self) -> None:
        self._under_way: dict[tuple[asyncio.AbstractEventLoop, str], Flight] = {}

    def claim(self, keys: Sequence[str]) -> tuple[list[str], dict[str, Flight]]:
        """Take what nobody is asking for; whoever does must land all of it, come what may.

        Args:
            keys: What is wanted.

        Returns:
            The keys that are now the caller's to ask for, and the flights of the others.
        """
        loop = asyncio.get_running_loop()
        # Only this loop's own thread changes this loop's entries.
        followed = {k: self._under_way[loop, k] for k in keys if (loop, k) in self._under_way}
        led = [key for key in keys if key not in followed]
        self._under_way.update({(loop, key): Flight() for key in led})
        return led, followed

    def land(self, key: str, outcome: Outcome) -> None:
        """Tell everybody who waits for what the caller claimed."""
        self._under_way.pop((asyncio.get_running_loop(), key)).land(outcome)
