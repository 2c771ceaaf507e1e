"""Engines for batch runs: local processes or an event loop, Ray, or custom ones."""

from __future__ import annotations

import asyncio
import os
import pickle
import queue
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Protocol, cast

from resay.adapters import import_named, load_optional, run_sync
from resay.adapters.providers import BatchCallsConfig
from resay.errors import ConfigurationError
from resay_lab.batch.rows import Row
from resay_lab.batch.scoring import RowScorer, Scored

CALLS_AT_ONCE, NEURAL_AT_ONCE = 16, 64
"""Default number of rows checked concurrently if checks wait for calls, or for a neural model."""

_FEW_ROWS = 48
"""This many rows are checked faster than a process starts."""
_FIRST_ROWS = 8
_MAX_ROWS = 256
_MAX_BYTES = 4_000_000
_CHUNK_S = 0.2
_AHEAD = 4
_BLOCKS_EACH = 8


class Engine(Protocol):
    """A function that checks rows; a custom one is named as `package.module:function`."""

    def __call__(self, scorer: RowScorer, rows: Iterator[Row], /) -> Iterable[Sequence[Scored]]:
        """Check rows, and yield each as soon as it is finished, in any order.

        Args:
            scorer: Checks a row; it can be pickled.
            rows: The rows. Take only as many as can be worked on: a run is stopped by ending this
                iterator. It may be advanced from any thread, one at a time.

        Returns:
            Lists of finished rows; a generator is closed if a run is stopped.
        """
        ...


def engine_of(
    name: str | Engine, *, workers: int | None = None, concurrency: int | None = None
) -> Engine:
    """Return an engine.

    Args:
        name: `local`, `ray`, `package.module:function`, or an engine.
        workers: Number of processes or actors; None for one per core.
        concurrency: Number of rows that each checks concurrently if checks wait for something.

    Raises:
        ConfigurationError: No engine has that name.
    """
    if not isinstance(name, str):
        return name
    if name == "local":
        return Local(workers, concurrency)
    if name == "ray":
        return Ray(workers, concurrency)
    if ":" in name:
        return cast("Engine", import_named(name))
    raise ConfigurationError(f"unknown engine {name!r}; use local, ray or package.module:function")


# Rows that wait for a provider's batch stay in memory, with their samples.
_BATCHED_AT_ONCE = 10_000


def default_concurrency(scorer: RowScorer) -> int:
    """Return the default number of rows to check concurrently.

    If the policy limits the calls of a process, it is twice as many rows as calls: while some wait,
    others are read and decided. With a Batch API, each batch is made from the waiting rows, so it
    is as many rows as fit into a batch.
    """
    calls = scorer.guard.policy.calls
    if scorer.calls_providers and isinstance(calls, BatchCallsConfig):
        return min(calls.max_requests, _BATCHED_AT_ONCE)
    max_calls = scorer.guard.policy.limits.process.concurrency
    if scorer.calls_providers and max_calls is not None:
        return 2 * max_calls
    return NEURAL_AT_ONCE if scorer.is_neural else CALLS_AT_ONCE


class Local:
    """Check rows on this machine.

    CPU-bound checks run in worker processes, one per core. If a check may call a provider, or runs
    a neural model, all run in one event loop of this process: its limits apply to all of them, and
    the model computes their inputs in shared batches.

    Args:
        workers: Number of processes; None for one per available core.
        concurrency: Number of concurrent rows in the event loop.
    """

    def __init__(self, workers: int | None = None, concurrency: int | None = None) -> None:
        self._workers = workers or available_cores()
        self._concurrency = concurrency

    def __call__(self, scorer: RowScorer, rows: Iterator[Row]) -> Iterator[Sequence[Scored]]:
        """Check rows."""
        if scorer.calls_providers or scorer.is_neural:
            at_once = self._concurrency or default_concurrency(scorer)
            yield from _InOneLoop(scorer, rows, at_once).fetch()
            return
        first = list(islice(rows, _FEW_ROWS))
        if len(first) < _FEW_ROWS or self._workers == 1:
            for row in chain(first, rows):
                yield scorer.score([row])
            return
        yield from _InProcesses(scorer, chain(first, rows), self._workers).fetch()


