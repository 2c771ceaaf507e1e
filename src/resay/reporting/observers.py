"""Verdicts go to the tools in which teams look at their traces: the observers of a policy.

An answer waits for none of them. A verdict is placed where it was found, in the context of its
request; a thread pushes it afterwards. More verdicts than may wait are lost and counted.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

from resay._internal._version import __version__
from resay._internal.importing import import_named
from resay._internal.telemetry import request_id, traced
from resay.core.verdict import Decision, Verdict
from resay.engine.actions import Action
from resay.errors import ConfigurationError
from resay.policy.reporting import TOOLS, ObserverConfig
from resay.reporting.journal.entry import new_id

_log = logging.getLogger(__name__)
_BATCH = 100
_PATIENCE_S = 60.0
# The process ends after this, whatever is left.
_LAST_CHANCE_S = 5.0


@dataclass(frozen=True, slots=True)
class Place:
    """What a verdict belongs to, in the terms of the tool.

    Attributes:
        trace_id: The trace.
        span_id: The span, observation, run or call in it; None for the trace itself.
        context: What else the observer needs to find it.
    """

    trace_id: str
    span_id: str | None = None
    context: Any = field(default=None, repr=False)


place: ContextVar[Place | None] = ContextVar("resay_place", default=None)
"""The place of this request's verdicts. Set it where the tool's own current one is not right."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict as it is pushed.

    Attributes:
        id: Nobody else has it; a finding that is pushed twice keeps it.
        name: What the policy calls the score.
        decision: `flagged`, `consistent` or `inconclusive`; `skipped` where an abstention replaced
            the answer.
        score: The score of the passage in [0, 1], 1 = surely hallucinated, or None.
        reason: The verdict's reason: one line without content.
        metadata: The action, the policy, the model, the request and the cost. None is left out.
        flagged: The flagged sentences, where the policy says `content: true`; otherwise empty.
    """

    id: str
    name: str
    decision: Decision
    score: float | None
    reason: str
    metadata: Mapping[str, str | int | float]
    flagged: tuple[str, ...] = field(default=(), repr=False)

    @property
    def details(self) -> dict[str, Any]:
        """The metadata, with the flagged sentences where there are any."""
        content = {"flagged_sentences": list(self.flagged)} if self.flagged else {}
        return {**self.metadata, **content}


class Observer(Protocol):
    """Pushes findings to a tool. Derive from it, or have the same methods."""

    def place(self) -> Place | None:
        """Return what is current where an answer was given. It must be quick.

        By default the current OpenTelemetry span; where there is none, that of the check itself.

        Returns:
            The place; None for nothing, and the verdict is not pushed.
        """
        ids = traced()
        return Place(*ids) if ids else None

    def send(self, findings: Sequence[tuple[Place, Finding]], /) -> None:
        """Push findings, in a thread that waits for nobody. What it raises counts as a loss.

        Args:
            findings: At most 100, with the place of each.
        """
        ...

    def flush(self) -> None:
        """Wait until what was sent has left the process. By default `send` has seen to that."""


class Delivery:
    """What waits for one observer, and the thread that pushes it.

    Args:
        config: Its settings.
        observer: The observer.
    """

    def __init__(self, config: ObserverConfig, observer: Observer) -> None:
        self._config = config
        self._observer = observer
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
        _living.add(self)

    def __repr__(self) -> str:
        return f"Delivery(to={self._config.to!r}, sent={self.sent}, lost={self._lost})"

    @property
    def sent(self) -> int:
        """How many findings were handed over to the observer."""
        return self._done - self._lost

    @property
    def lost(self) -> int:
        """How many findings were dropped, because too many waited or `send` failed."""
        return self._lost

    @property
    def unplaced(self) -> int:
        """How many verdicts belonged to no trace, and were not pushed."""
        return self._unplaced

    def observe(self, verdict: Verdict, action: Action, *, model: str | None, policy: str) -> None:
        """Have a verdict pushed. It waits for nothing, and whatever fails harms no answer.

        Args:
            verdict: The verdict. What was skipped is not pushed, unless an abstention replaced the
                answer.
            action: What was done with the answer.
            model: The model that wrote it, where that is known.
            policy: What the policy is called.
        """
        if verdict.decision == "skipped" and verdict.regeneration is None:
            return
        try:
            where = place.get() or self._observer.place()
            if where is None:
                self._miss()
            else:
                self._put(where, self._finding(verdict, action, model, policy))
        # The answer is there already, and what went wrong may hold words of it.
        except Exception as error:
            self._lose(1, f"finding its place failed with {type(error).__name__}", taken=1)

    def flush(self, timeout_s: float = _PATIENCE_S) -> bool:
        """Wait until what was taken so far has left the process, or is lost.

        Args:
            timeout_s: How long at most; a client of a tool may never come to an end.

        Returns:
            Whether nothing is left of it.
        """
        with self._changed:
            # Nothing was taken yet.
            if self._thread is None:
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

    def _finding(self, verdict: Verdict, action: Action, model: str | None, policy: str) -> Finding:
        flagged = verdict.flagged_sentences
        metadata: dict[str, str | int | float | None] = {
            "decision": verdict.decision,
            "action": action,
            "policy": policy,
            "model": model,
            "flagged": len(flagged),
            "sentences": len(verdict.sentences),
            "samples": verdict.samples,
            "calls": verdict.usage.calls,
            "cost_usd": verdict.usage.cost_usd,
            "request_id": request_id.get(),
            "resay_version": __version__,
        }
        return Finding(
            id=new_id(),
            name=self._config.name,
            decision=verdict.decision,
            score=verdict.score,
            reason=verdict.reason,
            metadata={key: value for key, value in metadata.items() if value is not None},
            flagged=tuple(one.text for one in flagged) if self._config.content else (),
        )

    def _put(self, where: Place, finding: Finding) -> None:
        with self._changed:
            self._start()
            self._taken += 1
            full = len(self._waiting) >= self._config.max_waiting
            if not full:
                self._waiting.append((where, finding))
                self._changed.notify_all()
        if full:
            self._lose(1, "too many verdicts were waiting")

    def _start(self) -> None:
        if self._thread is not None and self._thread.is_alive():
            return
        thread = threading.Thread(target=self._run, name="resay-observer", daemon=True)
        thread.start()
        self._thread = thread
        if self._pid != os.getpid():
            self._pid = os.getpid()
            # After the client has registered its own end, so that this comes before it.
            atexit.register(self._end, self._pid)

    def renew(self) -> None:
        """Begin anew in a fork: it has no thread, a lock that may be held, and others' verdicts."""
        self._changed = threading.Condition()
        self._thread = None
        # The parent sends them.
        self._waiting.clear()
        self._taken, self._flushes = self._done, self._flushed

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._flushed < self._flushes)
                few = min(len(self._waiting), _BATCH)
                batch = [self._waiting.popleft() for _ in range(few)]
                flushes = self._flushes
            if batch:
                self._send(batch)
            else:
                self._flush(flushes)

    def _send(self, batch: Sequence[tuple[Place, Finding]]) -> None:
        try:
            self._observer.send(batch)
        # Whatever the tool's client raises, or the thread would end; its message may hold keys, or
        # words.
        except BaseException as error:
            self._lose(len(batch), f"sending failed with {type(error).__name__}")
        else:
            with self._changed:
                self._done += len(batch)
                self._changed.notify_all()

    def _flush(self, flushes: int) -> None:
        try:
            self._observer.flush()
        except BaseException as error:
            self._warn(f"failed to flush with {type(error).__name__}")
        with self._changed:
            self._flushed = flushes
            self._changed.notify_all()

    def _end(self, pid: int) -> None:
        if pid == os.getpid() and not self.flush(_LAST_CHANCE_S):
            self._lose(self._taken - self._done, "the process ended before they were sent")

    def _lose(self, count: int, reason: str, *, taken: int = 0) -> None:
        with self._changed:
            before = self._lost
            self._lost += count
            self._done += count
            self._taken += taken
            self._changed.notify_all()
        # Each time the number doubles: in trouble there is one for every answer.
        if self._lost.bit_length() > before.bit_length():
            self._warn(f"lost {self._lost} verdicts so far; the last because {reason}")

    def _miss(self) -> None:
        with self._changed:
            self._unplaced += 1
            first = self._unplaced == 1
        if first:
            self._warn("has no current trace; verdicts outside of a trace are not pushed")

    def _warn(self, message: str) -> None:
        _log.warning("observer %r %s", self._config.to, message)


