"""The caches of this process, as policies describe them."""

from __future__ import annotations

import threading

from resay.providers.caching.cache import Cache
from resay.providers.caching.config import (
    CacheConfig,
    MemoryCacheConfig,
    NoCacheConfig,
    RedisCacheConfig,
    SqliteCacheConfig,
    require_store,
)
from resay.providers.caching.stores import MemoryStore, RedisStore, Store

_lock = threading.Lock()
_caches: dict[CacheConfig, Cache] = {}


def open_cache(config: CacheConfig) -> Cache | None:
    """Return the cache that a policy describes.

    There is one per process for equal descriptions, so that all callers share their answers.
    Nothing is opened or connected to before it is used.

    Args:
        config: The description.

    Returns:
        The cache; None if nothing is to be cached.

    Raises:
        MissingDependencyError: A package that the store needs is not installed.
    """
    if isinstance(config, NoCacheConfig):
        return None
    with _lock:
        if config not in _caches:
            _caches[config] = Cache(_store(config))
        return _caches[config]


async def close_caches() -> None:
    """Close what the caches of this process opened in the running event loop.

    Answers in memory are lost, those in a file or in Redis are retained. Guards that use a cache
    continue to work, and reopen what they need.
    """
    with _lock:
        caches = list(_caches.values())
    for cache in caches:
        await cache.aclose()


def _store(config: MemoryCacheConfig | SqliteCacheConfig | RedisCacheConfig) -> Store:
    if isinstance(config, MemoryCacheConfig):
        return MemoryStore(max_entries=config.max_entries, max_mb=config.max_mb, ttl_s=config.ttl_s)
    if isinstance(config, SqliteCacheConfig):
        # Imported on demand: some Pythons lack SQLite.
        from resay.providers.caching.sqlite import SqliteStore

        return SqliteStore(config.path, ttl_s=config.ttl_s, max_mb=config.max_mb, deferred=True)
    require_store(config)
    return RedisStore(config.url, ttl_s=config.ttl_s, prefix=config.prefix)
