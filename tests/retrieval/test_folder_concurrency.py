"""One index, several threads and processes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from resay.retrieval import (
    FolderRetriever,
    IndexReport,
    folder_database,
    folder_index,
    index_folder,
)
from resay.retrieval.excerpts import Excerpt
from support.folder import INDEX

COUNT = 40


def fill(folder: Path, word: str, *, repeated: int = 1) -> Path:
    folder.mkdir(exist_ok=True)
    for i in range(COUNT):
        (folder / f"{i}.txt").write_text(f"common {word} {i}. " * repeated)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return fill(tmp_path / "folder", "alpha")


def find(folder: Path, query: str = "common", k: int = 100) -> list[str]:
    retriever = FolderRetriever(folder, refresh=False)
    return [document.text for document in asyncio.run(retriever.retrieve(query, k=k))]


def in_threads(works: list[Callable[[], IndexReport]]) -> list[IndexReport]:
    start = threading.Barrier(len(works))

    def run(work: Callable[[], IndexReport]) -> IndexReport:
        start.wait(60)
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


@contextmanager
def process(code: str, *words: str | Path) -> Iterator[subprocess.Popen[str]]:
    """Run a script that prints a line when it is ready and goes on when it reads one."""
    command = [sys.executable, "-c", code, *map(str, words)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        try:
            yield running
        finally:
            running.kill()


def test_threads_that_index_the_same_folder_do_it_once(folder: Path) -> None:
    reports = in_threads([lambda: index_folder(folder)] * 6)
    assert sum(len(report.added) for report in reports) == COUNT
    assert all(len(report.added) + len(report.unchanged) == COUNT for report in reports)
    assert len(find(folder)) == COUNT


INDEX_IT = """
import sys
from resay.retrieval import index_folder
print("ready", flush=True)
sys.stdin.readline()
report = index_folder(sys.argv[1])
print(len(report.added), len(report.changed), len(report.unchanged), report.documents)
"""


def test_processes_that_index_the_same_folder_do_it_once(folder: Path) -> None:
    for kind in (0, 1):
        with process(INDEX_IT, folder) as first, process(INDEX_IT, folder) as second:
            for running in (first, second):
                assert running.stdin is not None
                running.stdin.write("go\n")
                running.stdin.flush()
            outputs = [running.communicate(timeout=60)[0].split() for running in (first, second)]
        numbers = [tuple(map(int, line)) for line in outputs]
        assert sum(line[kind] for line in numbers) == COUNT
        assert all(sum(line[:3]) == COUNT == line[3] for line in numbers)
        fill(folder, "beta")


def test_readers_see_one_state_or_the_other(folder: Path) -> None:
    index_folder(folder)
    done = threading.Event()

    def read() -> int:
        count = 0
        while not done.is_set() or not count:
            texts = find(folder)
            assert len(texts) == COUNT
            assert len({text.split()[1] for text in texts}) == 1
            count += 1
        return count

    def write() -> None:
        try:
            for word in ("beta", "gamma", "delta", "epsilon", "zeta"):
                fill(folder, word)
                assert len(index_folder(folder).changed) == COUNT
        finally:
            done.set()

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        pool.submit(write).result(60)
        assert all(reader.result(60) > 0 for reader in readers)
    assert find(folder)[0].split()[1] == "zeta"


def test_readers_do_not_wait_while_files_are_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_folder(folder)
    # More than fits into SQLite's cache, which would lock the file to make room.
    fill(folder, "beta", repeated=3_000)
    last_file, go_on = threading.Event(), threading.Event()
    excerpts = folder_index.excerpts

    def wait_at_the_last(path: str, data: bytes) -> Iterator[Excerpt]:
        if path == "9.txt":
            last_file.set()
            assert go_on.wait(60)
        return excerpts(path, data)

    monkeypatch.setattr(folder_index, "excerpts", wait_at_the_last)
    monkeypatch.setattr(folder_database, "_READER_TIMEOUT_S", 0.0)
    with ThreadPoolExecutor(1) as pool:
        indexing = pool.submit(index_folder, folder)
        assert last_file.wait(60)
        assert len(find(folder, "alpha")) == COUNT
        go_on.set()
        assert len(indexing.result(60).changed) == COUNT
    assert find(folder, "alpha") == []


STOP_HALF_WAY = """
import sys
from resay.retrieval import folder_index
excerpts = folder_index.excerpts
def stop(path, data):
    if path == "9.txt":
        print("ready", flush=True)
        sys.stdin.readline()
    return excerpts(path, data)
folder_index.excerpts = stop
folder_index.index_folder(sys.argv[1])
"""


def test_what_a_process_that_died_had_begun_is_undone(folder: Path) -> None:
    index_folder(folder)
    fill(folder, "beta")
    with process(STOP_HALF_WAY, folder) as running:
        assert len(find(folder, "alpha")) == COUNT
        running.kill()
        running.wait(60)
    assert len(find(folder, "alpha")) == COUNT
    assert len(index_folder(folder).changed) == COUNT
    assert len(find(folder, "beta")) == COUNT


STOP_WHILE_WRITING = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 5")
connection.execute("BEGIN IMMEDIATE")
connection.execute("DELETE FROM words")
connection.execute("UPDATE files SET path = path || hex(zeroblob(500))")
print("ready", flush=True)
sys.stdin.readline()
"""


def test_a_reader_undoes_what_a_process_that_died_had_half_written(folder: Path) -> None:
    fill(folder, "alpha", repeated=1000)
    index_folder(folder)
    before = (folder / INDEX).read_bytes()
    with process(STOP_WHILE_WRITING, folder / INDEX) as running:
        running.kill()
        running.wait(60)
    assert (folder / INDEX).read_bytes() != before
    assert len(find(folder, "alpha", k=10)) == 10
    assert (folder / INDEX).read_bytes() == before


def test_a_file_added_while_another_run_was_waited_for_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_folder(folder)
    fill(folder, "beta")
    list_files = folder_index.list_files
    listed, go_on = threading.Event(), threading.Event()

    def list_and_wait(*args: Path) -> object:
        listing = list_files(*args)
        if not listed.is_set():
            listed.set()
            assert go_on.wait(60)
        return listing

    monkeypatch.setattr(folder_index, "list_files", list_and_wait)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(index_folder, folder)
        assert listed.wait(60)
        (folder / "new.txt").write_text("zebra")
        assert index_folder(folder).added == ("new.txt",)
        go_on.set()
        assert slow.result(60).removed == ()
    assert find(folder, "zebra") == ["zebra"]
