"""The journal in PostgreSQL, with the same rollups as the SQLite file.

Writers are concurrent here, so those who write entries of a stretch of time share a lock on it,
which building its rollup takes exclusively: a rollup contains all entries written before it, and
later writes delete it. A stretch that is being written to is left for later.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import anyio

from resay._internal.event_loops import compute
from resay._internal.importing import load_optional
from resay.errors import ConfigurationError
from resay.reporting.journal.database import (
    FORGET_VERSION,
    LATEST,
    MIGRATIONS,
    READ_VERSION,
    SET_VERSION,
    VERSIONS_TABLE,
    JournalError,
    RefusedError,
    Row,
    Search,
    insert,
    newer,
)
from resay.reporting.journal.entry import SortKey
from resay.reporting.journal.sqlite import (
    CHANGED,
    ENTRIES,
    KEEP,
    KEPT,
    LATE_S,
    MOST_ROWS,
    SETTLED,
    TABLES,
    WIDTH_S,
    fits,
    rollups_of,
    slices_of,
)

if TYPE_CHECKING:
    from psycopg import AsyncConnection

T = TypeVar("T")

_CONNECT_S = 5
# Without a timeout, a server that does not answer would block until TCP gives up.
_PATIENCE_S = 30.0
# Not `to_regclass`, which may still miss a table that another session has just created.
_EXISTS = "SELECT 1 FROM pg_class WHERE relname = ? AND pg_table_is_visible(oid)"
# Held during migrations; an arbitrary key that nothing else uses.
_LOCK = "SELECT pg_advisory_xact_lock(7236142077612401)"

_TYPES = (("INTEGER", "BIGINT"), ("REAL", "DOUBLE PRECISION"), ("BLOB", "BYTEA"))
# The locks of the stretches; arbitrary keys that nothing else uses.
_FIRST_LOCK = 7236142100000000
_FARTHEST_S = 1e15
# In whole seconds: dividing a denormal number would raise an underflow error.
_SECOND = f"least(greatest(floor(time), -{_FARTHEST_S}), {_FARTHEST_S})"
_STRETCH = f"CAST(floor({_SECOND} / {WIDTH_S}) AS BIGINT)"


def _typed(statement: str) -> str:
    for name, other in _TYPES:
        statement = statement.replace(name, other)
    return statement


_OWN = {
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
        *map(_typed, TABLES[:3]),
        # SECURITY DEFINER: roles that write entries may have no rights to the rollups.
        # Ordered, so that two writers to the same stretches do not deadlock.
        "CREATE FUNCTION resay_journal_change() RETURNS trigger LANGUAGE plpgsql"  # noqa: S608 - our own names
        " SECURITY DEFINER SET search_path FROM CURRENT AS $$ DECLARE stretches BIGINT[]; BEGIN"
        f" stretches := ARRAY(SELECT DISTINCT {_STRETCH} FROM changed ORDER BY 1);"
        f" PERFORM pg_advisory_xact_lock_shared({_FIRST_LOCK} + s) FROM unnest(stretches) s;"
        " PERFORM 1 FROM resay_journal_rollups WHERE stretch = ANY (stretches)"
        " ORDER BY stretch, field, name FOR UPDATE;"
        " DELETE FROM resay_journal_rollups WHERE stretch = ANY (stretches);"
        " INSERT INTO resay_journal_changed SELECT unnest(stretches) ON CONFLICT DO NOTHING;"
        " RETURN NULL; END $$",
        *(
            f"CREATE TRIGGER resay_journal_rollups_{event.lower()} AFTER {event}"
            f" ON resay_journal_entries REFERENCING {which} TABLE AS changed"
            " FOR EACH STATEMENT EXECUTE FUNCTION resay_journal_change()"
            for event, which in (("INSERT", "NEW"), ("DELETE", "OLD"))
        ),
        f"INSERT INTO resay_journal_changed SELECT DISTINCT {_STRETCH} FROM resay_journal_entries",  # noqa: S608 - our own names
    ),
}
# Roles that may only insert entries build no rollups, and read them only if that was granted too.
_MAY_ROLL_UP = CHANGED.replace(
    " ORDER",
    " AND has_table_privilege('resay_journal_changed', 'DELETE')"
    " AND has_table_privilege('resay_journal_rollups', 'INSERT')"
    " AND has_table_privilege('resay_journal_rollups', 'DELETE') ORDER",
)
_MAY_READ = (
    "SELECT has_table_privilege('resay_journal_rollups', 'SELECT')"
    " AND has_table_privilege('resay_journal_changed', 'SELECT')"
)
_TAKE = "SELECT pg_try_advisory_xact_lock(?)"
_STRAYED = "DELETE FROM resay_journal_rollups WHERE stretch = ?"
_OPEN = "SELECT count(*) FROM resay_journal_changed WHERE stretch >= ? AND stretch < ?"
# The entries of those stretches of a span that have no rollups.
_UNKEPT = (
    ENTRIES.partition(" WHERE")[0]
    + " e JOIN resay_journal_changed c ON e.time >= CAST(c.stretch AS DOUBLE PRECISION)"
    f" * {WIDTH_S} AND e.time < CAST(c.stretch + 1 AS DOUBLE PRECISION) * {WIDTH_S}"
    " WHERE c.stretch >= ? AND c.stretch < ?"
)
# With more stretches than this without rollups, the database is faster at summing up.
_MOST_OPEN = 50
# The number of rollups per statement, which may have at most 65,535 values.
_KEPT_AT_ONCE = 1000
# The work of summing up an entry, in the characters by which `compute` measures work.
_ADDING = 20
# The number of newest entries to scan for a word before the index is used.
_LOOKED_THROUGH = 5000
_WORDS = "array_to_tsvector(string_to_array({}, ' '))"
_INDEX = (
    "INSERT INTO resay_journal_words (entry_id, time, words)"  # noqa: S608 - our own names
    f" SELECT e.id, e.time, {_WORDS.format('?')} FROM resay_journal_entries e WHERE e.id = ?"
    " ON CONFLICT DO NOTHING"
)


class PostgresStore:
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
        self._options = _parsed(self._driver, url)
        parts = urlsplit(url)
        # Without the user and the password.
        self._name = f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def __repr__(self) -> str:
        return repr(self._name)

    def open(self) -> PostgresSession:
        """Return a session for the running event loop."""
        return PostgresSession(self._driver, self._options, repr(self))

    def whole(self, sql: str) -> str:
        """Return the expression for the integer part of a number."""
        return f"CAST(floor({sql}) AS BIGINT)"

    def percentile(self, name: str, percent: int) -> str:
        """Return the expression for a percentile."""
        return f"percentile_disc({percent / 100}) WITHIN GROUP (ORDER BY {name}_s)"

    @property
    def ranks(self) -> bool:
        """Whether percentiles need ranks."""
        return False

    def search(self, terms: Sequence[str], since: float | None, until: float | None) -> Search:
        """Return the search for entries with all of some terms."""
        quoted = (f"'{term[:-1]}':*" if term.endswith("*") else f"'{term}'" for term in terms)
        limits = [
            f"w.time {sign} {float(moment)!r}"
            for sign, moment in ((">=", since), ("<", until))
            if moment is not None
        ]
        holds, values = "w.words @@ CAST(? AS tsquery)", (" & ".join(quoted),)
        return Search("resay_journal_words w", holds, values, tuple(limits), ("time", "entry_id"))

    def newest(self, search: Search, before: SortKey | None, limit: int) -> tuple[str, Row]:
        """Return the query for the newest matching entries.

        The planner cannot estimate a word's frequency, and would scan all entries by time for a
        rare one. So the query scans only the newest entries, which suffices for frequent words.
        If it finds too few, it gets all matches from the index and sorts them.
        """
        older, values = list(search.limits), search.values
        if before is not None:
            older.append("(w.time, w.entry_id) < (?, ?)")
            values = (before.time, before.id, *values)
        where = f" WHERE {' AND '.join(older)}" if older else ""
        both = " AND ".join((*older, search.holds))
        newest = f"ORDER BY w.time DESC, w.entry_id DESC LIMIT {limit:d}"
        return (
            "WITH newest AS MATERIALIZED (SELECT w.time, w.entry_id FROM"  # noqa: S608 - our own names
            f" (SELECT * FROM {search.rows}{where}"
            f" ORDER BY w.time DESC, w.entry_id DESC LIMIT {_LOOKED_THROUGH}) w"
            f" WHERE {search.holds} {newest}),"
            " every AS MATERIALIZED (SELECT w.time, w.entry_id FROM"
            f" (SELECT w.time, w.entry_id FROM {search.rows} WHERE {both}"
            f" AND (SELECT count(*) FROM newest) < {limit:d} OFFSET 0) w {newest})"
            f" SELECT * FROM newest WHERE (SELECT count(*) FROM newest) = {limit:d}"
            " UNION ALL SELECT * FROM every",
            values * 2,
        )

    @property
    def index(self) -> str:
        """The statement that indexes an entry."""
        return _INDEX


class PostgresSession:
    """Two connections, so that long reads do not block writes."""

    def __init__(self, driver: Any, options: dict[str, Any], name: str) -> None:
        self._writing = _Connection(driver, options, name)
        self._reading = _Connection(driver, options, name)

    async def insert(self, rows: Sequence[Row], terms: Sequence[str | None]) -> None:
        """Write all entries or none."""
        sql, values = insert(len(rows)), tuple(chain.from_iterable(rows))
        # Only for new entries: an existing one may have been stored with other text.
        if words := [(row[0], found) for row, found in zip(rows, terms, strict=True) if found]:
            sql = (
                f"WITH written AS ({sql} RETURNING id, time)"  # noqa: S608 - our own names
                " INSERT INTO resay_journal_words (entry_id, time, words)"
                f" SELECT written.id, written.time, {_WORDS.format('found.words')} FROM written"
                f" JOIN (VALUES {', '.join(['(?, ?)'] * len(words))}) AS found (id, words)"
                " ON found.id = written.id ON CONFLICT DO NOTHING"
            )
            values += tuple(chain.from_iterable(words))
        # One statement, because an event loop that is shutting down cannot start the asynchronous
        # generators behind the driver's transactions and `executemany`.
        await self._change(sql, values)

    async def change(self, sql: str, row: Row) -> int:
        """Run one statement that writes or deletes."""
        return await self._change(sql, row)

    async def read(self, sql: str, row: Row) -> list[Row]:
        """Run a query."""

        async def work(connection: AsyncConnection[Row]) -> list[Row]:
            cursor = await connection.execute(_given(sql), row)
            return await cursor.fetchall()

        return await self._reading.do(work, reads=True)

    async def roll_up(self, now: float) -> bool:
        """Build some of the missing rollups, if the role is allowed to."""

        async def work(connection: AsyncConnection[Row]) -> bool:
            end = int((now - LATE_S) // WIDTH_S)
            read = 0
            for (stretch,) in await _rows(connection, _MAY_ROLL_UP, (end,)):
                if read >= MOST_ROWS:
                    return True
                # On a failure, `_Connection` closes the connection, which rolls back.
                await connection.execute(b"BEGIN")
                ((free,),) = await _rows(connection, _TAKE, (_FIRST_LOCK + stretch,))
                # Another process may have been faster.
                if free and (await connection.execute(_given(SETTLED), (stretch,))).rowcount:
                    read += await _kept(connection, stretch)
                await connection.execute(b"COMMIT")
            return False

        return await self._writing.do(work)

    async def summed_up(
        self, since: float, until: float, step_s: float, by: str | None
    ) -> list[Row] | None:
        """Return the rows of slices made of whole stretches; None for other slices."""
        if not fits(since, until, step_s):
            return None
        span = int(since) // WIDTH_S, int(until) // WIDTH_S

        async def work(connection: AsyncConnection[Row]) -> tuple[list[Row], list[Row]] | None:
            # A consistent snapshot of rollups and entries.
            await connection.execute(b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            ((may,),) = await _rows(connection, _MAY_READ, ())
            found = None
            if may and (await _rows(connection, _OPEN, span))[0][0] <= _MOST_OPEN:
                kept = await _rows(connection, KEPT, (*span, by or ""))
                found = kept, await _rows(connection, _UNKEPT, span)
            await connection.execute(b"COMMIT")
            return found

        found = await self._reading.do(work, reads=True)
        if found is None:
            return None
        add = partial(slices_of, *found, since, step_s, by)
        return await compute(add, chars=_ADDING * sum(map(len, found)))

    async def forget(self) -> bool:
        """Do nothing: the server cleans up by itself (VACUUM)."""
        return False

    async def aclose(self) -> None:
        """Close both connections."""
        await self._reading.aclose()
        await self._writing.aclose()

    async def _change(self, sql: str, row: Row) -> int:
        async def work(connection: AsyncConnection[Row]) -> int:
            return (await connection.execute(_given(sql), row)).rowcount

        return await self._writing.do(work)


async def _rows(connection: AsyncConnection[Row], sql: str, row: Row) -> list[Row]:
    # Binary: as text, latencies would be twice as long and take longer to parse than to query.
    return await (await connection.execute(_given(sql), row, binary=True)).fetchall()


async def _kept(connection: AsyncConnection[Row], stretch: int) -> int:
    """Write the rollups of a stretch, and return its number of entries."""
    await connection.execute(_given(_STRAYED), (stretch,))
    span = (float(stretch * WIDTH_S), float((stretch + 1) * WIDTH_S))
    entries = await _rows(connection, ENTRIES, span)
    rollups: list[Row] = []
    if entries:
        make = partial(rollups_of, stretch, entries)
        rollups = await compute(lambda: list(make()), chars=_ADDING * len(entries))
    into, _, marks = KEEP.partition(" VALUES ")
    for start in range(0, len(rollups), _KEPT_AT_ONCE):
        some = rollups[start : start + _KEPT_AT_ONCE]
        sql = f"{into} VALUES {', '.join([marks] * len(some))}"
        await connection.execute(_given(sql), tuple(chain.from_iterable(some)))
    return len(entries)


class _Connection:
    def __init__(self, driver: Any, options: dict[str, Any], name: str) -> None:
        self._driver = driver
        self._options = options
        self._name = name
        self._turn = anyio.Lock()
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
        async with self._turn:
            try:
                with anyio.fail_after(_PATIENCE_S):
                    return await self._try(work, reads=reads)
            except (self._driver.DataError, self._driver.IntegrityError) as error:
                problem: JournalError = RefusedError(
                    f"{self._journal} rejected the operation ({_kind(error)})"
                )
            except (self._driver.Error, OSError) as error:
                problem = JournalError(f"cannot use {self._journal} ({_kind(error)})")
        # Raised outside the handler, because the driver's messages repeat the values.
        raise problem

    async def aclose(self) -> None:
        async with self._turn:
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
    await connection.execute(_LOCK)
    # Another process may have been faster.
    version = await _version(connection)
    for number, statements in enumerate(MIGRATIONS[version:], version + 1):
        for statement in (*statements, *_OWN.get(number, ())):
            await connection.execute(_given(statement))
    await connection.execute(_given(FORGET_VERSION))
    await connection.execute(_given(SET_VERSION), (LATEST,))
    await connection.execute(b"COMMIT")


async def _version(connection: AsyncConnection[Row]) -> int:
    # Not CREATE TABLE IF NOT EXISTS, which needs rights that few roles should have.
    found = await (await connection.execute(_given(_EXISTS), (VERSIONS_TABLE,))).fetchone()
    if found is None:
        return 0
    row = await (await connection.execute(_given(READ_VERSION))).fetchone()
    version = row[0] if row else 0
    if version > LATEST:
        raise newer(version)
    return version


def _given(sql: str) -> bytes:
    return sql.replace("?", "%s").encode()


def _kind(error: Exception) -> str:
    state = getattr(error, "sqlstate", None)
    return f"{type(error).__name__}, {state}" if state else type(error).__name__


def _parsed(driver: Any, url: str) -> dict[str, Any]:
    try:
        given: dict[str, Any] = driver.conninfo.conninfo_to_dict(url)
    except driver.Error:
        pass
    else:
        defaults = {"connect_timeout": _CONNECT_S, "application_name": "resay"}
        # The server itself rejects characters that a database in another encoding cannot store.
        return defaults | given | {"client_encoding": "UTF8"}
    # Raised outside the handler, whose exception may repeat a password.
    raise ConfigurationError(
        "PostgreSQL's client cannot read the journal's url; write"
        " postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with special characters as %XX"
    )
