"""Serves a gateway with uvicorn, in one process or in several that share one port.

Each of several workers has its own listening socket (SO_REUSEPORT), and the kernel distributes
connections over them. The parent process accepts none: it reserves the port, forwards signals, and
replaces a worker that exits.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import multiprocessing
import os
import selectors
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, ClassVar, TypeAlias

import anyio
import uvicorn
from prometheus_client.multiprocess import (
    mark_process_dead,  # pyright: ignore[reportUnknownVariableType] - it has no types
)
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from resay.errors import ConfigurationError
from resay.gateway.admission import is_loopback
from resay.gateway.app import Gateway
from resay.gateway.config import GatewayConfig, GatewayLimits
from resay.gateway.metrics import SHARED_FOLDER

logger = logging.getLogger("resay.gateway")


# With a shutdown delay, the maximum time that open connections may still send a request.
_LAST_S = 5.0


class GatewayServer(uvicorn.Server):
    """Runs a uvicorn server from startup until it is stopped.

    Args:
        config: The settings of uvicorn.
        on_start: Called once it accepts connections.
        on_stop: Called when it is told to stop.
        delay_s: How long it continues to serve after that, in seconds.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        on_start: Callable[[], None] | None,
        on_stop: Callable[[], None],
        delay_s: float = 0.0,
    ) -> None:
        super().__init__(config)
        self._on_start = on_start
        self._on_stop = on_stop
        self._delay_s = delay_s
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop_event = asyncio.Event()
        self._skip_delay = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    async def main_loop(self) -> None:
        """Serve until it is stopped."""
        await self.on_tick(0)
        # Not in `startup`: if told to stop from here on, the server still serves for the delay.
        if self._on_start is not None:
            self._on_start()
        await self._stop_event.wait()
        if self._delay_s and not self._skip_delay.is_set():
            logger.info("Requests are taken for another %g s, but /readyz says 503", self._delay_s)
            with anyio.move_on_after(self._delay_s):
                await self._skip_delay.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the listeners, and finish open requests."""
        if self._delay_s and not self._skip_delay.is_set():
            # The system resets connections that are not yet accepted when their listener closes.
            connected = [each for listening in sockets or () for each in _accept_pending(listening)]
            for server in self.servers:
                server.close()
            for each in connected:
                await asyncio.get_running_loop().connect_accepted_socket(self._protocol, each)
            # Clients that have connected may be about to send a request.
            with anyio.move_on_after(min(self._delay_s, _LAST_S)):
                await self._skip_delay.wait()
        await super().shutdown(sockets)

    def _protocol(self) -> asyncio.Protocol:
        """Return a protocol for a connection, as uvicorn creates it for those it accepts."""
        protocol: Any = self.config.http_protocol_class
        return protocol(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle a signal.

        uvicorn would raise the signal again at the end, so that the process's exit handlers, which
        send the last spans for example, would not run.
        """
        del frame
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.stop(at_once=self.force_exit)

    def stop(self, *, at_once: bool = False) -> None:
        """Stop the server, from any thread.

        Args:
            at_once: Whether to skip the delay, or to end it.
        """
        self._on_stop()
        self.should_exit = True
        if self._loop is not None and not self._loop.is_closed():
            if at_once:
                self._loop.call_soon_threadsafe(self._skip_delay.set)
            self._loop.call_soon_threadsafe(self._stop_event.set)


def _is_readable(transport: asyncio.Transport) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(transport.get_extra_info("socket"), selectors.EVENT_READ)
        return bool(selector.select(0))


def _accept_pending(listening: socket.socket) -> Generator[socket.socket]:
    """Accept the pending connections."""
    with suppress(OSError):
        while True:
            yield listening.accept()[0]


# Pending writes of at least this many bytes are sent immediately.
_SENT_AT_ONCE = 65_536


