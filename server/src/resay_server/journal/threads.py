"""Blocking work in threads."""

from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread

T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    """Run a blocking function in a thread, or here if none can start any more."""
    try:
        return await anyio.to_thread.run_sync(work)
    except RuntimeError:
        # No new threads can start at interpreter shutdown.
        return work()
