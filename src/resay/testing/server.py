"""An HTTP server on the loopback interface that records requests, and fails on command."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from resay.errors import ConfigurationError
from resay.testing.faults import (
    CutConnection,
    Fault,
    FaultSchedule,
    Hang,
    MalformedJson,
    RequestKind,
    Slow,
    Stall,
)

_SECRET_HEADERS = frozenset({"api-key", "authorization", "cookie", "x-api-key"})
_POLL_S = 0.02
S = TypeVar("S", bound="LoopbackServer")


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request that the simulated provider received.

    Attributes:
        path: The request path.
        body: Its JSON body; None if that was not an object.
        headers: Its headers, names in lower case, without those that hold a key.
        started_s: When it was received, in seconds of `time.monotonic`.
        ended_s: When the answer was complete or the client had disconnected; None until then.
        fault: The class name of the fault that struck it.
        status: The HTTP status of the answer; None if there is none (yet).
        stream: Whether it asked for a stream.
        prompt_tokens: Number of prompt tokens the answer reported; 0 if it reported none.
        completion_tokens: Number of completion tokens it reported.
    """

    path: str
    body: Mapping[str, Any] | None = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    started_s: float
    ended_s: float | None = None
    fault: str | None = None
    status: int | None = None
    stream: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Exchange:
    """One complete request, and the means to answer it.

    Attributes:
        index: Its number, from 0.
        method: The HTTP method.
        path: The path, without the query.
        body: Its JSON body; None if that was not an object.
    """

    index: int
    method: str
    path: str
    body: Mapping[str, Any] | None
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter
    _note: Callable[..., None]
    _gate: threading.Event

    async def reply(self, status: int, body: object, **headers: str) -> None:
        """Send a JSON body."""
        self._note(self.index, status=status)
        data = json.dumps(body).encode()
        head = self._head(status, "application/json", len(data), **headers)
        await self._send(head + data, last=True)

    async def send(self, body: object, usage: Mapping[str, int], fault: Fault | None) -> None:
        """Send a whole answer, subject to a fault, and record its reported usage."""
        data = json.dumps(body).encode()
        half = len(data) // 2
        if isinstance(fault, MalformedJson):
            data = data[:half]
        self._note(self.index, status=200, **({} if isinstance(fault, MalformedJson) else usage))
        await self._send(self._head(200, "application/json", len(data)) + data[:half])
        await self._break(fault)
        await self._send(data[half:], last=True)

    async def stream(
        self,
        events: Sequence[str],
        usage: Mapping[str, int],
        fault: Fault | None,
        first_s: float,
        pause_s: float,
    ) -> None:
        """Send an answer as server-sent events, with pauses in seconds; see `send`."""
        self._note(self.index, status=200, **usage)
        await self._send(self._head(200, "text/event-stream", None))
        for position, event in enumerate(events):
            await asyncio.sleep(pause_s if position else first_s)
            if position == len(events) // 2:
                await self._break(fault)
                if isinstance(fault, MalformedJson):
                    event = event[: len(event) // 2]
            data = f"data: {event}\n\n".encode()
            await self._send(b"%x\r\n%s\r\n" % (len(data), data))
        await self._send(b"0\r\n\r\n", last=True)

    async def hold_up(self, fault: Fault | None) -> None:
        """Wait before the answer if the fault says so."""
        if isinstance(fault, Slow):
            await asyncio.sleep(fault.seconds)
        if isinstance(fault, Hang):
            await self._wait()

    async def _break(self, fault: Fault | None) -> None:
        if isinstance(fault, Stall):
            await self._wait()
        if isinstance(fault, CutConnection):
            raise ConnectionAbortedError

    async def _wait(self) -> None:
        while not self._gate.is_set():
            await asyncio.sleep(_POLL_S)
            if self._reader.at_eof():
                raise ConnectionAbortedError

    def _head(self, status: int, kind: str, length: int | None, **headers: str) -> bytes:
        size = {"transfer-encoding": "chunked"} if length is None else {"content-length": length}
        fields = {"content-type": kind, "x-request-id": f"req_{self.index}", **size, **headers}
        lines = [f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items()]
        return f"HTTP/1.1 {status} \r\n{''.join(lines)}\r\n".encode("latin-1")

    async def _send(self, data: bytes, *, last: bool = False) -> None:
        if last:  # Noted before the client can see it.
            self._note(self.index, ended_s=time.monotonic())
        self._writer.write(data)
        await self._writer.drain()


class LoopbackServer(ABC):
    """A server on 127.0.0.1 and a free port, in a thread of its own; use it as a context manager.

    Args:
        name: The server's name in messages.
        faults: How it fails.
        seed: The seed of random faults.
    """

    def __init__(self, name: str, faults: Iterable[Fault], seed: int) -> None:
        self._name = name
        self._seed = seed
        self._schedule = FaultSchedule(tuple(faults), seed)
        self._changed = threading.Condition()
        self._records: list[RequestRecord] = []
        self._gate = threading.Event()
        self._stop: Callable[[], object] | None = None
        self._port = 0

    @abstractmethod
    async def _answer(self, exchange: Exchange) -> None:
        """Answer a request."""

    def __enter__(self: S) -> S:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start serving; returns once requests are accepted.

        Raises:
            ConfigurationError: It is running already.
        """
        if self._stop is not None:
            raise ConfigurationError(f"{self._name} is already running; stop it first")
        started: Future[Callable[[], object]] = Future()
        thread = threading.Thread(
            target=lambda: asyncio.run(self._run(started)), name="resay-loopback", daemon=True
        )
        thread.start()
        stop_loop = started.result()
        self._stop = lambda: (stop_loop(), thread.join())

    def stop(self) -> None:
        """Stop at once, regardless of pending requests. Records and totals stay readable."""
        stop, self._stop = self._stop, None
        if stop:
            stop()

    async def _run(self, started: Future[Callable[[], object]]) -> None:
        stopped, loop = asyncio.Event(), asyncio.get_running_loop()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        started.set_result(lambda: loop.call_soon_threadsafe(stopped.set))
        await stopped.wait()
        # A connection that is just being accepted is a task, and would be left open.
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in others:
                task.cancel()
            await asyncio.sleep(0)
        server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                request_line, *lines = head.decode("latin-1").strip().split("\r\n")
                headers: dict[str, str] = {}
                for line in lines:
                    name, _, value = line.partition(":")
                    headers[name.lower()] = value.strip()
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                exchange = self._begin(request_line, headers, body, (reader, writer))
                try:
                    await self._answer(exchange)
                finally:
                    self._note(exchange.index, ended_s=time.monotonic())
        except (asyncio.IncompleteReadError, asyncio.CancelledError, OSError):
            pass  # The client left, the server stops, or the answer was to break off.
        finally:
            writer.transport.abort()

    def _begin(
        self,
        request_line: str,
        headers: Mapping[str, str],
        data: bytes,
        connection: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> Exchange:
        method, path = request_line.partition("?")[0].split(" ")[:2]
        try:
            decoded = json.loads(data)
        except ValueError:
            decoded = None
        body = cast("dict[str, Any]", decoded) if isinstance(decoded, dict) else None
        record = RequestRecord(
            path=path,
            body=body,
            headers={k: v for k, v in headers.items() if k not in _SECRET_HEADERS},
            started_s=time.monotonic(),
            stream=bool(body and body.get("stream")),
        )
        with self._changed:
            index, gate = len(self._records), self._gate
            self._records.append(record)
            self._changed.notify_all()
        return Exchange(index, method, path, body, *connection, self._note, gate)

    @property
    def root_url(self) -> str:
        """The server's URL, such as `http://127.0.0.1:40123`.

        Raises:
            ConfigurationError: It is not running.
        """
        if self._stop is None:
            raise ConfigurationError(f"{self._name} is not running; use it in a `with` block")
        return f"http://127.0.0.1:{self._port}"

    @property
    def requests(self) -> tuple[RequestRecord, ...]:
        """All requests received so far, in order of arrival; always without their keys."""
        with self._changed:
            return tuple(self._records)

    @property
    def calls(self) -> int:
        """Number of requests received so far."""
        return len(self._records)

    @property
    def faults(self) -> Sequence[Fault]:
        """The current faults."""
        return self._schedule.faults

    def set_faults(self, *faults: Fault) -> None:
        """Replace the faults; each starts counting requests anew.

        Raises:
            ConfigurationError: Something in `faults` is not a fault.
        """
        self._schedule = FaultSchedule(faults, self._seed)

    def clear_faults(self) -> None:
        """Remove all faults. Requests that hang continue to hang."""
        self.set_faults()

    def release(self) -> None:
        """Release the requests that hang now."""
        with self._changed:
            gate, self._gate = self._gate, threading.Event()
        gate.set()

    def wait_idle(self, timeout_s: float = 5.0) -> None:
        """Block until no request is in progress; raise TimeoutError after `timeout_s`."""
        self._wait(lambda: all(record.ended_s for record in self._records), timeout_s)

    def wait_calls(self, count: int, timeout_s: float = 5.0) -> None:
        """Block until `count` requests were received, answered or not; see `wait_idle`."""
        self._wait(lambda: len(self._records) >= count, timeout_s)

    def _wait(self, holds: Callable[[], bool], timeout_s: float) -> None:
        with self._changed:
            if not self._changed.wait_for(holds, timeout_s):
                unanswered = sum(record.ended_s is None for record in self._records)
                raise TimeoutError(
                    f"waited {timeout_s!r} s; there are {self.calls} requests, {unanswered}"
                    " unanswered"
                )

    def _strike(self, exchange: Exchange, kind: RequestKind) -> Fault | None:
        fault = self._schedule.strike(kind)
        if fault is not None:
            self._note(exchange.index, fault=type(fault).__name__)
        return fault

    def _note(self, index: int, **changes: Any) -> None:
        with self._changed:
            self._records[index] = replace(self._records[index], **changes)
            self._changed.notify_all()
