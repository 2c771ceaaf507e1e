"""The rows as the homes have them, and as the benchmarks read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from resay.benchmarks.fetching.archive import read_member
from resay.benchmarks.fetching.errors import FetchError

__all__ = ["Download", "Row", "read_phd", "read_shroom", "read_wikibio"]

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
