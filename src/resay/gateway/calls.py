"""Incoming requests, their bodies, and outgoing answers."""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import anyio

from resay.gateway.errors import Dialect, RefusedError, error_body, error_event
from resay.gateway.paths import GUARDED, PREFIX, Address, address_of, plain_path
from resay.providers.apis import MESSAGES, Api, Event, encoded
from resay.providers.apis.values import number

if TYPE_CHECKING:
    from starlette.types import Receive, Send

Headers = list[tuple[bytes, bytes]]
POLICY, TENANT, REQUEST_ID = b"x-resay-policy", b"x-resay-tenant", b"x-request-id"
VERDICT_DETAIL = b"x-resay-verdict"
_APIS: Mapping[str, Api] = {api.path: api for api in GUARDED}
CHECK, LITELLM_GUARDRAIL = f"{PREFIX}/check", "/beta/litellm_basic_guardrail_api"
FEEDBACK = f"{PREFIX}/feedback"
OWN_ENDPOINTS = frozenset({CHECK, LITELLM_GUARDRAIL, FEEDBACK})
_SANE_ID = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")
_SANE_TENANT = re.compile(r"[\x21-\x7e]{1,128}")
# OpenAI's and Anthropic's SDKs count their attempts to send a request in this header.
_RETRY_COUNT = b"x-stainless-retry-count"
_SANE_COUNT = re.compile(r"[0-9]{1,4}")
_BEARER = "bearer "


@dataclass(frozen=True, slots=True)
class Call:
    """One incoming request, before its body is read.

    Attributes:
        request_id: Its id in logs and errors.
        method: The HTTP method.
        path: The path as sent, percent-encoded, without the query.
        query: The query, without its question mark.
        headers: The headers, names in lower case.
        dialect: The error format that the client understands.
        address: What the path addresses.
        api: The API, if the answer is guarded.
        own: The path, if the gateway itself answers. All other requests are passed on, or refused.
    """

    request_id: str
    method: str
    path: bytes
    query: bytes = field(repr=False)
    headers: Headers = field(repr=False)
    dialect: Dialect
    address: Address
    api: Api | None
    own: str | None = None

    def header(self, name: bytes) -> str | None:
        """Return a header's value; None if it is absent."""
        found = (value for key, value in self.headers if key == name)
        value = next(found, None)
        return None if value is None else value.decode("latin-1")

    def _single_header(self, name: bytes) -> str | None:
        # A proxy may have added a value of its own to the client's.
        if sum(key == name for key, _ in self.headers) > 1:
            message = f"the header {name.decode()} occurs more than once"
            raise RefusedError(400, "repeated_header", message)
        return self.header(name)

    @property
    def policy(self) -> str | None:
        """The name of the requested policy; None for the default.

        Raises:
            RefusedError: It names several.
        """
        return self._single_header(POLICY)

    @property
    def tenant(self) -> str | None:
        """The tenant of the request.

        Raises:
            RefusedError: The header is malformed.
        """
        tenant = self._single_header(TENANT)
        if tenant is not None and not _SANE_TENANT.fullmatch(tenant):
            raise RefusedError(
                400,
                "bad_tenant",
                "the header x-resay-tenant must be 1 to 128 visible ASCII characters",
            )
        return tenant

    @property
    def uncompressed(self) -> Call:
        """The same request, asking for an uncompressed answer."""
        others = [(name, value) for name, value in self.headers if name != b"accept-encoding"]
        return replace(self, headers=[*others, (b"accept-encoding", b"identity")])

    @property
    def is_retry(self) -> bool:
        """Whether the client's SDK says that this is a retry."""
        count = self.header(_RETRY_COUNT) or ""
        return _SANE_COUNT.fullmatch(count) is not None and int(count) > 0


def read_call(scope: Mapping[str, Any]) -> Call:
    """Return the request in an ASGI scope."""
    headers: Headers = list(scope["headers"])
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    address, decoded = address_of(path), plain_path(path)
    # Methods are forwarded in capitals.
    method = scope["method"].upper()
    names = {name for name, _ in headers}
    anthropic = address.path.startswith(MESSAGES.path) or b"anthropic-version" in names
    posted = method == "POST"
    return Call(
        request_id=_request_id(headers),
        method=method,
        path=path,
        query=scope["query_string"],
        headers=headers,
        dialect="anthropic" if anthropic else "openai",
        address=address,
        api=_APIS.get(address.path) if posted else None,
        own=decoded if posted and decoded in OWN_ENDPOINTS else None,
    )


