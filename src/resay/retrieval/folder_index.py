"""Create and update the full-text index of a folder."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

from resay.errors import ConfigurationError
from resay.lang.detection import detect_from_words
from resay.retrieval.excerpts import Excerpts, excerpts
from resay.retrieval.folder_database import (
    SUMMARIZE,
    NoIndexError,
    label_of,
    open_index,
    rebuild,
    require_folder,
)
from resay.retrieval.folder_files import FileData, FileReader, FolderFile, UnreadableError
from resay.retrieval.folder_languages import FolderLanguage, has_stems, require_stems
from resay.retrieval.folder_listing import Skipped, list_files
from resay.retrieval.folder_stems import stemmer, words_of
from resay.retrieval.folder_terms import unspaced_ngrams

INDEX_NAME = ".resay-index.sqlite"
_INSERT_FILE = "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INSERT_LABEL = "INSERT INTO labels VALUES (?, ?, ?)"
_INSERT_CHUNK = "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?)"
_INSERT_WORDS = (
    "INSERT INTO words (rowid, path, title, text, pieces, stems) VALUES (?, ?, ?, ?, ?, ?)"
)
_DELETE_FILE = (
    "DELETE FROM words WHERE rowid IN (SELECT id FROM chunks WHERE file = ?)",
    "DELETE FROM chunks WHERE file = ?",
    "DELETE FROM labels WHERE file = ?",
    "DELETE FROM files WHERE id = ?",
)
_LAST_IDS = "SELECT (SELECT ifnull(max(id), 0) FROM files), (SELECT ifnull(max(id), 0) FROM chunks)"
# The number of chunks written at once.
_BATCH_SIZE = 1000
# The words of a file from which its language is guessed.
_GUESS_WORDS = 200


@dataclass(frozen=True, slots=True)
class IndexReport:
    """The result of an update of an index. Paths are relative to the folder.

    Attributes:
        added: The files that were not in the index before.
        changed: The files whose text changed.
        removed: The files that are gone or can no longer be read.
        unchanged: The files that did not change.
        skipped: The files that cannot be searched, with the reasons.
        documents: The number of documents in the index now.
    """

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    documents: int


def index_path(folder: Path, index: str | os.PathLike[str] | None) -> Path:
    """Return the path of the index file of a folder."""
    return folder / INDEX_NAME if index is None else Path(index).expanduser().absolute()


def index_folder(
    path: str | os.PathLike[str],
    index: str | os.PathLike[str] | None = None,
    *,
    language: FolderLanguage = "auto",
) -> IndexReport:
    """Update or create the index of a folder.

    Files whose size and time did not change are not read. All changes are committed at once:
    concurrent searches, here or in another process, see the previous state. If nothing has
    changed, nothing is written.

    Args:
        path: The folder; `~` is the home folder.
        index: The index file, on a local disk; `.resay-index.sqlite` in the folder if None.
        language: The code of the files' language, so that a search finds inflected words; auto to
            detect it for each file by its stop words, none to match exact words. An index for
            another language is rebuilt.

    Returns:
        The changes made.

    Raises:
        ConfigurationError: The folder cannot be read; or the index cannot be written, is damaged,
            or is another kind of file.
        MissingDependencyError: The language's stemmer is not installed.
    """
    if language not in ("auto", "none"):
        require_stems(language)
    folder = Path(path).expanduser().absolute()
    file = index_path(folder, index)
    listing = list_files(folder, file)
    with suppress(NoIndexError, _OutdatedError):
        return _update_index(folder, file, language, "stamps", listing)
    try:
        return _update_index(folder, file, language, "write", listing)
    except ConfigurationError as error:
        # Copied files have other times than the originals, so an index in a read-only image may be
        # up to date all the same.
        try:
            return _update_index(folder, file, language, "compare", listing)
        except (NoIndexError, _OutdatedError):
            raise error from None


_Mode = Literal["stamps", "compare", "write"]
_Listing = tuple[Sequence[FolderFile], Sequence[Skipped]]


class _OutdatedError(Exception):
    """The index is outdated, and was opened for reading only."""


class _IndexedFile(NamedTuple):
    """The index's record of a file."""

    id: int
    stamp: tuple[int, int]
    digest: bytes
    skipped: str | None


