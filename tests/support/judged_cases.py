"""Cases of a package's `cases.jsonl`, and how well a guard's verdicts on them are.

A case is a conversation with an answer: its `messages` in the format of chat completions, the
`answer` after them, and regexes of what must be flagged (`flag`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import typer

from resay import Verdict

__all__ = ["Case", "Judged", "cases_beside", "print_figures"]

Case = Mapping[str, Any]


@dataclass(frozen=True)
class Judged:
    """A verdict on a case, judged."""

    case: Case
    flagged: bool
    mistakes: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing in the case is to be flagged."""
        return not self.case["flag"]


def cases_beside(module: str) -> list[Case]:
    """Return the cases in the folder of a module.

    Args:
        module: The module's `__file__`.
    """
    lines = Path(module).with_name("cases.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def print_figures(
    cases: Sequence[Case],
    judge: Callable[[Case, Verdict], Judged],
    asked_by: Callable[[str], AbstractContextManager[Callable[[Case], Verdict]]],
    seams: Iterable[str],
) -> None:
    """Print how well cases are judged, by half, by language, by group and by seam.

    Args:
        cases: The cases.
        judge: Judges the verdict on a case.
        asked_by: Returns a way to have cases checked by a seam.
        seams: The names of the seams, one of which is `guard`.
    """
    with asked_by("guard") as ask:
        # The first check reads the words of the languages.
        for case in cases:
            ask(case)
        seconds: list[float] = []
        results: list[Judged] = []
        for case in cases:
            started = time.process_time()
            verdict = ask(case)
            seconds.append(time.process_time() - started)
            results.append(judge(case, verdict))
    _print("all", results)
    for key in ("half", "lang", "group"):
        _print_by(results, key)
    typer.echo(f"a check takes {1000 * median(seconds):.1f} ms of a processor (median)")
    for name in seams:
        with asked_by(name) as ask:
            _print(name, [judge(case, ask(case)) for case in cases])
    for result in results:
        if result.mistakes:
            typer.echo(f"{result.case['id']} {'; '.join(result.mistakes)}")


def _print_by(results: Iterable[Judged], key: str) -> None:
    groups: dict[str, list[Judged]] = {}
    for result in results:
        groups.setdefault(result.case[key], []).append(result)
    for name, group in groups.items():
        _print(name, group)


def _print(name: str, results: Sequence[Judged]) -> None:
    wrong = [result for result in results if not result.is_clean]
    clean = [result for result in results if result.is_clean]
    right = sum(not result.mistakes for result in results)
    flagged = sum(result.flagged for result in wrong)
    alarms = sum(result.flagged for result in clean)
    typer.echo(
        f"{name:18} right {right} of {len(results)}  found {flagged} of {len(wrong)}"
        f"  false alarms {alarms} of {len(clean)}"
    )