def _request_id(headers: Headers) -> str:
    given = next((value for name, value in headers if name == REQUEST_ID), b"")
    return given.decode() if _SANE_ID.fullmatch(given) else f"req-{uuid.uuid4().hex}"


def has_body(call: Call) -> bool:
    """Return whether a request has a body."""
    return (
        call.header(b"transfer-encoding") is not None
        or (call.header(b"content-length") or "0").strip("0") != ""
    )


def credential(call: Call) -> str | None:
    """Return the client's key, from any of the headers that SDKs use."""
    for name in (b"x-api-key", b"api-key"):
        if value := call.header(name):
            return value
    value = call.header(b"authorization") or ""
    return value[len(_BEARER) :].strip() if value.lower().startswith(_BEARER) else None


# Otherwise the server would go on reading a body that nobody wants.
_CLOSE = {"connection": "close"}
# The maximum length of a short body, in bytes.
_SHORT = 65_536
# Enough bytes to tell the encoding of JSON.
_BEGINNING = 8


class ClientDisconnectedError(Exception):
    """The client disconnected."""


class Incoming:
    """The body of one request.

    Args:
        receive: The ASGI channel.
        announced: The announced length in bytes; None if unknown.
        limit: The maximum length in bytes.
        timeout_s: The time allowed to receive it.
    """

    def __init__(
        self, receive: Receive, announced: int | None, limit: int, timeout_s: float
    ) -> None:
        self._receive = receive
        self._announced = announced
        self._limit = limit
        self._timeout_s = timeout_s
        self._deadline: float | None = None
        self._buffer: list[bytes] = []
        self._length = 0
        self._more = True
        self._read = asyncio.Event()

    async def read_start(self) -> bool:
        """Read up to the length of a short body, and buffer it.

        Returns:
            Whether the body is complete.

        Raises:
            RefusedError: It is too long, or takes too long.
            ClientDisconnectedError: The client disconnected.
        """
        await self._buffer_up_to(_SHORT)
        return not self._more

    async def beginning(self) -> bytes:
        """Return the first bytes of the body, and buffer what was read for them.

        Returns:
            Eight bytes or more; fewer if the body is shorter.

        Raises:
            RefusedError: The body is too long, or takes too long.
            ClientDisconnectedError: The client disconnected.
        """
        await self._buffer_up_to(_BEGINNING - 1)
        return b"".join(self._buffer)

    async def read_all(self, limit: int | None = None) -> bytes:
        """Read and return the whole body.

        Args:
            limit: The maximum length in bytes, if it is less than that of all bodies.

        Raises:
            RefusedError: It is too long, or takes too long.
            ClientDisconnectedError: The client disconnected.
        """
        most = self._limit if limit is None else min(limit, self._limit)
        await self._buffer_up_to(most)
        if self._length > most:
            raise self._too_long_error(most)
        return b"".join(self._buffer)

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Yield the body in pieces, from its beginning.

        Raises:
            RefusedError: It is too long, or no data arrived for too long.
            ClientDisconnectedError: The client disconnected.
        """
        kept, self._buffer = self._buffer, []
        try:
            for piece in kept:
                yield piece
            while self._more:
                piece = None
                with anyio.move_on_after(self._timeout_s):
                    piece = await self._next()
                if piece is None:
                    raise self._timeout_error()
                yield piece
        finally:
            self._read.set()

    def skip(self) -> None:
        """Declare that the body will not be read."""
        self._read.set()

    async def disconnected(self) -> None:
        """Wait until the body is read and the client disconnects."""
        await self._read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _buffer_up_to(self, length: int) -> None:
        """Read more than `length` bytes or to the end, within the time for the whole body."""
        if not self._more or self._length > length:
            return
        if self._deadline is None:
            self._deadline = anyio.current_time() + self._timeout_s
        with anyio.CancelScope(deadline=self._deadline) as scope:
            while self._more and self._length <= length:
                self._buffer.append(await self._next())
        if scope.cancelled_caught:
            raise self._timeout_error()

    async def _next(self) -> bytes:
        if self._announced is not None and self._announced > self._limit:
            raise self._too_long_error(self._limit)
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnectedError
        piece: bytes = message.get("body", b"")
        self._length += len(piece)
        if self._length > self._limit:
            raise self._too_long_error(self._limit)
        self._more = message.get("more_body", False)
        if not self._more:
            self._read.set()
        return piece

    def _too_long_error(self, limit: int) -> RefusedError:
        message = f"the request's body is longer than {limit} bytes"
        return RefusedError(413, "request_too_large", message, headers=_CLOSE)

    def _timeout_error(self) -> RefusedError:
        message = f"the request's body did not arrive within {self._timeout_s:g} s"
        return RefusedError(408, "request_timeout", message, headers=_CLOSE)


async def run_until_disconnect(
    incoming: Incoming, work: Coroutine[Any, Any, None], is_answered: Callable[[], bool]
) -> None:
    """Run `work`, and cancel it if the client disconnects.

    It is cancelled only once, so that it can close its resources.

    Args:
        incoming: The request's body.
        work: The work to do.
        is_answered: Whether the client has its complete answer; then the work is not cancelled.
    """
    task, disconnected = asyncio.ensure_future(work), asyncio.ensure_future(incoming.disconnected())
    try:
        await asyncio.wait({task, disconnected}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        disconnected.cancel()
        if not is_answered():
            task.cancel()
        await asyncio.wait({task, disconnected})
    if not task.cancelled():
        task.result()


_COMMENT = b": the answer is being checked\n\n"
# Statuses of responses without content (RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5).
_WITHOUT_CONTENT = frozenset({204, 205, 304})


class Outgoing:
    """The answer to one request.

    Args:
        send: The ASGI channel.
        call: The request.
        timeout_s: How long the client may pause reading.

    Attributes:
        status: The status sent; None before.
        complete: Whether everything was sent.
        refused: The code of the error sent in place of the answer, or at its end.
        reported: Whether observers were notified.
    """

    def __init__(self, send: Send, call: Call, timeout_s: float) -> None:
        self._send = send
        self._call = call
        self._timeout_s = timeout_s
        self._last_s = 0.0
        self._writing = asyncio.Lock()
        self.status: int | None = None
        self.complete = False
        self.refused: str | None = None
        self.reported = False

    async def start(self, status: int, headers: Headers) -> None:
        """Send the status and the headers."""
        self.status = status
        own = [(b"x-resay-request-id", self._call.request_id.encode())]
        await self._send(
            {"type": "http.response.start", "status": status, "headers": [*headers, *own]}
        )

    async def write(self, data: bytes, *, last: bool = False) -> None:
        """Send a piece of the body.

        Raises:
            ClientDisconnectedError: The client stopped reading.
        """
        async with self._writing:
            await self._write(data, last=last)

    async def _write(self, data: bytes, *, last: bool) -> None:
        with anyio.move_on_after(self._timeout_s) as scope:
            await self._send({"type": "http.response.body", "body": data, "more_body": not last})
        if scope.cancelled_caught:
            raise ClientDisconnectedError
        self._last_s = time.monotonic()
        self.complete = last

    async def send_complete(self, status: int, headers: Headers, body: bytes) -> None:
        """Send an answer in one piece.

        An answer that replaces one without content, such as a message in place of a withheld
        answer, cannot have that one's status.
        """
        if status in _WITHOUT_CONTENT and body:
            status = 200
        # These end with their headers, and state no length.
        if status not in (204, 304):
            headers = [*headers, (b"content-length", str(len(body)).encode())]
        await self.start(status, headers)
        await self.write(body, last=True)

    async def send_events(
        self, status: int, headers: Headers, events: AsyncGenerator[Sequence[Event]], api: Api
    ) -> None:
        """Send a stream; events that arrive together are sent together.

        Raises:
            RefusedError: An error of `events` before anything was sent. Later ones are sent as an
                event.
        """
        position = 0
        try:
            async for together in events:
                for event in together:
                    position = 1 + number(event.body.get("sequence_number", position))
                if not together:
                    continue
                if self.status is None:
                    await self.start(status, headers)
                await self.write(b"".join([encoded(event) for event in together]))
        except RefusedError as error:
            if self.status is None:
                raise
            self.refused = error.code
            call = self._call
            ending = error_event(error, call.dialect, api, call.request_id, position)
            await self.write(encoded(ending))
        if self.status is None:
            await self.start(status, headers)
        await self.write(b"", last=True)

    async def refuse(self, error: RefusedError) -> None:
        """Send an error in the API's own format."""
        call = self._call
        self.refused = error.code
        headers: Headers = [
            (b"content-type", b"application/json"),
            (b"x-request-id", call.request_id.encode()),
        ]
        headers += [(k.encode(), v.encode()) for k, v in error.headers.items()]
        body = error_body(error, call.dialect, call.request_id)
        await self.send_complete(error.status, headers, body)

    @asynccontextmanager
    async def keep_alive(self, headers: Headers, every_s: float) -> AsyncGenerator[None]:
        """Send a comment after each silent interval, because proxies cut silent streams.

        Args:
            headers: The headers to start the stream with, if it has not started.
            every_s: The interval, in seconds.
        """
        self._last_s = time.monotonic()
        heartbeats = asyncio.ensure_future(self._send_heartbeats(headers, every_s))
        try:
            yield
        finally:
            heartbeats.cancel()
            with suppress(asyncio.CancelledError, ClientDisconnectedError):
                await heartbeats

    async def _send_heartbeats(self, headers: Headers, every_s: float) -> None:
        while True:
            await asyncio.sleep(max(self._last_s + every_s - time.monotonic(), 0.0))
            async with self._writing:
                if time.monotonic() - self._last_s < every_s:
                    continue
                if self.status is None:
                    await self.start(200, headers)
                await self._write(_COMMENT, last=False)


