"""Batches the texts of concurrent callers into requests, and splits texts that are too long."""

from __future__ import annotations

import asyncio
import math
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from operator import attrgetter
from typing import Generic, TypeAlias, TypeVar

from resay._internal.event_loops import PerLoop
from resay._internal.patterns import lazy_pattern
from resay.errors import ResayError, ScorerError
from resay.models.remote.http import TooLargeError

T = TypeVar("T")
_WORD_START = lazy_pattern(r"(?<=\S)(?=\s)")
# Servers refuse to tokenize very long texts; few languages have tokens this long.
_CHARS_PER_TOKEN = 16


@dataclass(frozen=True, slots=True)
class Part:
    """A text, or a part of one that the server can read.

    Attributes:
        text: The part's text. The parts of a text, joined, are the text.
        weight: Its number of tokens, at least 1; always 1 for a text that was not counted.
    """

    text: str
    weight: int = 1


async def cut(
    texts: Sequence[str],
    max_tokens: int | None,
    lengths: Callable[[Sequence[str]], Awaitable[Sequence[int]]],
) -> list[list[Part]]:
    """Split each text into as few parts of similar length as the server can read.

    Texts are split before white space if possible. Texts with no more bytes than the server reads
    tokens are not counted: a token covers at least one byte.

    Args:
        texts: Any number of texts.
        max_tokens: The server's maximum input length, without special tokens; None = no limit.
        lengths: Counts tokens.

    Returns:
        For each text its parts, at least one.

    Raises:
        ScorerError: No part of a text is short enough.
    """
    if max_tokens is None:
        return [[Part(text)] for text in texts]
    long = [text for text in dict.fromkeys(texts) if len(text.encode()) > max_tokens]
    cuts = [_cut(text, max_tokens, lengths) for text in long]
    parts = dict(zip(long, await asyncio.gather(*cuts), strict=True))
    return [parts.get(text) or [Part(text)] for text in texts]


async def _cut(
    text: str, max_tokens: int, lengths: Callable[[Sequence[str]], Awaitable[Sequence[int]]]
) -> list[Part]:
    if max_tokens < 1:
        raise ScorerError(
            f"the server reads {max_tokens!r} tokens besides special ones; it must read at least 1"
        )
    pieces = _pieces(text, math.ceil(len(text) / (max_tokens * _CHARS_PER_TOKEN)))
    while True:
        counted = list(zip(pieces, await lengths(pieces), strict=True))
        if all(count <= max_tokens for _, count in counted):
            return [Part(piece, max(count, 1)) for piece, count in counted]
        shorter: list[str] = []
        for piece, count in counted:
            if count > max_tokens and len(piece) < 2:
                raise ScorerError(
                    f"one character has more than the {max_tokens!r} tokens the server reads"
                )
            shorter += _pieces(piece, math.ceil(count / max_tokens))
        pieces = shorter


def _pieces(text: str, count: int) -> list[str]:
    """Split a text into `count` pieces of similar length, or fewer if it has fewer characters."""
    count = min(count, len(text))
    if count < 2:
        return [text]
    starts = [match.start() for match in _WORD_START.finditer(text)]
    cuts = [0]
    for number in range(1, count):
        target = len(text) * number // count
        before = bisect_right(starts, target) - 1
        is_near = before >= 0 and starts[before] > (cuts[-1] + target) / 2
        cuts.append(starts[before] if is_near else target)
    ends = [*cuts[1:], len(text)]
    return [text[start:end] for start, end in zip(cuts, ends, strict=True)]


def weights(parts: Sequence[Sequence[Part]]) -> list[list[int]]:
    """Return the weights of each text's parts."""
    return [list(map(attrgetter("weight"), text_parts)) for text_parts in parts]


def flat(parts: Sequence[Sequence[Part]]) -> list[str]:
    """Return the texts of all parts."""
    return [part.text for part in chain.from_iterable(parts)]


def regroup(results: Sequence[T], parts: Sequence[Sequence[Part]]) -> list[list[T]]:
    """Group the results for `flat` into one list for each text."""
    remaining = iter(results)
    return [list(islice(remaining, len(text_parts))) for text_parts in parts]


