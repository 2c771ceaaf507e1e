"""Work beside background tasks that end with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup

__all__ = ["in_task_group"]

T = TypeVar("T")


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
