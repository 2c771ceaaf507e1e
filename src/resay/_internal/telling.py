"""Telling applications of verdicts, also where a framework drops what comes with an answer."""

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
"""Is told of each verdict. What an async function returns is awaited."""

T = TypeVar("T")

_log = logging.getLogger("resay")


def last() -> Any:
    """Return what was told last in this thread or task, or None."""
    return _last.get()


@contextmanager
def collecting() -> Generator[list[Any], None, None]:
    """Collect what is told meanwhile, also in tasks and copies of the context begun meanwhile."""
    found: list[Any] = []
    token = _collecting.set((*_collecting.get(), found))
    try:
        yield found
    finally:
        _collecting.reset(token)


class Carrier:
    """Takes verdicts out of a call, to the thread and the context of whoever made it.

    A call may do its work in tasks and threads of its own, whose context nobody sees later; nor is
    the event loop of others the place to run functions of the application.
    """

    def __init__(self) -> None:
        # Tasks and threads may add at the same time; appending is atomic.
        self._told: list[tuple[Any, Sequence[Listener]]] = []
        self._ended = False

    @contextmanager
    def around(self) -> Generator[None, None, None]:
        """Take what is found meanwhile."""
        token = _carrier.set(self)
        try:
            yield
        finally:
            _carrier.reset(token)

    def take(self, verdict: Any, listeners: Sequence[Listener]) -> bool:
        """Take a verdict, unless the call is over."""
        if not self._ended:
            self._told.append((verdict, listeners))
        return not self._ended

    def deliver(self, wait: Callable[[Awaitable[Any]], object], *, last: bool = False) -> None:
        """Tell the caller, who is not async, of what was found since the last time.

        Args:
            wait: Waits for what an async listener returns.
            last: Whether the call is over.
        """
        self._ended = last
        told, self._told = self._told, []
        for verdict, listeners in told:
            _tell(verdict, listeners, wait)

    async def adeliver(self, *, last: bool = False) -> None:
        """Do what `deliver` does, in the caller's task."""
        self._ended = last
        told, self._told = self._told, []
        for verdict, listeners in told:
            await _atell(verdict, listeners)


_last: ContextVar[Any] = ContextVar("resay_last_verdict", default=None)
_collecting: ContextVar[tuple[list[Any], ...]] = ContextVar("resay_verdicts", default=())
_carrier: ContextVar[Carrier | None] = ContextVar("resay_carrier", default=None)


def tell(
    verdict: Any, listeners: Sequence[Listener], wait: Callable[[Awaitable[Any]], object]
) -> None:
    """Tell of a verdict that was just found, in code that is not async.

    Args:
        verdict: The verdict.
        listeners: Who is notified.
        wait: Waits for what an async listener returns.
    """
    _collect(verdict)
    _tell(verdict, listeners, wait)


async def atell(verdict: Any, listeners: Sequence[Listener]) -> None:
    """Tell of a verdict that was just found.

    Args:
        verdict: The verdict.
        listeners: Who is notified.
    """
    _collect(verdict)
    await _atell(verdict, listeners)


def _collect(verdict: Any) -> None:
    for found in _collecting.get():
        found.append(verdict)


def _tell(
    verdict: Any, listeners: Sequence[Listener], wait: Callable[[Awaitable[Any]], object]
) -> None:
    for listener in _waiting(verdict, listeners):
        with _complaining():
            result = listener(verdict)
            if inspect.isawaitable(result):
                wait(result)


async def _atell(verdict: Any, listeners: Sequence[Listener]) -> None:
    for listener in _waiting(verdict, listeners):
        with _complaining():
            result = listener(verdict)
            if inspect.isawaitable(result):
                await result


def _waiting(verdict: Any, listeners: Sequence[Listener]) -> Sequence[Listener]:
    """Return who is notified now: nobody inside of another call, which tells them at its end."""
    _last.set(verdict)
    outer = _carrier.get()
    return () if outer is not None and outer.take(verdict, listeners) else listeners


@contextmanager
def _complaining() -> Generator[None, None, None]:
    try:
        yield
    except Exception as error:
        # Its message and traceback may hold what the verdict holds.
        _log.warning("on_verdict raised %s", type(error).__name__)


@asynccontextmanager
async def acarried() -> AsyncGenerator[None]:
    """Tell the caller of what is found inside, whichever task finds it."""
    carrier = Carrier()
    try:
        with carrier.around():
            yield
    finally:
        await carrier.adeliver(last=True)


async def acarrying(pieces: AsyncIterator[T]) -> AsyncGenerator[T]:
    """Do the same for a stream, while it is read."""
    carrier = Carrier()
    try:
        while True:
            try:
                with carrier.around():
                    piece = await anext(pieces)
            except StopAsyncIteration:
                return
            finally:
                await carrier.adeliver()
            yield piece
    finally:
        await carrier.adeliver(last=True)
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()
