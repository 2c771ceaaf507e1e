"""`python -m performance load`."""

from __future__ import annotations

from typing import Annotated

import typer

from performance import load as load_bench
from performance import load_streams
from performance.load import Setting
from performance.skipping import SkippedError
from resay.commands import JsonOption
from resay.errors import MissingDependencyError
from resay_lab.benchmarks.bench import MarkdownOption, format_of, print_result, progress

__all__ = ["load"]

_DEFAULT = Setting()


def load(
    concurrency: Annotated[int, typer.Option(min=1, help="Requests at the same time.")] = (
        _DEFAULT.concurrency
    ),
    rounds: Annotated[int, typer.Option(min=1, help="How often each has its turn.")] = (
        _DEFAULT.rounds
    ),
    requests: Annotated[int, typer.Option(min=1, help="Requests of a turn.")] = _DEFAULT.requests,
    latency_s: Annotated[
        float, typer.Option(min=0.0, help="How long the upstream takes for an answer.")
    ] = _DEFAULT.latency_s,
    litellm: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="The executable of LiteLLM's proxy (litellm[proxy]).",
            show_default="beside this python, or on the path",
        ),
    ] = None,
    journal: Annotated[
        bool, typer.Option("--journal", help="Have the gateway write its verdicts down.")
    ] = _DEFAULT.journal,
    streams: Annotated[
        int | None,
        typer.Option(
            min=1, help="Hold so many guarded streams open at once instead, and measure memory."
        ),
    ] = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Measure requests per second through the gateway, beside LiteLLM's proxy."""
    form = format_of(as_json, as_markdown)
    setting = Setting(concurrency, rounds, requests, latency_s, journal=journal)
    steps = load_bench.total(setting) if streams is None else streams
    try:
        with progress("load", steps) as done:
            if streams is None:
                table = load_bench.run(setting, litellm=litellm, done=done)
            else:
                table = load_streams.run(streams, done=done)
    except (MissingDependencyError, SkippedError) as error:
        typer.echo(f"load skipped: {error}", err=True)
        return
    print_result(table, form)
