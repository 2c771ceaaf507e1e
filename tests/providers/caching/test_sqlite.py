from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from resay.plugins import Completion
from resay.providers.caching import Cache, StoreError
from resay.providers.caching.sqlite import SqliteStore
from support.clock import Clock
from support.writers import run_two_writers

pytestmark = pytest.mark.anyio
ANSWER = Completion("words", "stop")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers.db"


async def test_what_is_kept_is_found_by_another_process_life(path: Path) -> None:
    await SqliteStore(path).set_many({"a": b"1", "b": b"\x00\xff"})
    store = SqliteStore(path)
    assert await store.get_many(["a", "b", "c"]) == {"a": b"1", "b": b"\x00\xff"}
    await store.set_many({"a": b"2"})
    assert await store.get_many(["a"]) == {"a": b"2"}
    assert repr(store) == f"SqliteStore({str(path)!r})"


async def test_the_file_is_its_owners_only(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "answers.db"
    store = SqliteStore(path)
    await store.set_many({"a": b"1"})
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


async def test_a_home_folder_may_be_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    await SqliteStore("~/answers.db").set_many({"a": b"1"})
    assert (tmp_path / "answers.db").exists()


async def test_entries_expire_and_go(path: Path) -> None:
    clock = Clock()
    store = SqliteStore(path, ttl_s=10, clock=clock)
    await store.set_many({"a": b"old and secret" * 2000})
    clock.now += 9
    await store.set_many({"b": b"1"})
    assert set(await store.get_many(["a", "b"])) == {"a", "b"}
    clock.now += 1
    assert set(await store.get_many(["a", "b"])) == {"b"}
    await store.set_many({"c": b"1"})
    # Gone from the file as well, not only from the answers.
    assert rows(path) == {"b", "c"}
    assert b"old and secret" not in await anyio.Path(path).read_bytes()


def rows(path: Path) -> set[str]:
    connection = sqlite3.connect(path)
    try:
        return {key for (key,) in connection.execute("SELECT key FROM resay_answers")}
    finally:
        connection.close()


async def test_the_oldest_go_where_it_grows_too_large(path: Path) -> None:
    clock = Clock()
    store = SqliteStore(path, max_mb=1, clock=clock)
    for i in range(60):
        clock.now += 1
        await store.set_many({f"{i:02}": bytes([i]) * 50_000})
        assert f"{i:02}" in await store.get_many([f"{i:02}"])
    left = sorted(rows(path))
    assert (await anyio.Path(path).stat()).st_size < 1_200_000
    assert 10 < len(left) < 20
    assert left == [f"{i:02}" for i in range(60 - len(left), 60)]


async def test_what_is_larger_than_the_file_may_be_is_not_kept(path: Path) -> None:
    store = SqliteStore(path, max_mb=1)
    await store.set_many({"a": bytes(2_000_000)})
    assert await store.get_many(["a"]) == {}
    await store.set_many({"b": b"1"})
    assert await store.get_many(["b"]) == {"b": b"1"}


async def test_many_at_once_share_connections_that_are_then_closed(path: Path) -> None:
    store = SqliteStore(path)
    before = threading.active_count()
    most = 0

    async def use(number: int) -> None:
        nonlocal most
        await store.set_many({str(number): b"1"})
        most = max(most, threading.active_count() - before)
        assert await store.get_many([str(number)])

    async with anyio.create_task_group() as tasks:
        for number in range(40):
            tasks.start_soon(use, number)
    # One reads and one writes; whether at the same moment is up to the machine.
    assert most <= 2
    assert len(await store.get_many([str(i) for i in range(40)])) == 40
    await store.aclose()
    # The last to close a file in this mode tidies up; an open connection would have left it.
    assert not path.with_name("answers.db-wal").exists()


@pytest.mark.parametrize("content", [b"this is no database" * 100, b"SQLite format 3\x00" * 100])
def test_a_file_of_another_kind_is_left_alone(
    path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_bytes(content)
    assert asyncio.run(kept_and_found(Cache(SqliteStore(path)))) == {}
    (record,) = [r for r in caplog.records if r.name.startswith("resay")]
    assert record.levelno == logging.WARNING
    assert str(path) in record.getMessage()
    assert path.read_bytes() == content


def test_damaged_pages_are_a_miss(path: Path) -> None:
    store = SqliteStore(path)
    asyncio.run(store.set_many({str(i): bytes(3000) for i in range(50)}))
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    assert asyncio.run(kept_and_found(Cache(store))) == {}
    with pytest.raises(StoreError):
        asyncio.run(store.get_many(["1"]))


async def kept_and_found(cache: Cache) -> dict[str, Completion]:
    await cache.put({"a": ANSWER})
    return await cache.get(["a"])


@pytest.mark.parametrize("name", ["", "file/answers.db"])
async def test_a_place_where_no_file_can_be_is_a_miss(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("in the way")
    store = SqliteStore(tmp_path / name)
    with pytest.raises(StoreError):
        await store.set_many({"a": b"1"})
    assert await kept_and_found(Cache(store)) == {}


async def test_a_locked_file_is_waited_for_and_then_given_up(path: Path) -> None:
    store = SqliteStore(path)
    await store.set_many({"a": b"1"})
    other = sqlite3.connect(path, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked"):
            await store.set_many({"b": b"1"})
        # Who writes does not keep others from reading.
        assert await store.get_many(["a", "b"]) == {"a": b"1"}
        other.execute("ROLLBACK")
    finally:
        other.close()
    await store.set_many({"b": b"1"})
    assert set(await store.get_many(["a", "b"])) == {"a", "b"}


async def test_a_write_that_fails_leaves_the_others_alone(path: Path) -> None:
    store = SqliteStore(path)
    failed: list[Exception] = []

    async def fail() -> None:
        try:
            await store.set_many({"good": b"1", "bad": object()})  # type: ignore[dict-item] - the point
        except StoreError as error:
            failed.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(fail)
        # They wait for the same connection.
        tasks.start_soon(store.set_many, {"a": b"1"})
        tasks.start_soon(store.set_many, {"b": b"1"})
    assert len(failed) == 1
    assert rows(path) == {"a", "b"}


async def test_who_writes_keeps_nobody_from_reading(path: Path) -> None:
    await SqliteStore(path).set_many({"a": b"1"})
    connection = sqlite3.connect(path)
    try:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    finally:
        connection.close()


async def test_cancelling_leaves_no_transaction_and_no_connection_open(path: Path) -> None:
    store = SqliteStore(path)
    for _ in range(20):
        async with anyio.create_task_group() as tasks:
            for i in range(5):
                tasks.start_soon(store.set_many, {f"{i}": b"1"})
                tasks.start_soon(store.get_many, ["a"])
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
    await store.set_many({"last": b"1"})
    assert await store.get_many(["last"]) == {"last": b"1"}
    # What was not closed says so here, and warnings are errors.
    gc.collect()


def test_several_loops_in_threads_may_share_it(path: Path) -> None:
    store = SqliteStore(path)
    start = threading.Barrier(3, timeout=30)
    errors: list[BaseException] = []

    async def use(number: int) -> None:
        for i in range(20):
            await store.set_many({f"{number}.{i}": b"1"})
            assert await store.get_many([f"{number}.{i}"])

    def work(number: int) -> None:
        start.wait()
        try:
            asyncio.run(use(number))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(rows(path)) == 60


_WRITER = """
import asyncio, sys
from resay.providers.caching.sqlite import SqliteStore

async def main(path, name):
    store = SqliteStore(path)
    print("ready", flush=True)
    sys.stdin.readline()
    for i in range(50):
        await store.set_many({f"{name}.{i}": name.encode(), f"both.{i}": name.encode()})

asyncio.run(main(*sys.argv[1:]))
"""


def test_two_processes_may_share_it(path: Path) -> None:
    run_two_writers(_WRITER, str(path))
    keys = [f"{name}.{i}" for name in ("one", "two", "both") for i in range(50)]
    assert len(asyncio.run(SqliteStore(path).get_many(keys))) == 150


async def test_what_is_to_be_written_is_found_at_once(path: Path) -> None:
    store = SqliteStore(path, deferred=True)
    for i in range(200):
        await store.set_many({str(i): b"1", "last": str(i).encode()})
        assert await store.get_many([str(i), "last"]) == {str(i): b"1", "last": str(i).encode()}
    await store.aclose()
    assert rows(path) == {"last", *map(str, range(200))}
    assert await SqliteStore(path).get_many(["last"]) == {"last": b"199"}


async def test_what_is_to_be_written_expires_too(path: Path) -> None:
    clock = Clock()
    store = SqliteStore(path, ttl_s=10, clock=clock, deferred=True)
    with held(path):
        await store.set_many({"a": b"1"})
        assert await store.get_many(["a"]) == {"a": b"1"}
        clock.now += 10
        assert await store.get_many(["a"]) == {}


@contextmanager
def held(path: Path) -> Generator[None]:
    """Keep everybody from writing."""
    other = sqlite3.connect(path, isolation_level=None)
    try:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("CREATE TABLE IF NOT EXISTS mine (x)")
        other.execute("BEGIN IMMEDIATE")
        yield
    finally:
        other.close()


async def test_what_cannot_be_written_later_is_told_once_and_is_a_miss(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = SqliteStore(path, deferred=True)
    cache = Cache(store)
    await store.get_many(["a"])
    with held(path):
        await cache.put({"a": ANSWER})
        assert set(await cache.get(["a"])) == {"a"}
        await store.aclose()
    assert await cache.get(["a"]) == {}
    assert "locked" in caplog.text
    # The cache rests now, and the store is fit for use.
    await store.set_many({"b": b"1"})
    await store.aclose()
    assert rows(path) == {"b"}


_ENDING = """
import asyncio, json, os, sys
from resay._internal.event_loops import run_sync
from resay.providers.caching.sqlite import SqliteStore

async def keep():
    for i in range(300):
        await store.set_many({str(i): b"1"})

codes = []
for path, ending in json.loads(sys.argv[1]):
    child = os.fork()
    if child == 0:
        store = SqliteStore(path, deferred=True)
        exec(ending)
        break
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
else:
    print(codes)
"""


def ended(*endings: str, folder: Path) -> list[tuple[int, Path]]:
    """Run each in a process of its own, which must say nothing; return its code and its file."""
    paths = [folder / str(i) / "answers.db" for i in range(len(endings))]
    given = json.dumps([(str(path), ending) for path, ending in zip(paths, endings, strict=True)])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _ENDING, given],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return list(zip(json.loads(done.stdout), paths, strict=True))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_process_that_ends_loses_nothing(tmp_path: Path) -> None:
    endings = (
        "run_sync(keep)",
        "asyncio.run(keep())",
        "run_sync(keep); asyncio.run(keep())",
        "run_sync(keep); raise SystemExit(0)",
        "store = SqliteStore(path); run_sync(keep); assert run_sync(store.get_many, ['7'])",
    )
    for (code, path), ending in zip(ended(*endings, folder=tmp_path), endings, strict=True):
        assert code == 0, ending
        assert rows(path) == set(map(str, range(300))), ending
        assert not path.with_name("answers.db-wal").exists(), ending


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_processes_that_are_killed_or_forked_leave_a_file_that_is_whole(tmp_path: Path) -> None:
    forked = (
        "asyncio.run(store.set_many({'parent': b'1'}))\n"
        "child = os.fork()\n"
        "asyncio.run(store.set_many({'child' if child == 0 else 'after': b'1'}))\n"
        "if child: sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    killed, split = ended("run_sync(keep); os._exit(3)", forked, folder=tmp_path)
    assert (killed[0], split[0]) == (3, 0)
    left = asyncio.run(SqliteStore(killed[1]).get_many(list(map(str, range(300)))))
    assert set(left.values()) <= {b"1"}
    assert rows(split[1]) == {"parent", "child", "after"}
