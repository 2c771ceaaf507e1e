"""Time limits on work that can mostly be done at once."""

from __future__ import annotations

import types
from collections.abc import Awaitable, Generator
from typing import Any, TypeVar

import anyio

T = TypeVar("T")


@types.coroutine
def within(timeout_s: float, work: Awaitable[T]) -> Generator[Any, Any, T]:
    """Await work for a limited time.

    Work that need not wait, such as receiving a body that is already there, is done without a
    timer, which would take longer than the work itself.

    Args:
        timeout_s: The time allowed, in seconds.
        work: The work. It is cancelled if it takes longer.

    Raises:
        TimeoutError: It took longer.
    """
    steps: Generator[Any, Any, T] = work.__await__()
    try:
        # Up to where it waits for the first time.
        awaited = next(steps)
    except StopIteration as end:
        return end.value
    with anyio.CancelScope(deadline=anyio.current_time() + timeout_s):  # noqa: ASYNC100 - it yields
        return (yield from _continue(steps, awaited))
    raise TimeoutError


def _continue(steps: Generator[Any, Any, T], awaited: Any) -> Generator[Any, Any, T]:
    """Do what `yield from` does, for work that already waits for something."""
    try:
        while True:
            try:
                value = yield awaited
            except BaseException as error:  # noqa: PERF203 - as `yield from` does
                awaited = steps.throw(error)
            else:
                awaited = steps.send(value)
    except StopIteration as end:
        return end.value
