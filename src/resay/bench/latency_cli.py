"""`resay bench latency`."""

from __future__ import annotations

from typing import Annotated

import typer

from resay.bench import latency as latency_bench
from resay.bench.options import JsonOption, MarkdownOption, form_of, print_result, progress
from resay.bench.readings import SkippedError
from resay.errors import ConfigurationError
from resay.sync import run_sync

__all__ = ["latency"]


def latency(
    requests: Annotated[int, typer.Option(min=1, help="Questions for each way of asking.")] = 200,
    concurrency: Annotated[int, typer.Option(min=1, help="How many at the same time.")] = 20,
    turns: Annotated[int, typer.Option(min=1, help="In how many turns.")] = 5,
    latency_s: Annotated[float, typer.Option(min=0.0, help="An answer takes at least.")] = 0.35,
    judge_latency_s: Annotated[
        float, typer.Option(min=0.0, help="A judge's answer takes at least.")
    ] = 0.13,
    jitter_s: Annotated[
        float, typer.Option(min=0.0, help="An answer takes at most longer by.")
    ] = 0.1,
    judge_jitter_s: Annotated[
        float, typer.Option(min=0.0, help="A judge's answer takes at most longer by.")
    ] = 0.04,
    first_token_s: Annotated[
        float, typer.Option(min=0.0, help="A stream takes to its first piece.")
    ] = 0.06,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Measure what guarding adds to the time of an answer, against a simulated provider."""
    form = form_of(as_json, as_markdown)
    setting = latency_bench.Setting(
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
        with progress("latency", requests * len(latency_bench.WAYS)) as done:
            table = run_sync(latency_bench.run, setting, done=done)
    except (ConfigurationError, SkippedError) as error:
        typer.echo(f"latency skipped: {error}", err=True)
        return
    print_result(table, form)
