"""An HTTP server on the loopback interface that records requests, and fails on command."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from typing import Any, TypeVar, cast

from resay._internal.plurals import counted
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

_SECRET_HEADERS = frozenset(
    {"api-key", "authorization", "cookie", "proxy-authorization", "x-api-key"}
)
_BACKLOG = 1024
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
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
        disconnected: Whether the connection ended before the answer was complete: the client left,
            the provider was stopped, or a fault cut it.
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
    disconnected: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Number of prompt and completion tokens the answer reported."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(slots=True)
class Exchange:
    """One complete request, and the means to answer it.

    Attributes:
        index: Its number, from 0.
        method: The HTTP method.
        path: The path, without the query.
        headers: The request's headers, names in lower case.
        body: The request's body.
        id_header: The header with the number of the answer, in `reply`, `send_answer` and `stream`.
    """

    index: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    _writer: asyncio.StreamWriter
    _note: Callable[..., None]
    _gate: asyncio.Event
    id_header: str = "x-request-id"
    _chunked: bool = False

    @property
    def json(self) -> Mapping[str, Any] | None:
        """The body as JSON; None if it is not an object."""
        try:
            decoded = json.loads(self.body)
        except ValueError:
            return None
        return cast("dict[str, Any]", decoded) if isinstance(decoded, dict) else None

    async def start(
        self, status: int, media_type: str, headers: Iterable[tuple[str, str]] = ()
    ) -> None:
        """Send the head of an answer; without a `content-length`, its body is sent in chunks."""
        fields = [("content-type", media_type), *headers]
        self._chunked = "content-length" not in dict(fields)
        if self._chunked:
            fields.append(("transfer-encoding", "chunked"))
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
        self._note(self.index, status=status)
        self._writer.write(
            f"HTTP/1.1 {status} {_PHRASES.get(status, '')}\r\n{lines}\r\n".encode("latin-1")
        )

    async def send(
        self, data: bytes, *, last: bool, usage: Mapping[str, int] | None = None
    ) -> None:
        """Send a part of the body; with the last one, record the usage that the answer reports."""
        if last:  # Noted before the client can see it.
            self._note(self.index, ended_s=time.monotonic(), **(usage or {}))
        if self._chunked:
            data = b"%x\r\n%s\r\n" % (len(data), data) if data else b""
            data += b"0\r\n\r\n" if last else b""
        self._writer.write(data)
        await self._writer.drain()

    async def cut(self) -> None:
        """Close the connection in the middle of the answer; does not return."""
        raise ConnectionAbortedError

    async def reply(
        self, status: int, body: object, headers: Iterable[tuple[str, str]] = ()
    ) -> None:
        """Send a JSON body."""
        data = json.dumps(body).encode()
        await self._start_answer(status, "application/json", len(data), headers)
        await self.send(data, last=True)

    async def send_answer(
        self,
        body: object,
        usage: Mapping[str, int] | None,
        fault: Fault | None,
        headers: Iterable[tuple[str, str]] = (),
    ) -> None:
        """Send a whole answer, subject to a fault, and record its reported usage."""
        data = json.dumps(body).encode()
        half = len(data) // 2
        if isinstance(fault, MalformedJson):
            data, usage = data[:half], None
        await self._start_answer(200, "application/json", len(data), headers)
        if isinstance(fault, (CutConnection, Stall)):
            await self.send(data[:half], last=False)
            await self._break(fault)
            data = data[half:]
        await self.send(data, last=True, usage=usage)

    async def stream(
        self,
        events: Sequence[str],
        usage: Mapping[str, int] | None,
        fault: Fault | None,
        first_s: float,
        pause_s: float,
    ) -> None:
        """Send an answer as server-sent events, with pauses in seconds; see `send_answer`."""
        await self._start_answer(200, "text/event-stream", None)
        for position, event in enumerate(events):
            await asyncio.sleep(pause_s if position else first_s)
            if position == len(events) // 2:
                await self._break(fault)
                if isinstance(fault, MalformedJson):
                    name, _, data = event.rpartition("data: ")
                    event = f"{name}data: {data[: len(data) // 2]}"
            last = position == len(events) - 1
            await self.send(f"{event}\n\n".encode(), last=last, usage=usage)

    async def hold_up(self, fault: Fault | None) -> None:
        """Wait before the answer if the fault says so."""
        if isinstance(fault, Slow):
            await asyncio.sleep(fault.seconds)
        if isinstance(fault, Hang):
            await self._gate.wait()

    async def _break(self, fault: Fault | None) -> None:
        if isinstance(fault, Stall):
            await self._gate.wait()
        if isinstance(fault, CutConnection):
            await self.cut()

    async def _start_answer(
        self,
        status: int,
        media_type: str,
        length: int | None,
        headers: Iterable[tuple[str, str]] = (),
    ) -> None:
        size = [] if length is None else [("content-length", str(length))]
        fields = [(self.id_header, f"req_{self.index}"), *size, *headers]
        await self.start(status, media_type, fields)


class _Reader(asyncio.StreamReader):
    """Reads requests, and cancels the answer in progress if the client disconnects."""

    answering: asyncio.Task[Any] | None = None

    def feed_eof(self) -> None:
        super().feed_eof()
        self._cancel_answer()

    def set_exception(self, exc: Exception) -> None:
        super().set_exception(exc)
        self._cancel_answer()

    def _cancel_answer(self) -> None:
        if self.answering is not None:
            self.answering.cancel()

    async def read_request(self) -> tuple[str, str, dict[str, str], bytes]:
        """Return the method, the path without the query, the headers and the body."""
        head = await self.readuntil(b"\r\n\r\n")
        request_line, *lines = head.decode("latin-1").strip().split("\r\n")
        headers: dict[str, str] = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        method, target = request_line.split(" ")[:2]
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body = await self._read_chunks()
        else:
            body = await self.readexactly(int(headers.get("content-length", 0)))
        return method, target.partition("?")[0], headers, body

    async def _read_chunks(self) -> bytes:
        chunks: list[bytes] = []
        while size := int((await self.readuntil(b"\r\n")).partition(b";")[0], 16):
            chunks.append(await self.readexactly(size))
            await self.readexactly(len(b"\r\n"))
        await self.readuntil(b"\r\n")
        return b"".join(chunks)


class LoopbackServer(ABC):
    """A server on 127.0.0.1 and a free port, in a thread of its own; use it as a context manager.

    Args:
        name: The server's name in messages.
        faults: How it fails.
        seed: The seed of random faults.
    """

    def __init__(self, name: str, faults: Iterable[Fault] = (), seed: int = 0) -> None:
        self._name = name
        self._seed = seed
        self._schedule = FaultSchedule(tuple(faults), seed)
        self._changed = threading.Condition()
        self._records: list[RequestRecord] = []
        self._connections: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}
        self._gate = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: Callable[[], object] | None = None
        self._port = 0

    @abstractmethod
    async def _answer(self, exchange: Exchange) -> None:
        """Answer a request; cancelled if the client disconnects."""

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
        stopped, self._loop = asyncio.Event(), asyncio.get_running_loop()
        loop = self._loop
        server = await loop.create_server(
            lambda: asyncio.StreamReaderProtocol(_Reader(), self._connect),
            "127.0.0.1",
            0,
            backlog=_BACKLOG,
        )
        self._port = server.sockets[0].getsockname()[1]
        started.set_result(lambda: loop.call_soon_threadsafe(stopped.set))
        await stopped.wait()
        # A connection that is just being accepted is a task of asyncio's, and would be left open.
        while self._connections or asyncio.all_tasks() != {asyncio.current_task()}:
            for writer, task in [*self._connections.items()]:
                task.cancel()
                writer.transport.abort()
            await asyncio.sleep(0)
        server.close()
        self._loop = None

    def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(cast("_Reader", reader), writer))
        self._connections[writer] = task
        task.add_done_callback(partial(self._forget, writer))

    def _forget(self, writer: asyncio.StreamWriter, task: asyncio.Task[None]) -> None:
        del task
        with self._changed:
            del self._connections[writer]
            self._changed.notify_all()

    async def _serve(self, reader: _Reader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                method, path, headers, body = await reader.read_request()
                exchange = self._begin(method, path, headers, body, writer)
                reader.answering = asyncio.current_task()
                try:
                    if reader.at_eof():  # It left before there was anything to cancel.
                        raise ConnectionAbortedError
                    await self._answer(exchange)
                finally:
                    reader.answering = None
                    self._end(exchange.index)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, OSError):
            pass  # The client left, the server stops, or the answer was to break off.
        finally:
            writer.close()

    def _begin(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        writer: asyncio.StreamWriter,
    ) -> Exchange:
        with self._changed:
            index, gate = len(self._records), self._gate
            exchange = Exchange(index, method, path, headers, body, writer, self._note, gate)
            content = exchange.json
            record = RequestRecord(
                path=path,
                body=content,
                headers={k: v for k, v in headers.items() if k not in _SECRET_HEADERS},
                started_s=time.monotonic(),
                stream=bool(content and content.get("stream")),
            )
            self._records.append(record)
            self._changed.notify_all()
        return exchange

    def _end(self, index: int) -> None:
        """Record that a request is over if its answer was not completed."""
        if self._records[index].ended_s is None:
            self._note(index, ended_s=time.monotonic(), disconnected=True)

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
            gate, self._gate = self._gate, asyncio.Event()
        if self._loop is not None:
            self._loop.call_soon_threadsafe(gate.set)

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
                requests = counted(self.calls, "request")
                raise TimeoutError(
                    f"waited {timeout_s!r} s and counted {requests}, {unanswered} unanswered"
                )

    def _strike(
        self, exchange: Exchange, kind: RequestKind, params: Collection[str] = ()
    ) -> Fault | None:
        fault = self._schedule.strike(kind, params)
        if fault is not None:
            self._note(exchange.index, fault=type(fault).__name__)
        return fault

    def _note(self, index: int, **changes: Any) -> None:
        with self._changed:
            self._records[index] = replace(self._records[index], **changes)
            self._changed.notify_all()
