"""Serving a gateway by uvicorn."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any, ClassVar

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from resay.errors import ConfigurationError
from resay.gateway.admission import is_loopback
from resay.gateway.config import GatewayConfig, GatewayLimits
from resay.gateway.gateway import Gateway


class Lifetime(uvicorn.Server):
    """Serves from when it can be connected to until it is stopped.

    Args:
        config: The settings of uvicorn.
        on_start: Called once it can be connected to.
        on_stop: Called once it is to stop.
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
        """Serve until it is stopped."""
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


# From how many bytes on what is written is sent at once.
_SENT_AT_ONCE = 65_536


class _Joining:
    """A transport that sends together what is written in one turn of the event loop.

    uvicorn writes the head of an answer and its body one after the other, and events of a stream
    often come several at a time; each would take a call of the system.
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
    # Its lines have the query, where some clients put their key.
    access_log: Any = property(lambda _: False, lambda _, __: None)
    # How long the headers of a request may take, and how long a client may take nothing.
    header_s: ClassVar[float]
    write_s: ClassVar[float]
    _late: asyncio.TimerHandle | None = None
    _deaf: asyncio.TimerHandle | None = None
    _left = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as uvicorn's
        together: Any = _Joining(transport, self.loop)
        super().connection_made(together)
        # So that it gets all that the client has not taken yet.
        transport.set_write_buffer_limits(high=0)
        self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._between:
            self._forget()
        elif self._late is None:
            self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        self._rest()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._listen()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._rest()

    @property
    def _between(self) -> bool:
        """Whether no request is being answered."""
        cycle: Any = self.cycle
        return cycle is None or cycle.response_complete

    def _expect(self) -> None:
        # uvicorn waits for the headers of a request as long as it takes.
        self._late = self.loop.call_later(self.header_s, self._close_if_late)

    def _forget(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _close_if_late(self) -> None:
        self._late = None
        if self._between:
            self.transport.close()

    def _listen(self) -> None:
        self._left = self.transport.get_write_buffer_size()
        self._deaf = self.loop.call_later(self.write_s, self._abort_if_deaf)

    def _rest(self) -> None:
        if self._deaf is not None:
            self._deaf.cancel()
            self._deaf = None

    def _abort_if_deaf(self) -> None:
        if self.transport.get_write_buffer_size() < self._left:
            self._listen()
        else:
            # To close it would wait for the client to take the rest, for ever.
            self.transport.abort()


_KEEP_ALIVE_S = 75
_BACKLOG = 2048


def check_exposure(config: GatewayConfig, host: str) -> None:
    """See whether others could use the upstream's key.

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
    """Return a socket that listens.

    Args:
        host: The address.
        port: The port; 0 for a free one.
        shared: Whether other processes of this user may listen there too (SO_REUSEPORT).

    Raises:
        ConfigurationError: There is no such address, or somebody else uses it.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # asyncio turns Nagle's algorithm off only where the protocol is spelt out.
        found = socket.socket(family, kind, protocol)
        try:
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
    """Serve until the process is to stop, and until what was begun is ended.

    SIGHUP has the policies read again.

    Args:
        gateway: The gateway.
        limits: Its limits.
        listening: Where to serve.
        on_start: Called once it can be connected to.
        until: A pipe; it is stopped as well when the other end is closed.
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
        limits: Its limits.

    Yields:
        Its address, without a path.

    Raises:
        ResayError: It could not be started.
    """
    listening = listener("127.0.0.1", 0)
    started: Future[None] = Future()
    server = _server(gateway, limits or GatewayLimits(), lambda: started.set_result(None))
    thread = threading.Thread(target=_run, args=(gateway, server, listening, started), daemon=True)
    thread.start()
    try:
        started.result()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.stop()
        thread.join()
        listening.close()


def _run(
    gateway: Gateway, server: Lifetime, listening: socket.socket, started: Future[None]
) -> None:
    try:
        asyncio.run(_serve(gateway, server, listening))
    except BaseException as error:
        if started.done():
            raise
        started.set_exception(error)


async def _serve(
    gateway: Gateway,
    server: Lifetime,
    listening: socket.socket,
    until: Connection | None = None,
    *,
    freezes: bool = False,
) -> None:
    # Before uvicorn, which says only that the application did not start.
    await gateway.prepare()
    if freezes:
        # What was loaded stays until the end, and need not be looked through time and again.
        gc.collect()
        gc.freeze()
    reloading: set[asyncio.Task[bool]] = set()

    def reload() -> None:
        task = asyncio.ensure_future(gateway.policies.reload())
        reloading.add(task)
        task.add_done_callback(reloading.discard)

    # Windows has no such signal, and only the main thread receives any.
    if sys.platform != "win32" and threading.current_thread() is threading.main_thread():
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)
    if until is None:
        await server.serve(sockets=[listening])
        return
    loop, end = asyncio.get_running_loop(), until.fileno()

    def stop() -> None:
        loop.remove_reader(end)
        server.stop()

    loop.add_reader(end, stop)
    await server.serve(sockets=[listening])
    loop.remove_reader(end)


def _server(
    gateway: Gateway, limits: GatewayLimits, on_start: Callable[[], None] | None
) -> Lifetime:
    def drain() -> None:
        gateway.draining = True

    times = {"header_s": limits.header_s, "write_s": limits.write_s}
    config = uvicorn.Config(
        gateway.app(),
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
    return Lifetime(config, on_start, drain)
