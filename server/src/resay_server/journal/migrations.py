"""The journal's tables: statements that create them, and change those of older versions."""

from __future__ import annotations

from collections.abc import Mapping

from resay_server.journal.errors import JournalError

BUCKET_S = 1800
"""The length of time that a rollup covers, in seconds."""
VERSIONS_TABLE = "resay_journal_version"
READ_VERSION = "SELECT version FROM resay_journal_version"
DELETE_VERSION = "DELETE FROM resay_journal_version"
SET_VERSION = "INSERT INTO resay_journal_version (version) VALUES (?)"
# Each migrates the tables to the next version. Never change a released one; append a new one.
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
    (
        "CREATE INDEX resay_journal_by_tenant ON resay_journal_entries (tenant, time, id)"
        " WHERE tenant IS NOT NULL",
    ),
    (
        "CREATE INDEX resay_journal_by_request ON resay_journal_entries (request_id, time)"
        " WHERE request_id IS NOT NULL",
        # Feedback is deleted with its entry.
        "CREATE TABLE resay_journal_feedback ("
        " entry_id TEXT NOT NULL REFERENCES resay_journal_entries (id) ON DELETE CASCADE,"
        " claim BIGINT NOT NULL,"
        " rater TEXT NOT NULL,"
        " time DOUBLE PRECISION NOT NULL,"
        " rating TEXT NOT NULL,"
        " about TEXT NOT NULL,"
        " source TEXT NOT NULL,"
        " note TEXT,"
        " PRIMARY KEY (entry_id, claim, rater))",
        "CREATE TABLE resay_journal_draws ("
        " entry_id TEXT NOT NULL PRIMARY KEY"
        " REFERENCES resay_journal_entries (id) ON DELETE CASCADE,"
        " time DOUBLE PRECISION NOT NULL,"
        " method TEXT NOT NULL,"
        " weight DOUBLE PRECISION NOT NULL)",
    ),
    (
        # Entries from before the full-text index existed, which have yet to be indexed.
        "CREATE TABLE resay_journal_unindexed (entry_id TEXT NOT NULL PRIMARY KEY"
        " REFERENCES resay_journal_entries (id) ON DELETE CASCADE)",
    ),
    (),  # PostgreSQL's rollups.
    (
        "ALTER TABLE resay_journal_draws RENAME TO resay_journal_sampled",
        "ALTER TABLE resay_journal_rollups RENAME COLUMN stretch TO bucket",
        "ALTER TABLE resay_journal_changed RENAME COLUMN stretch TO bucket",
    ),
    (),  # The evidence, as bytes.
)
LATEST = len(MIGRATIONS)
"""The version of the tables that this Resay writes."""


def newer_version(version: int) -> JournalError:
    """Return the error for tables made by a newer Resay."""
    return JournalError(
        f"the journal's tables have version {version!r}, but this Resay supports at most {LATEST};"
        " upgrade Resay, or use another journal"
    )


_SQLITE_BUCKET = f"CAST({{}}.time / {BUCKET_S} AS INTEGER)"
_SQLITE_ROLLUPS = (
    "CREATE TABLE resay_journal_rollups ("
    " stretch INTEGER NOT NULL,"
    " field TEXT NOT NULL,"
    " name TEXT,"
    " consistent INTEGER NOT NULL,"
    " flagged INTEGER NOT NULL,"
    " inconclusive INTEGER NOT NULL,"
    " skipped INTEGER NOT NULL,"
    " blocked INTEGER NOT NULL,"
    " regenerated INTEGER NOT NULL,"
    " unpriced INTEGER NOT NULL,"
    " cost_usd REAL NOT NULL,"
    " check_cost_usd REAL NOT NULL,"
    # NULL if all entries of the bucket have this name.
    " latencies BLOB,"
    " checks BLOB)",
    "CREATE INDEX resay_journal_rollups_by_stretch ON resay_journal_rollups (stretch, field)",
    # The buckets whose entries changed since their rollups were built.
    "CREATE TABLE resay_journal_changed (stretch INTEGER PRIMARY KEY)",
    f"INSERT INTO resay_journal_changed SELECT DISTINCT {_SQLITE_BUCKET.format('e')}"  # noqa: S608 - our own names
    " FROM resay_journal_entries e",
    *(
        f"CREATE TRIGGER resay_journal_rollups_{event.lower()} AFTER {event}"  # noqa: S608 - our own names
        " ON resay_journal_entries BEGIN"
        f" DELETE FROM resay_journal_rollups WHERE stretch = {_SQLITE_BUCKET.format(row)};"
        f" INSERT OR IGNORE INTO resay_journal_changed VALUES ({_SQLITE_BUCKET.format(row)}); END"
        for event, row in (("INSERT", "NEW"), ("DELETE", "OLD"))
    ),
)
_SQLITE_WORDS = (
    "CREATE TABLE resay_journal_words ("
    " key INTEGER PRIMARY KEY,"
    " entry_id TEXT NOT NULL UNIQUE,"
    " words TEXT NOT NULL)",
    # Delete an entry's words with it, whichever way it is deleted.
    "CREATE TRIGGER resay_journal_words_delete AFTER DELETE ON resay_journal_entries BEGIN"
    " DELETE FROM resay_journal_words WHERE entry_id = OLD.id; END",
    # Verdicts without content are packed (blobs), and need no index.
    "INSERT INTO resay_journal_unindexed SELECT id FROM resay_journal_entries"
    " WHERE typeof(verdict) <> 'blob' OR question IS NOT NULL",
)
SQLITE_MIGRATIONS: Mapping[int, tuple[str, ...]] = {
    2: _SQLITE_ROLLUPS,
    4: _SQLITE_WORDS,
    6: (
        "DROP INDEX resay_journal_rollups_by_stretch",
        "CREATE INDEX resay_journal_rollups_by_bucket ON resay_journal_rollups (bucket, field)",
    ),
    7: ("ALTER TABLE resay_journal_entries ADD COLUMN evidence BLOB",),
}
"""The parts of migrations that are specific to SQLite, by version."""
# The full-text index, if SQLite has FTS5. It records only which entries contain each word.
FULL_TEXT_TABLE = "resay_journal_found"
SQLITE_FULL_TEXT = (
    f"CREATE VIRTUAL TABLE {FULL_TEXT_TABLE} USING fts5 (words, content = 'resay_journal_words',"
    " content_rowid = 'key', detail = none, columnsize = 0,"
    " tokenize = \"ascii tokenchars '_~'\")",
    f"CREATE TRIGGER {FULL_TEXT_TABLE}_insert AFTER INSERT ON resay_journal_words BEGIN"  # noqa: S608 - our own names
    f" INSERT INTO {FULL_TEXT_TABLE} (rowid, words) VALUES (NEW.key, NEW.words); END",
    f"CREATE TRIGGER {FULL_TEXT_TABLE}_delete AFTER DELETE ON resay_journal_words BEGIN"  # noqa: S608 - our own names
    f" INSERT INTO {FULL_TEXT_TABLE} ({FULL_TEXT_TABLE}, rowid, words)"
    " VALUES ('delete', OLD.key, OLD.words); END",
    f"INSERT INTO {FULL_TEXT_TABLE} ({FULL_TEXT_TABLE}) VALUES ('rebuild')",  # noqa: S608 - our own names
)

