from __future__ import annotations

import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.providers.caching import MemoryStore
from support.clock import Clock

pytestmark = pytest.mark.anyio


async def kept(store: MemoryStore, *keys: str) -> str:
    return "".join(sorted(await store.get_many(keys)))


async def test_what_was_not_used_for_longest_goes() -> None:
    store = MemoryStore(max_entries=3)
    for key in "abc":
        await store.set_many({key: b"1"})
    await store.get_many(["a"])
    await store.set_many({"d": b"1"})
    assert await kept(store, *"abcd") == "acd"
    await store.set_many({"c": b"2"})
    await store.set_many({"e": b"1"})
    assert await store.get_many([*"abcde"]) == {"c": b"2", "d": b"1", "e": b"1"}


async def test_size_is_bounded() -> None:
    store = MemoryStore(max_mb=0.1)
    for i in range(100):
        await store.set_many({str(i): bytes(9_500)})
    assert await kept(store, "90", "99") == "9099"
    assert await kept(store, "0", "89") == ""


async def test_what_is_larger_than_everything_may_be_is_not_kept() -> None:
    store = MemoryStore(max_mb=0.1)
    await store.set_many({"a": bytes(200_000)})
    assert await kept(store, "a") == ""
    await store.set_many({"b": b"1"})
    assert await kept(store, "b") == "b"


async def test_entries_expire() -> None:
    clock = Clock()
    store = MemoryStore(ttl_s=10, clock=clock)
    await store.set_many({"a": b"1"})
    clock.now += 9.9
    await store.set_many({"b": b"1"})
    assert await kept(store, "a", "b") == "ab"
    clock.now += 0.1
    # Reading does not make it last longer.
    assert await kept(store, "a", "b") == "b"


async def test_a_new_answer_takes_the_place_of_the_old_and_its_size() -> None:
    store = MemoryStore(max_mb=0.1)
    await store.set_many({"keep": b"1"})
    for _ in range(100):
        await store.set_many({"a": bytes(9_500)})
    assert await kept(store, "keep", "a") == "akeep"


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 40_000)), max_size=40))
def test_the_bounds_hold_whatever_comes(entries: list[tuple[str, int]]) -> None:
    async def run() -> None:
        store = MemoryStore(max_entries=4, max_mb=0.1)
        for key, size in entries:
            await store.set_many({key: bytes(size)})
            stored = await store.get_many([*"abcdef"])
            assert len(stored) <= 4
            assert sum(map(len, stored.values())) <= 100_000
            # What was just kept is there.
            assert key in stored

    asyncio.run(run())


def test_threads_may_share_it() -> None:
    store = MemoryStore(max_entries=50)
    start = threading.Barrier(4, timeout=30)
    errors: list[Exception] = []

    async def use(number: int) -> None:
        for i in range(500):
            await store.set_many({f"{number}.{i}": b"1", f"all.{i}": b"2"})
            await store.get_many([f"all.{j}" for j in range(i)])

    def work(number: int) -> None:
        start.wait()
        try:
            asyncio.run(use(number))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert repr(store) == "MemoryStore(entries=50)"


async def test_closing_forgets_everything() -> None:
    store = MemoryStore()
    await store.set_many({"a": b"1"})
    await store.aclose()
    assert await store.get_many(["a"]) == {}
