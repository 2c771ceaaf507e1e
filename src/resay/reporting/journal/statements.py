"""What the databases are told."""

from __future__ import annotations

from resay.reporting.journal.rows import COLUMNS
from resay.reporting.journal.session import JournalError, Row

__all__ = [
    "FORGET_VERSION",
    "GET",
    "LATEST",
    "MIGRATIONS",
    "PRUNE_OLD",
    "PRUNE_SURPLUS",
    "READ_VERSION",
    "SET_VERSION",
    "VERSIONS_TABLE",
    "insert",
    "newer",
    "recent",
]

VERSIONS_TABLE = "resay_journal_version"
READ_VERSION = "SELECT version FROM resay_journal_version"
FORGET_VERSION = "DELETE FROM resay_journal_version"
SET_VERSION = "INSERT INTO resay_journal_version (version) VALUES (?)"

# Each leads from one version of the tables to the next. What was released is never changed; a new
# one is added at the end.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE resay_journal_version (version INTEGER NOT NULL)",
        "CREATE TABLE resay_journal_entries ("
        " id TEXT NOT NULL PRIMARY KEY,"
        " time DOUBLE PRECISION NOT NULL,"
        " request_id TEXT,"
        " model TEXT NOT NULL,"
        " policy TEXT NOT NULL,"
        " tenant TEXT,"
        " api TEXT NOT NULL,"
        " action TEXT NOT NULL,"
        " decision TEXT NOT NULL,"
        " score DOUBLE PRECISION,"
        " reason TEXT NOT NULL,"
        " flagged BIGINT NOT NULL,"
        " sentences BIGINT NOT NULL,"
        " latency_s DOUBLE PRECISION NOT NULL,"
        " check_s DOUBLE PRECISION NOT NULL,"
        " main_calls BIGINT NOT NULL,"
        " main_prompt_tokens BIGINT NOT NULL,"
        " main_completion_tokens BIGINT NOT NULL,"
        " main_cost_usd DOUBLE PRECISION,"
        " main_cancelled BIGINT NOT NULL,"
        " check_calls BIGINT NOT NULL,"
        " check_prompt_tokens BIGINT NOT NULL,"
        " check_completion_tokens BIGINT NOT NULL,"
        " check_cost_usd DOUBLE PRECISION,"
        " check_cancelled BIGINT NOT NULL,"
        " verdict TEXT NOT NULL,"
        " question TEXT)",
        "CREATE INDEX resay_journal_by_time ON resay_journal_entries (time, id)",
        "CREATE INDEX resay_journal_by_decision ON resay_journal_entries (decision, time, id)",
    ),
)
LATEST = len(MIGRATIONS)

_NAMES = ", ".join(COLUMNS)
GET = f"SELECT {_NAMES} FROM resay_journal_entries WHERE id = ?"  # noqa: S608 - our own names
PRUNE_OLD = (
    "DELETE FROM resay_journal_entries WHERE id IN"
    " (SELECT id FROM resay_journal_entries WHERE time < ? ORDER BY time LIMIT ?)"
)
PRUNE_SURPLUS = (
    "DELETE FROM resay_journal_entries WHERE id IN (SELECT id FROM resay_journal_entries"
    " ORDER BY time DESC, id DESC LIMIT ? OFFSET ?)"
)


def newer(version: int) -> JournalError:
    """Return what to say of tables that a newer Resay made."""
    return JournalError(
        f"the journal's tables have version {version!r}, and this Resay knows up to {LATEST}:"
        " install the Resay that made them, or name another journal"
    )


def insert(rows: int) -> str:
    """Return the statement that writes so many entries, but those that are there already."""
    values = ", ".join(["?"] * len(COLUMNS))
    return (
        f"INSERT INTO resay_journal_entries ({_NAMES})"  # noqa: S608 - our own names
        f" VALUES {', '.join([f'({values})'] * rows)} ON CONFLICT (id) DO NOTHING"
    )


def recent(limit: int, before: str | None, equal: dict[str, str | None]) -> tuple[str, Row]:
    """Return the query for the newest entries.

    Args:
        limit: How many.
        before: The id of an entry; only what is older is wanted.
        equal: What columns must hold; None for whatever.
    """
    wanted = {column: value for column, value in equal.items() if value is not None}
    conditions = [f"{column} = ?" for column in wanted]
    values: list[str | int] = list(wanted.values())
    if before is not None:
        conditions.append(
            "(time, id) < (SELECT time, id FROM resay_journal_entries WHERE id = ?)",
        )
        values.append(before)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return (
        f"SELECT {_NAMES} FROM resay_journal_entries{where}"  # noqa: S608 - our own names
        " ORDER BY time DESC, id DESC LIMIT ?",
        (*values, limit),
    )
