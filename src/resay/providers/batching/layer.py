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
    Destination,
    LiteLLMBatches,
    OpenAIBatches,
    Result,
    Sought,
    Standing,
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

    async def sought(self, submission: str) -> Sought:
        """Return what identifies a batch whose id was not recorded."""

        def read(connection: sqlite3.Connection) -> Sought:
            (begun,) = connection.execute(_BEGUN, (submission,)).fetchone()
            (count,) = connection.execute(_COUNT, (submission,)).fetchone()
            known = frozenset(batch for (batch,) in connection.execute(_KNOWN))
            return Sought(submission, begun, count, known)

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
        self._desks: PerLoop[_Desk] = PerLoop(partial(_Desk, config, sleep), _Desk.aclose)

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
        desk = await self._desks.get()
        return await desk.answer(query)

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
        await self._desks.aclose()


@dataclass(eq=False, slots=True)
class _Request:
    """One pending request."""

    name: str
    line: bytes
    key: str
    api: BatchApi
    landed: anyio.Event = field(default_factory=anyio.Event)
    outcome: Mapping[str, Any] | ProviderError | None = None
    readers: int = 0
    failures: int = 0


@dataclass(eq=False, slots=True)
class _Pile:
    """The requests collected for one destination and not submitted yet."""

    key: str
    api: BatchApi
    requests: dict[str, _Request] = field(default_factory=dict[str, _Request])
    size: int = 0
    added: int = 0


@dataclass(eq=False, slots=True)
class _Watch:
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


