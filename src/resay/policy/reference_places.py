"""Where a policy has references taken from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from resay._internal.importing import is_import_path
from resay._internal.strict import Strict
from resay.core.references import KINDS, is_path


def _place(value: object) -> object:
    if value in KINDS or (isinstance(value, str) and (is_path(value) or is_import_path(value))):
        return value
    raise PydanticCustomError(
        "reference_place",
        "must be one of {kinds}, a path such as `messages[*].metadata.docs`, or"
        " `package.module:function`",
        {"kinds": ", ".join(f"'{kind}'" for kind in KINDS)},
    )


_From = Annotated[
    str,
    BeforeValidator(_place),
    WithJsonSchema({"anyOf": [{"enum": list(KINDS)}, {"type": "string", "pattern": r"[.:\[]"}]}),
]


class ReferencesOf(Strict):
    """What trusted texts answers are held against, and what is made of what they do not mention."""

    # `from` is no name in Python, and what is written down there has the other.
    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    from_: tuple[_From, ...] = Field(
        default=KINDS,
        alias="from",
        strict=False,
        description="Where references are taken from: what is passed as `references`, context in"
        " the conversation, what tools returned, documents in a provider's own field, and what a"
        " retriever found; an empty list = nowhere. Places of your own are named by a path in the"
        " request, such as `messages[*].metadata.docs`, or by a function that finds them,"
        " `package.module:function`.",
    )
    by: Literal["auto", "judge", "words"] = Field(
        default="auto",
        description="Who compares: a judge, in one call; numbers, names and words; or a judge where"
        " the chain has one.",
    )
    unmentioned: Literal["auto", "flag", "samples"] = Field(
        default="auto",
        description="What is done about a claim that no reference mentions: it is flagged, or"
        " compared with samples; or flagged where the answer is to be written from the references.",
    )
