"""Clocks that tests set."""

from __future__ import annotations

import asyncio
import sys

import pytest

__all__ = ["Clock", "LoopClock"]


class Clock:
    """Return the time that the test set, in seconds."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class LoopClock:
    """The clock of all event loops that run while a test does, put forward.

    A deadline passes in it whatever the load of the machine. Make it before a gateway: uvloop's
    clock cannot be put forward, so gateways run without it from here on.

    Args:
        monkeypatch: Puts it back at the end.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._ahead_s = 0.0
        monkeypatch.setitem(sys.modules, "uvloop", None)
        real_time = asyncio.BaseEventLoop.time
        monkeypatch.setattr(
            asyncio.BaseEventLoop, "time", lambda loop: real_time(loop) + self._ahead_s
        )

    def put_forward(self, seconds: float) -> None:
        """Let time pass. A loop that sleeps notices when something wakes it up.

        Args:
            seconds: How much of it.
        """
        self._ahead_s += seconds
