"""Requests as they come in, their bodies, and answers as they go out."""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

import anyio

from resay.gateway.refusing import Dialect, RefusedError, error_body, error_event
from resay.providers.apis import (
    CHAT_COMPLETIONS,
    COMPLETIONS,
    MESSAGES,
    RESPONSES,
    Api,
    Event,
    encoded,
)
from resay.providers.apis.base import number

if TYPE_CHECKING:
    from starlette.types import Receive, Send

Headers = list[tuple[bytes, bytes]]
PREFIX = "/v1"
POLICY, TENANT, REQUEST_ID = b"x-resay-policy", b"x-resay-tenant", b"x-request-id"
_APIS: Mapping[str, Api] = {
    PREFIX + api.path: api for api in (CHAT_COMPLETIONS, COMPLETIONS, RESPONSES, MESSAGES)
}
CHECK, LITELLM_GUARDRAIL = f"{PREFIX}/check", "/beta/litellm_basic_guardrail_api"
FEEDBACK = f"{PREFIX}/feedback"
OWN = frozenset({CHECK, LITELLM_GUARDRAIL, FEEDBACK})
_SANE_ID = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")
_SANE_TENANT = re.compile(r"[\x21-\x7e]{1,128}")
# By which OpenAI's and Anthropic's SDKs tell how often they have sent a request before.
_RETRY_COUNT = b"x-stainless-retry-count"
_SANE_COUNT = re.compile(r"[0-9]{1,4}")
_BEARER = "bearer "
_DECODINGS = 3


@dataclass(frozen=True, slots=True)
class Call:
    """One request as the gateway sees it, before its body is read.

    Attributes:
        request_id: What it is called in logs and errors.
        method: The HTTP method.
        path: The path as it was sent, percent-encoded, without the query.
        query: The query, without its question mark.
        headers: The headers, names in lower case.
        dialect: Whose errors the client understands.
        api: What is spoken, where it is guarded.
        own: The path, where the gateway itself answers. What is neither is passed on.
    """

    request_id: str
    method: str
    path: bytes
    query: bytes = field(repr=False)
    headers: Headers = field(repr=False)
    dialect: Dialect
    api: Api | None
    own: str | None = None

    def header(self, name: bytes) -> str | None:
        """Return a header's value; None where there is none."""
        found = (value for key, value in self.headers if key == name)
        value = next(found, None)
        return None if value is None else value.decode("latin-1")

    def _once(self, name: bytes) -> str | None:
        # A proxy may have added its own to what the client said.
        if sum(key == name for key, _ in self.headers) > 1:
            message = f"the header {name.decode()} occurs more than once"
            raise RefusedError(400, "repeated_header", message)
        return self.header(name)

    @property
    def policy(self) -> str | None:
        """The name of the policy that the client wants; None for the default.

        Raises:
            RefusedError: It wants several.
        """
        return self._once(POLICY)

    @property
    def tenant(self) -> str | None:
        """On whose behalf it is asked.

        Raises:
            RefusedError: It cannot be read.
        """
        tenant = self._once(TENANT)
        if tenant is not None and not _SANE_TENANT.fullmatch(tenant):
            raise RefusedError(
                400,
                "bad_tenant",
                "the header x-resay-tenant must be 1 to 128 visible ASCII characters",
            )
        return tenant

    @property
    def unpacked(self) -> Call:
        """The same request, whose answer is to come as it is."""
        others = [(name, value) for name, value in self.headers if name != b"accept-encoding"]
        return replace(self, headers=[*others, (b"accept-encoding", b"identity")])

    @property
    def retries(self) -> bool:
        """Whether the client's SDK says that it has sent it before."""
        count = self.header(_RETRY_COUNT) or ""
        return _SANE_COUNT.fullmatch(count) is not None and int(count) > 0


def read_call(scope: Mapping[str, Any]) -> Call:
    """Return the request in an ASGI scope."""
    headers: Headers = list(scope["headers"])
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    decoded = plain_path(path)
    # What is sent on is sent in capitals.
    method = scope["method"].upper()
    names = {name for name, _ in headers}
    anthropic = decoded.startswith(PREFIX + MESSAGES.path) or b"anthropic-version" in names
    posted = method == "POST"
    return Call(
        _request_id(headers),
        method,
        path,
        scope["query_string"],
        headers,
        "anthropic" if anthropic else "openai",
        _APIS.get(decoded) if posted else None,
        decoded if posted and decoded in OWN else None,
    )


