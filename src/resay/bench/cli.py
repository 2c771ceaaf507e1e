"""The commands `resay bench wikibio` and `resay bench speed`."""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.progress import Progress

from resay.bench import speed as speed_bench
from resay.bench import wikibio as wikibio_bench
from resay.bench.entries import Entry, choose
from resay.bench.judges import RECORDED, BenchJudge, LiveJudge
from resay.bench.table import ResultTable, print_table
from resay.errors import ConfigurationError
from resay.sync import run_sync

__all__ = ["app"]

app = typer.Typer(
    help="Published benchmarks, and speed.", no_args_is_help=True, add_completion=False
)

DataOption = Annotated[
    Path | None,
    typer.Option("--data", envvar="RESAY_DATA", help="The folder with the benchmark data."),
]
RowsOption = Annotated[
    str | None,
    typer.Option("--rows", metavar="A:B", help="Only rows A to B-1; either may be left out."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")]
Form = Literal["table", "json", "markdown"]

_ROWS = re.compile(r"(-?\d+)?:(-?\d+)?")
# Without a terminal nothing says how wide a line may be; wrapped cells are hard to read.
_FILE_WIDTH = 200


@app.command()
def wikibio(
    data: DataOption = None,
    methods: Annotated[
        str,
        typer.Option(
            help="Separated by commas: ngram, ngram:maximum-1, prompt, prompt:per_sample."
        ),
    ] = "ngram",
    judge: Annotated[
        str | None,
        typer.Option(help="Who is asked: a model in litellm's notation, or recorded:NAME."),
    ] = None,
    api_base: Annotated[
        str | None, typer.Option("--api-base", help="The judge's address, if not its usual one.")
    ] = None,
    concurrency: Annotated[
        int, typer.Option(min=1, help="How many requests a live judge gets at once.")
    ] = 16,
    rows: RowsOption = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Detect what GPT-3 made up about people (SelfCheckGPT, Tables 2 and 7)."""
    form = _form(as_json, as_markdown)
    folder = _folder(data)
    with _as_bad("--methods"):
        entries = choose(wikibio_bench.ENTRIES, methods)
        _check_judge(entries, judge)
    with _as_bad("--data"):
        corpus = wikibio_bench.load(folder, _slice(rows))
    with _as_bad("--judge"):
        asked = _judge(folder, judge, api_base, corpus) if judge and _asks(entries) else None
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("wikibio", total=len(entries) * len(corpus.items))
        table = run_sync(
            wikibio_bench.run,
            corpus,
            entries,
            asked,
            concurrency=concurrency,
            done=partial(progress.advance, task),
        )
    _print(table, form)


@app.command()
def speed(
    data: DataOption = None,
    rows: RowsOption = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Measure ratios on this machine: n-gram scoring, judging with latency, and the import."""
    form = _form(as_json, as_markdown)
    _print(speed_bench.run(data, _slice(rows)), form)


@contextmanager
def _as_bad(option: str) -> Generator[None, None, None]:
    try:
        yield
    except ConfigurationError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def _asks(entries: Sequence[Entry]) -> bool:
    return any(entry.needs_judge for entry in entries)


def _check_judge(entries: Sequence[Entry], judge: str | None) -> None:
    for entry in entries:
        if entry.needs_judge and judge is None:
            raise ConfigurationError(f"{entry.name!r} needs a judge; pass --judge")
        if entry.live_only and judge is not None and judge.startswith(RECORDED):
            raise ConfigurationError(
                f"{entry.name!r} asks what was not recorded; pass a model as --judge"
            )


def _judge(
    data: Path, judge: str, api_base: str | None, corpus: wikibio_bench.Corpus
) -> BenchJudge:
    if not judge.startswith(RECORDED):
        return LiveJudge(judge, {} if api_base is None else {"api_base": api_base})
    if api_base is not None:
        raise typer.BadParameter("a recorded judge has no address", param_hint="--api-base")
    return wikibio_bench.recorded_judge(data, judge, judge.removeprefix(RECORDED), corpus)


def _folder(data: Path | None) -> Path:
    if data is None:
        raise typer.BadParameter("pass the folder, or set RESAY_DATA", param_hint="--data")
    if not data.is_dir():
        raise typer.BadParameter(f"{str(data)!r} is not a folder", param_hint="--data")
    return data


def _slice(rows: str | None) -> slice:
    found = _ROWS.fullmatch(rows.strip()) if rows is not None else None
    if rows is None:
        return slice(None)
    if found is None:
        raise typer.BadParameter(f"{rows!r} is not of the form A:B", param_hint="--rows")
    start, end = (int(bound) if bound else None for bound in found.groups())
    return slice(start, end)


def _form(as_json: bool, as_markdown: bool) -> Form:
    if as_json and as_markdown:
        raise typer.BadParameter("--json and --markdown exclude each other; pass one of them")
    return "json" if as_json else "markdown" if as_markdown else "table"


def _print(table: ResultTable, form: Form) -> None:
    if form == "json":
        typer.echo(table.to_json())
    elif form == "markdown":
        typer.echo(table.to_markdown())
    else:
        print_table(table, Console(width=None if sys.stdout.isatty() else _FILE_WIDTH))
