"""The commands `latency` and `regenerate`: several ways of asking, in turns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from performance import latency as latency_bench
from performance import regenerate as regenerate_bench
from performance.skipping import print_measured
from performance.turns import Setting
from resay.adapters import run_sync
from resay.commands import JsonOption
from resay_lab.benchmarks.bench import MarkdownOption, format_of

__all__ = ["latency", "regenerate"]


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


def _command(bench: Any, name: str, told: str, default: Setting) -> Callable[..., None]:
    """Return the command that runs one of the benches.

    Args:
        bench: The bench's module, with `WAYS` and `run`.
        name: The command's name.
        told: What its help says.
        default: What is asked unless something else is said.
    """

    def measure(
        requests: RequestsOption = default.requests,
        concurrency: AtOnceOption = default.concurrency,
        turns: TurnsOption = default.turns,
        latency_s: LatencyOption = default.latency_s,
        judge_latency_s: JudgeLatencyOption = default.judge_latency_s,
        jitter_s: JitterOption = default.jitter_s,
        judge_jitter_s: JudgeJitterOption = default.judge_jitter_s,
        first_token_s: FirstTokenOption = default.first_token_s,
        as_json: JsonOption = False,
        as_markdown: MarkdownOption = False,
    ) -> None:
        form = format_of(as_json, as_markdown)
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
        total = requests * len(bench.WAYS)
        print_measured(name, total, lambda done: run_sync(bench.run, setting, done=done), form)

    measure.__name__, measure.__doc__ = name, told
    return measure


latency = _command(
    latency_bench,
    "latency",
    "Measure what guarding adds to the time of an answer, against a simulated provider.",
    Setting(),
)
regenerate = _command(
    regenerate_bench,
    "regenerate",
    "Measure what repairing a flagged answer costs, in time, calls, tokens and dollars.",
    regenerate_bench.DEFAULT,
)
