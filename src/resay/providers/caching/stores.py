"""The interface of cache stores, and the stores in memory and in Redis."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

from resay._internal.event_loops import PerLoop
from resay._internal.importing import load_optional


class StoreError(Exception):
    """A store cannot be used. `Cache` never lets it through.

    The message is logged: it may say what is wrong with the store, but must contain neither content
    nor a password.
    """


class Store(Protocol):
    """A key-value store of bytes with limited lifetime and size.

    One store serves any number of threads and event loops. It may raise any error: `Cache` treats
    a store that fails as empty.
    """

    async def get_many(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Return the unexpired entries with these keys."""
        ...

    async def set_many(self, entries: Mapping[str, bytes]) -> None:
        """Store entries, replacing those with the same keys."""
        ...

    async def aclose(self) -> None:
        """Close what was opened in the running event loop."""
        ...


_MB = 1_000_000
# Python's overhead per entry besides the answer itself: the key, two objects, a dict slot.
_OVERHEAD = 500


@dataclass(frozen=True, slots=True)
class _Entry:
    data: bytes
    expires: float

    @property
    def size(self) -> int:
        return len(self.data) + _OVERHEAD


class MemoryStore:
    """Store the most recently used answers, in one process.

    Args:
        max_entries: Maximum number of answers.
        max_mb: Maximum size of all answers, in megabytes (10^6 bytes).
        ttl_s: Lifetime of an answer, in seconds.
        clock: Monotonic clock, in seconds.
    """

    def __init__(
        self,
        *,
        max_entries: int = 10_000,
        max_mb: float = 64.0,
        ttl_s: float = 3600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_mb * _MB
        self._ttl_s = ttl_s
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._bytes = 0

    def __repr__(self) -> str:
        return f"MemoryStore(entries={len(self._entries)})"

    async def get_many(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Return the unexpired entries with these keys."""
        with self._lock:
            entries = {key: self._get(key) for key in keys}
        return {key: data for key, data in entries.items() if data is not None}

    async def set_many(self, entries: Mapping[str, bytes]) -> None:
        """Store entries, evicting the least recently used."""
        expires = self._clock() + self._ttl_s
        with self._lock:
            for key, data in entries.items():
                self._drop(key)
                self._entries[key] = entry = _Entry(data, expires)
                self._bytes += entry.size
            while len(self._entries) > self._max_entries or self._bytes > self._max_bytes:
                self._drop(next(iter(self._entries)))

    async def aclose(self) -> None:
        """Delete everything."""
        with self._lock:
            self._entries.clear()
            self._bytes = 0

    def _get(self, key: str) -> bytes | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.expires <= self._clock():
            self._drop(key)
            return None
        self._entries.move_to_end(key)
        return entry.data

    def _drop(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= entry.size


# Answers take seconds; a cache that takes as long is of no use.
_TIMEOUT_S = 1.0


class RedisStore:
    """Store answers in Redis, which several machines may share.

    Every entry expires; the server limits their total size (`maxmemory` with `maxmemory-policy
    allkeys-lru`). Each event loop has connections of its own, which are closed when it shuts down.

    Args:
        url: The server: `redis://`, `rediss://` (with TLS) or `unix://`, with user, password and
            database number if needed.
        ttl_s: Lifetime of an answer, in seconds.
        prefix: Prefix of all keys, before a colon.
    """

    def __init__(self, url: str, *, ttl_s: float = 86_400.0, prefix: str = "resay") -> None:
        self._url = url
        self._ttl_ms = max(1, round(ttl_s * 1000))
        self._prefix = prefix
        self._clients: PerLoop[Any] = PerLoop(self._connect, _disconnect)

    def __repr__(self) -> str:
        parts = urlsplit(self._url)
        return f"RedisStore({parts.hostname or parts.path!r})"

    async def get_many(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Return the entries with these keys.

        Raises:
            redis.RedisError: The server cannot be reached, or refuses.
        """
        client = await self._clients.get()
        values = await client.mget([self._key(key) for key in keys])
        return {key: data for key, data in zip(keys, values, strict=True) if data is not None}

    async def set_many(self, entries: Mapping[str, bytes]) -> None:
        """Store entries, replacing those with the same keys.

        Raises:
            redis.RedisError: The server cannot be reached, or refuses.
        """
        client = await self._clients.get()
        async with client.pipeline(transaction=False) as pipeline:
            for key, data in entries.items():
                pipeline.set(self._key(key), data, px=self._ttl_ms)
            await pipeline.execute()

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._clients.aclose()

    def _key(self, key: str) -> str:
        return f"{self._prefix}:{key}"

    def _connect(self) -> Any:
        retries = _load("redis.asyncio.retry")
        backoff = _load("redis.backoff")
        # Retry once immediately, because the server may have closed a pooled connection.
        retry = retries.Retry(backoff.NoBackoff(), 1)
        return _load("redis.asyncio").Redis.from_url(
            self._url,
            socket_timeout=_TIMEOUT_S,
            socket_connect_timeout=_TIMEOUT_S,
            retry=retry,
        )


def _load(module: str) -> Any:
    return load_optional(module, package="redis", extra="redis", purpose="the cache store 'redis'")


async def _disconnect(client: Any) -> None:
    await client.aclose()
