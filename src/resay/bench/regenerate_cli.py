"""`resay bench regenerate`."""

from __future__ import annotations

from typing import Annotated

import typer

from resay.bench import regenerate as regenerate_bench
from resay.bench.latency import Setting
from resay.bench.options import JsonOption, MarkdownOption, form_of, print_result, progress
from resay.bench.readings import SkippedError
from resay.errors import ConfigurationError
from resay.sync import run_sync

__all__ = ["regenerate"]

_DEFAULT = regenerate_bench.DEFAULT


def regenerate(
    requests: Annotated[
        int, typer.Option(min=1, help="Questions for each way of asking.")
    ] = _DEFAULT.requests,
    concurrency: Annotated[
        int, typer.Option(min=1, help="How many at the same time.")
    ] = _DEFAULT.concurrency,
    turns: Annotated[int, typer.Option(min=1, help="In how many turns.")] = _DEFAULT.turns,
    latency_s: Annotated[
        float, typer.Option(min=0.0, help="An answer takes at least.")
    ] = _DEFAULT.latency_s,
    judge_latency_s: Annotated[
        float, typer.Option(min=0.0, help="A judge's answer takes at least.")
    ] = _DEFAULT.judge_latency_s,
    jitter_s: Annotated[
        float, typer.Option(min=0.0, help="An answer takes at most longer by.")
    ] = _DEFAULT.jitter_s,
    judge_jitter_s: Annotated[
        float, typer.Option(min=0.0, help="A judge's answer takes at most longer by.")
    ] = _DEFAULT.judge_jitter_s,
    first_token_s: Annotated[
        float, typer.Option(min=0.0, help="A stream takes to its first piece.")
    ] = _DEFAULT.first_token_s,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Measure what mending a flagged answer costs, in time, calls, tokens and dollars."""
    form = form_of(as_json, as_markdown)
    setting = Setting(
        requests=requests,
        concurrency=concurrency,
        turns=turns,
        latency_s=latency_s,
        judge_latency_s=judge_latency_s,
        jitter_s=jitter_s,
        judge_jitter_s=judge_jitter_s,
        first_token_s=first_token_s,
    )
    try:
        with progress("regenerate", requests * len(regenerate_bench.WAYS)) as done:
            table = run_sync(regenerate_bench.run, setting, done=done)
    except (ConfigurationError, SkippedError) as error:
        typer.echo(f"regenerate skipped: {error}", err=True)
        return
    print_result(table, form)
