"""The SQLite database that holds the full-text index of a folder."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

from resay.errors import ConfigurationError
from resay.retrieval.folder_stems import STEM, TOKENIZER
from resay.retrieval.front_matter import MetadataValue

FREQUENT_FROM = 50
"""The number of documents from which the index counts those with a word."""

_APPLICATION_ID = 0x52657361
# Raise it with every change of the tables, or of how text is split into chunks and words.
_VERSION = 3
# Readers wait only for the commit of a finished run, which takes as long as the disk does; writers
# wait for the whole runs of other writers.
_READER_TIMEOUT_S = 60.0
_WRITER_TIMEOUT_S = 1800.0
TABLES = (
    "CREATE TABLE about (folder TEXT NOT NULL, language TEXT NOT NULL, documents INTEGER NOT NULL,"
    " languages TEXT NOT NULL, stemmed TEXT NOT NULL)",
    "CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL,"
    " mtime_ns INTEGER NOT NULL, digest BLOB NOT NULL, skipped TEXT, metadata TEXT, language TEXT,"
    " stemmed INTEGER NOT NULL)",
    "CREATE TABLE labels (file INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL)",
    "CREATE INDEX labels_file ON labels (file, key, value)",
    "CREATE TABLE chunks (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, number INTEGER NOT NULL,"
    " start INTEGER NOT NULL, stop INTEGER NOT NULL, page INTEGER)",
    "CREATE INDEX chunks_file ON chunks (file)",
    "CREATE VIRTUAL TABLE words USING fts5 (path, title, text, pieces, stems,"
    f' tokenize = "{TOKENIZER}")',
    "INSERT INTO words (words, rank) VALUES ('rank', 'bm25(1.0, 2.0, 1.0, 1.0, 0.5)')",
    # A large buffer, to write the terms at once instead of in many segments that are merged again
    # and again.
    "INSERT INTO words (words, rank) VALUES ('hashsize', 16777216)",
    "CREATE VIRTUAL TABLE terms USING fts5vocab (words, col)",
    "CREATE TABLE frequent (term TEXT PRIMARY KEY, documents INTEGER NOT NULL) WITHOUT ROWID",
)
"""The statements that create the tables."""
_TABLE_NAMES = ("about", "files", "labels", "chunks", "terms", "words", "frequent")
SUMMARIZE = (
    "DELETE FROM frequent",
    f"INSERT INTO frequent SELECT CASE col WHEN 'stems' THEN '{STEM}' ELSE '' END || term AS word,"  # noqa: S608
    f" max(doc) FROM terms WHERE doc > {FREQUENT_FROM} GROUP BY word",
    "UPDATE about SET documents = (SELECT count(*) FROM chunks)",
    "UPDATE about SET (languages, stemmed) = (SELECT json_group_array(DISTINCT language),"
    " json_group_array(DISTINCT language) FILTER (WHERE stemmed) FROM files"
    " WHERE language IS NOT NULL)",
)
"""The statements that update the summaries of an index after a change."""
_creation_lock = threading.Lock()


class NoIndexError(ConfigurationError):
    """The index does not exist, or this version cannot read it."""


@contextmanager
def open_index(
    path: Path, mode: Literal["read", "write"], *, folder: Path
) -> Generator[sqlite3.Connection]:
    """Open an index in a transaction, which is rolled back on errors.

    A reader sees one state while the index is open. A writer excludes other writers.

    Args:
        path: The file; a writer creates it if it is missing.
        mode: Whether to read or write.
        folder: The folder that is indexed.

    Raises:
        NoIndexError: There is no index to read, or it has another version.
        ConfigurationError: It cannot be opened, is damaged, or is another kind of file.
    """
    if mode == "write":
        _create(path, folder)
    elif not path.is_file():
        raise _no_index_error(path, folder)
    try:
        with closing(_connect(path, mode)) as connection:
            _check(connection, path, folder, mode)
            yield connection
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise _open_error(error, path) from error


# A rollback journal, SQLite's default, instead of a write-ahead log: that needs files beside the
# index which even readers must be able to write, so an index in a read-only folder or image could
# not be read. The price is that readers wait while a transaction is committed. They do not wait
# while it is prepared, because `cache_spill` keeps it in memory until then.
def _connect(path: Path, mode: Literal["read", "write"]) -> sqlite3.Connection:
    # Readers also open it for writing, because they may have to roll back the transaction of a
    # process that died; SQLite falls back to read-only without the permission.
    uri = f"{path.absolute().as_uri()}?mode=rw"
    timeout_s = _READER_TIMEOUT_S if mode == "read" else _WRITER_TIMEOUT_S
    connection = sqlite3.connect(uri, uri=True, timeout=timeout_s, isolation_level=None)
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


def _create(path: Path, folder: Path) -> None:
    """Create the file if missing, with the folder's permissions, since it repeats its content."""
    # Closing a file drops SQLite's locks on it in the same process, so no other thread may open
    # this one before it is closed.
    with _creation_lock:
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
                    f"cannot create the index {str(path)!r}: {error.strerror}; name a file that can"
                    " be written as `index`"
                ) from error


