from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from resay import ConfigurationError
from resay.retrieval import FolderRetriever, Skipped, index_folder
from support.folder import INDEX, LONG_AGO, find, write


def test_hidden_files_and_other_kinds_are_no_part_of_it(folder: Path) -> None:
    write(folder / ".hidden.md", "zebra")
    write(folder / ".git/notes.md", "zebra")
    write(folder / "code.py", "zebra")
    write(folder / "no_suffix", "zebra")
    (folder / "folder.md").mkdir()
    assert index_folder(folder).added == ("bridge.md", "tower.txt")


def test_an_index_that_is_called_like_a_text_is_no_part_of_it(folder: Path) -> None:
    for _ in range(2):
        assert len(index_folder(folder, folder / "index.txt").skipped) == 0


needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")


@needs_links
def test_links_that_lead_out_of_the_folder_are_not_followed(folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "outside/secret.md", "zebra")
    (folder / "file.md").symlink_to(tmp_path / "outside/secret.md")
    (folder / "sub").symlink_to(tmp_path / "outside")
    (folder / "up").symlink_to("..")
    (folder / "relative.md").symlink_to("../outside/secret.md")
    assert index_folder(folder).added == ("bridge.md", "tower.txt")


@needs_links
def test_links_inside_the_folder_are_followed_once(folder: Path) -> None:
    # As Kubernetes mounts a ConfigMap.
    write(folder / "..2026/guide.md", "# Guide")
    write(folder / "..2026/sub/part.md", "# Part")
    (folder / "..data").symlink_to("..2026")
    (folder / "guide.md").symlink_to("..data/guide.md")
    (folder / "sub").symlink_to("..data/sub")
    # Neither loops nor second names make anything twice.
    (folder / "sub/loop").symlink_to("..")
    (folder / "self").symlink_to(".")
    (folder / "again.md").symlink_to("bridge.md")
    (folder / "broken.md").symlink_to("nowhere.md")
    report = index_folder(folder)
    assert report.added == ("bridge.md", "guide.md", "sub/part.md", "tower.txt")
    assert report.skipped == (Skipped("broken.md", "No such file or directory"),)


@needs_links
def test_a_folder_may_be_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("folder")
    assert len(index_folder(tmp_path / "link").added) == 2
    assert len(index_folder(folder).unchanged) == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_no_file(folder: Path) -> None:
    os.mkfifo(folder / "pipe.txt")
    assert index_folder(folder).added == ("bridge.md", "tower.txt")


@pytest.mark.skipif(sys.platform != "linux", reason="names are Unicode there")
def test_a_name_that_is_no_text(folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.txt")).write_text("zebra")
    (skipped,) = index_folder(folder).skipped
    assert skipped == Skipped("\ufffd.txt", "its name is not valid Unicode")


@pytest.mark.parametrize("name", ["a#1?x=%20.md", "ö 日本.md", "a'b\"c.md", "-x.md"])
def test_odd_names(tmp_path: Path, name: str) -> None:
    folder = tmp_path / f"in {name}"
    write(folder / name, "zebra")
    index_folder(folder, folder / f"{name}.sqlite")
    assert [d.id for d in find(folder, "zebra", folder / f"{name}.sqlite")] == [f"{name}#1"]


@pytest.mark.parametrize("name", ["nowhere", "file.txt"])
def test_no_such_folder(tmp_path: Path, name: str) -> None:
    write(tmp_path / "file.txt", "text")
    with pytest.raises(ConfigurationError, match=f"cannot search the folder .*{name}"):
        index_folder(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["file.txt"]


@pytest.fixture
def as_somebody() -> Iterator[Path]:
    """A folder of one's own, without the rights of the system's administrator."""
    if not hasattr(os, "setresuid"):
        pytest.skip("there are no such rights")
    home = Path(tempfile.mkdtemp())
    home.chmod(0o755)
    user = os.geteuid()
    if user == 0:
        os.chown(home, 65_534, 65_534)
        os.setresuid(65_534, 65_534, 0)
    yield home
    os.setresuid(user, user, user)
    for path in (home, *home.rglob("*")):
        path.chmod(0o755)
    shutil.rmtree(home)


def lock(*paths: Path) -> None:
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)


def test_a_folder_that_cannot_be_written(as_somebody: Path) -> None:
    folder = as_somebody / "folder"
    write(folder / "tower.txt", "The tower was finished in 1889.")
    lock(folder)
    with pytest.raises(
        ConfigurationError, match=r"cannot create the index.*Permission denied.*`index`"
    ):
        index_folder(folder)
    assert len(index_folder(folder, as_somebody / "index.sqlite").added) == 1
    folder.chmod(0o755)
    index_folder(folder)
    # Copies have other times.
    os.utime(folder / "tower.txt", (LONG_AGO + 5, LONG_AGO + 5))
    lock(folder, folder / INDEX)
    assert index_folder(folder).unchanged == ("tower.txt",)
    retriever = FolderRetriever(folder)
    assert len(asyncio.run(retriever.retrieve("tower", k=1))) == 1
    folder.chmod(0o755)
    write(folder / "canal.txt", "Ships pass.")
    lock(folder)
    with pytest.raises(ConfigurationError, match=r"readonly.*name another file as `index`"):
        index_folder(folder)
    assert len(find(folder, "tower")) == 1


def test_files_and_folders_that_cannot_be_read(as_somebody: Path) -> None:
    folder = as_somebody / "folder"
    write(folder / "tower.txt", "The tower was finished in 1889.")
    write(folder / "sub/canal.txt", "Ships pass.")
    index_folder(folder)
    (folder / "sub").chmod(0)
    write(folder / "tower.txt", "The tower is painted.").chmod(0)
    report = index_folder(folder)
    assert report.removed == ("sub/canal.txt", "tower.txt")
    assert report.skipped == (
        Skipped("sub", "Permission denied"),
        Skipped("tower.txt", "Permission denied"),
    )
    folder.chmod(0o300)
    with pytest.raises(ConfigurationError, match="Permission denied"):
        index_folder(folder)
