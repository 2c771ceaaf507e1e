from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import anyio
import pytest

from resay.plugins import Completion
from resay.providers.caching import Cache, MemoryStore, StoreError
from support.clock import Clock

pytestmark = pytest.mark.anyio
ANSWER = Completion("words", "stop")


class Broken(MemoryStore):
    """Fails while it is told to, and counts how often it is asked."""

    def __init__(self, error: Exception | None) -> None:
        super().__init__()
        self.error = error
        self.asked = 0

    async def get_many(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        self._fail()
        return await super().get_many(keys)

    async def set_many(self, entries: Mapping[str, bytes]) -> None:
        self._fail()
        await super().set_many(entries)

    def _fail(self) -> None:
        self.asked += 1
        if self.error:
            raise self.error


@pytest.mark.parametrize("error", [StoreError("locked"), OSError("gone"), RuntimeError("what?")])
async def test_a_store_that_fails_is_a_miss_and_then_left_alone(error: Exception) -> None:
    clock, store = Clock(), Broken(error)
    cache = Cache(store, clock=clock)
    assert await cache.get(["a"]) == {}
    await cache.put({"a": ANSWER})
    assert await cache.get(["a"]) == {}
    assert store.asked == 1
    clock.now += 31
    store.error = None
    await cache.put({"a": ANSWER})
    assert await cache.get(["a"]) == {"a": ANSWER}


async def test_there_is_one_warning_without_what_the_error_says(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    cache = Cache(Broken(ValueError("redis://user:password@host")), clock=clock)
    with caplog.at_level(logging.INFO, "resay"):
        for _ in range(3):
            await cache.get(["a"])
            await cache.put({"a": ANSWER})
            clock.now += 31
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.name.startswith("resay.")
    assert record.getMessage() == (
        "cannot use the cache MemoryStore(entries=0) (ValueError); all answers are requested anew"
    )


async def test_a_stores_own_error_says_what_is_wrong(caplog: pytest.LogCaptureFixture) -> None:
    await Cache(Broken(StoreError("database is locked"))).get(["a"])
    assert "database is locked" in caplog.text


async def test_a_store_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hanging(MemoryStore):
        async def get_many(self, keys: Sequence[str]) -> Mapping[str, bytes]:
            await anyio.sleep_forever()
            raise AssertionError

    monkeypatch.setattr("resay.providers.caching.cache._TIMEOUT_S", 0.01)
    assert await Cache(Hanging()).get(["a"]) == {}


async def test_cancelling_is_not_taken_for_a_failure() -> None:
    reached = anyio.Event()

    class Waiting(MemoryStore):
        async def get_many(self, keys: Sequence[str]) -> Mapping[str, bytes]:
            reached.set()
            await anyio.sleep_forever()
            raise AssertionError

    cache = Cache(Waiting())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(cache.get, ["a"])
        await reached.wait()
        tasks.cancel_scope.cancel()
    cache.store = MemoryStore()
    await cache.put({"a": ANSWER})
    assert await cache.get(["a"]) == {"a": ANSWER}


async def test_what_cannot_be_read_is_a_miss() -> None:
    store = MemoryStore()
    cache = Cache(store)
    await cache.put({"a": ANSWER})
    await store.set_many({"b": b"{", "c": b'{"format": 99}'})
    assert await cache.get(["a", "b", "c"]) == {"a": ANSWER}
