"""Qdrant databases: a local folder or a server, shared by all retrievers of the process."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import anyio.to_thread
import httpx

from resay._internal.event_loops import PerLoop
from resay._internal.importing import load_optional
from resay.errors import ConfigurationError, ResayError

# Callers limit the time of searches themselves; this is the limit for everything else.
_TIMEOUT_S = 60
_FIXES = {
    401: "check `api_key`",
    403: "check `api_key`",
    404: "check `url` and `collection`",
}


class QdrantStore(Protocol):
    """A database with collections. It may be used from any thread and event loop."""

    async def ask(self, method: str, **arguments: Any) -> Any:
        """Call a method of Qdrant's client.

        Raises:
            ConfigurationError: The database or the key cannot be used.
            ResayError: Any other failure. Qdrant's message is left out, since it may repeat the
                request.
        """
        ...

    async def has(self, collection: str) -> bool:
        """Return whether a collection exists; raise the same errors as `ask`."""
        ...

    async def aclose(self) -> None:
        """Close the database; the next call opens it again."""
        ...


def store_at(path: str | None, url: str | None, api_key: str | None) -> QdrantStore:
    """Return the database at a path or URL, the same one for the same arguments.

    Args:
        path: The folder of a local database.
        url: The URL of a server; exactly one of the two must be given.
        api_key: The server's key.

    Raises:
        ConfigurationError: Neither or both are given, or the one given cannot be used.
    """
    if path is not None and url is None:
        return _folder(Path(path).resolve())
    if url is not None and path is None:
        return _server(url, api_key)
    raise ConfigurationError("set either `path` (a folder) or `url` (a server)")


# A folder can be opened only once, so the process shares one client, whose methods block.
class _Folder:
    """A local database, opened on first use, and closed when the process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._client: Any = None
        self._pid: int | None = None

    async def ask(self, method: str, **arguments: Any) -> Any:
        # Abandoned on cancellation, since the thread may have to wait for the lock.
        return await anyio.to_thread.run_sync(
            partial(self._ask, method, **arguments), abandon_on_cancel=True
        )

    async def has(self, collection: str) -> bool:
        # Opening would create the folder.
        if not self._path.is_dir():
            return False
        return await self.ask("collection_exists", collection_name=collection)

    async def aclose(self) -> None:
        await anyio.to_thread.run_sync(self._close)

    def _ask(self, method: str, **arguments: Any) -> Any:
        if self._forked():
            raise self._in_use()
        with self._lock:
            if self._client is None:
                self._client, self._pid = self._open(), os.getpid()
            try:
                return getattr(self._client, method)(**arguments)
            except Exception as error:
                name = type(error).__name__
        raise ResayError(f"Qdrant failed in {str(self._path)!r} at {method} ({name})")

    def _open(self) -> Any:
        if self._is_locked():
            raise self._in_use()
        client = load_client().QdrantClient
        try:
            database = client(path=str(self._path), force_disable_check_same_thread=True)
        except Exception as error:
            raise ConfigurationError(
                f"the Qdrant folder {str(self._path)!r} cannot be opened ({type(error).__name__});"
                " check that it is one, and that this process may write to it"
            ) from error
        # Earlier than by the client's finalizer, which leaves files open.
        atexit.register(self._close)
        return database

    # Qdrant checks the lock too, but leaves the lock file open if it fails.
    def _is_locked(self) -> bool:
        lock = self._path / ".lock"
        if not lock.is_file():
            return False
        portalocker = load_client("portalocker")
        with lock.open("r+b") as file:
            try:
                flags = portalocker.LockFlags
                portalocker.lock(file, flags.EXCLUSIVE | flags.NON_BLOCKING)
            except portalocker.LockException:
                return True
            portalocker.unlock(file)
        return False

    def _close(self) -> None:
        if self._forked():
            return
        with self._lock:
            client, self._client = self._client, None
        atexit.unregister(self._close)
        if client is not None:
            client.close()

    # A forked process has a copy of the client, and must not use or unlock its parent's database.
    def _forked(self) -> bool:
        return self._client is not None and self._pid != os.getpid()

    def _in_use(self) -> ConfigurationError:
        return ConfigurationError(
            f"the Qdrant folder {str(self._path)!r} is already open, in another process or by"
            " another client, and can be opened only once; run a Qdrant server and pass its `url`"
        )


class _Server:
    """A server, with a client per event loop, closed when the loop shuts down."""

    def __init__(self, url: str, api_key: str | None) -> None:
        self._url = _validated(url)
        if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
            raise ConfigurationError(
                "`api_key` contains characters that are not allowed in an HTTP header; check where"
                " it comes from"
            )
        self._api_key = api_key
        self._clients: PerLoop[Any] = PerLoop(self._connect, _disconnect)

    async def ask(self, method: str, **arguments: Any) -> Any:
        if "qdrant_client" not in sys.modules:
            # In a thread, because the import would block the event loop for too long.
            await anyio.to_thread.run_sync(load_client)
        client = await self._clients.get()
        try:
            return await getattr(client, method)(**arguments)
        except Exception as error:
            failure = _failure(error, method)
        # Without its cause, which contains the address and the request.
        raise failure

    async def has(self, collection: str) -> bool:
        return await self.ask("collection_exists", collection_name=collection)

    async def aclose(self) -> None:
        await self._clients.aclose()

    def _connect(self) -> Any:
        return load_client().AsyncQdrantClient(
            url=self._url,
            api_key=self._api_key,
            timeout=_TIMEOUT_S,
            # The check would request the server's version in a thread, and print warnings.
            check_compatibility=False,
            # Loading certificates is slow, and plain HTTP needs none.
            verify=self._url.startswith("https:"),
        )


async def _disconnect(client: Any) -> None:
    await client.close()


# Shared by all retrievers: a folder permits only one client, and connections can be reused.
_folder = cache(_Folder)
_server = cache(_Server)


def load_client(module: str = "qdrant_client") -> Any:
    """Import Qdrant's client, or another module that it comes with.

    Raises:
        MissingDependencyError: It is not installed.
    """
    return load_optional(
        module, package="qdrant-client", extra="qdrant", purpose="the retriever 'qdrant'"
    )


def _validated(url: str) -> str:
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts.geturl()  # with its scheme in lower case
    except ValueError:
        pass
    # Without the given URL, which may contain a password.
    raise ConfigurationError(
        "`url` is not the address of a server; give one like 'http://localhost:6333'"
    )


def _failure(error: Exception, method: str) -> ResayError:
    if isinstance(error, ResayError):
        return error
    status = getattr(error, "status_code", None)
    if status in _FIXES:
        return ConfigurationError(
            f"the Qdrant server answered {method} with HTTP {status}; {_FIXES[status]}"
        )
    if status is not None:
        return ResayError(
            f"the Qdrant server answered {method} with HTTP {status}; see the server's log"
        )
    cause = getattr(error, "source", error)
    if isinstance(cause, httpx.HTTPError):
        return ResayError(
            f"the Qdrant server cannot be reached ({type(cause).__name__}); check that it runs, and"
            " check `url`"
        )
    return ResayError(f"Qdrant failed at {method} ({type(cause).__name__})")
