"""A stream of the proxy's, read once and kept for all who look at it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from types import TracebackType
from typing import Any

from resay_litellm._shape import Wire

__all__ = ["Relay"]


class Relay:
    """Reads a stream in a task of its own.

    Whoever looks at it may be cancelled, at a deadline for example, and the stream goes on: an
    answer that is on its way is not lost with its check.

    Args:
        first: The first thing that came.
        stream: The rest of it.
        wire: What reads it.

    Attributes:
        seen: The pieces so far.
        failure: What broke the stream, if anything did.
    """

    def __init__(self, first: Any, stream: AsyncIterator[Any], wire: Wire) -> None:
        self.wire = wire
        self.seen: list[Any] = []
        self.failure: Exception | None = None
        self._first = first
        self._stream = stream
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._over = False

    async def __aenter__(self) -> Relay:
        self._task = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _read(self) -> None:
        try:
            self._take(self.wire.feed(self._first))
            async for raw in self._stream:
                self._take(self.wire.feed(raw))
            self._take(self.wire.finish())
        except Exception as error:
            self.failure = error
        finally:
            self._over = True
            self._changed.set()

    def _take(self, pieces: list[Any]) -> None:
        self.seen.extend(pieces)
        self._changed.set()
        self._changed = asyncio.Event()

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self.wire.chunk(piece).text for piece in self.seen)

    async def pieces(self, position: int = 0) -> AsyncGenerator[Any]:
        """Yield the pieces from a position on, until the stream ends.

        Raises:
            Exception: What broke the stream, as it is.
        """
        while True:
            changed = self._changed
            while position < len(self.seen):
                yield self.seen[position]
                position += 1
            if self.failure is not None:
                raise self.failure
            if self._over:
                return
            await changed.wait()

    async def drain(self) -> None:
        """Wait for the end of the stream.

        Raises:
            Exception: What broke the stream, as it is.
        """
        async for _ in self.pieces(len(self.seen)):
            pass
