"""What takes records of verdicts without delaying answers, and gives them to sinks."""

from __future__ import annotations

import asyncio
import logging
import os
import weakref
from concurrent.futures import Future
from typing import Any, Protocol

from resay._internal.event_loops import before_exit, in_background, on_exit
from resay._internal.plurals import counted
from resay.core.verdict_record import Sink, VerdictRecord
from resay.reporting.observers import Observer

_log = logging.getLogger(__name__)
_MAX_WAITING = 1000
_PATIENCE_S = 60.0


class Outbox(Protocol):
    """Takes records, and gives them to a sink or an observer in the background."""

    @property
    def sink(self) -> Sink | Observer:
        """What gets them."""
        ...

    @property
    def wants_evidence(self) -> bool:
        """Whether it gets the evidence of checks."""
        ...

    def put(self, record: VerdictRecord) -> None:
        """Take a record, in the context of its request.

        It does not block, and no failure affects the answer.

        Args:
            record: The record.
        """
        ...

    async def aflush(self) -> None:
        """Wait until the sink is done with all records so far."""
        ...


class SinkOutbox:
    """Gives records to one sink on the background event loop, so that no answer waits for it.

    Args:
        sink: The sink.
        content: Whether the sink gets the words of records.
        max_waiting: The number of records that the sink may be busy with; further ones are dropped.

    Attributes:
        sink: The sink.
    """

    def __init__(self, sink: Sink, *, content: bool = True, max_waiting: int | None = None) -> None:
        self.sink = sink
        self._content = content
        self._max_waiting = max_waiting or _MAX_WAITING
        # Threads may add and discard at the same time; each is atomic.
        self._pending: set[Future[None]] = set()
        self._lost = 0
        self._finished = True
        _living.add(self)

    def __repr__(self) -> str:
        return f"SinkOutbox({type(self.sink).__name__}, lost={self._lost})"

    @property
    def wants_evidence(self) -> bool:
        """Whether the sink gets the evidence of checks."""
        return self._content and bool(getattr(self.sink, "wants_evidence", False))

    @property
    def lost(self) -> int:
        """The number of records that the sink did not take."""
        return self._lost

    def put(self, record: VerdictRecord) -> None:
        """Start to give the sink a record. It does not block, and no failure affects the answer.

        Args:
            record: The record.
        """
        if len(self._pending) >= self._max_waiting:
            self._lose("too many verdicts were waiting")
            return
        try:
            delivery = in_background(self._deliver, record)
        except RuntimeError:
            self._lose("the process was ending")
            return
        self._finished = False
        self._pending.add(delivery)
        delivery.add_done_callback(self._pending.discard)

    async def aflush(self) -> None:
        """Wait until the sink took all records so far, and until it is done with them.

        Raises:
            Exception: Any error of the sink's `aflush`.
        """
        await self._wait()
        flush = getattr(self.sink, "aflush", None)
        if flush is not None:
            await asyncio.wrap_future(in_background(flush))

    async def _wait(self) -> None:
        pending = [asyncio.wrap_future(delivery) for delivery in tuple(self._pending)]
        if not pending:
            return
        _, late = await asyncio.wait(pending, timeout=_PATIENCE_S)
        if late:
            kind = type(self.sink).__name__
            _log.warning("the sink %s hangs: %d verdicts are not taken yet", kind, len(late))

    async def finish(self) -> None:
        """Like `aflush`, on the background event loop, when the process ends.

        It is called twice, and returns at once if there was no record since, or the sink hangs.
        """
        if self._finished:
            return
        self._finished = True
        flush: Any = getattr(self.sink, "aflush", None)
        try:
            await self._wait()
            if flush is not None:
                await flush()
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            _log.warning("the sink %s: %s", type(self.sink).__name__, type(error).__name__)

    def renew(self) -> None:
        """Reset after a fork: the child has no background loop yet; the parent's delivers these."""
        self._pending = set()

    async def _deliver(self, record: VerdictRecord) -> None:
        try:
            await self.sink.on_verdict(record if self._content else record.without_content())
        except asyncio.CancelledError:
            raise
        # An exit in a sink would end the event loop of all guards. The error may quote the answer,
        # so only its type is logged.
        except BaseException as error:
            self._lose(f"it failed with {type(error).__name__}")

    def _lose(self, reason: str) -> None:
        self._lost += 1
        # Warn only each time the count doubles: during an outage every answer loses a verdict.
        if self._lost & (self._lost - 1) == 0:
            kind = type(self.sink).__name__
            lost = counted(self._lost, "verdict")
            _log.warning("the sink %s lost %s so far; %s", kind, lost, reason)


_living: weakref.WeakSet[SinkOutbox] = weakref.WeakSet()


async def _finish_all() -> None:
    outboxes = tuple(_living)
    await asyncio.gather(*(outbox.finish() for outbox in outboxes), return_exceptions=True)


def _renew_all() -> None:
    for outbox in tuple(_living):
        outbox.renew()


# A sink may use threads for what is left.
before_exit(_finish_all)
# For what other threads reported since, before the exit callbacks of sinks, which close what they
# write to.
on_exit(_finish_all)
# Windows has no forks.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
