"""Bringing the published data sets from their homes.

What each home offers, and how that is known:

- `wikibio`: `dataset.json` of the authors' Hugging Face data set, at the revision that brought it
  to 238 passages. The columns are those of the data card; that the file is one JSON list of rows
  is what the authors' README and programs that read it say. It does not name the person each
  passage is about (those names are in WikiBio's own titles), so the files made from it have no
  `concept` and no `prompt`.
- `phd`: two files of the authors' GitHub repository, each at a commit that holds it. The
  benchmark itself holds three lists, one for each domain; the samples are with the authors'
  BERTScore experiment, as one list in the same order. Both were looked into: their beginnings,
  where one domain meets the next, and the end of the second.
- `shroom`: the validation archive that the shared task's page links to. Its members' names are
  those that participants' programs open, its columns those its own README describes.

Not tried on the homes themselves: that `wikibio` answers with a list, and that Google Drive hands
out the archive without a question in between. Whatever comes back is validated row by row and
counted, so another shape ends in an error and never in a file.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar
from zipfile import BadZipFile, ZipFile

import httpx
import typer
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    wait_random_exponential,
)

from resay._internal._version import __version__
from resay.errors import ConfigurationError, ResayError


class FetchError(ResayError):
    """A home could not be reached, or what it gave is not the data set.

    Attributes:
        address: Which of its files.
    """

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"{address!r}: {reason}")
        self.address = address


HOMES: Mapping[str, str] = MappingProxyType(
    {
        "huggingface": "https://huggingface.co",
        "github": "https://raw.githubusercontent.com",
        "google-drive": "https://drive.google.com",
    }
)


@dataclass(frozen=True, slots=True)
class Source:
    """The files a data set is made from.

    Attributes:
        home: Which of the homes they are in.
        paths: Where in that home, each beginning with a slash.
        page: What to read about them.
    """

    home: str
    paths: tuple[str, ...]
    page: str


# Revisions are pinned wherever the home has them, so that figures stay comparable.
WIKIBIO = Source(
    "huggingface",
    (
        "/datasets/potsawee/wiki_bio_gpt3_hallucination"
        "/resolve/c620633e6968e964594946a96b6cbc06e9defe55/dataset.json",
    ),
    "https://huggingface.co/datasets/potsawee/wiki_bio_gpt3_hallucination",
)
PHD = Source(
    "github",
    (
        "/maybenotime/PHD/7d271110648300c800a106226ba548a9dfc76879/PHD_benchmark.json",
        "/maybenotime/PHD/6bde37100dea1e93b45decb79c375338df27dc7b"
        "/SelfCheckBERTScore/sampled_phd_benchmark.json",
    ),
    "https://github.com/maybenotime/PHD",
)
SHROOM = Source(
    "google-drive",
    ("/uc?export=download&id=1gwanWbGl5s6VEDw2ZoRqx5M6WBmvWcGy",),
    "https://helsinki-nlp.github.io/shroom/2024",
)

# What h11 refuses in a header it quotes in its error, and a token is nobody's business.
_TOKEN = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Homes:
    """The homes as this run knows them.

    Attributes:
        addresses: The address of each, without a slash at the end.
        endpoint: The only one that sees the token.
        token: What Hugging Face knows the user by, if anything.
    """

    addresses: Mapping[str, str]
    endpoint: str
    token: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, overrides: Iterable[str], environ: Mapping[str, str]) -> Homes:
        """Read where the user wants the homes to be.

        Args:
            overrides: `NAME=URL` each; they win over the environment.
            environ: `HF_ENDPOINT` stands for the home `huggingface`; `HF_TOKEN` is shown to it.

        Returns:
            All homes.

        Raises:
            ConfigurationError: A name is unknown, or an address or the token cannot be one.
        """
        default = HOMES["huggingface"]
        endpoint = _address("HF_ENDPOINT", environ.get("HF_ENDPOINT") or default)
        replaced = dict(map(_override, overrides))
        addresses = {**HOMES, "huggingface": endpoint, **replaced}
        return cls(addresses, endpoint, _token(environ.get("HF_TOKEN", "")))

    def files(self, source: Source) -> tuple[str, ...]:
        """Return the addresses of a source's files."""
        return tuple(self.addresses[source.home] + path for path in source.paths)

    def headers(self, address: str) -> dict[str, str]:
        """Return what to send along to an address."""
        if self.token is None or _origin(address) != _origin(self.endpoint):
            return {}
        return {"Authorization": f"Bearer {self.token}"}


def _override(text: str) -> tuple[str, str]:
    name, equals, address = text.partition("=")
    if not equals or name not in HOMES:
        # What follows the name may hold a password.
        raise ConfigurationError(
            f"{name!r} is not a home; pass NAME=URL with one of {', '.join(HOMES)}"
        )
    return name, _address(name, address)


def _address(name: str, text: str) -> str:
    try:
        url = httpx.URL(text.strip())
    except httpx.InvalidURL as error:
        raise ConfigurationError(f"{name} is not an address: {error}") from error
    if url.userinfo:
        raise ConfigurationError(f"{name} holds a user name or password; leave that out")
    if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment:
        raise ConfigurationError(
            f"{name} is {text!r}; pass an address like {HOMES['huggingface']!r}"
        )
    return str(url).rstrip("/")


