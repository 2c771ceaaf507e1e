"""A bench as a command: its options, its job, its progress and its table.

A bench is a function whose parameters are its own options. It loads its inputs and returns the job
to run; `bench_command` adds what all benches share: `--data`, `--rows`, `--json` and `--markdown`,
the progress bar and the table.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer
from rich.console import Console

from resay.commands import JsonOption
from resay.errors import ConfigurationError
from resay_lab.benchmarks.table import ResultTable, print_table

DataOption = Annotated[
    Path | None,
    typer.Option("--data", envvar="RESAY_DATA", help="The folder with the benchmark data."),
]
RowsOption = Annotated[
    str | None,
    typer.Option("--rows", metavar="A:B", help="Only rows A to B-1; either may be omitted."),
]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")]
TableFormat = Literal["table", "json", "markdown"]

_ROWS = re.compile(r"(-?\d+)?:(-?\d+)?")
# Without a terminal the line width is unknown; wrapped cells are hard to read.
_FILE_WIDTH = 200


@dataclass(frozen=True, slots=True)
class BenchJob:
    """The work of a bench.

    Attributes:
        steps: How many times it reports progress.
        run: Does the work; takes the progress callback as `done`.
    """

    steps: int
    run: Callable[..., Coroutine[Any, Any, ResultTable]]


BenchT = TypeVar("BenchT", bound=Callable[..., BenchJob])


def bench_command(app: typer.Typer) -> Callable[[BenchT], BenchT]:
    """Register a bench as a command of the same name, with its own and the shared options.

    Args:
        app: The command line.
    """

    def register(bench: BenchT) -> BenchT:
        command = _command(bench)
        app.command(bench.__name__, help=bench.__doc__)(command)
        return bench

    return register


def _command(bench: Callable[..., BenchJob]) -> Callable[..., None]:
    def command(
        data: Path | None, rows: str | None, as_json: bool, as_markdown: bool, **own: Any
    ) -> None:
        from resay.adapters import run_sync

        table_format = format_of(as_json, as_markdown)
        job = bench(_folder_of(data), slice_of(rows), **own)
        with progress(bench.__name__, job.steps) as done:
            table = run_sync(job.run, done=done)
        print_result(table, table_format)

    # typer reads a command's options from its signature.
    parameters = [_parameter("data", DataOption, None)]
    for name, parameter in inspect.signature(bench, eval_str=True).parameters.items():
        if name not in ("folder", "rows"):
            parameters.append(_parameter(name, parameter.annotation, parameter.default))
    parameters.append(_parameter("rows", RowsOption, None))
    parameters.append(_parameter("as_json", JsonOption, False))
    parameters.append(_parameter("as_markdown", MarkdownOption, False))
    with_signature: Any = command
    with_signature.__annotations__ = {each.name: each.annotation for each in parameters}
    with_signature.__signature__ = inspect.Signature(parameters)
    return command


def _parameter(name: str, annotation: object, default: object) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


@contextmanager
def bad_parameter(option: str | None = None) -> Generator[None, None, None]:
    """Report a `ConfigurationError` as an invalid option value: exit code 2."""
    try:
        yield
    except ConfigurationError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def _folder_of(data: Path | None) -> Path:
    if data is None:
        raise typer.BadParameter("pass a folder, or set RESAY_DATA", param_hint="--data")
    if not data.is_dir():
        raise typer.BadParameter(f"{str(data)!r} is not a folder", param_hint="--data")
    return data


def slice_of(rows: str | None) -> slice:
    """Return the rows that A:B selects; all rows if nothing is given."""
    if rows is None:
        return slice(None)
    match = _ROWS.fullmatch(rows.strip())
    if match is None:
        raise typer.BadParameter(f"{rows!r} must have the form A:B", param_hint="--rows")
    start, end = (int(bound) if bound else None for bound in match.groups())
    return slice(start, end)


def format_of(as_json: bool, as_markdown: bool) -> TableFormat:
    """Return the output format that the flags select."""
    if as_json and as_markdown:
        raise typer.BadParameter("--json and --markdown exclude each other; pass only one")
    return "json" if as_json else "markdown" if as_markdown else "table"


@contextmanager
def progress(name: str, total: int) -> Generator[Callable[[], object], None, None]:
    """Show a progress bar on stderr if that is a terminal.

    Args:
        name: The label of the bar.
        total: The number of steps.

    Yields:
        A function to call after each step.
    """
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=not sys.stderr.isatty()) as bar:
        yield partial(bar.advance, bar.add_task(name, total=total))


def print_result(table: ResultTable, table_format: TableFormat) -> None:
    """Print a table on stdout."""
    if table_format == "json":
        typer.echo(table.to_json())
    elif table_format == "markdown":
        typer.echo(table.to_markdown())
    else:
        print_table(table, Console(width=None if sys.stdout.isatty() else _FILE_WIDTH))