_SCHEME = re.compile(r"\s*[a-z][a-z0-9+.-]*:", re.IGNORECASE)


_DATA = "data:"


# Texts, ids of other items, and a model's input or output: no addresses in them are fetched.
_TEXT_FIELDS = frozenset(
    {
        "arguments",
        "call_id",
        "content",
        "context",
        "id",
        "input",
        "name",
        "output",
        "reasoning_content",
        "refusal",
        "role",
        "signature",
        "text",
        "thinking",
        "title",
        "tool_call_id",
        "tool_use_id",
        "type",
    }
)


_CALL_FIELDS = frozenset({"function_call", "thinking_blocks", "tool_calls"})


_TEXT_TYPES = frozenset(
    {
        "custom_tool_call",
        "function_call",
        "input_text",
        "output_text",
        "reasoning",
        "redacted_thinking",
        "refusal",
        "search_result",
        "summary_text",
        "text",
        "thinking",
        "tool_use",
    }
)


# Fields with the parts of messages and tool results, whatever type they claim to have.
_NESTED_FIELDS = frozenset({"content", "output"})


_ADDRESSES = frozenset(
    {"audio_url", "file_uri", "file_url", "image_url", "uri", "url", "video_url"}
)


_MEDIA = _ADDRESSES | {"audio", "document", "file", "image", "input_audio", "source", "video"}


def contains_address(value: object, name: str) -> bool:
    """Return whether a value contains an address outside of texts.

    Args:
        value: A value sent by a client.
        name: The name of its field.
    """
    if isinstance(value, str):
        return name not in _TEXT_FIELDS and _is_address(value, name)
    if isinstance(value, Mapping):
        known = cast("Mapping[str, object]", value)
        looked_at = known.keys() - _CALL_FIELDS
        if known.get("type") in _TEXT_TYPES and not _contains_media(known):
            looked_at &= _NESTED_FIELDS
        return any(contains_address(known[key], key) for key in looked_at)
    if isinstance(value, (list, tuple)):
        return any(contains_address(item, name) for item in cast("Sequence[object]", value))
    return False


def _contains_media(part: Mapping[str, object]) -> bool:
    """Return whether a part that claims to be text contains media as well."""
    media = _MEDIA & part.keys()
    # The `source` of a search result only says where it comes from.
    return bool(media - {"source"} if part.get("type") == "search_result" else media)


def _is_address(value: str, name: str) -> bool:
    if value.lower().startswith(_DATA):
        return False
    return name in _ADDRESSES or "://" in value or _SCHEME.match(value) is not None
