"""SQLite files that only their owner reads, and transactions in them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path


def opened(path: Path, set_up: Iterable[str], *, patience_s: float) -> sqlite3.Connection:
    """Open a file, which is made where there is none, and set it up.

    One thread after the other may use the connection.

    Args:
        path: The file.
        set_up: Statements for each connection.
        patience_s: How long a statement waits for other processes that write.

    Raises:
        sqlite3.Error: It is no such file, or cannot be used.
        OSError: It cannot be made.
    """
    _make_private(path)
    connection = sqlite3.connect(
        path, timeout=patience_s, isolation_level=None, check_same_thread=False
    )
    try:
        # Somebody else may be at it; where it fails for good, the file still works.
        with suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL")
        for statement in set_up:
            connection.execute(statement)
    except BaseException:
        connection.close()
        raise
    return connection


def _make_private(path: Path) -> None:
    """Make the file before SQLite does, which would let everybody read it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Never open one that is there: closing it again would drop SQLite's locks on it.
    if not path.exists():
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


@contextmanager
def transaction(connection: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Generator[None]:
    """Do all of it or, where it fails, nothing."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite ends it by itself where the disk is full, for one.
        with suppress(sqlite3.OperationalError):
            connection.execute("ROLLBACK")
        raise
