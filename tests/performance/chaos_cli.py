"""`python -m performance chaos`."""

from __future__ import annotations

import warnings
from typing import Annotated

import typer

from performance import chaos as chaos_bench
from resay.adapters import run_sync
from resay.commands import JsonOption
from resay_lab.benchmarks.bench import MarkdownOption, format_of, print_result, progress
from resay_lab.benchmarks.table import Column, ResultTable

__all__ = ["chaos"]

_COLUMNS = (Column("outcome", "requests that ended with"), Column("requests", "requests", 0))


def chaos(
    requests: Annotated[int, typer.Option(min=2, help="How many guarded requests.")] = 2000,
    concurrency: Annotated[int, typer.Option(min=1, help="How many at the same time.")] = 50,
    seed: Annotated[int, typer.Option(help="Decides what goes wrong, and where.")] = 0,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Send requests through random faults and cancellations; exit code 1 where one is not well."""
    form = format_of(as_json, as_markdown)
    # litellm makes a coroutine in a thread; a caller who is cancelled meanwhile never awaits it.
    warnings.filterwarnings("ignore", "coroutine 'OpenAIChatCompletion", RuntimeWarning)
    with progress("chaos", requests) as done:
        report = run_sync(chaos_bench.run, requests, concurrency=concurrency, seed=seed, done=done)
    print_result(_table(report), form)
    if report.problems:
        raise typer.Exit(1)


def _table(report: chaos_bench.Report) -> ResultTable:
    outcomes = sorted(report.outcomes.items(), key=lambda pair: -pair[1])
    calls, received = report.calls
    told, counted = report.tokens
    latest, stall, grace = (
        f"{1000 * seconds:.0f} ms"
        for seconds in (report.latest_s, report.longest_stall_s, chaos_bench.GRACE_S)
    )
    notes = (
        f"{calls} requests were sent, of which {received} reached the server before they were"
        " cancelled.",
        f"Answers told of {told} tokens; the server counted {counted}, those of answers nobody"
        " waited for among them.",
        f"The latest request ended {latest} late, {grace} are allowed, the lateness of the event"
        f" loop taken off, which was {stall} at the most.",
        *(f"Problem: {problem}" for problem in report.problems),
    )
    about = {
        "calls": list(report.calls),
        "tokens": list(report.tokens),
        "latest_s": round(report.latest_s, 4),
        "longest_stall_s": round(report.longest_stall_s, 4),
        "seconds": round(report.seconds, 2),
        "problems": list(report.problems),
    }
    rows = tuple({"outcome": name, "requests": count} for name, count in outcomes)
    return ResultTable("chaos", _COLUMNS, rows, notes, about)
