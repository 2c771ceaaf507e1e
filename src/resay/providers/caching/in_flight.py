"""The requests in flight, so that equal ones are sent once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import anyio

from resay.providers.base import Completion

Outcome = Completion | Exception | None
"""An answer; an error instead; or None, and the waiter must send the request itself."""


class InFlight:
    """One answer that is being requested."""

    def __init__(self) -> None:
        # Created by the first waiter: usually there is none.
        self._done: anyio.Event | None = None
        self._is_done = False
        self._outcome: Outcome = None

    def set_outcome(self, outcome: Outcome) -> None:
        """Set the outcome and wake all waiters."""
        self._outcome = outcome
        self._is_done = True
        if self._done is not None:
            self._done.set()

    async def wait(self) -> Outcome:
        """Wait for the outcome and return it."""
        if not self._is_done:
            self._done = self._done or anyio.Event()
            await self._done.wait()
        return self._outcome


class RequestsInFlight:
    """Requests in flight, separately for each event loop.

    Not shared across loops: a blocking call stops its loop, and a request in another loop that
    waits for one in the stopped loop would deadlock if the blocking call waits for that request.
    All blocking calls share one loop, so they also share their flights.
    """

    def __init__(self) -> None:
        self._entries: dict[tuple[asyncio.AbstractEventLoop, str], InFlight] = {}

    def claim(self, keys: Sequence[str]) -> tuple[list[str], dict[str, InFlight]]:
        """Claim the keys that are not in flight; the caller must complete each, even on failure.

        Args:
            keys: The keys of the answers.

        Returns:
            The keys that the caller must now request, and the in-flight requests for the others.
        """
        loop = asyncio.get_running_loop()
        # Only this loop's own thread changes this loop's entries.
        claimed: list[str] = []
        others: dict[str, InFlight] = {}
        for key in keys:
            in_flight = self._entries.get((loop, key))
            if in_flight is None:
                claimed.append(key)
                self._entries[loop, key] = InFlight()
            else:
                others[key] = in_flight
        return claimed, others

    def complete(self, key: str, outcome: Outcome) -> None:
        """Set the outcome of a claimed key and wake all waiters."""
        self._entries.pop((asyncio.get_running_loop(), key)).set_outcome(outcome)