def replace_surrogates(text: str) -> str:
    """Replace unpaired surrogates, which no server accepts, with U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


K = TypeVar("K", bound=Hashable)
R = TypeVar("R")
Outcomes: TypeAlias = list[R | ResayError]
"""For each item its result, or the error."""


class ResultCache(Generic[K, R]):
    """A cache of results that evicts the least recently used. Threads may share it.

    Args:
        limit_bytes: The maximum size of the cache.
        size: Returns the size of an item and its result in bytes.
    """

    def __init__(self, limit_bytes: float, size: Callable[[K, R], int]) -> None:
        self._limit = limit_bytes
        self._size = size
        self._used = 0
        self._results: OrderedDict[K, R] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, items: Iterable[K]) -> dict[K, R]:
        """Return the cached results."""
        with self._lock:
            cached = {item: self._results[item] for item in items if item in self._results}
            for item in cached:
                self._results.move_to_end(item)
        return cached

    def add(self, item: K, result: R) -> None:
        """Cache a result."""
        with self._lock:
            if item in self._results:
                return
            self._results[item] = result
            self._used += self._size(item, result)
            while self._used > self._limit:
                self._used -= self._size(*self._results.popitem(last=False))


@dataclass(eq=False, slots=True)
class _Job(Generic[K, R]):
    item: K
    result: asyncio.Future[R]
    callers: int = 0
    batch: _Batch[K, R] | None = None


@dataclass(eq=False, slots=True)
class _Batch(Generic[K, R]):
    jobs: list[_Job[K, R]]
    pending: int
    task: asyncio.Task[None] | None = None


@dataclass(eq=False, slots=True)
class _LoopJobs(Generic[K, R]):
    """The pending jobs of one event loop."""

    jobs: dict[K, _Job[K, R]] = field(default_factory=dict[K, _Job[K, R]])
    queue: list[_Job[K, R]] = field(default_factory=list[_Job[K, R]])
    tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])


class RequestBatcher(Generic[K, R]):
    """Batches items of concurrent callers into requests, and sends equal items once.

    An item waits briefly for those of other callers in its event loop. Cancelling a caller does not
    affect the others; items that no caller waits for any more are not sent.

    Args:
        send: Sends a request with at most `max_items` items.
        max_items: Returns the maximum number of items in a request.
        window_s: How long the first item waits for others, in seconds.
        cache: The cache for results; None = no cache.
    """

    def __init__(
        self,
        send: Callable[[Sequence[K]], Awaitable[Outcomes[R]]],
        *,
        max_items: Callable[[], Awaitable[int]],
        window_s: float,
        cache: ResultCache[K, R] | None = None,
    ) -> None:
        self._send = send
        self._max_items = max_items
        self._window_s = window_s
        self._cache = cache
        self._loops: PerLoop[_LoopJobs[K, R]] = PerLoop(_LoopJobs[K, R], _abandon)

    async def map(self, items: Sequence[K]) -> list[R]:
        """Return the result of each item.

        Raises:
            ResayError: An item failed.
        """
        distinct = dict.fromkeys(items)
        results = self._cache.find(distinct) if self._cache else {}
        missing = [item for item in distinct if item not in results]
        if missing:
            results |= await self._request(missing)
        return [results[item] for item in items]

    async def _request(self, items: Sequence[K]) -> dict[K, R]:
        max_items = await self._max_items()
        loop_jobs = await self._loops.get()
        jobs = [self._enter(loop_jobs, item, max_items) for item in items]
        try:
            futures = [job.result for job in jobs]
            await asyncio.wait(futures, return_when=asyncio.FIRST_EXCEPTION)
            for future in futures:
                error = future.exception() if future.done() else None
                if error is not None:
                    raise error
            return {job.item: job.result.result() for job in jobs}
        finally:
            _leave(loop_jobs, jobs)

    def _enter(self, loop_jobs: _LoopJobs[K, R], item: K, max_items: int) -> _Job[K, R]:
        job = loop_jobs.jobs.get(item)
        if job is None:
            loop = asyncio.get_running_loop()
            job = loop_jobs.jobs[item] = _Job(item, loop.create_future())
            if not loop_jobs.queue:
                loop.call_later(self._window_s, self._start, loop_jobs, max_items)
            loop_jobs.queue.append(job)
        job.callers += 1
        return job

    def _start(self, loop_jobs: _LoopJobs[K, R], max_items: int) -> None:
        jobs = [job for job in loop_jobs.queue if not job.result.done()]
        loop_jobs.queue = []
        for start in range(0, len(jobs), max_items):
            batch_jobs = jobs[start : start + max_items]
            batch = _Batch(batch_jobs, pending=len(batch_jobs))
            for job in batch_jobs:
                job.batch = batch
            batch.task = asyncio.get_running_loop().create_task(self._run(loop_jobs, batch))
            loop_jobs.tasks.add(batch.task)
            batch.task.add_done_callback(loop_jobs.tasks.discard)

    async def _run(self, loop_jobs: _LoopJobs[K, R], batch: _Batch[K, R]) -> None:
        try:
            outcomes = await self._send([job.item for job in batch.jobs])
            for job, outcome in zip(batch.jobs, outcomes, strict=True):
                self._finish(job, outcome)
        # Any error is passed to the callers.
        except Exception as error:
            for job in batch.jobs:
                self._finish(job, error)
        finally:
            for job in batch.jobs:
                _forget(loop_jobs, job)

    def _finish(self, job: _Job[K, R], outcome: R | Exception) -> None:
        if not isinstance(outcome, Exception) and self._cache:
            self._cache.add(job.item, outcome)
        if job.result.done():
            return
        if isinstance(outcome, Exception):
            job.result.set_exception(outcome)
            # A caller that receives another item's error never retrieves this one.
            job.result.exception()
        else:
            job.result.set_result(outcome)


def _leave(loop_jobs: _LoopJobs[K, R], jobs: Iterable[_Job[K, R]]) -> None:
    for job in jobs:
        job.callers -= 1
        if job.callers or job.result.done():
            continue
        _forget(loop_jobs, job)
        if job.batch is not None:
            job.batch.pending -= 1
            if not job.batch.pending and job.batch.task:
                job.batch.task.cancel()


def _forget(loop_jobs: _LoopJobs[K, R], job: _Job[K, R]) -> None:
    if loop_jobs.jobs.get(job.item) is job:
        del loop_jobs.jobs[job.item]
    job.result.cancel()


async def _abandon(loop_jobs: _LoopJobs[K, R]) -> None:
    for task in loop_jobs.tasks:
        task.cancel()


class CachedRequest(Generic[R]):
    """A value that is requested once and remembered, for all callers and event loops.

    Args:
        request: Requests the value.
    """

    def __init__(self, request: Callable[[], Awaitable[R]]) -> None:
        self._request = request
        self._value: R | None = None
        self._batcher: RequestBatcher[None, R] = RequestBatcher(
            self._send, max_items=_one, window_s=0.0
        )

    async def get(self) -> R:
        """Return the value.

        Raises:
            ResayError: The request failed; the next caller tries again.
        """
        if self._value is None:
            (self._value,) = await self._batcher.map([None])
        return self._value

    async def refresh(self) -> R:
        """Request the value again."""
        self._value = None
        return await self.get()

    async def _send(self, _: Sequence[None]) -> Outcomes[R]:
        return [await self._request()]


async def _one() -> int:
    return 1


async def by_size(
    items: Sequence[K],
    send: Callable[[Sequence[K]], Awaitable[Sequence[R]]],
    max_items: Callable[[], Awaitable[int]],
) -> Outcomes[R]:
    """Send items, in smaller requests if the server finds one too large.

    The server may have lowered its limit, or one of the texts is too long. In the first case, the
    limit is requested again; in the second, requests are halved until that text is alone, so that
    the others get their results.

    Args:
        items: The items.
        send: Sends items in one request.
        max_items: Requests the server's current limit of items in a request.

    Returns:
        For each item its result, or the error.
    """
    try:
        return list(await send(items))
    except TooLargeError as error:
        if len(items) == 1:
            return [error]
    limit = await max_items()
    return await _in_parts(items, send, limit if limit < len(items) else len(items) // 2)


async def _in_parts(
    items: Sequence[K], send: Callable[[Sequence[K]], Awaitable[Sequence[R]]], size: int
) -> Outcomes[R]:
    parts = [items[start : start + size] for start in range(0, len(items), size)]
    outcomes = await asyncio.gather(*[_halve(part, send) for part in parts])
    return list(chain.from_iterable(outcomes))


async def _halve(
    items: Sequence[K], send: Callable[[Sequence[K]], Awaitable[Sequence[R]]]
) -> Outcomes[R]:
    try:
        return list(await send(items))
    except TooLargeError as error:
        if len(items) == 1:
            return [error]
    except ResayError as error:
        return [error] * len(items)
    return await _in_parts(items, send, len(items) // 2)
