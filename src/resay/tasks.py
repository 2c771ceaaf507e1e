"""Where work runs: beside background tasks that end with it, or off the event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

__all__ = ["compute", "in_task_group"]

T = TypeVar("T")

_FEW_CHARS = 20_000


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


async def compute(work: Callable[[], T], *, chars: int) -> T:
    """Run work on text: off the event loop, unless there is so little that it takes no time.

    Handing work to a thread and its result back takes the interpreter's lock twice, for which a
    busy loop lets it wait up to 5 ms each time; little text is done before.

    Args:
        work: What is to be done.
        chars: How much text that is, in characters, for work that takes 0.1 ms for 1,000 of them.

    Returns:
        What the work returns.
    """
    return work() if chars <= _FEW_CHARS else await anyio.to_thread.run_sync(work)
