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

_LEAST = 0.9
_OF_A_FUNCTION = 3


def main() -> int:
    """Run what the command line says; return the exit code."""
    asked = _arguments()
    chosen = [
        mutant
        for module in asked.modules or TESTS
        for mutant in _chosen(module, asked.each, asked.match)
    ]
    if asked.list:
        sys.stdout.writelines(f"{mutant.name}\n" for mutant in chosen)
        return 0
    modules = list(dict.fromkeys(mutant.module for mutant in chosen))
    files = {
        module: tuple(str(ROOT / "tests" / file) for file in TESTS[module]) for module in modules
    }
    # The same in every run: hypothesis takes its seeds from the tests, and nobody has the data.
    os.environ |= {"CI": "1", "OMP_NUM_THREADS": "1"}
    os.environ.pop("RESAY_DATA", None)
    preload(ROOT, sorted({file for of_module in files.values() for file in of_module}))
    with tempfile.TemporaryDirectory() as folder:
        plain = [Trial(m, source_of(m).read_text(encoding="utf-8"), files[m]) for m in modules]
        cpu_s: dict[str, float] = {}
        for i, outcome in run(plain, asked.workers, Path(folder)):
            if not outcome.passed:
                sys.stderr.write(f"{outcome.output}\n{modules[i]}: its tests fail as it is\n")
                return 2
            cpu_s[modules[i]] = 5.0 + 3.0 * outcome.cpu_s
        trials = [Trial(m.module, m.source, files[m.module], cpu_s[m.module]) for m in chosen]
        ended: dict[int, Outcome] = {}
        for i, outcome in run(trials, asked.workers, Path(folder)):
            ended[i] = outcome
            if outcome.passed:
                _tell(chosen[i])
    return _report(chosen, [ended[i] for i in range(len(chosen))])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument(
        "modules", nargs="*", metavar="MODULE", help="such as resay.scorers.stopping"
    )
    parser.add_argument(
        "--each", type=int, default=_OF_A_FUNCTION, help="how many faults in each function; 0 = all"
    )
    parser.add_argument("--match", default="", help="only faults whose name contains this")
    parser.add_argument("--list", action="store_true", help="say which, and run none")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    for module in asked.modules:
        if module not in TESTS:
            parser.error(f"{module!r} is not in the table; there are {', '.join(TESTS)}")
    return asked


def _chosen(module: str, each: int, match: str) -> list[Mutant]:
    source = source_of(module).read_text(encoding="utf-8")
    mutants = [m for m in mutants_of(module, source) if m.name not in EQUIVALENT]
    kept = sample(mutants, each) if each else mutants
    names = {mutant.name for mutant in kept}
    added = [m for m in handmade_of(module, source) if m.name not in names]
    return [mutant for mutant in (*kept, *added) if match in mutant.name]


def _tell(mutant: Mutant) -> None:
    """Print a fault that no test has noticed."""
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
    killed = sum(not outcome.passed for outcome in outcomes) / max(len(outcomes), 1)
    return int(killed < _LEAST)


def _row(outcomes: Sequence[Outcome]) -> list[str]:
    survived = sum(outcome.passed for outcome in outcomes)
    late, count = sum(outcome.late for outcome in outcomes), len(outcomes)
    cpu_s = sum(outcome.cpu_s for outcome in outcomes)
    numbers = [str(n) for n in (count, count - survived, late, survived)]
    return [*numbers, f"{(count - survived) / count:.0%}", f"{cpu_s:.0f}"]


if __name__ == "__main__":
    sys.exit(main())
