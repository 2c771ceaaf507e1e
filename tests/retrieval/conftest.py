from __future__ import annotations

from pathlib import Path

import pytest

from support.folder import GUIDES, write, write_all


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of two files that nobody has touched for long."""
    folder = tmp_path / "folder"
    write(folder / "bridge.md", "# Bridge\n\nIt opened in 1932.")
    write(folder / "tower.txt", "The tower was finished in 1889.")
    return folder


@pytest.fixture
def guides(tmp_path: Path) -> Path:
    """A folder of files of several kinds, written just now."""
    return write_all(tmp_path / "guides", GUIDES)
