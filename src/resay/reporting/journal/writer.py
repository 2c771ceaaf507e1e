"""What waits to be written, and the task that writes it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from itertools import islice

import anyio

from resay.reporting.journal.rows import size_of
from resay.reporting.journal.session import JournalError, RefusedError, Row

__all__ = ["Losses", "Writer"]

_log = logging.getLogger(__name__)

_BATCH = 200
_MOST_BYTES = 64_000_000
# How long an answer waits for its entry at most.
_PATIENCE_S = 0.05
_PAUSES_S = (0.1, 0.5, 2.0, 5.0)
_LAST_CHANCE_S = 5.0


class Losses:
    """Counts what was lost, in all event loops."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    @property
    def count(self) -> int:
        """How many entries were lost."""
        return self._count

    def add(self, count: int, reason: str) -> None:
        """Count some more, and say so in the log."""
        with self._lock:
            self._count += count
            total = self._count
        # Each time the number doubles: in trouble there is one for every answer.
        if total.bit_length() > (total - count).bit_length():
            _log.warning("the journal lost %d entries so far; last because %s", total, reason)


class Writer:
    """Writes the rows of one event loop in batches, in the background.

    A row leaves the queue once it is written. One that was written although nobody heard of it,
    because the wait was broken off, is written again, which changes nothing.

    Args:
        write: Writes rows, all or none; rows that are there already are left as they are.
        losses: Where losses are counted.
        most: How many rows may wait.
    """

    def __init__(
        self,
        write: Callable[[Sequence[Row]], Awaitable[object]],
        losses: Losses,
        *,
        most: int,
    ) -> None:
        self._write = write
        self._losses = losses
        self._most = most
        self._rows: deque[Row] = deque()
        self._bytes = 0
        self._taken = 0
        self._done = 0
        self._failures = 0
        self._trouble: JournalError | None = None
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._hurry = asyncio.Event()

    async def put(self, row: Row) -> bool:
        """Take a row, or lose it when there is no room for it within a moment.

        Returns:
            Whether it was taken.
        """
        size = size_of(row)
        try:
            # While nothing can be written, to wait would only hold up every answer.
            if not self._fits(size) and self._trouble is None:
                with anyio.move_on_after(_PATIENCE_S):
                    await self._until(lambda: self._fits(size))
        finally:
            # When the wait is cancelled, too: there may be room by now.
            taken = self._fits(size)
            if taken:
                self._rows.append(row)
                self._bytes += size
                self._taken += 1
                self._start()
            else:
                self._losses.add(1, "too many wait to be written")
        return taken

    async def flush(self) -> None:
        """Wait until what was taken is written.

        Raises:
            JournalError: Trying to write it failed. It will be tried again.
        """
        taken, failures = self._taken, self._failures
        self._start()
        self._hurry.set()
        await self._until(lambda: self._done >= taken or self._failures > failures)
        if self._done < taken:
            raise JournalError(str(self._trouble))

    async def aclose(self) -> None:
        """Write what is left, or count it as lost where that cannot be done soon."""
        reason = "the journal was closed before they were written"
        try:
            if self._task is not None:
                self._task.cancel()
                await asyncio.wait([self._task])
            with anyio.move_on_after(_LAST_CHANCE_S):
                while self._rows:
                    await self._write_some()
        except JournalError as error:
            reason = str(error)
        finally:
            self._lose_the_rest(reason)

    def _lose_the_rest(self, reason: str) -> None:
        if self._rows:
            self._losses.add(len(self._rows), reason)
            self._drop(len(self._rows))

    def _fits(self, size: int) -> bool:
        # However large it is, one alone is taken.
        room = not self._rows or self._bytes + size <= _MOST_BYTES
        return room and len(self._rows) < self._most

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await self._changed.wait()

    def _announce(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _start(self) -> None:
        # It ends when there is nothing to do, so that no loop ends before it.
        if self._rows and (self._task is None or self._task.done()):
            # In a context of its own: it outlives the request that happens to start it.
            self._task = Context().run(asyncio.create_task, self._run())

    async def _run(self) -> None:
        pauses = iter(_PAUSES_S)
        while self._rows:
            self._hurry.clear()
            try:
                await self._write_some()
            except JournalError as error:
                self._fail(error)
                with anyio.move_on_after(next(pauses, _PAUSES_S[-1])):
                    await self._hurry.wait()
            else:
                pauses = iter(_PAUSES_S)
                self._recover()

    def _fail(self, error: JournalError) -> None:
        if self._trouble is None:
            _log.warning("entries wait, because %s", error)
        self._trouble = error
        self._failures += 1
        self._announce()

    def _recover(self) -> None:
        if self._trouble is not None:
            _log.warning("the journal is written again")
        self._trouble = None

    async def _write_some(self) -> None:
        batch = list(islice(self._rows, _BATCH))
        try:
            await self._attempt(batch)
        except RefusedError:
            # One bad row must not take others with it.
            await self._write_singly(batch)
        else:
            self._drop(len(batch))

    async def _attempt(self, rows: Sequence[Row]) -> None:
        try:
            await self._write(rows)
        except JournalError:
            raise
        except Exception as error:
            # Whatever it is, rows wait and losses are counted; nobody may wait for ever.
            raise JournalError(f"writing failed with {type(error).__name__}") from error

    async def _write_singly(self, batch: Sequence[Row]) -> None:
        for row in batch:
            try:
                await self._attempt([row])
            except RefusedError as error:
                self._losses.add(1, str(error))
            self._drop(1)

    def _drop(self, count: int) -> None:
        for _ in range(count):
            self._bytes -= size_of(self._rows.popleft())
        self._done += count
        self._announce()
