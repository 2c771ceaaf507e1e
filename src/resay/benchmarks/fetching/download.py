"""Downloading one file."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from http import HTTPStatus

import httpx
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    wait_random_exponential,
)

from resay._internal._version import __version__
from resay.benchmarks.fetching.errors import FetchError
from resay.benchmarks.fetching.homes import Homes

__all__ = ["LIMIT_BYTES", "Downloader", "OnBytes", "client"]

LIMIT_BYTES = 16 * 2**20
"""More than three times the largest of the files."""

OnBytes = Callable[[int, int | None], object]
"""Called with how many bytes have come, and how many will where the home says so."""

_ATTEMPTS = 4
_REDIRECTS = 5
_LONGEST_WAIT_S = 60.0


def client() -> httpx.Client:
    """Return a client that is patient enough for a slow line, and no more."""
    return httpx.Client(
        timeout=httpx.Timeout(30.0, connect=10.0),
        headers={"User-Agent": f"resay/{__version__}"},
    )


class Downloader:
    """Reads files whole, and again when they broke off or the home was busy.

    Waits as long as the home asks (`Retry-After`), at most 60 s, else a random time growing from
    0.5 s.

    Args:
        client: Sends the requests.
        homes: Knows who may see the token.
        sleep: Waits so many seconds.
    """

    def __init__(
        self, client: httpx.Client, homes: Homes, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._client = client
        self._homes = homes
        self._sleep = sleep

    def get(self, address: str, on_bytes: OnBytes = lambda _, __: None) -> bytes:
        """Download a file.

        Args:
            address: Where it is.
            on_bytes: Told how far it is.

        Returns:
            What is in it.

        Raises:
            FetchError: It is not there, does not arrive whole, or is too large.
        """
        attempts = Retrying(
            stop=stop_after_attempt(_ATTEMPTS),
            retry=retry_if_exception(_may_help),
            wait=_wait,
            sleep=self._sleep,
            reraise=True,
        )
        try:
            return attempts(self._once, address, on_bytes)
        except httpx.HTTPError as error:
            raise FetchError(address, _reason(error)) from error

    def _once(self, address: str, on_bytes: OnBytes) -> bytes:
        response = self._open(address)
        try:
            if response.status_code != HTTPStatus.OK:
                raise httpx.HTTPStatusError("no file", request=response.request, response=response)
            return _body(response, address, on_bytes)
        finally:
            response.close()

    def _open(self, address: str) -> httpx.Response:
        headers = self._homes.headers(address)
        request = self._client.build_request("GET", address, headers=headers)
        for _ in range(_REDIRECTS + 1):
            response = self._client.send(request, stream=True, follow_redirects=False)
            # httpx leaves the token out of a request to another host.
            following = response.next_request
            if following is None:
                return response
            response.close()
            if request.url.scheme == "https" and following.url.scheme != "https":
                raise FetchError(address, "sends us on to an address that is not encrypted")
            request = following
        raise FetchError(address, f"sends us on more than {_REDIRECTS} times")


def _body(response: httpx.Response, address: str, on_bytes: OnBytes) -> bytes:
    length = response.headers.get("content-length", "")
    expected = int(length) if length.isdecimal() else None
    if expected is not None and expected > LIMIT_BYTES:
        raise _too_large(address)
    on_bytes(0, expected)
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > LIMIT_BYTES:
            raise _too_large(address)
        on_bytes(response.num_bytes_downloaded, expected)
    return bytes(body)


def _too_large(address: str) -> FetchError:
    return FetchError(address, f"larger than {LIMIT_BYTES // 2**20} MiB, so not the data set")


def _may_help(error: BaseException) -> bool:
    if isinstance(error, httpx.HTTPStatusError):
        status = error.response.status_code
        return status == HTTPStatus.TOO_MANY_REQUESTS or error.response.is_server_error
    return isinstance(
        error, (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError)
    )


_backoff = wait_random_exponential(multiplier=0.5, max=8.0)


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, httpx.HTTPStatusError):
        asked = _seconds(error.response.headers.get("retry-after", ""))
        if asked is not None:
            return min(asked, _LONGEST_WAIT_S)
    return _backoff(state)


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _reason(error: httpx.HTTPError) -> str:
    if isinstance(error, httpx.HTTPStatusError):
        return f"answered {error.response.status_code} {error.response.reason_phrase}".rstrip()
    if isinstance(error, httpx.TimeoutException):
        return "did not answer in time"
    return f"could not be read: {error}"
