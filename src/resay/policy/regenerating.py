"""What a policy can say about writing a flagged answer again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, Field, ValidationInfo, field_validator

from resay._internal.strict import Strict
from resay._internal.tagged_union import OneOf
from resay.policy.sections import Annotate, Block, Seconds
from resay.policy.steps import Step
from resay.retrieval import RetrieverConfig, retriever_configs

__all__ = ["Regenerate"]


def _otherwise() -> Mapping[str, type[BaseModel]]:
    return {"annotate": Annotate, "block": Block}


class Regenerate(Strict):
    """Mend a flagged response by what is found about it."""

    do: Literal["regenerate"] = Field(
        default="regenerate", description="Mend a flagged response by documents that are found."
    )
    retriever: (
        Annotated[
            RetrieverConfig,
            OneOf(
                "retriever",
                "kind",
                retriever_configs,
                short=lambda name: {"kind": "function", "name": name},
            ),
        ]
        | None
    ) = Field(
        default=None,
        description="Where documents are found; a text is short for the function of that name, null"
        " = the retriever that the application gives.",
    )
    mode: Literal["repair", "rewrite"] = Field(
        default="repair",
        description="Replace or remove the flagged sentences and leave the rest as it is (repair),"
        " or write the whole answer again (rewrite).",
    )
    attempts: int = Field(
        default=2, ge=1, le=5, description="How often a better answer is tried for."
    )
    otherwise: Annotated[
        Annotate | Block, OneOf("action", "do", _otherwise, short=lambda name: {"do": name})
    ] = Field(
        default=Annotate(),
        description="What to do with the best answer there is when even that is flagged, or could"
        " not be checked; a text is short for the action of that name.",
    )
    k: int = Field(default=3, ge=1, le=50, description="How many documents each search gives.")
    max_documents: int = Field(
        default=6, ge=1, le=50, description="How many documents the model reads at the most."
    )
    max_chars: int = Field(
        default=12_000,
        ge=500,
        description="How many characters of documents the model reads at the most.",
    )
    timeout_s: Seconds = Field(default=10.0, description="Seconds a search may take.")
    writer: str | None = Field(
        default=None,
        min_length=1,
        description="Who writes, in litellm's notation; null = the model that wrote the response.",
    )
    recheck: (
        Annotated[
            tuple[Step, ...],
            Field(min_length=1, strict=False),
        ]
        | None
    ) = Field(
        default=None,
        description="The methods that compare the new answer with the documents; null = those of"
        " `chain` that compare with samples, with the documents in their place, or `prompt` where"
        " there are none.",
    )
    resample: bool = Field(
        default=False,
        description="Whether to ask the model for the new answer several times too, and to check it"
        " with `chain` against those samples.",
    )
    citations: Literal["verdict", "marks"] = Field(
        default="verdict",
        description="Where the new answer's sources are named: in the verdict, or in the text too,"
        " as [1] with a list at the end.",
    )

    @field_validator("max_documents")
    @classmethod
    def _must_take_one_search(cls, most: int, info: ValidationInfo) -> int:
        k = info.data.get("k")
        if isinstance(k, int) and most < k:
            raise ValueError(f"must not be less than k ({k!r})")
        return most
