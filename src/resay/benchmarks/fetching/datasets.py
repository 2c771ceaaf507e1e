"""The data sets that can be fetched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from resay.benchmarks.fetching.download import Downloader, OnBytes
from resay.benchmarks.fetching.errors import FetchError
from resay.benchmarks.fetching.homes import PHD, SHROOM, WIKIBIO, Homes, Source
from resay.benchmarks.fetching.rows import Download, Row, read_phd, read_shroom, read_wikibio
from resay.benchmarks.fetching.store import write_rows
from resay.errors import ConfigurationError

__all__ = ["DATA_SETS", "DataSet", "bring", "choose"]


@dataclass(frozen=True, slots=True)
class DataSet:
    """A published data set.

    Attributes:
        name: What the command line calls it.
        source: Where it is from.
        files: The files it becomes, each with the number of rows published.
        licence: What its authors allow.
        read: Turns what the home has into the files' rows.
    """

    name: str
    source: Source
    files: Mapping[str, int]
    licence: str
    read: Callable[[Sequence[Download]], Mapping[str, Sequence[Row]]]


DATA_SETS: tuple[DataSet, ...] = (
    DataSet("wikibio", WIKIBIO, {"wikibio_gpt3.jsonl": 238}, "CC-BY-SA-3.0", read_wikibio),
    DataSet("phd", PHD, {"phd.jsonl": 300}, "none stated", read_phd),
    # This is what the organisers say of their own copy on Hugging Face.
    DataSet(
        "shroom",
        SHROOM,
        {"shroom_dev_agnostic.jsonl": 499, "shroom_dev_aware.jsonl": 501},
        "CC-BY-SA-4.0",
        read_shroom,
    ),
)
"""All of them."""


def choose(names: Iterable[str]) -> tuple[DataSet, ...]:
    """Find the data sets the user names, each once; all of them if none is named.

    Raises:
        ConfigurationError: A name is unknown.
    """
    known = {dataset.name: dataset for dataset in DATA_SETS}
    wanted = dict.fromkeys(names) or known
    for name in wanted:
        if name not in known:
            raise ConfigurationError(f"unknown data set {name!r}; choose from {', '.join(known)}")
    return tuple(known[name] for name in wanted)


def bring(
    dataset: DataSet,
    folder: Path,
    homes: Homes,
    downloader: Downloader,
    *,
    force: bool = False,
    on_bytes: OnBytes = lambda _, __: None,
) -> list[str]:
    """Fetch a data set into a folder. Nothing is written unless all of it is as published.

    Args:
        dataset: What to fetch.
        folder: Where its files go.
        homes: Where it is.
        downloader: Downloads it.
        force: Replace files that are there.
        on_bytes: Told how far each download is.

    Returns:
        What happened to each file, for the user.

    Raises:
        FetchError: It could not be had, or is not as published.
        OSError: A file cannot be written.
    """
    wanted = [name for name in dataset.files if force or not (folder / name).exists()]
    kept = [name for name in dataset.files if name not in wanted]
    lines = [f"{name}: kept; --force fetches it again" for name in kept]
    if not wanted:
        return lines
    addresses = homes.files(dataset.source)
    files = dataset.read([Download(a, downloader.get(a, on_bytes)) for a in addresses])
    origin = " and ".join(addresses)
    for name, published in dataset.files.items():
        if len(files[name]) != published:
            raise FetchError(
                origin, f"{name} would have {len(files[name])} rows; published are {published}"
            )
    for name in wanted:
        write_rows(folder / name, files[name])
        rows = dataset.files[name]
        lines.append(f"{name}: {rows} rows from {origin}; licence: {dataset.licence}")
    return lines
