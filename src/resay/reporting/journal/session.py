"""The seam to the databases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from resay.errors import ResayError

__all__ = ["JournalError", "RefusedError", "Row", "Session", "Store"]

Row = tuple[Any, ...]


class JournalError(ResayError):
    """The journal cannot be read or written. The message holds neither content nor a password."""


class RefusedError(JournalError):
    """The database is there and will not take these rows, now or later."""


class Session(Protocol):
    """What one event loop has open of a database. The tables are there before it is used."""

    async def insert(self, rows: Sequence[Row]) -> None:
        """Write entries, all or none of them; those whose ids are there already are left as is.

        Raises:
            RefusedError: It takes other rows, but not these.
            JournalError: The database cannot be written.
        """
        ...

    async def delete(self, sql: str, row: Row) -> int:
        """Run a statement that deletes entries.

        Returns:
            How many it deleted.

        Raises:
            JournalError: The database cannot be written.
        """
        ...

    async def read(self, sql: str, row: Row) -> list[Row]:
        """Run a query, beside what is being written.

        Raises:
            JournalError: The database cannot be read.
        """
        ...

    async def forget(self) -> None:
        """See that what was deleted leaves the disk, as far as that is ours to do.

        Raises:
            JournalError: The database cannot be written.
        """
        ...

    async def aclose(self) -> None:
        """Close what is open, after what is being done."""
        ...


class Store(Protocol):
    """A database that several event loops, threads and processes may share.

    Statements are the same for all, with `?` where values go, but for what `whole` gives.
    """

    def open(self) -> Session:
        """Return a session for the running event loop; nothing is connected to before its use."""
        ...

    def whole(self, sql: str) -> str:
        """Return the expression for the whole part of a number that is not negative."""
        ...
