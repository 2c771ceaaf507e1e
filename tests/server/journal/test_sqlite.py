from __future__ import annotations

import asyncio
import gc
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from resay_server.journal import Journal, JournalConfig, JournalError, open_journal
from support.journal import (
    NOW,
    SECRETS,
    entry,
    make_verdict,
    repaired,
    write_from_two_processes,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def journal_in(path: Path, **settings: Any) -> Journal:
    return open_journal(JournalConfig(url=f"sqlite:///{path}", **settings))


async def written(journal: Journal, *entries: Any) -> None:
    for one in entries:
        assert await journal.append(one)
    await journal.flush()


def on_disk(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.iterdir())


@contextmanager
def connected(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


async def test_the_file_is_its_owners_only(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "journal.db"
    journal = journal_in(path)
    await written(journal, entry())
    files = sorted(file.name for file in path.parent.iterdir())
    assert files == ["journal.db", "journal.db-shm", "journal.db-wal"]
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700
    await journal.aclose()


async def test_a_folder_is_that_of_when_it_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    journals = [open_journal(), open_journal(JournalConfig(url="sqlite:///~/journal.db"))]
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    for journal in journals:
        await written(journal, entry())
        await journal.aclose()
    assert (tmp_path / "resay-journal.db").exists()
    assert (tmp_path / "home" / "journal.db").exists()


async def test_no_word_gets_into_the_file(path: Path) -> None:
    journal = journal_in(path)
    verdicts = [
        make_verdict(),
        make_verdict("consistent", repaired(0)),
        make_verdict("inconclusive", repaired(None)),
    ]
    await written(journal, *map(entry, verdicts))
    files = on_disk(path)
    assert b"gpt-4.1-mini" in files
    assert not [secret for secret in SECRETS if secret.encode() in files]
    await journal.aclose()
    whole = journal_in(path, content="all")
    await written(whole, *map(entry, verdicts))
    # The test would see them, but for the one that is in none of these.
    files = on_disk(path)
    assert [secret for secret in SECRETS if secret.encode() not in files] == [SECRETS[-1]]
    await whole.aclose()


async def test_what_was_removed_is_gone_from_the_disk(path: Path) -> None:
    every, journal = journal_in(path, content="all"), journal_in(path, max_entries=1)
    await written(every, *(entry(question=f"old{i}" * 500) for i in range(20)))
    await written(every, entry(time=NOW + 1, question="the new one"))
    assert await journal.prune() == 20
    files = on_disk(path)
    assert b"the new one" in files
    assert b"old1" not in files
    for one in (every, journal):
        await one.aclose()


@pytest.mark.parametrize("way", ["tenant", "request", "retention", "surplus"])
async def test_words_leave_the_index_with_their_entry(path: Path, way: str) -> None:
    journal = journal_in(path, content="all")
    old = [
        entry(time=NOW + i, tenant="t", request_id="r", question=f"Where is zqplace{i}zq?")
        for i in range(30)
    ]
    await written(journal, *old, entry(time=NOW + 99_999, tenant="other", question="And zqherezq?"))
    assert len(await journal.recent(words="zqplace*")) == 30
    assert b"zqplace7zq" in on_disk(path)
    if way == "tenant":
        assert await journal.forget(tenant="t") == 30
    elif way == "request":
        assert await journal.forget(request_id="r") == 30
    else:
        limit = {"retention_days": 1} if way == "retention" else {"max_entries": 1}
        other = journal_in(path, **limit)
        assert await other.prune(NOW + 100_000) == 30
        await other.aclose()
    assert await journal.recent(words="zqplace*") == []
    assert len(await journal.recent(words="zqherezq")) == 1
    files = on_disk(path)
    assert b"zqherezq" in files
    assert b"zqplace" not in files
    # Terms that have their beginning in common are kept as what is different.
    assert b"place7zq" not in files
    await journal.aclose()


async def test_words_that_were_kept_before_there_was_an_index(path: Path) -> None:
    journal = journal_in(path, content="all")
    await written(journal, *(entry(id=f"{i}", question=f"Where is place{i}?") for i in range(300)))
    await journal.aclose()
    with connected(path) as other:
        # As the version before left it.
        for name in ("found_insert", "found_delete", "words_delete"):
            other.execute(f"DROP TRIGGER resay_journal_{name}")
        for name in ("found", "words", "unindexed"):
            other.execute(f"DROP TABLE resay_journal_{name}")
        for table in ("rollups", "changed"):
            other.execute(f"ALTER TABLE resay_journal_{table} RENAME COLUMN bucket TO stretch")
        other.execute("DROP INDEX resay_journal_rollups_by_bucket")
        other.execute(
            "CREATE INDEX resay_journal_rollups_by_stretch ON resay_journal_rollups (stretch)"
        )
        other.execute("ALTER TABLE resay_journal_sampled RENAME TO resay_journal_draws")
        other.execute("ALTER TABLE resay_journal_entries DROP COLUMN evidence")
        other.execute("UPDATE resay_journal_version SET version = 3")
    journal = journal_in(path)
    assert [one.id for one in await journal.recent(words="place299")] == ["299"]
    assert len(await journal.recent(500, words="where")) == 300
    await journal.aclose()
    with connected(path) as other:
        assert other.execute("SELECT count(*) FROM resay_journal_unindexed").fetchone() == (0,)


async def test_where_sqlite_has_no_full_text_search(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resay_server.journal.sqlite._has_full_text", lambda: False)
    journal = journal_in(path, content="all")
    await written(
        journal, entry(id="a", question="snake_case"), entry(id="b", question="snakeXcase")
    )
    assert [one.id for one in await journal.recent(words="snake_*")] == ["a"]
    assert {one.id for one in await journal.recent(words="snake*")} == {"a", "b"}
    assert await journal.forget(request_id="none") == 0
    await journal.aclose()
    # Another one makes the index as soon as it opens the file.
    monkeypatch.undo()
    journal = journal_in(path)
    assert {one.id for one in await journal.recent(words="snake* zqsentencezq")} == {"a", "b"}
    await journal.aclose()


async def test_what_ends_a_process_half_way_leaves_whole_entries(path: Path) -> None:
    code = (
        "import asyncio, os, sys\n"
        "from support.journal import entry\n"
        "from resay_server.journal import JournalConfig, open_journal\n"
        "async def main():\n"
        "    journal = open_journal(JournalConfig(url=sys.argv[1]))\n"
        "    for i in range(100): await journal.append(entry(id=str(i)))\n"
        "    await journal.flush()\n"
        "    for i in range(100, 900): await journal.append(entry(id=str(i)))\n"
        "    os._exit(3)\n"
        "asyncio.run(main())\n"
    )
    done = run(code, path)
    assert (done.returncode, done.stderr) == (3, "")
    journal = journal_in(path)
    assert {str(i) for i in range(100)} <= {one.id for one in await journal.recent(1000)}
    # Whoever does it again does it once.
    await written(journal, *(entry(id=str(i)) for i in range(900)))
    assert len(await journal.recent(1000)) == 900
    await journal.aclose()


def run(code: str, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code, f"sqlite:///{path}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[2],
    )


def test_two_processes_may_share_it(path: Path) -> None:
    write_from_two_processes(f"sqlite:///{path}", count=50)
    assert len(asyncio.run(journal_in(path).recent(500))) == 150


def test_several_loops_in_threads_may_share_it(path: Path) -> None:
    journal = journal_in(path)
    start = threading.Barrier(3, timeout=30)
    errors: list[BaseException] = []

    async def use(number: int) -> None:
        for i in range(30):
            await journal.append(entry(id=f"{number}.{i}"))
            if i % 10 == 0:
                await journal.flush()

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
    assert len(asyncio.run(journal.recent(500))) == 90
    assert journal.lost == 0


def test_cancelling_leaves_nothing_open(path: Path) -> None:
    journal = journal_in(path)
    before = set(threading.enumerate())

    async def use() -> None:
        for _ in range(20):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(journal.append, entry())
                tasks.start_soon(journal.recent)
                tasks.start_soon(journal.flush)
                await anyio.lowlevel.checkpoint()
                tasks.cancel_scope.cancel()

    asyncio.run(use())
    assert asyncio.run(count(journal)) == 20
    # What was not closed says so here, and warnings are errors.
    gc.collect()
    # The last to close a file in this mode tidies up; an open connection would have left it.
    assert not path.with_name("journal.db-wal").exists()
    for thread in set(threading.enumerate()) - before:
        thread.join(30)
        assert not thread.is_alive()


async def count(journal: Journal) -> int:
    return len(await journal.recent(1000))


async def test_while_others_write_it_waits_and_is_read(path: Path) -> None:
    journal = journal_in(path, max_waiting=4)
    await written(journal, entry(id="first"))
    with connected(path) as other:
        other.execute("BEGIN IMMEDIATE")
        taken = [await journal.append(entry(id=str(i))) for i in range(6)]
        # A row that is being written still takes its place.
        assert taken == [True] * 4 + [False] * 2
        assert journal.lost == 2
        assert [one.id for one in await journal.recent()] == ["first"]
        other.execute("ROLLBACK")
    await journal.flush()
    assert {one.id for one in await journal.recent()} == {"first", "0", "1", "2", "3"}
    await journal.aclose()
    assert journal.lost == 2


async def test_what_waits_takes_a_limited_amount_of_memory(path: Path) -> None:
    journal = journal_in(path, content="all")
    await written(journal, entry(id="first"))
    with connected(path) as other:
        other.execute("BEGIN IMMEDIATE")
        sizes = (40_000_000, 40_000_000, 10)
        taken = [await journal.append(entry(question="x" * size)) for size in sizes]
        assert taken == [True, False, True]
        other.execute("ROLLBACK")
    # An attempt of before may fail still, and closing waits for a few seconds only.
    while await count(journal) < 3:
        with suppress(JournalError):
            await journal.flush()
    await journal.aclose()


async def test_who_waits_for_room_gets_it(path: Path) -> None:
    journal = journal_in(path, max_waiting=1)
    await written(journal, entry(id="first"))
    results: list[bool] = []

    async def append(number: int) -> None:
        results.append(await journal.append(entry(id=str(number))))

    async with anyio.create_task_group() as tasks:
        for number in range(3):
            tasks.start_soon(append, number)
    await journal.flush()
    # However fast it is, what was taken is there, and what was not is counted.
    assert len(results) == 3
    assert await count(journal) == 1 + sum(results)
    assert journal.lost == 3 - sum(results)
    await journal.aclose()


@pytest.fixture(params=[b"this is no database" * 100, b"SQLite format 3\x00" * 100])
def other_file(request: pytest.FixtureRequest, path: Path) -> bytes:
    path.write_bytes(request.param)
    return request.param


async def test_a_file_of_another_kind_is_left_alone(
    path: Path, other_file: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    journal = journal_in(path)
    for number in range(3):
        assert await journal.append(entry(id=str(number)))
    with pytest.raises(JournalError, match="not a database") as caught:
        await journal.flush()
    assert str(path) in str(caught.value)
    with pytest.raises(JournalError):
        await journal.recent()
    await journal.aclose()
    assert journal.lost == 3
    assert "lost 3 entries" in caplog.text
    assert not [secret for secret in SECRETS if secret in caplog.text]
    assert on_disk(path) == other_file


@pytest.fixture
def in_the_way(path: Path) -> Path:
    path.mkdir()
    return path


async def test_in_trouble_nobody_waits_and_what_waits_is_written_after(
    path: Path, in_the_way: Path, caplog: pytest.LogCaptureFixture
) -> None:
    journal = journal_in(path, max_waiting=2)
    assert await journal.append(entry(id="a"))
    with pytest.raises(JournalError):
        await journal.flush()
    assert await journal.append(entry(id="b"))
    # It says no before anything else gets a turn.
    refused = journal.append(entry(id="c"))
    with pytest.raises(StopIteration) as ended:
        refused.send(None)
    assert ended.value.value is False
    await anyio.Path(in_the_way).rmdir()
    await journal.flush()
    assert {one.id for one in await journal.recent()} == {"a", "b"}
    assert journal.lost == 1
    await journal.aclose()
    assert [r.levelname for r in caplog.records if "the journal is delayed" in r.message] == [
        "WARNING"
    ]
    assert "the journal is working again" in caplog.text


async def test_one_bad_entry_takes_no_others_with_it(path: Path) -> None:
    journal = journal_in(path)
    await written(journal, entry(id="first"))
    with connected(path) as other:
        other.execute(
            "CREATE TRIGGER fussy BEFORE INSERT ON resay_journal_entries"
            " WHEN NEW.tenant = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
    for number, tenant in enumerate(["good", "bad", "good"]):
        await journal.append(entry(id=str(number), tenant=tenant))
    await journal.flush()
    assert {one.id for one in await journal.recent()} == {"first", "0", "2"}
    assert journal.lost == 1
    await journal.aclose()


async def test_tables_of_a_newer_version_are_left_alone(path: Path) -> None:
    journal = journal_in(path)
    await written(journal, entry(id="a"))
    await journal.aclose()
    with connected(path) as other:
        other.execute("UPDATE resay_journal_version SET version = 99")
    with pytest.raises(JournalError, match="version 99, but this Resay supports at most 7"):
        await journal.recent()
    await journal.append(entry(id="b"))
    with pytest.raises(JournalError, match="version 99"):
        await journal.flush()
    with connected(path) as other:
        other.execute("UPDATE resay_journal_version SET version = 7")
    await journal.flush()
    assert await count(journal) == 2
    await journal.aclose()


async def test_a_file_that_others_use_too_is_shared(path: Path) -> None:
    with connected(path) as other:
        other.execute("CREATE TABLE mine (x)")
        other.execute("INSERT INTO mine VALUES (1)")
    journal = journal_in(path)
    await written(journal, entry(id="a"))
    await journal.aclose()
    with connected(path) as other:
        assert other.execute("SELECT x FROM mine").fetchall() == [(1,)]
