"""The commands of `resay bench`, built from a function per bench and a shared wrapper.

A bench is a function whose parameters are its own options. It loads its inputs and returns the job
to run; `bench_command` adds what all benches share (`--data`, `--rows`, `--json`, `--markdown`, the
progress bar, the table). Bench modules are imported only when they run.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer
from rich.console import Console

from resay.errors import ConfigurationError
from resay_lab.benchmarks.table import ResultTable, print_table

if TYPE_CHECKING:
    from resay_lab.benchmarks.entries import Entry
    from resay_lab.benchmarks.measuring import BenchJudge, LiveJudge, RecordedJudge
    from resay_lab.benchmarks.wikibio import Corpus

app = typer.Typer(help="Run published benchmarks.", no_args_is_help=True, add_completion=False)

DataOption = Annotated[
    Path | None,
    typer.Option("--data", envvar="RESAY_DATA", help="The folder with the benchmark data."),
]
RowsOption = Annotated[
    str | None,
    typer.Option("--rows", metavar="A:B", help="Only rows A to B-1; either may be omitted."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")]
Form = Literal["table", "json", "markdown"]

_JudgeOption = Annotated[
    str | None,
    typer.Option(help="The judge: a model as litellm names it, or recorded:NAME."),
]
_ApiBaseOption = Annotated[
    str | None, typer.Option("--api-base", help="The judge's base URL, if not the default.")
]
_ConcurrencyOption = Annotated[
    int, typer.Option(min=1, help="The number of concurrent requests to a live judge.")
]
_RecordedOption = Annotated[
    str,
    typer.Option(
        help="A recorded judge: recorded:NAME. The benchmark asks the same questions many times."
    ),
]
_MaxOption = Annotated[
    int, typer.Option("--max", min=2, max=100, help="The maximum number of samples.")
]
_ConfidenceOption = Annotated[
    float, typer.Option(help="Stop sampling once the decision is at least this certain; above 0.5.")
]

_ROWS = re.compile(r"(-?\d+)?:(-?\d+)?")
# Without a terminal the line width is unknown; wrapped cells are hard to read.
_FILE_WIDTH = 200


@dataclass(frozen=True, slots=True)
class _Job:
    """The work of a bench.

    Attributes:
        steps: How many times it reports progress.
        run: Does the work; takes the progress callback as `done`.
    """

    steps: int
    run: Callable[..., Coroutine[Any, Any, ResultTable]]


BenchT = TypeVar("BenchT", bound=Callable[..., _Job])


def bench_command(prepare: BenchT) -> BenchT:
    """Register a bench as a command of the same name, with its own and the shared options."""
    own = [
        (name, parameter.annotation, parameter.default)
        for name, parameter in inspect.signature(prepare, eval_str=True).parameters.items()
        if name not in ("folder", "rows")
    ]
    options = [
        ("data", DataOption, None),
        *own,
        ("rows", RowsOption, None),
        ("as_json", JsonOption, False),
        ("as_markdown", MarkdownOption, False),
    ]

    def command(
        data: Path | None, rows: str | None, as_json: bool, as_markdown: bool, **given: Any
    ) -> None:
        from resay._internal.event_loops import run_sync

        form = form_of(as_json, as_markdown)
        job = prepare(_folder_of(data), slice_of(rows), **given)
        with progress(prepare.__name__, job.steps) as done:
            table = run_sync(job.run, done=done)
        print_result(table, form)

    # typer reads a command's options from its signature.
    told: Any = command
    told.__annotations__ = {name: hint for name, hint, _ in options}
    told.__signature__ = inspect.Signature(
        [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint
            )
            for name, hint, default in options
        ]
    )
    app.command(prepare.__name__, help=prepare.__doc__)(told)
    return prepare


@app.command()
def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="The data sets to fetch: wikibio, phd, shroom, ragtruth; by default all of them."
            " aggrefact must be named, because it needs HF_TOKEN.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", envvar="RESAY_DATA", help="The folder for the files; created if missing."
        ),
    ] = None,
    home: Annotated[
        list[str] | None,
        typer.Option(
            "--home",
            metavar="NAME=URL",
            help="A mirror for huggingface, github or google-drive. Repeatable.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
) -> None:
    """Download the published data sets.

    The other bench commands read the files as written. Existing files are kept; a file is
    replaced only by a complete download that matches the published one.

    Recorded model answers (the files named recorded) are made locally and cannot be fetched.

    HF_ENDPOINT sets another Hugging Face address; HF_TOKEN is sent only there.
    """
    from resay_lab.benchmarks import fetching

    with bad_parameter():
        chosen = fetching.choose(names or ())
        homes = fetching.Homes.of(home or (), os.environ)
    if data is None:
        raise typer.BadParameter("pass a folder, or set RESAY_DATA", param_hint="--data")
    try:
        data.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise typer.BadParameter(
            f"cannot create {str(data)!r}: {error.strerror}", param_hint="--data"
        ) from error
    if not fetching.run(chosen, data, homes, force=force):
        raise typer.Exit(1)


@bench_command
def ensemble(
    folder: Path,
    rows: slice,
    members: Annotated[
        str,
        typer.Option(help="The methods to combine, separated by commas, named as for `wikibio`."),
    ] = "prompt,ngram:maximum-1",
    judge: _JudgeOption = None,
    api_base: _ApiBaseOption = None,
    concurrency: _ConcurrencyOption = 16,
    folds: Annotated[
        int, typer.Option(min=2, help="The number of folds into which the passages are split.")
    ] = 5,
    assignments: Annotated[
        int, typer.Option(min=0, help="The number of random splits into folds.")
    ] = 20,
) -> _Job:
    """Combine methods, fit the weights on WikiBio, and measure on held-out passages."""
    from resay_lab.benchmarks import ensemble as bench
    from resay_lab.benchmarks.wikibio import METHODS

    entries = _entries("--members", METHODS, members, judge)
    corpus = _wikibio(folder, rows)
    with bad_parameter("--folds"):
        bench.check_folds(corpus, folds)
    asked = _wikibio_judge(judge, api_base, entries, folder, corpus)
    run = partial(bench.run, corpus, entries, asked, folds=folds, assignments=assignments)
    return _Job(len(entries) * len(corpus.items), partial(run, concurrency=concurrency))


@bench_command
def defaults(folder: Path, rows: slice) -> _Job:
    """Measure how well the default policy flags sentences (WikiBio, SAC3)."""
    from resay_lab.benchmarks import defaults as bench

    with bad_parameter("--data"):
        steps = bench.steps(folder, rows)
    return _Job(steps, partial(bench.run, folder, rows))


@bench_command
def thresholds(folder: Path, rows: slice) -> _Job:
    """Measure whether one threshold of facts fits short and long answers (WikiBio, SAC3)."""
    from resay_lab.benchmarks import thresholds as bench

    with bad_parameter("--data"):
        data = bench.load(folder, rows)
    return _Job(bench.steps(data), partial(bench.run, data))


@bench_command
def frontier(
    folder: Path,
    rows: slice,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE.svg", help="Also write the picture."),
    ] = None,
) -> _Job:
    """Measure methods and chains by their cost (WikiBio, FActScore, SAC3)."""
    from resay_lab.benchmarks import frontier as bench

    if plot is not None and not plot.parent.is_dir():
        raise typer.BadParameter(f"{str(plot.parent)!r} is not a folder", param_hint="--plot")
    with bad_parameter("--data"):
        data = bench.load(folder, rows)
    return _Job(bench.steps(data), partial(bench.run, folder, data, plot=plot))


@bench_command
def adaptive(
    folder: Path,
    rows: slice,
    judge: _RecordedOption,
    most: _MaxOption = 20,
    confidence: _ConfidenceOption = 0.99,
    orders: Annotated[
        int, typer.Option(min=0, help="The number of additional random orders of the samples.")
    ] = 5,
    halves: Annotated[
        bool, typer.Option("--halves", help="Also measure even and odd rows separately.")
    ] = False,
) -> _Job:
    """Measure early stopping: samples drawn, and decisions that change (WikiBio)."""
    from resay_lab.benchmarks import adaptive as bench

    corpus, recorded = _recorded_wikibio(folder, rows, judge, confidence)
    run = partial(bench.run, corpus, recorded, most=most, confidence=confidence)
    steps = bench.runs(orders) * len(corpus.items)
    return _Job(steps, partial(run, orders=orders, halves=halves))


@bench_command
def cascade(
    folder: Path,
    rows: slice,
    judge: _RecordedOption,
    most: _MaxOption = 20,
    confidence: _ConfidenceOption = 0.99,
    thresholds: Annotated[
        list[float] | None,
        typer.Option(
            "--threshold",
            min=0,
            max=1,
            help="A sentence threshold. Repeatable. Default: 0.5, and the one that best separates"
            " the labelled sentences.",
        ),
    ] = None,
) -> _Job:
    """Measure judge calls saved by n-grams, early stopping and nearest samples (WikiBio)."""
    from resay_lab.benchmarks import cascade as bench

    corpus, recorded = _recorded_wikibio(folder, rows, judge, confidence)
    with bad_parameter("--rows"):
        bench.folds_of(corpus)
    run = partial(bench.run, corpus, recorded, most=most, confidence=confidence)
    steps = bench.runs(len(thresholds) if thresholds else 2) * len(corpus.items)
    return _Job(steps, partial(run, thresholds=thresholds))


@bench_command
def retrieval(
    folder: Path,
    rows: slice,
    methods: Annotated[
        str,
        typer.Option(
            help="The methods that flag sentences, separated by commas, named as for `wikibio`."
        ),
    ] = "ngram:maximum-1",
    judge: _JudgeOption = None,
    api_base: _ApiBaseOption = None,
    threshold: Annotated[
        float, typer.Option(min=0, max=1, help="Flag sentences with a score above this.")
    ] = 0.5,
    k: Annotated[int, typer.Option("--k", min=1, help="The number of documents per search.")] = 3,
    instructions: Annotated[
        bool, typer.Option("--instructions", help="Wrap each question in instructions.")
    ] = False,
    concurrency: _ConcurrencyOption = 16,
) -> _Job:
    """Retrieve the reference of each flagged passage by its doubtful claims (WikiBio)."""
    from resay_lab.benchmarks import retrieval as bench
    from resay_lab.benchmarks.wikibio import METHODS

    entries = _entries("--methods", METHODS, methods, judge)
    corpus = _wikibio(folder, rows)
    with bad_parameter("--data"):
        references = bench.load_references(folder)
    asked = _wikibio_judge(judge, api_base, entries, folder, corpus)
    run = partial(bench.run, corpus, references, entries, asked, threshold=threshold, k=k)
    steps = len(entries) * len(corpus.items) + (1 + len(entries)) * len(bench.WAYS)
    return _Job(steps, partial(run, instructions=instructions, concurrency=concurrency))


@bench_command
def wikibio(
    folder: Path,
    rows: slice,
    methods: Annotated[
        str,
        typer.Option(
            help="Separated by commas: ngram, ngram:maximum-1, facts, prompt, nli, nli:recorded,"
            " bertscore, snowballing, fibe, …"
        ),
    ] = "ngram",
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="[METHOD=]MODEL",
            help="Replace the published neural model of a method with a folder, a model on the hub,"
            " or settings such as '{name: FOLDER, backend: onnx}'. Repeatable.",
        ),
    ] = None,
    judge: _JudgeOption = None,
    api_base: _ApiBaseOption = None,
    concurrency: _ConcurrencyOption = 16,
) -> _Job:
    """Detect hallucinations in GPT-3's biographies (SelfCheckGPT, Tables 2 and 7)."""
    from resay_lab.benchmarks import wikibio as bench
    from resay_lab.benchmarks.entries import with_models

    entries = _entries("--methods", bench.ENTRIES, methods, judge)
    with bad_parameter("--model"):
        entries = with_models(entries, model or ())
    corpus = _wikibio(folder, rows)
    with bad_parameter("--data"):
        recorded = bench.recorded_scores(folder, entries, corpus.items)
    asked = _wikibio_judge(judge, api_base, entries, folder, corpus)
    run = partial(bench.run, corpus, entries, asked, recorded=recorded, concurrency=concurrency)
    return _Job(len(entries) * len(corpus.items), run)


