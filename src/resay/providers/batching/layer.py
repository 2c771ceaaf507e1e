"""The provider that collects requests, submits them as batches, and waits for the results."""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import anyio
import anyio.to_thread

from resay._internal.event_loops import PerLoop
from resay.core.query import Query
from resay.errors import ConfigurationError, ProviderError, ProviderRefusedError, ResayError
from resay.providers.apis.base import mapping
from resay.providers.base import Chunk, Completions
from resay.providers.batching.config import BatchCallsConfig
from resay.providers.batching.formats import (
    MB,
    AnthropicBatches,
    BatchApi,
    BatchStatus,
    Destination,
    LiteLLMBatches,
    LostBatch,
    OpenAIBatches,
    Result,
    encoded,
    request_id,
)
from resay.providers.litellm import LiteLLMProvider

T = TypeVar("T")

_VERSION = 1
_PATIENCE_S = 30.0
_SET_UP = (
    # Paid requests must survive a power failure.
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "CREATE TABLE IF NOT EXISTS batches"
    " (submission TEXT PRIMARY KEY, batch TEXT, made REAL NOT NULL)",
    "CREATE TABLE IF NOT EXISTS requests"
    " (id TEXT PRIMARY KEY, submission TEXT NOT NULL, body TEXT)",
    "CREATE INDEX IF NOT EXISTS requests_submission ON requests (submission)",
    f"PRAGMA user_version = {_VERSION}",
)
_LOOK_UP = (
    "SELECT id, body, submission, batch FROM requests JOIN batches USING (submission)"
    " WHERE id IN (SELECT value FROM json_each(?))"
)
_BEGUN = "SELECT made FROM batches WHERE submission = ?"
_COUNT = "SELECT count(*) FROM requests WHERE submission = ?"
_KNOWN = "SELECT batch FROM batches WHERE batch IS NOT NULL"
_INTEND = "INSERT INTO batches (submission, made) VALUES (?, ?)"
_HOLD = "INSERT OR REPLACE INTO requests (id, submission) VALUES (?, ?)"
_NAME = "UPDATE batches SET batch = ? WHERE submission = ?"
_KEEP = "UPDATE requests SET body = ? WHERE id = ?"
_DROP_OPEN = "DELETE FROM requests WHERE submission = ? AND body IS NULL"
_DROP_ONE = "DELETE FROM requests WHERE id = ? AND body IS NULL"
_DROP_EMPTY = (
    "DELETE FROM batches WHERE submission = ?"
    " AND NOT EXISTS (SELECT 1 FROM requests WHERE requests.submission = batches.submission)"
)
_EXPIRE = (
    "DELETE FROM requests WHERE submission IN (SELECT submission FROM batches WHERE made < ?)",
    "DELETE FROM batches WHERE made < ?",
)


@dataclass(frozen=True, slots=True)
class Known:
    """The state of a request that was submitted before.

    Attributes:
        body: The response; None if there is none yet.
        submission: The submission name of its batch.
        batch: Its batch's id; None if the process ended before recording it.
    """

    body: Mapping[str, Any] | None
    submission: str
    batch: str | None


