"""The commands of `resay bench`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.progress import Progress

from resay._internal.sync import run_sync
from resay.benchmarks import adaptive as adaptive_bench
from resay.benchmarks import cascade as cascade_bench
from resay.benchmarks import ensemble as ensemble_bench
from resay.benchmarks import phd as phd_bench
from resay.benchmarks import retrieval as retrieval_bench
from resay.benchmarks import shroom as shroom_bench
from resay.benchmarks import wikibio as wikibio_bench
from resay.benchmarks.entries import Entry, choose, with_models
from resay.benchmarks.measuring import RECORDED, BenchJudge, LiveJudge, RecordedJudge
from resay.benchmarks.phd import JUDGE, Recordings, bertscore_threshold
from resay.benchmarks.table import ResultTable, SkippedError, print_table
from resay.benchmarks.wikibio import recorded_scores
from resay.errors import ConfigurationError

__all__ = [
    "ApiBaseOption",
    "AtOnceOption",
    "ConcurrencyOption",
    "DataOption",
    "FirstTokenOption",
    "Form",
    "JitterOption",
    "JsonOption",
    "JudgeJitterOption",
    "JudgeLatencyOption",
    "JudgeOption",
    "LatencyOption",
    "MarkdownOption",
    "ModelsOption",
    "RequestsOption",
    "RowsOption",
    "TurnsOption",
    "adaptive",
    "app",
    "as_bad",
    "cascade",
    "check_judge",
    "ensemble",
    "fetch",
    "folder_of",
    "form_of",
    "is_recorded",
    "live_judge",
    "needs_judge",
    "print_measured",
    "print_result",
    "progress",
    "retrieval",
    "slice_of",
    "wikibio_judge",
]

DataOption = Annotated[
    Path | None,
    typer.Option("--data", envvar="RESAY_DATA", help="The folder with the benchmark data."),
]
JudgeOption = Annotated[
    str | None,
    typer.Option(help="Who is asked: a model in litellm's notation, or recorded:NAME."),
]
ModelsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="[METHOD=]MODEL",
        help="The neural model of a method in place of the published one: a folder, a model on the"
        " hub, or settings such as '{name: FOLDER, backend: onnx}'. May be repeated.",
    ),
]
ApiBaseOption = Annotated[
    str | None, typer.Option("--api-base", help="The judge's address, if not its usual one.")
]
ConcurrencyOption = Annotated[
    int, typer.Option(min=1, help="How many requests a live judge gets at once.")
]
RowsOption = Annotated[
    str | None,
    typer.Option("--rows", metavar="A:B", help="Only rows A to B-1; either may be left out."),
]
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
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")]
Form = Literal["table", "json", "markdown"]

_ROWS = re.compile(r"(-?\d+)?:(-?\d+)?")
# Without a terminal nothing says how wide a line may be; wrapped cells are hard to read.
_FILE_WIDTH = 200


@contextmanager
def as_bad(option: str) -> Generator[None, None, None]:
    """Say that what is wrong is an option's value: exit code 2."""
    try:
        yield
    except ConfigurationError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def needs_judge(entries: Sequence[Entry]) -> bool:
    """Return whether any of the entries asks a judge."""
    return any(entry.needs_judge for entry in entries)


def is_recorded(judge: str) -> bool:
    """Return whether a judge's answers come from a recording."""
    return judge.startswith(RECORDED)


def check_judge(entries: Sequence[Entry], judge: str | None) -> None:
    """Make sure that the judge can answer what the entries ask.

    Args:
        entries: What is to be measured.
        judge: As named on the command line.

    Raises:
        ConfigurationError: There is none, or only a recording of other questions.
    """
    for entry in entries:
        if entry.needs_judge and judge is None:
            raise ConfigurationError(f"{entry.name!r} needs a judge; pass --judge")
        if entry.live_only and judge is not None and is_recorded(judge):
            raise ConfigurationError(
                f"{entry.name!r} asks what was not recorded; pass a model as --judge"
            )


def live_judge(judge: str, api_base: str | None) -> LiveJudge | None:
    """Return the model a judge's name stands for, or None where it stands for a recording."""
    if not is_recorded(judge):
        return LiveJudge(judge, {} if api_base is None else {"api_base": api_base})
    if api_base is not None:
        raise typer.BadParameter("a recorded judge has no address", param_hint="--api-base")
    return None


