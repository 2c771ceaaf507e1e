"""Push verdicts to a tracing tool, from a background thread.

A verdict's trace is determined while its request runs, because tools forget a trace once it ends.
Verdicts beyond the queue's limit are dropped and counted.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from functools import partial

import anyio.to_thread

from resay._internal._version import __version__
from resay._internal.event_loops import before_threads_end
from resay._internal.plurals import counted
from resay.core.verdict_record import VerdictRecord
from resay.policy.observers import ObserverConfig
from resay.reporting.observers import Finding, Observer, Place, place

_log = logging.getLogger(__name__)
_BATCH = 100
_PATIENCE_S = 60.0
# The longest that the process's exit waits for pending verdicts.
_LAST_CHANCE_S = 10.0


class Delivery:
    """The outbox of one observer: its queue, and the thread that pushes its findings.

    Args:
        config: The observer's settings.
        observer: The observer.

    Attributes:
        sink: The observer.
    """

    def __init__(self, config: ObserverConfig, observer: Observer) -> None:
        self.sink = observer
        self._config = config
        self._waiting: deque[tuple[Place, Finding]] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._pid: int | None = None
        self._taken = 0
        self._done = 0
        self._lost = 0
        self._unplaced = 0
        self._flushes = 0
        self._flushed = 0
        self._ended = False
        _living.add(self)

    def __repr__(self) -> str:
        return f"Delivery(to={self._config.to!r}, sent={self.sent}, lost={self._lost})"

    @property
    def wants_evidence(self) -> bool:
        """False: tracing tools get no evidence."""
        return False

    @property
    def sent(self) -> int:
        """The number of findings handed over to the observer."""
        return self._done - self._lost

    @property
    def lost(self) -> int:
        """The number of findings dropped because the queue was full or `send` failed."""
        return self._lost

    @property
    def unplaced(self) -> int:
        """The number of verdicts that belonged to no trace and were not pushed."""
        return self._unplaced

    def put(self, record: VerdictRecord) -> None:
        """Queue a verdict, in the context of its request. No failure affects the answer.

        Args:
            record: Its record. Skipped verdicts are not pushed, unless an abstention replaced the
                answer.
        """
        verdict = record.verdict
        if verdict.decision == "skipped" and verdict.regeneration is None:
            return
        try:
            current_place = place.get() or self.sink.place()
            if current_place is None:
                self._miss()
            else:
                self._put(current_place, self._finding(record))
        # The error's message may quote the answer, so only its type is logged.
        except Exception as error:
            self._lose(1, f"finding its place failed with {type(error).__name__}", taken=1)

    async def aflush(self) -> None:
        """Wait, for at most a minute, until all accepted findings have left the process."""
        await anyio.to_thread.run_sync(self.flush, abandon_on_cancel=True)

    def flush(self, timeout_s: float = _PATIENCE_S) -> bool:
        """Wait until all findings accepted so far have left the process or are lost.

        Args:
            timeout_s: The timeout in seconds, since a tool's client may hang forever.

        Returns:
            Whether none of them is pending.
        """
        with self._changed:
            # Nothing was accepted yet, or the process does not wait any longer.
            if self._thread is None or self._ended:
                return True
            self._flushes += 1
            taken, flushes = self._taken, self._flushes
            self._changed.notify_all()
            done = self._changed.wait_for(
                lambda: self._done >= taken and self._flushed >= flushes, timeout_s
            )
        if not done:
            self._warn(f"is not done after {timeout_s:g} s")
        return done

    def _finding(self, record: VerdictRecord) -> Finding:
        verdict = record.verdict
        flagged = verdict.flagged_sentences
        metadata: dict[str, str | int | float | None] = {
            "decision": verdict.decision,
            "action": record.action,
            "policy": record.policy,
            "model": record.model,
            "flagged": len(flagged),
            "sentences": len(verdict.sentences),
            "samples": verdict.samples,
            "calls": verdict.usage.calls,
            "cost_usd": verdict.usage.cost_usd,
            "request_id": record.request_id,
            "resay_version": __version__,
        }
        score = verdict.score
        if score is not None and self._config.score == "good":
            score = 1 - score
        return Finding(
            id=record.id,
            name=self._config.name,
            decision=verdict.decision,
            score=score,
            reason=verdict.reason,
            metadata={key: value for key, value in metadata.items() if value is not None},
            flagged=tuple(sentence.text for sentence in flagged) if self._config.content else (),
        )

    def _put(self, current_place: Place, finding: Finding) -> None:
        with self._changed:
            self._start()
            self._taken += 1
            is_full = len(self._waiting) >= self._config.max_waiting
            if not is_full:
                self._waiting.append((current_place, finding))
                self._changed.notify_all()
        if is_full:
            self._lose(1, "too many verdicts were waiting")

    def _start(self) -> None:
        if self._thread is not None and self._thread.is_alive():
            return
        thread = threading.Thread(target=self._run, name="resay-observer", daemon=True)
        thread.start()
        self._thread = thread
        if self._pid != os.getpid():
            self._pid = os.getpid()
            # The threads of a tool's client may end with the main thread. Other threads of the
            # application end later, and `atexit` is for what they report. Both are registered after
            # the client's own handlers, so that they run before those.
            before_threads_end(partial(self._end, self._pid))
            atexit.register(self._end, self._pid)

    def renew(self) -> None:
        """Reset after a fork: the child has no thread, but a held lock and the parent's queue."""
        self._changed = threading.Condition()
        self._thread = None
        # The parent sends these.
        self._waiting.clear()
        self._taken, self._flushes = self._done, self._flushed

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._flushed < self._flushes)
                size = min(len(self._waiting), _BATCH)
                batch = [self._waiting.popleft() for _ in range(size)]
                flushes = self._flushes
            if batch:
                self._send(batch)
            else:
                self._flush(flushes)

    def _send(self, batch: Sequence[tuple[Place, Finding]]) -> None:
        try:
            self.sink.send(batch)
        # Any exception of the tool's client would end the thread. Its message may hold keys or
        # content, so only its type is logged.
        except BaseException as error:
            self._lose(len(batch), f"sending failed with {type(error).__name__}")
        else:
            with self._changed:
                self._done += len(batch)
                self._changed.notify_all()

    def _flush(self, flushes: int) -> None:
        try:
            self.sink.flush()
        except BaseException as error:
            self._warn(f"failed to flush with {type(error).__name__}")
        with self._changed:
            self._flushed = flushes
            self._changed.notify_all()

    def _end(self, pid: int) -> None:
        if pid == os.getpid() and not self.flush(_LAST_CHANCE_S):
            self._ended = True
            self._lose(self._taken - self._done, "the process ended before they were sent")

    def _lose(self, count: int, reason: str, *, taken: int = 0) -> None:
        with self._changed:
            before = self._lost
            self._lost += count
            self._done += count
            self._taken += taken
            self._changed.notify_all()
        # Warn only each time the count doubles: during an outage every answer loses a verdict.
        if self._lost.bit_length() > before.bit_length():
            self._warn(f"lost {counted(self._lost, 'verdict')} so far; the last because {reason}")

    def _miss(self) -> None:
        with self._changed:
            self._unplaced += 1
            is_first = self._unplaced == 1
        if is_first:
            self._warn("has no current trace; verdicts outside of a trace are not pushed")

    def _warn(self, message: str) -> None:
        _log.warning("observer %r %s", self._config.to, message)


_living: weakref.WeakSet[Delivery] = weakref.WeakSet()


def _renew() -> None:
    for delivery in tuple(_living):
        delivery.renew()


# Windows has no forks.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
