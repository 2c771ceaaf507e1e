"""`python -m actions`: how well claims of actions are judged, by language and by seam."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from statistics import median

import typer

from actions.judging import Judged, cases, figures, judged
from actions.seams import SEAMS, asked_by


def main() -> None:
    """Print the figures."""
    with asked_by("guard") as ask:
        # The first check reads the words of the languages.
        for case in cases():
            ask(case)
        seconds: list[float] = []
        results: list[Judged] = []
        for case in cases():
            started = time.process_time()
            verdict = ask(case)
            seconds.append(time.process_time() - started)
            results.append(judged(case, verdict))
    _print("all", results)
    for key in ("half", "lang", "group"):
        _print_by(results, lambda result, key=key: result.case[key])
    typer.echo(f"a check takes {1000 * median(seconds):.1f} ms of a processor (median)")
    for name in SEAMS:
        with asked_by(name) as ask:
            _print(name, [judged(case, ask(case)) for case in cases()])
    for result in results:
        if result.mistakes:
            typer.echo(f"{result.case['id']} {'; '.join(result.mistakes)}")


def _print_by(results: Iterable[Judged], key: Callable[[Judged], str]) -> None:
    groups: dict[str, list[Judged]] = {}
    for result in results:
        groups.setdefault(key(result), []).append(result)
    for name, group in groups.items():
        _print(name, group)


def _print(name: str, results: Iterable[Judged]) -> None:
    shown = "  ".join(f"{label} {value}" for label, value in figures(results).items())
    typer.echo(f"{name:18} {shown}")


if __name__ == "__main__":
    main()
