"""A resumable run over many rows, whose results are written in the order of the input."""

from __future__ import annotations

import _thread
import hashlib
import json
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any

from resay import Guard, __version__
from resay.adapters import GuardRuntime
from resay.adapters.terminal import counted
from resay.errors import ScorerError
from resay_lab.batch.columns import Columns
from resay_lab.batch.engines import Engine, engine_of
from resay_lab.batch.filters import Where
from resay_lab.batch.inputs import Rows, open_rows
from resay_lab.batch.progress import Failure, Progress, Stopped, Summary, Tally
from resay_lab.batch.reasons import ReasonCounts
from resay_lab.batch.results import check_output, write_output
from resay_lab.batch.rows import Row, numbered
from resay_lab.batch.run_store import RunStore
from resay_lab.batch.scoring import UNUSABLE, RowScorer, Scored

_GRACE_S = 1.2
_FORMAT = 1
# A run ends once this many rows, and no other, found that no model can be asked.
_UNUSABLE_ROWS = 3
_FAILURES_SHOWN = 3
_MAX_REASONS = 20


def run_batch(
    guard: Guard,
    source: object,
    out: str | os.PathLike[str],
    *,
    columns: Columns = Columns(),  # noqa: B008 - it cannot change
    prefix: str = "",
    engine: str | Engine = "local",
    workers: int | None = None,
    concurrency: int | None = None,
    resume: bool = False,
    limit: int | None = None,
    where: str | None = None,
    max_calls: int | None = None,
    max_cost_usd: float | None = None,
    on_progress: Callable[[Progress], object] | None = None,
    params: Mapping[str, Any] | None = None,
) -> Summary:
    """Check every row of an input, and write the rows with their verdicts.

    Args:
        guard: Checks the responses.
        source: The rows, as for `open_rows`.
        out: The file to write, Parquet (`.parquet`) or JSON Lines (`.jsonl`).
        columns: The names of the input's columns.
        prefix: The prefix of the verdict's column names.
        engine: The engine: `local`, `ray`, `package.module:function`, or an object.
        workers: Number of processes or actors; None for one per core.
        concurrency: Number of concurrent rows if checks wait for calls or a model.
        resume: Whether to continue a run that was stopped. Finished rows are not checked again.
            Without such a run, a new one begins.
        limit: Maximum number of rows to check; None for all.
        where: A filter for the rows, as for `Where`.
        max_calls: Maximum number of requests in the whole run.
        max_cost_usd: Maximum cost of the whole run, in dollars.
        on_progress: Called with the progress after each step.
        params: The provider's parameters, as for `Guard.check`.

    Returns:
        The result. If the run was stopped, `resume` continues it.

    Raises:
        ConfigurationError: The output exists, another run is writing it, the run to resume has
            another input, policy or version, a judge is needed and there is none, or `where` names
            a column that no row has.
        MissingDependencyError: The engine or the format needs a package that is not installed.
        ScorerError: The engine returned fewer rows than it took.
    """
    target = Path(out)
    check_output(target)
    rows = open_rows(source)
    scorer = RowScorer(guard, columns, prefix=prefix, params=params)
    GuardRuntime(guard).require_models()
    row_filter = Where.of(where, source, rows)
    manifest = {
        "format": _FORMAT,
        "resay": __version__,
        "policy": policy_fingerprint(guard),
        "input": rows.fingerprint,
        "columns": columns.to_dict(),
        "prefix": prefix,
        "limit": limit,
        "where": where,
    }
    chosen = engine_of(engine, workers=workers, concurrency=concurrency)
    with RunStore.of(target, manifest, resume=resume) as store:
        if store.finished is not None:
            return Summary(out=target, tally=store.finished, new=0, elapsed_s=0.0)
        budget = _Budget(max_calls, max_cost_usd)
        total = _total(rows, limit, row_filter, on_progress)
        run = _Run(store, budget, total, on_progress, prefix)
        selected = numbered(rows, columns, row_filter)
        stopped = run.work(chosen, scorer, islice(selected, limit))
        if stopped is None:
            write_output(target, store.lines(), prefix)
            store.finish()
        return Summary(
            out=target,
            tally=store.tally,
            new=run.new,
            elapsed_s=run.elapsed_s,
            stopped=stopped,
            failures=tuple(run.failures),
            reasons=tuple(run.reasons.most_common(_MAX_REASONS)),
        )


def policy_fingerprint(guard: Guard) -> str:
    """Return a hash of a guard's behavior: its policy and its model."""
    policy = guard.policy.model_dump(mode="json", fallback=repr)
    text = json.dumps([policy, GuardRuntime(guard).model], sort_keys=True, default=repr)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _total(
    rows: Rows,
    limit: int | None,
    where: Where | None,
    on_progress: Callable[[Progress], object] | None,
) -> int | None:
    # Counting reads the whole file, so skip it unless the total is reported.
    if on_progress is None or where is not None:
        return None
    count = rows.count()
    return count if limit is None or count is None else min(limit, count)


