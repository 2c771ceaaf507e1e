"""Asking the upstream: where requests go, with which headers, and what comes back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncGenerator, AsyncIterator
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import cast

import httpx

from resay.apis import Body
from resay.gateway.calls import PREFIX, Call, Headers
from resay.gateway.config import GatewayConfig
from resay.gateway.refusing import RefusedError

__all__ = ["ClosedError", "UpstreamClient", "UpstreamError", "answer_in", "given_headers"]

# What is said of one connection only (RFC 9110, section 7.6.1), or settled on it.
_HOP = frozenset(
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
_PAYER = (*sorted(_CREDENTIALS), b"openai-organization", b"openai-project")
# What is said of a body that is written anew.
_OF_BODY = frozenset({b"accept-encoding", b"content-encoding", b"content-length"})
_OURS = b"x-resay-"
_CONNECT_S = 10.0
_KEPT_ALIVE = 100


class UpstreamError(Exception):
    """The upstream said something else than yes.

    Attributes:
        response: What it said, read whole.
    """

    def __init__(self, response: httpx.Response) -> None:
        super().__init__(f"the upstream answered with status {response.status_code}")
        self.response = response


class ClosedError(RefusedError):
    """The upstream cannot be reached, or broke off."""

    def __init__(self, error: httpx.TransportError) -> None:
        late = isinstance(error, httpx.TimeoutException)
        status, code = (504, "upstream_timeout") if late else (502, "upstream_unreachable")
        what = "did not answer in time" if late else "cannot be reached, or broke off"
        super().__init__(status, code, f"the upstream {what} ({type(error).__name__})")


class UpstreamClient:
    """Sends requests to the one upstream there is.

    Args:
        config: What the gateway was told.
    """

    def __init__(self, config: GatewayConfig) -> None:
        key = config.upstream.api_key
        self._base = httpx.URL(config.upstream.url)
        self._key = None if key is None else key.get_secret_value()
        # A client's key of the gateway's own must not go anywhere.
        self._replaces = self._key is not None or bool(config.keys)
        self._limit = config.limits.answer_bytes
        timeout = httpx.Timeout(config.upstream.timeout_s, connect=_CONNECT_S, pool=None)
        self._timeout = timeout.as_dict()
        self._client = httpx.AsyncClient(
            timeout=timeout,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=_KEPT_ALIVE),
            # Cookies of one client are no other's.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    def source(self, call: Call, client: str | None) -> str:
        """Return what tells a client's answers from those of one that pays otherwise."""
        payer = [call.header(name) for name in _PAYER]
        told = repr((payer, client)).encode("utf-8", "surrogatepass")
        return f"gateway {self._base} {hashlib.sha256(told).hexdigest()}"

    async def open(self, call: Call, body: Body) -> httpx.Response:
        """Send a guarded request; return its answer before it is read.

        Args:
            call: The client's request, whose headers and query are kept.
            body: What to ask.

        Raises:
            ClosedError: The upstream cannot be reached.
        """
        headers = self._headers(call, without=_OF_BODY)
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
        told = [(b"content-type", b"application/json"), (b"accept-encoding", b"identity")]
        kept = [(k, v) for k, v in headers if k != b"content-type"]
        path = call.api.path if call.api else ""
        return await self._send(call.method, path.encode(), call, [*kept, *told], content)

    async def ask(self, call: Call, body: Body) -> Body:
        """Send a guarded request and read its answer.

        Raises:
            UpstreamError: It is none that could be guarded.
            ClosedError: The upstream cannot be reached, or broke off.
        """
        response = await self.open(call, body)
        await self.read(response)
        return answer_in(response)

    async def read(self, response: httpx.Response) -> None:
        """Read an answer whole, so that it has its `content`.

        Raises:
            RefusedError: It is too long.
            ClosedError: The upstream broke off.
        """
        pieces = [piece async for piece in self.pieces(response, raw=False)]
        response._content = b"".join(pieces)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - httpx reads without a limit

    async def pieces(self, response: httpx.Response, *, raw: bool) -> AsyncGenerator[bytes]:
        """Give the bytes of an answer as they come, and close it in the end.

        Args:
            response: The answer.
            raw: Whether they are given as they were sent, compressed and of any length.

        Raises:
            RefusedError: There are too many.
            ClosedError: The upstream broke off.
        """
        length = 0
        try:
            async for piece in response.aiter_raw() if raw else response.aiter_bytes():
                length += len(piece)
                if length > self._limit and not raw:
                    raise RefusedError(
                        502,
                        "answer_too_large",
                        f"the upstream's answer is longer than {self._limit} bytes",
                    )
                yield piece
        except httpx.TransportError as error:
            raise ClosedError(error) from None
        except httpx.DecodingError:
            raise RefusedError(
                502, "answer_unreadable", "the upstream's answer is not compressed as it says"
            ) from None
        finally:
            await response.aclose()

    async def forward(self, call: Call, body: AsyncIterator[bytes] | None) -> httpx.Response:
        """Send a request on as it is; return its answer before it is read.

        Args:
            call: The client's request.
            body: Its body; None for one without.

        Raises:
            RefusedError: Its path leads elsewhere.
            ClosedError: The upstream cannot be reached.
        """
        # Where a guarded one is passed on, its path may be spelt in another way.
        path = call.path[len(PREFIX) :] if call.api is None else call.api.path.encode()
        return await self._send(call.method, path, call, self._headers(call), body)

    async def _send(
        self,
        method: str,
        path: bytes,
        call: Call,
        headers: Headers,
        content: bytes | AsyncIterator[bytes] | None,
    ) -> httpx.Response:
        query = b"?" + call.query if call.query else b""
        target = self._base.raw_path + path + query
        request = httpx.Request(
            method,
            self._base.copy_with(raw_path=target),
            headers=headers,
            content=content,
            extensions={"timeout": self._timeout},
        )
        try:
            return await self._client.send(request, stream=True)
        except httpx.TransportError as error:
            raise ClosedError(error) from None

    def _headers(self, call: Call, *, without: frozenset[bytes] = frozenset()) -> Headers:
        left_out = _HOP | _named_hops(call.headers) | without
        left_out |= _CREDENTIALS if self._replaces else frozenset[bytes]()
        kept = [
            (name, value)
            for name, value in call.headers
            if name not in left_out and not name.startswith(_OURS) and name != b"x-request-id"
        ]
        return [*kept, (b"x-request-id", call.request_id.encode()), *self._own_key(call)]

    def _own_key(self, call: Call) -> Headers:
        if self._key is None:
            return []
        if call.dialect == "anthropic":
            return [(b"x-api-key", self._key.encode())]
        return [(b"authorization", b"Bearer " + self._key.encode())]


def given_headers(response: httpx.Response, *, of_body: bool) -> Headers:
    """Return the headers of an answer for the client.

    Args:
        response: The answer.
        of_body: Whether the body is given as it came, so that what is said of it holds.
    """
    raw: Headers = [(name.lower(), value) for name, value in response.headers.raw]
    left_out = _HOP | _named_hops(raw)
    left_out |= frozenset[bytes]() if of_body else _OF_BODY
    return [(k, v) for k, v in raw if k not in left_out and not k.startswith(_OURS)]


def _named_hops(headers: Headers) -> frozenset[bytes]:
    named = (value for name, value in headers if name == b"connection")
    return frozenset(token.strip().lower() for value in named for token in value.split(b","))


def answer_in(response: httpx.Response) -> Body:
    """Return the object in an answer that was read.

    Raises:
        UpstreamError: There is none, or it is no answer.
    """
    try:
        value: object = json.loads(response.content)
    except (ValueError, RecursionError):
        value = None
    if not response.is_success or not isinstance(value, dict):
        raise UpstreamError(response)
    return cast("Body", value)
