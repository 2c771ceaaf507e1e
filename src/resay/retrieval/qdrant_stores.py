"""Where Qdrant keeps its collections: a folder of this process's, or a server."""

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

from resay._internal.loops import PerLoop
from resay._internal.optional import load_optional
from resay.errors import ConfigurationError, ResayError

__all__ = ["Store", "store_at"]

# What waits for a search has a time limit of its own; this one is for what does not.
_PATIENCE_S = 60
_FIXES = {
    401: "check `api_key`",
    403: "check `api_key`",
    404: "check `url` and `collection`",
}


class Store(Protocol):
    """A place with collections. It may be used from any thread and event loop."""

    async def ask(self, method: str, **arguments: Any) -> Any:
        """Call a method of Qdrant's client.

        Raises:
            ConfigurationError: The place or the key cannot be used.
            ResayError: Anything else that went wrong. What Qdrant says about it is left out, since
                it may repeat what it was sent.
        """
        ...

    async def has(self, collection: str) -> bool:
        """Return whether there is a collection of this name; raises what `ask` does."""
        ...

    async def aclose(self) -> None:
        """Close what is open; it is opened again when it is asked again."""
        ...


def store_at(path: str | None, url: str | None, api_key: str | None) -> Store:
    """Return the place with collections, the same one for the same arguments.

    Args:
        path: The folder of a database without a server.
        url: The address of a server; one of the two is given.
        api_key: The server's key.

    Raises:
        ConfigurationError: Neither is given, or both, or what is given cannot be used.
    """
    if path is not None and url is None:
        return _folder(Path(path).resolve())
    if url is not None and path is None:
        return _server(url, api_key)
    raise ConfigurationError("give either `path`, a folder, or `url`, the address of a server")


# A folder can be opened once: everybody in the process shares one client, whose methods block.
class _Folder:
    """A folder, opened when it is first asked, and closed when the process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._client: Any = None
        self._pid: int | None = None

    async def ask(self, method: str, **arguments: Any) -> Any:
        # Abandoned, so that whoever waits for the lock can leave.
        return await anyio.to_thread.run_sync(
            partial(self._ask, method, **arguments), abandon_on_cancel=True
        )

    async def has(self, collection: str) -> bool:
        # Opening would make the folder.
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
        client = _client_module().QdrantClient
        try:
            opened = client(path=str(self._path), force_disable_check_same_thread=True)
        except Exception as error:
            raise ConfigurationError(
                f"the Qdrant folder {str(self._path)!r} cannot be opened ({type(error).__name__});"
                " see that it is one, and that this process may write to it"
            ) from error
        # Sooner than the interpreter would, which leaves files open behind it.
        atexit.register(self._close)
        return opened

    # Qdrant would find out by itself, and leave the file open in which it looked.
    def _is_locked(self) -> bool:
        lock = self._path / ".lock"
        if not lock.is_file():
            return False
        portalocker = _load("portalocker")
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

    # A forked process has a copy, and must not use or unlock what its parent has open.
    def _forked(self) -> bool:
        return self._client is not None and self._pid != os.getpid()

    def _in_use(self) -> ConfigurationError:
        return ConfigurationError(
            f"the Qdrant folder {str(self._path)!r} is open already, in another process or by"
            " another client, and can be open once; run a Qdrant server and give its `url`"
        )


class _Server:
    """A server, with connections for each event loop, closed when the loop shuts down."""

    def __init__(self, url: str, api_key: str | None) -> None:
        self._url = _checked(url)
        if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
            raise ConfigurationError(
                "`api_key` has characters in it that no HTTP header can hold; check where it comes"
                " from"
            )
        self._api_key = api_key
        self._clients: PerLoop[Any] = PerLoop(self._connect, _disconnect)

    async def ask(self, method: str, **arguments: Any) -> Any:
        if "qdrant_client" not in sys.modules:
            # Importing it takes longer than an event loop should stand still.
            await anyio.to_thread.run_sync(_client_module)
        client = await self._clients.get()
        try:
            return await getattr(client, method)(**arguments)
        except Exception as error:
            failure = _failure(error, method)
        # Without its cause, which knows the address and repeats what was sent.
        raise failure

    async def has(self, collection: str) -> bool:
        return await self.ask("collection_exists", collection_name=collection)

    async def aclose(self) -> None:
        await self._clients.aclose()

    def _connect(self) -> Any:
        return _client_module().AsyncQdrantClient(
            url=self._url,
            api_key=self._api_key,
            timeout=_PATIENCE_S,
            # It would ask the server for its version, in a thread, and print what it thinks of it.
            check_compatibility=False,
            # Reading certificates takes long, and plain HTTP has none.
            verify=self._url.startswith("https:"),
        )


async def _disconnect(client: Any) -> None:
    await client.close()


# Not the retrievers' own: a folder takes one client, and connections are there to be shared.
_folder = cache(_Folder)
_server = cache(_Server)


def _client_module() -> Any:
    return _load("qdrant_client")


def _load(module: str) -> Any:
    return load_optional(
        module, package="qdrant-client", extra="qdrant", purpose="the retriever 'qdrant'"
    )


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts.geturl()  # with its scheme in lower case
    except ValueError:
        pass
    # Not what was given, which may have a password in it.
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
            f"the Qdrant server cannot be reached ({type(cause).__name__}); see that it runs, and"
            " check `url`"
        )
    return ResayError(f"Qdrant failed at {method} ({type(cause).__name__})")
