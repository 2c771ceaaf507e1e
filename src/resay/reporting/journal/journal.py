"""The journal: queue entries and write them in batches; list, search and summarize them."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, TypeVar, cast

import anyio
import anyio.to_thread

from resay._internal.event_loops import PerLoop, compute
from resay._internal.forks import unforkable
from resay._internal.importing import import_named, is_async
from resay.core.verdict import Decision
from resay.errors import ConfigurationError
from resay.reporting.journal.database import (
    GET,
    INDEXED,
    NEWEST_OF,
    PRUNE_OLD,
    PRUNE_SURPLUS,
    SORT_KEY,
    UNINDEXED,
    Filters,
    JournalError,
    RefusedError,
    Row,
    Session,
    Sort,
    Store,
    TooManyError,
    UnknownEntryError,
    check_span,
    entry_of,
    entry_terms,
    forget,
    named,
    one_redacted,
    prepare_rows,
    recent,
    redacted,
    row_cost,
    row_of,
    size_of,
    slice_of,
    sql_filters,
    summed,
)
from resay.reporting.journal.entry import By, Content, Entry, JournalConfig, Slice, SortKey
from resay.reporting.journal.feedback import (
    ALL_DRAWS,
    ALL_FEEDBACK,
    API_COUNT,
    MAX_BY_API,
    UNRATED_DRAWS,
    UPSERT_DRAW,
    UPSERT_FEEDBACK,
    Draw,
    Feedback,
    check_claim,
    feedback_of,
    feedback_query,
    feedback_row,
)

T = TypeVar("T")

_log = logging.getLogger(__name__)
_BATCH = 200
_MOST_BYTES = 64_000_000
# The longest time that an answer waits for its entry to be queued.
_PATIENCE_S = 0.05
_PAUSES_S = (0.1, 0.5, 2.0, 5.0)
_LAST_CHANCE_S = 5.0


class LossCounter:
    """Counts the lost entries of all event loops."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    @property
    def count(self) -> int:
        """The number of lost entries."""
        return self._count

    def add(self, count: int, reason: str) -> None:
        """Count further losses, and log a warning."""
        with self._lock:
            self._count += count
            total = self._count
        # Only each time the count doubles: during an outage every answer loses an entry.
        if total.bit_length() > (total - count).bit_length():
            _log.warning(
                "the journal has lost %d entries so far; the last because %s", total, reason
            )


