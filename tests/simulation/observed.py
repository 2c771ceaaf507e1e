"""What simulated servers share: their life, what they were asked, and waiting for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import TypeVar

from resay.errors import ConfigurationError
from resay.testing.faults import Fault, FaultSchedule
from simulation.record import RequestLog, RequestRecord
from simulation.serving import Exchange, LoopbackServer

__all__ = ["ObservedServer"]

S = TypeVar("S", bound="ObservedServer")


class ObservedServer(ABC):
    """A server on loopback that keeps what it was asked, and fails when told to.

    Args:
        called: What messages call it.
        faults: What goes wrong.
        seed: What decides faults of chance.
    """

    def __init__(self, called: str, faults: Iterable[Fault], seed: int) -> None:
        self._called = called
        self._seed = seed
        self._schedule = FaultSchedule(tuple(faults), seed)
        self._log = RequestLog()
        self._server = LoopbackServer(self._handle, called)

    @abstractmethod
    async def _handle(self, exchange: Exchange) -> None: ...

    def __enter__(self: S) -> S:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start serving; returns when requests are accepted.

        Raises:
            ConfigurationError: It runs already.
            MissingDependencyError: The extra `server` is not installed.
        """
        if self._server.port is not None:
            raise ConfigurationError(f"{self._called} runs already; stop it first")
        self._server.start()

    def stop(self) -> None:
        """Stop at once, whatever requests are waiting for. Records and totals stay readable."""
        self._server.stop()

    @property
    def _address(self) -> str:
        if self._server.port is None:
            raise ConfigurationError(f"{self._called} does not run; use it in a `with` block")
        return f"http://127.0.0.1:{self._server.port}"

    @property
    def requests(self) -> tuple[RequestRecord, ...]:
        """All requests received so far, in order of arrival; never with the key they came with."""
        with self._log.changed:
            return tuple(self._log.records)

    def requests_to(self, path: str) -> tuple[RequestRecord, ...]:
        """Return the requests to a path."""
        return tuple(record for record in self.requests if record.path == path)

    @property
    def calls(self) -> int:
        """How many requests were received so far."""
        return len(self._log.records)

    @property
    def in_flight(self) -> int:
        """How many requests are being worked on right now."""
        return self._log.in_flight

    @property
    def open_connections(self) -> int:
        """How many connections clients hold open right now, idle ones included."""
        return self._server.open_connections

    @property
    def faults(self) -> Sequence[Fault]:
        """What goes wrong at present."""
        return self._schedule.faults

    def set_faults(self, *faults: Fault) -> None:
        """Replace the faults; requests are counted anew for them.

        Raises:
            ConfigurationError: Something in `faults` is not a fault.
        """
        self._schedule = FaultSchedule(faults, self._seed)

    def clear_faults(self) -> None:
        """Let everything go well again. Requests that hang go on hanging."""
        self.set_faults()

    def release(self) -> None:
        """Let the requests go on that were received so far and hang."""
        self._server.call_soon(self._log.next_gate().set)

    def wait_idle(self, timeout_s: float = 5.0) -> None:
        """Block until no request is being worked on.

        Args:
            timeout_s: How long to wait, in seconds.

        Raises:
            TimeoutError: There still are requests.
        """
        self._wait_until(lambda: self._log.in_flight == 0, timeout_s, "no request in flight")

    def wait_calls(self, count: int, timeout_s: float = 5.0, *, path: str | None = None) -> None:
        """Block until so many requests were received, answered or not.

        Args:
            count: How many requests to wait for.
            timeout_s: How long to wait, in seconds.
            path: Where they must have been sent; None = anywhere.

        Raises:
            TimeoutError: There were fewer.
        """
        self._wait_until(
            lambda: sum(path in (None, record.path) for record in self._log.records) >= count,
            timeout_s,
            f"{count!r} requests received",
        )

    def _wait_until(self, holds: Callable[[], bool], timeout_s: float, wanted: str) -> None:
        with self._log.changed:
            if not self._log.changed.wait_for(holds, timeout_s):
                raise TimeoutError(
                    f"waited {timeout_s!r} s for {wanted}; there are {self.calls} received and"
                    f" {self.in_flight} in flight"
                )
