"""The data sets that can be fetched."""

from __future__ import annotations

import io
import json
import os
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, TypeVar
from zipfile import BadZipFile, ZipFile

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from resay.benchmarks.fetching.download import LIMIT_BYTES, Downloader, OnBytes
from resay.benchmarks.fetching.errors import FetchError
from resay.benchmarks.fetching.homes import PHD, SHROOM, WIKIBIO, Homes, Source
from resay.errors import ConfigurationError

__all__ = [
    "DATA_SETS",
    "DataSet",
    "Download",
    "Row",
    "bring",
    "choose",
    "read_member",
    "read_phd",
    "read_shroom",
    "read_wikibio",
    "write_rows",
]


def read_member(archive: bytes, name: str, address: str) -> bytes:
    """Return what is in a member, whatever folder of the archive it is in.

    Args:
        archive: The zip archive.
        name: The member's name, without folders.
        address: Where the archive is from.

    Returns:
        What is in it.

    Raises:
        FetchError: This is no archive, it is damaged, or it does not have one such member.
    """
    try:
        with ZipFile(io.BytesIO(archive)) as file:
            found = [i for i in file.infolist() if PurePosixPath(i.filename).name == name]
            if len(found) != 1:
                raise FetchError(address, f"the archive has {len(found)} files named {name!r}")
            with file.open(found[0]) as member:
                content = member.read(LIMIT_BYTES + 1)
    except (BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        # RuntimeError and its NotImplementedError: encrypted, or packed in a way unknown here.
        raise FetchError(address, f"not a zip archive that can be read: {error}") from error
    if len(content) > LIMIT_BYTES:
        raise FetchError(address, f"{name!r} in it is larger than {LIMIT_BYTES // 2**20} MiB")
    return content


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write JSON Lines beside the file, then put them in its place in one step.

    Args:
        path: The file.
        rows: One line each.

    Raises:
        OSError: It cannot be written. What was there before is there still.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


Row = Mapping[str, Any]
"""A line of a data file."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file of a home.

    Attributes:
        address: Where it is from.
        content: What is in it.
    """

    address: str
    content: bytes


class _HomeRow(BaseModel):
    # A home may add columns; those that are needed must be as they are described.
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


Text = Annotated[str, Field(min_length=1)]


class _Wikibio(_HomeRow):
    wiki_bio_test_idx: int
    gpt3_text: Text
    gpt3_sentences: Annotated[list[Text], Field(min_length=1)]
    annotation: list[Literal["accurate", "minor_inaccurate", "major_inaccurate"]]
    gpt3_text_samples: Annotated[list[str], Field(min_length=1)]
    wiki_bio_text: Text

    @model_validator(mode="after")
    def _one_label_each(self) -> _Wikibio:
        if len(self.annotation) != len(self.gpt3_sentences):
            raise ValueError(
                f"{len(self.gpt3_sentences)} sentences have {len(self.annotation)} labels"
            )
        return self


class _Phd(_HomeRow):
    entity: Text
    passage: Text = Field(alias="AI")
    label: Literal["factual", "non-factual"]
    # A few annotators gave only the wrong number.
    wrong_part: str | int | None


class _PhdSamples(_HomeRow):
    entity: Text
    passage: Text = Field(alias="AI")
    samples: Annotated[list[str], Field(alias="samples_text", min_length=1)]


class _Shroom(_HomeRow):
    hyp: str
    ref: Literal["src", "tgt", "either"]
    src: str
    tgt: str
    # Only the model-aware track names models.
    model: str = ""
    task: Literal["DM", "MT", "PG"]
    labels: Annotated[list[Literal["Hallucination", "Not Hallucination"]], Field(min_length=1)]
    label: Literal["Hallucination", "Not Hallucination"]
    probability: Annotated[float, Field(alias="p(Hallucination)", ge=0, le=1)]


# The home names its lists by how many pages a search finds: over 10 million, under 100 thousand,
# over 100 million. The paper calls these domains medium, low and high.
_PHD_DOMAINS: Mapping[str, str] = {"wiki_1000w": "medium", "wiki_10w": "low", "wiki_1y": "high"}
_PhdList = Literal["wiki_1000w", "wiki_10w", "wiki_1y"]

_WIKIBIO_FILE = TypeAdapter(list[_Wikibio])
_PHD_FILE = TypeAdapter(dict[_PhdList, list[_Phd]])
_PHD_SAMPLES_FILE = TypeAdapter(list[_PhdSamples])
_SHROOM_FILE = TypeAdapter(list[_Shroom])

_SHROOM_MEMBERS = {
    "shroom_dev_agnostic.jsonl": "val.model-agnostic.json",
    "shroom_dev_aware.jsonl": "val.model-aware.v2.json",
}


def read_wikibio(downloads: Sequence[Download]) -> dict[str, list[Row]]:
    """Read the WikiBio GPT-3 hallucination data set (see `resay.benchmarks.wikibio`).

    Args:
        downloads: The one file of its home.

    Returns:
        The rows of `wikibio_gpt3.jsonl`.

    Raises:
        FetchError: A row is not of this shape.
    """
    (file,) = downloads
    rows = _parse(_WIKIBIO_FILE, file.content, file.address)
    return {"wikibio_gpt3.jsonl": [_wikibio(i, row) for i, row in enumerate(rows)]}


def _wikibio(index: int, row: _Wikibio) -> Row:
    return {
        "id": index,
        "wiki_bio_test_idx": row.wiki_bio_test_idx,
        "passage": row.gpt3_text,
        "sentences": row.gpt3_sentences,
        "labels": row.annotation,
        "samples": row.gpt3_text_samples,
        "reference": row.wiki_bio_text,
    }


def read_phd(downloads: Sequence[Download]) -> dict[str, list[Row]]:
    """Read PHD.

    Yang, Sun and Wan, "A New Benchmark and Reverse Validation Method for Passage-level
    Hallucination Detection", Findings of EMNLP 2023, section 4: passages ChatGPT wrote about
    entities, labelled as a whole. The samples are those of the paper's SelfCheck-BERTScore.

    Args:
        downloads: The benchmark, then the samples.

    Returns:
        The rows of `phd.jsonl`.

    Raises:
        FetchError: A row is not of this shape, or has no samples.
    """
    benchmark, sampled = downloads
    lists = _parse(_PHD_FILE, benchmark.content, benchmark.address)
    drawn = _parse(_PHD_SAMPLES_FILE, sampled.content, sampled.address)
    samples = {(row.entity, row.passage): row.samples for row in drawn}
    rows = [(_PHD_DOMAINS[name], row) for name, found in lists.items() for row in found]
    for index, (_, row) in enumerate(rows):
        if (row.entity, row.passage) not in samples:
            raise FetchError(sampled.address, f"has no samples for row {index} of the benchmark")
    return {
        "phd.jsonl": [
            {
                "id": index,
                "entity": row.entity,
                "domain": domain,
                "passage": row.passage,
                "label": row.label,
                "wrong_part": row.wrong_part,
                "samples": samples[row.entity, row.passage],
            }
            for index, (domain, row) in enumerate(rows)
        ]
    }


def read_shroom(downloads: Sequence[Download]) -> dict[str, list[Row]]:
    """Read the validation sets of SHROOM.

    Mickus et al., "SemEval-2024 Task 6: SHROOM, a Shared-task on Hallucinations and Related
    Observable Overgeneration Mistakes", SemEval 2024: outputs of definition modelling (DM),
    machine translation (MT) and paraphrase generation (PG), labelled by five annotators.

    Args:
        downloads: The archive of its home.

    Returns:
        The rows of `shroom_dev_agnostic.jsonl` and `shroom_dev_aware.jsonl`.

    Raises:
        FetchError: This is not the archive, or a row is not of this shape.
    """
    (archive,) = downloads
    address = archive.address
    files: dict[str, list[Row]] = {}
    for name, member in _SHROOM_MEMBERS.items():
        content = read_member(archive.content, member, address)
        files[name] = [_shroom(row) for row in _parse(_SHROOM_FILE, content, address, member)]
    return files


def _shroom(row: _Shroom) -> Row:
    return {
        "hyp": row.hyp,
        "ref": row.ref,
        "src": row.src,
        "tgt": row.tgt,
        "model": row.model,
        "task": row.task,
        "labels": row.labels,
        "label": row.label,
        "p(Hallucination)": row.probability,
    }


FileT = TypeVar("FileT")


def _parse(adapter: TypeAdapter[FileT], content: bytes, address: str, part: str = "") -> FileT:
    try:
        return adapter.validate_json(content)
    except ValidationError as error:
        # Only where and what: the error's own text quotes the row.
        first = error.errors()[0]
        where = ".".join(str(step) for step in (part, *first["loc"]) if step != "")
        raise FetchError(address, ": ".join(filter(None, (where, first["msg"])))) from error


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
