"""The journal: queue entries to be written; list, search and summarize them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from resay.adapters import Decision, compute
from resay.adapters.event_loops import PerLoop, unforkable
from resay.adapters.settings import JournalConfig, JournalContent
from resay.errors import ConfigurationError
from resay.plugins import RecordedEvidence
from resay_server.journal.compression import decompress
from resay_server.journal.database import Database, Session
from resay_server.journal.entry import By, Entry, Slice, SortKey
from resay_server.journal.errors import (
    RefusedError,
    TooManyError,
    UnknownEntryError,
)
from resay_server.journal.evidence import evidence_of
from resay_server.journal.feedback import (
    ALL_FEEDBACK,
    ALL_SAMPLED,
    API_COUNT,
    MAX_BY_API,
    UNRATED_SAMPLED,
    UPSERT_FEEDBACK,
    UPSERT_SAMPLED,
    Feedback,
    SampledEntry,
    check_claim,
    feedback_of,
    feedback_query,
    feedback_row,
)
from resay_server.journal.filters import Filters, sql_filters
from resay_server.journal.maintenance import Maintenance, delete_in_chunks, purge_all
from resay_server.journal.redaction import Redaction
from resay_server.journal.rows import (
    Row,
    entry_of,
    prepare_rows,
    row_cost,
    row_of,
    size_of,
    stored_name,
    with_compressed_evidence,
)
from resay_server.journal.search_terms import entry_terms
from resay_server.journal.statements import (
    GET,
    NEWEST_OF_REQUEST,
    SORT_KEY,
    Sort,
    delete_where,
    evidence_query,
    recent,
)
from resay_server.journal.summary import check_slices, slice_of, summary_query
from resay_server.journal.threads import in_thread
from resay_server.journal.write_queue import LossCounter, WriteQueue

# The number of entries read first if the bytes are limited; it doubles with each query.
_FIRST_PAGE = 8


class _Connected:
    """One event loop's session and queue."""

    def __init__(self, session: Session, queue: WriteQueue) -> None:
        self.session = session
        self.queue = queue

    async def aclose(self) -> None:
        try:
            await self.queue.aclose()
        finally:
            await self.session.aclose()


