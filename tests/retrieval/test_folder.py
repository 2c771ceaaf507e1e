from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from resay import ConfigurationError, Document
from resay.retrieval import FolderRetriever, PreparesRetrieval, Retriever, index_folder
from resay.retrieval import folder as folder_module
from support.folder import GUIDES, INDEX, documents, ids, write_all

pytestmark = pytest.mark.anyio


async def test_it_is_a_retriever(guides: Path) -> None:
    retriever = FolderRetriever(guides)
    assert isinstance(retriever, Retriever)
    assert isinstance(retriever, PreparesRetrieval)
    assert repr(retriever) == f"FolderRetriever({str(guides)!r})"


async def test_a_document_says_where_it_is_from(guides: Path) -> None:
    (document,) = await documents(guides, "ships")
    text = GUIDES["deep/er/canal.rst"]
    assert document == Document(
        id="deep/er/canal.rst#1",
        text=text,
        score=document.score,
        metadata={"title": "canal", "path": "deep/er/canal.rst", "start": 0, "end": len(text)},
    )
    (lamps,) = await documents(guides, "lamps")
    assert (lamps.id, lamps.title) == ("bridge.md#2", "Harbour Bridge > Lamps")


async def test_the_best_come_first_and_not_more_than_wanted(guides: Path) -> None:
    results = await documents(guides, "When was the tower finished, in 1889 or 1932?")
    assert results[0].id == "tower.txt#1"
    scores = [document.score or 0 for document in results]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)
    assert await ids(guides, "tower opened finished 1889", k=1) == ["tower.txt#1"]


async def test_headings_and_names_of_files_are_searched_too(guides: Path) -> None:
    # A part is found by the headings above it, which are no part of its text.
    assert {"bridge.md#1", "bridge.md#2"} == set(await ids(guides, "harbour"))
    assert await ids(guides, "unrelated") == ["unrelated.markdown#1"]


async def test_a_heading_counts_more_than_the_text(tmp_path: Path) -> None:
    write_all(
        tmp_path,
        {
            "a.md": "# Other\n\nAn oven, or another oven.",
            "b.md": "# Oven\n\nA bread, or another bread.",
            **{f"{i}.md": "# Nothing\n\nIt has nothing to say of it." for i in range(8)},
        },
    )
    assert await ids(tmp_path, "oven") == ["b.md#1", "a.md#1"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.text(max_size=300), st.booleans(), st.sampled_from(["txt", "md"]))
@example("\ufeffmark", True, "md")
@example("a\0b\r\nc\u2028d", False, "txt")
@example("# ##", False, "md")
def test_a_document_is_a_stretch_of_its_file(
    tmp_path: Path, text: str, mark: bool, suffix: str
) -> None:
    data = text.encode(errors="replace")
    for old in tmp_path.glob("word.*"):
        old.unlink()
    file = tmp_path / f"word.{suffix}"
    file.write_bytes(b"\xef\xbb\xbf" * mark + data)
    results = asyncio.run(documents(tmp_path, "word", k=50))
    whole = file.read_bytes().decode("utf-8-sig")
    # A heading alone is no text.
    if suffix == "txt" or "#" not in text:
        assert bool(results) == bool(whole.strip())
    for document in results:
        start, end = document.metadata["start"], document.metadata["end"]
        assert whole[start:end] == document.text
    assert len(results) == index_folder(tmp_path).documents


async def test_what_is_skipped_is_said_once(guides: Path, caplog: pytest.LogCaptureFixture) -> None:
    (guides / "old.txt").write_bytes(b"\xff\xfe")
    retriever = FolderRetriever(guides)
    with caplog.at_level(logging.WARNING, "resay"):
        await retriever.prepare()
        await retriever.retrieve("lamps", k=1)
    (record,) = caplog.records
    reason = "'old.txt' (it is not UTF-8 text; save it as UTF-8)"
    warning = f"1 files of {guides} cannot be searched, such as {reason}; `resay index` lists them"
    assert record.getMessage() == warning


