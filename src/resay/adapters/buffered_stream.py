"""A stream that is read in a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from resay.providers.apis import Event


class BufferedStream:
    """Read a stream in a task of its own.

    A consumer may be cancelled, for example at a deadline, while the stream continues: an answer in
    progress is not lost with its check.

    Args:
        stream: The stream. It is closed at the end.

    Attributes:
        seen: Its events so far.
        failure: The error that broke it, if any.
    """

    def __init__(self, stream: AsyncGenerator[Event]) -> None:
        self.seen: list[Event] = []
        self.failure: Exception | None = None
        self._stream = stream
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._done = False

    async def __aenter__(self) -> BufferedStream:
        self._task = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        await self._stream.aclose()

    async def _read(self) -> None:
        try:
            async with aclosing(self._stream):
                async for event in self._stream:
                    self.seen.append(event)
                    self._notify()
        except Exception as error:
            self.failure = error
        finally:
            self._done = True
            self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def events(self) -> AsyncGenerator[Event]:
        """Yield the events from the first on, until the stream ends.

        Raises:
            Exception: The stream's own error.
        """
        position = 0
        while True:
            changed = self._changed
            while position < len(self.seen):
                yield self.seen[position]
                position += 1
            # More events arrived while the consumer was busy.
            if changed.is_set():
                continue
            if self.failure is not None:
                raise self.failure
            if self._done:
                return
            await changed.wait()

    async def drain(self) -> None:
        """Wait for the end of the stream.

        Raises:
            Exception: The stream's own error.
        """
        async for _ in self.events():
            pass
