"""Bringing the index of a folder up to date."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from resay.errors import ConfigurationError
from resay.retrieval.folder_files import (
    Content,
    Excerpt,
    Found,
    Skipped,
    UnreadableError,
    excerpts,
    find_files,
    read,
)
from resay.retrieval.folder_store import NoIndexError, belongs_to, opened
from resay.retrieval.words import pieces_of_unspaced

__all__ = ["INDEX_NAME", "IndexReport", "Skipped", "index_folder", "index_path"]

INDEX_NAME = ".resay-index.sqlite"

_ADD_FILE = "INSERT INTO files (path, size, mtime_ns, digest, skipped) VALUES (?, ?, ?, ?, ?)"
_ADD_CHUNK = "INSERT INTO chunks (file, number, start, stop, page) VALUES (?, ?, ?, ?, ?)"
_ADD_WORDS = "INSERT INTO words (rowid, path, title, text, pieces) VALUES (?, ?, ?, ?, ?)"
_FORGET = (
    "DELETE FROM words WHERE rowid IN (SELECT id FROM chunks WHERE file = ?)",
    "DELETE FROM chunks WHERE file = ?",
    "DELETE FROM files WHERE id = ?",
)


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What was done to bring an index up to date.

    Attributes:
        added: The files that were not in it, by their paths seen from the folder.
        changed: Those with other text than before.
        removed: Those that are gone, or can no longer be read.
        unchanged: Those that are as they were.
        skipped: Those that cannot be searched, and why.
        documents: How many documents are in the index now.
    """

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    documents: int


def index_path(folder: Path, index: str | os.PathLike[str] | None) -> Path:
    """Return which file is the index of a folder."""
    return folder / INDEX_NAME if index is None else Path(index).expanduser().absolute()


def index_folder(
    path: str | os.PathLike[str], index: str | os.PathLike[str] | None = None
) -> IndexReport:
    """Bring the index of a folder up to date, or make it.

    Files of the same size and time as before are not read. All changes are made at once: who
    searches meanwhile, here or in another process, finds what was there before. Where nothing has
    changed, nothing is written.

    Args:
        path: The folder; `~` is the home folder.
        index: The file of the index, on a local disk; `.resay-index.sqlite` in the folder if None.

    Returns:
        What was done.

    Raises:
        ConfigurationError: The folder cannot be read, or the index cannot be written, is damaged,
            or is something else.
    """
    folder = Path(path).expanduser().absolute()
    file = index_path(folder, index)
    listing = find_files(folder, file)
    with suppress(NoIndexError, _OutdatedError):
        return _go_over(folder, file, "stamps", listing)
    try:
        return _go_over(folder, file, "write")
    except ConfigurationError as error:
        # The times of copies differ from those of the files they were made from: what is in a
        # read-only image may be up to date all the same.
        try:
            return _go_over(folder, file, "compare", listing)
        except (NoIndexError, _OutdatedError):
            raise error from None


_How = Literal["stamps", "compare", "write"]
_Listing = tuple[Sequence[Found], Sequence[Skipped]]


class _OutdatedError(Exception):
    """The index is not up to date, and not to be written."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A file as the index has it."""

    id: int
    stamp: tuple[int, int]
    digest: bytes
    skipped: str | None


def _go_over(folder: Path, file: Path, how: _How, listing: _Listing | None = None) -> IndexReport:
    with opened(file, "write" if how == "write" else "read", folder=folder) as connection:
        belongs_to(connection, file, folder)
        # A list from before the wait for others who write may lack what they have found.
        return _Run(connection, how).over(listing or find_files(folder, file))


class _Run:
    """One comparison of a folder with its index.

    Args:
        connection: The index.
        how: Whether to take all files of other times for changed (stamps), to read these (compare),
            or also to write down what has changed.
    """

    def __init__(self, connection: sqlite3.Connection, how: _How) -> None:
        self._connection = connection
        self._how: _How = how
        self._added: list[str] = []
        self._changed: list[str] = []
        self._removed: list[str] = []
        self._unchanged: list[str] = []
        self._skipped: list[Skipped] = []

    def over(self, listing: _Listing) -> IndexReport:
        found, unseen = listing
        known = self._known()
        for path in sorted(known.keys() - {one.path for one in found}):
            self._drop(path, known[path])
        for one in found:
            self._compare(one, known.get(one.path))
        self._skipped.extend(unseen)
        return IndexReport(
            added=tuple(self._added),
            changed=tuple(self._changed),
            removed=tuple(self._removed),
            unchanged=tuple(self._unchanged),
            skipped=tuple(sorted(self._skipped, key=lambda skipped: skipped.path)),
            documents=self._connection.execute("SELECT count(*) FROM chunks").fetchone()[0],
        )

    def _known(self) -> dict[str, _Known]:
        rows = self._connection.execute(
            "SELECT path, id, size, mtime_ns, digest, skipped FROM files"
        )
        return {
            path: _Known(number, (size, mtime_ns), digest, skipped)
            for path, number, size, mtime_ns, digest, skipped in rows
        }

    def _compare(self, found: Found, known: _Known | None) -> None:
        if known is not None and known.stamp == (found.size, found.mtime_ns):
            self._keep(found.path, known)
            return
        if self._how == "stamps":
            raise _OutdatedError
        try:
            content = read(found, time.time_ns())
            if known is not None and known.digest == content.digest:
                self._touch(known, content)
                self._keep(found.path, known)
            else:
                self._replace(found.path, known, content)
        except UnreadableError as error:
            self._skipped.append(Skipped(found.path, str(error)))
            if known is not None:
                self._drop(found.path, known)

    def _keep(self, path: str, known: _Known) -> None:
        if known.skipped is None:
            self._unchanged.append(path)
        else:
            self._skipped.append(Skipped(path, known.skipped))

    def _touch(self, known: _Known, content: Content) -> None:
        if self._how == "write":
            self._connection.execute(
                "UPDATE files SET mtime_ns = ? WHERE id = ?", (content.mtime_ns, known.id)
            )

    def _replace(self, path: str, known: _Known | None, content: Content) -> None:
        parts: list[Excerpt] = []
        reason = None
        try:
            parts.extend(excerpts(path, content.data))
        except UnreadableError as error:
            if not error.lasting:
                raise
            reason = str(error)
        self._must_write()
        had_text = known is not None and known.skipped is None
        if known is not None:
            self._forget(known)
        self._write(path, content, reason, parts)
        if reason is not None:
            self._skipped.append(Skipped(path, reason))
            self._removed.extend([path] if had_text else [])
        else:
            (self._changed if had_text else self._added).append(path)

    def _drop(self, path: str, known: _Known) -> None:
        self._must_write()
        self._forget(known)
        if known.skipped is None:
            self._removed.append(path)

    def _must_write(self) -> None:
        if self._how != "write":
            raise _OutdatedError

    def _forget(self, known: _Known) -> None:
        for statement in _FORGET:
            self._connection.execute(statement, (known.id,))

    def _write(
        self, path: str, content: Content, skipped: str | None, parts: Sequence[Excerpt]
    ) -> None:
        row = (path, content.size, content.mtime_ns, content.digest, skipped)
        file = self._connection.execute(_ADD_FILE, row).lastrowid
        for number, part in enumerate(parts, 1):
            chunk = part.chunk
            place = (file, number, chunk.start, chunk.end, part.page)
            added = self._connection.execute(_ADD_CHUNK, place).lastrowid
            pieces = pieces_of_unspaced(f"{path}\n{chunk.title}\n{part.text}")
            self._connection.execute(_ADD_WORDS, (added, path, chunk.title, part.text, pieces))