def available_cores() -> int:
    """Return the number of cores available to this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_ENDED = object()


class _InOneLoop:
    """Check several rows concurrently, in the event loop shared by the whole process.

    Args:
        scorer: Checks a row.
        rows: The rows.
        concurrency: Number of concurrent rows.
    """

    def __init__(self, scorer: RowScorer, rows: Iterator[Row], concurrency: int) -> None:
        self._scorer = scorer
        self._rows = rows
        self._concurrency = concurrency
        self._done: queue.Queue[Any] = queue.Queue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._work: asyncio.Future[list[None]] | None = None
        self._space = asyncio.Semaphore(0)
        self._thread = threading.Thread(target=self._run, name="resay-batch", daemon=True)

    def fetch(self) -> Generator[Sequence[Scored], None, None]:
        """Yield each row when it is finished. Closing the generator cancels those in flight."""
        self._thread.start()
        try:
            while (result := self._done.get()) is not _ENDED:
                if isinstance(result, BaseException):
                    raise result
                self._call_in_loop(self._space.release)
                yield [cast("Scored", result)]
        finally:
            if self._work is not None:
                self._call_in_loop(self._work.cancel)
            self._thread.join(timeout=1.0)

    def _call_in_loop(self, callback: Callable[[], object]) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # it was closed
                self._loop.call_soon_threadsafe(callback)

    def _run(self) -> None:
        try:
            run_sync(self._arun)
        # Raised again in `fetch`.
        except BaseException as error:
            self._done.put(error)
        self._done.put(_ENDED)

    async def _arun(self) -> None:
        self._loop = asyncio.get_running_loop()
        # Limits how far rows are taken ahead of fetching.
        self._space = asyncio.Semaphore(_AHEAD * self._concurrency)
        tasks = (self._one_by_one() for _ in range(self._concurrency))
        work = self._work = asyncio.gather(*tasks)
        with suppress(asyncio.CancelledError):
            await work

    async def _one_by_one(self) -> None:
        while True:
            await self._space.acquire()
            row = next(self._rows, None)
            if row is None:
                return
            self._done.put(await self._scorer.ascore(row))


class _DiedError(Exception):
    """A worker process ended unexpectedly."""


class _Worker:
    """A process that checks rows, and ends when this one does.

    `multiprocessing` would run the program's main module again in each worker, which scripts must
    support, and would leave the processes behind if this one is killed.
    """

    def __init__(self, scorer: bytes) -> None:
        paths = [path or str(Path.cwd()) for path in sys.path]
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from resay_lab.batch.engines import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            # Ctrl-C is for this process only, which lets the workers finish their rows.
            start_new_session=True,
        )
        self._in, self._out = (
            cast("IO[bytes]", self._process.stdin),
            cast("IO[bytes]", self._process.stdout),
        )
        _send(self._in, scorer)

    def ask(self, rows: Sequence[Row]) -> None:
        """Send rows to be checked. At most two such requests may be unanswered."""
        # If the process has died, the missing answer shows it.
        with suppress(OSError, ValueError):
            _send(self._in, pickle.dumps(tuple(map(tuple, rows))))

    def answer(self) -> tuple[list[Scored], float]:
        """Return the rows of the oldest request, and the seconds they took.

        Raises:
            _DiedError: The process ended.
        """
        try:
            results, elapsed_s = pickle.loads(_receive(self._out))  # noqa: S301 - our own process
        except (OSError, EOFError, ValueError):
            raise _DiedError from None
        if isinstance(results, BaseException):
            raise results
        return [Scored(*fields) for fields in results], elapsed_s

    def end(self, *, now: bool = False) -> None:
        """End the process: once its work is done, or immediately."""
        with suppress(OSError):
            self._in.close()
        if now:
            self._process.kill()
        self._process.wait()
        self._out.close()


def _send(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(struct.pack("<Q", len(data)))
    pipe.write(data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes:
    head = pipe.read(8)
    if len(head) < 8:
        raise EOFError
    (size,) = struct.unpack("<Q", head)
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data


def serve() -> None:
    """Check the rows that arrive on standard input, until it is closed: a worker's `main`."""
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # A scorer's output must not mix with the rows.
    os.dup2(2, 1)
    loop = asyncio.new_event_loop()
    with suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        scorer = _unpickled(_receive(source))
        requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        # Read in a thread, so that the two processes cannot block on each other's pipes.
        threading.Thread(target=_listen, args=(source, requests), daemon=True).start()
        while (rows := requests.get()) is not None:
            if isinstance(scorer, ConfigurationError):
                _send(target, pickle.dumps((scorer, 0.0)))
                continue
            started = time.perf_counter()
            results = loop.run_until_complete(_all(scorer, rows))
            elapsed_s = time.perf_counter() - started
            _send(target, pickle.dumps((tuple(map(tuple, results)), elapsed_s)))
    # Immediately: nothing is left to be written.
    os._exit(0)


