"""The settings of the second model that a policy asks, apart from the scorer that asks it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from resay._internal.strict import Strict
from resay.scorers.base import Restate, Unit

# With one of these parameters, equal names may be different models.
_PLACES = frozenset({"api_base", "base_url", "custom_llm_provider"})


class Doubtful(Strict):
    """The scores between which a claim is in doubt."""

    above: Unit = Field(default=0.15, description="Claims with scores up to this are not in doubt.")
    below: Unit = Field(
        default=0.85,
        description="Claims with scores from this on are contradicted, whatever the second"
        " model says.",
    )

    @model_validator(mode="after")
    def _must_be_in_order(self) -> Doubtful:
        if self.above > self.below:
            raise ValueError(
                f"above ({self.above!r}) must not be greater than below ({self.below!r})"
            )
        return self


class SecondOpinion(Strict):
    """The second model, and when and how to ask it."""

    model: str = Field(
        min_length=1,
        description="The model as litellm names it; not the one that writes the answers.",
    )
    params: dict[str, Any] = Field(
        default_factory=dict,
        repr=False,  # may contain a key
        description="Provider parameters: api_base, api_key, temperature, max_tokens, …",
    )
    ask: Literal["verification", "samples"] = Field(
        default="verification",
        description="What to ask the model: whether the claims are right, in one call"
        " (verification); or the same question as the first model, for samples that the chain's"
        " own method compares with (samples).",
    )
    samples: int = Field(
        default=1, ge=1, le=20, description="With `ask: samples`: the number of samples to draw."
    )
    share: Unit = Field(
        default=1.0,
        description="The share of the answers without doubtful claims to ask about too, selected by"
        " a hash of the conversation; 0 = ask only about answers in doubt.",
    )
    doubtful: Doubtful = Field(
        default=Doubtful.with_defaults(),
        description="The range of scores in which a claim is in doubt.",
    )
    weight: Unit = Field(
        default=0.5,
        description="The share of a claim's score that the model's support removes; 1 = its verdict"
        " alone decides.",
    )
    restate: Restate = True

    def is_model(self, other: str | None) -> bool:
        """Return whether a model is this one: the same name, with or without its provider."""
        if other is None or not _PLACES.isdisjoint(self.params):
            return False
        bare = self.model.rpartition("/")[2] == other.rpartition("/")[2]
        return self.model == other or (bare and not ("/" in self.model and "/" in other))
