from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from resay import ConfigurationError
from resay.retrieval import IndexReport, index_folder
from support.folder import INDEX, LONG_AGO, find, write


def changes(report: IndexReport) -> dict[str, object]:
    return {name: value for name, value in asdict(report).items() if value}


def test_what_was_done_is_reported(folder: Path) -> None:
    assert index_folder(folder) == IndexReport(
        added=("bridge.md", "tower.txt"),
        changed=(),
        removed=(),
        unchanged=(),
        skipped=(),
        documents=2,
    )
    write(folder / "canal.txt", "Ships pass the canal.")
    write(folder / "tower.txt", "The tower is painted.")
    (folder / "bridge.md").unlink()
    write(folder / "bad.txt", "").write_bytes(b"\xff\xfe\x00")
    assert changes(index_folder(folder)) == {
        "added": ("canal.txt",),
        "changed": ("tower.txt",),
        "removed": ("bridge.md",),
        "skipped": ({"path": "bad.txt", "reason": "it is not UTF-8 text; save it as UTF-8"},),
        "documents": 2,
    }
    assert [document.text for document in find(folder, "finished tower")] == [
        "The tower is painted."
    ]
    assert find(folder, "bridge 1932") == []


def test_unchanged_files_are_not_read(folder: Path) -> None:
    index_folder(folder)
    before = (folder / INDEX).read_bytes()
    # As long and as old as before: only who reads it sees the difference.
    write(folder / "tower.txt", "The tower was finished in 2025.")
    assert changes(index_folder(folder)) == {
        "unchanged": ("bridge.md", "tower.txt"),
        "documents": 2,
    }
    assert (folder / INDEX).read_bytes() == before


def test_a_file_that_was_only_touched_is_unchanged(folder: Path) -> None:
    index_folder(folder)
    write(folder / "tower.txt", "The tower was finished in 1889.", LONG_AGO + 5)
    for _ in range(2):
        assert index_folder(folder).unchanged == ("bridge.md", "tower.txt")
    before = (folder / INDEX).read_bytes()
    index_folder(folder)
    assert (folder / INDEX).read_bytes() == before


def test_a_change_in_the_same_tick_of_the_clock_is_seen(folder: Path) -> None:
    file = folder / "tower.txt"
    file.write_text("The tower was finished in 1889.")
    times = (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    index_folder(folder)
    file.write_text("The tower was finished in 2025.")
    os.utime(file, ns=times)
    assert index_folder(folder).changed == ("tower.txt",)


def test_a_file_that_cannot_be_read_any_more_is_not_found_any_more(folder: Path) -> None:
    index_folder(folder)
    write(folder / "tower.txt", "").write_bytes(b"\xff")
    report = index_folder(folder)
    assert (report.removed, len(report.skipped)) == (("tower.txt",), 1)
    assert changes(index_folder(folder)) == {
        "unchanged": ("bridge.md",),
        "skipped": (asdict(report.skipped[0]),),
        "documents": 1,
    }
    write(folder / "tower.txt", "The tower.")
    assert index_folder(folder).added == ("tower.txt",)


def test_an_empty_file_and_an_empty_folder(tmp_path: Path) -> None:
    assert changes(index_folder(tmp_path)) == {}
    assert find(tmp_path, "word") == []
    write(tmp_path / "a.txt", " \n")
    assert changes(index_folder(tmp_path)) == {"added": ("a.txt",)}


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["a.md", "b.txt", "c/d.md"]),
        st.one_of(
            st.none(),
            st.binary(max_size=4),
            st.lists(st.sampled_from(["bridge", "tower ", "# Part\n\n", "東京", "\n\n"])).map(
                lambda words: " ".join(words).encode()
            ),
        ),
    ),
    max_size=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, min_size=1, max_size=3))
