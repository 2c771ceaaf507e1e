"""How samples are drawn: the section `sampling`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PlainSerializer, model_validator

from resay._internal.strict import Strict


class Params(Mapping[str, Any]):
    """Immutable provider parameters, whose values `repr` hides."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any] | None = None) -> None:
        self._items = dict(items or {})

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"Params({', '.join(f'{key}=…' for key in self._items)})"


def _default_min(data: dict[str, Any]) -> int:
    return min(3, data.get("max", 3))


class Sampling(Strict):
    """How samples are drawn."""

    max: int = Field(default=5, ge=1, le=100, description="Draw at most this many samples.")
    min: int = Field(
        default_factory=_default_min,
        ge=1,
        le=100,
        description="Compare with at least this many samples before stopping early; the default"
        " is 3, or max if that is less.",
        json_schema_extra={"default": 3},
    )
    confidence: float | None = Field(
        default=0.99,
        gt=0.5,
        le=1,
        description="Stop drawing and comparing samples when the final decision is known with this"
        " probability; 1 = when no further sample can change it, null = always draw max.",
    )
    ahead: int = Field(
        default=2,
        ge=0,
        le=100,
        description="Draw this many samples ahead. They save a round of calls when needed, and cost"
        " money when not; 0 = none.",
    )
    temperature: float | None = Field(
        default=None,
        gt=0,
        le=2,
        description="The samples' temperature; null = the provider's default. At 0 all samples"
        " would be the same; many current models refuse the parameter.",
    )
    start: Literal["together", "after"] = Field(
        default="together",
        description="When to draw samples: together with the main call (faster), or after it"
        " (free if no sample is needed). Requests that may call tools or change data stored at the"
        " provider are always sampled after it.",
    )
    via: Literal["auto", "litellm", "native"] = Field(
        default="auto",
        description="How an adapter draws samples: with the application's own client or model"
        " (native; auto does the same), or through litellm, with the same provider, key and"
        " settings.",
    )
    model: str | None = Field(
        default=None,
        min_length=1,
        description="The model that writes the samples, as litellm names it; null = the model"
        " that wrote the response.",
    )
    params: Annotated[Mapping[str, Any], AfterValidator(Params), PlainSerializer(dict)] = Field(
        default_factory=Params,
        description="Additional provider parameters for samples, such as max_tokens.",
    )

    def __hash__(self) -> int:
        return hash((self.max, self.min, self.confidence, self.temperature, self.start, self.model))

    @model_validator(mode="after")
    def _must_be_in_order(self) -> Sampling:
        if self.min > self.max:
            raise ValueError(f"min ({self.min!r}) must not be greater than max ({self.max!r})")
        return self