class _Match(str, Enum):
    names = "names"
    exact = "exact"


class _Ids(str, Enum):
    even = "even"
    odd = "odd"


@bench_command
def phd(
    folder: Path,
    rows: slice,
    methods: Annotated[
        str,
        typer.Option(
            help="Separated by commas: reverse_validation:matching, cross_examination, zero_shot,"
            " fibe, ngram, …; all = the paper's methods."
        ),
    ] = "reverse_validation",
    match: Annotated[
        _Match,
        typer.Option(help="How reverse_validation compares names; exact = as in the paper."),
    ] = _Match.names,
    judge: Annotated[
        str | None,
        typer.Option(
            help="The judge: a model as litellm names it, or recorded:chatgpt, the default if"
            " recorded answers exist."
        ),
    ] = None,
    api_base: _ApiBaseOption = None,
    concurrency: _ConcurrencyOption = 16,
    ids: Annotated[
        _Ids | None, typer.Option(help="Only the even or the odd rows of --rows.")
    ] = None,
) -> _Job:
    """Detect passages with a hallucination (Reverse Validation, Tables 3 and 5)."""
    from resay_lab.benchmarks import phd as bench
    from resay_lab.benchmarks.entries import Baseline

    with bad_parameter("--methods"):
        entries = bench.choose(methods)
        asking = [entry for entry in entries if entry.needs_judge]
        if judge is None and asking and not any(entry.live_only for entry in asking):
            judge = bench.JUDGE
        _check_judge(entries, judge)
    with bad_parameter("--data"):
        corpus = bench.load(folder, rows, ids.value if ids else None)
        with_scores = any(entry.method == "bertscore" for entry in entries)
        threshold = bench.bertscore_threshold(folder) if with_scores else None
    with bad_parameter("--judge"):
        live = None
        if judge is not None and asking:
            if _is_recorded(judge) and judge != bench.JUDGE:
                raise ConfigurationError(f"unknown recorded judge {judge!r}; use {bench.JUDGE!r}")
            live = _live_judge(judge, api_base)
        from_file = with_scores or (asking and live is None)
        recordings = bench.Recordings.read(folder, corpus.items) if from_file else None
    run = partial(bench.run, corpus, entries, live, recordings=recordings, threshold=threshold)
    scored = [entry for entry in entries if not isinstance(entry, Baseline)]
    return _Job(
        len(scored) * len(corpus.items), partial(run, match=match.value, concurrency=concurrency)
    )


