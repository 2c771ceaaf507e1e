"""The published data sets: where to download them, and how to parse them.

What is known about the files of each home, and how:

- `wikibio`: `dataset.json` of the authors' Hugging Face data set, at the revision that extended it
  to 238 passages. The columns are those of the data card; that the file is one JSON list of rows is
  what the authors' README says and programs that read it assume. It does not name the person each
  passage is about (those names are in WikiBio's own titles), so the files made from it have no
  `concept` and no `prompt`.
- `phd`: two files of the authors' GitHub repository, each at a commit that contains it. The
  benchmark itself has three lists, one for each domain; the samples are part of the authors'
  BERTScore experiment, as one list in the same order. Both were inspected: their beginnings, the
  boundaries between domains, and the end of the second.
- `ragtruth`: the two files of the authors' GitHub repository, at its last commit. Their fields are
  those that its README describes, with a sample of each kind; the test split has 2,700 responses.
- `aggrefact`: the test split of the authors' Hugging Face data set, one Parquet file with the
  columns and the number of rows that the data card gives. Its home requires users to accept its
  conditions and then to send HF_TOKEN; the revision is the latest one.
- `shroom`: the validation archive that the shared task's page links to. Its members' names are
  those that participants' programs open, its columns those that its own README describes.

Not verified on the homes themselves: that `wikibio` is a list, that Google Drive serves the archive
without a confirmation page, and anything about `ragtruth` and `aggrefact`. Every download is
validated row by row and counted, so an unexpected format ends in an error and never in a file.
"""

from __future__ import annotations

import io
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, TypeVar
from zipfile import BadZipFile, ZipFile

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from resay.errors import ResayError


class FetchError(ResayError):
    """A home could not be reached, or its response is not the data set.

    Attributes:
        address: The URL of the file.
    """

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"{address!r}: {reason}")
        self.address = address


LIMIT_BYTES = 16 * 2**20
"""The default limit: more than three times the largest file without a limit of its own."""
_LARGE_BYTES = 96 * 2**20


@dataclass(frozen=True, slots=True)
class Source:
    """The files a data set is made from.

    Attributes:
        home: The home that has them.
        paths: Their paths there, each with a leading slash.
        page: The web page about them.
        limit_bytes: The maximum size of each.
    """

    home: str
    paths: tuple[str, ...]
    page: str
    limit_bytes: int = LIMIT_BYTES


# Revisions are pinned if they are known, so that figures stay comparable.
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
RAGTRUTH = Source(
    "github",
    (
        "/ParticleMedia/RAGTruth/c103204b9ce28d6bbad859304bf30de72b8ed8fe/dataset/response.jsonl",
        "/ParticleMedia/RAGTruth/c103204b9ce28d6bbad859304bf30de72b8ed8fe/dataset/source_info.jsonl",
    ),
    "https://github.com/ParticleMedia/RAGTruth",
    _LARGE_BYTES,
)
AGGREFACT = Source(
    "huggingface",
    ("/datasets/lytang/LLM-AggreFact/resolve/main/data/test-00000-of-00001.parquet",),
    "https://huggingface.co/datasets/lytang/LLM-AggreFact",
    _LARGE_BYTES,
)
SHROOM = Source(
    "google-drive",
    ("/uc?export=download&id=1gwanWbGl5s6VEDw2ZoRqx5M6WBmvWcGy",),
    "https://helsinki-nlp.github.io/shroom/2024",
)