class Ledger:
    """The state file, an SQLite database. Several processes may share it, on a local disk.

    Args:
        path: The file; it and its folder are created if missing.
        ttl_s: Seconds until a batch and its answers are deleted.
        clock: Seconds since the epoch.
    """

    def __init__(self, path: str, *, ttl_s: float, clock: Callable[[], float] = time.time) -> None:
        self._path = Path(path).expanduser()
        self._ttl_s = ttl_s
        self._clock = clock
        # Serializes the work, which runs in any worker thread.
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    async def look_up(self, ids: Sequence[str]) -> dict[str, Known]:
        """Return the state of those requests that were submitted before."""
        rows = await self._do(lambda c: c.execute(_LOOK_UP, (json.dumps(ids),)).fetchall())
        return {
            name: Known(None if body is None else mapping(json.loads(body)), submission, batch)
            for name, body, submission, batch in rows
        }

    async def intend(self, submission: str, ids: Iterable[str]) -> None:
        """Record that requests are about to be submitted."""
        held = [(name, submission) for name in ids]

        def write(connection: sqlite3.Connection) -> None:
            connection.execute(_INTEND, (submission, self._clock()))
            connection.executemany(_HOLD, held)

        await self._do(write)

    async def submitted(self, submission: str, batch: str) -> None:
        """Record the batch id that the provider returned."""
        await self._do(lambda c: c.execute(_NAME, (batch, submission)))

    async def lost_batch(self, submission: str) -> LostBatch:
        """Return what identifies a batch whose id was not recorded."""

        def read(connection: sqlite3.Connection) -> LostBatch:
            (begun,) = connection.execute(_BEGUN, (submission,)).fetchone()
            (count,) = connection.execute(_COUNT, (submission,)).fetchone()
            known = frozenset(batch for (batch,) in connection.execute(_KNOWN))
            return LostBatch(submission, begun, count, known)

        return await self._do(read)

    async def keep(self, bodies: Mapping[str, Mapping[str, Any]]) -> None:
        """Store responses."""
        rows = [(json.dumps(body), name) for name, body in bodies.items()]
        await self._do(lambda c: c.executemany(_KEEP, rows))

    async def forget(self, ids: Iterable[str]) -> None:
        """Delete requests that were not answered, so that they can be submitted again."""
        rows = [(name,) for name in ids]
        await self._do(lambda c: c.executemany(_DROP_ONE, rows))

    async def close_batch(self, submission: str) -> None:
        """Delete a batch's unanswered requests, because no more answers will arrive."""

        def write(connection: sqlite3.Connection) -> None:
            connection.execute(_DROP_OPEN, (submission,))
            connection.execute(_DROP_EMPTY, (submission,))

        await self._do(write)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    async def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        # Not cancellable: everything submitted has to be recorded.
        return await anyio.to_thread.run_sync(self._work, work)

    def _work(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._opened()
                with self._connection:
                    return work(self._connection)
            except (sqlite3.Error, OSError) as error:
                raise self._unusable(
                    str(error) if isinstance(error, sqlite3.Error) else None
                ) from (error)

    def _opened(self) -> sqlite3.Connection:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._path.exists():
            # Created here, because SQLite would make it readable to everybody.
            with suppress(FileExistsError):
                os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        connection = sqlite3.connect(self._path, timeout=_PATIENCE_S, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version not in (0, _VERSION):
                raise self._unusable(f"it is of version {version}, which this Resay does not know")
            for statement in _SET_UP:
                connection.execute(statement)
            with connection:
                for statement in _EXPIRE:
                    connection.execute(statement, (self._clock() - self._ttl_s,))
        except BaseException:
            connection.close()
            raise
        return connection

    def _unusable(self, why: str | None) -> ConfigurationError:
        return ConfigurationError(
            f"`calls.state` is {str(self._path)!r}, which cannot be used"
            f"{': ' + why if why else ''}; name a file on a local disk that can be written"
        )


BATCH_SHARE = 0.5
"""The price of a request in a batch, as a fraction of its live price: at OpenAI, Anthropic, Azure
and Vertex AI."""

Sleep = Callable[[float], Awaitable[object]]

_log = logging.getLogger(__name__)
# How many failed polls in a row a batch survives before its waiters get an error.
_PATIENCE = 20
_GROWTH = 1.5
_LONGEST_WAIT_S = 3600.0
# Number of answers written at once.
_WRITTEN = 500


class BatchProvider:
    """Send requests through the Batch APIs of OpenAI, Anthropic and (via litellm) Azure, Vertex AI.

    A request waits until many are collected, then until its batch has ended: up to a day. Send many
    concurrently. Equal requests, with equal index, are sent once. Submitted requests and their
    answers are recorded in the file `state`: a process that sends the same requests after a crash
    waits for the earlier batches, and pays for none of them again.

    Args:
        config: The policy's `calls`.
        sleep: Sleeps for a number of seconds.
    """

    cache_source = "litellm"
    """The same models answer as in live requests, so both share cached answers."""

    def __init__(self, config: BatchCallsConfig, *, sleep: Sleep = anyio.sleep) -> None:
        self._config = config
        self._loops: PerLoop[_LoopBatches] = PerLoop(
            partial(_LoopBatches, config, sleep), _LoopBatches.aclose
        )

    def __repr__(self) -> str:
        return f"BatchProvider(state={self._config.state!r})"

    def __reduce__(self) -> tuple[type[BatchProvider], tuple[BatchCallsConfig]]:
        return BatchProvider, (self._config,)

    async def takes_n(self, query: Query) -> bool:
        """Return False: every answer is a request of its own."""
        del query
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Send the query in the next batch, and wait for its answer.

        Args:
            query: The query; `model` is required.
            n: Number of answers; only 1.

        Raises:
            ProviderRefusedError: The request, or its batch, was refused or cancelled, or no Batch
                API is known for its model.
            ProviderError: No answer after as many batches as `calls.retries` allows.
        """
        if n != 1:
            raise ProviderRefusedError("a request of a batch gives one answer", status=400)
        batches = await self._loops.get()
        return await batches.answer(query)

    def stream(self, query: Query) -> AbstractAsyncContextManager[AsyncIterator[Chunk]]:
        """Refuse: answers of a batch cannot be streamed.

        Raises:
            ConfigurationError: Always.
        """
        del query
        raise ConfigurationError(
            "`calls.via` is 'batch', and an answer of a batch cannot be streamed; ask live, or"
            " check the recorded answer"
        )

    async def aclose(self) -> None:
        """Stop waiting in the running event loop. A later run finds submitted requests again."""
        await self._loops.aclose()


@dataclass(eq=False, slots=True)
class _Request:
    """One pending request."""

    name: str
    line: bytes
    key: str
    api: BatchApi
    done: anyio.Event = field(default_factory=anyio.Event)
    outcome: Mapping[str, Any] | ProviderError | None = None
    waiters: int = 0
    failures: int = 0


@dataclass(eq=False, slots=True)
class _PendingBatch:
    """The requests collected for one destination and not submitted yet."""

    key: str
    api: BatchApi
    requests: dict[str, _Request] = field(default_factory=dict[str, _Request])
    size: int = 0
    added: int = 0


@dataclass(eq=False, slots=True)
class _SubmittedBatch:
    """A submitted batch whose results are pending."""

    submission: str
    batch: str
    api: BatchApi
    key: str
    requests: dict[str, _Request]
    ended: anyio.Event = field(default_factory=anyio.Event)


_lock = threading.Lock()
_opened: dict[BatchCallsConfig, BatchProvider] = {}


def open_batches(config: BatchCallsConfig) -> BatchProvider:
    """Return the provider for a policy's Batch API settings.

    There is one per process for equal settings, so that equal requests of several guards are sent
    once, and batches combine all their requests. Nothing is opened before it is used.

    Args:
        config: The settings.
    """
    with _lock:
        return _opened.setdefault(config, BatchProvider(config))


class _LoopBatches:
    """The requests collected and pending in one event loop."""

    def __init__(self, config: BatchCallsConfig, sleep: Sleep) -> None:
        self._config = config
        self._sleep = sleep
        self._ledger = Ledger(config.state, ttl_s=config.ttl_s)
        self._apis: dict[str, BatchApi] = {}
        self._making = anyio.Lock()
        self._requests: dict[str, _Request] = {}
        self._pending: dict[str, _PendingBatch] = {}
        self._by_submission: dict[str, _SubmittedBatch] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def aclose(self) -> None:
        """Cancel all waiting tasks, and close all connections."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        stopped = ProviderError("the batch provider was closed; run again to continue waiting")
        self._complete_all(self._requests.values(), stopped)
        for api in self._apis.values():
            # A client that fails to close must not keep the others open.
            with suppress(Exception):
                await api.aclose()
        self._ledger.close()

    # One request

    async def answer(self, query: Query) -> Completions:
        """Send a query in a batch and return its answer."""
        try:
            request = await self._collected(query)
        except (ConfigurationError, ProviderError) as error:
            raise _as_provider_error(error) from error
        request.waiters += 1
        try:
            await request.done.wait()
        finally:
            request.waiters -= 1
            self._leave(request)
        if isinstance(request.outcome, ProviderError):
            raise request.outcome
        return request.api.read(request.outcome or {})

    async def _collected(self, query: Query) -> _Request:
        """Return the request of a query, collected unless an equal one is pending."""
        destination = Destination.of(query)
        name = request_id(query)
        if name is None:
            raise ProviderRefusedError(
                "a provider parameter holds a value that JSON cannot represent, so it cannot be"
                " batched; give texts, numbers, lists and mappings"
            )
        key = destination.key
        if key not in self._apis:
            async with self._making:
                if key not in self._apis:
                    if destination.through_litellm:
                        await LiteLLMProvider().prepare()
                    # Importing an SDK takes a second.
                    made = await anyio.to_thread.run_sync(_api, destination)
                    self._apis[key] = made
        if name in self._requests:
            return self._requests[name]
        api = self._apis[key]
        line = encoded(api.entry(name, query))
        if len(line) > self._most_bytes(api):
            raise ProviderRefusedError(
                f"a request of {len(line):,} bytes is too large for a batch; raise `calls.max_mb`,"
                " or shorten it"
            )
        request = _Request(name, line, key, api)
        self._requests[name] = request
        self._add(request)
        return request

    def _leave(self, request: _Request) -> None:
        """Withdraw a request that nobody waits for any more, unless it is submitted."""
        pending = self._pending.get(request.key)
        if request.waiters or pending is None or pending.requests.get(request.name) is not request:
            return
        del pending.requests[request.name], self._requests[request.name]
        pending.size -= len(request.line) + 1

    def _complete(self, request: _Request, outcome: Mapping[str, Any] | ProviderError) -> None:
        if self._requests.get(request.name) is request:
            del self._requests[request.name]
        request.outcome = outcome
        request.done.set()

    # Collecting

    def _most_bytes(self, api: BatchApi) -> int:
        return min(api.max_bytes, int(self._config.max_mb * MB))

    def _add(self, request: _Request) -> None:
        size = len(request.line) + 1
        pending = self._pending.get(request.key)
        if pending is not None and pending.size + size > self._most_bytes(request.api):
            self._close_pending(pending)
            pending = None
        if pending is None:
            pending = self._pending[request.key] = _PendingBatch(request.key, request.api)
            self._start(pending.requests, self._collect(pending))
        pending.requests[request.name] = request
        pending.size += size
        pending.added += 1
        if len(pending.requests) >= min(self._config.max_requests, request.api.max_requests):
            self._close_pending(pending)

    async def _collect(self, pending: _PendingBatch) -> None:
        """Submit the requests once no more requests arrive."""
        seen = -1
        while seen != pending.added:
            seen = pending.added
            await self._sleep(self._config.wait_s)
            if self._pending.get(pending.key) is not pending:
                return
        self._close_pending(pending)

    def _close_pending(self, pending: _PendingBatch) -> None:
        del self._pending[pending.key]
        if pending.requests:
            self._start(pending.requests, self._flush(pending))

    # Submitting

    async def _flush(self, pending: _PendingBatch) -> None:
        """Resume requests that were submitted before, and submit the rest."""
        known = await self._ledger.look_up(list(pending.requests))
        new = {name: r for name, r in pending.requests.items() if name not in known}
        # By submission, each with its batch id if known.
        old: dict[tuple[str, str | None], dict[str, _Request]] = {}
        for name, found in known.items():
            request = pending.requests[name]
            if found.body is not None:
                self._complete(request, found.body)
            else:
                old.setdefault((found.submission, found.batch), {})[name] = request
        for (submission, batch), requests in old.items():
            if batch is None:
                # The earlier process ended between submitting the batch and recording its id.
                lost = await self._ledger.lost_batch(submission)
                batch = await self._with_retries(partial(pending.api.find, lost))
                if batch is None:
                    await self._ledger.close_batch(submission)
                    new |= requests
                    continue
                await self._ledger.submitted(submission, batch)
            self._resume(submission, batch, pending, requests)
        if new:
            # In its own task: if it fails, the others still wait for their existing batches.
            self._start(new, self._submit(pending, new))

    def _resume(
        self, submission: str, batch: str, pending: _PendingBatch, requests: dict[str, _Request]
    ) -> None:
        submitted = self._by_submission.get(submission)
        if submitted is not None:
            submitted.requests |= requests
            return
        _log.info("waiting for batch %r of an earlier run", batch)
        submitted = _SubmittedBatch(submission, batch, pending.api, pending.key, requests)
        self._begin(submitted, new=False)

    async def _submit(self, pending: _PendingBatch, requests: dict[str, _Request]) -> None:
        submission = uuid4().hex
        await self._ledger.intend(submission, requests)
        lines = [request.line for request in requests.values()]
        try:
            batch = await self._submit_with_retries(pending.api, lines, submission)
        except Exception:
            await self._ledger.close_batch(submission)
            raise
        await self._ledger.submitted(submission, batch)
        _log.info("submitted %d requests as batch %r", len(requests), batch)
        self._begin(
            _SubmittedBatch(submission, batch, pending.api, pending.key, requests), new=True
        )

    async def _submit_with_retries(self, api: BatchApi, lines: list[bytes], submission: str) -> str:
        tried = 0
        while True:
            try:
                return await api.submit(lines, submission)
            except ProviderError as error:
                tried += 1
                # Without an answer, the batch may have been created all the same.
                if error.retryable and (error.status is None or error.status >= 500):
                    with suppress(ProviderError):
                        found = await api.find(await self._ledger.lost_batch(submission))
                        if found is not None:
                            return found
                if not error.retryable or tried > self._config.retries:
                    raise
                pause = error.retry_after_s
            await self._sleep(_pause(pause, self._config.poll_s))

    async def _with_retries(self, ask: Callable[[], Awaitable[str | None]]) -> str | None:
        """Retry until there is an answer, or no point in retrying."""
        tried = 0
        while True:
            try:
                return await ask()
            except ProviderError as error:
                tried += 1
                if not error.retryable or tried > _PATIENCE:
                    raise
                pause = error.retry_after_s
            await self._sleep(_pause(pause, self._config.poll_s))

    # Waiting

    def _begin(self, submitted: _SubmittedBatch, *, new: bool) -> None:
        self._by_submission[submitted.submission] = submitted
        self._start(submitted.requests, self._follow(submitted, new=new))

    async def _follow(self, submitted: _SubmittedBatch, *, new: bool) -> None:
        try:
            await self._wait(submitted, new=new)
        finally:
            self._by_submission.pop(submitted.submission, None)
            submitted.ended.set()

    async def _wait(self, submitted: _SubmittedBatch, *, new: bool) -> None:
        wait, failures = self._config.poll_s, 0
        if new:
            await self._sleep(wait)
        while True:
            try:
                status = await submitted.api.status(submitted.batch)
                if status.ended:
                    return await self._finish(submitted, status)
                failures, pause = 0, status.retry_after_s
            except ProviderError as error:
                failures += 1
                if error.status == 404:
                    return await self._gone(submitted)
                if not error.retryable or failures > _PATIENCE:
                    raise
                pause = error.retry_after_s
            wait = min(wait * _GROWTH, self._config.longest_poll_s)
            await self._sleep(_pause(pause, wait))

    async def _gone(self, submitted: _SubmittedBatch) -> None:
        _log.warning(
            "batch %r is not known to the provider any more; its requests are sent again",
            submitted.batch,
        )
        await self._ledger.close_batch(submitted.submission)
        self._fail_each(submitted, "the batch is gone")

    async def _finish(self, submitted: _SubmittedBatch, status: BatchStatus) -> None:
        """Deliver the results of a batch, and resend requests that may succeed."""
        if status.problem is not None:
            return await self._refused(submitted, status)
        others: dict[str, Result] = {}
        kept: dict[str, Mapping[str, Any]] = {}
        async for result in submitted.api.results(submitted.batch, status):
            if result.kind == "answered":
                kept[result.request_id] = result.body
            else:
                others[result.request_id] = result
            if len(kept) >= _WRITTEN:
                await self._keep(submitted, kept)
                kept = {}
        await self._keep(submitted, kept)
        # No more requests can join; those that joined during the reading may have missed theirs.
        self._by_submission.pop(submitted.submission, None)
        known = await self._ledger.look_up([r.name for r in _unanswered(submitted)])
        for name, found in known.items():
            if found.body is not None:
                self._complete(submitted.requests[name], found.body)
        await self._ledger.close_batch(submitted.submission)
        for request in _unanswered(submitted):
            self._fail(request, others.get(request.name), submitted, status)
        _log.info("batch %r has ended", submitted.batch)
        return None

    async def _keep(
        self, submitted: _SubmittedBatch, bodies: Mapping[str, Mapping[str, Any]]
    ) -> None:
        if bodies:
            await self._ledger.keep(bodies)
        for name, body in bodies.items():
            request = submitted.requests.get(name)
            if request is not None:
                self._complete(request, body)

    async def _refused(self, submitted: _SubmittedBatch, status: BatchStatus) -> None:
        await self._ledger.close_batch(submitted.submission)
        self._by_submission.pop(submitted.submission, None)
        if not status.at_capacity:
            self._complete_all(
                _unanswered(submitted),
                ProviderRefusedError(
                    f"the batch {submitted.batch!r} was refused as a whole: {status.problem}; see"
                    " the provider's page of batches"
                ),
            )
            return
        # Providers limit pending batches. Our own make room when they end.
        ahead = next((w for w in self._by_submission.values() if w.key == submitted.key), None)
        if ahead is None:
            await self._sleep(self._config.longest_poll_s)
            self._fail_each(submitted, f"{status.problem}: lower `calls.max_requests`")
            return
        _log.info(
            "batch %r is too much for the provider now; it is sent again when %r has ended",
            *(submitted.batch, ahead.batch),
        )
        await ahead.ended.wait()
        for request in _unanswered(submitted):
            self._add_again(request)

    def _fail(
        self,
        request: _Request,
        result: Result | None,
        submitted: _SubmittedBatch,
        status: BatchStatus,
    ) -> None:
        """Handle a request without an answer: fail it, or send it again."""
        if status.cancelled if result is None else result.kind == "cancelled":
            message = (
                f"the batch {submitted.batch!r} was cancelled at the provider; run again to send it"
            )
            self._complete(request, ProviderRefusedError(message))
        elif result is not None and result.kind == "refused":
            message = f"a request of the batch {submitted.batch!r} was refused: {result.reason}"
            self._complete(request, ProviderRefusedError(message, status=result.status))
        else:
            self._fail_once(request, "no answer" if result is None else result.reason)

    def _fail_each(self, submitted: _SubmittedBatch, why: str) -> None:
        for request in _unanswered(submitted):
            self._fail_once(request, why)

    def _fail_once(self, request: _Request, why: str) -> None:
        request.failures += 1
        if request.failures > self._config.retries:
            message = f"{request.failures} batches gave no answer to a request; the last: {why}"
            self._complete(request, ProviderError(message))
        else:
            self._add_again(request)

    def _add_again(self, request: _Request) -> None:
        if request.waiters:
            self._add(request)
        elif self._requests.get(request.name) is request:
            del self._requests[request.name]

    # Tasks

    def _complete_all(self, requests: Iterable[_Request], error: ProviderError) -> None:
        for request in list(requests):
            self._complete(request, error)

    def _start(self, requests: Mapping[str, _Request], work: Coroutine[Any, Any, None]) -> None:
        """Run work in the background; if it fails, its waiting requests get the error."""

        async def run() -> None:
            try:
                await work
            # Waiters must get an error of any type, or they would wait forever.
            except Exception as error:
                waiting = [r for r in requests.values() if not r.done.is_set()]
                self._complete_all(waiting, _as_provider_error(error))

        # An empty context: neither the span nor the deadline of the first caller applies to it.
        task = contextvars.Context().run(asyncio.get_running_loop().create_task, run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _pause(asked: float | None, otherwise: float) -> float:
    """Return how long to wait: as long as the provider asks, at most an hour."""
    return otherwise if asked is None else min(max(asked, 0.0), _LONGEST_WAIT_S)


def _unanswered(submitted: _SubmittedBatch) -> list[_Request]:
    return [request for request in submitted.requests.values() if not request.done.is_set()]


def _api(destination: Destination) -> BatchApi:
    if destination.api == "anthropic":
        return AnthropicBatches(destination)
    if destination.through_litellm:
        return LiteLLMBatches(destination)
    return OpenAIBatches(destination)


def _as_provider_error(error: Exception) -> ProviderError:
    """Return an error as a ProviderError, the only kind that callers have to handle."""
    if isinstance(error, ProviderError):
        return error
    if isinstance(error, ResayError):
        return ProviderRefusedError(str(error))
    return ProviderError(f"asking through a Batch API failed with {type(error).__name__}")
