"""The SQL statements on entries that all databases share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from resay_server.journal.database import Database
from resay_server.journal.entry import SortKey
from resay_server.journal.filters import SqlFilters
from resay_server.journal.rows import COLUMNS, WRITTEN_COLUMNS, Row

Sort = Literal["newest", "score", "cost", "latency"]
_SORT_EXPRESSIONS: Mapping[str, str] = {
    "score": "coalesce(e.score, -1.0)",
    "cost": "coalesce(e.main_cost_usd + e.check_cost_usd, -1.0)",
    "latency": "e.latency_s",
}
_COLUMN_LIST = ", ".join(COLUMNS)
SORT_KEY = (
    f"SELECT e.id, e.time, {', '.join(_SORT_EXPRESSIONS.values())}"  # noqa: S608 - our own names
    " FROM resay_journal_entries e WHERE e.id = ?"
)
GET = f"SELECT {_COLUMN_LIST} FROM resay_journal_entries WHERE id = ?"  # noqa: S608 - our own names
NEWEST_OF_REQUEST = (
    f"SELECT {_COLUMN_LIST} FROM resay_journal_entries"  # noqa: S608 - our own names
    " WHERE request_id = ? AND coalesce(tenant, '') = ? ORDER BY time DESC, id DESC LIMIT 1"
)
DELETE_OLD = (
    "DELETE FROM resay_journal_entries WHERE id IN"
    " (SELECT id FROM resay_journal_entries WHERE time < ? ORDER BY time LIMIT ?)"
)
DELETE_SURPLUS = (
    "DELETE FROM resay_journal_entries WHERE id IN (SELECT id FROM resay_journal_entries"
    " ORDER BY time DESC, id DESC LIMIT ? OFFSET ?)"
)
UNINDEXED = (
    f"SELECT {_COLUMN_LIST} FROM resay_journal_entries WHERE id IN"  # noqa: S608 - our own names
    " (SELECT entry_id FROM resay_journal_unindexed LIMIT ?)"
)
MARK_INDEXED = "DELETE FROM resay_journal_unindexed WHERE entry_id = ?"


def insert(rows: int, columns: Sequence[str] = WRITTEN_COLUMNS) -> str:
    """Return the statement that inserts a number of entries and ignores existing ids.

    Args:
        rows: The number of entries.
        columns: Their columns.
    """
    values = ", ".join(["?"] * len(columns))
    return (
        f"INSERT INTO resay_journal_entries ({', '.join(columns)})"  # noqa: S608 - our own names
        f" VALUES {', '.join([f'({values})'] * rows)} ON CONFLICT (id) DO NOTHING"
    )


def evidence_query(entries: int) -> str:
    """Return the query for the evidence of a number of entries, by their ids."""
    ids = ", ".join(["?"] * entries)
    return (
        "SELECT id, evidence FROM resay_journal_entries"  # noqa: S608 - our own names
        f" WHERE evidence IS NOT NULL AND id IN ({ids})"
    )


def delete_where(column: str) -> str:
    """Return the statement that deletes a limited number of entries with a value in a column."""
    return (
        "DELETE FROM resay_journal_entries WHERE id IN"  # noqa: S608 - our own names
        f" (SELECT id FROM resay_journal_entries WHERE {column} = ? LIMIT ?)"
    )


def recent(
    limit: int,
    before: SortKey | None,
    filters: SqlFilters,
    database: Database,
    sort: Sort = "newest",
) -> tuple[str, Row]:
    """Return the query for the newest entries, or for those with the highest values.

    Args:
        limit: The maximum number of entries.
        before: Only entries that follow this position in the order.
        filters: The filters.
        database: The database.
        sort: The order; entries with unknown values come last.

    Returns:
        The query and its parameters.
    """
    columns = ", ".join(f"e.{name}" for name in COLUMNS)
    if filters.covered_by_search and filters.search is not None and sort == "newest":
        matches, parameters = database.newest_matches(filters.search, before, limit)
        ordered = ", ".join(f"w.{column} DESC" for column in filters.search.order)
        # The index finds names by truncated hashes, which may collide.
        same_names = " AND ".join(filters.conditions[: filters.name_count]) or "1 = 1"
        return (
            f"SELECT {columns} FROM ({matches}) w"  # noqa: S608 - our own names
            " JOIN resay_journal_entries e ON e.id = w.entry_id"
            f" WHERE {same_names} ORDER BY {ordered}",
            (*parameters, *filters.parameters[: filters.name_count]),
        )
    where, parameters = filters.where, filters.where_parameters
    order = ["e.time", "e.id"] if sort == "newest" else [_SORT_EXPRESSIONS[sort], "e.time", "e.id"]
    if before is not None:
        position: Row = (before.time, before.id)
        if sort != "newest":
            position = (getattr(before, sort), *position)
        placeholders = ", ".join("?" * len(order))
        where += f"{' AND' if where else ' WHERE'} ({', '.join(order)}) < ({placeholders})"
        parameters = (*parameters, *position)
    ordered = ", ".join(f"{column} DESC" for column in order)
    return (
        f"SELECT {columns} FROM resay_journal_entries e{where} ORDER BY {ordered} LIMIT ?",  # noqa: S608 - our own names
        (*parameters, limit),
    )