# The arbitrary keys of the buckets' locks begin with this one; nothing else uses them.
BUCKET_LOCKS = 7236142100000000
_TYPES = (("INTEGER", "BIGINT"), ("REAL", "DOUBLE PRECISION"), ("BLOB", "BYTEA"))
_FARTHEST_S = 1e15
# In whole seconds: dividing a denormal number would raise an underflow error.
_SECOND = f"least(greatest(floor(time), -{_FARTHEST_S}), {_FARTHEST_S})"
_POSTGRES_BUCKET = f"CAST(floor({_SECOND} / {BUCKET_S}) AS BIGINT)"


def _postgres_types(statement: str) -> str:
    for sqlite_type, postgres_type in _TYPES:
        statement = statement.replace(sqlite_type, postgres_type)
    return statement


def _change_function(create: str, column: str) -> str:
    """Return the statement for the function that deletes the rollups of changed entries.

    Args:
        create: `CREATE`, or `CREATE OR REPLACE`.
        column: The column of the buckets.
    """
    # SECURITY DEFINER: roles that write entries may have no rights to the rollups.
    # Ordered, so that two writers to the same buckets do not deadlock.
    return (
        f"{create} FUNCTION resay_journal_change() RETURNS trigger LANGUAGE plpgsql"  # noqa: S608 - our own names
        " SECURITY DEFINER SET search_path FROM CURRENT AS $$ DECLARE buckets BIGINT[]; BEGIN"
        f" buckets := ARRAY(SELECT DISTINCT {_POSTGRES_BUCKET} FROM changed ORDER BY 1);"
        f" PERFORM pg_advisory_xact_lock_shared({BUCKET_LOCKS} + b) FROM unnest(buckets) b;"
        f" PERFORM 1 FROM resay_journal_rollups WHERE {column} = ANY (buckets)"
        f" ORDER BY {column}, field, name FOR UPDATE;"
        f" DELETE FROM resay_journal_rollups WHERE {column} = ANY (buckets);"
        " INSERT INTO resay_journal_changed SELECT unnest(buckets) ON CONFLICT DO NOTHING;"
        " RETURN NULL; END $$"
    )


POSTGRES_MIGRATIONS: Mapping[int, tuple[str, ...]] = {
    4: (
        "CREATE TABLE resay_journal_words ("
        " entry_id TEXT NOT NULL PRIMARY KEY"
        " REFERENCES resay_journal_entries (id) ON DELETE CASCADE,"
        " time DOUBLE PRECISION NOT NULL,"
        " words TSVECTOR NOT NULL)",
        "CREATE INDEX resay_journal_words_by_word ON resay_journal_words USING gin (words)",
        "CREATE INDEX resay_journal_words_by_time ON resay_journal_words (time, entry_id)",
        # Entries without text need no index.
        "INSERT INTO resay_journal_unindexed SELECT id FROM resay_journal_entries"
        """ WHERE question IS NOT NULL OR verdict ~ '"text":"[^"]'""",
    ),
    5: (
        *map(_postgres_types, _SQLITE_ROLLUPS[:3]),
        _change_function("CREATE", "stretch"),
        *(
            f"CREATE TRIGGER resay_journal_rollups_{event.lower()} AFTER {event}"
            f" ON resay_journal_entries REFERENCING {rows} TABLE AS changed"
            " FOR EACH STATEMENT EXECUTE FUNCTION resay_journal_change()"
            for event, rows in (("INSERT", "NEW"), ("DELETE", "OLD"))
        ),
        f"INSERT INTO resay_journal_changed SELECT DISTINCT {_POSTGRES_BUCKET}"  # noqa: S608 - our own names
        " FROM resay_journal_entries",
    ),
    6: (
        "ALTER INDEX resay_journal_rollups_by_stretch RENAME TO resay_journal_rollups_by_bucket",
        _change_function("CREATE OR REPLACE", "bucket"),
    ),
    7: ("ALTER TABLE resay_journal_entries ADD COLUMN evidence BYTEA",),
}
"""The parts of migrations that are specific to PostgreSQL, by version."""