class _Budget:
    """The budget of a whole run. It lets no row begin that would probably exceed it.

    Args:
        calls: Maximum number of calls; None for no limit.
        cost_usd: Maximum cost in dollars; None for no limit.
    """

    def __init__(self, calls: int | None, cost_usd: float | None) -> None:
        self._calls = math.inf if calls is None else calls
        self._cost_usd = math.inf if cost_usd is None else cost_usd
        self.limited = calls is not None or cost_usd is not None
        self.exhausted = False

    def allows(self, tally: Tally, begun: int) -> bool:
        """Return whether one more row may begin, estimating its cost from the finished rows.

        Args:
            tally: The totals of the finished rows.
            begun: Number of rows in progress.
        """
        if not self.limited:
            return True
        rows = max(tally.rows, 1)
        unfinished = begun + 1
        calls = tally.calls + unfinished * tally.calls / rows
        # An unknown price must not count as a low one.
        cost = 0.0 if math.isinf(self._cost_usd) else tally.cost_usd * (1 + unfinished / rows)
        nothing_left = tally.calls >= self._calls or not tally.cost_usd < self._cost_usd
        self.exhausted = calls > self._calls or not cost <= self._cost_usd or nothing_left
        return not self.exhausted


class _Run:
    def __init__(
        self,
        store: RunStore,
        budget: _Budget,
        total: int | None,
        on_progress: Callable[[Progress], object] | None,
        prefix: str,
    ) -> None:
        self._store = store
        self._budget = budget
        self._total = total
        self._on_progress = on_progress
        self._stopping = threading.Event()
        self._begun = 0
        # An engine may take rows in another thread than that which gets the results.
        self._counting = threading.Lock()
        self._started = time.monotonic()
        # The rows so far, while none of the run found more than that no model can be asked.
        self._unusable: list[Scored] | None = None if store.tally.rows else []
        self._prefix = prefix
        self.new = 0
        self.failures: list[Failure] = []
        self.reasons = ReasonCounts()

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._started

    def work(self, engine: Engine, scorer: RowScorer, rows: Iterator[Row]) -> Stopped | None:
        """Check all unfinished rows; return why that stopped early, if it did."""
        unfinished = self._unfinished(rows)
        try:
            with _interrupts(self._stopping):
                # The cost of the first row determines how many may begin together.
                if self._budget.limited and not self._store.tally.rows:
                    self._fetch(engine, scorer, islice(unfinished, 1))
                if not self._is_unusable:
                    self._fetch(engine, scorer, unfinished)
        except KeyboardInterrupt:
            self._stopping.set()
        self._store.sync()
        if self._stopping.is_set():
            return "interrupted"
        if self._unusable:
            return "provider"
        if self._begun:
            raise ScorerError(
                f"{counted(self._begun, 'row')} produced no result; --resume checks again"
            )
        return "budget" if self._budget.exhausted else None

    def _fetch(self, engine: Engine, scorer: RowScorer, rows: Iterator[Row]) -> None:
        batches = iter(engine(scorer, rows))
        try:
            for batch in batches:
                self._note_failures(batch)
                # A row counts as begun or as finished, never as neither.
                with self._counting:
                    self._begun -= len(batch)
                    usable = self._usable(batch)
                    if usable and not self._is_unusable:
                        self.new += len(usable)
                        self._store.append(usable)
                if self._is_unusable:
                    return
                if not usable:
                    continue
                if self._on_progress is not None:
                    progress = Progress(
                        tally=self._store.tally,
                        total=self._total,
                        new=self.new,
                        elapsed_s=self.elapsed_s,
                    )
                    self._on_progress(progress)
        finally:
            if isinstance(batches, Generator):
                batches.close()

    @property
    def _is_unusable(self) -> bool:
        """Whether enough rows found that no model can be asked, and no row found anything else."""
        return self._unusable is not None and len(self._unusable) >= _UNUSABLE_ROWS

    def _usable(self, batch: Sequence[Scored]) -> Sequence[Scored]:
        """Return the rows to keep, which are none while no model can be asked."""
        if self._unusable is None:
            return batch
        self._unusable += batch
        if all(scored.error == UNUSABLE for scored in batch):
            return []
        rows, self._unusable = self._unusable, None
        return rows

    def _note_failures(self, batch: Sequence[Scored]) -> None:
        """Count why rows have no decision, and keep the first few errors."""
        for scored in batch:
            if scored.decision in ("flagged", "consistent"):
                continue
            column = "error" if scored.error else "reason"
            reason = str(json.loads(scored.line)[self._prefix + column])
            number = scored.number + 1
            if scored.error:
                self.failures.append(Failure(number, reason))
            self.reasons.add(scored.decision or "failed", reason, number)
        self.failures.sort(key=lambda failure: failure.row)
        del self.failures[_FAILURES_SHOWN:]

    def _unfinished(self, rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            if self._store.has(row.number):
                continue
            with self._counting:
                if self._stopping.is_set() or not self._budget.allows(
                    self._store.tally, self._begun
                ):
                    return
                self._begun += 1
            yield row


@contextmanager
def _interrupts(stopping: threading.Event) -> Generator[None, None, None]:
    """Make Ctrl-C or SIGTERM stop new rows, and a moment later, or on a repeat, the run."""
    # Only the main thread receives signals.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    main = threading.main_thread().ident or 0
    interrupt = _thread.interrupt_main
    # It also interrupts a system call that the main thread waits in; Windows does not have it.
    if hasattr(signal, "pthread_kill"):
        interrupt = partial(signal.pthread_kill, main, signal.SIGINT)
    timers: list[threading.Timer] = []

    def stop(number: int, _: FrameType | None) -> None:
        if stopping.is_set():
            raise KeyboardInterrupt
        stopping.set()
        # Rows in progress have a moment to finish.
        timer = threading.Timer(_GRACE_S, interrupt)
        timer.daemon = True
        timers.append(timer)
        timer.start()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for timer in timers:
            timer.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)
