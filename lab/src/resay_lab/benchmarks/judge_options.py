"""The options that name methods and judges."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from resay.errors import ConfigurationError
from resay_lab.benchmarks.bench import bad_parameter

if TYPE_CHECKING:
    from resay_lab.benchmarks.entries import BenchEntry
    from resay_lab.benchmarks.measuring import BenchJudge, LiveJudge
    from resay_lab.benchmarks.wikibio import Corpus

JudgeOption = Annotated[
    str | None,
    typer.Option(help="The judge: a model as litellm names it, or recorded:NAME."),
]
ApiBaseOption = Annotated[
    str | None, typer.Option("--api-base", help="The judge's base URL, if not the default.")
]
ConcurrencyOption = Annotated[
    int, typer.Option(min=1, help="The number of concurrent requests to a live judge.")
]


def choose_entries(
    option: str, available: Sequence[BenchEntry], names: str, judge: str | None
) -> tuple[BenchEntry, ...]:
    """Return the entries that an option names; the judge must be able to answer for them."""
    from resay_lab.benchmarks.entries import choose

    with bad_parameter(option):
        entries = choose(available, names)
        check_judge(entries, judge)
    return entries


def check_judge(entries: Sequence[BenchEntry], judge: str | None) -> None:
    """Check that a judge can answer for all entries.

    Raises:
        ConfigurationError: A judge is missing, or is a recording without the answers.
    """
    for entry in entries:
        if entry.needs_judge and judge is None:
            raise ConfigurationError(f"{entry.name!r} needs a judge; pass --judge")
        if entry.live_only and judge is not None and is_recorded(judge):
            raise ConfigurationError(
                f"{entry.name!r} has no recorded answers; pass a model as --judge"
            )


def need_judge(entries: Sequence[BenchEntry]) -> bool:
    """Return whether any of the entries asks a judge."""
    return any(entry.needs_judge for entry in entries)


def is_recorded(judge: str) -> bool:
    """Return whether a judge's name refers to a recording."""
    from resay_lab.benchmarks.measuring import RECORDED

    return judge.startswith(RECORDED)


def live_judge(judge: str, api_base: str | None) -> LiveJudge | None:
    """Return the model that a judge's name refers to, or None if it refers to a recording."""
    from resay_lab.benchmarks.measuring import LiveJudge

    if not is_recorded(judge):
        return LiveJudge(judge, {} if api_base is None else {"api_base": api_base})
    if api_base is not None:
        raise typer.BadParameter("a recorded judge has no address", param_hint="--api-base")
    return None


def load_wikibio(folder: Path, rows: slice) -> Corpus:
    """Load WikiBio from the folder in `--data`."""
    from resay_lab.benchmarks.wikibio import load

    with bad_parameter("--data"):
        return load(folder, rows)


def wikibio_judge(
    judge: str | None,
    api_base: str | None,
    entries: Sequence[BenchEntry],
    folder: Path,
    corpus: Corpus,
) -> BenchJudge | None:
    """Return the judge for WikiBio, or None if no entry needs one."""
    from resay_lab.benchmarks.wikibio import recorded_judge

    if judge is None or not need_judge(entries):
        return None
    with bad_parameter("--judge"):
        return live_judge(judge, api_base) or recorded_judge(folder, judge, corpus)
