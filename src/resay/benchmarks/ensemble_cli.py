"""The command `resay bench ensemble`."""

from __future__ import annotations

from typing import Annotated

import typer

from resay._internal.sync import run_sync
from resay.benchmarks import ensemble as ensemble_bench
from resay.benchmarks import wikibio as wikibio_bench
from resay.benchmarks.entries import choose
from resay.benchmarks.options import (
    ApiBaseOption,
    ConcurrencyOption,
    DataOption,
    JsonOption,
    JudgeOption,
    MarkdownOption,
    RowsOption,
    as_bad,
    check_judge,
    folder_of,
    form_of,
    print_result,
    progress,
    slice_of,
    wikibio_judge,
)

__all__ = ["ensemble"]


def ensemble(
    data: DataOption = None,
    members: Annotated[
        str,
        typer.Option(help="What is put together, separated by commas, as `wikibio` names it."),
    ] = "prompt,ngram:maximum-1",
    judge: JudgeOption = None,
    api_base: ApiBaseOption = None,
    concurrency: ConcurrencyOption = 16,
    folds: Annotated[
        int, typer.Option(min=2, help="In how many folds the passages are divided.")
    ] = 5,
    assignments: Annotated[
        int, typer.Option(min=0, help="How many random ways of dividing them are tried.")
    ] = 20,
    rows: RowsOption = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Put methods together, learn how on WikiBio, and measure it on passages left out."""
    form = form_of(as_json, as_markdown)
    folder = folder_of(data)
    with as_bad("--members"):
        entries = choose(ensemble_bench.MEMBERS, members)
        check_judge(entries, judge)
    with as_bad("--data"):
        corpus = wikibio_bench.load(folder, slice_of(rows))
    with as_bad("--folds"):
        ensemble_bench.check_folds(corpus, folds)
    asked = wikibio_judge(judge, api_base, entries, folder, corpus)
    with progress("ensemble", len(entries) * len(corpus.items)) as done:
        table = run_sync(
            ensemble_bench.run,
            corpus,
            entries,
            asked,
            folds=folds,
            assignments=assignments,
            concurrency=concurrency,
            done=done,
        )
    print_result(table, form)
