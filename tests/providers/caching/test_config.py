from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from resay._internal.strict import OneOf
from resay.errors import MissingDependencyError
from resay.plugins import Completion
from resay.providers.caching import (
    Cache,
    CacheConfig,
    MemoryCacheConfig,
    NoCacheConfig,
    RedisCacheConfig,
    SqliteCacheConfig,
    cache_configs,
    close_caches,
    open_cache,
)
from support.alone import needs

URL = "redis://someone:hunter2@localhost:6379/0"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    asyncio.run(close_caches())
    yield
    asyncio.run(close_caches())


AnyCache = Annotated[CacheConfig, OneOf("cache store", "store", cache_configs)]
Field = TypeAdapter(AnyCache)


class Document(BaseModel):
    cache: AnyCache


@pytest.mark.parametrize(
    ("data", "config"),
    [
        ({"store": "memory"}, MemoryCacheConfig()),
        ({"store": "memory", "max_mb": 1, "ttl_s": 5}, MemoryCacheConfig(max_mb=1.0, ttl_s=5.0)),
        ({"store": "sqlite", "path": "a.db"}, SqliteCacheConfig(path="a.db")),
        ({"store": "redis", "url": URL, "prefix": "x:y"}, RedisCacheConfig(url=URL, prefix="x:y")),
        (
            {"store": "redis", "url": "unix:///run/r.sock"},
            RedisCacheConfig(url="unix:///run/r.sock"),
        ),
        ({"store": "none"}, NoCacheConfig()),
    ],
)
def test_a_policy_can_say_it(data: dict[str, Any], config: CacheConfig) -> None:
    assert Field.validate_python(data) == config


def test_the_schema_has_every_store() -> None:
    schema = Document.model_json_schema()
    branches = schema["properties"]["cache"]["oneOf"]
    assert [b["title"] for b in branches] == ["memory", "sqlite", "redis", "none"]
    for branch in branches:
        assert all("description" in p for p in branch["properties"].values())


@pytest.mark.parametrize(
    "data",
    [
        {"store": "disk"},
        {"max_mb": 1},
        {"store": "memory", "max_mb": 0},
        {"store": "memory", "max_entries": 0},
        {"store": "memory", "ttl_s": 0},
        {"store": "memory", "path": "a.db"},
        {"store": "sqlite"},
        {"store": "sqlite", "path": ""},
        {"store": "sqlite", "path": "a.db", "max_mb": 0.5},
        {"store": "redis"},
        {"store": "redis", "url": URL, "prefix": "a b"},
        {"store": "redis", "url": URL, "prefix": ""},
        {"store": "redis", "url": URL, "prefix": "x" * 101},
        {"store": "none", "ttl_s": 1},
    ],
)
def test_nothing_else_can_be_said(data: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Field.validate_python(data)


@pytest.mark.parametrize(
    "url",
    [
        *("", "localhost:6379", "http://:hunter2@localhost", "redis://:hunter2@", "unix://"),
        *("redis://:hunter2@localhost:port", "redis://:hunter2@[localhost"),
    ],
)
def test_a_bad_address_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(ValidationError, match="must be an address") as caught:
        RedisCacheConfig(url=url)
    assert "hunter2" not in str(caught.value)


@needs("redis")
def test_a_password_is_not_shown() -> None:
    config = RedisCacheConfig(url=URL)
    assert "hunter2" not in repr(config) + str(config) + repr(open_cache(config))


def test_nothing_kept_is_no_cache() -> None:
    assert open_cache(NoCacheConfig()) is None


@needs("redis")
def test_equal_descriptions_share_one_cache(tmp_path: Path) -> None:
    path = str(tmp_path / "a.db")
    assert open_cache(MemoryCacheConfig()) is open_cache(MemoryCacheConfig())
    assert open_cache(MemoryCacheConfig()) is not open_cache(MemoryCacheConfig(max_entries=5))
    assert open_cache(SqliteCacheConfig(path=path)) is open_cache(SqliteCacheConfig(path=path))
    assert open_cache(RedisCacheConfig(url=URL)) is not open_cache(
        RedisCacheConfig(url=URL, prefix="x")
    )


def test_nothing_is_opened_before_it_is_used(tmp_path: Path) -> None:
    open_cache(SqliteCacheConfig(path=str(tmp_path / "folder" / "a.db")))
    assert not list(tmp_path.iterdir())


async def keep(cache: Cache | None, key: str) -> None:
    assert cache is not None
    await cache.put({key: Completion("words", "stop")})


async def found(cache: Cache | None, key: str) -> bool:
    assert cache is not None
    return bool(await cache.get([key]))


def test_the_settings_reach_the_store(tmp_path: Path) -> None:
    small = MemoryCacheConfig(max_entries=1)
    asyncio.run(keep(open_cache(small), "a"))
    asyncio.run(keep(open_cache(small), "b"))
    assert not asyncio.run(found(open_cache(small), "a"))
    assert asyncio.run(found(open_cache(small), "b"))
    tiny = MemoryCacheConfig(max_mb=0.0001)
    asyncio.run(keep(open_cache(tiny), "a"))
    assert not asyncio.run(found(open_cache(tiny), "a"))
    file = SqliteCacheConfig(path=str(tmp_path / "a.db"))
    asyncio.run(keep(open_cache(file), "a"))
    assert asyncio.run(found(open_cache(file), "a"))


def test_closing_forgets_what_is_in_memory() -> None:
    asyncio.run(keep(open_cache(MemoryCacheConfig()), "a"))
    assert asyncio.run(found(open_cache(MemoryCacheConfig()), "a"))
    asyncio.run(close_caches())
    assert not asyncio.run(found(open_cache(MemoryCacheConfig()), "a"))


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec

    def find_others(name: str, *args: Any) -> ModuleSpec | None:
        return None if name == "redis" else find(name, *args)

    monkeypatch.setattr("resay._internal.importing.find_spec", find_others)
    with pytest.raises(MissingDependencyError, match=r"resay\[redis\]"):
        open_cache(RedisCacheConfig(url="redis://localhost:6379/7"))


def test_what_the_stores_need_is_not_loaded_before_they_are_used() -> None:
    code = (
        "import sys\n"
        "from resay.providers.caching import *\n"
        f"RedisCacheConfig(url={URL!r})\n"
        "open_cache(SqliteCacheConfig(path='a.db'))\n"
        "open_cache(MemoryCacheConfig())\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert not set(done.stdout.split()) & {"redis", "aiosqlite"}
