"""Batches in separate processes: judges that log their calls, and a process that is killed."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

from resay import Guard, Passage, Request, Usage
from resay.plugins import Completion, Completions, Evidence, ScorerConfig, Scores
from resay_lab.batch import Local, Ray, Row, RowScorer, Scored, run_batch

__all__ = [
    "JUDGED",
    "NGRAM",
    "Deadly",
    "LoggingJudge",
    "calls_of",
    "finished_rows",
    "killing",
    "lines_of",
    "made_rows",
    "one_by_one",
    "started",
    "write_lines",
]

NGRAM = {"chain": [{"method": "ngram"}]}
JUDGED = {
    "chain": [{"method": "prompt", "mode": "per_pair", "judge": "any"}],
    "cache": {"store": "none"},
    "sampling": {"confidence": None},
}


def made_rows(count: int) -> list[dict[str, Any]]:
    """Return rows with samples, every third of which is contradicted by them."""
    return [
        {
            "name": f"row {i}",
            "lang": "de" if i % 2 else "en",
            "response": f"Bridge {i} opened in 1932. It has {i + 40} lamps.",
            "samples": [
                f"Bridge {i} opened in 1932. It has {i + 40 + n * (i % 3 == 0)} lamps{end}"
                for n, end in enumerate(".!?", 1)
            ],
        }
        for i in range(count)
    ]


def write_lines(path: Path, rows: Sequence[object]) -> Path:
    """Write JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Read JSON Lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class LoggingJudge:
    """A provider that says Yes and logs which bridge it was asked about."""

    def __init__(self, log: Path) -> None:
        self._log = log

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        words = str(request.messages[-1]["content"]).split("Bridge ")[1]
        with self._log.open("ab") as file:
            file.write(words.split()[0].encode() + b"\n")
        return Completions((Completion("Yes"),), Usage(1, 10, 1, 0.001))


def calls_of(log: Path) -> list[int]:
    """Return the row that each call was for."""
    return [int(line) for line in log.read_text().split()] if log.exists() else []


class Deadly:
    """A scorer that ends its process if a response says so."""

    name: ClassVar[str] = "deadly"
    needs: ClassVar[frozenset[str]] = frozenset()

    class Config(ScorerConfig):
        pass

    def __init__(self, config: Any) -> None:
        self.config = config

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        if "deadly" in passage.text:
            os._exit(9)
        return Scores(tuple(0.0 for _ in passage.sentences))


def one_by_one(scorer: RowScorer, rows: Iterator[Row]) -> Iterator[list[Scored]]:
    """A custom engine."""
    for row in rows:
        yield scorer.score([row])


def finished_rows(out: Path) -> set[int]:
    """Return which rows are stored, as far as they are written completely."""
    path = out.with_name(f"{out.name}.run")
    if not path.exists():
        return set()
    with closing(sqlite3.connect(path)) as database:
        with suppress(sqlite3.OperationalError):  # killed before it had made the table
            return {number for (number,) in database.execute("SELECT number FROM finished")}
        return set()


def started(*words: str) -> subprocess.Popen[bytes]:
    """Start Python with this process's module path."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen([sys.executable, *words], env=env, **pipes)


@contextmanager
def killing(kind: str, source: Path, out: Path, log: Path) -> Iterator[Callable[[int, int], bool]]:
    """Resume a run repeatedly, and kill it at one of its disk operations.

    Yields:
        A function of the operation at which to kill it (0 for none) and a seed, which returns
        whether it was killed.
    """
    words = ("-m", "support.batch", kind, str(source), str(out), str(log))
    with started(*words) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        told, said = process.stdin, process.stdout

        def go_on(after: int, seed: int) -> bool:
            told.write(b"%d %d\n" % (after, seed))
            told.flush()
            code = int(said.readline())
            assert code in (0, -signal.SIGKILL), code
            return code != 0

        yield go_on
        told.close()


class _Death:
    """Kills this process before, during or after one of its next disk operations.

    These are the statements of the database, and what Python does to files.

    Args:
        after: The operation, counted from 1.
        seed: Decides when.
    """

    def __init__(self, after: int, seed: int) -> None:
        self._left = after
        self._when = random.Random(seed).choice(("before", "in", "after"))
        self._connect = sqlite3.connect

    def install(self) -> None:
        """Watch the operations."""
        sqlite3.connect = self._watched_connection
        os.fsync = self._watched(os.fsync)
        for name in ("replace", "unlink"):
            setattr(Path, name, self._watched(getattr(Path, name)))

    def _begin(self) -> bool:
        """Return whether the operation that begins is the last one."""
        self._left -= 1
        if self._left < 0 or (self._left == 0 and self._when == "before"):
            self._die()
        return self._left == 0

    def _die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def _watched(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def work(*args: Any, **kwargs: Any) -> Any:
            is_last = self._begin()
            done = step(*args, **kwargs)
            if is_last:
                self._die()
            return done

        return work

    def _watched_connection(self, *args: Any, **kwargs: Any) -> sqlite3.Connection:
        database = self._connect(*args, **kwargs)

        def begin(_: str) -> None:
            if self._begin() and self._when == "in":
                database.set_progress_handler(self._die, 1)

        database.set_trace_callback(begin)
        return database


def _go_on(kind: str, source: str, out: str, log: str, after: int, seed: int) -> None:
    guard = Guard(JUDGED, provider=LoggingJudge(Path(log))) if kind == "judged" else Guard(NGRAM)
    if after:
        _Death(after, seed).install()
    engine = Ray(2, window=20) if kind == "ray" else Local(2, 3)
    run_batch(guard, source, out, resume=True, engine=engine)


def _main(kind: str, source: str, out: str, log: str) -> None:
    """Fork each run from this process, which has imported everything that a run needs."""
    for line in sys.stdin:
        after, seed = map(int, line.split())
        child = os.fork()
        if child == 0:
            try:
                _go_on(kind, source, out, log, after, seed)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.write(1, b"%d\n" % code)


if __name__ == "__main__":
    _main(*sys.argv[1:])