def _listen(source: IO[bytes], requests: queue.SimpleQueue[Any]) -> None:
    with suppress(EOFError, OSError):
        while True:
            rows = pickle.loads(_receive(source))  # noqa: S301 - the parent's
            requests.put([Row(*fields) for fields in rows])
    # The parent has ended, or needs no more rows.
    requests.put(None)


def _unpickled(scorer: bytes) -> RowScorer | ConfigurationError:
    try:
        return cast("RowScorer", pickle.loads(scorer))  # noqa: S301 - the parent's
    # Unpickling imports modules, which may raise anything.
    except Exception as error:
        return ConfigurationError(
            f"cannot create the guard in another process ({type(error).__name__}); define its"
            " parts in a module instead of the main program, or use one worker"
        )


async def _all(scorer: RowScorer, rows: Iterable[Row]) -> list[Scored]:
    return [await scorer.ascore(row) for row in rows]


class _InProcesses:
    """Check rows in worker processes, each driven by a thread of this one.

    Args:
        scorer: Checks a row.
        rows: The rows.
        workers: Number of processes.
    """

    def __init__(self, scorer: RowScorer, rows: Iterator[Row], workers: int) -> None:
        self._scorer = scorer
        self._pickled = pickle.dumps(scorer)
        self._rows = rows
        self._taking = threading.Lock()
        self._stopping = threading.Event()
        self._done: queue.Queue[Any] = queue.Queue(maxsize=_AHEAD * workers)
        self._processes: list[_Worker] = []
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(workers)]

    def fetch(self) -> Generator[Sequence[Scored], None, None]:
        """Yield rows when they are finished. Closing the generator ends the processes."""
        for thread in self._threads:
            thread.start()
        running = len(self._threads)
        try:
            while running:
                result = self._done.get()
                if isinstance(result, BaseException):
                    raise result
                if result is _ENDED:
                    running -= 1
                else:
                    yield result
        finally:
            self._stopping.set()
            for process in tuple(self._processes):
                process.end(now=True)
            for thread in self._threads:
                thread.join(timeout=0.5)

    def _put(self, result: object) -> None:
        while not self._stopping.is_set():
            with suppress(queue.Full):
                self._done.put(result, timeout=0.1)
                return

    def _begin(self) -> _Worker:
        worker = _Worker(self._pickled)
        self._processes.append(worker)
        if self._stopping.is_set():
            worker.end(now=True)
        return worker

    def _run(self) -> None:
        try:
            self._drive()
        # Raised again in `fetch`.
        except BaseException as error:
            self._put(error)
        self._put(_ENDED)

    def _drive(self) -> None:
        worker, size = self._begin(), _FIRST_ROWS
        pending: deque[list[Row]] = deque()
        while not self._stopping.is_set():
            # Send the next rows ahead, so that the worker never waits for them.
            while len(pending) < 2 and (chunk := self._take(size)):
                worker.ask(chunk)
                pending.append(chunk)
            if not pending:
                break
            chunk = pending.popleft()
            try:
                results, elapsed_s = worker.answer()
            except _DiedError:
                if self._stopping.is_set():
                    return
                worker = self._one_by_one(chunk)
                for other in pending:
                    worker.ask(other)
                continue
            each_s = max(elapsed_s / len(chunk), 1e-6)
            size = max(1, min(_MAX_ROWS, int(_CHUNK_S / each_s)))
            self._put(results)
        if not self._stopping.is_set():
            worker.end()

    def _take(self, size: int) -> list[Row]:
        with self._taking:
            return _chunk(self._rows, size)

    def _one_by_one(self, chunk: Sequence[Row]) -> _Worker:
        """Check rows one of which killed the process; return the process that continues."""
        worker = self._begin()
        for row in chunk:
            if self._stopping.is_set():
                break
            results = self._alone(worker, row)
            if results is None:
                results = [self._scorer.lost_row(row, "the worker process exited")]
                worker = self._begin()
            self._put(results)
        return worker

    def _alone(self, worker: _Worker, row: Row) -> list[Scored] | None:
        worker.ask([row])
        try:
            return worker.answer()[0]
        except _DiedError:
            return None


