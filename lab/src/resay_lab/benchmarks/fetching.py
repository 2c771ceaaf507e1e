"""Downloads the published data sets from their homes, the hosts that `published` names."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    wait_random_exponential,
)

from resay import __version__
from resay.adapters.connections import naming_variables
from resay.errors import ConfigurationError
from resay_lab.benchmarks.published import (
    DATA_SETS,
    LIMIT_BYTES,
    DataSet,
    Download,
    FetchError,
    Source,
)

HOMES: Mapping[str, str] = MappingProxyType(
    {
        "huggingface": "https://huggingface.co",
        "github": "https://raw.githubusercontent.com",
        "google-drive": "https://drive.google.com",
    }
)


# h11 quotes a header value that it rejects, so an invalid token would leak into the error message.
_TOKEN = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Homes:
    """The homes as configured for this run.

    Attributes:
        addresses: The base URL of each home, without a trailing slash.
        endpoint: The Hugging Face endpoint, the only address that receives the token.
        token: The user's Hugging Face token, if any.
    """

    addresses: Mapping[str, str]
    endpoint: str
    token: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, overrides: Iterable[str], environ: Mapping[str, str]) -> Homes:
        """Read the addresses of the homes from the user's settings.

        Args:
            overrides: `NAME=URL` each; they take precedence over the environment.
            environ: `HF_ENDPOINT` replaces the address of `huggingface`; `HF_TOKEN` is sent there.

        Returns:
            All homes.

        Raises:
            ConfigurationError: A name is unknown, or an address or the token is malformed.
        """
        default = HOMES["huggingface"]
        endpoint = _address("HF_ENDPOINT", environ.get("HF_ENDPOINT") or default)
        addresses = {**HOMES, "huggingface": endpoint, **dict(map(_override, overrides))}
        return cls(
            addresses=addresses, endpoint=endpoint, token=_token(environ.get("HF_TOKEN", ""))
        )

    def files(self, source: Source) -> tuple[str, ...]:
        """Return the URLs of a source's files."""
        return tuple(self.addresses[source.home] + path for path in source.paths)

    def headers(self, address: str) -> dict[str, str]:
        """Return the extra headers for a request to an address."""
        if self.token is None or _origin(address) != _origin(self.endpoint):
            return {}
        return {"Authorization": f"Bearer {self.token}"}


def _override(text: str) -> tuple[str, str]:
    name, equals, address = text.partition("=")
    if not equals or name not in HOMES:
        # The text after the name may contain a password.
        raise ConfigurationError(
            f"{name!r} is not a home; pass NAME=URL with one of {', '.join(HOMES)}"
        )
    return name, _address(name, address)


def _address(name: str, text: str) -> str:
    try:
        url = httpx.URL(text.strip())
    except httpx.InvalidURL as error:
        raise ConfigurationError(f"{name} is not an address: {error}") from error
    if url.userinfo:
        raise ConfigurationError(f"{name} holds a user name or password; leave that out")
    if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment:
        raise ConfigurationError(
            f"{name} is {text!r}; pass an address like {HOMES['huggingface']!r}"
        )
    return str(url).rstrip("/")


def _token(text: str) -> str | None:
    token = text.strip()
    if token and not _TOKEN.fullmatch(token):
        raise ConfigurationError("HF_TOKEN has characters no token has; set it again, or unset it")
    return token or None


def _origin(address: str) -> tuple[str, str, int | None]:
    url = httpx.URL(address)
    return url.scheme, url.host, url.port


OnBytes = Callable[[int, int | None], object]
"""Called with the number of bytes received, and the total if the server announces it."""

_ATTEMPTS = 4
_REDIRECTS = 5
_LONGEST_WAIT_S = 60.0


def client() -> httpx.Client:
    """Return a client whose timeouts tolerate a slow connection."""
    with naming_variables():
        return httpx.Client(
            timeout=httpx.Timeout(30.0, connect=10.0),
            headers={"User-Agent": f"resay/{__version__}"},
        )


