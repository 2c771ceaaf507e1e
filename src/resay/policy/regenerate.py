"""How a flagged answer is regenerated: the section `action` with `do: regenerate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from resay._internal.strict import OneOf, Strict
from resay.core.regeneration import Mode
from resay.policy.actions import Annotate, Block
from resay.policy.limits import Seconds
from resay.policy.step import Step
from resay.retrieval import ONE_RETRIEVER, RetrieverConfig
from resay.scorers.base import Unit


def _otherwise() -> Mapping[str, type[BaseModel]]:
    return {"annotate": Annotate, "block": Block}


_MODES: Mapping[str, tuple[Mode, ...]] = {
    "documents": ("repair", "rewrite"),
    "samples": ("repair", "verify", "consistent"),
}
_DOCUMENT_SETTINGS = (
    *("retriever", "k", "max_documents", "max_chars", "timeout_s"),
    *("recheck", "resample", "edition", "citations"),
)


class Regenerate(Strict):
    """Repair a flagged response with retrieved documents or with the samples."""

    # `from` is a Python keyword: the field is `from_`, and policies are written with the alias.
    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    do: Literal["regenerate"] = Field(
        default="regenerate",
        description="Repair a flagged response, with retrieved documents or with the samples.",
    )
    from_: Literal["documents", "samples"] = Field(
        default="documents",
        alias="from",
        description="The source of the new answer: documents that a retriever finds or, if you have"
        " no documents, the samples that the response was compared with.",
    )
    retriever: Annotated[RetrieverConfig, ONE_RETRIEVER] | None = Field(
        default=None,
        description="The retriever; a string is short for the function of that name, null = the"
        " retriever that the application passes.",
    )
    mode: Mode = Field(
        default="repair",
        description="Replace or remove only the flagged sentences (repair), or rewrite the whole"
        " answer (rewrite). With `from: samples`: correct flagged sentences from the samples"
        " (repair) or from short answers to questions about them (verify), or drop flagged claims"
        " and hedge doubtful ones (consistent).",
    )
    attempts: int = Field(default=2, ge=1, le=5, description="The number of attempts.")
    otherwise: Annotated[
        Annotate | Block, OneOf("action", "do", _otherwise, short=lambda name: {"do": name})
    ] = Field(
        default=Annotate.with_defaults(),
        description="The action if even the best attempt is flagged or could not be checked; a"
        " string is short for the action of that name.",
    )
    k: int = Field(default=3, ge=1, le=50, description="Documents per search.")
    max_documents: int = Field(
        default=6, ge=1, le=50, description="The maximum number of documents that the model reads."
    )
    max_chars: int = Field(
        default=12_000,
        ge=500,
        description="The maximum number of characters of documents that the model reads.",
    )
    timeout_s: Seconds = Field(default=10.0, description="Seconds for one search.")
    writer: str | None = Field(
        default=None,
        min_length=1,
        description="The model that writes the new answer, as litellm names it; null = the model"
        " that wrote the response.",
    )
    recheck: (
        Annotated[
            tuple[Step, ...],
            Field(min_length=1, strict=False),
        ]
        | None
    ) = Field(
        default=None,
        description="The methods that compare the new answer with the documents; null = the methods"
        " of `chain` that compare with samples, given the documents instead, or `references` if"
        " the chain has none.",
    )
    resample: bool = Field(
        default=False,
        description="Also draw samples of the new answer, and check it against them with `chain`.",
    )
    edition: str | None = Field(
        default=None,
        min_length=1,
        description="The metadata key with a document's edition or date; if documents contradict"
        " each other, the newest wins. null = the first existing key of `edition`, `version`,"
        " `date`, `updated` and similar ones.",
    )
    max_removed: Unit = Field(
        default=0.75,
        description="The largest share of the answer's characters that may be removed as"
        " unconfirmed; beyond it, `otherwise` applies.",
    )
    abstention: str | None = Field(
        default="auto",
        min_length=1,
        description="The answer if nothing would be left; auto = a statement in the question's"
        " language that the documents do not cover this, or that it is not known for certain;"
        " null = `otherwise` applies.",
    )
    citations: Literal["verdict", "marks"] = Field(
        default="verdict",
        description="Where to cite the sources of the new answer: in the verdict only, or also in"
        " the text, as [1] with a list at the end.",
    )

    @field_validator("max_documents")
    @classmethod
    def _must_take_one_search(cls, max_documents: int, info: ValidationInfo) -> int:
        k = info.data.get("k")
        if isinstance(k, int) and max_documents < k:
            raise ValueError(f"must not be less than k ({k!r})")
        return max_documents

    @model_validator(mode="after")
    def _must_go_together(self) -> Regenerate:
        *modes, last_mode = _MODES[self.from_]
        if self.mode not in (*modes, last_mode):
            allowed = f"{', '.join(modes)} or {last_mode}"
            raise ValueError(
                f"with `from: {self.from_}`, mode must be {allowed}, not {self.mode!r}"
            )
        if self.from_ == "samples":
            for name in _DOCUMENT_SETTINGS:
                if getattr(self, name) != type(self).model_fields[name].default:
                    raise ValueError(f"`{name}` is about documents; omit it, or `from: samples`")
        return self
