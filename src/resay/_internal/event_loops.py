"""Event-loop helpers: per-loop objects, scoped background tasks, and sync wrappers."""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import inspect
import math
import os
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from contextvars import ContextVar
from functools import partial, wraps
from importlib import import_module
from types import TracebackType
from typing import Any, Generic, ParamSpec, TypeVar

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from anyio.from_thread import BlockingPortal

from resay._internal.notify import VerdictRelay, arelay_stream, arelay_verdicts
from resay._internal.tracebacks import has_needless_frames
from resay.errors import ResayError

P = ParamSpec("P")
T = TypeVar("T")
_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class PerLoop(Generic[T]):
    """Creates one object per event loop, and closes it when that loop shuts down.

    A loop of a compiled class, such as uvloop's, must be run by `asyncio.run`, or must shut down
    its asynchronous generators in the same way.

    Args:
        make: Creates an object; called in the loop.
        close: Closes one; called in the loop.
    """

    def __init__(self, make: Callable[[], T], close: Callable[[T], Awaitable[None]]) -> None:
        self._make = make
        self._close = close
        self._lock = threading.Lock()
        self._objects: dict[asyncio.AbstractEventLoop, tuple[T, AsyncGenerator[T, None]]] = {}

    async def get(self) -> T:
        """Return the object of the running event loop."""
        loop = asyncio.get_running_loop()
        with self._lock:
            entry = self._objects.get(loop)
        if entry is not None:
            return entry[0]
        # A loop that shuts down, for instance in `asyncio.run`, closes the asynchronous generators
        # that were started in it.
        lifetime = self._live(loop)
        value = await anext(lifetime)
        self._close_with(loop)
        with self._lock:
            for other in tuple(self._objects):
                if other.is_closed():
                    del self._objects[other]
            self._objects[loop] = value, lifetime
        return value

    async def aclose(self) -> None:
        """Close the object of the running event loop, if there is one."""
        with self._lock:
            entry = self._objects.get(asyncio.get_running_loop())
        if entry is not None:
            _, lifetime = entry
            await lifetime.aclose()

    def _close_with(self, loop: asyncio.AbstractEventLoop) -> None:
        """Also close the object in `loop.close()`, for callers that shut nothing else down."""
        close = loop.close

        def close_both() -> None:
            with self._lock:
                entry = self._objects.get(loop)
            # The loop must close even if closing the object fails.
            if entry is not None and not loop.is_closed() and not _has_running_loop():
                _, lifetime = entry
                with suppress(Exception):
                    loop.run_until_complete(lifetime.aclose())
            close()

        # Instances of compiled loop classes reject new attributes.
        with suppress(AttributeError):
            loop.close = close_both  # pyright: ignore[reportAttributeAccessIssue] - on purpose

    async def _live(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[T, None]:
        value = self._make()
        try:
            yield value
        finally:
            with self._lock:
                self._objects.pop(loop, None)
            await self._close(value)


def _has_running_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


_MAX_CHARS_IN_LOOP = 20_000
_abandoned: ContextVar[threading.Event | None] = ContextVar("_abandoned", default=None)


@asynccontextmanager
async def task_group() -> AsyncGenerator[TaskGroup]:
    """Open a group of background tasks that are cancelled when its body ends.

    An error of the body is raised unchanged; a plain task group would wrap it.
    """
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        try:
            yield tasks
        except Exception as error:
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure


class _AbandonedError(BaseException):
    """Ends abandoned work. A BaseException, so that no `except Exception` catches it."""


async def compute(work: Callable[[], T], *, chars: float = math.inf) -> T:
    """Run CPU work on text in a thread, or directly if there is little text.

    Handing work to a thread and back acquires the GIL twice, each of which can take up to 5 ms if
    the loop is busy; little text is finished sooner than that.

    Cancellation takes effect at once. The work itself continues until it calls `stop_if_abandoned`.

    Args:
        work: The work. It may only change objects that nothing else uses.
        chars: The amount of text in characters, for work that takes 0.1 ms per 1,000 characters; by
            default too much for the event loop.

    Returns:
        The result of the work.
    """
    if chars <= _MAX_CHARS_IN_LOOP:
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
    """End the thread's work if its caller is gone: its deadline passed, or it was cancelled.

    Work run by `compute` calls this at least once every few thousand characters.
    """
    abandoned = _abandoned.get()
    if abandoned is not None and abandoned.is_set():
        raise _AbandonedError


_Started = tuple[BlockingPortal, asyncio.AbstractEventLoop]


class _BackgroundLoop:
    """One event loop in one thread, for the life of the process.

    Connections belong to a loop, so clients can reuse theirs from call to call.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid = 0
        self._started: Future[_Started] = Future()

    def portal(self) -> BlockingPortal:
        """Return the portal to the loop, which is started for the first call."""
        return self._start()[0]

    def running(self) -> asyncio.AbstractEventLoop:
        """Return the loop, which is started for the first call."""
        return self._start()[1]

    def _start(self) -> _Started:
        # Nobody waits while holding the lock: gevent's threads would wait for each other if it was
        # created before gevent patched it.
        with self._lock:
            # A fork copies this object but not its thread.
            is_first = self._pid != os.getpid()
            if is_first:
                self._pid = os.getpid()
                self._started = Future()
            started = self._started
        if is_first:
            try:
                _start_thread(started)
            except BaseException as error:
                # The next call tries again; those that wait for this one fail with it.
                self._pid = 0
                if not started.done():
                    started.set_exception(error)
                raise
        return started.result()


class _Portal(BlockingPortal):
    """A portal that tells gevent's threads apart, also if gevent patched them after the import."""

    def __init__(self) -> None:
        super().__init__()
        self._own_thread = threading.get_ident()

    def _check_running(self) -> None:
        # anyio's own check compares what `get_ident` returned when anyio was imported.
        if threading.get_ident() == self._own_thread:
            super()._check_running()


# Not anyio's `start_blocking_portal`: in a forked child, which lacks the thread, it waits for that
# thread forever as soon as the copy is garbage-collected.
def _start_thread(started: Future[_Started]) -> None:
    stopped = threading.Event()
    thread = threading.Thread(target=_run_loop, args=(started, stopped), name="resay", daemon=True)
    thread.start()
    portal, _ = started.result()
    atexit.register(_stop, portal, stopped, os.getpid())
    before_threads_end(partial(_run_before_exit, portal, os.getpid()))


def _run_loop(started: Future[_Started], stopped: threading.Event) -> None:
    try:
        anyio.run(_serve, started, stopped)
    except BaseException as error:
        # Whoever waits for the loop must not wait for ever. In a process that was forked while
        # another thread imported anyio, anyio cannot be used.
        if started.done():
            raise
        started.set_exception(error)


def before_threads_end(callback: Callable[[], None]) -> None:
    """Have Python call a function when the process ends, while there can still be new threads.

    Functions of `atexit` are called after `asyncio.to_thread` has ended, and on recent versions
    after new threads are refused.

    Args:
        callback: The function. Other threads may still be running.
    """
    # The module registers the end of its threads in the same way, and the last registered is first.
    import_module("concurrent.futures.thread")
    # What `concurrent.futures` uses itself; not documented, so it may be missing one day.
    register = getattr(threading, "_register_atexit", None)
    if register is not None:
        # The process is ending already.
        with suppress(RuntimeError):
            register(callback)


def _run_before_exit(portal: BlockingPortal, pid: int) -> None:
    # A fork copies this, but not the thread.
    if pid == os.getpid():
        portal.call(_run_all, _callbacks_before_exit)


async def _serve(started: Future[_Started], stopped: threading.Event) -> None:
    async with _Portal() as portal:
        started.set_result((portal, asyncio.get_running_loop()))
        await portal.sleep_until_stopped()
    try:
        await _run_all(_exit_callbacks)
        await _cancel_others()
    finally:
        stopped.set()
    # The process is ending. Closing the loop would start a thread, which Python no longer allows.
    await anyio.sleep_forever()


async def _run_all(callbacks: Iterable[Callable[[], Awaitable[object]]]) -> None:
    for callback in tuple(callbacks):
        # The process must end even if this fails, or is cancelled by its deadline and says so in an
        # error of its own.
        with suppress(Exception, asyncio.CancelledError), anyio.move_on_after(_EXIT_TIMEOUT_S):
            await callback()


_EXIT_TIMEOUT_S = 10.0
_callbacks_before_exit: list[Callable[[], Awaitable[object]]] = []
_exit_callbacks: list[Callable[[], Awaitable[object]]] = []


def before_exit(callback: Callable[[], Awaitable[object]]) -> None:
    """Register an async function to run on the background loop before the process ends.

    Args:
        callback: The function. It may use threads; others may still be running.
    """
    _callbacks_before_exit.append(callback)


def on_exit(callback: Callable[[], Awaitable[object]]) -> None:
    """Register an async function to run on the background loop when the process ends.

    Args:
        callback: The function. It can no longer start threads.
    """
    _exit_callbacks.append(callback)


def in_background(function: Callable[..., Awaitable[T]], *args: Any) -> Future[T]:
    """Start an async function on the background loop without waiting for it.

    Args:
        function: The async function.
        *args: Its arguments.

    Returns:
        The future of its result.

    Raises:
        RuntimeError: The process is ending.
    """

    # Not through the portal, which refuses calls from its own loop.
    async def call() -> T:
        return await function(*args)

    return asyncio.run_coroutine_threadsafe(call(), _loop.running())


async def _cancel_others() -> None:
    # Libraries leave tasks behind, such as litellm's logger.
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

    Works whether or not the calling thread runs an event loop, which is blocked in the meantime.
    The caller's context variables are visible inside. If the wait is interrupted, for instance by
    Ctrl-C, the function is cancelled.

    Args:
        function: The async function.
        *args: Its positional arguments.
        **kwargs: Its keyword arguments.

    Returns:
        The function's result.

    Raises:
        BaseException: Any exception of the function.
    """
    with relay_verdicts():
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


def sync_version(work: Callable[P, Awaitable[T]]) -> Callable[P, T]:
    """Return the synchronous version of an async function or method.

    Args:
        work: The async function, whose name begins with "a".
    """

    @wraps(work)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return run_sync(work, *args, **kwargs)
        except ResayError as error:
            if has_needless_frames(error):
                raise error.with_traceback(None)  # noqa: B904 - it is the same error
            raise

    return name_sync_version(run)


def name_sync_version(wrapper: Callable[P, T]) -> Callable[P, T]:
    """Name a sync wrapper after the async function it wraps, without the leading "a"."""
    name = wrapper.__name__
    wrapper.__doc__ = _blocking_docstring(wrapper.__doc__, name)
    wrapper.__name__ = name.removeprefix("a")
    wrapper.__qualname__ = f"{wrapper.__qualname__.removesuffix(name)}{wrapper.__name__}"
    return wrapper


def blocking_version_of(
    work: Callable[..., object],
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that gives a function the docstring of the async one that it stands for.

    Args:
        work: The async function.
    """

    def documented(function: Callable[P, T]) -> Callable[P, T]:
        function.__doc__ = _blocking_docstring(work.__doc__, work.__name__)
        return function

    return documented


def _blocking_docstring(docstring: str | None, name: str) -> str:
    """Return the docstring of an async function for its blocking version."""
    summary, _, details = inspect.cleandoc(docstring or "").partition("\n\n")
    paragraphs = (summary, f"Blocking version of `{name}`.", details)
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def wait_for(awaitable: Awaitable[T]) -> T:
    """Run an awaitable on the background loop and return its result."""

    async def wait() -> T:
        return await awaitable

    return run_sync(wait)


@blocking_version_of(arelay_verdicts)
@contextmanager
def relay_verdicts() -> Generator[None, None, None]:
    """Blocking version of `arelay_verdicts`."""
    relay = VerdictRelay()
    try:
        with relay.capture():
            yield
    finally:
        relay.deliver(wait_for, last=True)


@blocking_version_of(arelay_stream)
def relay_stream(pieces: Iterator[T]) -> Generator[T, None, None]:
    """Blocking version of `arelay_stream`."""
    relay = VerdictRelay()
    try:
        while True:
            try:
                with relay.capture():
                    piece = next(pieces)
            except StopIteration:
                return
            finally:
                relay.deliver(wait_for)
            yield piece
    finally:
        relay.deliver(wait_for, last=True)
        if isinstance(pieces, Generator):
            pieces.close()


class EnteredInBackground(AbstractContextManager[T]):
    """An async context manager for `with`, entered and exited by one task of the background loop.

    Args:
        manager: The async context manager. Its task sees the context variables of the thread that
            creates this.
    """

    def __init__(self, manager: AbstractAsyncContextManager[T]) -> None:
        self._manager = manager
        self._context = contextvars.copy_context()
        self._entered: Future[T] = Future()
        self._leave = asyncio.Event()
        self._reason: _ExcInfo = (None, None, None)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._exited: Future[bool | None] | None = None

    def __enter__(self) -> T:
        self._loop = _loop.running()
        self._exited = _loop.portal().start_task_soon(self._hold)
        try:
            return self._entered.result()
        except BaseException:
            self._exited.cancel()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        assert self._exited is not None  # noqa: S101 - it was entered
        if kind is not None and error is not None:
            self._reason = kind, error, traceback
        self.leave_soon()
        return self._exited.result()

    def leave_soon(self) -> None:
        """Exit without waiting for it, as a finalizer must, which may run in any thread."""
        # The loop ends with the process.
        if self._loop is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._leave.set)

    async def _hold(self) -> bool | None:
        for variable, value in self._context.items():
            variable.set(value)
        try:
            value = await self._manager.__aenter__()
        except BaseException as error:
            self._entered.set_exception(error)
            if not isinstance(error, Exception):
                raise
            # `with` raises it.
            return None
        self._entered.set_result(value)
        try:
            await self._leave.wait()
        except BaseException as error:
            await self._manager.__aexit__(type(error), error, error.__traceback__)
            raise
        return await self._manager.__aexit__(*self._reason)