def read_member(archive: bytes, name: str, address: str) -> bytes:
    """Return the content of a member, in any folder of the archive.

    Args:
        archive: The zip archive.
        name: The member's name, without folders.
        address: The URL of the archive.

    Returns:
        The member's content.

    Raises:
        FetchError: It is not a valid archive, does not have one such member, or it is too large.
    """
    try:
        with ZipFile(io.BytesIO(archive)) as file:
            found = [i for i in file.infolist() if PurePosixPath(i.filename).name == name]
            if len(found) != 1:
                raise FetchError(address, f"the archive has {len(found)} files named {name!r}")
            with file.open(found[0]) as member:
                content = member.read(LIMIT_BYTES + 1)
    except (BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        # RuntimeError includes NotImplementedError: encrypted, or an unsupported compression.
        raise FetchError(address, f"not a zip archive that can be read: {error}") from error
    if len(content) > LIMIT_BYTES:
        raise FetchError(address, f"{name!r} in it is larger than {LIMIT_BYTES // 2**20} MiB")
    return content


Row = Mapping[str, Any]
"""A row of a data file."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file downloaded from a home.

    Attributes:
        address: Its URL.
        content: Its content.
    """

    address: str
    content: bytes


class _HomeRow(BaseModel):
    # A home may add columns; the required ones must be as documented.
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
    # A few annotators entered only the wrong number.
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


class _Span(_HomeRow):
    start: Annotated[int, Field(ge=0)]
    end: int
    label_type: Text


class _RagtruthResponse(_HomeRow):
    id: Text
    source_id: Text
    model: Text
    split: Literal["train", "test"]
    quality: str = "good"
    response: str
    labels: list[_Span]


class _RagtruthQuestion(_HomeRow):
    question: Text
    passages: Text


class _RagtruthSource(_HomeRow):
    source_id: Text
    task_type: Literal["QA", "Data2txt", "Summary"]
    # A text to summarise, a question with passages, or any object to describe in words.
    source_info: str | dict[str, Any]
    prompt: Text


class _Aggrefact(_HomeRow):
    dataset: Text
    doc: Text
    claim: Text
    label: Literal[0, 1]
    contamination_identifier: str = ""


# The home names its lists by the number of pages that a search finds: over 10 million, under 100
# thousand, over 100 million. The paper calls these domains medium, low and high.
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
    """Read the WikiBio GPT-3 hallucination data set (see `resay_lab.benchmarks.wikibio`).

    Args:
        downloads: The one file of its home.

    Returns:
        The rows of `wikibio_gpt3.jsonl`.

    Raises:
        FetchError: A row does not have the expected format.
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
    Hallucination Detection", Findings of EMNLP 2023, section 4: passages that ChatGPT wrote about
    entities, labelled as a whole. The samples are those of the paper's SelfCheck-BERTScore.

    Args:
        downloads: The benchmark, then the samples.

    Returns:
        The rows of `phd.jsonl`.

    Raises:
        FetchError: A row does not have the expected format, or has no samples.
    """
    benchmark, sampled = downloads
    lists = _parse(_PHD_FILE, benchmark.content, benchmark.address)
    sample_rows = _parse(_PHD_SAMPLES_FILE, sampled.content, sampled.address)
    samples = {(row.entity, row.passage): row.samples for row in sample_rows}
    rows: list[Row] = []
    for name, passages in lists.items():
        for passage in passages:
            key = passage.entity, passage.passage
            if key not in samples:
                raise FetchError(
                    sampled.address, f"has no samples for row {len(rows)} of the benchmark"
                )
            rows.append(
                {
                    "id": len(rows),
                    "entity": passage.entity,
                    "domain": _PHD_DOMAINS[name],
                    "passage": passage.passage,
                    "label": passage.label,
                    "wrong_part": passage.wrong_part,
                    "samples": samples[key],
                }
            )
    return {"phd.jsonl": rows}


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
        FetchError: This is not the archive, or a row does not have the expected format.
    """
    (archive,) = downloads
    address = archive.address
    files: dict[str, list[Row]] = {}
    for name, member in _SHROOM_MEMBERS.items():
        content = read_member(archive.content, member, address)
        rows = _parse(_SHROOM_FILE, content, address, member)
        files[name] = [row.model_dump(by_alias=True) for row in rows]
    return files


_PASSAGE = re.compile(r"^passage \d+:", re.MULTILINE)


def read_ragtruth(downloads: Sequence[Download]) -> dict[str, list[Row]]:
    """Read the test split of RAGTruth.

    Niu et al., "RAGTruth: A Hallucination Corpus for Developing Trustworthy Retrieval-Augmented
    Language Models", ACL 2024: answers to questions from passages, summaries of news, and
    descriptions of businesses from their data, with the spans that people found hallucinated.

    Args:
        downloads: The responses, then their sources.

    Returns:
        The rows of `ragtruth.jsonl`.

    Raises:
        FetchError: A row does not have the expected format, or a response has no source.
    """
    responses, sources = downloads
    by_id = {source.source_id: source for _, source in _parse_lines(_RagtruthSource, sources)}
    rows: list[Row] = []
    for line, response in _parse_lines(_RagtruthResponse, responses):
        if response.split != "test":
            continue
        source = by_id.get(response.source_id)
        if source is None:
            raise FetchError(sources.address, f"has no source for line {line} of the responses")
        rows.append(_ragtruth(response, source, sources.address))
    return {"ragtruth.jsonl": rows}


def _ragtruth(response: _RagtruthResponse, source: _RagtruthSource, address: str) -> Row:
    question, references = None, [source.source_info]
    if source.task_type == "QA":
        try:
            info = _RagtruthQuestion.model_validate(source.source_info)
        except ValidationError as error:
            raise FetchError(address, f"source {source.source_id} has no passages") from error
        question = info.question
        references = [text.strip() for text in _PASSAGE.split(info.passages) if text.strip()]
    return {
        "id": response.id,
        "task": source.task_type,
        "model": response.model,
        "quality": response.quality,
        "question": question,
        # References are texts, so structured data becomes a JSON document.
        "references": [
            text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
            for text in references
        ],
        "response": response.response,
        "labels": [span.model_dump() for span in response.labels],
    }


def read_aggrefact(downloads: Sequence[Download]) -> dict[str, list[Row]]:
    """Read the test split of LLM-AggreFact.

    Tang, Laban and Durrett, "MiniCheck: Efficient Fact-Checking of LLMs on Grounding Documents",
    EMNLP 2024: claims of models about documents, from eleven data sets, supported or not.

    Args:
        downloads: The one file of its home.

    Returns:
        The rows of `aggrefact.jsonl`.

    Raises:
        FetchError: A row does not have the expected format, or pyarrow is not installed.
    """
    (file,) = downloads
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError as error:
        raise FetchError(
            file.address, "is a Parquet file, which pyarrow reads: `pip install pyarrow`"
        ) from error
    try:
        table: Any = parquet.read_table(io.BytesIO(file.content)).to_pylist()
    except (ValueError, OSError) as error:  # Every error of pyarrow is one of the two.
        raise FetchError(file.address, "not a Parquet file that can be read") from error
    content = json.dumps(table).encode()
    rows = _parse(TypeAdapter(list[_Aggrefact]), content, file.address)
    return {"aggrefact.jsonl": [row.model_dump() for row in rows]}


def _parse_lines(model: type[_HomeRowT], file: Download) -> Iterator[tuple[int, _HomeRowT]]:
    """Yield the rows of a JSON Lines file with their line numbers, from 1."""
    adapter = TypeAdapter(model)
    for number, line in enumerate(file.content.split(b"\n"), 1):
        if line.strip():
            yield number, _parse(adapter, line, file.address, f"line {number}")


_HomeRowT = TypeVar("_HomeRowT", bound=_HomeRow)
FileT = TypeVar("FileT")


def _parse(adapter: TypeAdapter[FileT], content: bytes, address: str, part: str = "") -> FileT:
    try:
        return adapter.validate_json(content)
    except ValidationError as error:
        # Only the position and the message: the error's own text quotes the row.
        first = error.errors()[0]
        position = ".".join(str(step) for step in (part, *first["loc"]) if step != "")
        message = f"{position}: {first['msg']}" if position else first["msg"]
        raise FetchError(address, message) from error


@dataclass(frozen=True, slots=True)
class DataSet:
    """A published data set.

    Attributes:
        name: Its name on the command line.
        source: Where to download it.
        files: The files it is converted to, each with the number of rows published.
        licence: The licence that its authors state.
        read: Converts the downloads to the files' rows.
        gated: Whether the home requires a login; such a data set is fetched only if named.
    """

    name: str
    source: Source
    files: Mapping[str, int]
    licence: str
    read: Callable[[Sequence[Download]], Mapping[str, Sequence[Row]]]
    gated: bool = False


DATA_SETS: tuple[DataSet, ...] = (
    DataSet("wikibio", WIKIBIO, {"wikibio_gpt3.jsonl": 238}, "CC-BY-SA-3.0", read_wikibio),
    DataSet("phd", PHD, {"phd.jsonl": 300}, "none stated", read_phd),
    # The organisers state this licence for their own copy on Hugging Face.
    DataSet(
        "shroom",
        SHROOM,
        {"shroom_dev_agnostic.jsonl": 499, "shroom_dev_aware.jsonl": 501},
        "CC-BY-SA-4.0",
        read_shroom,
    ),
    DataSet("ragtruth", RAGTRUTH, {"ragtruth.jsonl": 2700}, "MIT", read_ragtruth),
    DataSet(
        "aggrefact",
        AGGREFACT,
        {"aggrefact.jsonl": 29320},
        "CC-BY-ND-4.0; for evaluation only, never for training",
        read_aggrefact,
        gated=True,
    ),
)
"""All published data sets that can be fetched."""