def _update_index(
    folder: Path, file: Path, language: FolderLanguage, mode: _Mode, listing: _Listing
) -> IndexReport:
    with open_index(file, "write" if mode == "write" else "read", folder=folder) as connection:
        require_folder(connection, file, folder)
        if not _is_stemmed(connection, language, mode):
            if mode != "write":
                raise _OutdatedError
            rebuild(connection, file, folder)
            connection.execute("UPDATE about SET language = ?", (language,))
        if mode == "write" and connection.execute("SELECT 1 FROM files").fetchone() is not None:
            # While this writer waited, others may have indexed new files.
            listing = list_files(folder, file)
        return _Update(connection, language, mode).run(listing)


def _is_stemmed(connection: sqlite3.Connection, language: FolderLanguage, mode: _Mode) -> bool:
    """Return whether an index has the right stems, as far as the stemmers are installed."""
    made_for, *lists = connection.execute(
        "SELECT language, languages, stemmed FROM about"
    ).fetchone()
    languages, stemmed = map(json.loads, lists)
    if made_for != language:
        return False
    # An index that cannot be written stays usable if a stemmer was installed since.
    return mode == "compare" or all(code in stemmed for code in languages if has_stems(code))


class _Update:
    """One comparison of a folder with its index.

    Args:
        connection: The index.
        language: The language of the files.
        mode: Whether to treat every file with another time as changed (stamps), to read those
            (compare), or also to write the changes (write).
    """

    def __init__(
        self, connection: sqlite3.Connection, language: FolderLanguage, mode: _Mode
    ) -> None:
        self._connection = connection
        self._language: FolderLanguage = language
        self._mode: _Mode = mode
        self._added: list[str] = []
        self._changed: list[str] = []
        self._removed: list[str] = []
        self._unchanged: list[str] = []
        self._skipped: list[Skipped] = []
        self._has_changed = False
        # Rows to insert.
        self._files: list[tuple[object, ...]] = []
        self._labels: list[tuple[object, ...]] = []
        self._chunks: list[tuple[object, ...]] = []
        self._texts: list[tuple[object, ...]] = []
        # By language: the index of a text in `_texts`, and its words.
        self._to_stem: dict[str, list[tuple[int, list[str]]]] = {}
        self._last_file, self._last_chunk = connection.execute(_LAST_IDS).fetchone()

    def run(self, listing: _Listing) -> IndexReport:
        files, inaccessible = listing
        indexed_files = self._indexed_files()
        for path in sorted(indexed_files.keys() - {file.path for file in files}):
            self._remove(path, indexed_files[path])
        with FileReader() as reader:
            for file in files:
                self._compare(file, indexed_files.get(file.path), reader)
        self._flush()
        if self._has_changed:
            for statement in SUMMARIZE:
                self._connection.execute(statement)
        self._skipped.extend(inaccessible)
        return IndexReport(
            added=tuple(self._added),
            changed=tuple(self._changed),
            removed=tuple(self._removed),
            unchanged=tuple(self._unchanged),
            skipped=tuple(sorted(self._skipped, key=lambda skipped: skipped.path)),
            documents=self._connection.execute("SELECT count(*) FROM chunks").fetchone()[0],
        )

    def _indexed_files(self) -> dict[str, _IndexedFile]:
        rows = self._connection.execute(
            "SELECT path, id, size, mtime_ns, digest, skipped FROM files"
        )
        files: dict[str, _IndexedFile] = {}
        for path, number, size, mtime_ns, digest, skipped in rows:
            files[path] = _IndexedFile(number, (size, mtime_ns), digest, skipped)
        return files

    def _compare(self, file: FolderFile, indexed: _IndexedFile | None, reader: FileReader) -> None:
        if indexed is not None and indexed.stamp == (file.size, file.mtime_ns):
            self._keep(file.path, indexed)
            return
        if self._mode == "stamps":
            raise _OutdatedError
        try:
            data = reader.read(file, time.time_ns())
            if indexed is None or indexed.digest != data.digest:
                self._replace(file.path, indexed, data)
                return
        except UnreadableError as error:
            self._skipped.append(Skipped(file.path, str(error)))
            if indexed is not None:
                self._remove(file.path, indexed)
            return
        if self._mode == "write":
            self._connection.execute(
                "UPDATE files SET mtime_ns = ? WHERE id = ?", (data.mtime_ns, indexed.id)
            )
        self._keep(file.path, indexed)

    def _keep(self, path: str, indexed: _IndexedFile) -> None:
        if indexed.skipped is None:
            self._unchanged.append(path)
        else:
            self._skipped.append(Skipped(path, indexed.skipped))

    def _replace(self, path: str, indexed: _IndexedFile | None, data: FileData) -> None:
        content = Excerpts(())
        skip_reason = None
        try:
            content = excerpts(path, data.data)
        except UnreadableError as error:
            if not error.lasting:
                raise
            skip_reason = str(error)
        self._require_write_mode()
        had_text = indexed is not None and indexed.skipped is None
        if indexed is not None:
            self._delete(indexed)
        self._insert(path, data, skip_reason, content)
        if skip_reason is not None:
            self._skipped.append(Skipped(path, skip_reason))
            if had_text:
                self._removed.append(path)
        elif had_text:
            self._changed.append(path)
        else:
            self._added.append(path)

    def _remove(self, path: str, indexed: _IndexedFile) -> None:
        self._require_write_mode()
        self._delete(indexed)
        if indexed.skipped is None:
            self._removed.append(path)

    def _require_write_mode(self) -> None:
        if self._mode != "write":
            raise _OutdatedError

    def _delete(self, indexed: _IndexedFile) -> None:
        self._has_changed = True
        for statement in _DELETE_FILE:
            self._connection.execute(statement, (indexed.id,))

    def _insert(
        self, path: str, data: FileData, skip_reason: str | None, content: Excerpts
    ) -> None:
        self._has_changed = True
        self._last_file += 1
        file = self._last_file
        words = [words_of(f"{part.chunk.title}\n{part.text}") for part in content.parts]
        language = self._language_of(words)
        is_stemmed = language is not None and has_stems(language)
        metadata_json = json.dumps(content.metadata) if content.metadata else None
        stamp = (data.size, data.mtime_ns, data.digest)
        self._files.append((file, path, *stamp, skip_reason, metadata_json, language, is_stemmed))
        for key, value in content.metadata.items():
            for item in value if isinstance(value, tuple) else (value,):
                self._labels.append((file, key, label_of(item)))
        words_of_path = words_of(path)
        for number, part in enumerate(content.parts, 1):
            chunk = part.chunk
            self._last_chunk += 1
            row = self._last_chunk
            self._chunks.append((row, file, number, chunk.start, chunk.end, part.page))
            ngrams = unspaced_ngrams(f"{path}\n{chunk.title}\n{part.text}")
            if language is not None and is_stemmed:
                to_stem = (len(self._texts), words_of_path + words[number - 1])
                self._to_stem.setdefault(language, []).append(to_stem)
            self._texts.append((row, path, chunk.title, part.text, ngrams))
        if len(self._texts) >= _BATCH_SIZE:
            self._flush()

    def _language_of(self, words: Sequence[Sequence[str]]) -> str | None:
        if self._language == "auto":
            first_words = list(chain.from_iterable(words[:3]))
            return detect_from_words(first_words[:_GUESS_WORDS], unique=True)
        return None if self._language == "none" else self._language

    def _flush(self) -> None:
        stems = [""] * len(self._texts)
        for language, texts in self._to_stem.items():
            stemmed = stemmer(language).stems([words for _, words in texts])
            for (index, _), text_stems in zip(texts, stemmed, strict=True):
                stems[index] = text_stems
        rows = [(*row, text_stems) for row, text_stems in zip(self._texts, stems, strict=True)]
        self._connection.executemany(_INSERT_FILE, self._files)
        self._connection.executemany(_INSERT_LABEL, self._labels)
        self._connection.executemany(_INSERT_CHUNK, self._chunks)
        self._connection.executemany(_INSERT_WORDS, rows)
        for pending in (self._files, self._labels, self._chunks, self._texts, self._to_stem):
            pending.clear()
