"""Puts small faults into the core, one at a time, and counts those that its tests notice.

`make test-mutants`; with `python -m mutants --help` in place of it for one module, or all faults.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from mutants.mutating import Mutant, mutants_of, sample
from mutants.running import Outcome, Trial, preload, run
from mutants.table import EQUIVALENT, ROOT, TESTS, handmade_of, source_of

_REQUIRED_SHARE = 0.9
_FAULTS_PER_FUNCTION = 3


def main() -> int:
    """Run what the command line says; return the exit code."""
    arguments = _arguments()
    mutants: list[Mutant] = []
    for module in arguments.modules or TESTS:
        mutants += _mutants(module, arguments.each, arguments.match)
    if arguments.list:
        sys.stdout.writelines(f"{mutant.name}\n" for mutant in mutants)
        return 0
    modules = list(dict.fromkeys(mutant.module for mutant in mutants))
    tests = {
        module: tuple(str(ROOT / "tests" / file) for file in TESTS[module]) for module in modules
    }
    # The same in every run: hypothesis takes its seeds from the tests, and nobody has the data.
    os.environ |= {"CI": "1", "OMP_NUM_THREADS": "1"}
    os.environ.pop("RESAY_DATA", None)
    preload(ROOT, sorted({file for files in tests.values() for file in files}))
    with tempfile.TemporaryDirectory() as folder:
        unchanged = [
            Trial(module, source_of(module).read_text(encoding="utf-8"), tests[module])
            for module in modules
        ]
        cpu_limits: dict[str, float] = {}
        for i, outcome in run(unchanged, arguments.workers, Path(folder)):
            if not outcome.passed:
                sys.stderr.write(f"{outcome.output}\n{modules[i]}: its tests fail as it is\n")
                return 2
            cpu_limits[modules[i]] = 5.0 + 3.0 * outcome.cpu_s
        trials = [
            Trial(mutant.module, mutant.source, tests[mutant.module], cpu_limits[mutant.module])
            for mutant in mutants
        ]
        outcomes: dict[int, Outcome] = {}
        for i, outcome in run(trials, arguments.workers, Path(folder)):
            outcomes[i] = outcome
            if outcome.passed:
                _print_survivor(mutants[i])
    return _report(mutants, [outcomes[i] for i in range(len(mutants))])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument(
        "modules", nargs="*", metavar="MODULE", help="such as resay.scorers.stopping"
    )
    parser.add_argument(
        "--each",
        type=int,
        default=_FAULTS_PER_FUNCTION,
        help="how many faults in each function; 0 = all",
    )
    parser.add_argument("--match", default="", help="only faults whose name contains this")
    parser.add_argument("--list", action="store_true", help="list the faults, and run none")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    for module in arguments.modules:
        if module not in TESTS:
            parser.error(f"{module!r} is not in the table; there are {', '.join(TESTS)}")
    return arguments


def _mutants(module: str, each: int, match: str) -> list[Mutant]:
    """Return a sample of a module's mutants, and those that were written by hand."""
    source = source_of(module).read_text(encoding="utf-8")
    mutants = [m for m in mutants_of(module, source) if m.name not in EQUIVALENT]
    if each:
        mutants = sample(mutants, each)
    names = {mutant.name for mutant in mutants}
    mutants += [mutant for mutant in handmade_of(module, source) if mutant.name not in names]
    return [mutant for mutant in mutants if match in mutant.name]


def _print_survivor(mutant: Mutant) -> None:
    path = source_of(mutant.module).relative_to(ROOT)
    sys.stdout.write(f"{path}:{mutant.line}\n{mutant.name}\n{mutant.diff}\n\n")
    sys.stdout.flush()


def _report(mutants: Sequence[Mutant], outcomes: Sequence[Outcome]) -> int:
    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    table = Table("module", "mutants", "killed", "by time", "survived", "share", "CPU s")
    for column in table.columns[1:]:
        column.justify = "right"
    pairs = list(zip(mutants, outcomes, strict=True))
    for module in dict.fromkeys(mutant.module for mutant in mutants):
        table.add_row(module, *_row([outcome for m, outcome in pairs if m.module == module]))
    table.add_section()
    table.add_row("all", *_row(outcomes))
    console.print(table)
    killed = sum(not outcome.passed for outcome in outcomes)
    return int(killed < _REQUIRED_SHARE * len(outcomes))


def _row(outcomes: Sequence[Outcome]) -> list[str]:
    count = len(outcomes)
    survived = sum(outcome.passed for outcome in outcomes)
    stopped = sum(outcome.late for outcome in outcomes)
    killed = count - survived
    cpu_s = sum(outcome.cpu_s for outcome in outcomes)
    numbers = [str(number) for number in (count, killed, stopped, survived)]
    return [*numbers, f"{killed / count:.0%}", f"{cpu_s:.0f}"]


if __name__ == "__main__":
    sys.exit(main())
