"""Runs tests on mutants: each in a process forked from one that has imported all other packages.

The forked process has imported every package that the tests use and nothing of the project, so that
all modules import the mutant from the beginning, with its defaults, constants and class bodies.
"""

from __future__ import annotations

import gc
import importlib.abc
import importlib.machinery
import importlib.util
import os
import pickle
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from types import CodeType, ModuleType

import pytest
from hypothesis import Phase, settings

# Exit codes beside those of pytest, 0 to 5. A mutant that no test has imported was never tried.
_PASSED, _NOT_IMPORTED, _STUCK = 0, 40, 41
# An endless loop takes processor time, however busy the machine is; a deadlock takes none. Neither
# does a test that waits for another process, which must not count as stuck.
_IDLE_S, _WALL_S = 60, 300
_MEMORY = 4 << 30


@dataclass(frozen=True, slots=True)
class Trial:
    """A module with another source, and the tests that should fail.

    Attributes:
        module: The module's full name.
        source: Its source.
        tests: Paths of test files.
        cpu_s: The maximum processor time in seconds.
    """

    module: str
    source: str
    tests: tuple[str, ...]
    cpu_s: float = 300.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial ended.

    Attributes:
        passed: Whether all tests passed.
        late: Whether they had to be stopped.
        cpu_s: The processor time they took, in seconds.
        output: What pytest printed.
    """

    passed: bool
    late: bool
    cpu_s: float
    output: str


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module from a source other than that of its file."""

    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self._source = source
        self.used = False

    def get_code(self, fullname: str) -> CodeType:
        self.used = True
        return compile(self._source, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, trial: Trial) -> None:
        self._module, self._source = trial.module, trial.source
        self.loader: _Loader | None = None

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._module:
            return None
        file = f"{next(iter(path or sys.path))}/{fullname.rpartition('.')[2]}.py"
        self.loader = _Loader(fullname, file, self._source)
        return importlib.util.spec_from_file_location(fullname, file, loader=self.loader)


class _DeterministicHypothesis:
    """Has hypothesis try the same examples in each run, and stop at the first failure."""

    def pytest_configure(self) -> None:
        profile = settings.get_profile("default")
        with suppress(Exception):
            profile = settings.get_profile("resay")
        settings.register_profile(
            "mutants",
            profile,
            derandomize=True,
            database=None,
            phases=(Phase.explicit, Phase.generate),
            report_multiple_bugs=False,
        )
        settings.load_profile("mutants")


def _pytest(*arguments: str) -> int:
    return int(
        pytest.main(
            [
                *("-q", "-x", "--assert=plain", "--tb=short"),
                *("-p", "no:cacheprovider", "-p", "no:xdist", "-o", "timeout=0"),
                *arguments,
            ],
            plugins=[_DeterministicHypothesis()],
        )
    )


def preload(root: Path, tests: Sequence[str]) -> None:
    """Import what the tests import, except the project's own modules."""
    os.chdir(root)
    own = tuple(f"{root}/{folder}/" for folder in ("src", "tests", "integrations", "server", "lab"))

    def packages() -> list[str]:
        _pytest("--collect-only", *tests)
        files = {name: getattr(module, "__file__", "") for name, module in sys.modules.items()}
        return [name for name, file in files.items() if file and not file.startswith(own)]

    for name in _in_another_process(packages):
        with suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _in_another_process(work: Callable[[], list[str]]) -> list[str]:
    """Call a function in a forked process, without output, and return its result."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        with Path(os.devnull).open("w") as null:
            os.dup2(null.fileno(), 1)
            os.dup2(null.fileno(), 2)
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(work(), pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        result = pickle.load(pipe)
    os.waitpid(child, 0)
    return result


def run(trials: Sequence[Trial], workers: int, folder: Path) -> Iterator[tuple[int, Outcome]]:
    """Run trials, several at a time.

    Args:
        trials: The trials.
        workers: How many run at a time.
        folder: A folder for their output.

    Yields:
        The index of each trial and its outcome, in the order in which they end.

    Raises:
        RuntimeError: Tests passed without ever importing the module they are to test.
    """
    pending = list(enumerate(trials))[::-1]
    running: dict[int, int] = {}
    while pending or running:
        while pending and len(running) < workers:
            i, trial = pending.pop()
            running[_start(trial, folder / str(i))] = i
        child, status, usage = os.wait3(0)
        if child not in running:
            continue
        i = running.pop(child)
        # End the processes that it has started.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(status)
        if code == _NOT_IMPORTED:
            raise RuntimeError(f"{', '.join(trials[i].tests)} never import {trials[i].module}")
        late = code in (_STUCK, -signal.SIGALRM, -signal.SIGXCPU)
        output = (folder / str(i)).read_text(encoding="utf-8", errors="replace")
        yield i, Outcome(code == _PASSED, late, usage.ru_utime + usage.ru_stime, output)


def _start(trial: Trial, output: Path) -> int:
    child = os.fork()
    if child:
        return child
    try:
        os.setpgid(0, 0)
        with output.open("wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        _limit(trial.cpu_s)
        finder = _Finder(trial)
        sys.meta_path.insert(0, finder)
        code = _pytest(*trial.tests)
        if code == _PASSED and not (finder.loader and finder.loader.used):
            code = _NOT_IMPORTED
    except BaseException:
        code = 1
    sys.stdout.flush()
    os._exit(code)


def _limit(cpu_s: float) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_WALL_S)
    threading.Thread(target=_end_when_stuck, daemon=True).start()
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = ceil(used.ru_utime + used.ru_stime + cpu_s)
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 5))
    # Only Linux tells how much is in use already; a mutant that fills the memory is rare.
    with suppress(OSError), Path("/proc/self/statm").open() as statm:
        limit = int(statm.read().split()[0]) * resource.getpagesize() + _MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _end_when_stuck() -> None:
    idle, used = 0, time.process_time()
    while idle < _IDLE_S:
        time.sleep(1)
        before, used = used, time.process_time()
        idle = idle + 1 if used - before < 0.01 else 0
    os._exit(_STUCK)
