"""`python -m performance clients`."""

from __future__ import annotations

from typing import Annotated

import typer

from performance import clients as clients_bench
from performance.skipping import print_measured
from resay.commands import JsonOption
from resay_lab.benchmarks.bench import MarkdownOption, format_of

__all__ = ["clients"]


def clients(
    rounds: Annotated[
        int, typer.Option(min=1, help="Pairs of calls where nothing is checked.")
    ] = 200,
    guarded_rounds: Annotated[
        int, typer.Option(min=1, help="Pairs of calls where answers are checked.")
    ] = 100,
    latency_s: Annotated[
        float, typer.Option(min=0.0, help="An answer takes, where nothing is checked.")
    ] = 0.0,
    guarded_latency_s: Annotated[
        float, typer.Option(min=0.0, help="An answer takes, where it is checked.")
    ] = 0.05,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Measure what guarded clients of SDKs add to a call, against a simulated provider."""
    form = format_of(as_json, as_markdown)
    setting = clients_bench.Setting(rounds, guarded_rounds, latency_s, guarded_latency_s)
    total = clients_bench.total(setting)
    print_measured("clients", total, lambda done: clients_bench.run(setting, done=done), form)
