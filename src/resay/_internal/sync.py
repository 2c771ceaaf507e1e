"""Runs our async code for callers that are not async."""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import os
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from typing import Any, TypeVar

import anyio
from anyio.from_thread import BlockingPortal

from resay._internal.telling import Carrier

__all__ = ["carried", "carrying", "enter_sync", "run_sync", "wait_for"]

T = TypeVar("T")


class _BackgroundLoop:
    """One event loop in one thread for the life of the process.

    Clients keep their connections, which belong to a loop, from call to call.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid = 0
        self._portal: BlockingPortal | None = None

    def portal(self) -> BlockingPortal:
        with self._lock:
            # A fork copies this object but not the thread.
            if self._portal is None or self._pid != os.getpid():
                self._portal = _start()
                self._pid = os.getpid()
            return self._portal


# anyio's `start_blocking_portal` would do, but for its way to stop: in a forked child, where the
# thread is missing, it waits for that thread for ever as soon as the copy is collected.
def _start() -> BlockingPortal:
    started: Future[BlockingPortal] = Future()
    stopped = threading.Event()
    thread = threading.Thread(
        target=anyio.run, args=(_serve, started, stopped), name="resay", daemon=True
    )
    thread.start()
    portal = started.result()
    atexit.register(_stop, portal, stopped, os.getpid())
    return portal


async def _serve(started: Future[BlockingPortal], stopped: threading.Event) -> None:
    async with BlockingPortal() as portal:
        started.set_result(portal)
        await portal.sleep_until_stopped()
    await _cancel_others()
    stopped.set()
    # The process ends now. Closing the loop would start a thread, which Python no longer allows.
    await anyio.sleep_forever()


async def _cancel_others() -> None:
    # Libraries leave tasks of their own behind, litellm its logger.
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _stop(portal: BlockingPortal, stopped: threading.Event, pid: int) -> None:
    if pid == os.getpid():
        portal.call(portal.stop, True)
        stopped.wait()


_loop = _BackgroundLoop()


def run_sync(function: Callable[..., Awaitable[T]], *args: Any, **kwargs: Any) -> T:
    """Run an async function on the background loop and wait for it.

    Works whether or not the calling thread runs an event loop of its own, which stands still in the
    meantime. Context variables of the caller are visible inside. When the wait is interrupted, by
    Ctrl-C for instance, the function is cancelled.

    Args:
        function: The async function.
        *args: Its positional arguments.
        **kwargs: Its keyword arguments.

    Returns:
        What the function returns.

    Raises:
        BaseException: What the function raises.
    """
    with carried():
        context = contextvars.copy_context()

        async def call() -> T:
            for variable, value in context.items():
                variable.set(value)
            return await function(*args, **kwargs)

        future: Future[T] = _loop.portal().start_task_soon(call)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


def wait_for(waited: Awaitable[T]) -> T:
    """Wait for something on the background loop."""

    async def wait() -> T:
        return await waited

    return run_sync(wait)


@contextmanager
def carried() -> Generator[None, None, None]:
    """Do what `resay._internal.telling.acarried` does, for callers that are not async."""
    carrier = Carrier()
    try:
        with carrier.around():
            yield
    finally:
        carrier.deliver(wait_for, last=True)


def carrying(pieces: Iterator[T]) -> Generator[T, None, None]:
    """Do what `resay._internal.telling.acarrying` does, for callers that are not async."""
    carrier = Carrier()
    try:
        while True:
            try:
                with carrier.around():
                    piece = next(pieces)
            except StopIteration:
                return
            finally:
                carrier.deliver(wait_for)
            yield piece
    finally:
        carrier.deliver(wait_for, last=True)
        if isinstance(pieces, Generator):
            pieces.close()


def enter_sync(manager: AbstractAsyncContextManager[T]) -> AbstractContextManager[T]:
    """Make an async context manager one that lives on the background loop.

    Args:
        manager: It is entered and left in one and the same task, which sees the context variables
            of the caller.

    Returns:
        A context manager for `with`.
    """
    context = contextvars.copy_context()

    @asynccontextmanager
    async def inside() -> AsyncGenerator[T]:
        for variable, value in context.items():
            variable.set(value)
        async with manager as value:
            yield value

    return _loop.portal().wrap_async_context_manager(inside())
