"""A resumable run over many rows: finished rows survive any interruption, and are written in order.

Next to the output, the folder `OUT.run` holds

- `manifest.json`: fingerprints that identify the run, and its totals once it has finished;
- `journal.rows`: finished rows in order of completion, appended as they arrive;
- `part-*.rows`: the rows of a journal, in the order of the input, written atomically.

A line of the last two is a finished row: its number, decision, calls, cost and error type,
separated by tabs, and then the row itself as JSON.
"""

from __future__ import annotations

import _thread
import hashlib
import heapq
import json
import math
import os
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from types import FrameType
from typing import IO, Any, Literal, cast

from resay._internal._version import __version__
from resay.batch.engines import Engine, engine_of
from resay.batch.results import check_output, sync_folder, write_output
from resay.batch.rows import Columns, Row, Rows, Where, numbered, open_rows
from resay.batch.scoring import UNUSABLE, RowScorer, Scored
from resay.errors import ConfigurationError, ScorerError
from resay.guard import Guard

PART_BYTES = 32_000_000
_WRITTEN_AT_ONCE = 1_000_000
_SYNC_S = 1.0
_GRACE_S = 1.2
_FORMAT = 1
# Windows would write a line end as two bytes.
_NEW_FILE = os.O_CREAT | os.O_WRONLY | os.O_TRUNC | getattr(os, "O_BINARY", 0)

Stopped = Literal["interrupted", "budget", "provider"]
# A run ends once this many rows, and no other, found that no model can be asked.
_UNUSABLE_ROWS = 3
_FAILURES_SHOWN = 3


