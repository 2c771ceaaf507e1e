"""uvicorn's server, told to stop rather than asked ten times a second whether it was."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn

__all__ = ["Lifetime"]


class Lifetime(uvicorn.Server):
    """Serves from when it can be connected to until it is told to stop.

    Args:
        config: What uvicorn is told.
        on_start: Called once it can be connected to.
        on_stop: Called once it is told to stop.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        on_start: Callable[[], None] | None,
        on_stop: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._on_start = on_start
        self._on_stop = on_stop
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self._on_start is not None:
            self._on_start()

    async def main_loop(self) -> None:
        """Serve until it is told to stop."""
        await self.on_tick(0)
        if not self.should_exit:
            await self._over.wait()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Be told by a signal.

        uvicorn raises it once more in the end, and what is to be done at a process's exit, such as
        sending the last spans, would not be.
        """
        del frame
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.stop()

    def stop(self) -> None:
        """Be told to stop, from any thread."""
        self._on_stop()
        self.should_exit = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._over.set)
