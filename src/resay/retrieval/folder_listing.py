"""List the searchable files of a folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from resay.errors import ConfigurationError
from resay.retrieval.excerpts import SUFFIXES
from resay.retrieval.folder_files import MAX_BYTES, TOO_LONG, FolderFile

# A deeper folder is skipped, so that it does not stop the others.
_MAX_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that cannot be searched.

    Attributes:
        path: Its path relative to the folder.
        reason: The reason.
    """

    path: str
    reason: str


def list_files(folder: Path, ignored: Path) -> tuple[list[FolderFile], list[Skipped]]:
    """List the searchable files of a folder and its subfolders.

    Hidden files are ignored. A link is followed if its target is inside the folder and not found
    under its own name.

    Args:
        folder: The folder.
        ignored: A file to ignore.

    Returns:
        The files, sorted by path, and those that cannot be accessed.

    Raises:
        ConfigurationError: The folder does not exist or cannot be read.
    """
    root = Path(os.path.realpath(folder))
    walk = _Walk(root, seen={os.path.realpath(ignored)})
    try:
        walk.enter(root)
    except OSError as error:
        raise ConfigurationError(
            f"cannot search the folder {str(folder)!r}: {error.strerror}; name one that exists"
            " and can be read"
        ) from error
    walk.enter_subfolders()
    # Links last, so that files are found under their own names first.
    while walk.links:
        walk.follow(walk.links.pop(0))
        walk.enter_subfolders()
    return sorted(walk.files, key=attrgetter("path")), walk.skipped


class _Walk:
    """One walk through a folder, which accesses each file once."""

    def __init__(self, root: Path, seen: set[str]) -> None:
        self._root = root
        self._root_path = str(root)
        self._seen = seen
        self._subfolders: list[str] = []
        self.links: list[Path] = []
        self.files: list[FolderFile] = []
        self.skipped: list[Skipped] = []

    def enter_subfolders(self) -> None:
        """Enter the subfolders of the folders entered so far, and theirs."""
        while self._subfolders:
            path = self._subfolders.pop()
            self._try(path, self.enter, Path(path))

    def enter(self, folder: Path) -> None:
        """List the files and links of a folder; `enter_subfolders` enters its subfolders."""
        real_path = os.path.realpath(folder)
        if not Path(real_path).is_relative_to(self._root):
            # It became a link meanwhile.
            return
        real_parts = Path(real_path).relative_to(self._root).parts
        self._seen.add(real_path)
        if len(folder.relative_to(self._root).parts) > _MAX_DEPTH:
            name, _ = self._name(str(folder))
            self.skipped.append(Skipped(name, f"it is more than {_MAX_DEPTH} folders deep"))
            return
        with os.scandir(folder) as entries:
            visible = [entry for entry in entries if not entry.name.startswith(".")]
        for entry in sorted(visible, key=attrgetter("name")):
            if entry.is_symlink():
                self.links.append(Path(entry.path))
            elif entry.is_dir():
                self._subfolders.append(entry.path)
            elif entry.name.lower().endswith(SUFFIXES):
                # No `Path` for each file: tests/performance/folder.py measures this loop.
                target = os.path.join(real_path, entry.name)  # noqa: PTH118
                parts = (*real_parts, entry.name)
                self._try(entry.path, self._add, entry.path, target, parts, entry.stat)

    def follow(self, link: Path) -> None:
        """Follow a link if its target is in the folder and was not seen before."""
        target = os.path.realpath(link)
        if target in self._seen or not Path(target).is_relative_to(self._root):
            return
        if Path(target).is_dir():
            self._try(str(link), self.enter, link)
        elif link.name.lower().endswith(SUFFIXES):
            parts = Path(target).relative_to(self._root).parts
            self._try(str(link), self._add, str(link), target, parts, link.stat)

    def _try(self, path: str, visit: Callable[..., None], *args: Any) -> None:
        try:
            visit(*args)
        except OSError as error:
            name, _ = self._name(path)
            self.skipped.append(Skipped(name, str(error.strerror)))

    def _add(
        self,
        path: str,
        target: str,
        parts: tuple[str, ...],
        stat_of: Callable[[], os.stat_result],
    ) -> None:
        status = stat_of()
        if not stat.S_ISREG(status.st_mode) or target in self._seen:
            return
        self._seen.add(target)
        name, is_valid = self._name(path)
        if status.st_size > MAX_BYTES:
            self.skipped.append(Skipped(name, TOO_LONG))
        elif not is_valid:
            self.skipped.append(Skipped(name, "its name is not valid Unicode"))
        else:
            file = FolderFile(
                path=name,
                root=self._root_path,
                parts=parts,
                size=status.st_size,
                mtime_ns=status.st_mtime_ns,
            )
            self.files.append(file)

    def _name(self, path: str) -> tuple[str, bool]:
        """Return a file's relative path as valid Unicode, and whether that is its real name."""
        relative = path[len(self._root_path) :].lstrip(os.sep).replace(os.sep, "/")
        if relative.isascii():
            return relative, True
        name = os.fsencode(relative).decode(errors="replace")
        return name, name == relative