def _check(
    connection: sqlite3.Connection, path: Path, folder: Path, mode: Literal["read", "write"]
) -> None:
    """Check that a file is an index; create the tables if it is empty or of an older version."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application == 0 and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        version = 0
    elif application != _APPLICATION_ID:
        raise ConfigurationError(
            f"{str(path)!r} is another kind of database; name another file as `index`"
        )
    if version > _VERSION:
        raise NoIndexError(
            f"the index {str(path)!r} was made by a newer version of Resay; upgrade, or name"
            " another file as `index`"
        )
    if version == _VERSION:
        return
    if mode == "read":
        raise _no_index_error(path, folder)
    rebuild(connection, path, folder)


def rebuild(connection: sqlite3.Connection, path: Path, folder: Path) -> None:
    """Drop and create the tables."""
    for name in _TABLE_NAMES:
        connection.execute(f"DROP TABLE IF EXISTS {name}")
    for statement in TABLES:
        connection.execute(statement)
    connection.execute(
        "INSERT INTO about VALUES (?, 'none', 0, '[]', '[]')", (_relative_folder(path, folder),)
    )
    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {_VERSION}")


def require_folder(connection: sqlite3.Connection, path: Path, folder: Path) -> None:
    """Check that an index belongs to a folder.

    Raises:
        ConfigurationError: It belongs to another folder.
    """
    (indexed_folder,) = connection.execute("SELECT folder FROM about").fetchone()
    if indexed_folder != _relative_folder(path, folder):
        raise ConfigurationError(
            f"{str(path)!r} was built for another folder ({indexed_folder!r} relative to it), not"
            f" for {str(folder)!r}; name another file as `index`, or delete it if the folder was"
            " moved"
        )


def label_of(value: MetadataValue) -> str:
    """Normalize a metadata value for comparison: 2024, 2024.0 and "2024" are the same."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _relative_folder(path: Path, folder: Path) -> str:
    """Return the folder's path relative to the index, since the two may be moved together."""
    real_path = os.path.realpath(folder)
    try:
        return Path(os.path.relpath(real_path, os.path.realpath(path.parent))).as_posix()
    except ValueError:  # On another drive.
        return Path(real_path).as_posix()


def _no_index_error(path: Path, folder: Path) -> NoIndexError:
    return NoIndexError(
        f"there is no index {str(path)!r} that this version of Resay can read; run"
        f" `resay index {folder}`, with --index if it is not in the folder"
    )


def _open_error(error: sqlite3.Error, path: Path) -> ConfigurationError:
    name = str(path)
    if "no such module" in str(error):
        return ConfigurationError(
            "searching a folder needs SQLite with FTS5, which this Python's"
            f" SQLite {sqlite3.sqlite_version} lacks; use a Python that has it, or another"
            " retriever"
        )
    if isinstance(error, sqlite3.OperationalError):
        return ConfigurationError(
            f"cannot use the index {name!r}: {error}; make it readable, and to change it also"
            " writable, as must be its folder, or name another file as `index`"
        )
    return ConfigurationError(
        f"{name!r} is damaged, or not a Resay index ({error}); delete it if it is an index, to"
        " rebuild it, or name another file as `index`"
    )
