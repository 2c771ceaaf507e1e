"""Cached answers, so that the same question about the same text is paid for once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resay._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from resay.providers.caching.cache import Cache as Cache
    from resay.providers.caching.config import CacheConfig as CacheConfig
    from resay.providers.caching.config import MemoryCacheConfig as MemoryCacheConfig
    from resay.providers.caching.config import NoCacheConfig as NoCacheConfig
    from resay.providers.caching.config import RedisCacheConfig as RedisCacheConfig
    from resay.providers.caching.config import SqliteCacheConfig as SqliteCacheConfig
    from resay.providers.caching.config import cache_configs as cache_configs
    from resay.providers.caching.config import require_store as require_store
    from resay.providers.caching.keys import source_of as source_of
    from resay.providers.caching.layer import Caching as Caching
    from resay.providers.caching.opening import close_caches as close_caches
    from resay.providers.caching.opening import open_cache as open_cache
    from resay.providers.caching.stores import MemoryStore as MemoryStore
    from resay.providers.caching.stores import Store as Store
    from resay.providers.caching.stores import StoreError as StoreError
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "resay.providers.caching.cache": ("Cache",),
            "resay.providers.caching.config": (
                "CacheConfig",
                "MemoryCacheConfig",
                "NoCacheConfig",
                "RedisCacheConfig",
                "SqliteCacheConfig",
                "cache_configs",
                "require_store",
            ),
            "resay.providers.caching.opening": ("close_caches", "open_cache"),
            "resay.providers.caching.keys": ("source_of",),
            "resay.providers.caching.layer": ("Caching",),
            "resay.providers.caching.stores": ("MemoryStore", "Store", "StoreError"),
        },
    )
