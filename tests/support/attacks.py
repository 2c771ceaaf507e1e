"""Raw HTTP: requests that no client sends, and responses that no upstream should send."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from support.loop_server import LONGEST_S, LoopServer

if TYPE_CHECKING:
    from support.gateway import Served

__all__ = [
    "ANSWER",
    "CHAT",
    "LONGEST_S",
    "Answered",
    "Logs",
    "Received",
    "Upstream",
    "answered",
    "ask",
    "chunked",
    "head_of",
    "http_response",
    "is_well",
    "kept_logs",
    "posting",
    "stream_of",
    "wait_until",
]

CHAT = "/v1/chat/completions"


@dataclass(frozen=True, slots=True)
class Answered:
    """Everything that a server sent on one connection, up to its end.

    Attributes:
        data: The bytes.
    """

    data: bytes

    @property
    def status(self) -> int:
        """The status of the first response; 0 if there is none."""
        words = self.data.split(b" ", 2)
        return int(words[1]) if self.data.startswith(b"HTTP/1.1 ") else 0

    @property
    def count(self) -> int:
        """The number of responses."""
        return self.data.count(b"HTTP/1.1 ")

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The headers of the first response."""
        lines = self.data.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]
        return [(name.lower(), value) for name, _, value in (x.partition(": ") for x in lines)]

    def header(self, name: str) -> str | None:
        """Return a header of the first response."""
        return next((value for known, value in self.headers if known == name), None)

    @property
    def body(self) -> bytes:
        """The content after the headers of the first response, with chunks decoded."""
        rest = self.data.partition(b"\r\n\r\n")[2]
        if self.header("transfer-encoding") != "chunked":
            return rest
        whole = b""
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            length = int(size or b"0", 16)
            whole, rest = whole + rest[:length], rest[length + 2 :]
        return whole

    @property
    def error(self) -> Mapping[str, Any]:
        """The error in the body."""
        return json.loads(self.body)["error"]


def answered(served: Served, *pieces: bytes) -> Answered:
    """Send bytes over one connection, and return everything until the gateway closes it."""
    with served.connected() as connection:
        connection.settimeout(LONGEST_S)
        received: list[bytes] = []
        # The gateway may respond and close before everything was sent.
        with suppress(ConnectionError):
            for piece in pieces:
                connection.sendall(piece)
        with suppress(ConnectionError):
            while data := connection.recv(65536):
                received.append(data)
        return Answered(b"".join(received))


def head_of(method: str, target: str, *lines: str, close: bool = True) -> bytes:
    """Return the head of a request, by default with `Connection: close`."""
    closing = ["Connection: close"] if close else []
    all_lines = [f"{method} {target} HTTP/1.1", "Host: localhost", *closing, *lines, "", ""]
    return "\r\n".join(all_lines).encode("latin-1")


def posting(target: str, body: bytes, *lines: str, close: bool = True) -> bytes:
    """Return a request that posts JSON."""
    told = ["Content-Type: application/json", f"Content-Length: {len(body)}", *lines]
    return head_of("POST", target, *told, close=close) + body


def chunked(body: bytes, size: int = 1000) -> bytes:
    """Return a body in chunked encoding."""
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def ask(served: Served, body: Any, *lines: str, target: str = CHAT) -> Answered:
    """Post a body, encoded as JSON unless it is bytes."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return answered(served, posting(target, data, *lines))


def is_well(served: Served) -> bool:
    """Return whether a well-behaved client gets a response."""
    return answered(served, head_of("GET", "/healthz")).status == 200


ANSWER: Mapping[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "The bridge is of steel."},
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 5, "completion_tokens": 6, "total_tokens": 11},
}


def http_response(body: object, *lines: str, status: str = "200 OK") -> bytes:
    """Return an upstream's last response on a connection; the body is JSON unless it is bytes."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    told = [
        *(f"HTTP/1.1 {status}", "Content-Type: application/json"),
        *(f"Content-Length: {len(data)}", "Connection: close"),
    ]
    return "\r\n".join([*told, *lines, "", ""]).encode("latin-1") + data


