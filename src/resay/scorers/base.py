"""The interface of scorers, and the base classes of their settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, cast, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field, model_validator

from resay._internal.lazy_types import lazy_type
from resay._internal.strict import DEFERS_BUILD, LazySection, Shorthand
from resay.core.passage import Passage
from resay.core.request import Request
from resay.core.scores import Scores

if TYPE_CHECKING:
    from resay.core.contradiction import Contradiction, EvidenceKind
    from resay.scorers.evidence import Evidence
    from resay.scorers.gate import When
else:
    Contradiction = lazy_type("resay.core.contradiction", "Contradiction")
    EvidenceKind = lazy_type("resay.core.contradiction", "EvidenceKind")
    Evidence = lazy_type("resay.scorers.evidence", "Evidence")
    When = Annotated[Any, LazySection("resay.scorers.gate:When")]

Need = Literal[
    "samples", "judge", "references", "logprobs", "sample_logprobs", "question", "scores"
]
"""Evidence that a scorer requires. A scorer that needs `scores` corrects the scores of the previous
steps, and sees every sentence of the passage, settled or not. For one that needs `sample_logprobs`,
samples are drawn with the probabilities of their tokens."""

TEXTS_COMPARED = "texts compared"
"""What a scorer compares with, in its reasons: its step calls them samples or references."""
Unit = Annotated[float, Field(ge=0, le=1)]

Restate = Annotated[
    bool,
    Field(
        description="Whether to ask once more, with the format restated, if an answer cannot be"
        " parsed."
    ),
]
"""Whether a model whose answer cannot be parsed is asked once more."""
WordsFirst = Annotated[
    bool,
    Field(
        description="With documents: let words settle what a document has word for word, or with"
        " another number, before a model is asked."
    ),
]
"""Whether words settle what is plain before a model is asked."""


class Settle(BaseModel):
    """The scores that a step settles; sentences with scores in between go on to the next step."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=DEFERS_BUILD)

    below: Unit | None = Field(default=None, description="Scores below this are settled.")
    above: Unit | None = Field(default=None, description="Scores above this are settled.")

    @model_validator(mode="after")
    def _must_leave_a_band(self) -> Settle:
        if self.below is not None and self.above is not None and self.below > self.above:
            raise ValueError(
                f"below ({self.below!r}) must not be greater than above ({self.above!r})"
            )
        return self

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The scores at which the treatment of a sentence changes, ascending."""
        return tuple(edge for edge in (self.below, self.above) if edge is not None)

    def settles(self, score: float | None) -> bool:
        """Return whether a sentence with this score needs no further step."""
        if score is None:
            return False
        return (self.below is not None and score < self.below) or (
            self.above is not None and score > self.above
        )


class ScorerConfig(BaseModel):
    """Base class of the steps in a policy's chain.

    A scorer's own `Config` adds a `method` field, a literal with its name, and its settings.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=DEFERS_BUILD)

    settle: Annotated[Settle | None, Shorthand("below", kind="number")] = Field(
        default=None,
        description="The scores that this step settles; sentences with other scores go on to the"
        " next step. A number is short for `below`.",
    )

    when: When | None = Field(
        default=None, description="The responses that justify the cost of this step; null = all."
    )

    @property
    def method_name(self) -> str:
        """The method's name, as in policies and verdicts."""
        return type(self).model_fields["method"].default

    @property
    def asks_response_model(self) -> bool:
        """Whether the step's judge is the model that wrote the response."""
        return False

    @property
    def reads_documents(self) -> bool:
        """Whether the step compares with all documents of the request, wherever they are in it."""
        return False

    @property
    def named_judge(self) -> str | None:
        """The model that the step names as its judge, or None."""
        return next((request.model for request in self.judge_requests), None)

    @property
    def judge_requests(self) -> tuple[Request, ...]:
        """Requests without messages to the models that the step names, with their parameters."""
        return ()


NO_DOCUMENTS = "the request has no documents to compare with"
"""The error of a step that compares with documents where there are none."""


class SampleConfig(ScorerConfig):
    """Base class of steps that compare the passage with samples."""

    evidence: Literal["auto", "samples", "documents", "references"] = Field(
        default="auto",
        description="What to compare with: references, then samples for what these leave open"
        " (auto); samples; or in their place (SelfCheckGPT, section 7.3) the request's documents,"
        " or only references that are passed.",
    )

    @property
    def reads_documents(self) -> bool:
        """Whether the step compares with all documents of the request, wherever they are in it."""
        return self.evidence == "documents"

    @property
    def replaces_samples(self) -> bool:
        """Whether documents or references take the place of samples."""
        return self.evidence in ("documents", "references")