def plain_path(path: bytes) -> str:
    """Return a path as the most forgiving upstreams read it."""
    decoded = path.decode("latin-1")
    for _ in range(_DECODINGS):
        decoded = unquote(decoded)
    # Some take what follows a semicolon for parameters.
    known = re.sub(r";[^/]*", "", decoded.partition("#")[0])
    return re.sub(r"/+", "/", known).strip().rstrip("/").lower()


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
    """Return the key that a client came with, wherever its SDK puts it."""
    for name in (b"x-api-key", b"api-key"):
        if value := call.header(name):
            return value
    value = call.header(b"authorization") or ""
    return value[len(_BEARER) :].strip() if value.lower().startswith(_BEARER) else None


# Else the server would read on what nobody wants.
_CLOSE = {"connection": "close"}
# What a short body has at most, in bytes.
_SHORT = 65_536


class GoneError(Exception):
    """The client went away."""


class Incoming:
    """The body of one request.

    Args:
        receive: Where it comes from.
        announced: How long it says it is, in bytes; None where it does not.
        limit: How long it may be, in bytes.
        timeout_s: How long it may take.
    """

    def __init__(
        self, receive: Receive, announced: int | None, limit: int, timeout_s: float
    ) -> None:
        self._receive = receive
        self._announced = announced
        self._limit = limit
        self._timeout_s = timeout_s
        self._until_s: float | None = None
        self._kept: list[bytes] = []
        self._length = 0
        self._more = True
        self._read = asyncio.Event()

    async def begin(self) -> bool:
        """Read it as far as it is short, without giving it.

        Returns:
            Whether that is all of it.

        Raises:
            RefusedError: It is too long, or takes too long.
            GoneError: The client went away.
        """
        await self._keep(_SHORT)
        return not self._more

    async def whole(self) -> bytes:
        """Read all of it.

        Raises:
            RefusedError: It is too long, or takes too long.
            GoneError: The client went away.
        """
        await self._keep(self._limit)
        return b"".join(self._kept)

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Read it piece by piece, from its beginning.

        Raises:
            RefusedError: It is too long, or there was nothing new for too long.
            GoneError: The client went away.
        """
        kept, self._kept = self._kept, []
        try:
            for piece in kept:
                yield piece
            while self._more:
                piece = None
                with anyio.move_on_after(self._timeout_s):
                    piece = await self._next()
                if piece is None:
                    raise self._late()
                yield piece
        finally:
            self._read.set()

    def nothing(self) -> None:
        """Say that nobody will read it."""
        self._read.set()

    async def gone(self) -> None:
        """Return when the body is read and the client goes away."""
        await self._read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _keep(self, length: int) -> None:
        """Read on until so much was read, in the time that there is for all of it."""
        if not self._more or self._length > length:
            return
        if self._until_s is None:
            self._until_s = anyio.current_time() + self._timeout_s
        with anyio.CancelScope(deadline=self._until_s) as scope:
            while self._more and self._length <= length:
                self._kept.append(await self._next())
        if scope.cancelled_caught:
            raise self._late()

    async def _next(self) -> bytes:
        if self._announced is not None and self._announced > self._limit:
            raise self._too_long()
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise GoneError
        piece: bytes = message.get("body", b"")
        self._length += len(piece)
        if self._length > self._limit:
            raise self._too_long()
        self._more = message.get("more_body", False)
        if not self._more:
            self._read.set()
        return piece

    def _too_long(self) -> RefusedError:
        message = f"the request's body is longer than {self._limit} bytes"
        return RefusedError(413, "request_too_large", message, headers=_CLOSE)

    def _late(self) -> RefusedError:
        message = f"the request's body did not arrive within {self._timeout_s:g} s"
        return RefusedError(408, "request_timeout", message, headers=_CLOSE)


async def unless_gone(
    incoming: Incoming, work: Coroutine[Any, Any, None], is_answered: Callable[[], bool]
) -> None:
    """Do something, and cancel it when the client goes away.

    It is cancelled once, so that it can close what it opened.

    Args:
        incoming: What the client sends.
        work: What is to be done.
        is_answered: Whether the client has its answer already; then the rest is done all the same.
    """
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(incoming.gone())
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        if not is_answered():
            task.cancel()
        await asyncio.wait({task, gone})
    if not task.cancelled():
        task.result()


_COMMENT = b": the answer is being checked\n\n"


class Outgoing:
    """The answer to one request.

    Args:
        send: Where it goes.
        call: The request.
        timeout_s: How long the client may take nothing of it.

    Attributes:
        status: The status that was given; None until then.
        complete: Whether all was given.
        refused: The code of the error that was given in its place, or at its end.
        told: Whether observers know of it.
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
        self.told = False

    async def start(self, status: int, headers: Headers) -> None:
        """Give the status and the headers."""
        self.status = status
        own = [(b"x-resay-request-id", self._call.request_id.encode())]
        await self._send(
            {"type": "http.response.start", "status": status, "headers": [*headers, *own]}
        )

    async def write(self, data: bytes, *, last: bool = False) -> None:
        """Give a piece of the body.

        Raises:
            GoneError: The client takes nothing any more.
        """
        async with self._writing:
            await self._write(data, last=last)

    async def _write(self, data: bytes, *, last: bool) -> None:
        with anyio.move_on_after(self._timeout_s) as scope:
            await self._send({"type": "http.response.body", "body": data, "more_body": not last})
        if scope.cancelled_caught:
            raise GoneError
        self._last_s = time.monotonic()
        self.complete = last

    async def whole(self, status: int, headers: Headers, body: bytes) -> None:
        """Give an answer in one piece."""
        length = (b"content-length", str(len(body)).encode())
        await self.start(status, [*headers, length])
        await self.write(body, last=True)

    async def events(
        self, status: int, headers: Headers, events: AsyncGenerator[Sequence[Event]], api: Api
    ) -> None:
        """Give a stream; events that come together are given together.

        Raises:
            RefusedError: What `events` raises, where nothing was given yet. It is an event of its
                own else.
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
        """Give an error in the API's own shape."""
        call = self._call
        self.refused = error.code
        headers: Headers = [
            (b"content-type", b"application/json"),
            (b"x-request-id", call.request_id.encode()),
        ]
        headers += [(k.encode(), v.encode()) for k, v in error.headers.items()]
        body = error_body(error, call.dialect, call.request_id)
        await self.whole(error.status, headers, body)

    @asynccontextmanager
    async def kept_alive(self, headers: Headers, every_s: float) -> AsyncGenerator[None]:
        """Give a comment whenever there was nothing to give for so long: proxies cut such streams.

        Args:
            headers: What to begin the stream with, where it was not begun.
            every_s: After how long, in seconds.
        """
        self._last_s = time.monotonic()
        beating = asyncio.ensure_future(self._beat(headers, every_s))
        try:
            yield
        finally:
            beating.cancel()
            with suppress(asyncio.CancelledError, GoneError):
                await beating

    async def _beat(self, headers: Headers, every_s: float) -> None:
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


