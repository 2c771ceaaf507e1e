"""The commands of `resay bench`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Annotated

import typer

from resay._internal.sync import run_sync
from resay.benchmarks import phd as phd_bench
from resay.benchmarks import phd_entries
from resay.benchmarks import shroom as shroom_bench
from resay.benchmarks import wikibio as wikibio_bench
from resay.benchmarks.ensemble_cli import ensemble
from resay.benchmarks.entries import Entry, choose, with_models
from resay.benchmarks.fetch import fetch
from resay.benchmarks.judges import BenchJudge
from resay.benchmarks.options import (
    ApiBaseOption,
    ConcurrencyOption,
    DataOption,
    JsonOption,
    JudgeOption,
    MarkdownOption,
    ModelsOption,
    RowsOption,
    as_bad,
    check_judge,
    folder_of,
    form_of,
    is_recorded,
    live_judge,
    needs_judge,
    print_result,
    progress,
    slice_of,
    wikibio_judge,
)
from resay.benchmarks.phd_recorded import JUDGE, Recordings, bertscore_threshold
from resay.benchmarks.retrieval_cli import retrieval
from resay.benchmarks.stopping_cli import adaptive, cascade
from resay.benchmarks.wikibio_recorded import recorded_scores
from resay.errors import ConfigurationError

__all__ = ["app"]

app = typer.Typer(help="Published benchmarks.", no_args_is_help=True, add_completion=False)
app.command()(fetch)
app.command()(ensemble)
app.command()(adaptive)
app.command()(cascade)
app.command()(retrieval)


class _Match(str, Enum):
    names = "names"
    exact = "exact"


class _Ids(str, Enum):
    even = "even"
    odd = "odd"


class _Track(str, Enum):
    agnostic = "agnostic"
    aware = "aware"
    both = "both"


@app.command()
def wikibio(
    data: DataOption = None,
    methods: Annotated[
        str,
        typer.Option(
            help="Separated by commas: ngram, ngram:maximum-1, prompt, nli, nli:recorded,"
            " bertscore, snowballing, fibe, …"
        ),
    ] = "ngram",
    model: ModelsOption = None,
    judge: JudgeOption = None,
    api_base: ApiBaseOption = None,
    concurrency: ConcurrencyOption = 16,
    rows: RowsOption = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Detect what GPT-3 made up about people (SelfCheckGPT, Tables 2 and 7)."""
    form = form_of(as_json, as_markdown)
    folder = folder_of(data)
    with as_bad("--methods"):
        entries = choose(wikibio_bench.ENTRIES, methods)
        check_judge(entries, judge)
    with as_bad("--model"):
        entries = with_models(entries, model or ())
    with as_bad("--data"):
        corpus = wikibio_bench.load(folder, slice_of(rows))
        recorded = recorded_scores(folder, entries, corpus.items)
    asked = wikibio_judge(judge, api_base, entries, folder, corpus)
    with progress("wikibio", len(entries) * len(corpus.items)) as done:
        table = run_sync(
            wikibio_bench.run,
            corpus,
            entries,
            asked,
            recorded=recorded,
            concurrency=concurrency,
            done=done,
        )
    print_result(table, form)


@app.command()
def phd(
    data: DataOption = None,
    methods: Annotated[
        str,
        typer.Option(
            help="Separated by commas: reverse_validation:matching, cross_examination, zero_shot,"
            " fibe, ngram, …; all = those of the paper."
        ),
    ] = "reverse_validation",
    match: Annotated[
        _Match,
        typer.Option(help="How reverse_validation compares names; exact is the paper's way."),
    ] = _Match.names,
    judge: Annotated[
        str | None,
        typer.Option(
            help=f"Who is asked: a model in litellm's notation, or {JUDGE}, which is the default"
            " where it knows the answers."
        ),
    ] = None,
    api_base: ApiBaseOption = None,
    concurrency: ConcurrencyOption = 16,
    rows: RowsOption = None,
    ids: Annotated[
        _Ids | None, typer.Option(help="Of those, only rows with an even or an odd number.")
    ] = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Detect passages with something made up in them (Reverse Validation, Tables 3 and 5)."""
    form = form_of(as_json, as_markdown)
    folder = folder_of(data)
    with as_bad("--methods"):
        entries = phd_entries.choose(methods)
        judge = judge or _recorded_judge_for(entries)
        check_judge(entries, judge)
    with as_bad("--data"):
        corpus = phd_bench.load(folder, slice_of(rows), ids.value if ids else None)
        with_scores = any(entry.method == "bertscore" for entry in entries)
        threshold = bertscore_threshold(folder) if with_scores else None
    with as_bad("--judge"):
        asks = judge is not None and needs_judge(entries)
        live = _phd_judge(judge, api_base) if judge and asks else None
        recorded = with_scores or (asks and live is None)
        recordings = Recordings.read(folder, corpus.items) if recorded else None
    scored = [entry for entry in entries if not isinstance(entry, phd_entries.Baseline)]
    with progress("phd", len(scored) * len(corpus.items)) as done:
        table = run_sync(
            phd_bench.run,
            corpus,
            entries,
            live,
            recordings=recordings,
            threshold=threshold,
            match=match.value,
            concurrency=concurrency,
            done=done,
        )
    print_result(table, form)


@app.command()
def shroom(
    data: DataOption = None,
    methods: Annotated[
        str,
        typer.Option(
            help="Separated by commas: prompt:task, prompt:references, ngram:references,"
            " similarity:references."
        ),
    ] = "ngram:references",
    embedder: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="The model of similarity in place of the published one: a folder, or a model on"
            " the hub.",
        ),
    ] = None,
    track: Annotated[_Track, typer.Option(help="Which of the validation sets.")] = _Track.both,
    judge: Annotated[
        str | None, typer.Option(help="Who is asked: a model in litellm's notation.")
    ] = None,
    api_base: ApiBaseOption = None,
    concurrency: ConcurrencyOption = 16,
    rows: RowsOption = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Detect definitions, paraphrases and translations that say too much (NU-RU, Table 2)."""
    form = form_of(as_json, as_markdown)
    folder = folder_of(data)
    with as_bad("--judge"):
        if judge is not None and is_recorded(judge):
            raise ConfigurationError(
                f"there is no {judge!r}: no answers are recorded for shroom; pass a model"
            )
    with as_bad("--methods"):
        entries = choose(shroom_bench.ENTRIES, methods)
        check_judge(entries, judge)
    with as_bad("--embedder"):
        entries = with_models(entries, () if embedder is None else (f"similarity={embedder}",))
    tracks = shroom_bench.TRACKS if track is _Track.both else (track.value,)
    with as_bad("--data"):
        outputs = shroom_bench.load(folder, tracks, slice_of(rows))
    asked = live_judge(judge, api_base) if judge and needs_judge(entries) else None
    with progress("shroom", len(entries) * len(outputs)) as done:
        table = run_sync(
            shroom_bench.run, outputs, entries, asked, concurrency=concurrency, done=done
        )
    print_result(table, form)


def _recorded_judge_for(entries: Sequence[Entry]) -> str | None:
    """Return the recorded judge where it knows everything that is asked."""
    asking = [entry for entry in entries if entry.needs_judge]
    return JUDGE if asking and not any(entry.live_only for entry in asking) else None


def _phd_judge(judge: str, api_base: str | None) -> BenchJudge | None:
    if is_recorded(judge) and judge != JUDGE:
        raise ConfigurationError(f"no recorded judge is called {judge!r}; there is {JUDGE!r}")
    return live_judge(judge, api_base)