_living: weakref.WeakSet[Delivery] = weakref.WeakSet()
# What makes an observer may make a guard, too.
_lock = threading.RLock()
# Guards with the same settings share one.
_deliveries: dict[ObserverConfig, Delivery] = {}


def deliveries_of(configs: Sequence[ObserverConfig]) -> tuple[Delivery, ...]:
    """Return what delivers to these observers, the same for all guards of the process.

    Raises:
        ConfigurationError: An observer cannot be had.
        MissingDependencyError: Its client is not installed.
    """
    with _lock:
        for config in configs:
            if config not in _deliveries:
                _deliveries[config] = Delivery(config, _opened(config))
        return tuple(_deliveries[config] for config in configs)


def _renew() -> None:
    global _lock
    _lock = threading.RLock()
    for delivery in tuple(_living):
        delivery.renew()


# Windows has no forks.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def _opened(config: ObserverConfig) -> Observer:
    path = f"resay_observers:{config.to}" if config.to in TOOLS else config.to
    make: Any = import_named(path)
    observer: Any = make() if callable(make) else make
    if lacking := [name for name in ("place", "send", "flush") if not hasattr(observer, name)]:
        raise ConfigurationError(
            f"{config.to!r} in `observers` has no method {lacking[0]!r}; derive it from"
            " `resay.reporting.observers.Observer`"
        )
    return observer