class _BufferedTransport:
    """A transport that combines the writes of one event loop iteration.

    uvicorn writes the head of a response and its body separately, and events of a stream often come
    several at a time; each would need a system call.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._written: list[bytes] = []
        self._size = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not data:
            return
        if not self._written:
            self._loop.call_soon(self._flush)
        self._written.append(data)
        self._size += len(data)
        if self._size >= _SENT_AT_ONCE:
            self._flush()

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size() + self._size

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        self._written, self._size = [], 0
        self._transport.abort()

    def _flush(self) -> None:
        written, self._written, self._size = self._written, [], 0
        if written:
            self._transport.write(b"".join(written))


class _Protocol(H11Protocol):
    # uvicorn's access log contains the query, where some clients put their key.
    access_log: Any = property(lambda _: False, lambda _, __: None)
    # Time limits for receiving a request's headers, and for a client that does not read.
    header_s: ClassVar[float]
    write_s: ClassVar[float]
    _header_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None
    _unsent = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as uvicorn's
        together: Any = _BufferedTransport(transport, self.loop)
        super().connection_made(together)
        # Pause as soon as any data is unsent, so that every client that stops reading times out.
        transport.set_write_buffer_limits(high=0)
        self._start_header_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._is_idle:
            self._cancel_header_timer()
        elif self._header_timer is None:
            self._start_header_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_header_timer()
        self._cancel_write_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start_write_timer()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cancel_write_timer()

    def shutdown(self) -> None:
        # Answer a request that has arrived but was not read, as the last one on this connection.
        if not (self._is_idle and _is_readable(self.transport)):
            super().shutdown()

    @property
    def _is_idle(self) -> bool:
        """Whether no request is being answered."""
        cycle: Any = self.cycle
        return cycle is None or cycle.response_complete

    def _start_header_timer(self) -> None:
        # uvicorn has no timeout for a request's headers.
        self._header_timer = self.loop.call_later(self.header_s, self._close_if_late)

    def _cancel_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _close_if_late(self) -> None:
        self._header_timer = None
        if self._is_idle:
            self.transport.close()

    def _start_write_timer(self) -> None:
        self._unsent = self.transport.get_write_buffer_size()
        self._write_timer = self.loop.call_later(self.write_s, self._abort_if_stalled)

    def _cancel_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _abort_if_stalled(self) -> None:
        if self.transport.get_write_buffer_size() < self._unsent:
            self._start_write_timer()
        else:
            # Closing would wait forever for the client to read the rest.
            self.transport.abort()


_KEEP_ALIVE_S = 75
_BACKLOG = 2048


def check_exposure(config: GatewayConfig, host: str) -> None:
    """Check that others cannot use the upstream's key.

    Raises:
        ConfigurationError: They could.
    """
    paid = bool(config.models) or (config.upstream is not None and config.upstream.api_key)
    if paid and not config.keys and not is_loopback(host):
        raise ConfigurationError(
            f"the host {host!r} can be reached from elsewhere, and everybody could use the keys of"
            " the upstream and of the `models`; give clients `keys` of their own, or serve on"
            " 127.0.0.1"
        )


def listener(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Return a bound socket to listen on.

    Args:
        host: The address.
        port: The port; 0 for a free one.
        shared: Whether this user's other processes may listen there too (SO_REUSEPORT).

    Raises:
        ConfigurationError: The address does not exist, or is in use.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # asyncio disables Nagle's algorithm only if the protocol is given explicitly.
        found = socket.socket(family, kind, protocol)
        try:
            # On Windows it would let another program take the port over.
            if os.name == "posix":
                found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if shared:
                found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            found.bind(address)
        except BaseException:
            found.close()
            raise
    except (OSError, OverflowError) as error:
        message = f"cannot serve on {host!r} and port {port!r}: {error}"
        raise ConfigurationError(message) from error
    return found


def serve(
    gateway: Gateway,
    limits: GatewayLimits,
    listening: socket.socket,
    on_start: Callable[[], None] | None = None,
    until: Connection | None = None,
) -> None:
    """Serve until the process is told to stop, then finish open requests.

    SIGHUP reloads the policies.

    Args:
        gateway: The gateway.
        limits: Its limits.
        listening: The socket to serve on.
        on_start: Called once it accepts connections.
        until: A pipe; closing its other end also stops the server.
    """
    server = _server(gateway, limits, on_start)
    try:
        asyncio.run(_serve(gateway, server, listening, until, freezes=True))
    finally:
        gc.unfreeze()


@contextmanager
def serving(gateway: Gateway, limits: GatewayLimits | None = None) -> Generator[str]:
    """Serve on 127.0.0.1 and a free port, from a thread, for tests.

    Args:
        gateway: The gateway.
        limits: Its limits; None for those of its configuration.

    Yields:
        Its base URL, without a path.

    Raises:
        ResayError: It could not be started.
    """
    listening = listener("127.0.0.1", 0)
    started: Future[None] = Future()
    server = _server(gateway, limits or gateway.limits, lambda: started.set_result(None))
    thread = threading.Thread(target=_run, args=(gateway, server, listening, started), daemon=True)
    thread.start()
    try:
        started.result()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.stop(at_once=True)
        thread.join()
        listening.close()


def _run(
    gateway: Gateway, server: GatewayServer, listening: socket.socket, started: Future[None]
) -> None:
    try:
        asyncio.run(_serve(gateway, server, listening))
    except BaseException as error:
        if started.done():
            raise
        started.set_exception(error)


async def _serve(
    gateway: Gateway,
    server: GatewayServer,
    listening: socket.socket,
    until: Connection | None = None,
    *,
    freezes: bool = False,
) -> None:
    # Before uvicorn, which would only report that the application did not start.
    await gateway.prepare()
    if freezes:
        # Objects loaded so far live until the end, so exclude them from garbage collection.
        gc.collect()
        gc.freeze()
    reloading: set[asyncio.Task[bool]] = set()

    def reload() -> None:
        task = asyncio.ensure_future(gateway.policies.reload())
        reloading.add(task)
        task.add_done_callback(reloading.discard)

    # Windows has no SIGHUP, and only the main thread receives signals.
    if sys.platform != "win32" and threading.current_thread() is threading.main_thread():
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)
    if until is None:
        await server.serve(sockets=[listening])
        return
    loop, end = asyncio.get_running_loop(), until.fileno()

    def stop() -> None:
        loop.remove_reader(end)
        # A replacement for the dead parent process needs the port.
        server.stop(at_once=True)

    loop.add_reader(end, stop)
    await server.serve(sockets=[listening])
    loop.remove_reader(end)


def _server(
    gateway: Gateway, limits: GatewayLimits, on_start: Callable[[], None] | None
) -> GatewayServer:
    def drain() -> None:
        gateway.draining = True

    app = gateway.app()

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if gateway.draining and scope["type"] == "http":
            # As if the client asked for it: uvicorn then announces it, so that a proxy does not
            # reuse a connection that is about to be closed.
            scope["headers"] = [*scope["headers"], (b"connection", b"close")]
        await app(scope, receive, send)

    times = {"header_s": limits.header_s, "write_s": limits.write_s}
    config = uvicorn.Config(
        serve,
        http=type("Protocol", (_Protocol,), times),
        ws="none",
        interface="asgi3",
        lifespan="on",
        log_config=None,
        proxy_headers=False,
        server_header=False,
        date_header=False,  # the upstream's is passed on
        backlog=_BACKLOG,
        limit_concurrency=limits.connections,
        h11_max_incomplete_event_size=limits.header_bytes + limits.header_bytes // 2,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=int(limits.drain_s) or 1,
    )
    return GatewayServer(config, on_start, drain, limits.shutdown_delay_s)


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
            logger.info("worker %d is process %d", number, pid)
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
            logger.error("worker %d (process %d) ended (%s)", number, pid, _describe_exit(code))
            # Back off, or a worker that cannot start would be restarted in a busy loop.
            pause_s = 0.0 if serves else min(2 * pause_s or 1.0, _LONGEST_PAUSE_S)
            await self._pause(pause_s)

    def _mark_started(self, number: int) -> None:
        self._first.set()
        if len(self._served) == self._count:
            logger.info("worker %d serves again", number)
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
