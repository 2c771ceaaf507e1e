"""Where work runs: beside background tasks that end with it, or off the event loop."""

from __future__ import annotations

import math
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TypeVar

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

__all__ = ["compute", "in_task_group", "stop_if_abandoned"]

T = TypeVar("T")

_FEW_CHARS = 20_000

_abandoned: ContextVar[threading.Event | None] = ContextVar("_abandoned", default=None)


async def in_task_group(work: Callable[[TaskGroup], Awaitable[T]]) -> T:
    """Run work beside background tasks that end with it.

    An error of the work is raised as it is, where a task group alone would wrap it.

    Args:
        work: What is to be done; it is given the task group.

    Returns:
        What the work returns, once no task is left.
    """
    result: list[T] = []
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        try:
            result.append(await work(tasks))
        except Exception as error:
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return result[0]


class _AbandonedError(BaseException):
    """Ends work that nobody waits for; no handler of errors is to catch it."""


async def compute(work: Callable[[], T], *, chars: float = math.inf) -> T:
    """Run work on text: off the event loop, unless there is so little that it takes no time.

    Handing work to a thread and its result back takes the interpreter's lock twice, for which a
    busy loop lets it wait up to 5 ms each time; little text is done before.

    Cancelling takes effect at once. The work itself goes on until it calls `stop_if_abandoned`.

    Args:
        work: What is to be done. What it changes must be its own.
        chars: How much text that is, in characters, for work that takes 0.1 ms for 1,000 of them;
            by default more than can be done on the event loop.

    Returns:
        What the work returns.
    """
    if chars <= _FEW_CHARS:
        return work()
    abandoned = threading.Event()

    def run() -> T:
        _abandoned.set(abandoned)
        return work()

    try:
        return await anyio.to_thread.run_sync(run, abandon_on_cancel=True)
    finally:
        abandoned.set()


def stop_if_abandoned() -> None:
    """End the thread's work where nobody waits for it: its deadline passed, or it was cancelled.

    Work that `compute` runs calls this at least once for every few thousand characters.
    """
    abandoned = _abandoned.get()
    if abandoned is not None and abandoned.is_set():
        raise _AbandonedError
