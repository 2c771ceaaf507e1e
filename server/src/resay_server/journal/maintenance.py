"""The maintenance of a journal's tables: retention, rollups and the full-text index."""

from __future__ import annotations

from collections.abc import Callable

from resay.adapters.settings import JournalConfig
from resay_server.journal.database import Database, Session
from resay_server.journal.rows import Row
from resay_server.journal.search_terms import entry_terms
from resay_server.journal.statements import DELETE_OLD, DELETE_SURPLUS, MARK_INDEXED, UNINDEXED
from resay_server.journal.threads import in_thread

_DAY_S = 86_400.0
_PRUNE_INTERVAL_S = 3600.0
_ROLLUP_INTERVAL_S = 60.0
# The number of entries deleted at once: few enough not to block other users of the file for long.
_DELETED_AT_ONCE = 5000
# The number of older entries without an index that are indexed at once.
_INDEXED_AT_ONCE = 200


class Maintenance:
    """Does a part of the maintenance with each write, because all of it would take long.

    Args:
        database: The database.
        config: The settings, such as the retention.
        clock: Returns seconds since the epoch, to determine the age of entries.
    """

    def __init__(
        self, database: Database, config: JournalConfig, clock: Callable[[], float]
    ) -> None:
        self._database = database
        self._config = config
        self._clock = clock
        self._pruned_at: float | None = None
        self._rolled_up_at: float | None = None
        self._purging = False
        # Whether entries may lack an index, and whether the next write may continue indexing them.
        self._unindexed = self._may_index = True

    async def after_write(self, session: Session) -> None:
        """Do a part of the maintenance that is due.

        Raises:
            JournalError: The database cannot be read or written.
        """
        now = self._clock()
        if self._pruned_at is None or now - self._pruned_at >= _PRUNE_INTERVAL_S:
            # Set first: a failure to delete must not block the writing of others.
            self._pruned_at = now
            if await self._delete_expired(session, now):
                self._purging = True
        if self._purging:
            self._purging = False
            self._purging = await session.purge()
        if self._unindexed and self._may_index:
            self._may_index = False
            self._unindexed = await self._index_some(session)
            self._may_index = True
        if self._rolled_up_at is None or now - self._rolled_up_at >= _ROLLUP_INTERVAL_S:
            self._rolled_up_at = now
            if await session.build_rollups(now):
                self._rolled_up_at = None

    async def prune(self, session: Session, now: float | None) -> int:
        """Delete entries beyond the retention limits, and return their number.

        Args:
            session: The session.
            now: Seconds since the epoch; None for the clock's time.
        """
        deleted = await self._delete_expired(session, self._clock() if now is None else now)
        if deleted:
            await purge_all(session)
        return deleted

    async def index_all(self, session: Session) -> None:
        """Index the remaining entries from before the full-text index existed."""
        while self._unindexed:
            self._unindexed = await self._index_some(session)

    async def _delete_expired(self, session: Session, now: float) -> int:
        deleted = 0
        if self._config.retention_days is not None:
            end = now - self._config.retention_days * _DAY_S
            deleted += await delete_in_chunks(session, DELETE_OLD, lambda limit: (end, limit))
        if self._config.max_entries is not None:
            offset = self._config.max_entries
            deleted += await delete_in_chunks(
                session, DELETE_SURPLUS, lambda limit: (limit, offset)
            )
        return deleted

    async def _index_some(self, session: Session) -> bool:
        """Index some of the unindexed entries, and return whether there may be more."""
        rows = await session.read(UNINDEXED, (_INDEXED_AT_ONCE,))
        if not rows:
            return False
        terms_of_rows = await in_thread(lambda: [entry_terms(row) for row in rows])
        for row, terms in zip(rows, terms_of_rows, strict=True):
            if terms:
                await session.change(self._database.index_statement, (terms, row[0]))
            await session.change(MARK_INDEXED, (row[0],))
        return len(rows) == _INDEXED_AT_ONCE


async def delete_in_chunks(session: Session, sql: str, parameters: Callable[[int], Row]) -> int:
    """Run a statement that deletes a limited number of entries until none are left.

    Args:
        session: The session.
        sql: The statement.
        parameters: Returns its parameters for the limit.

    Returns:
        The number of deleted entries.
    """
    deleted = 0
    while True:
        count = await session.change(sql, parameters(_DELETED_AT_ONCE))
        deleted += count
        if count < _DELETED_AT_ONCE:
            return deleted


async def purge_all(session: Session) -> None:
    """Remove deleted data from the disk."""
    while await session.purge():
        pass
