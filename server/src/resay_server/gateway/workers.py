"""Several processes that serve on one port.

Each worker has its own listening socket (SO_REUSEPORT), and the kernel distributes connections over
them. The parent process accepts none: it reserves the port, forwards signals, and replaces a worker
that exits.
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
from resay_server.gateway.metrics import SHARED_FOLDER
from resay_server.gateway.server import listener

_logger = logging.getLogger("resay.gateway")

Work: TypeAlias = Callable[[Connection], None]
"""A worker's job: serve, and send a byte through the pipe once it accepts connections. It ends when
the pipe is closed, which happens when the parent process has ended."""

# Workers inherit nothing from this process: no threads, no locks held by one.
_SPAWN = multiprocessing.get_context("spawn")
_LONGEST_PAUSE_S = 30.0
# The command line's exit code for unexpected errors.
_FAILED = 5


def reserve(host: str, port: int) -> socket.socket:
    """Return a socket that reserves a port for workers, without listening itself.

    Args:
        host: The address.
        port: The port; 0 for a free one.

    Raises:
        ConfigurationError: It is in use, or this system does not support workers.
    """
    if sys.platform != "linux":
        message = "several workers need Linux, which spreads connections over them"
        raise ConfigurationError(f"{message}; serve with one")
    # With SO_REUSEPORT alone, the port of another gateway's workers would be shared.
    listener(host, port).close()
    return listener(host, port, shared=True)


def serve_workers(count: int, work: Work, on_start: Callable[[], None] | None = None) -> int:
    """Run several serving processes until this one is told to stop and they have ended.

    The first one starts alone, so that the others find one-time setup and downloads done. SIGTERM,
    SIGINT and SIGHUP are forwarded. A worker that exits is replaced; if one exits before all have
    started successfully, the others are stopped.

    Args:
        count: The number of workers.
        work: Each worker's job. It is pickled.
        on_start: Called once all accept connections.

    Returns:
        The exit code.
    """
    with TemporaryDirectory(prefix="resay-metrics-") as folder:
        # Set before the workers import prometheus_client.
        os.environ[SHARED_FOLDER] = folder
        return asyncio.run(_Workers(count, work, folder, on_start).run())


class _Worker:
    """One worker process."""

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
        """Wait until it serves or exits; return whether it serves."""
        await _readable(self._pipe.fileno())
        try:
            self._pipe.recv_bytes()
        except (EOFError, OSError):
            return False
        self.serves = True
        return True

    async def ended(self) -> int:
        """Wait until it exits; return its exit code, or minus the signal number."""
        await _readable(self._process.sentinel)
        self._process.join()
        self._pipe.close()
        code = self._process.exitcode
        self._process.close()
        return code or 0

    def send_signal(self, number: signal.Signals) -> None:
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
        await asyncio.gather(*(self._keep_running(number) for number in range(1, self._count + 1)))
        return self._code

    async def _keep_running(self, number: int) -> None:
        """Keep one worker running."""
        if number > 1:
            await self._first.wait()
        pause_s = 0.0
        while not self._stopping.is_set():
            worker = self._workers[number] = _Worker(self._work)
            pid = worker.pid
            _logger.info("worker %d is process %d", number, pid)
            serves = await worker.started()
            if serves:
                self._mark_started(number)
            code = await worker.ended()
            del self._workers[number]
            mark_process_dead(pid, self._folder)
            if self._stopping.is_set():
                return
            if len(self._served) < self._count:
                self._give_up(code)
                return
            _logger.error("worker %d (process %d) ended (%s)", number, pid, _describe_exit(code))
            # Back off, or a worker that cannot start would be restarted in a busy loop.
            pause_s = 0.0 if serves else min(2 * pause_s or 1.0, _LONGEST_PAUSE_S)
            await self._pause(pause_s)

    def _mark_started(self, number: int) -> None:
        self._first.set()
        if len(self._served) == self._count:
            _logger.info("worker %d serves again", number)
            return
        self._served.add(number)
        if len(self._served) == self._count and self._on_start is not None:
            self._on_start()

    def _give_up(self, code: int) -> None:
        # The worker has logged the reason itself.
        self._code = code if code > 0 else _FAILED
        self._stop(signal.SIGTERM)

    async def _pause(self, seconds: float) -> None:
        stopping = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait({stopping}, timeout=seconds)
        stopping.cancel()

    def _stop(self, number: signal.Signals) -> None:
        # Workers get a terminal's first SIGINT too; a second one ends their open requests.
        forwarded = number if self._stopping.is_set() else signal.SIGTERM
        self._stopping.set()
        self._first.set()
        for worker in self._workers.values():
            worker.send_signal(forwarded)

    def _reload(self) -> None:
        # A worker that is still starting loads the policies anyway, and SIGHUP would kill it.
        for worker in self._workers.values():
            if worker.serves:
                worker.send_signal(signal.SIGHUP)


def _describe_exit(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


async def _readable(file: int) -> None:
    """Wait until a file is readable."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(file, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(file)