# Texts, numbers of others, and what a model was told or said: nothing of it is looked up.
_SAID = frozenset(
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


_CALLS = frozenset({"function_call", "thinking_blocks", "tool_calls"})


_SAYING = frozenset(
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


# Where messages and the results of tools have their parts, whatever type they say they are.
_INNER = frozenset({"content", "output"})


_ADDRESSES = frozenset(
    {"audio_url", "file_uri", "file_url", "image_url", "uri", "url", "video_url"}
)


_MEDIA = _ADDRESSES | {"audio", "document", "file", "image", "input_audio", "source", "video"}


def refers(value: object, name: str) -> bool:
    """Return whether there is an address in what is no text.

    Args:
        value: What a client sends.
        name: The name of the field that it is in.
    """
    if isinstance(value, str):
        return name not in _SAID and _is_address(value, name)
    if isinstance(value, Mapping):
        known = cast("Mapping[str, object]", value)
        looked_at = known.keys() - _CALLS
        if known.get("type") in _SAYING and not _holds_more(known):
            looked_at &= _INNER
        return any(refers(known[key], key) for key in looked_at)
    if isinstance(value, (list, tuple)):
        return any(refers(item, name) for item in cast("Sequence[object]", value))
    return False


def _holds_more(part: Mapping[str, object]) -> bool:
    """Return whether what says that it is a text has something beside it."""
    media = _MEDIA & part.keys()
    # Of a result of a search, only where it comes from.
    return bool(media - {"source"} if part.get("type") == "search_result" else media)


def _is_address(value: str, name: str) -> bool:
    if value.lower().startswith(_DATA):
        return False
    return name in _ADDRESSES or "://" in value or _SCHEME.match(value) is not None
