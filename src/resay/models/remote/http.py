"""A server that runs a model, spoken to over HTTP: connections, retries, errors."""

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
from resay._internal.retrying import attempts, retry_after_s
from resay.errors import ConfigurationError, ResayError, ScorerError

if TYPE_CHECKING:
    import ssl

    from resay.models.config import ModelConfig

T = TypeVar("T")

_RETRIES = 3
# Reading more than this takes longer than an event loop should stand still.
_LARGE_BYTES = 100_000
# 424 is how text-embeddings-inference says that the model failed.
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
    """A server could not give what was asked.

    Attributes:
        retryable: Whether the same request may succeed when it is sent again.
        retry_after_s: Seconds the server asked us to wait, where it said so.
    """

    def __init__(
        self, message: str, *, retryable: bool = False, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after_s = retry_after_s


class TooLargeError(ServerError):
    """The server takes nothing as large as what it was sent: too many texts, or too long ones."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A server's answer.

    Attributes:
        body: The decoded JSON.
        headers: The headers; names in any case.
    """

    body: Any
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Connections:
    client: httpx.AsyncClient
    turns: asyncio.Semaphore


class Server:
    """A server that runs a model.

    All objects for the same server share one HTTP client in each event loop, closed when the loop
    shuts down. A request that fails in a way that may pass is sent up to four times; the wait in
    between is what the server asks for (`Retry-After`), at most 60 s, else a random time growing
    from 0.25 s.

    Args:
        config: Its address, key, time limit and concurrency.
        product: What messages call it.
        suffix: What users put at the end of the address that does not belong to it.
        too_large: The statuses that say that a request is too large.

    Raises:
        ConfigurationError: The address or the key cannot be used.
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
        # Never the address as given, which may have a password in it.
        self.called = f"{product} at {url.netloc.decode()!r}"
        self._url = str(url).rstrip("/").removesuffix(suffix).rstrip("/")
        self._connections = _pool(self._url, config.api_key, config.concurrency)

    async def get(self, path: str, read: Callable[[Reply], T]) -> T:
        """Send a GET request; see `post`."""
        return await self._ask("GET", path, None, read)

    async def post(self, path: str, body: object, read: Callable[[Reply], T]) -> T:
        """Send a request.

        Args:
            path: Its path, behind the server's address.
            body: What to send, as JSON.
            read: Makes the result of the answer; called in another thread where that is long. Any
                error of Python's own that it raises means that the answer has the wrong form.

        Returns:
            What `read` returns.

        Raises:
            TooLargeError: The request is too large.
            ConfigurationError: The key is wrong, or there is nothing at that path.
            ScorerError: Anything else that went wrong.
        """
        return await self._ask("POST", path, json.dumps(body).encode(), read)

    async def aclose(self) -> None:
        """Close the connections of the running event loop, when no request is under way.

        The next request opens new ones.
        """
        await self._connections.aclose()

    async def _ask(
        self, method: str, path: str, content: bytes | None, read: Callable[[Reply], T]
    ) -> T:
        if not _certificates.cache_info().currsize:
            await anyio.to_thread.run_sync(_certificates)
        connections = await self._connections.get()
        async with connections.turns:
            response: httpx.Response = await attempts(_RETRIES, 0.25)(
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
                f"{self.called} did not answer {path} within {limit:g} s; raise `timeout_s`",
                retryable=True,
            ) from None
        except httpx.HTTPError as error:
            raise ServerError(
                f"{self.called} cannot be reached ({type(error).__name__}); see that it runs, and"
                " check `url`",
                retryable=True,
            ) from error
        if response.is_success:
            return response
        raise self._refusal(response, path)

    def _refusal(self, response: httpx.Response, path: str) -> ResayError:
        status = response.status_code
        fix = _FIXES.get(status, "see the server's log")
        # Not a word of the server's own: it may repeat the text, or the key.
        message = f"{self.called} answered {path} with HTTP {status}; {fix}"
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
        # Without its cause, which holds what could not be read.
        raise ScorerError(
            f"{self.called} answered {path} in a form that cannot be read ({name}); check `url` and"
            " `backend`"
        )


# Not the servers' own: a client that is collected with its owner leaves its connections open.
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
            "`api_key` has characters in it that no HTTP header can hold; check where it comes from"
        )
    return {"authorization": f"Bearer {key}"}


@cache
def _certificates() -> ssl.SSLContext:
    # Reading them takes as long as ten requests, and so does what httpx imports with its first
    # transport: once for all, away from the event loop.
    context = httpx.create_ssl_context()
    httpx.AsyncHTTPTransport(verify=context)
    return context
