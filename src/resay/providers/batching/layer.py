"""The provider that collects requests, submits them as batches, and waits for the results."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Mapping,
)
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import uuid4

import anyio
import anyio.to_thread

from resay._internal.event_loops import PerLoop
from resay.core.request import Request
from resay.errors import ConfigurationError, ProviderError, ProviderRefusedError, ResayError
from resay.providers.base import Chunk, Completions
from resay.providers.batching.anthropic import AnthropicBatches
from resay.providers.batching.base import MB, BatchApi, BatchStatus, Result, encode_entry
from resay.providers.batching.config import BatchCallsConfig
from resay.providers.batching.destinations import Destination, request_id
from resay.providers.batching.files import LiteLLMBatches, OpenAIBatches
from resay.providers.batching.state import BatchState
from resay.providers.litellm import LiteLLMProvider
from resay.providers.litellm_problems import litellm_source

Sleep = Callable[[float], Awaitable[object]]

_log = logging.getLogger(__name__)
# How many failed polls in a row a batch survives before its waiters get an error.
_MAX_FAILED_POLLS = 20
_POLL_GROWTH = 1.5
_MAX_WAIT_S = 3600.0
# Number of answers written at once.
_WRITE_SIZE = 500


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

    def __init__(self, config: BatchCallsConfig, *, sleep: Sleep = anyio.sleep) -> None:
        self._config = config
        self._loops: PerLoop[_LoopBatches] = PerLoop(
            partial(_LoopBatches, config, sleep), _LoopBatches.aclose
        )

    @property
    def cache_source(self) -> str:
        """The same models answer as in live requests, so both share cached answers."""
        return litellm_source()

    def __repr__(self) -> str:
        return f"BatchProvider(state={self._config.state!r})"

    def __reduce__(self) -> tuple[type[BatchProvider], tuple[BatchCallsConfig]]:
        return BatchProvider, (self._config,)

    async def takes_n(self, request: Request) -> bool:
        """Return False: every answer is a request of its own."""
        del request
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Send the request in the next batch, and wait for its answer.

        Args:
            request: The request; `model` is required.
            n: Number of answers; only 1.

        Raises:
            ProviderRefusedError: The request, or its batch, was refused or cancelled, or no Batch
                API is known for its model.
            ProviderError: No answer after as many batches as `calls.retries` allows.
        """
        if n != 1:
            raise ProviderRefusedError("a request of a batch gives one answer", status=400)
        batches = await self._loops.get()
        return await batches.answer(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Chunk]]:
        """Refuse: answers of a batch cannot be streamed.

        Raises:
            ConfigurationError: Always.
        """
        del request
        raise ConfigurationError(
            "`calls.via` is 'batch', and an answer of a batch cannot be streamed; set it to 'live',"
            " or check a recorded answer"
        )

    async def aclose(self) -> None:
        """Stop waiting in the running event loop. A later run finds submitted requests again."""
        await self._loops.aclose()


@dataclass(eq=False, slots=True)
class _PendingRequest:
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
    requests: dict[str, _PendingRequest] = field(default_factory=dict[str, _PendingRequest])
    size: int = 0
    added: int = 0


@dataclass(eq=False, slots=True)
class _SubmittedBatch:
    """A submitted batch whose results are pending."""

    submission: str
    batch: str
    api: BatchApi
    key: str
    requests: dict[str, _PendingRequest]
    ended: anyio.Event = field(default_factory=anyio.Event)


_lock = threading.Lock()
_providers: dict[BatchCallsConfig, BatchProvider] = {}


def open_batches(config: BatchCallsConfig) -> BatchProvider:
    """Return the provider for a policy's Batch API settings.

    There is one per process for equal settings, so that equal requests of several guards are sent
    once, and batches combine all their requests. Nothing is opened before it is used.

    Args:
        config: The settings.
    """
    with _lock:
        return _providers.setdefault(config, BatchProvider(config))