def _token(text: str) -> str | None:
    token = text.strip()
    if token and not _TOKEN.fullmatch(token):
        raise ConfigurationError("HF_TOKEN has characters no token has; set it again, or unset it")
    return token or None


def _origin(address: str) -> tuple[str, str, int | None]:
    url = httpx.URL(address)
    return url.scheme, url.host, url.port


LIMIT_BYTES = 16 * 2**20
"""More than three times the largest of the files."""

OnBytes = Callable[[int, int | None], object]
"""Called with how many bytes have come, and how many will where the home says so."""

_ATTEMPTS = 4
_REDIRECTS = 5
_LONGEST_WAIT_S = 60.0


def client() -> httpx.Client:
    """Return a client that is patient enough for a slow line, and no more."""
    return httpx.Client(
        timeout=httpx.Timeout(30.0, connect=10.0),
        headers={"User-Agent": f"resay/{__version__}"},
    )


class Downloader:
    """Reads files whole, and again when they broke off or the home was busy.

    Waits as long as the home asks (`Retry-After`), at most 60 s, else a random time growing from
    0.5 s.

    Args:
        client: Sends the requests.
        homes: Knows who may see the token.
        sleep: Waits so many seconds.
    """

    def __init__(
        self, client: httpx.Client, homes: Homes, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._client = client
        self._homes = homes
        self._sleep = sleep

    def get(self, address: str, on_bytes: OnBytes = lambda _, __: None) -> bytes:
        """Download a file.

        Args:
            address: Where it is.
            on_bytes: Told how far it is.

        Returns:
            What is in it.

        Raises:
            FetchError: It is not there, does not arrive whole, or is too large.
        """
        attempts = Retrying(
            stop=stop_after_attempt(_ATTEMPTS),
            retry=retry_if_exception(_may_help),
            wait=_wait,
            sleep=self._sleep,
            reraise=True,
        )
        try:
            return attempts(self._once, address, on_bytes)
        except httpx.HTTPError as error:
            raise FetchError(address, _reason(error)) from error

    def _once(self, address: str, on_bytes: OnBytes) -> bytes:
        response = self._open(address)
        try:
            if response.status_code != HTTPStatus.OK:
                raise httpx.HTTPStatusError("no file", request=response.request, response=response)
            return _body(response, address, on_bytes)
        finally:
            response.close()

    def _open(self, address: str) -> httpx.Response:
        headers = self._homes.headers(address)
        request = self._client.build_request("GET", address, headers=headers)
        for _ in range(_REDIRECTS + 1):
            response = self._client.send(request, stream=True, follow_redirects=False)
            # httpx leaves the token out of a request to another host.
            following = response.next_request
            if following is None:
                return response
            response.close()
            if request.url.scheme == "https" and following.url.scheme != "https":
                raise FetchError(address, "sends us on to an address that is not encrypted")
            request = following
        raise FetchError(address, f"sends us on more than {_REDIRECTS} times")


def _body(response: httpx.Response, address: str, on_bytes: OnBytes) -> bytes:
    length = response.headers.get("content-length", "")
    expected = int(length) if length.isdecimal() else None
    if expected is not None and expected > LIMIT_BYTES:
        raise _too_large(address)
    on_bytes(0, expected)
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > LIMIT_BYTES:
            raise _too_large(address)
        on_bytes(response.num_bytes_downloaded, expected)
    return bytes(body)


def _too_large(address: str) -> FetchError:
    return FetchError(address, f"larger than {LIMIT_BYTES // 2**20} MiB, so not the data set")


def _may_help(error: BaseException) -> bool:
    if isinstance(error, httpx.HTTPStatusError):
        status = error.response.status_code
        return status == HTTPStatus.TOO_MANY_REQUESTS or error.response.is_server_error
    return isinstance(
        error, (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError)
    )


_backoff = wait_random_exponential(multiplier=0.5, max=8.0)


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, httpx.HTTPStatusError):
        asked = _seconds(error.response.headers.get("retry-after", ""))
        if asked is not None:
            return min(asked, _LONGEST_WAIT_S)
    return _backoff(state)


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _reason(error: httpx.HTTPError) -> str:
    if isinstance(error, httpx.HTTPStatusError):
        return f"answered {error.response.status_code} {error.response.reason_phrase}".rstrip()
    if isinstance(error, httpx.TimeoutException):
        return "did not answer in time"
    return f"could not be read: {error}"


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
        files[name] = [
            row.model_dump(by_alias=True) for row in _parse(_SHROOM_FILE, content, address, member)
        ]
    return files


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
        force: Replace existing files.
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


def run(datasets: Iterable[DataSet], folder: Path, homes: Homes, *, force: bool) -> bool:
    """Fetch data sets. One that cannot be had does not keep the others from being fetched.

    Args:
        datasets: What to fetch.
        folder: Where the files go.
        homes: Where they are.
        force: Replace existing files.

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
