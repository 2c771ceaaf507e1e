"""What the journal requires of a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from resay_server.journal.entry import SortKey
from resay_server.journal.rows import Row


class Session(Protocol):
    """One event loop's connections to a database. They create the tables before the first use."""

    async def insert(self, rows: Sequence[Row], terms: Sequence[str | None]) -> None:
        """Write all entries or none; entries whose ids exist already are left unchanged.

        Args:
            rows: The entries.
            terms: The search terms of each entry, or None.

        Raises:
            RefusedError: The database works but rejects these rows.
            JournalError: The database cannot be written.
        """
        ...

    async def change(self, sql: str, parameters: Row) -> int:
        """Run one statement that writes or deletes.

        Returns:
            The number of rows written or deleted.

        Raises:
            RefusedError: The database works but rejects this row.
            JournalError: The database cannot be written.
        """
        ...

    async def read(self, sql: str, parameters: Row) -> list[Row]:
        """Run a query, concurrently with writes.

        Raises:
            JournalError: The database cannot be read.
        """
        ...

    async def build_rollups(self, now: float) -> bool:
        """Build some of the missing rollups for the time before `now`.

        Returns:
            Whether there may be more to build.

        Raises:
            JournalError: The database cannot be written.
        """
        ...

    async def summary_from_rollups(
        self, since: float, until: float, step_s: float, by: str | None
    ) -> list[Row] | None:
        """Return the rows of a summary's query from rollups; None if they do not suffice.

        Raises:
            JournalError: The database cannot be read.
        """
        ...

    async def purge(self) -> bool:
        """Do part of the work that removes deleted data from the disk, if that is ours to do.

        Returns:
            Whether there is more to do.

        Raises:
            JournalError: The database cannot be written.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections after their pending work."""
        ...


class Database(Protocol):
    """A database that several event loops, threads and processes may share.

    All databases share the statements, with `?` as placeholder, except for the parts returned here.
    """

    def open(self) -> Session:
        """Return a session for the running event loop, which connects on first use."""
        ...

    def integer_part(self, expression: str) -> str:
        """Return the expression for the integer part of a non-negative number."""
        ...

    def percentile(self, name: str, percent: int) -> str:
        """Return the expression for a percentile of `{name}_s`, the nearest rank."""
        ...

    @property
    def needs_ranks(self) -> bool:
        """Whether percentiles need `{name}_rank` and the count of `entries` in each row."""
        ...

    def text_search(
        self, terms: Sequence[str], since: float | None, until: float | None
    ) -> TextSearch:
        """Return the search for entries with all of some terms.

        Args:
            terms: The terms from `query_terms`, at least one.
            since: The earliest time, in seconds since the epoch.
            until: The end of the time (exclusive), in seconds since the epoch.
        """
        ...

    def newest_matches(
        self, search: TextSearch, before: SortKey | None, limit: int
    ) -> tuple[str, Row]:
        """Return the query for the newest matching entries.

        Args:
            search: The search.
            before: The position of a matching entry; only older ones are returned.
            limit: The maximum number of entries.

        Returns:
            The query, which selects `entry_id` and the columns of the search's order; its
            parameters.
        """
        ...

    @property
    def index_statement(self) -> str:
        """The statement that indexes an entry; its parameters are the entry's terms and id."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSearch:
    """A database's full-text search.

    Attributes:
        tables: The tables to select from, with that of the words as `w`.
        condition: The condition.
        parameters: Its parameters.
        time_conditions: Further conditions, on the time.
        order: The columns from `Database.newest_matches` that sort entries by time, oldest first.
    """

    tables: str
    condition: str
    parameters: Row
    time_conditions: tuple[str, ...]
    order: tuple[str, ...]
