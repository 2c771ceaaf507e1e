"""The events of a stream, read once and kept for all who look at them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from types import TracebackType

from resay.providers.apis import Event

__all__ = ["Incoming"]


class Incoming:
    """Reads a stream in a task of its own.

    Whoever looks at it may be cancelled, at a deadline for example, and the stream goes on: an
    answer that is on its way is not lost with its check.

    Args:
        stream: The stream. It is closed in the end.

    Attributes:
        seen: Its events so far.
        failure: What broke it, if anything did.
    """

    def __init__(self, stream: AsyncGenerator[Event]) -> None:
        self.seen: list[Event] = []
        self.failure: Exception | None = None
        self._stream = stream
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._over = False

    async def __aenter__(self) -> Incoming:
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
        await self._stream.aclose()

    async def _read(self) -> None:
        try:
            async with aclosing(self._stream):
                async for event in self._stream:
                    self.seen.append(event)
                    self._tell()
        except Exception as error:
            self.failure = error
        finally:
            self._over = True
            self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def events(self) -> AsyncGenerator[Event]:
        """Yield the events from the first on, until the stream ends.

        Raises:
            Exception: What broke the stream, as it is.
        """
        position = 0
        while True:
            changed = self._changed
            while position < len(self.seen):
                yield self.seen[position]
                position += 1
            # Read while this waited for its own reader.
            if changed.is_set():
                continue
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
        async for _ in self.events():
            pass
