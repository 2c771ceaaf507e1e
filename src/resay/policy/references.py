"""Where references come from, and how answers are compared with them: the section `references`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from resay._internal.importing import is_import_path
from resay._internal.strict import Strict
from resay.core.references import ORIGINS
from resay.core.request_paths import is_path


def _validate_origin(value: object) -> object:
    if value in ORIGINS or (isinstance(value, str) and (is_path(value) or is_import_path(value))):
        return value
    raise PydanticCustomError(
        "origin",
        "must be one of {origins}, a path such as `messages[*].metadata.docs`, or"
        " `package.module:function`",
        {"origins": ", ".join(repr(origin) for origin in ORIGINS)},
    )


_Origin = Annotated[
    str,
    BeforeValidator(_validate_origin),
    WithJsonSchema({"anyOf": [{"enum": list(ORIGINS)}, {"type": "string", "pattern": r"[.:\[]"}]}),
]


class ReferencesConfig(Strict):
    """Where the references come from, how answers are compared with them, and what is flagged."""

    # `from` is a Python keyword: the field is `from_`, and policies are written with the alias.
    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    from_: tuple[_Origin, ...] = Field(
        default=ORIGINS,
        alias="from",
        strict=False,
        description="The sources of references: the argument `references`, context in the"
        " conversation, tool results, documents in a provider's own field, and a retriever's"
        " results; an empty list = none. Add your own as a path in the request, such as"
        " `messages[*].metadata.docs`, or as a function that returns them,"
        " `package.module:function`.",
    )
    by: Literal["auto", "judge", "words"] = Field(
        default="auto",
        description="How to compare: a judge, that of the chain or else the answer's model; words,"
        " numbers and names; or auto = a judge if the chain has one, else words.",
    )
    words_first: bool = Field(
        default=False,
        description="Whether words settle what is plain before the judge is asked, as for a step.",
    )
    unmentioned: Literal["auto", "flag", "samples"] = Field(
        default="auto",
        description="What to do with a claim that no reference mentions: flag it, or compare it"
        " with samples; auto = flag it if the request asks for an answer from the references.",
    )
