"""What the benchmark commands have in common: options, and how tables are printed."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.progress import Progress

from resay.benchmarks import wikibio
from resay.benchmarks.entries import Entry
from resay.benchmarks.judges import RECORDED, BenchJudge, LiveJudge
from resay.benchmarks.table import ResultTable, SkippedError, print_table
from resay.errors import ConfigurationError

__all__ = [
    "ApiBaseOption",
    "AtOnceOption",
    "ConcurrencyOption",
    "DataOption",
    "FirstTokenOption",
    "Form",
    "JitterOption",
    "JsonOption",
    "JudgeJitterOption",
    "JudgeLatencyOption",
    "JudgeOption",
    "LatencyOption",
    "MarkdownOption",
    "ModelsOption",
    "RequestsOption",
    "RowsOption",
    "TurnsOption",
    "as_bad",
    "check_judge",
    "folder_of",
    "form_of",
    "is_recorded",
    "live_judge",
    "needs_judge",
    "print_measured",
    "print_result",
    "progress",
    "slice_of",
    "wikibio_judge",
]

DataOption = Annotated[
    Path | None,
    typer.Option("--data", envvar="RESAY_DATA", help="The folder with the benchmark data."),
]
JudgeOption = Annotated[
    str | None,
    typer.Option(help="Who is asked: a model in litellm's notation, or recorded:NAME."),
]
ModelsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="[METHOD=]MODEL",
        help="The neural model of a method in place of the published one: a folder, a model on the"
        " hub, or settings such as '{name: FOLDER, backend: onnx}'. May be repeated.",
    ),
]
ApiBaseOption = Annotated[
    str | None, typer.Option("--api-base", help="The judge's address, if not its usual one.")
]
ConcurrencyOption = Annotated[
    int, typer.Option(min=1, help="How many requests a live judge gets at once.")
]
RowsOption = Annotated[
    str | None,
    typer.Option("--rows", metavar="A:B", help="Only rows A to B-1; either may be left out."),
]
RequestsOption = Annotated[int, typer.Option(min=1, help="Questions for each way of asking.")]
AtOnceOption = Annotated[int, typer.Option(min=1, help="How many at the same time.")]
TurnsOption = Annotated[int, typer.Option(min=1, help="In how many turns.")]
LatencyOption = Annotated[float, typer.Option(min=0.0, help="An answer takes at least.")]
JudgeLatencyOption = Annotated[
    float, typer.Option(min=0.0, help="A judge's answer takes at least.")
]
JitterOption = Annotated[float, typer.Option(min=0.0, help="An answer takes at most longer by.")]
JudgeJitterOption = Annotated[
    float, typer.Option(min=0.0, help="A judge's answer takes at most longer by.")
]
FirstTokenOption = Annotated[
    float, typer.Option(min=0.0, help="A stream takes to its first piece.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")]
Form = Literal["table", "json", "markdown"]

_ROWS = re.compile(r"(-?\d+)?:(-?\d+)?")
# Without a terminal nothing says how wide a line may be; wrapped cells are hard to read.
_FILE_WIDTH = 200


@contextmanager
def as_bad(option: str) -> Generator[None, None, None]:
    """Say that what is wrong is an option's value: exit code 2."""
    try:
        yield
    except ConfigurationError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def needs_judge(entries: Sequence[Entry]) -> bool:
    """Return whether any of the entries asks a judge."""
    return any(entry.needs_judge for entry in entries)


def is_recorded(judge: str) -> bool:
    """Return whether a judge's answers come from a recording."""
    return judge.startswith(RECORDED)


def check_judge(entries: Sequence[Entry], judge: str | None) -> None:
    """Make sure that the judge can answer what the entries ask.

    Args:
        entries: What is to be measured.
        judge: As named on the command line.

    Raises:
        ConfigurationError: There is none, or only a recording of other questions.
    """
    for entry in entries:
        if entry.needs_judge and judge is None:
            raise ConfigurationError(f"{entry.name!r} needs a judge; pass --judge")
        if entry.live_only and judge is not None and is_recorded(judge):
            raise ConfigurationError(
                f"{entry.name!r} asks what was not recorded; pass a model as --judge"
            )


def live_judge(judge: str, api_base: str | None) -> LiveJudge | None:
    """Return the model a judge's name stands for, or None where it stands for a recording."""
    if not is_recorded(judge):
        return LiveJudge(judge, {} if api_base is None else {"api_base": api_base})
    if api_base is not None:
        raise typer.BadParameter("a recorded judge has no address", param_hint="--api-base")
    return None


def wikibio_judge(
    judge: str | None,
    api_base: str | None,
    entries: Sequence[Entry],
    folder: Path,
    corpus: wikibio.Corpus,
) -> BenchJudge | None:
    """Return who answers about WikiBio, or None where nobody is asked.

    Args:
        judge: As named on the command line.
        api_base: A model's address.
        entries: What is to be measured.
        folder: Where recordings are.
        corpus: The passages.
    """
    if judge is None or not needs_judge(entries):
        return None
    with as_bad("--judge"):
        return live_judge(judge, api_base) or wikibio.recorded_judge(
            folder, judge, judge.removeprefix(RECORDED), corpus
        )


def folder_of(data: Path | None) -> Path:
    """Return the folder with the data, which must be there."""
    if data is None:
        raise typer.BadParameter("pass the folder, or set RESAY_DATA", param_hint="--data")
    if not data.is_dir():
        raise typer.BadParameter(f"{str(data)!r} is not a folder", param_hint="--data")
    return data


def slice_of(rows: str | None) -> slice:
    """Return which rows are meant by A:B; all where nothing is said."""
    found = _ROWS.fullmatch(rows.strip()) if rows is not None else None
    if rows is None:
        return slice(None)
    if found is None:
        raise typer.BadParameter(f"{rows!r} is not of the form A:B", param_hint="--rows")
    start, end = (int(bound) if bound else None for bound in found.groups())
    return slice(start, end)


def form_of(as_json: bool, as_markdown: bool) -> Form:
    """Return how the table is to be printed."""
    if as_json and as_markdown:
        raise typer.BadParameter("--json and --markdown exclude each other; pass one of them")
    return "json" if as_json else "markdown" if as_markdown else "table"


@contextmanager
def progress(name: str, total: int) -> Generator[Callable[[], object], None, None]:
    """Show a bar on stderr where that is a terminal.

    Args:
        name: What stands before the bar.
        total: How many steps there are.

    Yields:
        What to call after each step.
    """
    console = Console(stderr=True)
    with Progress(console=console, disable=not sys.stderr.isatty()) as bar:
        yield partial(bar.advance, bar.add_task(name, total=total))


def print_measured(
    name: str, total: int, measure: Callable[[Callable[[], object]], ResultTable], form: Form
) -> None:
    """Measure, and print what was found, or why nothing was.

    Args:
        name: The bench's name.
        total: How many steps there are.
        measure: Measures, and calls what it is given after each step.
        form: How it is printed.
    """
    try:
        with progress(name, total) as done:
            table = measure(done)
    except (ConfigurationError, SkippedError) as error:
        typer.echo(f"{name} skipped: {error}", err=True)
        return
    print_result(table, form)


def print_result(table: ResultTable, form: Form) -> None:
    """Print a table on stdout."""
    if form == "json":
        typer.echo(table.to_json())
    elif form == "markdown":
        typer.echo(table.to_markdown())
    else:
        print_table(table, Console(width=None if sys.stdout.isatty() else _FILE_WIDTH))