class Journal:
    """An append-only record of verdicts.

    A journal may be shared by any number of threads and event loops. Each event loop has its own
    connections, which are closed when it shuts down. Create one with `open_journal`.

    Args:
        database: The database.
        config: The settings, such as the content and the retention.
        clock: Returns seconds since the epoch, to determine the age of entries.
    """

    def __init__(
        self, database: Database, config: JournalConfig, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._database = database
        self._config = config
        self._losses = LossCounter()
        self._redaction = None if config.redact is None else Redaction(config.redact)
        self._maintenance = Maintenance(database, config, clock)
        self._appending: set[asyncio.Future[None]] = set()
        self._connected: PerLoop[_Connected] = PerLoop(self._connect, _Connected.aclose)

    def __repr__(self) -> str:
        return f"Journal({self._database!r})"

    @property
    def content(self) -> JournalContent:
        """The entries whose text is stored."""
        return self._config.content

    @property
    def stores_evidence(self) -> bool:
        """Whether entries may be stored with the texts that answers were checked with."""
        return self._config.stores_evidence

    @property
    def lost(self) -> int:
        """The number of entries that were lost instead of written."""
        return self._losses.count

    async def append(self, entry: Entry) -> bool:
        """Queue an entry to be written in the background, with the text that the settings allow.

        If the queue is full, it waits for at most 50 ms. Appending an entry again has no effect,
        so retries are safe.

        Args:
            entry: The entry.

        Returns:
            Whether it was queued; if not, it counts as `lost`.

        Raises:
            ConfigurationError: The entry's verdict is invalid.
        """
        # The first time, it builds a validator, which imports what it needs.
        with unforkable():
            prepare_rows()
        if entry.evidence is not None and not self.stores_evidence:
            entry = replace(entry, evidence=None)
        build = partial(row_of, entry, self._config.content)
        appended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._appending.add(appended)
        try:
            row = await compute(build, chars=row_cost(entry))
            return await (await self._connected.get()).queue.put(row)
        finally:
            self._appending.discard(appended)
            appended.set_result(None)

    async def _wait_for_appending(self) -> None:
        """Wait for the entries that are being appended in this event loop."""
        loop = asyncio.get_running_loop()
        pending = [appended for appended in tuple(self._appending) if appended.get_loop() is loop]
        if pending:
            await asyncio.wait(pending)

    async def flush(self) -> None:
        """Wait until all entries appended in this event loop are written.

        Raises:
            JournalError: They cannot be written at the moment. It will be retried.
        """
        await self._wait_for_appending()
        await (await self._connected.get()).queue.flush()

    async def aclose(self) -> None:
        """Write the entries appended in this event loop, and close its connections.

        Entries that cannot be written within a few seconds count as `lost`. The journal can be
        used again.
        """
        await self._wait_for_appending()
        await self._connected.aclose()

    async def recent(
        self,
        limit: int = 50,
        before: Entry | str | None = None,
        model: str | None = None,
        policy: str | None = None,
        decision: Decision | None = None,
        tenant: str | None = None,
        *,
        request_id: str | None = None,
        since: float | None = None,
        until: float | None = None,
        words: str | None = None,
        sort: Sort = "newest",
        max_bytes: int | None = None,
    ) -> list[Entry]:
        """Return written entries, newest first or in another order.

        Args:
            limit: The maximum number of entries, at least 1.
            before: Only entries that follow this one in the order: the last of the previous page.
                It may have been deleted since, unless only its id is given.
            model: Only entries of this model.
            policy: Only entries of this policy.
            decision: Only entries with this decision.
            tenant: Only entries of this tenant.
            request_id: Only entries of this request.
            since: Only entries from this time on, in seconds since the epoch.
            until: Only entries before this time.
            words: Only entries whose stored text has each of these words; `bridge*` is a prefix.
            sort: `newest`; or the highest `score`, the highest `cost` or the longest `latency`
                first, which is slow without `since`.
            max_bytes: Stop, after at least one entry, once they take about this much memory.

        Raises:
            UnknownEntryError: There is no entry with the id `before`; a `JournalError`.
            JournalError: The journal cannot be read.
            ValueError: `limit` is less than 1.
        """
        if limit < 1:
            raise ValueError(f"limit must be at least 1, not {limit!r}")
        filters = Filters(
            model=model,
            policy=policy,
            decision=decision,
            tenant=tenant,
            request_id=request_id,
            since=since,
            until=until,
            words=words,
        )
        conditions = sql_filters(filters, self._database)
        position = SortKey.of(before) if isinstance(before, Entry) else None
        if isinstance(before, str):
            position = await self._sort_key(before)
        entries: list[Entry] = []
        size, page_size = 0, limit if max_bytes is None else _FIRST_PAGE
        while len(entries) < limit and (max_bytes is None or size < max_bytes):
            count = min(limit - len(entries), page_size)
            sql, parameters = recent(count, position, conditions, self._database, sort)
            rows = await self._read_filtered(filters, sql, parameters)
            entries += await _entries_of(rows)
            size += sum(map(size_of, rows))
            if len(rows) < count:
                break
            position, page_size = SortKey.of(entries[-1]), page_size * 2
        return entries

    async def get(self, entry_id: str) -> Entry | None:
        """Return the entry with an id, or None.

        Raises:
            JournalError: The journal cannot be read.
        """
        rows = await self._read(GET, (stored_name(entry_id),))
        return next(iter(await _entries_of(rows)), None)

    async def evidence(self, *entry_ids: str) -> dict[str, RecordedEvidence]:
        """Return the stored texts that answers were checked with, by the ids of their entries.

        Args:
            entry_ids: The entries. Those without such texts are left out.

        Raises:
            JournalError: The journal cannot be read.
        """
        if not entry_ids:
            return {}
        rows = await self._read(evidence_query(len(entry_ids)), tuple(map(stored_name, entry_ids)))
        return await in_thread(
            lambda: {entry_id: evidence_of(decompress(value)) for entry_id, value in rows}
        )

    async def find(self, some_id: str) -> Entry | None:
        """Return the entry with an id, or the newest of the request with that id, or None.

        Raises:
            JournalError: The journal cannot be read.
        """
        entry = await self.get(some_id)
        if entry is not None:
            return entry
        return next(iter(await self.recent(1, request_id=some_id)), None)

    async def find_own(self, some_id: str, tenant: str | None) -> Entry | None:
        """Like `find`, but only among a tenant's entries; None means those without a tenant.

        Raises:
            JournalError: The journal cannot be read.
        """
        entry = await self.get(some_id)
        if entry is not None and entry.tenant == stored_name(tenant):
            return entry
        parameters = (stored_name(some_id), stored_name(tenant) or "")
        rows = await self._read(NEWEST_OF_REQUEST, parameters)
        return next(iter(await _entries_of(rows)), None)

    async def forget(self, *, tenant: str | None = None, request_id: str | None = None) -> int:
        """Delete all entries of a tenant or of a request, with their feedback.

        Entries that another process has yet to write are not deleted.

        Args:
            tenant: The tenant.
            request_id: The request.

        Returns:
            The number of deleted entries.

        Raises:
            ConfigurationError: Neither or both of the two are given.
            JournalError: The journal cannot be written.
        """
        if (tenant is None) == (request_id is None):
            raise ConfigurationError(
                "pass `tenant` or `request_id` to choose the entries to delete"
            )
        await self.flush()
        session = (await self._connected.get()).session
        column, name = ("request_id", request_id) if tenant is None else ("tenant", tenant)
        deleted = await delete_in_chunks(
            session, delete_where(column), lambda limit: (stored_name(name), limit)
        )
        if deleted:
            await purge_all(session)
        return deleted

    async def rate(self, feedback: Feedback) -> None:
        """Record feedback on an entry, replacing that of the same rater on the same part.

        Raises:
            ConfigurationError: There is no such entry, or it has no such claim.
            TooManyError: The feedback is from the API, and the entry has 1,000 others from there.
            JournalError: The journal cannot be written.
        """
        await self.flush()
        if feedback.claim is not None:
            entry = await self.get(feedback.entry_id)
            if entry is not None:
                check_claim(feedback, entry)
        redaction, note = self._redaction, feedback.note
        if redaction is not None and note is not None:
            note = await in_thread(partial(redaction.redacted_note, note))
            feedback = replace(feedback, note=note)
        row = feedback_row(feedback)
        if feedback.source == "api":
            ((count,),) = await self._read(API_COUNT, row[:3])
            if count >= MAX_BY_API:
                raise TooManyError(f"the entry has {MAX_BY_API} ratings from clients, the maximum")
        try:
            await (await self._connected.get()).session.change(UPSERT_FEEDBACK, row)
        except RefusedError:
            if await self.get(feedback.entry_id) is not None:
                raise
        else:
            return
        raise ConfigurationError(f"the journal has no entry {feedback.entry_id!r}")

    async def feedback(
        self, entry_id: str | Sequence[str] | None = None, *, limit: int = 1_000_000
    ) -> list[Feedback]:
        """Return feedback, oldest first.

        Args:
            entry_id: The entry or entries; None for the feedback on all of them.
            limit: The maximum number of items per named entry, the newest.

        Raises:
            JournalError: The journal cannot be read.
        """
        if entry_id is None:
            return feedback_of(await self._read(ALL_FEEDBACK, ()))
        ids = [entry_id] if isinstance(entry_id, str) else entry_id
        parameters = (*map(stored_name, ids), limit)
        return feedback_of(await self._read(feedback_query(len(ids)), parameters))

    async def add_sampled(self, entries: Sequence[SampledEntry]) -> int:
        """Record entries sampled for labelling.

        If an entry was sampled before, the weights add up. It counts as sampled at random if it
        ever was.

        Returns:
            The number of entries sampled for the first time.

        Raises:
            JournalError: The journal cannot be written.
        """
        earlier = {entry.entry_id for entry in await self.sampled()}
        session = (await self._connected.get()).session
        for entry in entries:
            row = (entry.entry_id, entry.time, entry.method, entry.weight)
            await session.change(UPSERT_SAMPLED, row)
        return len({entry.entry_id for entry in entries} - earlier)

    async def sampled(self, *, unrated_by: str | None = None) -> list[SampledEntry]:
        """Return the entries sampled for labelling, oldest first.

        Args:
            unrated_by: Only entries that this rater has not rated as a whole; empty for those that
                nobody has; None for all.

        Raises:
            JournalError: The journal cannot be read.
        """
        if unrated_by is None:
            rows = await self._read(ALL_SAMPLED, ())
        else:
            rater = stored_name(unrated_by)
            rows = await self._read(UNRATED_SAMPLED, (rater, rater))
        return [SampledEntry(*row) for row in rows]

    async def summary(
        self,
        since: float,
        until: float,
        step_s: float,
        by: By | None = None,
        *,
        model: str | None = None,
        policy: str | None = None,
        decision: Decision | None = None,
        tenant: str | None = None,
        request_id: str | None = None,
        words: str | None = None,
    ) -> list[Slice]:
        """Return statistics of the entries in a span.

        Args:
            since: The start of the span, in seconds since the epoch.
            until: The end of the span (exclusive).
            step_s: The length of a slice in seconds; at most 10,000 slices.
            by: The field to group the entries of a step by; None for one slice per step.
            model: Only entries of this model; the filters are those of `recent`.
            policy: Only entries of this policy.
            decision: Only entries with this decision.
            tenant: Only entries of this tenant.
            request_id: Only entries of this request.
            words: Only entries whose stored text has each of these words.

        Returns:
            The slices that have entries, by time and name.

        Raises:
            ConfigurationError: The span is empty or has too many slices, or `by` is unknown.
            JournalError: The journal cannot be read.
        """
        check_slices(since, until, step_s)
        start, step, end = float(since), float(step_s), float(until)
        filters = Filters(
            model=model,
            policy=policy,
            decision=decision,
            tenant=tenant,
            request_id=request_id,
            since=start,
            until=end,
            words=words,
        )
        conditions = sql_filters(filters, self._database)
        query = summary_query(self._database, by, conditions)
        rows = None
        if filters.unfiltered:
            session = (await self._connected.get()).session
            rows = await session.summary_from_rollups(start, end, step, by)
        if rows is None:
            parameters = (start, step, *conditions.where_parameters)
            rows = await self._read_filtered(filters, query, parameters)
        rows.sort(key=lambda row: (row[0], row[1] is not None, row[1] or ""))
        return [slice_of(row, since=start, step_s=step, by=by) for row in rows]

    async def prune(self, now: float | None = None) -> int:
        """Delete entries beyond the retention limits of the settings.

        This also happens automatically when entries are written, at most once an hour.

        Args:
            now: Seconds since the epoch; by default the clock's time.

        Returns:
            The number of deleted entries.

        Raises:
            JournalError: The journal cannot be written.
        """
        return await self._maintenance.prune((await self._connected.get()).session, now)

    async def _sort_key(self, entry_id: str) -> SortKey:
        for row in await self._read(SORT_KEY, (stored_name(entry_id),)):
            return SortKey(*row)
        raise UnknownEntryError(f"the journal has no entry {entry_id!r}")

    async def _read_filtered(self, filters: Filters, sql: str, parameters: Row) -> list[Row]:
        if filters.words:
            # Otherwise the search would miss entries.
            await self._maintenance.index_all((await self._connected.get()).session)
        return await self._read(sql, parameters)

    async def _read(self, sql: str, parameters: Row) -> list[Row]:
        return await (await self._connected.get()).session.read(sql, parameters)

    def _connect(self) -> _Connected:
        with unforkable():
            session = self._database.open()

        async def write(rows: Sequence[Row]) -> None:
            await session.insert(*await self._rows_and_terms(rows))
            await self._maintenance.after_write(session)

        queue = WriteQueue(write, self._losses, max_rows=self._config.max_waiting)
        return _Connected(session, queue)

    async def _rows_and_terms(
        self, rows: Sequence[Row]
    ) -> tuple[Sequence[Row], Sequence[str | None]]:
        """Return the rows after redaction, and the search terms of each."""
        redaction = self._redaction

        def work() -> tuple[Sequence[Row], Sequence[str | None]]:
            redacted = rows
            if redaction is not None:
                redacted = [redaction.redacted_row(row) for row in rows]
            terms = [entry_terms(row) for row in redacted]
            return [with_compressed_evidence(row) for row in redacted], terms

        if self._config.content == "none":
            return rows, [None] * len(rows)
        return await in_thread(work)


async def _entries_of(rows: Sequence[Row]) -> list[Entry]:
    # In a thread: verdicts on long answers are large, and the event loop may be running a gateway.
    return await in_thread(lambda: [entry_of(row) for row in rows]) if rows else []


def open_journal(config: JournalConfig | None = None) -> Journal:
    """Return the journal for some settings. It connects on first use.

    Args:
        config: The settings; by default a file in the working folder, without content.

    Raises:
        ConfigurationError: The address is invalid.
        MissingDependencyError: psycopg is needed and not installed.
    """
    config = config or JournalConfig()
    return Journal(_database_of(config), config)


# Imported on demand, because each is used without the other.
def _database_of(config: JournalConfig) -> Database:
    if config.file is not None:
        from resay_server.journal.sqlite import SqliteDatabase

        return SqliteDatabase(config.file)
    from resay_server.journal.postgres import PostgresDatabase

    return PostgresDatabase(config.url)
