"""The file that holds the index of a folder."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal

from resay.core.verdict import Document
from resay.errors import ConfigurationError
from resay.retrieval.words import TOKENIZER, match_expression

__all__ = ["NoIndexError", "belongs_to", "opened", "search"]

_APPLICATION_ID = 0x52657361
# To be raised with every change of the tables, and of how text is divided into chunks and words.
_VERSION = 1

# Readers wait while a finished run is written down, which takes as long as the disk does; whoever
# indexes waits for the others who do.
_READER_PATIENCE_S = 60.0
_WRITER_PATIENCE_S = 1800.0

_TABLES = (
    "CREATE TABLE about (folder TEXT NOT NULL)",
    "CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL,"
    " mtime_ns INTEGER NOT NULL, digest BLOB NOT NULL, skipped TEXT)",
    "CREATE TABLE chunks (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, number INTEGER NOT NULL,"
    " start INTEGER NOT NULL, stop INTEGER NOT NULL, page INTEGER)",
    "CREATE INDEX chunks_file ON chunks (file)",
    f'CREATE VIRTUAL TABLE words USING fts5 (path, title, text, pieces, tokenize = "{TOKENIZER}")',
    "INSERT INTO words (words, rank) VALUES ('rank', 'bm25(1.0, 2.0, 1.0, 1.0)')",
)
_NAMES = ("about", "files", "chunks", "words")
_SEARCH = """
    SELECT words.path, number, words.title, words.text, start, stop, page, score
    FROM (
        SELECT rowid AS found, rank AS score FROM words WHERE words MATCH ?
        ORDER BY rank, rowid LIMIT ?
    )
    JOIN words ON words.rowid = found JOIN chunks ON chunks.id = found
    ORDER BY score, found
