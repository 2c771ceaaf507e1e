"""No file and no folder stops the index of the others."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from resay.retrieval import folder_files, front_matter, index_folder, pdf
from resay.retrieval.folder_files import FileData, FileReader, FolderFile, UnreadableError
from resay.retrieval.folder_listing import list_files
from support.folder import INDEX, find, write

GOOD = {"bridge.md": "# Bridge\n\nThe bridge opened in 1932.", "z.txt": "It has 31 lamps."}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "guides"
    for name, text in GOOD.items():
        write(folder / name, text)
    return folder


def read(file: FolderFile) -> FileData:
    with FileReader() as reader:
        return reader.read(file, 0)


def skipped(folder: Path) -> dict[str, str]:
    """Index a folder; return what was skipped and why. The good files can be searched."""
    report = index_folder(folder)
    assert set(GOOD) <= {*report.added, *report.unchanged}
    assert [document.id for document in find(folder, "bridge 1932")][:1] == ["bridge.md#1"]
    return {file.path: file.reason for file in report.skipped}


def test_a_huge_file_is_skipped(folder: Path) -> None:
    with (folder / "huge.txt").open("wb") as file:
        file.truncate(40 * 1024 * 1024)
    reasons = {"huge.txt": "it is longer than 32 MiB; split it"}
    assert skipped(folder) == reasons
    assert skipped(folder) == reasons


def test_a_file_that_grows_while_the_folder_is_read_is_skipped(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_files, "MAX_BYTES", 100)
    (file, *_), _ = list_files(folder, folder / INDEX)
    (folder / file.path).write_text("a" * 101)
    with pytest.raises(UnreadableError, match="split it"):
        read(file)


@pytest.mark.parametrize("depth", [101, 900])
def test_deep_folders_are_skipped(folder: Path, depth: int) -> None:
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    write(folder / Path(*["d"] * 90) / "deep.txt", "Not too deep.")
    reasons = skipped(folder)
    (path,) = reasons
    assert path == "/".join(["d"] * 101)
    assert reasons[path] == "it is more than 100 folders deep"
    assert find(folder, "not too deep")[0].id.startswith("d/")


def pages(count: int) -> bytes:
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter()
    for _ in range(count):
        writer.add_blank_page(10, 10)
    stream = io.BytesIO()
    writer.write(stream)
    return stream.getvalue()


def test_a_pdf_file_with_too_many_pages_is_skipped_and_not_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pypdf = pytest.importorskip("pypdf")
    monkeypatch.setattr(pdf, "_MAX_PAGES", 20)

    def extract_text(page: object) -> str:
        raise AssertionError("it was read")

    monkeypatch.setattr(pypdf.PageObject, "extract_text", extract_text)
    (folder / "long.pdf").write_bytes(pages(21))
    reasons = skipped(folder)
    assert reasons == {
        "long.pdf": "it has 21 pages; PDF files of at most 20 pages are read: split it"
    }


def test_a_pdf_file_with_too_much_text_is_skipped(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pypdf = pytest.importorskip("pypdf")
    data = pages(5)
    monkeypatch.setattr(pdf, "_MAX_CHARS", len(data))

    def extract_text(page: object) -> str:
        return "a" * (len(data) // 2)

    monkeypatch.setattr(pypdf.PageObject, "extract_text", extract_text)
    (folder / "long.pdf").write_bytes(data)
    assert "more text than it says" in skipped(folder)["long.pdf"]


def to_file(path: Path, secret: Path) -> None:
    path.unlink()
    path.symlink_to(secret)


def to_folder(path: Path, secret: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))
    path.parent.symlink_to(secret.parent)


def to_pipe(path: Path, secret: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("swap", [to_file, to_folder, to_pipe])
def test_what_is_swapped_after_the_folder_was_listed_is_not_read(
    folder: Path, tmp_path: Path, swap: Callable[[Path, Path], None]
) -> None:
    secret = write(tmp_path / "secrets" / "a.txt", "The secret bridge opened in 1066.")
    inside = write(folder / "inner" / "a.txt", "An open text.")
    files, _ = list_files(folder, folder / INDEX)
    (file,) = [file for file in files if file.path == "inner/a.txt"]
    assert read(file).data == b"An open text."
    swap(inside, secret)
    with pytest.raises(UnreadableError):
        read(file)
    # The next listing finds what leads outside, and leaves it out.
    assert "inner/a.txt" not in {file.path for file in index_folder(folder).skipped}
    assert all("secret" not in document.text for document in find(folder, "secret bridge 1066"))


def test_a_file_that_is_replaced_by_another_is_read(folder: Path) -> None:
    """Editors write a file anew and move it to its place."""
    (file, *_), _ = list_files(folder, folder / INDEX)
    write(folder / "new", "It opened in 1933.").replace(folder / file.path)
    assert read(file).data == b"It opened in 1933."


def merging(levels: int, width: int) -> str:
    lines = ["a0: &a0 {x: 1}"]
    for level in range(1, levels):
        above = ", ".join([f"*a{level - 1}"] * width)
        lines.append(f"a{level}: &a{level} {{<<: [{above}]}}")
    return "\n".join(lines)


def listing(levels: int, width: int) -> str:
    lines = ["a0: &a0 [1]"]
    for level in range(1, levels):
        above = ", ".join([f"*a{level - 1}"] * width)
        lines.append(f"a{level}: &a{level} [{above}]")
    return "\n".join(lines)


def keyed(levels: int, width: int) -> str:
    lines = ["a0: &a0 {x: 1}"]
    for level in range(1, levels):
        fields = ", ".join(f"k{i}: *a{level - 1}" for i in range(width))
        lines.append(f"a{level}: &a{level} {{{fields}}}")
    return "\n".join(lines)


@pytest.mark.parametrize(
    "body",
    [
        merging(12, 9),
        merging(40, 2),
        listing(12, 9),
        keyed(12, 9),
        keyed(300, 2),
        "a: &a [*a]",
        "a: &a {b: *a}",
        "a: &a {<<: *a}",
        "a: &a\n  b: &b {<<: *a}\n  <<: *b",
    ],
)
def test_repeated_front_matter_is_not_written_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    loader = front_matter._Loader  # pyright: ignore[reportPrivateUsage] - what must not run

    def construct(self: object, node: yaml.Node) -> object:
        raise AssertionError("it was written out")

    monkeypatch.setattr(loader, "construct_document", construct)
    matter = front_matter.front_matter(f"---\ntitle: Bridge\n{body}\n---\n\nIt opened.\n")
    assert matter.metadata is None
    assert matter.title == "Bridge"
    write(folder / "bomb.md", f"---\ntitle: x\n{body}\n---\n\nThe tower is of stone.\n")


def test_front_matter_may_repeat_a_little() -> None:
    text = "---\ndefaults: &d {lang: en}\ntags: &t [a, b]\nmore: *t\n<<: *d\n---\nText.\n"
    matter = front_matter.front_matter(text)
    assert matter.metadata == {"tags": ("a", "b"), "more": ("a", "b"), "lang": "en"}
