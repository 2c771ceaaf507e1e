"""The journal in PostgreSQL.

Writers are concurrent here, so those who write entries of a bucket of time share a lock on it,
which building its rollup takes exclusively: a rollup contains all entries written before it, and
later writes delete it. A bucket that is being written to is left for later.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import anyio

from resay.adapters import compute, load_optional
from resay.errors import ConfigurationError
from resay_server.journal.database import TextSearch
from resay_server.journal.entry import SortKey
from resay_server.journal.errors import JournalError, RefusedError
from resay_server.journal.migrations import (
    BUCKET_LOCKS,
    BUCKET_S,
    DELETE_VERSION,
    LATEST,
    MIGRATIONS,
    POSTGRES_MIGRATIONS,
    READ_VERSION,
    SET_VERSION,
    VERSIONS_TABLE,
    newer_version,
)
from resay_server.journal.rollups import (
    CHANGED,
    ENTRIES,
    INSERT_ROLLUP,
    LATE_S,
    MARK_BUILT,
    MAX_ROWS,
    ROLLUPS,
    bucket_times,
    consists_of_buckets,
    rollups_of,
    summary_rows,
)
from resay_server.journal.rows import Row
from resay_server.journal.statements import insert

if TYPE_CHECKING:
    from psycopg import AsyncConnection

T = TypeVar("T")

_CONNECT_S = 5
# Without a timeout, a server that does not answer would block until TCP gives up.
_TIMEOUT_S = 30.0
# Not `to_regclass`, which may still miss a table that another session has just created.
_EXISTS = "SELECT 1 FROM pg_class WHERE relname = ? AND pg_table_is_visible(oid)"
# Held during migrations; an arbitrary key that nothing else uses.
_LOCK_MIGRATIONS = "SELECT pg_advisory_xact_lock(7236142077612401)"
# Roles that may only insert entries build no rollups, and read them only if that was granted too.
_BUILDABLE = CHANGED.replace(
    " ORDER",
    " AND has_table_privilege('resay_journal_changed', 'DELETE')"
    " AND has_table_privilege('resay_journal_rollups', 'INSERT')"
    " AND has_table_privilege('resay_journal_rollups', 'DELETE') ORDER",
)
_MAY_READ_ROLLUPS = (
    "SELECT has_table_privilege('resay_journal_rollups', 'SELECT')"
    " AND has_table_privilege('resay_journal_changed', 'SELECT')"
)
_TRY_LOCK = "SELECT pg_try_advisory_xact_lock(?)"
_DELETE_ROLLUPS = "DELETE FROM resay_journal_rollups WHERE bucket = ?"
_COUNT_CHANGED = "SELECT count(*) FROM resay_journal_changed WHERE bucket >= ? AND bucket < ?"
# The entries of those buckets of a span that have no rollups.
_ENTRIES_WITHOUT_ROLLUPS = (
    ENTRIES.partition(" WHERE")[0]
    + " e JOIN resay_journal_changed c ON e.time >= CAST(c.bucket AS DOUBLE PRECISION)"
    f" * {BUCKET_S} AND e.time < CAST(c.bucket + 1 AS DOUBLE PRECISION) * {BUCKET_S}"
    " WHERE c.bucket >= ? AND c.bucket < ?"
)
# With more buckets than this without rollups, the database is faster at summing up.
_MAX_CHANGED = 50
# The number of rollups per statement, which may have at most 65,535 parameters.
_ROLLUPS_PER_STATEMENT = 1000
# The work of summing up an entry, in the characters by which `compute` measures work.
_ENTRY_COST = 20
# The number of newest entries to scan for a word before the index is used.
_SCANNED = 5000
_WORDS = "array_to_tsvector(string_to_array({}, ' '))"
_INDEX_ENTRY = (
    "INSERT INTO resay_journal_words (entry_id, time, words)"  # noqa: S608 - our own names
    f" SELECT e.id, e.time, {_WORDS.format('?')} FROM resay_journal_entries e WHERE e.id = ?"
    " ON CONFLICT DO NOTHING"
)


class PostgresDatabase:
    """Stores the journal in PostgreSQL, in tables whose names begin with `resay_journal`.

    Args:
        url: The address: `postgresql://`, with user, password, database and options in libpq's
            format.

    Raises:
        ConfigurationError: libpq cannot parse the address.
        MissingDependencyError: psycopg is not installed.
    """

    def __init__(self, url: str) -> None:
        self._driver = load_optional(
            "psycopg", package="psycopg", extra="postgres", purpose="a journal in PostgreSQL"
        )
        self._options = _parse_url(self._driver, url)
        parts = urlsplit(url)
        # Without the user and the password.
        self._name = f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def __repr__(self) -> str:
        return repr(self._name)

    def open(self) -> PostgresSession:
        """Return a session for the running event loop."""
        return PostgresSession(self._driver, self._options, repr(self))

    def integer_part(self, expression: str) -> str:
        """Return the expression for the integer part of a number."""
        return f"CAST(floor({expression}) AS BIGINT)"

    def percentile(self, name: str, percent: int) -> str:
        """Return the expression for a percentile."""
        return f"percentile_disc({percent / 100}) WITHIN GROUP (ORDER BY {name}_s)"

    @property
    def needs_ranks(self) -> bool:
        """Whether percentiles need ranks."""
        return False

    def text_search(
        self, terms: Sequence[str], since: float | None, until: float | None
    ) -> TextSearch:
        """Return the search for entries with all of some terms."""
        quoted = [f"'{term[:-1]}':*" if term.endswith("*") else f"'{term}'" for term in terms]
        time_conditions: list[str] = []
        if since is not None:
            time_conditions.append(f"w.time >= {float(since)!r}")
        if until is not None:
            time_conditions.append(f"w.time < {float(until)!r}")
        return TextSearch(
            tables="resay_journal_words w",
            condition="w.words @@ CAST(? AS tsquery)",
            parameters=(" & ".join(quoted),),
            time_conditions=tuple(time_conditions),
            order=("time", "entry_id"),
        )

    def newest_matches(
        self, search: TextSearch, before: SortKey | None, limit: int
    ) -> tuple[str, Row]:
        """Return the query for the newest matching entries.

        The planner cannot estimate a word's frequency, and would scan all entries by time for a
        rare one. So the query scans only the newest entries, which suffices for frequent words.
        If it finds too few, it gets all matches from the index and sorts them.
        """
        conditions, parameters = list(search.time_conditions), search.parameters
        if before is not None:
            conditions.append("(w.time, w.entry_id) < (?, ?)")
            parameters = (before.time, before.id, *parameters)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        match_conditions = " AND ".join((*conditions, search.condition))
        newest = f"ORDER BY w.time DESC, w.entry_id DESC LIMIT {limit:d}"
        return (
            "WITH newest AS MATERIALIZED (SELECT w.time, w.entry_id FROM"  # noqa: S608 - our own names
            f" (SELECT * FROM {search.tables}{where}"
            f" ORDER BY w.time DESC, w.entry_id DESC LIMIT {_SCANNED}) w"
            f" WHERE {search.condition} {newest}),"
            " every AS MATERIALIZED (SELECT w.time, w.entry_id FROM"
            f" (SELECT w.time, w.entry_id FROM {search.tables} WHERE {match_conditions}"
            f" AND (SELECT count(*) FROM newest) < {limit:d} OFFSET 0) w {newest})"
            f" SELECT * FROM newest WHERE (SELECT count(*) FROM newest) = {limit:d}"
            " UNION ALL SELECT * FROM every",
            parameters * 2,
        )

    @property
    def index_statement(self) -> str:
        """The statement that indexes an entry."""
        return _INDEX_ENTRY


class PostgresSession:
    """Two connections, so that long reads do not block writes."""

    def __init__(self, driver: Any, options: dict[str, Any], name: str) -> None:
        self._writing = _Connection(driver, options, name)
        self._reading = _Connection(driver, options, name)

    async def insert(self, rows: Sequence[Row], terms: Sequence[str | None]) -> None:
        """Write all entries or none."""
        sql, parameters = insert(len(rows)), tuple(chain.from_iterable(rows))
        words: list[tuple[str, str]] = []
        for row, row_terms in zip(rows, terms, strict=True):
            if row_terms:
                words.append((row[0], row_terms))
        if words:
            # Only for new entries: an existing one may have been stored with other text.
            sql = (
                f"WITH written AS ({sql} RETURNING id, time)"  # noqa: S608 - our own names
                " INSERT INTO resay_journal_words (entry_id, time, words)"
                f" SELECT written.id, written.time, {_WORDS.format('added.words')} FROM written"
                f" JOIN (VALUES {', '.join(['(?, ?)'] * len(words))}) AS added (id, words)"
                " ON added.id = written.id ON CONFLICT DO NOTHING"
            )
            parameters += tuple(chain.from_iterable(words))
        # One statement, because an event loop that is shutting down cannot start the asynchronous
        # generators behind the driver's transactions and `executemany`.
        await self.change(sql, parameters)

    async def change(self, sql: str, parameters: Row) -> int:
        """Run one statement that writes or deletes."""

        async def work(connection: AsyncConnection[Row]) -> int:
            return (await connection.execute(_encoded(sql), parameters)).rowcount

        return await self._writing.do(work)

    async def read(self, sql: str, parameters: Row) -> list[Row]:
        """Run a query."""

        async def work(connection: AsyncConnection[Row]) -> list[Row]:
            cursor = await connection.execute(_encoded(sql), parameters)
            return await cursor.fetchall()

        return await self._reading.do(work, reads=True)

    async def build_rollups(self, now: float) -> bool:
        """Build some of the missing rollups, if the role is allowed to."""

        async def work(connection: AsyncConnection[Row]) -> bool:
            end = int((now - LATE_S) // BUCKET_S)
            rows_read = 0
            for (bucket,) in await _rows(connection, _BUILDABLE, (end,)):
                if rows_read >= MAX_ROWS:
                    return True
                # On a failure, `_Connection` closes the connection, which rolls back.
                await connection.execute(b"BEGIN")
                ((locked,),) = await _rows(connection, _TRY_LOCK, (BUCKET_LOCKS + bucket,))
                # Another process may have been faster.
                if locked and (await connection.execute(_encoded(MARK_BUILT), (bucket,))).rowcount:
                    rows_read += await _build_rollups_of(connection, bucket)
                await connection.execute(b"COMMIT")
            return False

        return await self._writing.do(work)

    async def summary_from_rollups(
        self, since: float, until: float, step_s: float, by: str | None
    ) -> list[Row] | None:
        """Return the rows of slices made of whole buckets; None for other slices."""
        if not consists_of_buckets(since, until, step_s):
            return None
        span = int(since) // BUCKET_S, int(until) // BUCKET_S

        async def work(connection: AsyncConnection[Row]) -> tuple[list[Row], list[Row]] | None:
            # A consistent snapshot of rollups and entries.
            await connection.execute(b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            rollups_and_entries = None
            ((may_read,),) = await _rows(connection, _MAY_READ_ROLLUPS, ())
            if may_read:
                ((changed,),) = await _rows(connection, _COUNT_CHANGED, span)
                if changed <= _MAX_CHANGED:
                    rollups = await _rows(connection, ROLLUPS, (*span, by or ""))
                    entries = await _rows(connection, _ENTRIES_WITHOUT_ROLLUPS, span)
                    rollups_and_entries = rollups, entries
            await connection.execute(b"COMMIT")
            return rollups_and_entries

        rollups_and_entries = await self._reading.do(work, reads=True)
        if rollups_and_entries is None:
            return None
        rollups, entries = rollups_and_entries
        sum_up = partial(summary_rows, rollups, entries, since, step_s, by)
        return await compute(sum_up, chars=_ENTRY_COST * (len(rollups) + len(entries)))

    async def purge(self) -> bool:
        """Do nothing: the server cleans up by itself (VACUUM)."""
        return False

    async def aclose(self) -> None:
        """Close both connections."""
        await self._reading.aclose()
        await self._writing.aclose()


async def _rows(connection: AsyncConnection[Row], sql: str, parameters: Row) -> list[Row]:
    # Binary: as text, latencies would be twice as long and take longer to parse than to query.
    return await (await connection.execute(_encoded(sql), parameters, binary=True)).fetchall()


async def _build_rollups_of(connection: AsyncConnection[Row], bucket: int) -> int:
    """Write the rollups of a bucket, and return its number of entries."""
    await connection.execute(_encoded(_DELETE_ROLLUPS), (bucket,))
    entries = await _rows(connection, ENTRIES, bucket_times(bucket, bucket + 1))
    rollups: list[Row] = []
    if entries:
        rollups = await compute(
            lambda: list(rollups_of(bucket, entries)), chars=_ENTRY_COST * len(entries)
        )
    into, _, placeholders = INSERT_ROLLUP.partition(" VALUES ")
    for start in range(0, len(rollups), _ROLLUPS_PER_STATEMENT):
        batch = rollups[start : start + _ROLLUPS_PER_STATEMENT]
        sql = f"{into} VALUES {', '.join([placeholders] * len(batch))}"
        await connection.execute(_encoded(sql), tuple(chain.from_iterable(batch)))
    return len(entries)


class _Connection:
    def __init__(self, driver: Any, options: dict[str, Any], name: str) -> None:
        self._driver = driver
        self._options = options
        self._name = name
        self._lock = anyio.Lock()
        self._connection: AsyncConnection[Row] | None = None

    async def do(
        self, work: Callable[[AsyncConnection[Row]], Awaitable[T]], *, reads: bool = False
    ) -> T:
        """Run work with the connection.

        Args:
            work: The work.
            reads: Whether it only reads, and can be done again if the server has ended the
                connection since it was last used.

        Raises:
            JournalError: The server cannot be used, or refuses the work.
        """
        async with self._lock:
            try:
                with anyio.fail_after(_TIMEOUT_S):
                    return await self._try(work, reads=reads)
            except (self._driver.DataError, self._driver.IntegrityError) as error:
                problem: JournalError = RefusedError(
                    f"{self._journal} rejected the operation ({_error_name(error)})"
                )
            except (self._driver.Error, OSError) as error:
                problem = JournalError(f"cannot use {self._journal} ({_error_name(error)})")
        # Raised outside the handler, because the driver's messages repeat the values.
        raise problem

    async def aclose(self) -> None:
        async with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                await connection.close()

    @property
    def _journal(self) -> str:
        return f"the journal {self._name}"

    async def _try(self, work: Callable[[AsyncConnection[Row]], Awaitable[T]], *, reads: bool) -> T:
        was_open = self._connection is not None
        connection = self._connection or await self._connect()
        # A failure or a cancellation leaves the connection in an unknown state.
        self._connection = None
        try:
            result = await work(connection)
        except BaseException as error:
            # Not a cancellation, which may break the connection too.
            has_ended = connection.broken and isinstance(error, self._driver.OperationalError)
            await connection.close()
            if not (reads and was_open and has_ended):
                raise
        else:
            self._connection = connection
            return result
        return await self._try(work, reads=reads)

    async def _connect(self) -> AsyncConnection[Row]:
        connection: AsyncConnection[Row] = await self._driver.AsyncConnection.connect(
            **self._options,
            autocommit=True,
            # A pooler such as PgBouncer may switch to a session without the prepared statements.
            prepare_threshold=None,
        )
        try:
            await _migrate(connection)
        except BaseException:
            await connection.close()
            raise
        return connection


async def _migrate(connection: AsyncConnection[Row]) -> None:
    if await _version(connection) == LATEST:
        return
    # On a failure, the caller closes the connection, which rolls back.
    await connection.execute(b"BEGIN")
    await connection.execute(_LOCK_MIGRATIONS)
    # Another process may have been faster.
    current = await _version(connection)
    for version, statements in enumerate(MIGRATIONS[current:], current + 1):
        for statement in (*statements, *POSTGRES_MIGRATIONS.get(version, ())):
            await connection.execute(_encoded(statement))
    await connection.execute(_encoded(DELETE_VERSION))
    await connection.execute(_encoded(SET_VERSION), (LATEST,))
    await connection.execute(b"COMMIT")


async def _version(connection: AsyncConnection[Row]) -> int:
    # Not CREATE TABLE IF NOT EXISTS, which needs rights that few roles should have.
    cursor = await connection.execute(_encoded(_EXISTS), (VERSIONS_TABLE,))
    if await cursor.fetchone() is None:
        return 0
    row = await (await connection.execute(_encoded(READ_VERSION))).fetchone()
    version = row[0] if row else 0
    if version > LATEST:
        raise newer_version(version)
    return version


def _encoded(sql: str) -> bytes:
    return sql.replace("?", "%s").encode()


def _error_name(error: Exception) -> str:
    state = getattr(error, "sqlstate", None)
    return f"{type(error).__name__}, {state}" if state else type(error).__name__


def _parse_url(driver: Any, url: str) -> dict[str, Any]:
    try:
        options: dict[str, Any] = driver.conninfo.conninfo_to_dict(url)
    except driver.Error:
        pass
    else:
        defaults = {"connect_timeout": _CONNECT_S, "application_name": "resay"}
        # The server itself rejects characters that a database in another encoding cannot store.
        return defaults | options | {"client_encoding": "UTF8"}
    # Raised outside the handler, whose exception may repeat a password.
    raise ConfigurationError(
        "PostgreSQL's client cannot read the journal's url; write"
        " postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with special characters as %XX"
    )
