"""Calls of LLMs and engines, from blocking callers and event loops."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager
from functools import partial
from typing import Any, Literal

from llama_index_instrumentation.dispatcher import active_instrument_tags, instrument_tags

from resay.adapters import marked
from resay.adapters.threads import BLOCKING, CallStyle, in_thread, read_in_threads
from resay_llamaindex._requests import Call


class AsyncCaller:
    """Calls asynchronous methods, on the current event loop."""

    async def ask(self, call: Call, target: Any) -> Any:
        """Call the method and return its result."""
        return await call.to(target, "a")

    @asynccontextmanager
    async def stream(self, call: Call, target: Any) -> AsyncGenerator[AsyncIterator[Any]]:
        """Call the streaming method."""
        async with self.read(await call.to(target, "astream_")) as pieces:
            yield pieces

    @asynccontextmanager
    async def read(self, pieces: Any) -> AsyncGenerator[AsyncIterator[Any]]:
        """Iterate over pieces, and close their generator at the end."""
        if not isinstance(pieces, AsyncIterator):
            pieces = BLOCKING.iterate(pieces)
        try:
            yield pieces
        finally:
            if isinstance(pieces, AsyncGenerator):
                await pieces.aclose()


class ThreadCaller:
    """Calls synchronous methods, in a thread.

    Asynchronous clients belong to the event loop that first used them, so Resay's own loop must not
    touch them. A call that is no longer wanted is left behind, since a thread cannot be stopped.
    """

    async def ask(self, call: Call, target: Any) -> Any:
        """Call the method and return its result."""
        return await in_thread(partial(call.to, target))

    @asynccontextmanager
    async def stream(self, call: Call, target: Any) -> AsyncGenerator[AsyncIterator[Any]]:
        """Call the streaming method."""
        async with self.read(await in_thread(partial(call.to, target, "stream_"))) as pieces:
            yield pieces

    def read(self, pieces: Any) -> AbstractAsyncContextManager[AsyncIterator[Any]]:
        """Iterate over pieces, and close their generator at the end."""
        return aclosing(read_in_threads(pieces))


Caller = AsyncCaller | ThreadCaller


def caller_for(style: CallStyle) -> Caller:
    """Return how to call LLMs and engines for blocking or asynchronous callers."""
    return ThreadCaller() if style.blocking else AsyncCaller()


TAG = "resay"
"""The instrumentation tag on spans and events inside a guard."""
Role = Literal["main", "sample", "judge"]


@contextmanager
def tagged(role: Role) -> Generator[None]:
    """Tag the calls made in this context, and disable guards inside.

    Args:
        role: The purpose of the calls.
    """
    with marked(), instrument_tags({**active_instrument_tags.get(), TAG: role}):
        yield
