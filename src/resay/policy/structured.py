"""How answers that are objects are checked: the section `structured`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from resay._internal.strict import Strict


class Structured(Strict):
    """How answers that are objects instead of prose are checked."""

    check: Literal["fields", "none"] = Field(
        default="fields",
        description="Compare the object with those of the samples field by field, instead of"
        " running the chain; or do not check it.",
    )
    ignore: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=(),
        strict=False,
        description="Fields to leave out, with everything below them: `id`, `items[].sku`.",
    )
