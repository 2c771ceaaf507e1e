"""Cached answers, so that the same question about the same text is paid for once."""

from resay.providers.caching.cache import Cache
from resay.providers.caching.config import (
    CacheConfig,
    MemoryCacheConfig,
    NoCacheConfig,
    RedisCacheConfig,
    SqliteCacheConfig,
    cache_configs,
    close_caches,
    open_cache,
)
from resay.providers.caching.keys import source_of
from resay.providers.caching.layer import Caching
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
