"""`python -m performance soak`."""

from __future__ import annotations

from typing import Annotated

import typer

from performance import soak as soak_bench
from performance.skipping import SkippedError
from performance.soak import Life, Report, Setting
from performance.soak_checks import JUDGED, MOST_GROWTH, WARM_UP, WINDOWS
from resay.adapters import run_sync
from resay.commands import JsonOption
from resay.errors import MissingDependencyError
from resay_lab.benchmarks.bench import MarkdownOption, format_of, print_result, progress
from resay_lab.benchmarks.table import Column, ResultTable

__all__ = ["soak"]

_DEFAULT = Setting()
_SHOWN = 40
_COLUMNS = (Column("outcome", "requests that ended"), Column("requests", "requests", 0))
_CALLED = {
    "answered": "with an answer",
    "blocked": "with an answer withheld",
    "error": "with an error that says what is wrong",
    "unguarded": "with what the provider said, as it is: nothing that could be checked",
    "left": "by their client's leaving",
    "refused": "before they began, while the gateway was stopped",
    "lost": "in no way that is allowed",
}


def soak(
    requests: Annotated[int, typer.Option(min=1, help="How many requests.")] = _DEFAULT.requests,
    concurrency: Annotated[int, typer.Option(min=1, help="How many at the same time.")] = (
        _DEFAULT.concurrency
    ),
    restarts: Annotated[
        int, typer.Option(min=0, help="How often the gateway is stopped and started again.")
    ] = _DEFAULT.restarts,
    seed: Annotated[int, typer.Option(help="Decides what goes wrong, and where.")] = _DEFAULT.seed,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Send mixed requests through `resay serve` while much goes wrong, and restart it meanwhile.

    Exit code 1 where an answer is lost, a verdict is not in the journal once, or memory grows.
    """
    form = format_of(as_json, as_markdown)
    setting = Setting(requests, concurrency, restarts, seed)
    try:
        with progress("soak", requests) as done:
            report = run_sync(soak_bench.run, setting, done=done)
    except MissingDependencyError as error:
        typer.echo(f"soak skipped: {error}", err=True)
        return
    except SkippedError as error:
        # A gateway that does not start is what this is to find.
        typer.echo(f"soak failed: {error}", err=True)
        raise typer.Exit(1) from error
    print_result(_table(report), form)
    if report.problems:
        raise typer.Exit(1)


def _table(report: Report) -> ResultTable:
    rows = tuple(
        {"outcome": called, "requests": report.outcomes.get(outcome, 0), "name": outcome}
        for outcome, called in _CALLED.items()
    )
    told, entries = report.verdicts
    notes = (
        f"{told} answers came with a verdict; the journal has {entries} entries, those of clients"
        " that left among them.",
        f"The provider was sent {report.calls} requests and failed {report.faults} of them.",
        *(_of_life(number, life) for number, life in enumerate(report.lives, start=1)),
        f"Memory (VmRSS) is looked at after the first {WARM_UP:.0%} of a process's requests: the"
        f" medians of {WINDOWS} stretches of equally many; none may be more than"
        f" {MOST_GROWTH:.0%} over the first. Below {JUDGED} requests it is not judged.",
        *(f"Problem: {problem}" for problem in report.problems[:_SHOWN]),
        *_others(len(report.problems) - _SHOWN),
    )
    about = {
        "verdicts": list(report.verdicts),
        "faults": report.faults,
        "calls": report.calls,
        "processes": [_life(life) for life in report.lives],
        "seconds": round(report.seconds, 1),
        "problems": list(report.problems),
    }
    return ResultTable("soak", _COLUMNS, rows, notes, about)


def _others(count: int) -> tuple[str, ...]:
    return (f"{count} more problems; --json has all of them.",) if count > 0 else ()


def _of_life(number: int, life: Life) -> str:
    held = ", ".join(f"{mb:.1f}" for mb in life.windows) or "too few samples"
    grown = "" if life.growth is None else f", grown by {life.growth:.1%}"
    peak = "" if life.peak_mb is None else f", {life.peak_mb:.0f} MiB at the most"
    return (
        f"Process {number} ended {life.requests} requests: {held} MiB{grown}{peak}; it stopped in"
        f" {life.stopped_s:.1f} s."
    )


def _life(life: Life) -> dict[str, object]:
    return {
        "requests": life.requests,
        "windows_mb": [round(mb, 1) for mb in life.windows],
        "growth": None if life.growth is None else round(life.growth, 4),
        "peak_mb": life.peak_mb,
        "stopped_s": round(life.stopped_s, 2),
    }
