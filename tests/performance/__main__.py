"""`python -m performance`: what measures speed, load and memory, one command each."""

from __future__ import annotations

from typing import Annotated

import typer

from performance import batch as batch_bench
from performance import disk as disk_bench
from performance import folder as folder_bench
from performance import growth as growth_bench
from performance import speed as speed_bench
from performance.chaos_cli import chaos
from performance.clients_cli import clients
from performance.clients_many import clients_at_once
from performance.documents import documents
from performance.fleet import fleet
from performance.gateway_cpu import gateway_cpu
from performance.handbook_cli import handbook
from performance.inference_cli import inference
from performance.load_cli import load
from performance.loop import loop
from performance.peers import peers
from performance.queueing import queueing
from performance.ratios import ratios
from performance.second import second
from performance.size import size
from performance.soak_cli import soak
from performance.turns_cli import latency, regenerate
from resay.commands import JsonOption
from resay_lab.benchmarks.bench import (
    DataOption,
    MarkdownOption,
    RowsOption,
    format_of,
    print_result,
    slice_of,
)

app = typer.Typer(
    help="What measures speed, load and memory.", no_args_is_help=True, add_completion=False
)
app.command()(inference)
app.command()(chaos)
app.command()(latency)
app.command()(clients)
app.command("clients-at-once")(clients_at_once)
app.command()(load)
app.command("gateway-cpu")(gateway_cpu)
app.command()(queueing)
app.command()(soak)
app.command()(fleet)
app.command()(regenerate)
app.command()(loop)
app.command()(handbook)
app.command()(ratios)
app.command()(peers)
app.command()(second)
app.command()(documents)
app.command()(size)


@app.command()
def speed(
    data: DataOption = None,
    rows: RowsOption = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Measure ratios on this machine: n-gram scoring, judging with latency, and the import."""
    form = format_of(as_json, as_markdown)
    print_result(speed_bench.run(data, slice_of(rows)), form)


@app.command()
def disk(
    entries: Annotated[int, typer.Option(min=100, help="How many the journal has.")] = 1_000_000,
    verdicts: Annotated[int, typer.Option(min=1, help="How many are on the page.")] = 3000,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Measure what is written and kept: pages of verdicts, the cache in a file, the journal."""
    form = format_of(as_json, as_markdown)
    print_result(disk_bench.run(entries, verdicts), form)


@app.command()
def journal(
    entries: Annotated[int, typer.Option(min=100, help="How many the journal has.")] = 1_000_000,
    turns: Annotated[int, typer.Option(min=0, help="How often to ask each question again.")] = 5,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Measure how soon a large journal with words answers, in SQLite and PostgreSQL."""
    form = format_of(as_json, as_markdown)
    print_result(disk_bench.run_journal(entries, turns), form)


@app.command()
def growth(
    doublings: Annotated[int, typer.Option(min=0, help="How often each part is doubled.")] = 10,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Measure how the work of a check grows with what it is given."""
    form = format_of(as_json, as_markdown)
    print_result(growth_bench.run(doublings), form)


@app.command()
def folder(
    documents: Annotated[int, typer.Option(min=100, help="How many there are.")] = 20_000,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Measure searching and indexing a folder beside SQLite's full-text search alone."""
    form = format_of(as_json, as_markdown)
    print_result(folder_bench.run(documents), form)


@app.command()
def batch(
    rows: Annotated[int, typer.Option(min=100, help="How many for each method.")] = 6_000,
    memory_rows: Annotated[
        int, typer.Option(min=1_000, help="How many to measure the memory over.")
    ] = 1_000_000,
    checked_rows: Annotated[
        int, typer.Option(min=1_000, help="And with checks that are really made.")
    ] = 50_000,
    file_mb: Annotated[int, typer.Option(min=1, help="Size of the file, in MB.")] = 500,
    ray_rows: Annotated[int, typer.Option(min=1_000, help="How many with Ray.")] = 50_000,
    calls: Annotated[int, typer.Option(min=16, help="How many to wait for.")] = 1_600,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Measure `resay batch` beside a bare pool, behind slow calls, and over many rows."""
    form = format_of(as_json, as_markdown)
    print_result(batch_bench.run(rows, memory_rows, checked_rows, calls, file_mb, ray_rows), form)


if __name__ == "__main__":
    app(prog_name="python -m performance")