class _Track(str, Enum):
    agnostic = "agnostic"
    aware = "aware"
    both = "both"


@bench_command
def shroom(
    folder: Path,
    rows: slice,
    methods: Annotated[
        str,
        typer.Option(
            help="Separated by commas: prompt:task, prompt:references, ngram:references,"
            " similarity:references; ngram:source and similarity:source compare paraphrases"
            " with their source."
        ),
    ] = "ngram:references",
    embedder: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Replace the published model of similarity with a folder or a model on the hub.",
        ),
    ] = None,
    track: Annotated[_Track, typer.Option(help="The validation set.")] = _Track.both,
    judge: Annotated[str | None, typer.Option(help="The judge, as litellm names it.")] = None,
    api_base: _ApiBaseOption = None,
    concurrency: _ConcurrencyOption = 16,
) -> _Job:
    """Detect overgenerated definitions, paraphrases and translations (NU-RU, Table 2)."""
    from resay_lab.benchmarks import shroom as bench
    from resay_lab.benchmarks.entries import with_models

    with bad_parameter("--judge"):
        if judge is not None and _is_recorded(judge):
            raise ConfigurationError(
                f"no answers are recorded for shroom, so {judge!r} does not exist; pass a model"
            )
    entries = _entries("--methods", bench.ENTRIES, methods, judge)
    with bad_parameter("--embedder"):
        entries = with_models(entries, () if embedder is None else (f"similarity={embedder}",))
    with bad_parameter("--data"):
        tracks = bench.TRACKS if track is _Track.both else (track.value,)
        outputs = bench.load(folder, tracks, rows)
    asked = _live_judge(judge, api_base) if judge and _ask(entries) else None
    run = partial(bench.run, outputs, entries, asked, concurrency=concurrency)
    return _Job(len(entries) * len(outputs), run)


_ModelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="[METHOD=]MODEL",
        help="Replace the neural model of a method with a folder, a model on the hub, or settings"
        " such as '{name: FOLDER, backend: onnx}'. Repeatable.",
    ),
]


@bench_command
def ragtruth(
    folder: Path,
    rows: slice,
    methods: Annotated[
        str,
        typer.Option(
            help="Separated by commas: grounding, grounding:response, references, ngram,"
            " nli:references."
        ),
    ] = "grounding",
    model: _ModelOption = None,
) -> _Job:
    """Detect statements that the documents do not support (RAGTruth; LettuceDetect, section 4)."""
    from resay_lab.benchmarks import grounded as bench

    entries = _grounded_entries(bench.RAGTRUTH_ENTRIES, methods, model)
    with bad_parameter("--data"):
        responses = bench.load_ragtruth(folder, rows)
    run = partial(bench.run_ragtruth, responses, entries)
    return _Job(len(entries) * len(responses), run)


@bench_command
def aggrefact(
    folder: Path,
    rows: slice,
    methods: Annotated[
        str,
        typer.Option(help="Separated by commas: grounding, references, ngram, nli:references."),
    ] = "grounding",
    model: _ModelOption = None,
) -> _Job:
    """Detect claims that their document does not support (LLM-AggreFact, MiniCheck, section 4)."""
    from resay_lab.benchmarks import grounded as bench

    entries = _grounded_entries(bench.AGGREFACT_ENTRIES, methods, model)
    with bad_parameter("--data"):
        claims = bench.load_aggrefact(folder, rows)
    run = partial(bench.run_aggrefact, claims, entries)
    return _Job(len(entries) * len(claims), run)