def require_documents(words_first: bool, evidence: str) -> None:
    """Refuse a step that lets words settle claims first but compares with no documents.

    Args:
        words_first: Its setting.
        evidence: What it compares with.

    Raises:
        ValueError: It would have no effect.
    """
    if words_first and evidence != "documents":
        raise ValueError(
            f"`words_first` is for `evidence: documents`, not {evidence!r}; omit one of them"
        )


def with_conversation_settled(data: object) -> object:
    """Return a step's settings so that no later step scores what contradicts an earlier answer.

    Args:
        data: The settings; those with a `settle` of their own stay as they are.
    """
    settings = cast("Mapping[str, object]", data if isinstance(data, Mapping) else {})
    if settings.get("evidence") == "conversation" and "settle" not in settings:
        return {**settings, "settle": Settle(above=0.5)}
    return cast("object", data)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerTraits:
    """How a chain may run a scorer, besides what the scorer needs.

    Attributes:
        source: The kind of evidence it compares with; None for references if it needs those and no
            samples, else for samples.
        by_sentence: Whether a sentence's score depends on nothing else in the passage, so that the
            sentences of a stream can be scored as they arrive.
        by_text: Whether its passage score covers the whole text, including parts outside sentences.
        stops: Whether it stops comparing when the evidence's stopping rule says so.
        adapts: Whether it draws only as many samples as that rule asks for.
        contradicts_at_once: Whether its `contradiction` returns without waiting for anything.
        beside_calls: Whether it also scores the text beside tool calls, which others leave
            unchecked.
    """

    source: EvidenceKind | None = None
    by_sentence: bool = False
    by_text: bool = False
    stops: bool = False
    adapts: bool = False
    contradicts_at_once: bool = False
    beside_calls: bool = False


class Scorer(Protocol):
    """One published method.

    A class registered as a scorer also has a `Config`, a `ScorerConfig` whose `method` is its
    name, and is built from it: `MyScorer(MyScorer.Config(...))`. It keeps no state between calls,
    because one scorer serves concurrent checks.

    A scorer may also implement `Prepares`, `Skips`, `Corrects` and `Contradicts`.

    Attributes:
        name: Its name in verdicts.
        needs: The evidence it requires.
        traits: How a chain may run it. A plug-in may omit them; it then has the defaults.
    """

    name: str
    needs: frozenset[Need]
    traits: ScorerTraits

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Score `passage.sentences`.

        Args:
            passage: The text; score only its `sentences`, the rest is context.
            evidence: Samples, references and judges.

        Returns:
            Scores with one entry per sentence, or a passage score, or both.

        Raises:
            ScorerError: The method cannot score anything.
        """
        ...


@runtime_checkable
class Prepares(Protocol):
    """A scorer that loads something before its first use."""

    async def prepare(self) -> None:
        """Load models and the like now, so that the first check need not wait for them.

        Raises:
            ConfigurationError: They cannot be loaded as configured.
            ScorerError: They do not respond.
        """
        ...


@runtime_checkable
class Skips(Protocol):
    """A scorer that has nothing to do for some passages."""

    def skip_reason(self, passage: Passage, evidence: Evidence) -> str | None:
        """Return why the passage need not be scored, or None.

        Args:
            passage: The passage; its `sentences` would be scored.
            evidence: Samples, references, and the scores of earlier steps.
        """
        ...


@runtime_checkable
class FindsClaims(Protocol):
    """A scorer that finds claims in sentences that look as if they claimed nothing."""

    def claims(self, sentence: str) -> bool:
        """Return whether a sentence claims something that the scorer is about."""
        ...


@runtime_checkable
class Corrects(Protocol):
    """A correction that can be computed from scores alone, without any calls."""

    def corrected(self, scores: Sequence[float | None]) -> list[float | None]:
        """Return the corrected scores, one for each sentence of the whole passage."""
        ...


@runtime_checkable
class Contradicts(Protocol):
    """A scorer that finds contradictions of a sentence better than a comparison of words."""

    async def contradiction(
        self, sentence: str, evidence: Evidence, scores: Sequence[float | None]
    ) -> Contradiction | None:
        """Find the strongest contradiction of a flagged sentence.

        Args:
            sentence: The sentence.
            evidence: The evidence, with the texts it was compared with in `samples`.
            scores: Its entries in this scorer's columns, one for each sample in order.

        Returns:
            The contradiction; None if nothing contradicts the sentence.
        """
        ...
