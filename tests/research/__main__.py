"""`python -m research`: what chose the defaults and decides what to build, one command each."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from resay.commands import JsonOption
from resay.errors import ConfigurationError
from resay_lab.benchmarks.bench import (
    BenchJob,
    MarkdownOption,
    bad_parameter,
    bench_command,
    format_of,
    print_result,
    progress,
)
from resay_lab.benchmarks.judge_options import (
    ApiBaseOption,
    ConcurrencyOption,
    JudgeOption,
    choose_entries,
    is_recorded,
    load_wikibio,
    wikibio_judge,
)

if TYPE_CHECKING:
    from resay_lab.benchmarks.measuring import RecordedJudge
    from resay_lab.benchmarks.wikibio import Corpus

app = typer.Typer(
    help="Measure what the defaults of Resay rest on.", no_args_is_help=True, add_completion=False
)

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


@bench_command(app)
def defaults(folder: Path, rows: slice) -> BenchJob:
    """Measure how well the default policy flags sentences (WikiBio, SAC3)."""
    from research import defaults as bench

    with bad_parameter("--data"):
        steps = bench.steps(folder, rows)
    return BenchJob(steps, partial(bench.run, folder, rows))


@bench_command(app)
def thresholds(folder: Path, rows: slice) -> BenchJob:
    """Measure whether one threshold of facts fits short and long answers (WikiBio, SAC3)."""
    from research import thresholds as bench

    with bad_parameter("--data"):
        data = bench.load(folder, rows)
    return BenchJob(bench.steps(data), partial(bench.run, data))


@bench_command(app)
def frontier(
    folder: Path,
    rows: slice,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE.svg", help="Also write the picture."),
    ] = None,
) -> BenchJob:
    """Measure methods and chains by their cost (WikiBio, FActScore, SAC3)."""
    from research import frontier as bench

    if plot is not None and not plot.parent.is_dir():
        raise typer.BadParameter(f"{str(plot.parent)!r} is not a folder", param_hint="--plot")
    with bad_parameter("--data"):
        data = bench.load(folder, rows)
    return BenchJob(bench.steps(data), partial(bench.run, folder, data, plot=plot))


@bench_command(app)
def adaptive(
    folder: Path,
    rows: slice,
    judge: _RecordedOption,
    max_samples: _MaxOption = 20,
    confidence: _ConfidenceOption = 0.99,
    orders: Annotated[
        int, typer.Option(min=0, help="The number of additional random orders of the samples.")
    ] = 5,
    halves: Annotated[
        bool, typer.Option("--halves", help="Also measure even and odd rows separately.")
    ] = False,
) -> BenchJob:
    """Measure early stopping: samples drawn, and decisions that change (WikiBio)."""
    from research import adaptive as bench

    corpus, recorded = _recorded_wikibio(folder, rows, judge, confidence)
    run = partial(bench.run, corpus, recorded, max_samples=max_samples, confidence=confidence)
    steps = bench.runs(orders) * len(corpus.items)
    return BenchJob(steps, partial(run, orders=orders, halves=halves))


@bench_command(app)
def cascade(
    folder: Path,
    rows: slice,
    judge: _RecordedOption,
    max_samples: _MaxOption = 20,
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
) -> BenchJob:
    """Measure judge calls saved by n-grams, early stopping and nearest samples (WikiBio)."""
    from research import cascade as bench

    corpus, recorded = _recorded_wikibio(folder, rows, judge, confidence)
    with bad_parameter("--rows"):
        bench.folds_of(corpus)
    run = partial(bench.run, corpus, recorded, max_samples=max_samples, confidence=confidence)
    steps = bench.runs(len(thresholds) if thresholds else 2) * len(corpus.items)
    return BenchJob(steps, partial(run, thresholds=thresholds))


@bench_command(app)
def retrieval(
    folder: Path,
    rows: slice,
    methods: Annotated[
        str,
        typer.Option(
            help="The methods that flag sentences, separated by commas, named as for `wikibio`."
        ),
    ] = "ngram:maximum-1",
    judge: JudgeOption = None,
    api_base: ApiBaseOption = None,
    threshold: Annotated[
        float, typer.Option(min=0, max=1, help="Flag sentences with a score above this.")
    ] = 0.5,
    k: Annotated[int, typer.Option("--k", min=1, help="The number of documents per search.")] = 3,
    instructions: Annotated[
        bool, typer.Option("--instructions", help="Wrap each question in instructions.")
    ] = False,
    concurrency: ConcurrencyOption = 16,
) -> BenchJob:
    """Retrieve the reference of each flagged passage by its doubtful claims (WikiBio)."""
    from resay_lab.benchmarks.wikibio import METHODS
    from research import retrieval as bench

    entries = choose_entries("--methods", METHODS, methods, judge)
    corpus = load_wikibio(folder, rows)
    with bad_parameter("--data"):
        references = bench.load_references(folder)
    judging = wikibio_judge(judge, api_base, entries, folder, corpus)
    run = partial(bench.run, corpus, references, entries, judging, threshold=threshold, k=k)
    steps = len(entries) * len(corpus.items) + (1 + len(entries)) * len(bench.WAYS)
    return BenchJob(steps, partial(run, instructions=instructions, concurrency=concurrency))


@app.command()
def grounded(
    cases: Annotated[
        list[Path] | None,
        typer.Option(help="A file of cases; may be repeated. Default: those of the project."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="words, or judge: an ideal one; may be repeated."),
    ] = None,
    mistakes: Annotated[
        bool, typer.Option("--mistakes", help="Also name the cases that are not right, and why.")
    ] = False,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Measure how well answers are checked against documents, on cases of the project."""
    from research import grounded as bench

    form = format_of(as_json, as_markdown)
    for name in by or ():
        if name not in bench.CHECKERS:
            raise typer.BadParameter(f"{name!r} is none of {', '.join(bench.CHECKERS)}")
    chosen: list[bench.Checker] = [checker for checker in bench.CHECKERS if not by or checker in by]
    loaded = bench.load(cases or ())
    with progress("grounded", len(chosen) * len(loaded)) as done:
        outcomes = bench.run(loaded, chosen, done=done)
    print_result(bench.table(outcomes, with_mistakes=mistakes), form)


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
        if not is_recorded(judge):
            raise ConfigurationError(
                "this bench repeats its questions many times; pass a recording (recorded:NAME),"
                f" not {judge!r}"
            )
    corpus = load_wikibio(folder, rows)
    with bad_parameter("--judge"):
        return corpus, recorded_judge(folder, judge, corpus)


if __name__ == "__main__":
    app(prog_name="python -m research")