async def test_a_refresh_happens_once(guides: Path) -> None:
    retriever = FolderRetriever(guides)
    await retriever.prepare()
    write_all(guides, {"new.txt": "A zebra."})
    assert list(await retriever.retrieve("zebra", k=1)) == []
    # Another retriever, or process, brings it up to date for all.
    index_folder(guides)
    assert [d.id for d in await retriever.retrieve("zebra", k=1)] == ["new.txt#1"]


async def test_without_refresh_there_must_be_an_index(guides: Path) -> None:
    retriever = FolderRetriever(guides, refresh=False)
    await retriever.prepare()
    with pytest.raises(ConfigurationError, match="run `resay index"):
        await retriever.retrieve("lamps", k=1)
    index_folder(guides)
    assert len(await retriever.retrieve("lamps", k=1)) == 1


async def test_after_a_failed_refresh_it_is_tried_again(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    retriever = FolderRetriever(folder)
    for _ in range(2):
        with pytest.raises(ConfigurationError, match="No such file"):
            await retriever.retrieve("lamps", k=1)
    assert not folder.exists()
    write_all(folder, GUIDES)
    assert len(await retriever.retrieve("lamps", k=1)) == 1


async def test_less_than_one_document_cannot_be_wanted(guides: Path) -> None:
    with pytest.raises(ConfigurationError, match="at least 1, not 0"):
        await FolderRetriever(guides).retrieve("lamps", k=0)


async def test_a_relative_folder_stays_the_same(
    guides: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(guides.parent)
    retriever = FolderRetriever("guides", index="kept.sqlite")
    monkeypatch.chdir("/")
    assert len(await retriever.retrieve("lamps", k=1)) == 1
    assert (tmp_path / "kept.sqlite").is_file()
    assert not (guides / INDEX).exists()


@pytest.fixture
def held_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Event, list[int]]]:
    """Indexing waits for an event; and each time it was begun."""
    let_go, begun = threading.Event(), list[int]()

    def index_later(*args: Path, **settings: Any) -> object:
        begun.append(1)
        assert let_go.wait(60)
        return index_folder(*args, **settings)

    monkeypatch.setattr(folder_module, "index_folder", index_later)
    yield let_go, begun
    let_go.set()


async def test_the_event_loop_goes_on_and_all_wait_for_one_refresh(
    guides: Path, held_back: tuple[threading.Event, list[int]]
) -> None:
    let_go, begun = held_back
    retriever = FolderRetriever(guides)
    counts: list[int] = []

    async def search() -> None:
        counts.append(len(await retriever.retrieve("lamps", k=1)))

    async with anyio.create_task_group() as tasks:
        for _ in range(100):
            tasks.start_soon(search)
        await anyio.wait_all_tasks_blocked()
        # Other work of this loop finds a thread.
        assert await anyio.to_thread.run_sync(lambda: 1) == 1
        let_go.set()
    assert (counts, len(begun)) == ([1] * 100, 1)


async def test_a_refresh_nobody_waits_for_any_more_goes_on(
    guides: Path, held_back: tuple[threading.Event, list[int]]
) -> None:
    let_go, begun = held_back
    retriever = FolderRetriever(guides)
    with anyio.move_on_after(0) as scope:
        await retriever.retrieve("lamps", k=1)
    assert scope.cancelled_caught
    let_go.set()
    assert len(await retriever.retrieve("lamps", k=1)) == 1
    assert len(begun) == 1


def test_one_retriever_serves_many_event_loops(guides: Path) -> None:
    retriever = FolderRetriever(guides)
    start = threading.Barrier(8)
    counts: list[int] = []

    def serve() -> None:
        start.wait(60)
        counts.append(len(asyncio.run(retriever.retrieve("lamps", k=1))))

    threads = [threading.Thread(target=serve) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert counts == [1] * 8


async def test_sqlite_without_full_text_search_is_named(
    guides: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Lacking(sqlite3.Connection):
        def execute(self, *args: Any) -> sqlite3.Cursor:
            if "fts5" in args[0]:
                raise sqlite3.OperationalError("no such module: fts5")
            return super().execute(*args)

    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *args, **kwargs: connect(*args, **kwargs, factory=Lacking)
    )
    with pytest.raises(ConfigurationError, match="FTS5"):
        await FolderRetriever(guides).prepare()
