"""The journal: entries go in, and come out as lists and as figures."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from resay._internal.loops import PerLoop
from resay.core.verdict import Decision
from resay.reporting.journal.config import Content, JournalConfig
from resay.reporting.journal.entry import Entry
from resay.reporting.journal.rows import entry_of, named, row_of
from resay.reporting.journal.session import Row, Session, Store
from resay.reporting.journal.statements import GET, PRUNE_OLD, PRUNE_SURPLUS, recent
from resay.reporting.journal.summary import By, Slice, check_span, query, slice_of
from resay.reporting.journal.writer import Losses, Writer

__all__ = ["Journal", "open_journal"]

_DAY_S = 86_400.0
_TIDY_S = 3600.0
# So many are removed at once, so that nobody waits long for the file meanwhile.
_CHUNK = 5000


class _Open:
    """What one event loop has open."""

    def __init__(self, session: Session, writer: Writer) -> None:
        self.session = session
        self.writer = writer

    async def aclose(self) -> None:
        try:
            await self.writer.aclose()
        finally:
            await self.session.aclose()


class Journal:
    """An append-only record of what a guard found.

    One journal serves any number of threads and event loops; each has connections of its own, which
    are closed when it shuts down. `open_journal` makes one.

    Args:
        store: The database.
        config: What is kept, and for how long.
        clock: Seconds since the epoch, by which old entries are removed.
    """

    def __init__(
        self, store: Store, config: JournalConfig, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._config = config
        self._clock = clock
        self._losses = Losses()
        self._tidied: float | None = None
        self._open: PerLoop[_Open] = PerLoop(self._begin, _Open.aclose)

    def __repr__(self) -> str:
        return f"Journal({self._store!r})"

    @property
    def content(self) -> Content:
        """Of which entries the words are kept."""
        return self._config.content

    @property
    def lost(self) -> int:
        """How many entries could not be written, and never will be."""
        return self._losses.count

    async def append(self, entry: Entry) -> bool:
        """Have an entry written in the background, with the words that may be kept.

        It waits 50 ms at most, when too many entries wait already. An entry whose id is in the
        journal changes nothing, so one can be appended again when in doubt.

        Args:
            entry: The entry.

        Returns:
            Whether it will be written; if not, it counts as `lost`.

        Raises:
            ConfigurationError: The entry's verdict is none.
        """
        row = row_of(entry, self._config.content)
        return await (await self._open.get()).writer.put(row)

    async def flush(self) -> None:
        """Wait until what was appended in this event loop is written.

        Raises:
            JournalError: It cannot be written at the moment. It will be tried again.
        """
        await (await self._open.get()).writer.flush()

    async def aclose(self) -> None:
        """Write what was appended in this event loop, and close what it has open.

        What cannot be written within some seconds counts as `lost`. The journal can be used again.
        """
        await self._open.aclose()

    async def recent(
        self,
        limit: int = 50,
        before: str | None = None,
        model: str | None = None,
        policy: str | None = None,
        decision: Decision | None = None,
        tenant: str | None = None,
    ) -> list[Entry]:
        """Return the newest entries that were written, newest first.

        Args:
            limit: How many at most, at least 1.
            before: Only those older than the entry with this id: the last of the page before.
            model: Only those of this model.
            policy: Only those of this policy.
            decision: Only those with this decision.
            tenant: Only those of this tenant.

        Raises:
            JournalError: The journal cannot be read.
            ValueError: `limit` is less than 1.
        """
        if limit < 1:
            raise ValueError(f"limit must be at least 1, not {limit!r}")
        equal = {"model": model, "policy": policy, "decision": decision, "tenant": tenant}
        sql, values = recent(limit, before, {column: named(v) for column, v in equal.items()})
        return [entry_of(row) for row in await self._read(sql, values)]

    async def get(self, entry_id: str) -> Entry | None:
        """Return the entry with an id, or None.

        Raises:
            JournalError: The journal cannot be read.
        """
        rows = await self._read(GET, (named(entry_id),))
        return entry_of(rows[0]) if rows else None

    async def summary(
        self, since: float, until: float, step_s: float, by: By | None = None
    ) -> list[Slice]:
        """Return the entries of a span in figures.

        Args:
            since: Where the span begins, in seconds since the epoch.
            until: Where it ends; what happened then is no part of it.
            step_s: How long a slice is, in seconds; 10,000 slices at most.
            by: What tells the slices of one stretch apart; None for one slice each.

        Returns:
            The slices in which there are entries, by time and name.

        Raises:
            ConfigurationError: The span is empty or has too many slices, or `by` is unknown.
            JournalError: The journal cannot be read.
        """
        check_span(since, until, step_s)
        start, step = float(since), float(step_s)
        sql = query(self._store.whole, by)
        rows = await self._read(sql, (start, step, start, float(until)))
        return [slice_of(row, since=start, step_s=step, by=by) for row in rows]

    async def prune(self, now: float | None = None) -> int:
        """Remove what is older, or more, than the settings allow.

        It happens by itself too, when entries are written, at most once an hour.

        Args:
            now: Seconds since the epoch; by default what the clock says.

        Returns:
            How many entries were removed.

        Raises:
            JournalError: The journal cannot be written.
        """
        return await self._prune((await self._open.get()).session, now)

    async def _prune(self, session: Session, now: float | None) -> int:
        removed = 0
        if self._config.retention_days is not None:
            end = (self._clock() if now is None else now) - self._config.retention_days * _DAY_S
            removed += await _in_chunks(session, PRUNE_OLD, (end, _CHUNK))
        if self._config.max_entries is not None:
            row = (_CHUNK, self._config.max_entries)
            removed += await _in_chunks(session, PRUNE_SURPLUS, row)
        if removed:
            await session.forget()
        return removed

    async def _read(self, sql: str, values: Row) -> list[Row]:
        return await (await self._open.get()).session.read(sql, values)

    def _begin(self) -> _Open:
        session = self._store.open()

        async def write(rows: Sequence[Row]) -> None:
            await session.insert(rows)
            await self._tidy(session)

        return _Open(session, Writer(write, self._losses, most=self._config.max_waiting))

    async def _tidy(self, session: Session) -> None:
        now = self._clock()
        if self._tidied is None or now - self._tidied >= _TIDY_S:
            # Said first: what cannot be removed now must not keep others from being written.
            self._tidied = now
            await self._prune(session, now)


async def _in_chunks(session: Session, sql: str, row: Row) -> int:
    removed = 0
    while True:
        count = await session.delete(sql, row)
        removed += count
        if count < _CHUNK:
            return removed


def open_journal(config: JournalConfig | None = None) -> Journal:
    """Return the journal that settings describe. Nothing is connected to before it is used.

    Args:
        config: The settings; by default a file in the working folder, without content.

    Raises:
        ConfigurationError: The address is none.
        MissingDependencyError: psycopg is needed and not installed.
    """
    config = config or JournalConfig()
    return Journal(_store(config), config)


# Imported where they are wanted, because each is wanted without the other.
def _store(config: JournalConfig) -> Store:
    if config.file is not None:
        from resay.reporting.journal.sqlite import SqliteStore

        return SqliteStore(config.file)
    from resay.reporting.journal.postgres import PostgresStore

    return PostgresStore(config.url)
