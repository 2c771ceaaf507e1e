"""Serves a gateway with uvicorn."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import selectors
import signal
import socket
import sys
import threading
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from multiprocessing.connection import Connection
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar

import anyio
import uvicorn
from starlette.types import Message, Receive, Scope, Send

from resay.errors import ConfigurationError
from resay_server.gateway.admission import is_loopback
from resay_server.gateway.app import Gateway
from resay_server.gateway.config import GatewayConfig, GatewayLimits

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol as HTTPProtocol
else:
    # Over httptools, or over h11 where that is not installed.
    from uvicorn.protocols.http.auto import AutoHTTPProtocol as HTTPProtocol

_logger = logging.getLogger("resay.gateway")


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
            _logger.info("Requests are taken for another %g s, but /readyz says 503", self._delay_s)
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


class _Protocol(HTTPProtocol):
    # uvicorn's access log contains the query, where some clients put their key.
    access_log: Any = property(lambda _: False, lambda _, __: None)
    # Limits on a request's headers, and on what is between the pieces of a body.
    header_s: ClassVar[float]
    header_bytes: ClassVar[int]
    # How long a client may read nothing.
    write_s: ClassVar[float]
    _unparsed = 0
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
        before = self._progress
        super().data_received(data)
        # Of a further request, h11 reads nothing while it waits for its turn.
        is_read = self._progress != before or self.flow.read_paused
        self._unparsed = 0 if is_read else self._unparsed + len(data)
        # httptools has no limit on headers, nor on what follows the last chunk of a body.
        if self._unparsed > self.header_bytes and not self.transport.is_closing():
            if self._is_idle or not self.cycle.response_started:
                self.send_400_response("The request's headers are too long.")
            else:
                self.transport.close()
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

    @property
    def _progress(self) -> object:
        """What changes whenever a request's headers are complete, or more of its body is read."""
        cycle: Any = self.cycle
        return cycle and (cycle, len(cycle.body), cycle.more_body)

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
_OBJECTS_PER_COLLECTION = 10_000
_BACKLOG = 2048


def check_exposure(config: GatewayConfig, host: str) -> None:
    """Check that others cannot use the upstream's key.

    Raises:
        ConfigurationError: They could.
    """
    paid = bool(config.models) or (config.upstream is not None and config.upstream.api_key)
    if paid and not config.keys and not is_loopback(host):
        raise ConfigurationError(
            f"the host {host!r} is reachable from other machines; anyone could use the keys of the"
            " upstream and of the `models`; give clients `keys` of their own, or serve on"
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
        listening = socket.socket(family, kind, protocol)
        try:
            # On Windows it would let another program take the port over.
            if os.name == "posix":
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if shared:
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            listening.bind(address)
        except BaseException:
            listening.close()
            raise
    except (OSError, OverflowError) as error:
        reason = str(error)
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            reason = "it is in use; choose another with `--port`, or stop what listens there"
        message = f"cannot serve on {host!r} and port {port!r}: {reason}"
        raise ConfigurationError(message) from error
    return listening


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
    thresholds = gc.get_threshold()
    try:
        _run_loop(partial(_serve, gateway, server, listening, until, freezes=True))
    finally:
        gc.set_threshold(*thresholds)
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
        _run_loop(partial(_serve, gateway, server, listening))
    except BaseException as error:
        if started.done():
            raise
        started.set_exception(error)


def _run_loop(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    # There is no uvloop for Windows.
    anyio.run(main, backend_options={"use_uvloop": find_spec("uvloop") is not None})


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
        # A request creates more objects than Python's default, which all live until its end.
        gc.set_threshold(_OBJECTS_PER_COLLECTION, *gc.get_threshold()[1:])
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
        async def send_last(message: Message) -> None:
            if message["type"] == "http.response.start":
                # A proxy must not reuse a connection that is about to be closed.
                message["headers"] = [*message["headers"], (b"connection", b"close")]
            await send(message)

        closes = gateway.draining and scope["type"] == "http"
        await app(scope, receive, send_last if closes else send)

    max_head = limits.header_bytes + limits.header_bytes // 2
    protocol_limits = {
        "header_s": limits.header_s,
        "header_bytes": max_head,
        "write_s": limits.write_s,
    }
    config = uvicorn.Config(
        serve,
        http=type("Protocol", (_Protocol,), protocol_limits),
        ws="none",
        interface="asgi3",
        lifespan="on",
        log_config=None,
        proxy_headers=False,
        server_header=False,
        date_header=False,  # the upstream's is passed on
        backlog=_BACKLOG,
        limit_concurrency=limits.connections,
        h11_max_incomplete_event_size=max_head,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=int(limits.drain_s) or 1,
    )
    return GatewayServer(config, on_start, drain, limits.shutdown_delay_s)
