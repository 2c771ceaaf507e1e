"""Fetching data sets one after the other, and telling the user."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from resay.benchmarks.fetching.datasets import DataSet, bring
from resay.benchmarks.fetching.download import Downloader, client
from resay.benchmarks.fetching.errors import FetchError
from resay.benchmarks.fetching.homes import Homes

__all__ = ["run"]


def run(datasets: Iterable[DataSet], folder: Path, homes: Homes, *, force: bool) -> bool:
    """Fetch data sets. One that cannot be had does not keep the others from being fetched.

    Args:
        datasets: What to fetch.
        folder: Where the files go.
        homes: Where they are.
        force: Replace files that are there.

    Returns:
        Whether all of them are in the folder now.
    """
    with client() as connection:
        downloader = Downloader(connection, homes)
        arrived = [_fetch(d, folder, homes, downloader, force=force) for d in datasets]
    return all(arrived)


def _fetch(
    dataset: DataSet, folder: Path, homes: Homes, downloader: Downloader, *, force: bool
) -> bool:
    source = dataset.source
    try:
        with _bar() as bar:
            task = bar.add_task(dataset.name, total=None)
            lines = bring(
                dataset,
                folder,
                homes,
                downloader,
                force=force,
                on_bytes=lambda done, total: bar.update(task, completed=done, total=total),
            )
    except FetchError as error:
        _fail(
            f"{dataset.name}: {error}; check the network and {source.page},"
            f" or name a mirror with --home {source.home}=URL"
        )
        return False
    except OSError as error:
        _fail(f"{dataset.name}: cannot write to {str(folder)!r}: {error.strerror}")
        return False
    for line in lines:
        typer.echo(line)
    return True


def _bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )


def _fail(message: str) -> None:
    typer.secho(message, fg="red", err=True)