def test_an_index_kept_up_to_date_is_like_a_new_one(
    tmp_path: Path, runs: list[list[tuple[str, bytes | None]]]
) -> None:
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    for steps in runs:
        for path, data in steps:
            file = folder / path
            file.parent.mkdir(exist_ok=True)
            if data is None:
                file.unlink(missing_ok=True)
            else:
                file.write_bytes(data)
        updated = index_folder(folder)
    new = index_folder(folder, folder / "new.sqlite")
    assert (updated.documents, updated.skipped) == (new.documents, new.skipped)
    for query in ("bridge", "tower part", "東京", "md", "bridge tower part 京 d"):
        here, there = find(folder, query), find(folder, query, folder / "new.sqlite")
        assert {d.id: (d.text, pytest.approx(d.score), d.metadata) for d in here} == {
            d.id: (d.text, d.score, d.metadata) for d in there
        }


def test_a_file_that_is_no_index_is_left_alone(folder: Path) -> None:
    index = write(folder / "notes", "no database, but more than a hundred characters " * 100)
    before = index.read_bytes()
    for use in (lambda: index_folder(folder, index), lambda: find(folder, "tower", index)):
        with pytest.raises(ConfigurationError, match=r"not a Resay index.*delete it if"):
            use()
    assert index.read_bytes() == before


def test_a_database_of_something_else_is_left_alone(folder: Path, tmp_path: Path) -> None:
    index = tmp_path / "theirs.sqlite"
    connection = sqlite3.connect(index)
    connection.execute("CREATE TABLE files (id INTEGER)")
    connection.close()
    before = index.read_bytes()
    for use in (lambda: index_folder(folder, index), lambda: find(folder, "tower", index)):
        with pytest.raises(ConfigurationError, match="another kind of database; name another"):
            use()
    assert index.read_bytes() == before


def test_a_damaged_index_is_said_to_be(folder: Path) -> None:
    index_folder(folder)
    data = bytearray((folder / INDEX).read_bytes())
    data[4096:] = b"\x55" * (len(data) - 4096)
    (folder / INDEX).write_bytes(data)
    for use in (lambda: index_folder(folder), lambda: find(folder, "tower")):
        with pytest.raises(ConfigurationError, match=r"damaged.*delete it"):
            use()
    (folder / INDEX).unlink()
    assert len(index_folder(folder).added) == 2


def set_version(index: Path, version: int) -> None:
    connection = sqlite3.connect(index)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()


def test_an_index_of_an_older_version_is_made_anew(folder: Path) -> None:
    index_folder(folder)
    set_version(folder / INDEX, 0)
    with pytest.raises(ConfigurationError, match="run `resay index"):
        find(folder, "tower")
    assert changes(index_folder(folder)) == {"added": ("bridge.md", "tower.txt"), "documents": 2}
    assert len(find(folder, "tower")) == 1


def test_an_index_of_a_newer_version_is_left_alone(folder: Path) -> None:
    index_folder(folder)
    set_version(folder / INDEX, 1000)
    for use in (lambda: index_folder(folder), lambda: find(folder, "tower")):
        with pytest.raises(ConfigurationError, match="newer version of Resay; upgrade"):
            use()


def test_the_index_of_another_folder_is_left_alone(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write(other / "a.txt", "zebra")
    index = tmp_path / "kept/index.sqlite"
    index_folder(folder, index)
    with pytest.raises(ConfigurationError, match=r"built for another folder \('../folder'"):
        index_folder(other, index)
    assert len(index_folder(folder, index).unchanged) == 2


@pytest.mark.parametrize("index", [None, "kept/index.sqlite"])
def test_a_folder_may_move_with_its_index(folder: Path, tmp_path: Path, index: str | None) -> None:
    index_folder(folder, index and tmp_path / index)
    moved = tmp_path / "new/place"
    moved.mkdir(parents=True)
    shutil.move(folder, moved)
    if index:
        shutil.move(tmp_path / "kept", moved)
    report = index_folder(moved / "folder", index and moved / index)
    assert len(report.unchanged) == 2


@pytest.mark.skipif(os.name != "posix", reason="there are no such modes")
@pytest.mark.parametrize(("mode", "expected"), [(0o700, 0o600), (0o755, 0o644)])
def test_an_index_can_be_read_by_who_can_read_the_folder(
    folder: Path, tmp_path: Path, mode: int, expected: int
) -> None:
    folder.chmod(mode)
    mask = os.umask(0o022)
    index_folder(folder, tmp_path / "index.sqlite")
    os.umask(mask)
    assert (tmp_path / "index.sqlite").stat().st_mode & 0o777 == expected
