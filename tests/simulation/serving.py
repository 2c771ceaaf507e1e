"""An HTTP server on the loopback interface, in a thread and an event loop of its own."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from resay.errors import MissingDependencyError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send
    from uvicorn import Server

__all__ = ["Exchange", "Handler", "LoopbackServer"]

_KEEP_ALIVE_S = 3600


def _nothing(*_: object) -> None:
    return None


@dataclass(slots=True)
class Exchange:
    """One request, read whole, and the way to answer it.

    Attributes:
        method: The HTTP method.
        path: The path, without the query.
        headers: The request's headers, names in lower case.
        body: The request's body.
        on_start: Called with the status just before the client can see it.
        on_end: Called just before the client can see that the answer is complete.
    """

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    _send: Send
    _hang_up: Callable[[], None]
    on_start: Callable[[int], None] = field(default=_nothing)
    on_end: Callable[[], None] = field(default=_nothing)

    async def start(
        self, status: int, media_type: str, headers: Iterable[tuple[str, str]] = ()
    ) -> None:
        """Send the status and the headers; with no `content-length` the body comes in chunks."""
        self.on_start(status)
        pairs = [("content-type", media_type), *headers]
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs]
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})

    async def send(self, data: bytes, *, last: bool) -> None:
        """Send a piece of the body."""
        if last:
            self.on_end()
        await self._send({"type": "http.response.body", "body": data, "more_body": not last})

    async def cut(self) -> None:
        """Close the connection after what was sent so far. Does not return."""
        self._hang_up()
        await anyio.sleep_forever()


Handler = Callable[[Exchange], Awaitable[None]]
"""Answers one exchange. It is cancelled when the client goes away."""


@dataclass(frozen=True, slots=True)
class _Running:
    thread: threading.Thread
    loop: asyncio.AbstractEventLoop
    stop: asyncio.Event
    server: Server
    port: int


class LoopbackServer:
    """Serves a handler on 127.0.0.1 and a free port.

    Args:
        handler: What answers.
        purpose: What this is, for the error when a dependency is missing.
    """

    def __init__(self, handler: Handler, purpose: str) -> None:
        self._handler = handler
        self._purpose = purpose
        self._running: _Running | None = None

    @property
    def port(self) -> int | None:
        """The port; None while it does not run."""
        return self._running.port if self._running else None

    @property
    def open_connections(self) -> int:
        """How many connections clients hold open."""
        return len(self._running.server.server_state.connections) if self._running else 0

    def call_soon(self, act: Callable[[], object]) -> None:
        """Have the server's event loop call something; nothing happens while it does not run."""
        if self._running:
            self._running.loop.call_soon_threadsafe(act)

    def start(self) -> None:
        """Start and return when connections are accepted.

        Raises:
            MissingDependencyError: The extra `server` is not installed.
        """
        try:
            import uvicorn

            app = self._app()
        except ImportError as error:
            raise MissingDependencyError("starlette", "server", self._purpose) from error
        # asyncio turns Nagle's algorithm off, which costs 40 ms a request, only where the protocol
        # is spelt out.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            app,
            http=_quiet_protocol(),
            ws="none",
            interface="asgi3",
            lifespan="off",
            log_config=None,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
        )
        started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        server = uvicorn.Server(config)
        thread = threading.Thread(
            target=_run, args=(server, listener, started), name="resay-loopback", daemon=True
        )
        thread.start()
        loop, stop = started.result()
        self._running = _Running(thread, loop, stop, server, listener.getsockname()[1])

    def stop(self) -> None:
        """Close all connections, whatever they wait for, and return when the thread is gone."""
        running, self._running = self._running, None
        if running:
            running.loop.call_soon_threadsafe(running.stop.set)
            running.thread.join()

    def _app(self) -> ASGIApp:
        from starlette.requests import ClientDisconnect, Request

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            request = Request(scope, receive)
            try:
                body = await request.body()
            except ClientDisconnect:
                return
            exchange = Exchange(
                request.method,
                request.url.path,
                dict(request.headers),
                body,
                send,
                lambda: self._close(scope["client"]),
            )
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_watch, receive, tasks.cancel_scope)
                await self._handler(exchange)
                tasks.cancel_scope.cancel()

        return app

    def _close(self, client: tuple[str, int]) -> None:
        # ASGI has no way to break a connection, so ask for the transport behind it.
        connections: Any = self._running.server.server_state.connections if self._running else ()
        for connection in list(connections):
            if connection.client == client:
                connection.transport.close()


def _quiet_protocol() -> type[asyncio.Protocol]:
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class QuietProtocol(H11Protocol):
        # `Config(access_log=False)` would silence uvicorn's logger for the whole process.
        access_log = property(lambda _: False, lambda _, __: None)

    return QuietProtocol


async def _watch(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _run(
    server: Server,
    listener: socket.socket,
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]],
) -> None:
    try:
        asyncio.run(_serve(server, listener, started))
    except BaseException as error:
        if started.done():
            raise
        started.set_exception(error)
    finally:
        listener.close()


async def _serve(
    server: Server,
    listener: socket.socket,
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]],
) -> None:
    # `Server.serve` polls, logs and waits for clients; this starts and ends at once.
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    await server.startup(sockets=[listener])
    stop = asyncio.Event()
    started.set_result((asyncio.get_running_loop(), stop))
    await stop.wait()
    # A connection that is just being accepted is a task at first. The listener may close only when
    # there is none, or asyncio leaves that connection open.
    me = asyncio.current_task()
    connections: Any = server.server_state.connections
    while connections or asyncio.all_tasks() != {me}:
        for connection in list(connections):
            connection.transport.abort()
        await asyncio.sleep(0)
    for listening in server.servers:
        listening.close()