"""

_making = threading.Lock()


class NoIndexError(ConfigurationError):
    """There is no index, or none that this version can read."""


@contextmanager
def opened(
    path: Path, mode: Literal["read", "write"], *, folder: Path
) -> Generator[sqlite3.Connection]:
    """Open an index, and undo what was not committed at the end.

    For reading, it shows one state for as long as it is open. For writing, nobody else writes
    until it is closed.

    Args:
        path: The file; made where it is missing and to be written.
        mode: What for.
        folder: The folder it is the index of.

    Raises:
        NoIndexError: There is none to read, or it is of another version.
        ConfigurationError: It cannot be opened, is damaged, or is something else.
    """
    if mode == "write":
        _make(path, folder)
    elif not path.is_file():
        raise _no_index(path, folder)
    try:
        with closing(_connect(path, mode)) as connection:
            _check(connection, path, folder, mode)
            yield connection
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise _explained(error, path) from error


# A rollback journal, which is SQLite's default, and not a write-ahead log: that needs files beside
# the index which even readers must be able to write, so an index in a read-only folder or image
# could not be read. The price is that readers wait while a transaction is written down, but not
# while it is put together: it stays in memory until then, which is what `cache_spill` is for.
def _connect(path: Path, mode: Literal["read", "write"]) -> sqlite3.Connection:
    # Also opened to be written by readers, who may have to undo what a process that died began;
    # SQLite is content with less where it is not allowed to.
    uri = f"{path.absolute().as_uri()}?mode=rw"
    patience_s = _READER_PATIENCE_S if mode == "read" else _WRITER_PATIENCE_S
    connection = sqlite3.connect(uri, uri=True, timeout=patience_s, isolation_level=None)
    try:
        if mode == "read":
            connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN")
        else:
            connection.execute("PRAGMA cache_spill = OFF")
            connection.execute("BEGIN IMMEDIATE")
    except BaseException:
        connection.close()
        raise
    return connection


def _make(path: Path, folder: Path) -> None:
    """Make the file where it is missing, so that whoever cannot read the folder cannot read it."""
    # Closing a file drops the locks that SQLite has on it in the same process: nobody else opens
    # this one before it is closed again.
    with _making:
        if path.exists():
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            mode = folder.stat().st_mode & 0o666 | 0o600
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        except OSError as error:
            # Another process may have been faster.
            if not path.is_file():
                raise ConfigurationError(
                    f"cannot make the index {str(path)!r}: {error.strerror}; name a file that can"
                    " be written as `index`"
                ) from error


def _check(
    connection: sqlite3.Connection, path: Path, folder: Path, mode: Literal["read", "write"]
) -> None:
    """See that it is an index of ours, and make one of an empty file, or of an older version."""
    application, version = _mark(connection)
    if application == 0 and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        version = 0
    elif application != _APPLICATION_ID:
        raise ConfigurationError(
            f"{str(path)!r} is a database of something else; name another file as `index`"
        )
    if version > _VERSION:
        raise NoIndexError(
            f"the index {str(path)!r} was made by a newer version of Resay; upgrade, or name"
            " another file as `index`"
        )
    if version == _VERSION:
        return
    if mode == "read":
        raise _no_index(path, folder)
    _rebuild(connection, path, folder)


def _rebuild(connection: sqlite3.Connection, path: Path, folder: Path) -> None:
    """Make the tables anew."""
    for name in _NAMES:
        connection.execute(f"DROP TABLE IF EXISTS {name}")
    for statement in _TABLES:
        connection.execute(statement)
    connection.execute("INSERT INTO about VALUES (?)", (_whereabouts(path, folder),))
    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {_VERSION}")


def belongs_to(connection: sqlite3.Connection, path: Path, folder: Path) -> None:
    """See that an index is of a folder, and of no other.

    Raises:
        ConfigurationError: It is of another.
    """
    (kept,) = connection.execute("SELECT folder FROM about").fetchone()
    if kept != _whereabouts(path, folder):
        raise ConfigurationError(
            f"{str(path)!r} is the index of another folder, {kept!r} as seen from there, and not of"
            f" {str(folder)!r}; name another file as `index`, or delete it if the folder was moved"
        )


def search(path: Path, folder: Path, query: str, k: int) -> list[Document]:
    """Find the chunks with the words of a search, by BM25.

    Args:
        path: The index.
        folder: The folder it is the index of.
        query: Any text.
        k: How many chunks at the most.

    Returns:
        The best chunks, best first. Their scores are positive and can be compared within one search
        only.

    Raises:
        NoIndexError: There is none, or it is of another version.
        ConfigurationError: It cannot be read, is damaged, or is something else.
    """
    expression = match_expression(query)
    with opened(path, "read", folder=folder) as connection:
        rows = connection.execute(_SEARCH, (expression, k)).fetchall() if expression else []
    return [_document(*row) for row in rows]


def _document(
    path: str,
    number: int,
    title: str,
    text: str,
    start: int,
    end: int,
    page: int | None,
    rank: float,
) -> Document:
    metadata: Mapping[str, Any] = {"title": title, "path": path, "start": start, "end": end}
    if page is not None:
        metadata = {**metadata, "page": page}
    return Document(f"{path}#{number}", text, -rank, metadata)


def _mark(connection: sqlite3.Connection) -> tuple[int, int]:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return application, version


def _whereabouts(path: Path, folder: Path) -> str:
    """Where the folder is, seen from the index: the two may be moved together."""
    there, here = os.path.realpath(folder), os.path.realpath(path.parent)
    try:
        return Path(os.path.relpath(there, here)).as_posix()
    except ValueError:  # On another drive.
        return Path(there).as_posix()


def _no_index(path: Path, folder: Path) -> NoIndexError:
    return NoIndexError(
        f"there is no index {str(path)!r} that this version of Resay can read; run"
        f" `resay index {folder}`, with --index if it is not in the folder"
    )


def _explained(error: sqlite3.Error, path: Path) -> ConfigurationError:
    name = str(path)
    if "no such module" in str(error):
        return ConfigurationError(
            "searching a folder needs SQLite with FTS5, which this Python's"
            f" SQLite {sqlite3.sqlite_version} lacks; use a Python with another, or another"
            " retriever"
        )
    if isinstance(error, sqlite3.OperationalError):
        return ConfigurationError(
            f"cannot use the index {name!r}: {error}; see that it can be read, to be changed also"
            " written, as must its folder, or name another file as `index`"
        )
    return ConfigurationError(
        f"{name!r} is damaged, or no index of Resay's ({error}); delete it if it is one, and it is"
        " made again, or name another file as `index`"
    )