class _Split(str, Enum):
    tst = "tst"
    val = "val"


@bench_command
def mushroom(
    folder: Path,
    rows: slice,
    methods: Annotated[
        str,
        typer.Option(
            help="Separated by commas: mark, facts, references, ngram, prompt:english,"
            " prompt:auto, direct_question:english, direct_question:auto, grounding:references."
        ),
    ] = "mark,facts,ngram",
    model: _ModelOption = None,
    judge: Annotated[str | None, typer.Option(help="The judge, as litellm names it.")] = None,
    api_base: _ApiBaseOption = None,
    concurrency: _ConcurrencyOption = 16,
    split: Annotated[_Split, typer.Option(help="The test or the validation set.")] = _Split.tst,
    languages: Annotated[
        str, typer.Option(help="Only these languages, separated by commas, such as en,zh.")
    ] = "",
) -> _Job:
    """Mark hallucinated spans in answers in 14 languages (SemEval-2025 task 3, Mu-SHROOM)."""
    from resay_lab.benchmarks import mushroom as bench
    from resay_lab.benchmarks.entries import Baseline, with_models

    entries = _entries("--methods", bench.ENTRIES, methods, judge)
    scored = [entry for entry in entries if not isinstance(entry, Baseline)]
    with bad_parameter("--model"):
        changed = iter(with_models(scored, model or ()))
        entries = [e if isinstance(e, Baseline) else next(changed) for e in entries]
    with bad_parameter("--data"):
        wanted = [name.strip() for name in languages.split(",") if name.strip()]
        outputs, unlabelled = bench.load(folder, split.value, wanted, rows)
    asked = _live_judge(judge, api_base) if judge and _ask(entries) else None
    run = partial(bench.run, outputs, entries, asked, unlabelled=unlabelled)
    return _Job(len(scored) * len(outputs), partial(run, concurrency=concurrency))


def _grounded_entries(
    known: Sequence[Entry], methods: str, model: Sequence[str] | None
) -> tuple[Entry, ...]:
    from resay_lab.benchmarks.entries import with_models

    entries = _entries("--methods", known, methods, None)
    with bad_parameter("--model"):
        return with_models(entries, model or ())


@contextmanager
def bad_parameter(option: str | None = None) -> Generator[None, None, None]:
    """Report a `ConfigurationError` as an invalid option value: exit code 2."""
    try:
        yield
    except ConfigurationError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def _folder_of(data: Path | None) -> Path:
    if data is None:
        raise typer.BadParameter("pass a folder, or set RESAY_DATA", param_hint="--data")
    if not data.is_dir():
        raise typer.BadParameter(f"{str(data)!r} is not a folder", param_hint="--data")
    return data


