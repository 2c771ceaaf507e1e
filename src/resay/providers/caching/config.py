"""The `cache` section of a policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, field_validator

from resay._internal.importing import require_optional
from resay._internal.strict import Strict

# A year; older answers come from another model under the same name.
_Ttl = Annotated[float, Field(gt=0, le=31_536_000)]


class MemoryCacheConfig(Strict):
    """Keep answers in this process."""

    store: Literal["memory"] = Field(default="memory", description="Cache answers in this process.")
    max_entries: int = Field(
        default=10_000, ge=1, description="The maximum number of answers to keep."
    )
    max_mb: float = Field(default=64.0, gt=0, description="Megabytes (10^6 bytes) for all answers.")
    ttl_s: _Ttl = Field(default=3600.0, description="Seconds to keep an answer.")


class SqliteCacheConfig(Strict):
    """Keep answers in a file."""

    store: Literal["sqlite"] = Field(default="sqlite", description="Cache answers in a file.")
    path: str = Field(
        min_length=1,
        description="The file, on a local disk; created if missing, readable only by its owner."
        " Several processes may share it.",
    )
    max_mb: float = Field(
        default=256.0, ge=1, description="Megabytes (10^6 bytes) for all answers."
    )
    ttl_s: _Ttl = Field(default=86_400.0, description="Seconds to keep an answer.")


class RedisAddress(Strict):
    """The address of a Redis server, and the prefix of the keys."""

    url: str = Field(
        repr=False,  # it may hold a password
        description="The server: redis://…, rediss://… (with TLS) or unix://….",
    )
    prefix: str = Field(
        default="resay",
        # Not `{1,100}`: such a pattern takes tens of milliseconds to compile.
        pattern=r"^[\w.:-]+$",
        max_length=100,
        description="A prefix for all keys, so that other applications can use the same database.",
    )

    @field_validator("url")
    @classmethod
    def _require_address(cls, url: str) -> str:
        try:
            parts = urlsplit(url)
            has_server = bool(parts.path) if parts.scheme == "unix" else bool(parts.hostname)
            is_valid = parts.scheme in {"redis", "rediss", "unix"} and parts.port != 0
        except ValueError:
            has_server = is_valid = False
        if not (has_server and is_valid):
            # Without the value, which may contain a password.
            raise ValueError("must be an address such as redis://localhost:6379/0")
        return url


class RedisCacheConfig(RedisAddress):
    """Keep answers in Redis."""

    store: Literal["redis"] = Field(
        default="redis", description="Cache answers in Redis; needs resay[redis]."
    )
    ttl_s: _Ttl = Field(default=86_400.0, description="Seconds to keep an answer.")


class NoCacheConfig(Strict):
    """Keep nothing."""

    store: Literal["none"] = Field(default="none", description="Do not cache.")


CacheConfig = MemoryCacheConfig | SqliteCacheConfig | RedisCacheConfig | NoCacheConfig


def cache_configs() -> Mapping[str, type[BaseModel]]:
    """Return the classes of a policy's `cache`, by the name of the store."""
    return {
        "memory": MemoryCacheConfig,
        "sqlite": SqliteCacheConfig,
        "redis": RedisCacheConfig,
        "none": NoCacheConfig,
    }


def require_store(config: CacheConfig) -> None:
    """Check that what a store needs is installed.

    Raises:
        MissingDependencyError: It is not.
    """
    if config.store == "redis":
        require_optional("redis", package="redis", extra="redis", purpose="the cache store 'redis'")
