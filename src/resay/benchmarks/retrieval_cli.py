"""The command `resay bench retrieval`."""

from __future__ import annotations

from typing import Annotated

import typer

from resay._internal.sync import run_sync
from resay.benchmarks import retrieval as retrieval_bench
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

__all__ = ["retrieval"]


def retrieval(
    data: DataOption = None,
    methods: Annotated[
        str,
        typer.Option(help="Who flags, separated by commas, as `wikibio` names it."),
    ] = "ngram:maximum-1",
    judge: JudgeOption = None,
    api_base: ApiBaseOption = None,
    threshold: Annotated[
        float, typer.Option(min=0, max=1, help="Over which score a sentence is flagged.")
    ] = 0.5,
    k: Annotated[int, typer.Option("--k", min=1, help="How many documents a search gives.")] = 3,
    instructions: Annotated[
        bool, typer.Option("--instructions", help="Put instructions around each question.")
    ] = False,
    concurrency: ConcurrencyOption = 16,
    rows: RowsOption = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Find the reference of each flagged passage by what is in doubt (WikiBio)."""
    form = form_of(as_json, as_markdown)
    folder = folder_of(data)
    with as_bad("--methods"):
        entries = choose(retrieval_bench.DETECTORS, methods)
        check_judge(entries, judge)
    with as_bad("--data"):
        corpus = wikibio_bench.load(folder, slice_of(rows))
        references = retrieval_bench.load_references(folder)
    asked = wikibio_judge(judge, api_base, entries, folder, corpus)
    steps = len(entries) * len(corpus.items) + (1 + len(entries)) * len(retrieval_bench.WAYS)
    with progress("retrieval", steps) as done:
        table = run_sync(
            retrieval_bench.run,
            corpus,
            references,
            entries,
            asked,
            threshold=threshold,
            k=k,
            instructions=instructions,
            concurrency=concurrency,
            done=done,
        )
    print_result(table, form)
