"""Shared code of methods that combine other methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Generic, TypeVar

import anyio
from pydantic import BaseModel, ConfigDict, Field, field_validator

from resay._internal.strict import Imported, OneOf
from resay.core.passage import Passage
from resay.core.verdict import Scores
from resay.errors import ConfigurationError
from resay.scorers.base import Need, ScorerConfig
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


class Part(BaseModel):
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


PartT = TypeVar("PartT", bound=Part)


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
    def named_judge(self) -> str | None:
        """The first model that a part names as its judge, or None."""
        return next((j for part in self.parts if (j := part.scorer.named_judge)), None)


@dataclass(frozen=True, slots=True)
class PartScores:
    """The scores of one part.

    Attributes:
        name: Name of its method.
        scores: Its scores.
    """

    name: str
    scores: Scores

    def of_sentence(self, i: int) -> float | None:
        """Return a sentence's score, or the passage score if the method scores only passages."""
        return self.scores.sentences[i] if self.scores.sentences else self.scores.passage

    def value_of_sentence(self, i: int) -> float | None:
        """Return the same as the method's own unbounded value, if it has one."""
        return self.scores.values[i] if self.scores.sentences else self.scores.passage_value


class Parts:
    """The parts of a composite method, run concurrently.

    Args:
        configs: The settings of each part.

    Attributes:
        needs: Union of the needs of all parts.
        by_text: Whether all parts score the whole text.
    """

    def __init__(self, configs: Iterable[ScorerConfig]) -> None:
        self._steps = tuple(map(Step.of, configs))
        self.needs: frozenset[Need] = frozenset().union(*(step.needs for step in self._steps))
        self.by_text = all(step.by_text for step in self._steps)

    async def prepare(self) -> None:
        """Load the resources of the parts now instead of on first use."""
        for step in self._steps:
            await step.prepare()

    async def score(self, passage: Passage, evidence: Evidence) -> tuple[PartScores, ...]:
        """Score a passage with all parts concurrently.

        Args:
            passage: The passage; its `sentences` are scored.
            evidence: The evidence.

        Returns:
            One result for each part, in order.
        """
        results: dict[int, PartScores] = {}
        # A stopping rule for the entries of one method does not apply to a sum of several.
        evidence = replace(evidence, stopping=None, partial_scores=[])

        async def run(i: int, step: Step) -> None:
            scores = await step.run(passage, step.view(evidence, evidence.judge_provider))
            results[i] = PartScores(step.name, scores)

        async with anyio.create_task_group() as tasks:
            for i, step in enumerate(self._steps):
                tasks.start_soon(run, i, step)
        return tuple(results[i] for i in sorted(results))


def joined(
    results: Sequence[PartScores], sentences: Sequence[float | None], passage: float | None
) -> Scores:
    """Combine the results of parts into one set of scores.

    Args:
        results: The result of each part.
        sentences: The combined sentence scores; empty if all parts score only passages.
        passage: The combined passage score; None for the mean of the sentence scores.

    Returns:
        The scores with the failures of all parts, inconclusive if any part is.
    """
    why = [_why((r.name, r.of_sentence(i)) for r in results) for i in range(len(sentences))]
    reasons = [f"{r.name}: {r.scores.inconclusive}" for r in results if r.scores.inconclusive]
    return Scores(
        sentences=tuple(sentences),
        passage=passage,
        why=tuple(why),
        why_passage=_why((r.name, r.scores.passage_score) for r in results),
        failures=tuple(failure for r in results for failure in r.scores.failures),
        undetermined=sum(r.scores.undetermined for r in results),
        inconclusive=", ".join(reasons) or None,
    )


def _why(scores: Iterable[tuple[str, float | None]]) -> str:
    return ", ".join(f"{name} {'?' if s is None else f'{s:.2f}'}" for name, s in scores)


def only_passages(results: Sequence[PartScores]) -> bool:
    """Return whether no part scores sentences."""
    return not any(r.scores.sentences for r in results)
