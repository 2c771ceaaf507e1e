"""Several processes that serve one port, and the process that starts them and starts them again.

Each worker has a listening socket of its own (SO_REUSEPORT), and the kernel spreads connections
over them. The process that starts them takes none: it keeps the port, hands signals on, and
replaces a worker that ends.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import socket
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from tempfile import TemporaryDirectory
from typing import TypeAlias

from prometheus_client.multiprocess import (
    mark_process_dead,  # pyright: ignore[reportUnknownVariableType] - it has no types
)

from resay.errors import ConfigurationError
from resay.gateway.metrics import SHARED_FOLDER
from resay.gateway.server import listener

logger = logging.getLogger("resay.gateway")

Work: TypeAlias = Callable[[Connection], None]
"""What a worker does: it serves, and sends a byte through the pipe once it can be connected to. It
ends when the pipe is closed, which is when the process that started it has ended."""

# Nothing of this process but what is named is in the others: no thread, no lock that one holds.
_SPAWN = multiprocessing.get_context("spawn")
_LONGEST_PAUSE_S = 30.0
# The command line's code for what nobody foresaw.
_FAILED = 5


def reserve(host: str, port: int) -> socket.socket:
    """Return a socket that keeps a port for workers, and listens to nobody itself.

    Args:
        host: The address.
        port: The port; 0 for a free one.

    Raises:
        ConfigurationError: Somebody else uses it, or there can be no workers on this system.
    """
    if sys.platform != "linux":
        message = "several workers need Linux, which spreads connections over them"
        raise ConfigurationError(f"{message}; serve with one")
    # The port of another gateway's workers could be shared as well, and would be.
    listener(host, port).close()
    return listener(host, port, shared=True)


def serve_workers(count: int, work: Work, on_start: Callable[[], None] | None = None) -> int:
    """Have several processes serve until this one is told to stop, and they have ended.

    The first one starts alone, so that what is made or fetched once is there for the others.
    SIGTERM, SIGINT and SIGHUP are handed on. A worker that ends is replaced; one that ends before
    all have served once ends the others.

    Args:
        count: How many.
        work: What each does. It is pickled.
        on_start: Called once all can be connected to.

    Returns:
        The exit code.
    """
    with TemporaryDirectory(prefix="resay-metrics-") as folder:
        # Before they import what counts.
        os.environ[SHARED_FOLDER] = folder
        return asyncio.run(_Workers(count, work, folder, on_start).run())


class _Worker:
    """One of the processes."""

    def __init__(self, work: Work) -> None:
        self._pipe, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=work, args=(theirs,))
        self._process.start()
        theirs.close()
        self.serves = False

    @property
    def pid(self) -> int:
        return self._process.pid or 0

    async def started(self) -> bool:
        """Wait until it serves, or has ended before."""
        await _readable(self._pipe.fileno())
        try:
            self._pipe.recv_bytes()
        except (EOFError, OSError):
            return False
        self.serves = True
        return True

    async def ended(self) -> int:
        """Wait until it has ended; return its exit code, or minus the number of the signal."""
        await _readable(self._process.sentinel)
        self._process.join()
        self._pipe.close()
        code = self._process.exitcode
        self._process.close()
        return code or 0

    def tell(self, number: signal.Signals) -> None:
        if self._process.is_alive():
            os.kill(self.pid, number)


class _Workers:
    def __init__(
        self, count: int, work: Work, folder: str, on_start: Callable[[], None] | None
    ) -> None:
        self._count = count
        self._work = work
        self._folder = folder
        self._on_start = on_start
        self._workers: dict[int, _Worker] = {}
        self._first = asyncio.Event()
        self._stopping = asyncio.Event()
        self._served: set[int] = set()
        self._code = 0

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop, number)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        await asyncio.gather(*(self._keep(number) for number in range(1, self._count + 1)))
        return self._code

    async def _keep(self, number: int) -> None:
        """Have one worker serve at all times."""
        if number > 1:
            await self._first.wait()
        pause_s = 0.0
        while not self._stopping.is_set():
            worker = self._workers[number] = _Worker(self._work)
            pid = worker.pid
            logger.info("worker %d is process %d", number, pid)
            serves = await worker.started()
            if serves:
                self._begin(number)
            code = await worker.ended()
            del self._workers[number]
            mark_process_dead(pid, self._folder)
            if self._stopping.is_set():
                return
            if len(self._served) < self._count:
                self._give_up(code)
                return
            logger.error("worker %d (process %d) ended (%s)", number, pid, _how(code))
            # One that cannot start would else be started without end.
            pause_s = 0.0 if serves else min(2 * pause_s or 1.0, _LONGEST_PAUSE_S)
            await self._pause(pause_s)

    def _begin(self, number: int) -> None:
        self._first.set()
        if len(self._served) == self._count:
            logger.info("worker %d serves again", number)
            return
        self._served.add(number)
        if len(self._served) == self._count and self._on_start is not None:
            self._on_start()

    def _give_up(self, code: int) -> None:
        # It has said why itself.
        self._code = code if code > 0 else _FAILED
        self._stop(signal.SIGTERM)

    async def _pause(self, seconds: float) -> None:
        stopping = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait({stopping}, timeout=seconds)
        stopping.cancel()

    def _stop(self, number: signal.Signals) -> None:
        # From a terminal they get the first SIGINT too, and a second one ends what was begun.
        told = number if self._stopping.is_set() else signal.SIGTERM
        self._stopping.set()
        self._first.set()
        for worker in self._workers.values():
            worker.tell(told)

    def _reload(self) -> None:
        # One that does not serve yet reads the policies anyway, and would end.
        for worker in self._workers.values():
            if worker.serves:
                worker.tell(signal.SIGHUP)


def _how(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


async def _readable(file: int) -> None:
    """Wait until a file can be read."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(file, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(file)
