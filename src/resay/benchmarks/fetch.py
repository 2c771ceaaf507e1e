"""The command `resay bench fetch`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from resay.errors import ConfigurationError

__all__ = ["fetch"]

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
    from resay.benchmarks.fetching.datasets import choose
    from resay.benchmarks.fetching.homes import Homes
    from resay.benchmarks.fetching.run import run

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
