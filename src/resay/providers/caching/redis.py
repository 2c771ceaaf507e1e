"""Answers kept in Redis, or whatever speaks its protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from resay._internal.loops import PerLoop
from resay._internal.optional import load_optional

__all__ = ["RedisStore"]

# An answer costs seconds; a cache that takes as long is of no use.
_PATIENCE_S = 1.0


class RedisStore:
    """Keeps answers in Redis, which several machines may share.

    Every entry expires; how much there may be is for the server to say (`maxmemory` with
    `maxmemory-policy allkeys-lru`). Each event loop has connections of its own, which are closed
    when it shuts down.

    Args:
        url: Where it is: `redis://`, `rediss://` (with TLS) or `unix://`, with user, password and
            the number of the database where there are any.
        ttl_s: Seconds an answer is kept.
        prefix: What all keys begin with, before a colon.
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
        """Return what is there under these keys.

        Raises:
            redis.RedisError: The server cannot be reached, or says no.
        """
        client = await self._clients.get()
        values = await client.mget([self._key(key) for key in keys])
        return {key: data for key, data in zip(keys, values, strict=True) if data is not None}

    async def set_many(self, entries: Mapping[str, bytes]) -> None:
        """Keep these, in place of what is there under their keys.

        Raises:
            redis.RedisError: The server cannot be reached, or says no.
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
        # Once more at once, because a connection from the pool may have been closed by the server.
        retry = retries.Retry(backoff.NoBackoff(), 1)
        return _load("redis.asyncio").Redis.from_url(
            self._url,
            socket_timeout=_PATIENCE_S,
            socket_connect_timeout=_PATIENCE_S,
            retry=retry,
        )


def _load(module: str) -> Any:
    return load_optional(module, package="redis", extra="redis", purpose="the cache store 'redis'")


async def _disconnect(client: Any) -> None:
    await client.aclose()
