"""`python -m performance handbook`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from performance import handbook as bench
from performance.skipping import print_measured
from resay.adapters import run_sync
from resay.commands import JsonOption
from resay_lab.benchmarks.bench import MarkdownOption, format_of

__all__ = ["handbook"]

_DEFAULT = bench.Setting()


def handbook(
    questions: Annotated[
        int, typer.Option(min=1, help="How many, of all groups alike.")
    ] = _DEFAULT.questions,
    retriever: Annotated[
        list[str] | None, typer.Option(help="Where pages are found; may be repeated.")
    ] = None,
    k: Annotated[
        list[int] | None, typer.Option(min=1, help="Pages of a search; may be repeated.")
    ] = None,
    otherwise: Annotated[
        list[str] | None, typer.Option(help="annotate or block; may be repeated.")
    ] = None,
    mode: Annotated[str, typer.Option(help="repair or rewrite.")] = _DEFAULT.mode,
    judge: Annotated[
        str, typer.Option(help="statements, or words: the simulated provider's own judge.")
    ] = "statements",
    reader: Annotated[
        Path | None, typer.Option(help="The folder of another judge, its module `reader`.")
    ] = None,
    seed: Annotated[int, typer.Option(help="What all chance is drawn from.")] = _DEFAULT.seed,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Count what becomes of flawed answers about a handbook that are repaired by its pages."""
    form = format_of(as_json, as_markdown)
    for value in retriever or ():
        if value not in bench.RETRIEVERS:
            raise typer.BadParameter(f"{value!r} is none of {', '.join(bench.RETRIEVERS)}")
    for value in otherwise or ():
        if value not in _DEFAULT.otherwise:
            raise typer.BadParameter(f"{value!r} is none of {', '.join(_DEFAULT.otherwise)}")
    if mode not in ("repair", "rewrite"):
        raise typer.BadParameter(f"{mode!r} is neither repair nor rewrite")
    if judge not in ("statements", "words"):
        raise typer.BadParameter(f"{judge!r} is neither statements nor words")
    setting = bench.Setting(
        questions,
        tuple(retriever or _DEFAULT.retrievers),
        tuple(k or _DEFAULT.ks),
        tuple(otherwise or _DEFAULT.otherwise),
        mode,
        seed,
    )
    asked = reader or judge
    total = setting.questions * len(bench.ways(setting))
    print_measured(
        "handbook",
        total,
        lambda done: run_sync(bench.run, setting, judge=asked, done=done),
        form,
    )
