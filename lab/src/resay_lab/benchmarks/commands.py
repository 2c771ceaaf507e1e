"""The commands of `resay bench`. The module of a bench is imported only when it runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from resay.errors import ConfigurationError
from resay_lab.benchmarks.bench import BenchJob, bad_parameter, bench_command
from resay_lab.benchmarks.judge_options import (
    ApiBaseOption,
    ConcurrencyOption,
    JudgeOption,
    check_judge,
    choose_entries,
    is_recorded,
    live_judge,
    load_wikibio,
    need_judge,
    wikibio_judge,
)

if TYPE_CHECKING:
    from resay_lab.benchmarks.entries import BenchEntry

app = typer.Typer(help="Run published benchmarks.", no_args_is_help=True, add_completion=False)


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


@bench_command(app)
def ensemble(
    folder: Path,
    rows: slice,
    members: Annotated[
        str,
        typer.Option(help="The methods to combine, separated by commas, named as for `wikibio`."),
    ] = "prompt,ngram:maximum-1",
    judge: JudgeOption = None,
    api_base: ApiBaseOption = None,
    concurrency: ConcurrencyOption = 16,
    folds: Annotated[
        int, typer.Option(min=2, help="The number of folds into which the passages are split.")
    ] = 5,
    assignments: Annotated[
        int, typer.Option(min=0, help="The number of random splits into folds.")
    ] = 20,
) -> BenchJob:
    """Combine methods, fit the weights on WikiBio, and measure on held-out passages."""
    from resay_lab.benchmarks import ensemble as bench
    from resay_lab.benchmarks.wikibio import METHODS

    entries = choose_entries("--members", METHODS, members, judge)
    corpus = load_wikibio(folder, rows)
    with bad_parameter("--folds"):
        bench.check_folds(corpus, folds)
    judging = wikibio_judge(judge, api_base, entries, folder, corpus)
    run = partial(bench.run, corpus, entries, judging, folds=folds, assignments=assignments)
    return BenchJob(len(entries) * len(corpus.items), partial(run, concurrency=concurrency))


@bench_command(app)
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
    judge: JudgeOption = None,
    api_base: ApiBaseOption = None,
    concurrency: ConcurrencyOption = 16,
) -> BenchJob:
    """Detect hallucinations in GPT-3's biographies (SelfCheckGPT, Tables 2 and 7)."""
    from resay_lab.benchmarks import wikibio as bench
    from resay_lab.benchmarks.entries import with_models

    entries = choose_entries("--methods", bench.ENTRIES, methods, judge)
    with bad_parameter("--model"):
        entries = with_models(entries, model or ())
    corpus = load_wikibio(folder, rows)
    with bad_parameter("--data"):
        recorded = bench.recorded_scores(folder, entries, corpus.items)
    judging = wikibio_judge(judge, api_base, entries, folder, corpus)
    run = partial(bench.run, corpus, entries, judging, recorded=recorded, concurrency=concurrency)
    return BenchJob(len(entries) * len(corpus.items), run)


class _Match(str, Enum):
    names = "names"
    exact = "exact"


class _Ids(str, Enum):
    even = "even"
    odd = "odd"


@bench_command(app)
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
    api_base: ApiBaseOption = None,
    concurrency: ConcurrencyOption = 16,
    ids: Annotated[
        _Ids | None, typer.Option(help="Only the even or the odd rows of --rows.")
    ] = None,
) -> BenchJob:
    """Detect passages with a hallucination (Reverse Validation, Tables 3 and 5)."""
    from resay_lab.benchmarks import phd as bench
    from resay_lab.benchmarks.entries import Baseline

    with bad_parameter("--methods"):
        entries = bench.choose(methods)
        asking = [entry for entry in entries if entry.needs_judge]
        if judge is None and asking and not any(entry.live_only for entry in asking):
            judge = bench.JUDGE
        check_judge(entries, judge)
    with bad_parameter("--data"):
        corpus = bench.load(folder, rows, ids.value if ids else None)
        with_scores = any(entry.method == "bertscore" for entry in entries)
        threshold = bench.bertscore_threshold(folder) if with_scores else None
    with bad_parameter("--judge"):
        live = None
        if judge is not None and asking:
            if is_recorded(judge) and judge != bench.JUDGE:
                raise ConfigurationError(f"unknown recorded judge {judge!r}; use {bench.JUDGE!r}")
            live = live_judge(judge, api_base)
        from_file = with_scores or (asking and live is None)
        recordings = bench.Recordings.read(folder, corpus.items) if from_file else None
    run = partial(bench.run, corpus, entries, live, recordings=recordings, threshold=threshold)
    scored = [entry for entry in entries if not isinstance(entry, Baseline)]
    return BenchJob(
        len(scored) * len(corpus.items), partial(run, match=match.value, concurrency=concurrency)
    )


class _Track(str, Enum):
    agnostic = "agnostic"
    aware = "aware"
    both = "both"


@bench_command(app)
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
    api_base: ApiBaseOption = None,
    concurrency: ConcurrencyOption = 16,
) -> BenchJob:
    """Detect overgenerated definitions, paraphrases and translations (NU-RU, Table 2)."""
    from resay_lab.benchmarks import shroom as bench
    from resay_lab.benchmarks.entries import with_models

    with bad_parameter("--judge"):
        if judge is not None and is_recorded(judge):
            raise ConfigurationError(
                f"no answers are recorded for shroom, so {judge!r} does not exist; pass a model"
            )
    entries = choose_entries("--methods", bench.ENTRIES, methods, judge)
    with bad_parameter("--embedder"):
        entries = with_models(entries, () if embedder is None else (f"similarity={embedder}",))
    with bad_parameter("--data"):
        tracks = bench.TRACKS if track is _Track.both else (track.value,)
        outputs = bench.load(folder, tracks, rows)
    judging = live_judge(judge, api_base) if judge and need_judge(entries) else None
    run = partial(bench.run, outputs, entries, judging, concurrency=concurrency)
    return BenchJob(len(entries) * len(outputs), run)


_ModelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="[METHOD=]MODEL",
        help="Replace the neural model of a method with a folder, a model on the hub, or settings"
        " such as '{name: FOLDER, backend: onnx}'. Repeatable.",
    ),
]


@bench_command(app)
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
) -> BenchJob:
    """Detect statements that the documents do not support (RAGTruth; LettuceDetect, section 4)."""
    from resay_lab.benchmarks import grounded as bench

    entries = _grounded_entries(bench.RAGTRUTH_ENTRIES, methods, model)
    with bad_parameter("--data"):
        responses = bench.load_ragtruth(folder, rows)
    run = partial(bench.run_ragtruth, responses, entries)
    return BenchJob(len(entries) * len(responses), run)


@bench_command(app)
def aggrefact(
    folder: Path,
    rows: slice,
    methods: Annotated[
        str,
        typer.Option(help="Separated by commas: grounding, references, ngram, nli:references."),
    ] = "grounding",
    model: _ModelOption = None,
) -> BenchJob:
    """Detect claims that their document does not support (LLM-AggreFact, MiniCheck, section 4)."""
    from resay_lab.benchmarks import grounded as bench

    entries = _grounded_entries(bench.AGGREFACT_ENTRIES, methods, model)
    with bad_parameter("--data"):
        claims = bench.load_aggrefact(folder, rows)
    run = partial(bench.run_aggrefact, claims, entries)
    return BenchJob(len(entries) * len(claims), run)


@bench_command(app)
def grounded(
    folder: Path,
    rows: slice,
    methods: Annotated[
        str,
        typer.Option(help="Separated by commas: grounding, references, ngram, nli:references."),
    ] = "references,ngram,grounding",
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="[METHOD=]MODEL",
            help="Measure a method with this model, as for `ragtruth`; repeated, with each. By"
            " default grounding runs with four published ones.",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="The number of texts of each set, evenly spaced.")
    ] = None,
    recorded: Annotated[
        Path | None,
        typer.Option(
            "--recorded",
            metavar="FILE",
            help="Recorded scores of models, used in place of running them; by default"
            " grounded_recorded.jsonl in the folder.",
        ),
    ] = None,
    record: Annotated[
        bool, typer.Option("--record", help="Add the scores of models that run to that file.")
    ] = False,
) -> BenchJob:
    """Detect what documents do not support, on all sets in the folder.

    Reads what there is of RAGTruth, LLM-AggreFact, SHROOM, and Mu-SHROOM with `references`. A model
    that cannot be loaded is left out, unless its scores are recorded.
    """
    from resay_lab.benchmarks import grounded_sets as bench
    from resay_lab.benchmarks.entries import with_each_model
    from resay_lab.benchmarks.recorded_scores import RecordedScores

    entries = choose_entries("--methods", bench.ENTRIES, methods, None)
    with bad_parameter("--model"):
        entries = with_each_model(entries, model or (), bench.MODELS)
    with bad_parameter("--recorded"):
        if recorded is not None and not record and not recorded.exists():
            raise ConfigurationError(f"{str(recorded)!r} does not exist")
        scores = RecordedScores(recorded or folder / bench.RECORDED, records=record)
    with bad_parameter("--data"):
        sets, notes = bench.load(folder, rows, limit)
    run = partial(bench.run, sets, entries, scores, notes=notes)
    return BenchJob(len(entries) * sum(len(each.texts) for each in sets), run)


class _Split(str, Enum):
    tst = "tst"
    val = "val"


@bench_command(app)
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
    api_base: ApiBaseOption = None,
    concurrency: ConcurrencyOption = 16,
    split: Annotated[_Split, typer.Option(help="The test or the validation set.")] = _Split.tst,
    languages: Annotated[
        str, typer.Option(help="Only these languages, separated by commas, such as en,zh.")
    ] = "",
) -> BenchJob:
    """Mark hallucinated spans in answers in 14 languages (SemEval-2025 task 3, Mu-SHROOM)."""
    from resay_lab.benchmarks import mushroom as bench
    from resay_lab.benchmarks.entries import Baseline, with_models

    entries = choose_entries("--methods", bench.ENTRIES, methods, judge)
    scored = [entry for entry in entries if not isinstance(entry, Baseline)]
    with bad_parameter("--model"):
        changed = iter(with_models(scored, model or ()))
        entries = [entry if isinstance(entry, Baseline) else next(changed) for entry in entries]
    with bad_parameter("--data"):
        codes = [code.strip() for code in languages.split(",") if code.strip()]
        outputs, unlabelled = bench.load(folder, split.value, codes, rows)
    judging = live_judge(judge, api_base) if judge and need_judge(entries) else None
    run = partial(bench.run, outputs, entries, judging, unlabelled=unlabelled)
    return BenchJob(len(scored) * len(outputs), partial(run, concurrency=concurrency))


def _grounded_entries(
    available: Sequence[BenchEntry], methods: str, model: Sequence[str] | None
) -> tuple[BenchEntry, ...]:
    from resay_lab.benchmarks.entries import with_models

    entries = choose_entries("--methods", available, methods, None)
    with bad_parameter("--model"):
        return with_models(entries, model or ())
