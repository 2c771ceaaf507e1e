"""The clock of event loops, put forward: deadlines pass whatever the load of the machine."""

from __future__ import annotations

import asyncio

import pytest

__all__ = ["LoopClock"]


class LoopClock:
    """The clock of all event loops that run while a test does.

    Args:
        monkeypatch: Puts it back at the end.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._ahead_s = 0.0
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
