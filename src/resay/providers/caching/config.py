"""What a policy can say about the cache."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, field_validator

from resay._internal.importing import require_optional
from resay._internal.strict import Strict
from resay.providers.caching.cache import Cache
from resay.providers.caching.stores import MemoryStore, Store

# A year; what is older than that speaks of another model under the same name.
_Ttl = Annotated[float, Field(gt=0, le=31_536_000)]


class MemoryCacheConfig(Strict):
    """Keep answers in this process."""

    store: Literal["memory"] = Field(default="memory", description="Keep answers in this process.")
    max_entries: int = Field(default=10_000, ge=1, description="How many answers are kept.")
    max_mb: float = Field(
        default=64.0, gt=0, description="Megabytes (10^6 bytes) they may take in all."
    )
    ttl_s: _Ttl = Field(default=3600.0, description="Seconds an answer is kept.")


class SqliteCacheConfig(Strict):
    """Keep answers in a file."""

    store: Literal["sqlite"] = Field(
        default="sqlite", description="Keep answers in a file; needs resay[sqlite]."
    )
    path: str = Field(
        min_length=1,
        description="The file, on a local disk; made where it is missing, and readable to its"
        " owner only. Several processes may share it.",
    )
    max_mb: float = Field(
        default=256.0, ge=1, description="Megabytes (10^6 bytes) the answers may take in all."
    )
    ttl_s: _Ttl = Field(default=86_400.0, description="Seconds an answer is kept.")


class RedisCacheConfig(Strict):
    """Keep answers in Redis."""

    store: Literal["redis"] = Field(
        default="redis", description="Keep answers in Redis; needs resay[redis]."
    )
    url: str = Field(
        repr=False,  # it may hold a password
        description="Where it is: redis://…, rediss://… (with TLS) or unix://….",
    )
    ttl_s: _Ttl = Field(default=86_400.0, description="Seconds an answer is kept.")
    prefix: str = Field(
        default="resay",
        pattern=r"^[\w.:-]{1,100}$",
        description="What all keys begin with, so that others can share the database.",
    )

    @field_validator("url")
    @classmethod
    def _must_be_an_address(cls, url: str) -> str:
        # Without the value, in which a password may stand.
        if not _is_address(url):
            raise ValueError("must be an address such as redis://localhost:6379/0")
        return url


class NoCacheConfig(Strict):
    """Keep nothing."""

    store: Literal["none"] = Field(default="none", description="Keep nothing.")


CacheConfig = MemoryCacheConfig | SqliteCacheConfig | RedisCacheConfig | NoCacheConfig

_lock = threading.Lock()
_caches: dict[CacheConfig, Cache] = {}


def cache_configs() -> Mapping[str, type[BaseModel]]:
    """Return what a policy's `cache` can be, by the name of the store."""
    return {
        "memory": MemoryCacheConfig,
        "sqlite": SqliteCacheConfig,
        "redis": RedisCacheConfig,
        "none": NoCacheConfig,
    }


def open_cache(config: CacheConfig) -> Cache | None:
    """Return the cache a policy describes.

    There is one for equal descriptions in a process, whoever asks, so that everybody finds what
    anybody was answered. Nothing is opened or connected to before it is used.

    Args:
        config: The description.

    Returns:
        The cache; None where nothing is to be kept.

    Raises:
        MissingDependencyError: What the store needs is not installed.
    """
    if isinstance(config, NoCacheConfig):
        return None
    with _lock:
        if config not in _caches:
            _caches[config] = Cache(_store(config))
        return _caches[config]


async def close_caches() -> None:
    """Close what the caches of this process opened in the running event loop.

    What is kept in memory is lost, what is in a file or in Redis stays there. Guards that use a
    cache go on with it, and open again what they need.
    """
    with _lock:
        caches = list(_caches.values())
    for cache in caches:
        await cache.aclose()


# Imported where they are wanted, because most want none of them.
def _store(config: MemoryCacheConfig | SqliteCacheConfig | RedisCacheConfig) -> Store:
    if isinstance(config, MemoryCacheConfig):
        return MemoryStore(max_entries=config.max_entries, max_mb=config.max_mb, ttl_s=config.ttl_s)
    if isinstance(config, SqliteCacheConfig):
        _require("aiosqlite", config.store)
        from resay.providers.caching.sqlite import SqliteStore

        return SqliteStore(config.path, ttl_s=config.ttl_s, max_mb=config.max_mb)
    _require("redis", config.store)
    from resay.providers.caching.stores import RedisStore

    return RedisStore(config.url, ttl_s=config.ttl_s, prefix=config.prefix)


def _require(package: str, store: str) -> None:
    require_optional(package, package=package, extra=store, purpose=f"the cache store {store!r}")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    if parts.scheme == "unix":
        return bool(parts.path)
    return parts.scheme in {"redis", "rediss"} and bool(parts.hostname) and port != 0
