"""The commands `resay bench adaptive` and `resay bench cascade`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from resay._internal.sync import run_sync
from resay.benchmarks import adaptive as adaptive_bench
from resay.benchmarks import cascade as cascade_bench
from resay.benchmarks import wikibio as wikibio_bench
from resay.benchmarks.judges import RECORDED, RecordedJudge
from resay.benchmarks.options import (
    DataOption,
    JsonOption,
    MarkdownOption,
    RowsOption,
    as_bad,
    folder_of,
    form_of,
    is_recorded,
    print_result,
    progress,
    slice_of,
)
from resay.errors import ConfigurationError

__all__ = ["adaptive", "cascade"]

_JudgeOption = Annotated[
    str,
    typer.Option(help="Whose answers: recorded:NAME. The same questions are asked many times."),
]
_MaxOption = Annotated[
    int, typer.Option("--max", min=2, max=100, help="How many samples there are at most.")
]
_ConfidenceOption = Annotated[
    float, typer.Option(help="With which probability a decision must be known, over 0.5.")
]


def adaptive(
    judge: _JudgeOption,
    data: DataOption = None,
    most: _MaxOption = 20,
    confidence: _ConfidenceOption = 0.99,
    orders: Annotated[
        int, typer.Option(min=0, help="In how many random orders samples come, too.")
    ] = 5,
    halves: Annotated[
        bool, typer.Option("--halves", help="Passages with even and with odd row numbers, too.")
    ] = False,
    rows: RowsOption = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Stop when the decision is settled: samples taken, and decisions that differ (WikiBio)."""
    form = form_of(as_json, as_markdown)
    corpus, recorded = _given(data, judge, rows, confidence)
    with progress("adaptive", adaptive_bench.runs(orders) * len(corpus.items)) as done:
        table = run_sync(
            adaptive_bench.run,
            corpus,
            recorded,
            most=most,
            confidence=confidence,
            orders=orders,
            halves=halves,
            done=done,
        )
    print_result(table, form)


def cascade(
    judge: _JudgeOption,
    data: DataOption = None,
    most: _MaxOption = 20,
    confidence: _ConfidenceOption = 0.99,
    thresholds: Annotated[
        list[float] | None,
        typer.Option(
            "--threshold",
            min=0,
            max=1,
            help="Of sentences; may be repeated. By default 0.5 and the one that tells the labelled"
            " sentences best apart.",
        ),
    ] = None,
    rows: RowsOption = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Save calls of a judge: what n-grams, stopping early and nearest samples save (WikiBio)."""
    form = form_of(as_json, as_markdown)
    corpus, recorded = _given(data, judge, rows, confidence)
    steps = cascade_bench.runs(len(thresholds) if thresholds else 2) * len(corpus.items)
    with as_bad("--rows"), progress("cascade", steps) as done:
        table = run_sync(
            cascade_bench.run,
            corpus,
            recorded,
            most=most,
            confidence=confidence,
            thresholds=thresholds,
            done=done,
        )
    print_result(table, form)


def _given(
    data: Path | None, judge: str, rows: str | None, confidence: float
) -> tuple[wikibio_bench.Corpus, RecordedJudge]:
    folder = folder_of(data)
    if not 0.5 < confidence <= 1:
        raise typer.BadParameter(
            f"{confidence!r} is not over 0.5 and at most 1", param_hint="--confidence"
        )
    with as_bad("--judge"):
        if not is_recorded(judge):
            raise ConfigurationError(
                f"{judge!r} would be asked the same many times; pass a recording, recorded:NAME"
            )
    with as_bad("--data"):
        corpus = wikibio_bench.load(folder, slice_of(rows))
    with as_bad("--judge"):
        name = judge.removeprefix(RECORDED)
        return corpus, wikibio_bench.recorded_judge(folder, judge, name, corpus)