def wikibio_judge(
    judge: str | None,
    api_base: str | None,
    entries: Sequence[Entry],
    folder: Path,
    corpus: wikibio_bench.Corpus,
) -> BenchJudge | None:
    """Return who answers about WikiBio, or None where nobody is asked.

    Args:
        judge: As named on the command line.
        api_base: A model's address.
        entries: What is to be measured.
        folder: Where recordings are.
        corpus: The passages.
    """
    if judge is None or not needs_judge(entries):
        return None
    with as_bad("--judge"):
        return live_judge(judge, api_base) or wikibio_bench.recorded_judge(
            folder, judge, judge.removeprefix(RECORDED), corpus
        )


def folder_of(data: Path | None) -> Path:
    """Return the folder with the data, which must be there."""
    if data is None:
        raise typer.BadParameter("pass the folder, or set RESAY_DATA", param_hint="--data")
    if not data.is_dir():
        raise typer.BadParameter(f"{str(data)!r} is not a folder", param_hint="--data")
    return data


def slice_of(rows: str | None) -> slice:
    """Return which rows are meant by A:B; all where nothing is said."""
    found = _ROWS.fullmatch(rows.strip()) if rows is not None else None
    if rows is None:
        return slice(None)
    if found is None:
        raise typer.BadParameter(f"{rows!r} is not of the form A:B", param_hint="--rows")
    start, end = (int(bound) if bound else None for bound in found.groups())
    return slice(start, end)


def form_of(as_json: bool, as_markdown: bool) -> Form:
    """Return how the table is to be printed."""
    if as_json and as_markdown:
        raise typer.BadParameter("--json and --markdown exclude each other; pass one of them")
    return "json" if as_json else "markdown" if as_markdown else "table"


@contextmanager
def progress(name: str, total: int) -> Generator[Callable[[], object], None, None]:
    """Show a bar on stderr where that is a terminal.

    Args:
        name: What stands before the bar.
        total: How many steps there are.

    Yields:
        What to call after each step.
    """
    console = Console(stderr=True)
    with Progress(console=console, disable=not sys.stderr.isatty()) as bar:
        yield partial(bar.advance, bar.add_task(name, total=total))


def print_measured(
    name: str, total: int, measure: Callable[[Callable[[], object]], ResultTable], form: Form
) -> None:
    """Measure, and print what was found, or why nothing was.

    Args:
        name: The bench's name.
        total: How many steps there are.
        measure: Measures, and calls what it is given after each step.
        form: How it is printed.
    """
    try:
        with progress(name, total) as done:
            table = measure(done)
    except (ConfigurationError, SkippedError) as error:
        typer.echo(f"{name} skipped: {error}", err=True)
        return
    print_result(table, form)


def print_result(table: ResultTable, form: Form) -> None:
    """Print a table on stdout."""
    if form == "json":
        typer.echo(table.to_json())
    elif form == "markdown":
        typer.echo(table.to_markdown())
    else:
        print_table(table, Console(width=None if sys.stdout.isatty() else _FILE_WIDTH))


_FAILED = 1


def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="What to fetch: wikibio, phd, shroom; all of them if none is named.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", envvar="RESAY_DATA", help="The folder the files go to; made if need be."
        ),
    ] = None,
    home: Annotated[
        list[str] | None,
        typer.Option(
            "--home",
            metavar="NAME=URL",
            help="A mirror to use for huggingface, github or google-drive; repeatable.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """Fetch the published data sets from their homes.

    They are written as the other bench commands read them. Files that are there are kept, and a
    file is replaced only by one that has arrived whole and is as published.

    What models answered (the files named recorded) is not fetched: such recordings are made
    locally and have no home.

    HF_ENDPOINT names another Hugging Face; HF_TOKEN is sent to it and to nobody else.
    """
    # httpx takes longer to load than all else this module needs, and most commands do without.
    from resay.benchmarks.fetching import Homes, choose, run

    try:
        chosen = choose(names or ())
        homes = Homes.of(home or (), os.environ)
    except ConfigurationError as error:
        raise typer.BadParameter(str(error)) from error
    if not run(chosen, _folder(data), homes, force=force):
        raise typer.Exit(_FAILED)


def _folder(data: Path | None) -> Path:
    if data is None:
        raise typer.BadParameter("pass the folder, or set RESAY_DATA", param_hint="--data")
    try:
        data.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise typer.BadParameter(
            f"cannot make {str(data)!r}: {error.strerror}", param_hint="--data"
        ) from error
    return data


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
        entries = phd_bench.choose(methods)
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
    scored = [entry for entry in entries if not isinstance(entry, phd_bench.Baseline)]
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
