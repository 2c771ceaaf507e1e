"""Waiting for other threads without standing still."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import TypeVar

__all__ = ["outcome"]

T = TypeVar("T")


async def outcome(future: Future[T]) -> T:
    """Wait for what another thread does. Who gives up waiting does not end it for the others.

    Raises:
        Exception: What the other thread's work raised.
    """
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def wake(_: Future[T]) -> None:
        try:
            loop.call_soon_threadsafe(done.set)
        except RuntimeError:
            return  # The loop was closed, and nobody waits any more.

    future.add_done_callback(wake)
    await done.wait()
    return future.result()