def _chunk(rows: Iterator[Row], size: int) -> list[Row]:
    chunk: list[Row] = []
    room = _MAX_BYTES
    for row in islice(rows, size):
        chunk.append(row)
        room -= len(row.raw)
        if room < 0:
            break
    return chunk


class Ray:
    """Check rows with Ray Data: actors on any number of machines, each with a guard and its models.

    Rows go to Ray in windows, so that neither this process nor Ray's object store ever holds all of
    them. A policy's limits per process apply to each actor: if checks call a provider, there is
    one actor unless `workers` says otherwise.

    Args:
        workers: Number of actors; None for one per core of the cluster.
        concurrency: Number of rows that an actor checks concurrently.
        window: Number of rows given to Ray at once.
        options: Each actor's resources, as for `map_batches`: `{"num_gpus": 1}`.
    """

    def __init__(
        self,
        workers: int | None = None,
        concurrency: int | None = None,
        *,
        window: int = 20_000,
        options: dict[str, Any] | None = None,
    ) -> None:
        self._workers = workers
        self._concurrency = concurrency
        self._window = window
        self._options = options or {}

    def __call__(self, scorer: RowScorer, rows: Iterator[Row]) -> Iterator[Sequence[Scored]]:
        """Check rows."""
        ray = load_optional("ray", package="ray", extra="ray", purpose="the engine 'ray'")
        data = load_optional("ray.data", package="ray", extra="ray", purpose="the engine 'ray'")
        if not ray.is_initialized():
            ray.init(log_to_driver=False, configure_logging=False)
        calls = scorer.calls_providers or scorer.is_neural
        at_once = self._concurrency or (default_concurrency(scorer) if calls else 1)
        cores = int(ray.cluster_resources().get("CPU", 1))
        actors = self._workers or (1 if scorer.calls_providers else cores)
        while window := list(islice(rows, self._window)):
            # A block is finished and stored as a whole, so paid results come in small blocks.
            min_blocks = len(window) // (4 * at_once) if calls else 0
            blocks = min(len(window), max(_BLOCKS_EACH * actors, min_blocks))
            items = [row._asdict() for row in window]
            table = data.from_items(items, override_num_blocks=blocks)
            scored = table.map_batches(
                _Actor,
                fn_constructor_args=(pickle.dumps(scorer), at_once),
                compute=data.ActorPoolStrategy(size=actors),
                batch_size=max(1, min(64 if at_once == 1 else 4 * at_once, len(window) // actors)),
                batch_format="numpy",
                **self._options,
            )
            for batch in scored.iter_batches(batch_size=None, batch_format="numpy"):
                columns = (batch[name].tolist() for name in Scored._fields)
                yield [Scored(*values) for values in zip(*columns, strict=True)]


class _Actor:
    def __init__(self, scorer: bytes, concurrency: int) -> None:
        self._scorer = cast("RowScorer", pickle.loads(scorer))  # noqa: S301 - our own
        self._concurrency = concurrency

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        import numpy as np

        columns = (batch[name].tolist() for name in Row._fields)
        rows = [Row(*values) for values in zip(*columns, strict=True)]
        results = run_sync(self._all, rows)
        arrays: dict[str, Any] = {}
        for name in Scored._fields:
            kind = object if name in ("decision", "error", "line") else None
            arrays[name] = np.array([getattr(scored, name) for scored in results], dtype=kind)
        return arrays

    async def _all(self, rows: Sequence[Row]) -> list[Scored]:
        slots = asyncio.Semaphore(self._concurrency)

        async def score(row: Row) -> Scored:
            async with slots:
                return await self._scorer.ascore(row)

        return list(await asyncio.gather(*(score(row) for row in rows)))