def stream_of(*events: bytes) -> bytes:
    """Return an upstream's stream of events, which ends when the connection does."""
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + b"".join(events)


@dataclass(slots=True)
class Received:
    """A request as an upstream received it.

    Attributes:
        head: The request line and the headers.
        body: The body, with chunks decoded.
    """

    head: bytes
    body: bytes = b""

    @property
    def target(self) -> str:
        """The method and the target."""
        return self.head.partition(b" HTTP/")[0].decode("latin-1")

    def headers(self, name: str) -> list[str]:
        """Return the values of a header."""
        lines = self.head.decode("latin-1").split("\r\n")[1:]
        pairs = (line.partition(":") for line in lines)
        return [value.strip() for known, _, value in pairs if known.lower() == name]

    @property
    def json(self) -> Any:
        """The body, parsed as strict JSON: NaN and infinities raise."""
        return json.loads(self.body.decode("utf-8"), parse_constant=_no_constant)


def _no_constant(name: str) -> object:
    raise ValueError(name)


Says = Callable[[Received], AsyncIterator[bytes]]


class Upstream(LoopServer):
    """An upstream that responds with the bytes that a test wants.

    It reads one request after the other from a connection, as servers do: bytes that a gateway lets
    through behind a body are another request to it.

    Attributes:
        received: The requests, in order of arrival.
        connections: The number of connections.
    """

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.connections = 0
        self._says: bytes | Says = http_response(ANSWER)
        super().__init__()

    def says(self, answer: bytes | Says) -> None:
        """Set the response from now on, and forget the earlier requests."""
        self._says = answer
        self.received = []
        self.connections = 0

    def do_soon(self, act: Callable[[], object]) -> None:
        """Schedule a call on the upstream's event loop."""
        self._loop.call_soon_threadsafe(act)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                request = await _read(reader)
                self.received.append(request)
                if not await self._answer(request, writer):
                    break
        writer.close()

    async def _answer(self, request: Received, writer: asyncio.StreamWriter) -> bool:
        """Respond; return whether the connection can be reused."""
        says = self._says
        if isinstance(says, bytes):
            writer.write(says)
            await writer.drain()
            return b"content-length" in says.lower()
        async for piece in says(request):
            writer.write(piece)
            await writer.drain()
        return False


async def _read(reader: asyncio.StreamReader) -> Received:
    request = Received(await reader.readuntil(b"\r\n\r\n"))
    lengths = request.headers("content-length")
    if request.headers("transfer-encoding"):
        while length := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
            request.body += await reader.readexactly(length)
            await reader.readexactly(2)
        await reader.readuntil(b"\r\n")
    elif lengths:
        request.body = await reader.readexactly(int(lengths[0]))
    return request


@dataclass(slots=True)
class Logs(logging.Handler):
    """Everything that any logger of the process emits, including exceptions with tracebacks."""

    lines: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        logging.Handler.__init__(self)
        self.setFormatter(logging.Formatter("%(name)s %(message)s %(args)s"))

    __hash__ = object.__hash__

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(self.lines)


@contextmanager
def kept_logs(level: int, *, but: Mapping[str, int]) -> Iterator[Logs]:
    """Capture log messages.

    Args:
        level: The lowest level to log.
        but: The levels of particular loggers, by name.
    """
    logs, root = Logs(), logging.getLogger()
    before = {name: logging.getLogger(name).level for name in but} | {"": root.level}
    for name, wanted in {"": level, **but}.items():
        logging.getLogger(name or None).setLevel(wanted)
    root.addHandler(logs)
    try:
        yield logs
    finally:
        root.removeHandler(logs)
        for name, known in before.items():
            logging.getLogger(name or None).setLevel(known)


def wait_until(holds: Callable[[], bool], longest_s: float = LONGEST_S) -> None:
    """Poll until a condition holds, if nothing signals it."""
    deadline = time.monotonic() + longest_s
    while not holds():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)