@dataclass(slots=True)
class Tally:
    """The totals of a run so far.

    Attributes:
        rows: Number of finished rows.
        decisions: Number of rows per decision.
        errors: Number of failed rows per error type.
        calls: Requests sent for them.
        cost_usd: Their cost; NaN if a price is unknown.
    """

    rows: int = 0
    decisions: Counter[str] = field(default_factory=Counter[str])
    errors: Counter[str] = field(default_factory=Counter[str])
    calls: int = 0
    cost_usd: float = 0.0

    def add(self, decision: str, calls: int, cost_usd: float, error: str) -> None:
        """Count a finished row."""
        self.rows += 1
        if error:
            self.errors[error] += 1
        else:
            self.decisions[decision] += 1
        self.calls += calls
        self.cost_usd += cost_usd

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Tally:
        """Return the totals that `to_dict` gave."""
        return cls(
            rows=data["rows"],
            decisions=Counter(data["decisions"]),
            errors=Counter(data["errors"]),
            calls=data["calls"],
            cost_usd=math.nan if data["cost_usd"] is None else data["cost_usd"],
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the totals, JSON-ready."""
        return {
            "rows": self.rows,
            "decisions": dict(self.decisions),
            "errors": dict(self.errors),
            "calls": self.calls,
            "cost_usd": None if math.isnan(self.cost_usd) else self.cost_usd,
        }


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run.

    Attributes:
        tally: The totals so far, including rows of earlier sessions.
        total: Number of rows in the whole run; None if unknown.
        new: Number of rows finished in this session.
        elapsed_s: Duration of this session so far.
    """

    tally: Tally
    total: int | None
    new: int
    elapsed_s: float

    @property
    def rate(self) -> float:
        """Rows per second in this session."""
        return self.new / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        """Estimated seconds for the remaining rows; None if unknown."""
        if self.total is None or not self.rate:
            return None
        return max(self.total - self.tally.rows, 0) / self.rate


@dataclass(frozen=True, slots=True)
class Failure:
    """A row whose check failed.

    Attributes:
        row: Its number in the input, from 1.
        error: The error's type and message, as in the row's column `error`.
    """

    row: int
    error: str


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of a run.

    Attributes:
        out: The file with the results; it exists once all rows are finished.
        tally: The totals.
        new: Number of rows finished in this session.
        elapsed_s: Duration of this session.
        stopped: Why it stopped before the end, or None. `provider`: no model can be asked. The rows
            that found that are not finished, and `resume` checks them again.
        failures: The first few rows that failed in this session.
    """

    out: Path
    tally: Tally
    new: int
    elapsed_s: float
    stopped: Stopped | None = None
    failures: tuple[Failure, ...] = ()


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
    **params: Any,
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
        **params: Provider parameters, such as `api_base`, as for `Guard.check`.

    Returns:
        The result. If the run was stopped, `resume` continues it.

    Raises:
        ConfigurationError: The output exists, another run is writing it, or the run to resume has
            another input, policy or version.
        MissingDependencyError: The engine or the format needs a package that is not installed.
        ScorerError: The engine returned fewer rows than it took.
    """
    target = Path(out)
    check_output(target)
    rows = open_rows(source)
    scorer = RowScorer(guard, columns, prefix=prefix, params=params)
    wanted = Where(where) if where else None
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
    with _Folder.of(target, manifest, resume=resume) as folder:
        if folder.finished is not None:
            return Summary(target, folder.finished, 0, 0.0)
        budget = _Budget(max_calls, max_cost_usd)
        total = _total(rows, limit, wanted, on_progress)
        run = _Run(folder, budget, total, on_progress, f"{prefix}error")
        taken = numbered(rows, columns, wanted)
        stopped = run.work(chosen, scorer, islice(taken, limit))
        if stopped is None:
            folder.seal()
            write_output(target, folder.lines(), prefix)
            folder.finish()
        return Summary(
            out=target,
            tally=folder.tally,
            new=run.new,
            elapsed_s=run.elapsed_s,
            stopped=stopped,
            failures=tuple(run.failures),
        )


def policy_fingerprint(guard: Guard) -> str:
    """Return a hash of a guard's behavior: its policy and its model."""
    said = guard.policy.model_dump(mode="json", fallback=repr)
    text = json.dumps([said, guard.model], sort_keys=True, default=repr)
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
        more = begun + 1
        calls = tally.calls + more * tally.calls / rows
        # An unknown price must not count as a low one.
        cost = 0.0 if math.isinf(self._cost_usd) else tally.cost_usd * (1 + more / rows)
        nothing_left = tally.calls >= self._calls or not tally.cost_usd < self._cost_usd
        self.exhausted = calls > self._calls or not cost <= self._cost_usd or nothing_left
        return not self.exhausted


class _Run:
    def __init__(
        self,
        folder: _Folder,
        budget: _Budget,
        total: int | None,
        on_progress: Callable[[Progress], object] | None,
        error_column: str,
    ) -> None:
        self._folder = folder
        self._budget = budget
        self._total = total
        self._on_progress = on_progress
        self._stopping = threading.Event()
        self._begun = 0
        self._started = time.monotonic()
        # The rows so far, while none of the run found more than that no model can be asked.
        self._unusable: list[Scored] | None = None if folder.tally.rows else []
        self._error_column = error_column
        self.new = 0
        self.failures: list[Failure] = []

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._started

    def work(self, engine: Engine, scorer: RowScorer, rows: Iterator[Row]) -> Stopped | None:
        """Check all unfinished rows; return why that stopped early, if it did."""
        left = self._left(rows)
        try:
            with _interrupts(self._stopping):
                # The cost of the first row determines how many may begin together.
                if self._budget.limited and not self._folder.tally.rows:
                    self._fetch(engine, scorer, islice(left, 1))
                if not self._is_unusable:
                    self._fetch(engine, scorer, left)
        except KeyboardInterrupt:
            self._stopping.set()
        self._folder.sync()
        if self._stopping.is_set():
            return "interrupted"
        if self._unusable:
            return "provider"
        if self._begun:
            raise ScorerError(f"{self._begun} rows produced no result; --resume checks them again")
        return "budget" if self._budget.exhausted else None

    def _fetch(self, engine: Engine, scorer: RowScorer, rows: Iterator[Row]) -> None:
        found = iter(engine(scorer, rows))
        try:
            for batch in found:
                self._begun -= len(batch)
                self._note_failures(batch)
                usable = self._usable(batch)
                if self._is_unusable:
                    return
                if not usable:
                    continue
                self.new += len(usable)
                self._folder.keep(usable)
                if self._on_progress is not None:
                    tally = self._folder.tally
                    self._on_progress(Progress(tally, self._total, self.new, self.elapsed_s))
        finally:
            if isinstance(found, Generator):
                found.close()

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
        """Keep the first few errors for the summary."""
        for scored in batch:
            if scored.error:
                error = str(json.loads(scored.line)[self._error_column])
                self.failures.append(Failure(scored.number + 1, error))
        self.failures.sort(key=lambda failure: failure.row)
        del self.failures[_FAILURES_SHOWN:]

    def _left(self, rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            if self._folder.has(row.number):
                continue
            if self._stopping.is_set() or not self._budget.allows(self._folder.tally, self._begun):
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


@dataclass(frozen=True, slots=True, order=True)
class _Part:
    first: int
    path: Path

    def rows(self) -> Iterator[tuple[int, bytes]]:
        with self.path.open("rb") as file:
            for line in file:
                head, _, rest = line.partition(b"\t")
                yield int(head), rest


class _Folder:
    """The stored state of a run.

    Args:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._manifest = path / "manifest.json"
        self._journal = path / "journal.rows"
        self._known = bytearray()
        self._file = -1
        self._size = 0
        self._synced = time.monotonic()
        self._parts: list[_Part] = []
        self.tally = Tally()
        self.finished: Tally | None = None

    @classmethod
    @contextmanager
    def of(
        cls, out: Path, manifest: dict[str, Any], *, resume: bool
    ) -> Generator[_Folder, None, None]:
        """Begin or resume a run, and keep others from doing the same meanwhile."""
        folder = cls(out.with_name(f"{out.name}.run"))
        folder._path.mkdir(parents=True, exist_ok=True)
        # SQLite's locks end with the process that holds them, on every system.
        lock = sqlite3.connect(folder._path / "lock", timeout=0, isolation_level=None)
        try:
            try:
                lock.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError:
                raise ConfigurationError(f"another run is writing {str(out)!r}") from None
            folder._open(out, manifest, resume=resume)
            yield folder
        finally:
            if folder._file >= 0:
                os.close(folder._file)
            lock.close()

    def _open(self, out: Path, manifest: dict[str, Any], *, resume: bool) -> None:
        stored = self._read_manifest()
        if not resume:
            self._refuse_existing(out, stored)
        if stored is None:
            if out.exists():
                raise ConfigurationError(
                    f"nothing to resume for {str(out)!r}; pass another file, or remove this one"
                )
            _write_whole(self._manifest, [json.dumps(manifest, indent=1).encode()])
        else:
            self._compare(stored, manifest)
            totals = stored.get("finished")
            if totals is not None and out.exists():
                self.finished = Tally.from_dict(totals)
                self._clear()
                return
        self._recover()
        self._begin_journal()

    def _refuse_existing(self, out: Path, stored: Mapping[str, Any] | None) -> None:
        """Raise an error if a new run would overwrite an output or an earlier run."""
        folder = str(self._path)
        if stored is None:
            if out.exists():
                raise ConfigurationError(
                    f"{str(out)!r} exists; choose another output, or delete it"
                )
        elif out.exists():
            raise ConfigurationError(
                f"{str(out)!r} exists; use --resume, choose another output, or delete both it and"
                f" {folder!r}"
            )
        else:
            raise ConfigurationError(
                f"an unfinished run exists in {folder!r}; use --resume, choose another output, or"
                " delete that folder"
            )

    def _read_manifest(self) -> dict[str, Any] | None:
        try:
            return cast("dict[str, Any]", json.loads(self._manifest.read_bytes()))
        except FileNotFoundError:
            return None
        except ValueError:
            raise ConfigurationError(
                f"{str(self._manifest)!r} was not written by a batch run"
            ) from None

    def _compare(self, stored: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
        for key, value in manifest.items():
            if stored.get(key) != value:
                raise ConfigurationError(
                    f"the run in {str(self._path)!r} was started with a different {key}; results"
                    f" would be mixed. Rerun with the original {key}, or start a new run"
                )

    def has(self, number: int) -> bool:
        """Return whether a row is finished."""
        place, bit = divmod(number, 8)
        return place < len(self._known) and bool(self._known[place] & 1 << bit)

    def _add(self, number: int, decision: str, calls: int, cost_usd: float, error: str) -> bool:
        """Count a finished row; return False if it was counted before."""
        if self.has(number):
            return False
        place, bit = divmod(number, 8)
        if place >= len(self._known):
            self._known.extend(bytes(place + 1 - len(self._known)))
        self._known[place] |= 1 << bit
        self.tally.add(decision, calls, cost_usd, error)
        return True

    def keep(self, batch: Sequence[Scored]) -> None:
        """Append finished rows to the journal."""
        data = b"".join(_line_of(one) for one in batch if self._add(*one[:5]))
        _write_all(self._file, data)
        self._size += len(data)
        if time.monotonic() - self._synced > _SYNC_S:
            self.sync()
        if self._size > PART_BYTES:
            self.seal()
            self._begin_journal()

    def sync(self) -> None:
        """Make sure that the journal survives a power failure."""
        os.fsync(self._file)
        self._synced = time.monotonic()

    def _begin_journal(self) -> None:
        self._file = os.open(self._journal, _NEW_FILE | os.O_APPEND, 0o644)
        self._size = 0

    def _recover(self) -> None:
        """Load the rows finished in earlier sessions."""
        for path in self._path.glob("*.part-new"):
            path.unlink()
        self._parts = sorted(
            _Part(int(path.name.split("-")[1]), path) for path in self._path.glob("part-*.rows")
        )
        for part in self._parts:
            with part.path.open("rb") as file:
                for line in file:
                    self._add(*_head_of(line))
        # A crash may have left a journal whose part was already written.
        places: list[tuple[int, int, int]] = []
        for number, start, line in self._journal_lines():
            if not self.has(number):
                self._add(*_head_of(line))
                places.append((number, start, len(line)))
        self._make_part(places)

    def seal(self) -> None:
        """Turn the journal into a part."""
        os.close(self._file)
        self._file = -1
        self._make_part([(n, start, len(line)) for n, start, line in self._journal_lines()])

    def _journal_lines(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield the rows in the journal: number, offset of the line, and the line itself."""
        if not self._journal.exists():
            return
        start = 0
        with self._journal.open("rb") as file:
            for line in file:
                # After a process was killed, the last line may be incomplete.
                if line.endswith(b"\n"):
                    yield int(line.partition(b"\t")[0]), start, line
                start += len(line)

    def _make_part(self, places: list[tuple[int, int, int]]) -> None:
        """Write a part from rows of the journal, each given by number, offset and length."""
        if places:
            places.sort()
            path = self._path / f"part-{places[0][0]:015d}-{len(self._parts):06d}.rows"
            with self._journal.open("rb") as file:
                _write_whole(path, _read_each(file, places))
            self._parts.append(_Part(places[0][0], path))
        self._journal.unlink(missing_ok=True)

    def lines(self) -> Iterator[bytes]:
        """Yield the finished rows in the order of the input, as JSON."""
        waiting = sorted(self._parts)
        opened: list[tuple[int, int, bytes, Iterator[tuple[int, bytes]]]] = []
        while waiting or opened:
            # Parts overlap a little; open only those that may contain the next row.
            while waiting and (not opened or waiting[0].first <= opened[0][0]):
                part = waiting.pop(0)
                rows = part.rows()
                number, rest = next(rows)
                heapq.heappush(opened, (number, id(rows), rest, rows))
            number, key, rest, rows = heapq.heappop(opened)
            yield rest.split(b"\t", 4)[4].rstrip(b"\n")
            following = next(rows, None)
            if following is not None:
                heapq.heappush(opened, (following[0], key, following[1], rows))

    def finish(self) -> None:
        """Record in the manifest that the output exists, and delete its sources."""
        manifest = self._read_manifest() or {}
        finished = {**manifest, "finished": self.tally.to_dict()}
        _write_whole(self._manifest, [json.dumps(finished, indent=1).encode()])
        self._clear()

    def _clear(self) -> None:
        for path in chain(self._path.glob("part-*.rows"), [self._journal]):
            path.unlink(missing_ok=True)


def _line_of(one: Scored) -> bytes:
    head = f"{one.number}\t{one.decision}\t{one.calls}\t{one.cost_usd!r}\t{one.error}\t"
    return head.encode() + one.line + b"\n"


def _head_of(line: bytes) -> tuple[int, str, int, float, str]:
    number, decision, calls, cost_usd, error, _ = line.split(b"\t", 5)
    return int(number), decision.decode(), int(calls), float(cost_usd), error.decode()


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _read_each(file: IO[bytes], places: Sequence[tuple[int, int, int]]) -> Iterator[bytes]:
    """Yield lines of a file, several at once."""
    lines: list[bytes] = []
    size = 0
    for _, start, length in places:
        file.seek(start)
        lines.append(file.read(length))
        size += length
        if size > _WRITTEN_AT_ONCE:
            yield b"".join(lines)
            lines, size = [], 0
    yield b"".join(lines)


def _write_whole(path: Path, data: Iterable[bytes]) -> None:
    """Write a file atomically."""
    new = path.with_name(f"{path.name}.part-new")
    file = os.open(new, _NEW_FILE, 0o644)
    try:
        for piece in data:
            _write_all(file, piece)
        os.fsync(file)
    finally:
        os.close(file)
    new.replace(path)
    sync_folder(path.parent)