class _LoopBatches:
    """The requests collected and pending in one event loop."""

    def __init__(self, config: BatchCallsConfig, sleep: Sleep) -> None:
        self._config = config
        self._sleep = sleep
        self._state = BatchState(config.state, ttl_s=config.ttl_s)
        self._apis: dict[str, BatchApi] = {}
        self._apis_lock = anyio.Lock()
        self._requests: dict[str, _PendingRequest] = {}
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
        self._state.close()

    # One request

    async def answer(self, request: Request) -> Completions:
        """Send a request in a batch and return its answer."""
        try:
            pending = await self._request_of(request)
        except (ConfigurationError, ProviderError) as error:
            raise _as_provider_error(error) from error
        pending.waiters += 1
        try:
            await pending.done.wait()
        finally:
            pending.waiters -= 1
            self._leave(pending)
        if isinstance(pending.outcome, ProviderError):
            raise pending.outcome
        return pending.api.read(pending.outcome or {})

    async def _request_of(self, request: Request) -> _PendingRequest:
        """Return a request as pending, collected unless an equal one is."""
        destination = Destination.of(request)
        name = request_id(request)
        if name is None:
            raise ProviderRefusedError(
                "a provider parameter holds a value that JSON cannot represent, so it cannot be"
                " batched; give texts, numbers, lists and mappings"
            )
        api = await self._api(destination)
        if name in self._requests:
            return self._requests[name]
        line = encode_entry(api.entry(name, request))
        if len(line) > self._max_bytes(api):
            raise ProviderRefusedError(
                f"a request of {len(line):,} bytes is too large for a batch; raise `calls.max_mb`,"
                " or shorten it"
            )
        pending = _PendingRequest(name=name, line=line, key=destination.key, api=api)
        self._requests[name] = pending
        self._add(pending)
        return pending

    async def _api(self, destination: Destination) -> BatchApi:
        async with self._apis_lock:
            api = self._apis.get(destination.key)
            if api is None:
                if destination.through_litellm:
                    await LiteLLMProvider().prepare()
                # Importing an SDK takes a second.
                api = await anyio.to_thread.run_sync(_open_api, destination)
                self._apis[destination.key] = api
        return api

    def _leave(self, request: _PendingRequest) -> None:
        """Withdraw a request that nobody waits for any more, unless it is submitted."""
        pending = self._pending.get(request.key)
        if request.waiters or pending is None or pending.requests.get(request.name) is not request:
            return
        del pending.requests[request.name], self._requests[request.name]
        pending.size -= len(request.line) + 1

    def _complete(
        self, request: _PendingRequest, outcome: Mapping[str, Any] | ProviderError
    ) -> None:
        if self._requests.get(request.name) is request:
            del self._requests[request.name]
        request.outcome = outcome
        request.done.set()

    # Collecting

    def _max_bytes(self, api: BatchApi) -> int:
        return min(api.max_bytes, int(self._config.max_mb * MB))

    def _add(self, request: _PendingRequest) -> None:
        size = len(request.line) + 1
        pending = self._pending.get(request.key)
        if pending is not None and pending.size + size > self._max_bytes(request.api):
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
        count = -1
        while count != pending.added:
            count = pending.added
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
        """Resume requests that were submitted before, and submit the others."""
        recorded_requests = await self._state.look_up(list(pending.requests))
        new: dict[str, _PendingRequest] = {}
        # By submission, each with its batch id if it was recorded.
        unanswered: dict[tuple[str, str | None], dict[str, _PendingRequest]] = {}
        for name, request in pending.requests.items():
            recorded = recorded_requests.get(name)
            if recorded is None:
                new[name] = request
            elif recorded.body is not None:
                self._complete(request, recorded.body)
            else:
                key = (recorded.submission, recorded.batch)
                unanswered.setdefault(key, {})[name] = request
        for (submission, batch), requests in unanswered.items():
            if batch is None:
                # The earlier process ended between submitting the batch and recording its id.
                lost = await self._state.lost_batch(submission)
                batch = await self._with_retries(partial(pending.api.find, lost))
                if batch is None:
                    await self._state.close_batch(submission)
                    new |= requests
                    continue
                await self._state.set_batch_id(submission, batch)
            self._resume(submission, batch, pending, requests)
        if new:
            # In its own task: if it fails, the others still wait for their existing batches.
            self._start(new, self._submit(pending, new))

    def _resume(
        self,
        submission: str,
        batch: str,
        pending: _PendingBatch,
        requests: dict[str, _PendingRequest],
    ) -> None:
        submitted = self._by_submission.get(submission)
        if submitted is not None:
            submitted.requests |= requests
            return
        _log.info("waiting for batch %r of an earlier run", batch)
        self._begin(submission, batch, pending, requests, poll_at_once=True)

    async def _submit(self, pending: _PendingBatch, requests: dict[str, _PendingRequest]) -> None:
        submission = uuid4().hex
        await self._state.reserve(submission, requests)
        lines = [request.line for request in requests.values()]
        try:
            batch = await self._submit_with_retries(pending.api, lines, submission)
        except Exception:
            await self._state.close_batch(submission)
            raise
        await self._state.set_batch_id(submission, batch)
        _log.info("submitted %d requests as batch %r", len(requests), batch)
        self._begin(submission, batch, pending, requests, poll_at_once=False)

    async def _submit_with_retries(self, api: BatchApi, lines: list[bytes], submission: str) -> str:
        attempts = 0
        while True:
            try:
                return await api.submit(lines, submission)
            except ProviderError as error:
                attempts += 1
                # Without an answer, the batch may have been created all the same.
                if error.retryable and (error.status is None or error.status >= 500):
                    with suppress(ProviderError):
                        batch = await api.find(await self._state.lost_batch(submission))
                        if batch is not None:
                            return batch
                if not error.retryable or attempts > self._config.retries:
                    raise
                retry_after_s = error.retry_after_s
            await self._sleep(_wait_s(retry_after_s, self._config.poll_s))

    async def _with_retries(self, call: Callable[[], Awaitable[str | None]]) -> str | None:
        """Retry until there is an answer, or no point in retrying."""
        attempts = 0
        while True:
            try:
                return await call()
            except ProviderError as error:
                attempts += 1
                if not error.retryable or attempts > _MAX_FAILED_POLLS:
                    raise
                retry_after_s = error.retry_after_s
            await self._sleep(_wait_s(retry_after_s, self._config.poll_s))

    # Waiting

    def _begin(
        self,
        submission: str,
        batch: str,
        pending: _PendingBatch,
        requests: dict[str, _PendingRequest],
        *,
        poll_at_once: bool,
    ) -> None:
        submitted = _SubmittedBatch(
            submission=submission,
            batch=batch,
            api=pending.api,
            key=pending.key,
            requests=requests,
        )
        self._by_submission[submission] = submitted
        self._start(requests, self._follow(submitted, poll_at_once=poll_at_once))

    async def _follow(self, submitted: _SubmittedBatch, *, poll_at_once: bool) -> None:
        try:
            await self._wait(submitted, poll_at_once=poll_at_once)
        finally:
            self._by_submission.pop(submitted.submission, None)
            submitted.ended.set()

    async def _wait(self, submitted: _SubmittedBatch, *, poll_at_once: bool) -> None:
        interval_s, failures = self._config.poll_s, 0
        if not poll_at_once:
            await self._sleep(interval_s)
        while True:
            try:
                status = await submitted.api.status(submitted.batch)
                if status.ended:
                    return await self._finish(submitted, status)
                failures, retry_after_s = 0, status.retry_after_s
            except ProviderError as error:
                failures += 1
                if error.status == 404:
                    return await self._resend(submitted)
                if not error.retryable or failures > _MAX_FAILED_POLLS:
                    raise
                retry_after_s = error.retry_after_s
            interval_s = min(interval_s * _POLL_GROWTH, self._config.longest_poll_s)
            await self._sleep(_wait_s(retry_after_s, interval_s))

    async def _resend(self, submitted: _SubmittedBatch) -> None:
        _log.warning(
            "batch %r no longer exists at the provider; its requests are sent again",
            submitted.batch,
        )
        await self._state.close_batch(submitted.submission)
        self._fail_each(submitted, "the batch no longer exists")

    async def _finish(self, submitted: _SubmittedBatch, status: BatchStatus) -> None:
        """Deliver the results of a batch, and resend requests that may succeed."""
        if status.problem is not None:
            return await self._refuse(submitted, status)
        failed: dict[str, Result] = {}
        bodies: dict[str, Mapping[str, Any]] = {}
        async for result in submitted.api.results(submitted.batch, status):
            if result.kind == "answered":
                bodies[result.request_id] = result.body
            else:
                failed[result.request_id] = result
            if len(bodies) >= _WRITE_SIZE:
                await self._store(submitted, bodies)
                bodies = {}
        await self._store(submitted, bodies)
        # No more requests can join; those that joined during the reading may have missed theirs.
        self._by_submission.pop(submitted.submission, None)
        recorded_requests = await self._state.look_up([r.name for r in _unanswered(submitted)])
        for name, recorded in recorded_requests.items():
            if recorded.body is not None:
                self._complete(submitted.requests[name], recorded.body)
        await self._state.close_batch(submitted.submission)
        for request in _unanswered(submitted):
            self._fail(request, failed.get(request.name), submitted, status)
        _log.info("batch %r has ended", submitted.batch)
        return None

    async def _store(
        self, submitted: _SubmittedBatch, bodies: Mapping[str, Mapping[str, Any]]
    ) -> None:
        if bodies:
            await self._state.store(bodies)
        for name, body in bodies.items():
            request = submitted.requests.get(name)
            if request is not None:
                self._complete(request, body)

    async def _refuse(self, submitted: _SubmittedBatch, status: BatchStatus) -> None:
        await self._state.close_batch(submitted.submission)
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
        pending = [b for b in self._by_submission.values() if b.key == submitted.key]
        if not pending:
            await self._sleep(self._config.longest_poll_s)
            self._fail_each(submitted, f"{status.problem}: lower `calls.max_requests`")
            return
        _log.info(
            "batch %r exceeds what the provider accepts now; it is sent again when %r has ended",
            submitted.batch,
            pending[0].batch,
        )
        await pending[0].ended.wait()
        for request in _unanswered(submitted):
            self._add_again(request)

    def _fail(
        self,
        request: _PendingRequest,
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

    def _fail_each(self, submitted: _SubmittedBatch, reason: str) -> None:
        for request in _unanswered(submitted):
            self._fail_once(request, reason)

    def _fail_once(self, request: _PendingRequest, reason: str) -> None:
        request.failures += 1
        if request.failures > self._config.retries:
            message = f"{request.failures} batches gave no answer to a request; the last: {reason}"
            self._complete(request, ProviderError(message))
        else:
            self._add_again(request)

    def _add_again(self, request: _PendingRequest) -> None:
        if request.waiters:
            self._add(request)
        elif self._requests.get(request.name) is request:
            del self._requests[request.name]

    # Tasks

    def _complete_all(self, requests: Iterable[_PendingRequest], error: ProviderError) -> None:
        for request in list(requests):
            self._complete(request, error)

    def _start(
        self, requests: Mapping[str, _PendingRequest], work: Coroutine[Any, Any, None]
    ) -> None:
        """Run work in the background; if it fails, its waiting requests get the error."""

        async def run() -> None:
            try:
                await work
            # Waiters must get an error of any type, or they would wait forever.
            except Exception as error:
                unanswered = [request for request in requests.values() if not request.done.is_set()]
                self._complete_all(unanswered, _as_provider_error(error))

        # An empty context: neither the span nor the deadline of the first caller applies to it.
        task = contextvars.Context().run(asyncio.get_running_loop().create_task, run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _wait_s(retry_after_s: float | None, default: float) -> float:
    """Return how long to wait: as long as the provider asks, at most an hour."""
    return default if retry_after_s is None else min(max(retry_after_s, 0.0), _MAX_WAIT_S)


def _unanswered(submitted: _SubmittedBatch) -> list[_PendingRequest]:
    return [request for request in submitted.requests.values() if not request.done.is_set()]


def _open_api(destination: Destination) -> BatchApi:
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
    return ProviderError(f"a call of a Batch API failed with {type(error).__name__}")
