"""The sections of a policy, typed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    PlainSerializer,
    model_validator,
)

from resay._internal.strict import Strict

__all__ = [
    "Annotate",
    "Block",
    "Finish",
    "Limits",
    "Params",
    "ProcessLimits",
    "Sampling",
    "StreamMode",
    "Structured",
    "Threshold",
]

_WITHHELD = "Sorry, this answer was withheld because the model could not give it consistently."

StreamMode = Literal["hold", "after", "buffer"]
Finish = Literal["content_filter", "stop"]

Unit = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(gt=0)]
AutoLimit = Annotated[int, Field(ge=1)] | Literal["auto"] | None


class Params(Mapping[str, Any]):
    """Provider parameters that nobody can change, and whose values `repr` leaves out."""

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
    """How the model is asked again."""

    max: int = Field(default=5, ge=1, le=100, description="Draw at most this many samples.")
    min: int = Field(
        default_factory=_default_min,
        ge=1,
        le=100,
        description="Look at this many samples before stopping early; by default 3, or max where "
        "that is less.",
        json_schema_extra={"default": 3},
    )
    confidence: float | None = Field(
        default=0.99,
        gt=0.5,
        le=1,
        description="Stop drawing samples, and comparing with them, once the decision that all of"
        " them would give is settled with this probability; 1 = only when nothing could change it,"
        " null = always draw max.",
    )
    ahead: int = Field(
        default=0,
        ge=0,
        le=100,
        description="Draw this many samples more than are looked at now: they are there at once"
        " when they are needed, and paid for when they are not.",
    )
    temperature: float | None = Field(
        default=None,
        gt=0,
        le=2,
        description="The samples' temperature; null = the provider's default. At 0 every sample "
        "would be the same text, and many current models refuse the parameter.",
    )
    start: Literal["together", "after"] = Field(
        default="together",
        description="When to draw samples: together with the main call, which is faster, or after "
        "it, which costs nothing when no sample is needed. Questions that may call tools or change"
        " what the provider stores are always sampled after it.",
    )
    via: Literal["auto", "litellm", "native"] = Field(
        default="auto",
        description="How an adapter asks again: through litellm, as the same provider with the same"
        " key, or with the application's own client (native); auto = through litellm where the"
        " client's settings can be carried over faithfully.",
    )
    model: str | None = Field(
        default=None,
        min_length=1,
        description="Who draws the samples, in litellm's notation; null = the model that wrote "
        "the response.",
    )
    params: Annotated[Mapping[str, Any], AfterValidator(Params), PlainSerializer(dict)] = Field(
        default_factory=Params,
        description="Further parameters the provider takes for samples, such as max_tokens.",
    )

    def __hash__(self) -> int:
        return hash((self.max, self.min, self.confidence, self.temperature, self.start, self.model))

    @model_validator(mode="after")
    def _must_be_in_order(self) -> Sampling:
        if self.min > self.max:
            raise ValueError(f"min ({self.min!r}) must not be greater than max ({self.max!r})")
        return self


class Threshold(Strict):
    """From which score on something is flagged."""

    passage: Unit | None = Field(
        default=0.5,
        description="Flag the response when its score is above this; null = do not look at it.",
    )
    sentence: Unit | None = Field(
        default=0.5,
        description="Flag a sentence when its score is above this; null = look at none.",
    )

    @model_validator(mode="after")
    def _must_flag_something(self) -> Threshold:
        if self.passage is None and self.sentence is None:
            raise ValueError("passage and sentence must not both be null; nothing could be flagged")
        return self

    @property
    def passage_alone(self) -> float | None:
        """The passage's, where its mean may be above it and no sentence is flagged; or None."""
        if self.passage is None or self.sentence is None or self.passage < self.sentence:
            return self.passage
        return None


class Structured(Strict):
    """What is done with answers that are objects in place of prose."""

    check: Literal["fields", "none"] = Field(
        default="fields",
        description="Compare the object field by field with those of the samples, in place of the"
        " chain, or do not check it.",
    )
    ignore: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=(),
        strict=False,
        description="Fields that are not compared, with what is in them: `id`, `items[].sku`.",
    )


class Annotate(Strict):
    """Return the response with its verdict."""

    do: Literal["annotate"] = Field(
        default="annotate", description="Return the response with its verdict."
    )


class Block(Strict):
    """Withhold a flagged response."""

    do: Literal["block"] = Field(default="block", description="Withhold a flagged response.")
    exit: Literal["replace", "raise"] = Field(
        default="replace",
        description="Return the message in its place, or raise HallucinationBlocked.",
    )
    message: str = Field(
        default=_WITHHELD, min_length=1, description="What is said in place of a withheld response."
    )
    finish: Finish = Field(
        default="content_filter",
        description="How a withheld answer ends for clients of an API: as one that a filter stopped"
        " (`finish_reason: content_filter`, `status: incomplete`, `stop_reason: refusal`), or as a"
        " completed one (`stop`, `completed`, `end_turn`), for clients that take the first for an"
        " error.",
    )


class ProcessLimits(Strict):
    """What all checks of this process may take together."""

    concurrency: int | None = Field(
        default=None, ge=1, le=10_000, description="Calls at the same time; null = no limit."
    )
    calls_per_minute: int | None = Field(
        default=None, ge=1, description="Calls within any minute; null = no limit."
    )


class Limits(Strict):
    """What a check may take."""

    deadline_s: Seconds | None = Field(
        default=120.0, description="Seconds a whole guarded request may take; null = no limit."
    )
    timeout_s: Seconds | None = Field(
        default=60.0,
        description="Seconds one call of the check, a sample or a judge's answer, may take; "
        "null = no limit.",
    )
    calls: AutoLimit = Field(
        default="auto",
        description="Calls one check may make, those tried again included; auto = 100, and 2 for"
        " each sentence and sample (counting at least 10 samples), at most 1,000; null = no limit.",
    )
    tokens: AutoLimit = Field(
        default="auto",
        description="Tokens one check may have read and written; auto = 50,000, and 1,000 for each"
        " sentence and sample (counting at least 10 samples), at most 500,000, and what the length"
        " of the question and the references takes; null = no limit.",
    )
    cost_usd: float | None = Field(
        default=None, gt=0, description="Dollars one check may cost; null = no limit."
    )
    concurrency: int = Field(
        default=16, ge=1, le=1000, description="Calls of one check at the same time."
    )
    retries: int = Field(
        default=2, ge=0, le=10, description="How often a failed call is tried again."
    )
    process: ProcessLimits = Field(
        default=ProcessLimits(),
        description="What all checks of this process may take together.",
    )
