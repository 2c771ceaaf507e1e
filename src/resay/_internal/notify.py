"""Deliver verdicts to the application, even if a framework drops an answer's extra data."""

from __future__ import annotations

import inspect
import logging
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

Listener = Callable[[Any], object]
"""A callback for verdicts. It may be async."""

T = TypeVar("T")

_log = logging.getLogger("resay")


def last() -> Any:
    """Return the last verdict reported in this thread or task, or None."""
    return _last.get()


@contextmanager
def collecting() -> Generator[list[Any], None, None]:
    """Collect all verdicts of the block, including those of tasks and contexts started in it."""
    verdicts: list[Any] = []
    token = _collecting.set((*_collecting.get(), verdicts))
    try:
        yield verdicts
    finally:
        _collecting.reset(token)


class VerdictRelay:
    """Carries verdicts out of a call to the thread and context of its caller.

    A call may work in its own tasks and threads, whose context is lost afterwards; and functions of
    the application must not run on another event loop than the caller's.
    """

    def __init__(self) -> None:
        # Tasks and threads may append concurrently; appending is atomic.
        self._reports: list[tuple[Any, Sequence[Listener]]] = []
        self._ended = False

    @contextmanager
    def capture(self) -> Generator[None, None, None]:
        """Collect the verdicts found while the context is open."""
        token = _relay.set(self)
        try:
            yield
        finally:
            _relay.reset(token)

    def offer(self, verdict: Any, listeners: Sequence[Listener]) -> bool:
        """Collect a verdict and return True, or return False if the call is over."""
        if not self._ended:
            self._reports.append((verdict, listeners))
        return not self._ended

    def deliver(self, wait: Callable[[Awaitable[Any]], object], *, last: bool = False) -> None:
        """Notify listeners, in a sync caller, of the verdicts since the last delivery.

        Args:
            wait: Waits for the awaitable that an async listener returns.
            last: Whether the call is over.
        """
        self._ended = last
        reports, self._reports = self._reports, []
        for verdict, listeners in reports:
            _notify(verdict, listeners, wait)

    async def adeliver(self, *, last: bool = False) -> None:
        """Like `deliver`, but in the task of an async caller."""
        self._ended = last
        reports, self._reports = self._reports, []
        for verdict, listeners in reports:
            await _anotify(verdict, listeners)


_last: ContextVar[Any] = ContextVar("resay_last_verdict", default=None)
_collecting: ContextVar[tuple[list[Any], ...]] = ContextVar("resay_verdicts", default=())
_relay: ContextVar[VerdictRelay | None] = ContextVar("resay_verdict_relay", default=None)


def notify(
    verdict: Any, listeners: Sequence[Listener], wait: Callable[[Awaitable[Any]], object]
) -> None:
    """Report a new verdict from sync code.

    Args:
        verdict: The verdict.
        listeners: The callbacks to notify.
        wait: Waits for the awaitable that an async listener returns.
    """
    _collect(verdict)
    _notify(verdict, listeners, wait)


async def anotify(verdict: Any, listeners: Sequence[Listener]) -> None:
    """Report a new verdict.

    Args:
        verdict: The verdict.
        listeners: The callbacks to notify.
    """
    _collect(verdict)
    await _anotify(verdict, listeners)


def _collect(verdict: Any) -> None:
    for verdicts in _collecting.get():
        verdicts.append(verdict)


def _notify(
    verdict: Any, listeners: Sequence[Listener], wait: Callable[[Awaitable[Any]], object]
) -> None:
    for listener in _listeners_to_notify(verdict, listeners):
        with _log_errors():
            result = listener(verdict)
            if inspect.isawaitable(result):
                wait(result)


async def _anotify(verdict: Any, listeners: Sequence[Listener]) -> None:
    for listener in _listeners_to_notify(verdict, listeners):
        with _log_errors():
            result = listener(verdict)
            if inspect.isawaitable(result):
                await result


def _listeners_to_notify(verdict: Any, listeners: Sequence[Listener]) -> Sequence[Listener]:
    """Return the listeners to notify now: none inside another call, which notifies at its end."""
    _last.set(verdict)
    outer = _relay.get()
    return () if outer is not None and outer.offer(verdict, listeners) else listeners


@contextmanager
def _log_errors() -> Generator[None, None, None]:
    try:
        yield
    except Exception as error:
        # Its message and traceback may contain the verdict's content.
        _log.warning("on_verdict raised %s", type(error).__name__)


@asynccontextmanager
async def arelay_verdicts() -> AsyncGenerator[None]:
    """Report verdicts found in any task inside the block to the caller, at its end."""
    relay = VerdictRelay()
    try:
        with relay.capture():
            yield
    finally:
        await relay.adeliver(last=True)


async def arelay_stream(pieces: AsyncIterator[T]) -> AsyncGenerator[T]:
    """Yield from a stream, and report verdicts found in any task after each piece."""
    relay = VerdictRelay()
    try:
        while True:
            try:
                with relay.capture():
                    piece = await anext(pieces)
            except StopAsyncIteration:
                return
            finally:
                await relay.adeliver()
            yield piece
    finally:
        await relay.adeliver(last=True)
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()
