"""Private SQLite files, and transactions in them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path


def open_database(
    path: Path, set_up: Iterable[str], *, busy_timeout_s: float
) -> sqlite3.Connection:
    """Open a SQLite file, creating it if needed, and set up the connection.

    Threads may share the connection if they take turns.

    Args:
        path: The file.
        set_up: Statements to execute on the new connection.
        busy_timeout_s: Seconds that a statement waits for writes of other processes.

    Raises:
        sqlite3.Error: The file is not a SQLite file, or cannot be used.
        OSError: The file cannot be created.
    """
    _make_private(path)
    connection = sqlite3.connect(
        path, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False
    )
    try:
        # Another process may hold the lock; if WAL is not available at all, the file still works.
        with suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL")
        for statement in set_up:
            connection.execute(statement)
    except BaseException:
        connection.close()
        raise
    return connection


def _make_private(path: Path) -> None:
    """Create the file before SQLite does, which would make it readable by everyone."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Never open an existing file: closing it again would drop SQLite's locks on it.
    if not path.exists():
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


@contextmanager
def transaction(connection: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Generator[None]:
    """Commit the block's statements, or roll them back if it raises."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite itself ends the transaction after some errors, such as a full disk.
        with suppress(sqlite3.OperationalError):
            connection.execute("ROLLBACK")
        raise