def slice_of(rows: str | None) -> slice:
    """Return the rows that A:B selects; all rows if nothing is given."""
    if rows is None:
        return slice(None)
    found = _ROWS.fullmatch(rows.strip())
    if found is None:
        raise typer.BadParameter(f"{rows!r} must have the form A:B", param_hint="--rows")
    start, end = (int(bound) if bound else None for bound in found.groups())
    return slice(start, end)


def _entries(
    option: str, known: Sequence[Entry], wanted: str, judge: str | None
) -> tuple[Entry, ...]:
    """Return the entries that an option names; the judge must be able to answer for them."""
    from resay_lab.benchmarks.entries import choose

    with bad_parameter(option):
        entries = choose(known, wanted)
        _check_judge(entries, judge)
    return entries


def _check_judge(entries: Sequence[Entry], judge: str | None) -> None:
    for entry in entries:
        if entry.needs_judge and judge is None:
            raise ConfigurationError(f"{entry.name!r} needs a judge; pass --judge")
        if entry.live_only and judge is not None and _is_recorded(judge):
            raise ConfigurationError(
                f"{entry.name!r} has no recorded answers; pass a model as --judge"
            )


def _ask(entries: Sequence[Entry]) -> bool:
    return any(entry.needs_judge for entry in entries)


def _is_recorded(judge: str) -> bool:
    from resay_lab.benchmarks.measuring import RECORDED

    return judge.startswith(RECORDED)


def _live_judge(judge: str, api_base: str | None) -> LiveJudge | None:
    """Return the model that a judge's name refers to, or None if it refers to a recording."""
    from resay_lab.benchmarks.measuring import LiveJudge

    if not _is_recorded(judge):
        return LiveJudge(judge, {} if api_base is None else {"api_base": api_base})
    if api_base is not None:
        raise typer.BadParameter("a recorded judge has no address", param_hint="--api-base")
    return None


def _wikibio(folder: Path, rows: slice) -> Corpus:
    from resay_lab.benchmarks.wikibio import load

    with bad_parameter("--data"):
        return load(folder, rows)


def _wikibio_judge(
    judge: str | None,
    api_base: str | None,
    entries: Sequence[Entry],
    folder: Path,
    corpus: Corpus,
) -> BenchJudge | None:
    """Return the judge for WikiBio, or None if no entry needs one."""
    from resay_lab.benchmarks.wikibio import recorded_judge

    if judge is None or not _ask(entries):
        return None
    with bad_parameter("--judge"):
        return _live_judge(judge, api_base) or recorded_judge(folder, judge, corpus)


def _recorded_wikibio(
    folder: Path, rows: slice, judge: str, confidence: float
) -> tuple[Corpus, RecordedJudge]:
    """Return WikiBio and a recorded judge for it, whose questions may be repeated many times."""
    from resay_lab.benchmarks.wikibio import recorded_judge

    if not 0.5 < confidence <= 1:
        raise typer.BadParameter(
            f"must be above 0.5 and at most 1, not {confidence!r}", param_hint="--confidence"
        )
    with bad_parameter("--judge"):
        if not _is_recorded(judge):
            raise ConfigurationError(
                "this bench repeats its questions many times; pass a recording (recorded:NAME),"
                f" not {judge!r}"
            )
    corpus = _wikibio(folder, rows)
    with bad_parameter("--judge"):
        return corpus, recorded_judge(folder, judge, corpus)


def form_of(as_json: bool, as_markdown: bool) -> Form:
    """Return the output format that the flags select."""
    if as_json and as_markdown:
        raise typer.BadParameter("--json and --markdown exclude each other; pass only one")
    return "json" if as_json else "markdown" if as_markdown else "table"


@contextmanager
def progress(name: str, total: int) -> Generator[Callable[[], object], None, None]:
    """Show a progress bar on stderr if that is a terminal.

    Args:
        name: The label of the bar.
        total: The number of steps.

    Yields:
        A function to call after each step.
    """
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=not sys.stderr.isatty()) as bar:
        yield partial(bar.advance, bar.add_task(name, total=total))


def print_result(table: ResultTable, form: Form) -> None:
    """Print a table on stdout."""
    if form == "json":
        typer.echo(table.to_json())
    elif form == "markdown":
        typer.echo(table.to_markdown())
    else:
        print_table(table, Console(width=None if sys.stdout.isatty() else _FILE_WIDTH))
