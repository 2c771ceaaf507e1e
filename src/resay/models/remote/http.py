"""HTTP client for model servers: connections, retries and errors."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
import httpx

from resay._internal.event_loops import PerLoop
from resay._internal.http_environment import naming_variables
from resay._internal.retries import retrier, retry_after_s
from resay.errors import ConfigurationError, ResayError, ScorerError

if TYPE_CHECKING:
    import ssl

    from resay.models.config import ModelConfig

T = TypeVar("T")

_RETRIES = 3
# Parsing a response larger than this would block the event loop for too long.
_LARGE_BYTES = 100_000
# text-embeddings-inference returns 424 if the model failed.
_WORTH_ANOTHER_TRY = frozenset({408, 424, 425, 429, *range(500, 600)})
_FIXES = {
    **dict.fromkeys((301, 302, 303, 307, 308), "set `url` to the address it redirects to"),
    401: "check `api_key`",
    403: "check `api_key`",
    404: "check `url`, `backend` and `name`",
    405: "check `url` and `backend`",
    424: "the model failed there; see the server's log",
    429: "it has too much to do; lower `concurrency`",
}
_MISCONFIGURED = frozenset({301, 302, 303, 307, 308, 401, 403, 404, 405})


class ServerError(ScorerError):
    """A server failed to answer a request.

    Attributes:
        retryable: Whether the same request may succeed if it is sent again.
        retry_after_s: The wait that the server asked for in seconds, or None.
    """

    def __init__(
        self, message: str, *, retryable: bool = False, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after_s = retry_after_s


class TooLargeError(ServerError):
    """The request is too large for the server: it has too many texts, or too long ones."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A server's response.

    Attributes:
        body: The decoded JSON.
        headers: The headers, with case-insensitive names.
    """

    body: Any
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Connections:
    client: httpx.AsyncClient
    turns: asyncio.Semaphore


class Server:
    """A client for a model server.

    All clients of the same server share one HTTP client per event loop, which is closed when the
    loop shuts down. A request that fails temporarily is sent up to four times. The wait between
    attempts is the server's `Retry-After`, at most 60 s, or else a random time growing from 0.25 s.

    Args:
        config: The server's URL, key, timeout and concurrency.
        product: The server's name in messages.
        suffix: A suffix of the URL that users may include, and that is removed.
        too_large: The status codes for a request that is too large.

    Raises:
        ConfigurationError: The URL or the key is invalid.
    """

    def __init__(
        self,
        config: ModelConfig,
        product: str,
        *,
        suffix: str = "",
        too_large: frozenset[int] = frozenset({413}),
    ) -> None:
        self._config = config
        self._too_large = too_large
        url = _url(config.url or "")
        # Not the URL as given, which may include a password.
        self.display_name = f"{product} at {url.netloc.decode()!r}"
        self._url = str(url).rstrip("/").removesuffix(suffix).rstrip("/")
        self._connections = _pool(self._url, config.api_key, config.concurrency)

    async def get(self, path: str, read: Callable[[Reply], T]) -> T:
        """Send a GET request; see `post`."""
        return await self._ask("GET", path, None, read)

    async def post(self, path: str, body: object, read: Callable[[Reply], T]) -> T:
        """Send a request.

        Args:
            path: The path, relative to the server's URL.
            body: The JSON body.
            read: Parses the response; called in another thread if that is large. Python's own
                errors that it raises mean that the response has the wrong format.

        Returns:
            The result of `read`.

        Raises:
            TooLargeError: The request is too large.
            ConfigurationError: The key is wrong, or the path does not exist.
            ScorerError: Any other failure.
        """
        return await self._ask("POST", path, json.dumps(body).encode(), read)

    async def aclose(self) -> None:
        """Close the connections of the running event loop. No request may be in flight.

        The next request opens new ones.
        """
        await self._connections.aclose()

    async def _ask(
        self, method: str, path: str, content: bytes | None, read: Callable[[Reply], T]
    ) -> T:
        with naming_variables():
            if not _certificates.cache_info().currsize:
                await anyio.to_thread.run_sync(_certificates, abandon_on_cancel=True)
            connections = await self._connections.get()
        async with connections.turns:
            response: httpx.Response = await retrier(_RETRIES, 0.25)(
                self._send, connections.client, method, path, content
            )
        if len(response.content) > _LARGE_BYTES:
            return await anyio.to_thread.run_sync(self._read, response, path, read)
        return self._read(response, path, read)

    async def _send(
        self, client: httpx.AsyncClient, method: str, path: str, content: bytes | None
    ) -> httpx.Response:
        limit = self._config.timeout_s
        try:
            with anyio.fail_after(limit):
                response = await client.request(method, self._url + path, content=content)
        except TimeoutError:
            raise ServerError(
                f"{self.display_name} did not answer {path} within {limit:g} s; raise `timeout_s`",
                retryable=True,
            ) from None
        except httpx.HTTPError as error:
            raise ServerError(
                f"{self.display_name} cannot be reached ({type(error).__name__}); see that it runs,"
                " and check `url`",
                retryable=True,
            ) from error
        if response.is_success:
            return response
        raise self._error_for(response, path)

    def _error_for(self, response: httpx.Response, path: str) -> ResayError:
        status = response.status_code
        fix = _FIXES.get(status, "see the server's log")
        # Without the server's own message, which may repeat the text or the key.
        message = f"{self.display_name} answered {path} with HTTP {status}; {fix}"
        if status in _MISCONFIGURED:
            return ConfigurationError(message)
        if status in self._too_large:
            return TooLargeError(message)
        return ServerError(
            message,
            retryable=status in _WORTH_ANOTHER_TRY,
            retry_after_s=retry_after_s(response.headers),
        )

    def _read(self, response: httpx.Response, path: str, read: Callable[[Reply], T]) -> T:
        try:
            return read(Reply(json.loads(response.content), response.headers))
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            name = type(error).__name__
        # Without the cause, which holds the unreadable response.
        raise ScorerError(
            f"{self.display_name} answered {path} in a form that cannot be read ({name}); check"
            " `url` and `backend`"
        )


# Global, because a client that is garbage-collected with its owner leaves its connections open.
@cache
def _pool(url: str, api_key: str | None, limit: int) -> PerLoop[_Connections]:
    headers = {"content-type": "application/json", **_authorization(api_key)}

    def connect() -> _Connections:
        client = httpx.AsyncClient(
            headers=headers,
            verify=_certificates(),
            timeout=None,  # noqa: S113 - `Server` limits the whole request, which is stricter
            limits=httpx.Limits(max_connections=limit, max_keepalive_connections=limit),
        )
        return _Connections(client, asyncio.Semaphore(limit))

    return PerLoop(connect, _disconnect)


async def _disconnect(connections: _Connections) -> None:
    await connections.client.aclose()


def _url(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise ConfigurationError(
            f"`url` has the scheme {url.scheme!r} and the host {url.host!r}; use an address like"
            " 'http://localhost:8080'"
        )
    return url


def _authorization(key: str | None) -> dict[str, str]:
    if key is None:
        return {}
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError(
            "`api_key` contains characters that are not allowed in an HTTP header; check where it"
            " comes from"
        )
    return {"authorization": f"Bearer {key}"}


@cache
def _certificates() -> ssl.SSLContext:
    # Loading them takes as long as ten requests, and so do httpx's imports for its first transport:
    # done once, off the event loop.
    context = httpx.create_ssl_context()
    httpx.AsyncHTTPTransport(verify=context)
    return context