class Writer:
    """Writes the rows of one event loop in batches, in the background.

    A row leaves the queue once it is written. If the wait for a successful write is cancelled, the
    row is written again, which has no effect.

    Args:
        write: Writes all rows or none; existing rows are left unchanged.
        losses: The counter of lost entries.
        most: The maximum number of rows in the queue.
    """

    def __init__(
        self,
        write: Callable[[Sequence[Row]], Awaitable[object]],
        losses: LossCounter,
        *,
        most: int,
    ) -> None:
        self._write = write
        self._losses = losses
        self._most = most
        self._rows: deque[Row] = deque()
        self._bytes = 0
        self._taken = 0
        self._done = 0
        self._failures = 0
        self._last_error: JournalError | None = None
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._retry_now = asyncio.Event()

    async def put(self, row: Row) -> bool:
        """Queue a row, or drop it if there is still no room after 50 ms.

        Returns:
            Whether it was queued.
        """
        size = size_of(row)
        try:
            # During an outage, waiting would only delay every answer.
            if not self._fits(size) and self._last_error is None:
                with anyio.move_on_after(_PATIENCE_S):
                    await self._until(lambda: self._fits(size))
        finally:
            # Even if the wait was cancelled: there may be room by now.
            taken = self._fits(size)
            if taken:
                self._rows.append(row)
                self._bytes += size
                self._taken += 1
                self._start()
            else:
                self._losses.add(1, "too many entries were waiting")
        return taken

    async def flush(self) -> None:
        """Wait until all rows queued so far are written.

        Raises:
            JournalError: An attempt failed. It will be retried.
        """
        taken, failures = self._taken, self._failures
        self._start()
        self._retry_now.set()
        await self._until(lambda: self._done >= taken or self._failures > failures)
        if self._done < taken:
            raise JournalError(str(self._last_error))

    async def aclose(self) -> None:
        """Write the remaining rows, or count them as lost if that fails or takes too long."""
        reason = "the journal was closed before it wrote them"
        try:
            if self._task is not None:
                self._task.cancel()
                await asyncio.wait([self._task])
            with anyio.move_on_after(_LAST_CHANCE_S):
                while self._rows:
                    await self._write_some()
        except JournalError as error:
            reason = str(error)
        finally:
            self._lose_the_rest(reason)

    def _lose_the_rest(self, reason: str) -> None:
        if self._rows:
            self._losses.add(len(self._rows), reason)
            self._drop(len(self._rows))

    def _fits(self, size: int) -> bool:
        # A single row is accepted whatever its size.
        room = not self._rows or self._bytes + size <= _MOST_BYTES
        return room and len(self._rows) < self._most

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await self._changed.wait()

    def _announce(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _start(self) -> None:
        # The task ends when the queue is empty, so that none is pending when an idle loop closes.
        if self._rows and (self._task is None or self._task.done()):
            # In a new context, because it outlives the request that happens to start it.
            self._task = Context().run(asyncio.create_task, self._run())

    async def _run(self) -> None:
        pauses = iter(_PAUSES_S)
        while self._rows:
            self._retry_now.clear()
            try:
                await self._write_some()
            except JournalError as error:
                self._fail(error)
                with anyio.move_on_after(next(pauses, _PAUSES_S[-1])):
                    await self._retry_now.wait()
            else:
                pauses = iter(_PAUSES_S)
                self._recover()

    def _fail(self, error: JournalError) -> None:
        if self._last_error is None:
            _log.warning("the journal is delayed, because %s", error)
        self._last_error = error
        self._failures += 1
        self._announce()

    def _recover(self) -> None:
        if self._last_error is not None:
            _log.warning("the journal is working again")
        self._last_error = None

    async def _write_some(self) -> None:
        batch = list(islice(self._rows, _BATCH))
        try:
            await self._attempt(batch)
        except RefusedError:
            # One bad row must not cause the loss of others.
            await self._write_singly(batch)
        else:
            self._drop(len(batch))

    async def _attempt(self, rows: Sequence[Row]) -> None:
        try:
            await self._write(rows)
        except JournalError:
            raise
        except Exception as error:
            # Any other error is a failed attempt too, or `flush` would wait forever.
            raise JournalError(f"writing failed with {type(error).__name__}") from error

    async def _write_singly(self, batch: Sequence[Row]) -> None:
        for row in batch:
            try:
                await self._attempt([row])
            except RefusedError as error:
                self._losses.add(1, str(error))
            self._drop(1)

    def _drop(self, count: int) -> None:
        for _ in range(count):
            self._bytes -= size_of(self._rows.popleft())
        self._done += count
        self._announce()


_DAY_S = 86_400.0
_TIDY_S = 3600.0
_ROLL_UP_S = 60.0
# The number of entries deleted at once: few enough not to block other users of the file for long.
_CHUNK = 5000
# The number of older entries without an index that are indexed at once.
_INDEXED = 200
# The number of entries read first if the bytes are limited; it doubles with each query.
_PORTION = 8


class _Open:
    """One event loop's session and writer."""

    def __init__(self, session: Session, writer: Writer) -> None:
        self.session = session
        self.writer = writer

    async def aclose(self) -> None:
        try:
            await self.writer.aclose()
        finally:
            await self.session.aclose()


class Journal:
    """An append-only record of verdicts.

    A journal may be shared by any number of threads and event loops. Each event loop has its own
    connections, which are closed when it shuts down. Create one with `open_journal`.

    Args:
        store: The database.
        config: The settings, such as the content and the retention.
        clock: Returns seconds since the epoch, to determine the age of entries.
    """

    def __init__(
        self, store: Store, config: JournalConfig, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._config = config
        self._clock = clock
        self._losses = LossCounter()
        self._redact = _redactor(config.redact)
        self._tidied: float | None = None
        self._rolled_up: float | None = None
        self._forgetting = False
        # Whether entries may lack an index, and whether the next write may continue indexing them.
        self._unindexed = self._indexing = True
        self._appending: set[asyncio.Future[None]] = set()
        self._open: PerLoop[_Open] = PerLoop(self._begin, _Open.aclose)

    def __repr__(self) -> str:
        return f"Journal({self._store!r})"

    @property
    def content(self) -> Content:
        """The entries whose text is stored."""
        return self._config.content

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
        build = partial(row_of, entry, self._config.content)
        appended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._appending.add(appended)
        try:
            row = await compute(build, chars=row_cost(entry))
            return await (await self._open.get()).writer.put(row)
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
        await (await self._open.get()).writer.flush()

    async def aclose(self) -> None:
        """Write the entries appended in this event loop, and close its connections.

        Entries that cannot be written within a few seconds count as `lost`. The journal can be
        used again.
        """
        await self._wait_for_appending()
        await self._open.aclose()

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
        conditions = sql_filters(filters, self._store)
        key = SortKey.of(before) if isinstance(before, Entry) else None
        if isinstance(before, str):
            key = await self._sort_key(before)
        found: list[Entry] = []
        size, portion = 0, limit if max_bytes is None else _PORTION
        while len(found) < limit and (max_bytes is None or size < max_bytes):
            count = min(limit - len(found), portion)
            sql, values = recent(count, key, conditions, self._store, sort)
            rows = await self._find(filters, sql, values)
            found += await _decoded(rows)
            size += sum(map(size_of, rows))
            if len(rows) < count:
                break
            key, portion = SortKey.of(found[-1]), portion * 2
        return found

    async def get(self, entry_id: str) -> Entry | None:
        """Return the entry with an id, or None.

        Raises:
            JournalError: The journal cannot be read.
        """
        return next(iter(await _decoded(await self._read(GET, (named(entry_id),)))), None)

    async def find(self, some_id: str) -> Entry | None:
        """Return the entry with an id, or the newest of the request with that id, or None.

        Raises:
            JournalError: The journal cannot be read.
        """
        return await self.get(some_id) or next(iter(await self.recent(1, request_id=some_id)), None)

    async def find_own(self, some_id: str, tenant: str | None) -> Entry | None:
        """Like `find`, but only among a tenant's entries; None means those without a tenant.

        Raises:
            JournalError: The journal cannot be read.
        """
        entry = await self.get(some_id)
        if entry is not None and entry.tenant == named(tenant):
            return entry
        rows = await self._read(NEWEST_OF, (named(some_id), named(tenant) or ""))
        return next(iter(await _decoded(rows)), None)

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
        session = (await self._open.get()).session
        column, value = ("request_id", request_id) if tenant is None else ("tenant", tenant)
        removed = await _in_chunks(session, forget(column), (named(value), _CHUNK))
        if removed:
            await _forgotten(session)
        return removed

    async def rate(self, feedback: Feedback) -> None:
        """Record feedback on an entry, replacing that of the same rater on the same part.

        Raises:
            ConfigurationError: There is no such entry, or it has no such claim.
            TooManyError: The feedback is from the API, and the entry has 1,000 others from there.
            JournalError: The journal cannot be written.
        """
        await self.flush()
        if feedback.claim is not None and (entry := await self.get(feedback.entry_id)) is not None:
            check_claim(feedback, entry)
        if feedback.note is not None and self._redact is not None:
            feedback = replace(feedback, note=await self._noted(feedback.note, self._redact))
        row = feedback_row(feedback)
        if feedback.source == "api" and (await self._read(API_COUNT, row[:3]))[0][0] >= MAX_BY_API:
            raise TooManyError(f"the entry has {MAX_BY_API} ratings from clients, the maximum")
        try:
            await (await self._open.get()).session.change(UPSERT_FEEDBACK, row)
        except RefusedError:
            known = await self.get(feedback.entry_id)
            if known is not None:
                raise
        else:
            return
        raise ConfigurationError(f"the journal has no entry {feedback.entry_id!r}")

    async def _noted(self, note: str, redact: Callable[[str], str]) -> str | None:
        try:
            return await _in_thread(lambda: one_redacted(note, redact))
        except Exception as error:  # The user's function may raise anything.
            _log.warning("`redact` failed with %s; the note is not stored", type(error).__name__)
        return None

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
        names = [entry_id] if isinstance(entry_id, str) else entry_id
        return feedback_of(
            await self._read(feedback_query(len(names)), (*map(named, names), limit))
        )

    async def draw(self, draws: Sequence[Draw]) -> int:
        """Record entries drawn for labelling.

        If an entry was drawn before, the weights add up. It counts as drawn at random if any of
        its draws was.

        Returns:
            The number of entries drawn for the first time.

        Raises:
            JournalError: The journal cannot be written.
        """
        before = {one.entry_id for one in await self.drawn()}
        session = (await self._open.get()).session
        for one in draws:
            await session.change(UPSERT_DRAW, (one.entry_id, one.time, one.method, one.weight))
        return len({one.entry_id for one in draws} - before)

    async def drawn(self, *, unrated_by: str | None = None) -> list[Draw]:
        """Return the entries drawn for labelling, oldest first.

        Args:
            unrated_by: Only entries that this rater has not rated as a whole; empty for those that
                nobody has; None for all.

        Raises:
            JournalError: The journal cannot be read.
        """
        if unrated_by is None:
            return [Draw(*row) for row in await self._read(ALL_DRAWS, ())]
        rater = named(unrated_by)
        return [Draw(*row) for row in await self._read(UNRATED_DRAWS, (rater, rater))]

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
        check_span(since, until, step_s)
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
        conditions = sql_filters(filters, self._store)
        sql, rows = summed(self._store, by, conditions), None
        if filters.unfiltered:
            rows = await (await self._open.get()).session.summed_up(start, end, step, by)
        if rows is None:
            rows = await self._find(filters, sql, (start, step, *conditions.all_values))
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
        session = (await self._open.get()).session
        removed = await self._prune(session, now)
        if removed:
            await _forgotten(session)
        return removed

    async def _prune(self, session: Session, now: float | None) -> int:
        removed = 0
        if self._config.retention_days is not None:
            end = (self._clock() if now is None else now) - self._config.retention_days * _DAY_S
            removed += await _in_chunks(session, PRUNE_OLD, (end, _CHUNK))
        if self._config.max_entries is not None:
            row = (_CHUNK, self._config.max_entries)
            removed += await _in_chunks(session, PRUNE_SURPLUS, row)
        return removed

    async def _sort_key(self, entry_id: str) -> SortKey:
        for row in await self._read(SORT_KEY, (named(entry_id),)):
            return SortKey(*row)
        raise UnknownEntryError(f"the journal has no entry {entry_id!r}")

    async def _find(self, filters: Filters, sql: str, values: Row) -> list[Row]:
        # Index the remaining entries first, so that the search misses none.
        while filters.words and self._unindexed:
            self._unindexed = await self._index((await self._open.get()).session)
        return await self._read(sql, values)

    async def _read(self, sql: str, values: Row) -> list[Row]:
        return await (await self._open.get()).session.read(sql, values)

    def _begin(self) -> _Open:
        with unforkable():
            session = self._store.open()

        async def write(rows: Sequence[Row]) -> None:
            await session.insert(*await self._prepared(rows))
            await self._tidy(session)

        return _Open(session, Writer(write, self._losses, most=self._config.max_waiting))

    async def _prepared(self, rows: Sequence[Row]) -> tuple[Sequence[Row], Sequence[str | None]]:
        """Return the rows after redaction, and the search terms of each."""
        redact = self._redact

        def work() -> tuple[Sequence[Row], Sequence[str | None]]:
            clean = rows if redact is None else [redacted(row, redact) for row in rows]
            return clean, [entry_terms(row) for row in clean]

        if self._config.content == "none":
            return rows, [None] * len(rows)
        return await _in_thread(work)

    async def _index(self, session: Session) -> bool:
        """Index some of the entries from before the full-text index existed.

        Returns:
            Whether there may be more.
        """
        rows = await session.read(UNINDEXED, (_INDEXED,))
        terms = await _in_thread(lambda: [entry_terms(row) for row in rows]) if rows else []
        for row, found in zip(rows, terms, strict=True):
            if found:
                await session.change(self._store.index, (found, row[0]))
            await session.change(INDEXED, (row[0],))
        return len(rows) == _INDEXED

    async def _tidy(self, session: Session) -> None:
        now = self._clock()
        if self._tidied is None or now - self._tidied >= _TIDY_S:
            # Set first: a failure to delete must not block the writing of others.
            self._tidied = now
            if await self._prune(session, now):
                self._forgetting = True
        # The following takes long, so each write does only a part of it.
        if self._forgetting:
            self._forgetting = False
            self._forgetting = await session.forget()
        if self._unindexed and self._indexing:
            self._indexing = False
            self._unindexed = await self._index(session)
            self._indexing = True
        if self._rolled_up is None or now - self._rolled_up >= _ROLL_UP_S:
            self._rolled_up = now
            if await session.roll_up(now):
                self._rolled_up = None


async def _in_thread(work: Callable[[], T]) -> T:
    """Run a blocking function in a thread."""
    try:
        return await anyio.to_thread.run_sync(work)
    except RuntimeError:
        # No new threads can start at interpreter shutdown.
        return work()


async def _decoded(rows: Sequence[Row]) -> list[Entry]:
    # In a thread: verdicts on long answers are large, and the event loop may be running a gateway.
    return await _in_thread(lambda: [entry_of(row) for row in rows]) if rows else []


async def _forgotten(session: Session) -> None:
    while await session.forget():
        pass


async def _in_chunks(session: Session, sql: str, row: Row) -> int:
    removed = 0
    while True:
        count = await session.change(sql, row)
        removed += count
        if count < _CHUNK:
            return removed


def open_journal(config: JournalConfig | None = None) -> Journal:
    """Return the journal for some settings. It connects on first use.

    Args:
        config: The settings; by default a file in the working folder, without content.

    Raises:
        ConfigurationError: The address is invalid.
        MissingDependencyError: psycopg is needed and not installed.
    """
    config = config or JournalConfig()
    return Journal(_store(config), config)


def _redactor(path: str | None) -> Callable[[str], str] | None:
    if path is None:
        return None
    function: Any = import_named(path)
    if not callable(function) or is_async(function):
        raise ConfigurationError(
            "`journal.redact` must name a synchronous function that takes a text and returns one,"
            f" not {path!r}"
        )
    return cast("Callable[[str], str]", function)


# Imported on demand, because each is used without the other.
def _store(config: JournalConfig) -> Store:
    if config.file is not None:
        from resay.reporting.journal.sqlite import SqliteStore

        return SqliteStore(config.file)
    from resay.reporting.journal.postgres import PostgresStore

    return PostgresStore(config.url)
