from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from resay.cli import main
from resay.cli.app import app
from resay.errors import ConfigurationError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "bridge.md").write_text(
        "# Bridge\n\nIt opened in 1932.\n\n## Lamps\n\nThere are 31.\n"
    )
    (folder / "tower.txt").write_text("The tower was finished in 1889.\nIt is painted often.")
    return folder


def resay(*words: str | Path) -> list[str]:
    done = CliRunner().invoke(app, ["index", *map(str, words)])
    if done.exception is not None:
        raise done.exception
    assert done.exit_code == 0
    return done.stdout.splitlines()


def test_it_says_what_was_done(folder: Path) -> None:
    assert resay(folder) == [
        "added: bridge.md",
        "added: tower.txt",
        "2 added, 0 changed, 0 removed, 0 unchanged, 0 skipped; 3 documents",
    ]
    (folder / "bridge.md").unlink()
    (folder / "tower.txt").write_text("The tower.")
    (folder / "bad.txt").write_bytes(b"\xff")
    assert resay(folder) == [
        "changed: tower.txt",
        "removed: bridge.md",
        "skipped: bad.txt: it is not UTF-8 text; save it as UTF-8",
        "0 added, 1 changed, 1 removed, 0 unchanged, 1 skipped; 1 document",
    ]


def test_many_files_are_counted(folder: Path) -> None:
    for i in range(30):
        (folder / f"{i}.txt").write_text("text")
    lines = resay(folder)
    assert lines[20:] == [
        "added: and 12 more",
        "32 added, 0 changed, 0 removed, 0 unchanged, 0 skipped; 33 documents",
    ]


def test_it_searches(folder: Path, tmp_path: Path) -> None:
    index = tmp_path / "index.sqlite"
    *_, first = resay(
        folder, "--index", index, "--search", "when was the tower finished?", "-k", "1"
    )
    name, score, line = first.split("  ")
    assert (name, line) == ("tower.txt#1", "The tower was finished in 1889.")
    assert float(score) > 0
    assert index.is_file()
    assert resay(folder, "--index", index, "--search", "zebra")[-1] == "nothing found"


def test_a_long_line_is_cut(folder: Path) -> None:
    (folder / "tower.txt").write_text("tower " * 50)
    *_, found = resay(folder, "--search", "tower")
    assert found.endswith("tower towe…")


def test_bad_input(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot search the folder .*nowhere"):
        resay(tmp_path / "nowhere")
    with pytest.raises(ConfigurationError, match="not a Resay index"):
        resay(folder, "--index", folder / "tower.txt")
    assert CliRunner().invoke(app, ["index", str(folder), "-k", "0"]).exit_code == 2


def test_exit_code_of_bad_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["resay", "index", str(tmp_path / "nowhere")])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert "cannot search the folder" in capsys.readouterr().err


def test_the_language_of_the_files(folder: Path) -> None:
    assert resay(folder, "--language", "none", "--search", "lamp")[-1] == "nothing found"
    found = resay(folder, "--language", "en", "--search", "lamp")
    assert found[-1].startswith("bridge.md#2")
    # Not its heading.
    assert found[-1].endswith("  There are 31.")
    done = CliRunner().invoke(app, ["index", str(folder), "--language", "xx"])
    assert done.exit_code == 2
    assert "must be auto, none or one of" in " ".join(done.stderr.replace("│", " ").split())
