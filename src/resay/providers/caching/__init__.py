"""Cached answers, so that the same question about the same text is paid for once."""

from resay.providers.caching.cache import (
    Cache,
    CacheConfig,
    Caching,
    MemoryCacheConfig,
    NoCacheConfig,
    RedisCacheConfig,
    SqliteCacheConfig,
    cache_configs,
    close_caches,
    open_cache,
    source_of,
)
from resay.providers.caching.stores import MemoryStore, Store, StoreError

__all__ = [
    "Cache",
    "CacheConfig",
    "Caching",
    "MemoryCacheConfig",
    "MemoryStore",
    "NoCacheConfig",
    "RedisCacheConfig",
    "SqliteCacheConfig",
    "Store",
    "StoreError",
    "cache_configs",
    "close_caches",
    "open_cache",
    "source_of",
]