class Downloader:
    """Downloads whole files and retries after interrupted transfers and busy responses.

    Waits as long as `Retry-After` says, at most 60 s; otherwise a random time growing from 0.5 s.

    Args:
        client: Sends the requests.
        homes: Decides which addresses receive the token.
        sleep: Waits for a number of seconds.
    """

    def __init__(
        self, client: httpx.Client, homes: Homes, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._client = client
        self._homes = homes
        self._sleep = sleep

    def get(
        self, address: str, on_bytes: OnBytes = lambda _, __: None, *, max_bytes: int = LIMIT_BYTES
    ) -> bytes:
        """Download a file.

        Args:
            address: Its URL.
            on_bytes: Called with the progress.
            max_bytes: The maximum size in bytes.

        Returns:
            The file's content.

        Raises:
            FetchError: The file is missing, too large, or cannot be downloaded completely.
        """
        attempts = Retrying(
            stop=stop_after_attempt(_ATTEMPTS),
            retry=retry_if_exception(_may_help),
            wait=_wait,
            sleep=self._sleep,
            reraise=True,
        )
        try:
            return attempts(self._download, address, on_bytes, max_bytes)
        except httpx.HTTPError as error:
            raise FetchError(address, _reason(error)) from error

    def _download(self, address: str, on_bytes: OnBytes, max_bytes: int) -> bytes:
        response = self._open(address)
        try:
            if response.status_code != HTTPStatus.OK:
                raise httpx.HTTPStatusError("no file", request=response.request, response=response)
            return _body(response, address, on_bytes, max_bytes)
        finally:
            response.close()

    def _open(self, address: str) -> httpx.Response:
        headers = self._homes.headers(address)
        request = self._client.build_request("GET", address, headers=headers)
        for _ in range(_REDIRECTS + 1):
            response = self._client.send(request, stream=True, follow_redirects=False)
            # httpx drops the Authorization header when redirected to another host.
            following = response.next_request
            if following is None:
                return response
            response.close()
            if request.url.scheme == "https" and following.url.scheme != "https":
                raise FetchError(address, "redirects to an address that is not encrypted")
            request = following
        raise FetchError(address, f"redirects more than {_REDIRECTS} times")


def _body(response: httpx.Response, address: str, on_bytes: OnBytes, max_bytes: int) -> bytes:
    length = response.headers.get("content-length", "")
    expected = int(length) if length.isdecimal() else None
    if expected is not None and expected > max_bytes:
        raise _too_large(address, max_bytes)
    on_bytes(0, expected)
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > max_bytes:
            raise _too_large(address, max_bytes)
        on_bytes(response.num_bytes_downloaded, expected)
    return bytes(body)


def _too_large(address: str, max_bytes: int) -> FetchError:
    return FetchError(address, f"larger than {max_bytes // 2**20} MiB, so not the data set")


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
        seconds = _seconds(error.response.headers.get("retry-after", ""))
        if seconds is not None:
            return min(seconds, _LONGEST_WAIT_S)
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


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write JSON Lines to a temporary file next to the target, then replace the target atomically.

    Args:
        path: The target file.
        rows: One line each.

    Raises:
        OSError: The file cannot be written. An existing one stays as it was.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def choose(names: Iterable[str]) -> tuple[DataSet, ...]:
    """Find data sets by name, each once; without names, all that are not gated.

    Raises:
        ConfigurationError: A name is unknown.
    """
    by_name = {dataset.name: dataset for dataset in DATA_SETS}
    chosen: dict[str, DataSet] = {}
    for name in names:
        if name not in by_name:
            choices = ", ".join(by_name)
            raise ConfigurationError(f"unknown data set {name!r}; choose from {choices}")
        chosen[name] = by_name[name]
    if not chosen:
        return tuple(dataset for dataset in DATA_SETS if not dataset.gated)
    return tuple(chosen.values())


def fetch(
    dataset: DataSet,
    folder: Path,
    homes: Homes,
    downloader: Downloader,
    *,
    force: bool = False,
    on_bytes: OnBytes = lambda _, __: None,
) -> list[str]:
    """Fetch a data set into a folder, writing nothing unless all of it is as published.

    Args:
        dataset: The data set.
        folder: The target folder.
        homes: The addresses to download from.
        downloader: Downloads the files.
        force: Replace existing files.
        on_bytes: Called with the progress of each download.

    Returns:
        The outcome for each file, in lines for the user.

    Raises:
        FetchError: A download failed, or is not as published.
        OSError: A file cannot be written.
    """
    missing: list[str] = []
    lines: list[str] = []
    for name in dataset.files:
        if force or not (folder / name).exists():
            missing.append(name)
        else:
            lines.append(f"{name}: kept; --force fetches it again")
    if not missing:
        return lines
    addresses = homes.files(dataset.source)
    downloads: list[Download] = []
    for address in addresses:
        content = downloader.get(address, on_bytes, max_bytes=dataset.source.limit_bytes)
        downloads.append(Download(address, content))
    files = dataset.read(downloads)
    origin = " and ".join(addresses)
    for name, published in dataset.files.items():
        if len(files[name]) != published:
            raise FetchError(
                origin, f"{name} would have {len(files[name])} rows; published are {published}"
            )
    for name in missing:
        write_rows(folder / name, files[name])
        rows = dataset.files[name]
        lines.append(f"{name}: {rows} rows from {origin}; licence: {dataset.licence}")
    return lines


def run(datasets: Iterable[DataSet], folder: Path, homes: Homes, *, force: bool) -> bool:
    """Fetch data sets; a failure of one does not prevent the others from being fetched.

    Args:
        datasets: The data sets.
        folder: The target folder.
        homes: The addresses to download from.
        force: Replace existing files.

    Returns:
        Whether all of them are in the folder now.
    """
    with client() as connection:
        downloader = Downloader(connection, homes)
        succeeded = [
            _fetch_and_report(dataset, folder, homes, downloader, force=force)
            for dataset in datasets
        ]
    return all(succeeded)


def _fetch_and_report(
    dataset: DataSet, folder: Path, homes: Homes, downloader: Downloader, *, force: bool
) -> bool:
    source = dataset.source
    try:
        with _bar() as bar:
            task = bar.add_task(dataset.name, total=None)
            lines = fetch(
                dataset,
                folder,
                homes,
                downloader,
                force=force,
                on_bytes=lambda done, total: bar.update(task, completed=done, total=total),
            )
    except FetchError as error:
        conditions = "; agree to its conditions there, and set HF_TOKEN" if dataset.gated else ""
        _fail(
            f"{dataset.name}: {error}; check the network and {source.page}{conditions},"
            f" or name a mirror with --home {source.home}=URL"
        )
        return False
    except OSError as error:
        _fail(f"{dataset.name}: cannot write to {str(folder)!r}: {error.strerror}")
        return False
    for line in lines:
        typer.echo(line)
    return True


def _bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )


def _fail(message: str) -> None:
    typer.secho(message, fg="red", err=True)
