"""What a scorer is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field, model_validator

from resay.core.passage import Passage
from resay.core.verdict import Scores
from resay.scorers.evidence import Evidence
from resay.scorers.gate import When

if TYPE_CHECKING:
    from collections.abc import Sequence

    from resay.core.verdict import Contradiction

Need = Literal["samples", "judge", "references", "logprobs", "sample_logprobs", "query", "scores"]
"""What a scorer must find in the evidence. One that needs `scores` corrects what the steps before
it found, and sees every sentence of the passage, settled or not. One that needs `sample_logprobs`
has samples drawn with the probabilities of their tokens."""

Unit = Annotated[float, Field(ge=0, le=1)]


class Settle(BaseModel):
    """The scores a step may settle for good; the sentences between them go on to the next step."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    below: Unit | None = Field(default=None, description="Scores under this are settled.")
    above: Unit | None = Field(default=None, description="Scores over this are settled.")

    @model_validator(mode="after")
    def _must_leave_a_band(self) -> Settle:
        if self.below is not None and self.above is not None and self.below > self.above:
            raise ValueError(
                f"below ({self.below!r}) must not be greater than above ({self.above!r})"
            )
        return self

    @property
    def edges(self) -> tuple[float, ...]:
        """The scores at which the fate of a sentence changes, ascending."""
        return tuple(edge for edge in (self.below, self.above) if edge is not None)

    def settles(self, score: float | None) -> bool:
        """Return whether a sentence with this score needs no further step."""
        if score is None:
            return False
        return (self.below is not None and score < self.below) or (
            self.above is not None and score > self.above
        )


class ScorerConfig(BaseModel):
    """The base of every step in a policy's chain.

    A scorer's own `Config` adds a `method` field, a literal with its name, and its settings.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    settle: Settle | None = Field(
        default=None,
        description="Which sentences this step settles; the others go on to the next step.",
    )

    when: When | None = Field(
        default=None, description="What this step is worth its price for; null = everything."
    )

    @property
    def method_name(self) -> str:
        """The method's name, as in the policy and in verdicts."""
        return type(self).model_fields["method"].default

    @property
    def asks_response_model(self) -> bool:
        """Whether the step's judge is the model that wrote the response."""
        return False

    @property
    def named_judge(self) -> str | None:
        """The model that the step names as its judge, or None."""
        return None


class SampleConfig(ScorerConfig):
    """The base of steps that compare the passage with samples."""

    evidence: Literal["auto", "samples", "references"] = Field(
        default="auto",
        description="What the passage is compared with: the references of the request first, where"
        " it has any, and the model's own samples for what they leave open (auto); samples alone;"
        " or the references in the place of samples (SelfCheckGPT, section 7.3).",
    )


class Scorer(Protocol):
    """One published method.

    A class registered as a scorer also has a `Config`, a `ScorerConfig` whose `method` is its
    name, and is built from it: `MyScorer(MyScorer.Config(...))`. It keeps no state between calls:
    one scorer serves concurrent checks.
    """

    name: str
    needs: frozenset[Need]

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Score `passage.sentences`.

        Args:
            passage: The text; only its `sentences` are to be scored, the rest is context.
            evidence: Samples, references and judges.

        Returns:
            Scores with one entry per sentence, or a passage score, or both.

        Raises:
            ScorerError: The method cannot say anything at all.
        """
        ...


@runtime_checkable
class Prepares(Protocol):
    """A scorer that has something to load before its first use."""

    async def prepare(self) -> None:
        """Load what the first check would otherwise wait for.

        Raises:
            ConfigurationError: It cannot be had as configured.
            ScorerError: It does not answer.
        """
        ...


@runtime_checkable
class Corrects(Protocol):
    """A correction that can tell what it would make of scores, without asking anybody."""

    def corrected(self, scores: Sequence[float | None]) -> list[float | None]:
        """Return the corrected scores, one for each sentence of the whole passage."""
        ...


@runtime_checkable
class Contradicts(Protocol):
    """A scorer that knows better than a comparison of words what contradicts a sentence."""

    async def contradiction(
        self, sentence: str, evidence: Evidence, scores: Sequence[float | None]
    ) -> Contradiction | None:
        """Find what contradicts a flagged sentence most.

        Args:
            sentence: The sentence.
            evidence: What it was compared with, in `samples`.
            scores: Its entries in the columns this scorer gave, one for each sample in order.

        Returns:
            What is said instead; None where nothing contradicts it.
        """
        ...
