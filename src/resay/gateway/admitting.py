"""How much is guarded at the same time, and how much waits for it."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from resay.gateway.config import GatewayLimits

__all__ = ["Admission", "OverloadedError"]


class OverloadedError(Exception):
    """There is no room.

    Attributes:
        retry_after_s: When there may be, in whole seconds.
    """

    def __init__(self, retry_after_s: int) -> None:
        super().__init__("too much is asked at the same time")
        self.retry_after_s = retry_after_s


class Admission:
    """Lets in so many requests, and so many wait.

    Args:
        limits: How many, and how long.
    """

    def __init__(self, limits: GatewayLimits) -> None:
        self._limits = limits
        self._room = anyio.Semaphore(limits.concurrency)
        self._waiting = 0

    @property
    def inside(self) -> int:
        """How many are let in right now."""
        return self._limits.concurrency - self._room.value

    @property
    def waiting(self) -> int:
        """How many wait."""
        return self._waiting

    def check(self) -> None:
        """See whether there is room for one that would come now.

        Raises:
            OverloadedError: Too many wait already.
        """
        if not self._room.value and self._waiting >= self._limits.queue:
            raise self._overloaded()

    @asynccontextmanager
    async def place(self) -> AsyncGenerator[None]:
        """Have a place for as long as this is entered.

        Raises:
            OverloadedError: Too many wait already, or there was no room for too long.
        """
        await self._enter()
        try:
            yield
        finally:
            self._room.release()

    async def _enter(self) -> None:
        try:
            return self._room.acquire_nowait()
        except anyio.WouldBlock:
            pass
        self.check()
        self._waiting += 1
        try:
            with anyio.move_on_after(self._limits.queue_s):
                return await self._room.acquire()
        finally:
            self._waiting -= 1
        raise self._overloaded()

    def _overloaded(self) -> OverloadedError:
        return OverloadedError(max(1, math.ceil(self._limits.queue_s / 2)))
