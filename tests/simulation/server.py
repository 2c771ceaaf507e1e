"""Loopback servers that keep what they were asked, and fail when told to."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import pytest

from resay.errors import ConfigurationError
from resay.testing.faults import Fault, FaultSchedule

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send
    from uvicorn import Server

__all__ = ["Exchange", "Handler", "LoopbackServer", "ObservedServer", "RequestLog", "RequestRecord"]

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
    """

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
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

        Where the extra `server` is not installed, the test is skipped.
        """
        uvicorn = pytest.importorskip("uvicorn")
        app = self._app()
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


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request that the simulated provider received.

    Attributes:
        path: The path it was sent to.
        body: Its JSON body; None where that was not an object.
        headers: Its headers, names in lower case, without those that hold a key.
        started_s: When it was received, in seconds of `time.monotonic`.
        ended_s: When the answer was complete or the client was gone; None until then.
        fault: The class name of the fault that struck it.
        status: The HTTP status it was answered with; None while or when there is none.
        stream: Whether it asked for a stream.
        disconnected: Whether the connection was gone before the answer was complete: the client
            left, or the provider was stopped or cut it (then `fault` says `CutConnection`).
        prompt_tokens: How many tokens the answer said were read; 0 where it did not say.
        completion_tokens: How many it said were written.
    """

    path: str
    body: Mapping[str, Any] | None = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    started_s: float
    ended_s: float | None = None
    fault: str | None = None
    status: int | None = None
    stream: bool = False
    disconnected: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Tokens read and written, as the answer said."""
        return self.prompt_tokens + self.completion_tokens


class RequestLog:
    """What the provider received and gave. The server's thread writes, any other reads."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.records: list[RequestRecord] = []
        self.in_flight = 0
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self._gate = asyncio.Event()

    def begin(self, record: RequestRecord) -> tuple[int, asyncio.Event]:
        """Add a request; return its index, and what holds it when it hangs."""
        with self.changed:
            self.records.append(record)
            self.in_flight += 1
            self.changed.notify_all()
            return len(self.records) - 1, self._gate

    def note(self, index: int, **changes: Any) -> None:
        """Change the record of a request."""
        with self.changed:
            self.records[index] = replace(self.records[index], **changes)

    def end(self, index: int, *, disconnected: bool = False) -> None:
        """Mark a request as ended, once."""
        with self.changed:
            if self.records[index].ended_s is None:
                self.records[index] = replace(
                    self.records[index], ended_s=time.monotonic(), disconnected=disconnected
                )
                self.in_flight -= 1
                self.changed.notify_all()

    def spend(self, index: int, usage: Mapping[str, int]) -> None:
        """Note what the answer to a request reports as its usage, and add it up."""
        read, written = usage["prompt_tokens"], usage["completion_tokens"]
        with self.changed:
            self.prompt_tokens += read
            self.completion_tokens += written
            self.records[index] = replace(
                self.records[index], prompt_tokens=read, completion_tokens=written
            )

    def next_gate(self) -> asyncio.Event:
        """Return what holds the requests received so far; later ones get another."""
        with self.changed:
            gate, self._gate = self._gate, asyncio.Event()
            return gate


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
        self._server = LoopbackServer(self._handle)

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
