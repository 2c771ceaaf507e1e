"""Base classes of methods that combine other methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from resay._internal.strict import Imported, OneOf
from resay.core.passage import Passage
from resay.core.request import Request
from resay.core.scores import Scores, any_denied
from resay.errors import ConfigurationError
from resay.scorers.base import Need, ScorerConfig, ScorerTraits
from resay.scorers.common.judge_calls import ask_each
from resay.scorers.evidence import Evidence
from resay.scorers.step import ImportedConfig, Step, imported_config, registry


def _methods() -> Mapping[str, type[BaseModel]]:
    """Return the methods that can be a part: those that examine the evidence themselves."""
    return {name: scorer.Config for name, scorer in registry().items() if _scores_alone(scorer)}


def _scores_alone(scorer: type[Any]) -> bool:
    composite = issubclass(scorer.Config, CompositeConfig)
    return not composite and "scores" not in getattr(scorer, "needs", ())


def _imported(path: str) -> type[BaseModel]:
    config = imported_config(path)
    if not _scores_alone(config.scorer):
        raise ConfigurationError(f"{path!r} combines other methods, so it cannot be a part")
    return config


_IMPORTED = Imported(ImportedConfig, _imported)


class ScorerPart(BaseModel):
    """A method as a part of another."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    scorer: Annotated[ScorerConfig, OneOf("method", "method", _methods, imported=_IMPORTED)] = (
        Field(description="The method with its settings, written like a step of the chain.")
    )
    weight: float = Field(default=1.0, description="The factor by which its scores are multiplied.")

    @field_validator("scorer")
    @classmethod
    def _must_settle_nothing(cls, scorer: ScorerConfig) -> ScorerConfig:
        if scorer.settle is not None:
            raise ValueError(
                "a part cannot have `settle`; move it to the step that contains the part"
            )
        return scorer


PartT = TypeVar("PartT", bound=ScorerPart)


class CompositeConfig(ScorerConfig, Generic[PartT]):
    """Base class of the settings of methods that combine others."""

    parts: tuple[PartT, ...] = Field(
        min_length=1, strict=False, description="The methods to combine."
    )

    @property
    def asks_response_model(self) -> bool:
        """Whether any part's judge is the model that wrote the response."""
        return any(part.scorer.asks_response_model for part in self.parts)

    @property
    def reads_documents(self) -> bool:
        """Whether any part compares with all documents of the request."""
        return any(part.scorer.reads_documents for part in self.parts)

    @property
    def judge_requests(self) -> tuple[Request, ...]:
        """Requests without messages to the models that the parts name."""
        return tuple(request for part in self.parts for request in part.scorer.judge_requests)


@dataclass(frozen=True, slots=True)
class PartScores:
    """The scores of one part.

    Attributes:
        name: Name of its method.
        scores: Its scores.
    """

    name: str
    scores: Scores

    def has_lost(self, index: int) -> bool:
        """Return whether a sentence has no score because calls or their parsing failed."""
        scores = self.scores
        if scores.sentences:
            return index in scores.undecided
        return scores.passage is None and bool(scores.failures or scores.undetermined)


class Composite(ABC):
    """A method that combines the scores of its parts, which run concurrently.

    Args:
        parts: The parts, as its settings name them.

    Attributes:
        needs: Union of the needs of all parts.
        traits: How a chain may run it; it scores the whole text if all parts do.
    """

    def __init__(self, parts: Sequence[ScorerPart]) -> None:
        self._steps = tuple(Step.of(part.scorer) for part in parts)
        self.needs: frozenset[Need] = frozenset().union(*(step.needs for step in self._steps))
        self.traits = ScorerTraits(by_text=all(step.by_text for step in self._steps))

    @abstractmethod
    def values(self, parts: Sequence[Scores], sentence: int) -> list[float | None]:
        """Return what is added up for a sentence: a value of each part, None if it has none.

        Args:
            parts: The scores of each part.
            sentence: The index of the sentence; 0 for the passage if no part scores sentences.
        """

    @abstractmethod
    def combined(self, values: Sequence[Sequence[float | None]]) -> list[float | None]:
        """Return the score of each sentence of a passage.

        Args:
            values: The values of each sentence.
        """

    async def prepare(self) -> None:
        """Load the resources of the parts now instead of on first use."""
        for step in self._steps:
            await step.prepare()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Score with every part, and combine the scores.

        Args:
            passage: The passage; its `sentences` are scored.
            evidence: The evidence that the parts need.

        Returns:
            Sentence scores, or a passage score if no part scores sentences; inconclusive if any
            part is.
        """
        parts = await self._scores_of_parts(passage, evidence)
        sentences: tuple[float | None, ...] = ()
        whole: float | None = None
        if any(part.scores.sentences for part in parts):
            sentences = tuple(self._combined(parts, len(passage.sentences)))
        else:
            (whole,) = self._combined(parts, 1)
        lost = [
            index
            for index, score in enumerate(sentences)
            if score is None and any(part.has_lost(index) for part in parts)
        ]
        errors = [f"{part.name}: {part.scores.error}" for part in parts if part.scores.error]
        return Scores(
            sentences=sentences,
            passage=whole,
            reasons=tuple(_reason(parts, index) for index in range(len(sentences))),
            passage_reason=_reason(parts, None),
            failures=tuple(failure for part in parts for failure in part.scores.failures),
            lost=tuple(lost),
            unanswered=_unanswered(parts, sentences),
            undetermined=sum(part.scores.undetermined for part in parts),
            error=", ".join(errors) or None,
            denied=any_denied([part.scores.denied for part in parts]),
        )

    def _combined(self, parts: Sequence[PartScores], sentences: int) -> list[float | None]:
        scores = [part.scores for part in parts]
        return self.combined([self.values(scores, index) for index in range(sentences)])

    async def _scores_of_parts(self, passage: Passage, evidence: Evidence) -> list[PartScores]:
        # A stopping rule for the entries of one method does not apply to a sum of several.
        evidence = replace(evidence, stopping=None, partial_scores=[])

        async def score_with(step: Step) -> PartScores:
            view = step.view(evidence, evidence.judge_provider)
            return PartScores(step.name, await step.run(passage, view))

        return await ask_each(self._steps, score_with)


def _reason(parts: Sequence[PartScores], index: int | None) -> str:
    """Return the score that each part gives a sentence, or for None the passage."""
    reasons: list[str] = []
    for part in parts:
        score = part.scores.passage_score if index is None else part.scores.of_sentence(index)
        reasons.append(f"{part.name} {'?' if score is None else f'{score:.2f}'}")
    return ", ".join(reasons)


def _unanswered(
    parts: Sequence[PartScores], sentences: Sequence[float | None]
) -> tuple[str | None, ...]:
    """Return for each sentence without a score why a part still has a question about it."""
    asking = [part.scores.unanswered for part in parts if part.scores.unanswered]
    if not asking:
        return ()
    reasons: list[str | None] = []
    for index, score in enumerate(sentences):
        of_parts = [unanswered[index] for unanswered in asking if unanswered[index] is not None]
        reasons.append(of_parts[0] if of_parts and score is None else None)
    return tuple(reasons)