class _Desk:
    """The requests collected and pending in one event loop."""

    def __init__(self, config: BatchCallsConfig, sleep: Sleep) -> None:
        self._config = config
        self._sleep = sleep
        self._ledger = Ledger(config.state, ttl_s=config.ttl_s)
        self._apis: dict[str, BatchApi] = {}
        self._making = anyio.Lock()
        self._requests: dict[str, _Request] = {}
        self._piles: dict[str, _Pile] = {}
        self._watches: dict[str, _Watch] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def aclose(self) -> None:
        """Cancel all waiting tasks, and close all connections."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        stopped = ProviderError("nobody waits for batches any more; run again to go on")
        self._land_all(self._requests.values(), stopped)
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
            raise _told(error) from error
        request.readers += 1
        try:
            await request.landed.wait()
        finally:
            request.readers -= 1
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
                "a provider parameter holds what JSON does not know, and cannot go into a batch;"
                " give texts, numbers, lists and mappings"
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
        pile = self._piles.get(request.key)
        if request.readers or pile is None or pile.requests.get(request.name) is not request:
            return
        del pile.requests[request.name], self._requests[request.name]
        pile.size -= len(request.line) + 1

    def _land(self, request: _Request, outcome: Mapping[str, Any] | ProviderError) -> None:
        if self._requests.get(request.name) is request:
            del self._requests[request.name]
        request.outcome = outcome
        request.landed.set()

    # Collecting

    def _most_bytes(self, api: BatchApi) -> int:
        return min(api.max_bytes, int(self._config.max_mb * MB))

    def _add(self, request: _Request) -> None:
        size = len(request.line) + 1
        pile = self._piles.get(request.key)
        if pile is not None and pile.size + size > self._most_bytes(request.api):
            self._close_pile(pile)
            pile = None
        if pile is None:
            pile = self._piles[request.key] = _Pile(request.key, request.api)
            self._start(pile.requests, self._collect(pile))
        pile.requests[request.name] = request
        pile.size += size
        pile.added += 1
        if len(pile.requests) >= min(self._config.max_requests, request.api.max_requests):
            self._close_pile(pile)

    async def _collect(self, pile: _Pile) -> None:
        """Submit a pile once no more requests arrive."""
        seen = -1
        while seen != pile.added:
            seen = pile.added
            await self._sleep(self._config.wait_s)
            if self._piles.get(pile.key) is not pile:
                return
        self._close_pile(pile)

    def _close_pile(self, pile: _Pile) -> None:
        del self._piles[pile.key]
        if pile.requests:
            self._start(pile.requests, self._flush(pile))

    # Submitting

    async def _flush(self, pile: _Pile) -> None:
        """Resume requests that were submitted before, and submit the rest."""
        known = await self._ledger.look_up(list(pile.requests))
        new = {name: r for name, r in pile.requests.items() if name not in known}
        # By submission, each with its batch id if known.
        old: dict[tuple[str, str | None], dict[str, _Request]] = {}
        for name, found in known.items():
            request = pile.requests[name]
            if found.body is not None:
                self._land(request, found.body)
            else:
                old.setdefault((found.submission, found.batch), {})[name] = request
        for (submission, batch), requests in old.items():
            if batch is None:
                # The earlier process ended between submitting the batch and recording its id.
                sought = await self._ledger.sought(submission)
                batch = await self._again(partial(pile.api.find, sought))
                if batch is None:
                    await self._ledger.close_batch(submission)
                    new |= requests
                    continue
                await self._ledger.submitted(submission, batch)
            self._resume(submission, batch, pile, requests)
        if new:
            # In its own task: if it fails, the others still wait for their existing batches.
            self._start(new, self._submit(pile, new))

    def _resume(
        self, submission: str, batch: str, pile: _Pile, requests: dict[str, _Request]
    ) -> None:
        watch = self._watches.get(submission)
        if watch is not None:
            watch.requests |= requests
            return
        _log.info("waiting for batch %r of an earlier run", batch)
        watch = _Watch(submission, batch, pile.api, pile.key, requests)
        self._begin(watch, new=False)

    async def _submit(self, pile: _Pile, requests: dict[str, _Request]) -> None:
        submission = uuid4().hex
        await self._ledger.intend(submission, requests)
        lines = [request.line for request in requests.values()]
        try:
            batch = await self._submitted(pile.api, lines, submission)
        except Exception:
            await self._ledger.close_batch(submission)
            raise
        await self._ledger.submitted(submission, batch)
        _log.info("submitted %d requests as batch %r", len(requests), batch)
        self._begin(_Watch(submission, batch, pile.api, pile.key, requests), new=True)

    async def _submitted(self, api: BatchApi, lines: list[bytes], submission: str) -> str:
        tried = 0
        while True:
            try:
                return await api.submit(lines, submission)
            except ProviderError as error:
                tried += 1
                # Without an answer, the batch may have been created all the same.
                if error.retryable and (error.status is None or error.status >= 500):
                    with suppress(ProviderError):
                        found = await api.find(await self._ledger.sought(submission))
                        if found is not None:
                            return found
                if not error.retryable or tried > self._config.retries:
                    raise
                pause = error.retry_after_s
            await self._sleep(_pause(pause, self._config.poll_s))

    async def _again(self, ask: Callable[[], Awaitable[str | None]]) -> str | None:
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

    def _begin(self, watch: _Watch, *, new: bool) -> None:
        self._watches[watch.submission] = watch
        self._start(watch.requests, self._follow(watch, new=new))

    async def _follow(self, watch: _Watch, *, new: bool) -> None:
        try:
            await self._wait(watch, new=new)
        finally:
            self._watches.pop(watch.submission, None)
            watch.ended.set()

    async def _wait(self, watch: _Watch, *, new: bool) -> None:
        wait, failures = self._config.poll_s, 0
        if new:
            await self._sleep(wait)
        while True:
            try:
                standing = await watch.api.look(watch.batch)
                if standing.ended:
                    return await self._finish(watch, standing)
                failures, pause = 0, standing.retry_after_s
            except ProviderError as error:
                failures += 1
                if error.status == 404:
                    return await self._gone(watch)
                if not error.retryable or failures > _PATIENCE:
                    raise
                pause = error.retry_after_s
            wait = min(wait * _GROWTH, self._config.longest_poll_s)
            await self._sleep(_pause(pause, wait))

    async def _gone(self, watch: _Watch) -> None:
        _log.warning(
            "batch %r is not known to the provider any more; its requests are sent again",
            watch.batch,
        )
        await self._ledger.close_batch(watch.submission)
        self._fail_each(watch, "the batch is gone")

    async def _finish(self, watch: _Watch, standing: Standing) -> None:
        """Deliver the results of a batch, and resend requests that may succeed."""
        if standing.problem is not None:
            return await self._refused(watch, standing)
        others: dict[str, Result] = {}
        kept: dict[str, Mapping[str, Any]] = {}
        async for result in watch.api.results(watch.batch, standing):
            if result.fate == "answered":
                kept[result.request_id] = result.body
            else:
                others[result.request_id] = result
            if len(kept) >= _WRITTEN:
                await self._keep(watch, kept)
                kept = {}
        await self._keep(watch, kept)
        # No more requests can join; those that joined during the reading may have missed theirs.
        self._watches.pop(watch.submission, None)
        known = await self._ledger.look_up([r.name for r in _waited(watch)])
        for name, found in known.items():
            if found.body is not None:
                self._land(watch.requests[name], found.body)
        await self._ledger.close_batch(watch.submission)
        for request in _waited(watch):
            self._fail(request, others.get(request.name), watch, standing)
        _log.info("batch %r has ended", watch.batch)
        return None

    async def _keep(self, watch: _Watch, bodies: Mapping[str, Mapping[str, Any]]) -> None:
        if bodies:
            await self._ledger.keep(bodies)
        for name, body in bodies.items():
            request = watch.requests.get(name)
            if request is not None:
                self._land(request, body)

    async def _refused(self, watch: _Watch, standing: Standing) -> None:
        await self._ledger.close_batch(watch.submission)
        self._watches.pop(watch.submission, None)
        if not standing.full:
            self._land_all(
                _waited(watch),
                ProviderRefusedError(
                    f"the batch {watch.batch!r} was refused as a whole: {standing.problem}; see the"
                    " provider's page of batches"
                ),
            )
            return
        # Providers limit pending batches. Our own make room when they end.
        ahead = next((w for w in self._watches.values() if w.key == watch.key), None)
        if ahead is None:
            await self._sleep(self._config.longest_poll_s)
            self._fail_each(watch, f"{standing.problem}: lower `calls.max_requests`")
            return
        _log.info(
            "batch %r is too much for the provider now; it is sent again when %r has ended",
            *(watch.batch, ahead.batch),
        )
        await ahead.ended.wait()
        for request in _waited(watch):
            self._add_again(request)

    def _fail(
        self, request: _Request, result: Result | None, watch: _Watch, standing: Standing
    ) -> None:
        """Handle a request without an answer: fail it, or send it again."""
        if standing.cancelled if result is None else result.fate == "cancelled":
            told = f"the batch {watch.batch!r} was cancelled at the provider; run again to send it"
            self._land(request, ProviderRefusedError(told))
        elif result is not None and result.fate == "refused":
            told = f"a request of the batch {watch.batch!r} was refused: {result.why}"
            self._land(request, ProviderRefusedError(told, status=result.status))
        else:
            self._fail_once(request, "no answer" if result is None else result.why)

    def _fail_each(self, watch: _Watch, why: str) -> None:
        for request in _waited(watch):
            self._fail_once(request, why)

    def _fail_once(self, request: _Request, why: str) -> None:
        request.failures += 1
        if request.failures > self._config.retries:
            told = f"{request.failures} batches gave no answer to a request; the last: {why}"
            self._land(request, ProviderError(told))
        else:
            self._add_again(request)

    def _add_again(self, request: _Request) -> None:
        if request.readers:
            self._add(request)
        elif self._requests.get(request.name) is request:
            del self._requests[request.name]

    # Tasks

    def _land_all(self, requests: Iterable[_Request], error: ProviderError) -> None:
        for request in list(requests):
            self._land(request, error)

    def _start(self, requests: Mapping[str, _Request], work: Coroutine[Any, Any, None]) -> None:
        """Run work in the background; if it fails, its waiting requests get the error."""

        async def run() -> None:
            try:
                await work
            # Waiters must get an error of any type, or they would wait forever.
            except Exception as error:
                waiting = [r for r in requests.values() if not r.landed.is_set()]
                self._land_all(waiting, _told(error))

        # An empty context: neither the span nor the deadline of the first caller applies to it.
        task = contextvars.Context().run(asyncio.get_running_loop().create_task, run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _pause(asked: float | None, otherwise: float) -> float:
    """Return how long to wait: as long as the provider asks, at most an hour."""
    return otherwise if asked is None else min(max(asked, 0.0), _LONGEST_WAIT_S)


def _waited(watch: _Watch) -> list[_Request]:
    return [request for request in watch.requests.values() if not request.landed.is_set()]


def _api(destination: Destination) -> BatchApi:
    if destination.api == "anthropic":
        return AnthropicBatches(destination)
    if destination.through_litellm:
        return LiteLLMBatches(destination)
    return OpenAIBatches(destination)


def _told(error: Exception) -> ProviderError:
    """Return an error as a ProviderError, the only kind that callers have to handle."""
    if isinstance(error, ProviderError):
        return error
    if isinstance(error, ResayError):
        return ProviderRefusedError(str(error))
    return ProviderError(f"asking through a Batch API failed with {type(error).__name__}")
