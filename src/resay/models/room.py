"""A limit on what may wait, kept across threads and event loops."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from dataclasses import dataclass

__all__ = ["Room"]


@dataclass(eq=False, slots=True)
class _Waiter:
    amount: int
    loop: asyncio.AbstractEventLoop
    granted: asyncio.Future[None]
    given: bool = False


class Room:
    """Space for so much, taken by coroutines of any event loop, given back by any thread.

    Who asks first is served first. Somebody who asks for more than there is at all gets in when
    nobody else is.

    Args:
        size: How much there is.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._used = 0
        self._lock = threading.Lock()
        self._waiters: deque[_Waiter] = deque()

    async def take(self, amount: int) -> None:
        """Take some of the space, waiting until there is enough."""
        with self._lock:
            if not self._waiters and self._fits(amount):
                self._used += amount
                return
            loop = asyncio.get_running_loop()
            waiter = _Waiter(amount, loop, loop.create_future())
            self._waiters.append(waiter)
        try:
            await waiter.granted
        except asyncio.CancelledError:
            self._withdraw(waiter)
            raise

    def give(self, amount: int) -> None:
        """Give space back."""
        with self._lock:
            self._used -= amount
            self._admit()

    def _fits(self, amount: int) -> bool:
        return self._used == 0 or self._used + amount <= self._size

    def _admit(self) -> None:
        while self._waiters and self._fits(self._waiters[0].amount):
            waiter = self._waiters.popleft()
            self._used += waiter.amount
            waiter.given = True
            try:
                waiter.loop.call_soon_threadsafe(_grant, waiter.granted)
            except RuntimeError:
                # Its loop was closed while it waited; nobody will ever use the space.
                self._used -= waiter.amount

    def _withdraw(self, waiter: _Waiter) -> None:
        with self._lock:
            if waiter.given:
                self._used -= waiter.amount
            else:
                self._waiters.remove(waiter)
            self._admit()


def _grant(granted: asyncio.Future[None]) -> None:
    if not granted.done():
        granted.set_result(None)
