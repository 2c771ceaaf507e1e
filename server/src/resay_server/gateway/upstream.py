"""The client for the upstream: sends requests, selects headers and reads responses."""

from __future__ import annotations

import hashlib
import socket
import ssl
import sys
import zlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar, cast
from urllib.parse import quote
from urllib.request import getproxies, proxy_bypass

import httpx

from resay.adapters.apis import Body, Event, EventReader, json_bytes
from resay_server.gateway.calls import Call
from resay_server.gateway.config import GatewayConfig, UpstreamConfig
from resay_server.gateway.errors import RefusedError
from resay_server.gateway.headers import Headers
from resay_server.gateway.http_connections import Connections, Response
from resay_server.gateway.json_reading import json_reader
from resay_server.gateway.upstream_health import UpstreamHealth


class UpstreamResponse:
    """A response whose body need not have arrived yet.

    Args:
        status_code: The status.
        raw_headers: The headers, names in lower case.
        limit: The maximum length of a body that is read completely, in bytes.

    Attributes:
        content: The body, once it was read completely.
    """

    _source_label: ClassVar[str]

    def __init__(self, status_code: int, raw_headers: Headers, limit: int) -> None:
        self.status_code = status_code
        self.raw_headers = raw_headers
        self.content = b""
        self._limit = limit

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status_code < 300

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, names in lower case; the first value of repeated ones."""
        headers = reversed(self.raw_headers)
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}

    async def read(self) -> None:
        """Read the complete body into `content`.

        Raises:
            RefusedError: It is too long, or incomplete.
        """
        async with aclosing(self.pieces(limited=True)) as pieces:
            self.content = b"".join([piece async for piece in pieces])

    async def pieces(self, *, limited: bool) -> AsyncGenerator[bytes]:
        """Yield the bytes of the body as they arrive, and close the response at the end.

        Args:
            limited: Whether to enforce the maximum length.

        Raises:
            RefusedError: The body is too long, or incomplete.
        """
        length = 0
        async with aclosing(self._bytes()) as pieces:
            async for piece in pieces:
                length += len(piece)
                if limited and length > self._limit:
                    message = f"{self._source_label} answer is longer than {self._limit} bytes"
                    raise RefusedError(502, "answer_too_large", message)
                yield piece

    async def events(self) -> AsyncGenerator[Sequence[Event]]:
        """Yield the body's events, grouped as they arrive, and close the response at the end.

        Raises:
            RefusedError: The body is too long, or incomplete.
        """
        reader = EventReader()
        async with aclosing(self.pieces(limited=True)) as pieces:
            async for piece in pieces:
                yield reader.feed(piece)
        yield reader.finish()

    def close(self) -> None:
        """Close the response without reading the rest."""
        raise NotImplementedError

    def json(self) -> Body:
        """Return the JSON object in a response that was read.

        Raises:
            UpstreamError: It contains none, or is not a success.
        """
        raise NotImplementedError

    def _bytes(self) -> AsyncGenerator[bytes]:
        raise NotImplementedError


# Hop-by-hop headers (RFC 9110, section 7.6.1), and others about one connection.
_HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"expect",
        b"host",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_CREDENTIALS = frozenset({b"api-key", b"authorization", b"cookie", b"x-api-key"})
_BILLING_HEADERS = (*sorted(_CREDENTIALS), b"openai-organization", b"openai-project")
# Headers that no longer apply when the body is rewritten.
_BODY_HEADERS = frozenset({b"accept-encoding", b"content-encoding", b"content-length"})
_OWN_PREFIX = b"x-resay-"
# Some servers route by these, and would return something other than the guarded answer.
_REROUTING = frozenset(
    {
        b"x-http-method",
        b"x-http-method-override",
        b"x-method-override",
        b"x-original-url",
        b"x-rewrite-url",
    }
)
_NOT_SENT = _HOP_BY_HOP | _REROUTING | {b"x-request-id"}
_NOT_SENT_WITH_JSON = _NOT_SENT | _BODY_HEADERS | {b"content-type"}
_NOT_OF_BODY = _HOP_BY_HOP | _BODY_HEADERS
_LOWEST, _HIGHEST = 200, 599
_REDIRECT = 3
# Encodings of answers that are read although they were asked for without any.
_GZIP = frozenset({b"deflate", b"gzip", b"x-gzip"})
_DECODED_BYTES = 65_536


class UpstreamError(Exception):
    """The upstream returned an error, or no usable answer.

    Attributes:
        response: The response, read completely.
    """

    def __init__(self, response: UpstreamResponse) -> None:
        super().__init__(f"the upstream answered with status {response.status_code}")
        self.response = response


class ClosedError(RefusedError):
    """The upstream is unreachable, or closed the connection.

    Args:
        error: The error of the connection.
        url: Where the connection leads to, for the log.
    """

    def __init__(self, error: Exception, url: httpx.URL) -> None:
        late = isinstance(error, TimeoutError)
        status, code = (504, "upstream_timeout") if late else (502, "upstream_unreachable")
        what = "did not answer in time" if late else "is unreachable or closed the connection"
        message = f"the upstream {what} ({type(error).__name__})"
        super().__init__(status, code, message, cause=_cause(error, url))


def _cause(error: Exception, url: httpx.URL) -> str:
    """Return why a connection failed, with the address and nothing else of the URL."""
    address = url.host if url.port is None else f"{url.host}:{url.port}"
    if isinstance(error, TimeoutError):
        return f"no answer from {address} in time"
    if isinstance(error, socket.gaierror):
        return f"there is no host {url.host!r}"
    if isinstance(error, ConnectionRefusedError):
        return f"{address} refuses connections"
    if isinstance(error, ssl.SSLError):
        return f"no secure connection to {address} could be made"
    if isinstance(error, ConnectionError):
        return f"{address} closed the connection ({type(error).__name__})"
    return f"{address} cannot be connected to ({type(error).__name__})"


class HTTPResponse(UpstreamResponse):
    """A response of the upstream.

    Args:
        response: The response of the HTTP client.
        limit: The maximum length of a body that is read completely, in bytes.
        closed: Takes note that the connection failed, and returns the error for the client.
        decodes: Whether the body is read, and therefore decompressed.
    """

    _source_label = "the upstream's"

    def __init__(
        self,
        response: Response,
        limit: int,
        closed: Callable[[OSError], ClosedError],
        *,
        decodes: bool,
    ) -> None:
        super().__init__(response.status, response.headers, limit)
        self._response = response
        self._closed = closed
        self._decodes = decodes

    def close(self) -> None:
        """Close the response without reading the rest."""
        self._response.close()

    def _bytes(self) -> AsyncGenerator[bytes]:
        if self._decodes:
            for name, value in self.raw_headers:
                if name == b"content-encoding" and value.lower() not in (b"", b"identity"):
                    return self._decompressed(value.lower())
        return self._received()

    async def _received(self) -> AsyncGenerator[bytes]:
        try:
            while piece := await self._response.next_piece():
                yield piece
        except OSError as error:
            raise self._closed(error) from None
        finally:
            self.close()

    async def _decompressed(self, encoding: bytes) -> AsyncGenerator[bytes]:
        decompressor = zlib.decompressobj(zlib.MAX_WBITS | 32)
        async with aclosing(self._received()) as pieces:
            if encoding not in _GZIP:
                raise _unreadable("has an unknown content-encoding")
            async for piece in pieces:
                remainder = piece
                while remainder and not decompressor.eof:
                    try:
                        data = decompressor.decompress(remainder, _DECODED_BYTES)
                    except zlib.error:
                        raise _unreadable("does not match its content-encoding") from None
                    remainder = decompressor.unconsumed_tail
                    yield data
        if not decompressor.eof:
            raise _unreadable("does not match its content-encoding")

    def json(self) -> Body:
        """Return the JSON object in a response that was read.

        Raises:
            UpstreamError: It contains none, or is not a success.
        """
        value: object = None
        with suppress(ValueError, RecursionError):
            value = _read_json(self.content)
        if not self.is_success or not isinstance(value, dict):
            raise UpstreamError(self)
        return cast("Body", value)


class UpstreamClient:
    """Sends requests to the upstream. Must be created and closed in an event loop.

    Args:
        config: The gateway's configuration.
        upstream: The configuration of the upstream.
        health: Takes note of what requests come to.
    """

    def __init__(
        self, config: GatewayConfig, upstream: UpstreamConfig, health: UpstreamHealth
    ) -> None:
        key = upstream.api_key
        self._base = httpx.URL(upstream.url)
        # Azure's older API, which has deployments in its paths. Elsewhere the model is in the body.
        self._by_deployment = self._base.path.rstrip("/").endswith("/openai")
        self._key = None if key is None else key.get_secret_value()
        # A client's key for this gateway must not be forwarded.
        self._drops_credentials = self._key is not None or bool(config.keys)
        self._limit = config.limits.answer_bytes
        self._health = health
        self._proxy = _proxy_of(self._base)
        self._connections = Connections(self._base, timeout_s=upstream.timeout_s, proxy=self._proxy)
        # Most requests use few paths. Those with a query are not cached: it may contain a key.
        self._cached_target = lru_cache(maxsize=64)(self._build_target)

    async def aclose(self) -> None:
        """Close all connections."""
        self._connections.close()

    def source(self, call: Call, client: str | None) -> str:
        """Return a cache key that differs for clients whose requests are billed differently."""
        payer = [(name, value) for name, value in call.headers if name in _BILLING_HEADERS]
        # Some clients send their key in the query.
        identity = repr((payer, call.query, client)).encode("utf-8", "surrogatepass")
        return f"gateway {self._base} {hashlib.sha256(identity).hexdigest()}"

    async def open(self, call: Call, path: str, body: Body) -> HTTPResponse:
        """Send a parsed request; return the response before its body is read.

        Args:
            call: The client's request, whose headers and query are kept.
            path: The path below the base URL.
            body: The body to send.

        Raises:
            RefusedError: The upstream redirects.
            ClosedError: The upstream is unreachable.
        """
        headers = self._headers(call, excluded=_NOT_SENT_WITH_JSON)
        headers += [(b"content-type", b"application/json"), (b"accept-encoding", b"identity")]
        target = self._target(path.encode(), call)
        response = await self._send("POST", target, headers, json_bytes(body), decodes=True)
        if response.status_code // 100 == _REDIRECT:
            response.close()
            # A client would follow the redirect, bypassing the guard.
            message = f"the upstream redirects (status {response.status_code}); set the target"
            raise RefusedError(502, "upstream_redirects", f"{message} as the upstream's url")
        return response

    async def ask(self, call: Call, path: str, body: Body) -> Body:
        """Send a further request besides the client's own, and read its answer.

        Raises:
            UpstreamError: The response is not an answer that could be guarded.
            ClosedError: The upstream is unreachable, or closed the connection.
        """
        # With the same idempotency key, the main call's answer would be returned as a sample.
        others = [(name, value) for name, value in call.headers if name != b"idempotency-key"]
        response = await self.open(replace(call, headers=others), path, body)
        await response.read()
        return response.json()

    async def forward(self, call: Call, body: AsyncGenerator[bytes] | None) -> HTTPResponse:
        """Forward a request unchanged; return the response before its body is read.

        Args:
            call: The client's request.
            body: Its body; None if it has none.

        Raises:
            RefusedError: The body is refused while it is sent.
            ClientDisconnectedError: The client disconnects while its body is sent.
            ClosedError: The upstream is unreachable.
        """
        # The path of a guarded request may be spelt differently, so send the canonical one.
        path = call.address.forwarded if call.api is None else call.api.path.encode()
        target = self._target(path or b"", call)
        headers = self._headers(call, excluded=_NOT_SENT)
        return await self._send(call.method, target, headers, body, decodes=False)

    def _target(self, path: bytes, call: Call) -> bytes:
        if self._by_deployment and call.address.deployment is not None:
            path = b"/deployments/" + quote(call.address.deployment, safe="").encode() + path
        if not call.query:
            return self._cached_target(path)
        return self._build_target(path + b"?" + call.query)

    def _build_target(self, path: bytes) -> bytes:
        return self._base.copy_with(raw_path=self._base.raw_path + path).raw_path

    async def _send(
        self,
        method: str,
        target: bytes,
        headers: Headers,
        content: bytes | AsyncGenerator[bytes] | None,
        *,
        decodes: bool,
    ) -> HTTPResponse:
        try:
            response = await self._connections.request(method, target, headers, content)
        except OSError as error:
            raise self._closed(error) from None
        self._health.answered(response.status)
        if not _LOWEST <= response.status <= _HIGHEST:
            response.close()
            raise _unreadable(f"has an invalid status, {response.status}")
        return HTTPResponse(response, self._limit, self._closed, decodes=decodes)

    def _closed(self, error: OSError) -> ClosedError:
        closed = ClosedError(error, self._proxy or self._base)
        self._health.failed(closed.code)
        return closed

    def _headers(self, call: Call, *, excluded: frozenset[bytes]) -> Headers:
        if call.has_header(b"connection"):
            excluded |= _connection_headers(call.headers)
        if self._drops_credentials:
            excluded |= _CREDENTIALS
        headers = [
            (name, value)
            for name, value in call.headers
            if name not in excluded and not name.startswith(_OWN_PREFIX)
        ]
        return [*headers, (b"x-request-id", call.request_id.encode()), *self._own_key(call)]

    def _own_key(self, call: Call) -> Headers:
        if self._key is None:
            return []
        if call.dialect == "anthropic":
            return [(b"x-api-key", self._key.encode())]
        if self._by_deployment:
            return [(b"api-key", self._key.encode())]
        return [(b"authorization", b"Bearer " + self._key.encode())]


def client_headers(response: UpstreamResponse, *, of_body: bool) -> Headers:
    """Return a response's headers for the client.

    Args:
        response: The response.
        of_body: Whether the body is passed on unchanged, so that headers about it still apply.
    """
    raw = response.raw_headers
    excluded = _HOP_BY_HOP if of_body else _NOT_OF_BODY
    named = _connection_headers(raw)
    if named:
        excluded |= named
    return [(k, v) for k, v in raw if k not in excluded and not k.startswith(_OWN_PREFIX)]


def _connection_headers(headers: Headers) -> frozenset[bytes]:
    values = [value for name, value in headers if name == b"connection"]
    names: set[bytes] = set()
    for value in values:
        names.update(token.strip().lower() for token in value.split(b","))
    return frozenset(names)


def _finite(digits: str) -> float:
    # Overflowing numbers are parsed as infinity, which JSON cannot represent.
    return max(-sys.float_info.max, min(float(digits), sys.float_info.max))


_read_json = json_reader(parse_float=_finite)


def _unreadable(problem: str) -> RefusedError:
    return RefusedError(502, "answer_unreadable", f"the upstream's answer {problem}")


def _proxy_of(url: httpx.URL) -> httpx.URL | None:
    """Return the proxy that the environment sets for a URL."""
    if proxy_bypass(url.netloc.decode()):
        return None
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if not proxy:
        return None
    return httpx.URL(proxy if "://" in proxy else f"http://{proxy}")
