"""The queue of entries that one event loop has yet to write."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from itertools import islice

import anyio

from resay_server.journal.errors import JournalError, RefusedError
from resay_server.journal.rows import Row, size_of

_log = logging.getLogger("resay.journal")
_BATCH_ROWS = 200
_MAX_BYTES = 64_000_000
# The longest time that an answer waits for its entry to be queued.
_MAX_WAIT_S = 0.05
_PAUSES_S = (0.1, 0.5, 2.0, 5.0)
_CLOSE_TIMEOUT_S = 5.0


class LossCounter:
    """Counts the lost entries of all event loops."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    @property
    def count(self) -> int:
        """The number of lost entries."""
        return self._count

    def add(self, count: int, reason: str) -> None:
        """Count further losses, and log a warning."""
        with self._lock:
            self._count += count
            total = self._count
        # Only each time the count doubles: during an outage every answer loses an entry.
        if total.bit_length() > (total - count).bit_length():
            _log.warning(
                "the journal has lost %d entries so far; the last because %s", total, reason
            )


class WriteQueue:
    """Writes the rows of one event loop in batches, in the background.

    A row leaves the queue once it is written. If the wait for a successful write is cancelled, the
    row is written again, which has no effect.

    Args:
        write: Writes all rows or none; existing rows are left unchanged.
        losses: The counter of lost entries.
        max_rows: The maximum number of rows in the queue.
    """

    def __init__(
        self,
        write: Callable[[Sequence[Row]], Awaitable[object]],
        losses: LossCounter,
        *,
        max_rows: int,
    ) -> None:
        self._write = write
        self._losses = losses
        self._max_rows = max_rows
        self._rows: deque[Row] = deque()
        self._bytes = 0
        self._queued = 0
        self._finished = 0
        self._failures = 0
        self._last_error: JournalError | None = None
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._retry_now = asyncio.Event()

    async def put(self, row: Row) -> bool:
        """Queue a row, or drop it if there is still no room after 50 ms.

        Returns:
            Whether it was queued.
        """
        size = size_of(row)
        try:
            # During an outage, waiting would only delay every answer.
            if not self._fits(size) and self._last_error is None:
                with anyio.move_on_after(_MAX_WAIT_S):
                    await self._wait_until(lambda: self._fits(size))
        finally:
            # Even if the wait was cancelled: there may be room by now.
            fits = self._fits(size)
            if fits:
                self._rows.append(row)
                self._bytes += size
                self._queued += 1
                self._start()
            else:
                self._losses.add(1, "too many entries were waiting")
        return fits

    async def flush(self) -> None:
        """Wait until all rows queued so far are written.

        Raises:
            JournalError: An attempt failed. It will be retried.
        """
        queued, failures = self._queued, self._failures
        self._start()
        self._retry_now.set()
        await self._wait_until(lambda: self._finished >= queued or self._failures > failures)
        if self._finished < queued:
            raise JournalError(str(self._last_error))

    async def aclose(self) -> None:
        """Write the remaining rows, or count them as lost if that fails or takes too long."""
        reason = "the journal was closed before it wrote them"
        try:
            if self._task is not None:
                self._task.cancel()
                await asyncio.wait([self._task])
            with anyio.move_on_after(_CLOSE_TIMEOUT_S):
                while self._rows:
                    await self._write_batch()
        except JournalError as error:
            reason = str(error)
        finally:
            self._lose_remaining(reason)

    def _lose_remaining(self, reason: str) -> None:
        if self._rows:
            self._losses.add(len(self._rows), reason)
            self._remove(len(self._rows))

    def _fits(self, size: int) -> bool:
        # A single row is accepted whatever its size.
        bytes_fit = not self._rows or self._bytes + size <= _MAX_BYTES
        return bytes_fit and len(self._rows) < self._max_rows

    async def _wait_until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await self._changed.wait()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _start(self) -> None:
        # The task ends when the queue is empty, so that none is pending when an idle loop closes.
        if self._rows and (self._task is None or self._task.done()):
            # In a new context, because it outlives the request that happens to start it.
            self._task = Context().run(asyncio.create_task, self._run())

    async def _run(self) -> None:
        pauses = iter(_PAUSES_S)
        while self._rows:
            self._retry_now.clear()
            try:
                await self._write_batch()
            except JournalError as error:
                self._fail(error)
                with anyio.move_on_after(next(pauses, _PAUSES_S[-1])):
                    await self._retry_now.wait()
            else:
                pauses = iter(_PAUSES_S)
                self._recover()

    def _fail(self, error: JournalError) -> None:
        if self._last_error is None:
            _log.warning("the journal is delayed, because %s", error)
        self._last_error = error
        self._failures += 1
        self._notify()

    def _recover(self) -> None:
        if self._last_error is not None:
            _log.warning("the journal is working again")
        self._last_error = None

    async def _write_batch(self) -> None:
        batch = list(islice(self._rows, _BATCH_ROWS))
        try:
            await self._attempt(batch)
        except RefusedError:
            # One bad row must not cause the loss of others.
            await self._write_one_by_one(batch)
        else:
            self._remove(len(batch))

    async def _attempt(self, rows: Sequence[Row]) -> None:
        try:
            await self._write(rows)
        except JournalError:
            raise
        except Exception as error:
            # Any other error is a failed attempt too, or `flush` would wait forever.
            raise JournalError(f"writing failed with {type(error).__name__}") from error

    async def _write_one_by_one(self, batch: Sequence[Row]) -> None:
        for row in batch:
            try:
                await self._attempt([row])
            except RefusedError as error:
                self._losses.add(1, str(error))
            self._remove(1)

    def _remove(self, count: int) -> None:
        for _ in range(count):
            self._bytes -= size_of(self._rows.popleft())
        self._finished += count
        self._notify()
