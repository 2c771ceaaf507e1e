"""`resay bench latency`."""

from __future__ import annotations

import typer

from resay.bench import latency as latency_bench
from resay.bench.options import (
    AtOnceOption,
    FirstTokenOption,
    JitterOption,
    JsonOption,
    JudgeJitterOption,
    JudgeLatencyOption,
    LatencyOption,
    MarkdownOption,
    RequestsOption,
    TurnsOption,
    form_of,
    print_result,
    progress,
)
from resay.bench.readings import SkippedError
from resay.bench.turns import Setting
from resay.errors import ConfigurationError
from resay.sync import run_sync

__all__ = ["latency"]

_DEFAULT = Setting()


def latency(
    requests: RequestsOption = _DEFAULT.requests,
    concurrency: AtOnceOption = _DEFAULT.concurrency,
    turns: TurnsOption = _DEFAULT.turns,
    latency_s: LatencyOption = _DEFAULT.latency_s,
    judge_latency_s: JudgeLatencyOption = _DEFAULT.judge_latency_s,
    jitter_s: JitterOption = _DEFAULT.jitter_s,
    judge_jitter_s: JudgeJitterOption = _DEFAULT.judge_jitter_s,
    first_token_s: FirstTokenOption = _DEFAULT.first_token_s,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Measure what guarding adds to the time of an answer, against a simulated provider."""
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
        with progress("latency", requests * len(latency_bench.WAYS)) as done:
            table = run_sync(latency_bench.run, setting, done=done)
    except (ConfigurationError, SkippedError) as error:
        typer.echo(f"latency skipped: {error}", err=True)
        return
    print_result(table, form)
