"""A scorer with its place in a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from resay.core.passage import Passage
from resay.core.query import Query
from resay.core.verdict import Contradiction, EvidenceKind, Scores
from resay.errors import ConfigurationError, ScorerError
from resay.providers.base import Provider
from resay.scorers.base import (
    Contradicts,
    Corrects,
    Need,
    Prepares,
    SampleConfig,
    Scorer,
    ScorerConfig,
)
from resay.scorers.evidence import Evidence
from resay.scorers.lookup import build

__all__ = ["Step"]


@dataclass(frozen=True, slots=True)
class Step:
    """A scorer and how the policy uses it.

    Attributes:
        config: What the policy says.
        scorer: The scorer it describes.
    """

    config: ScorerConfig
    scorer: Scorer

    @classmethod
    def of(cls, config: ScorerConfig) -> Step:
        """Build the scorer a configuration describes.

        Raises:
            ConfigurationError: No registered scorer has this configuration.
        """
        return cls(config, build(config))

    @property
    def name(self) -> str:
        """The method's name."""
        return self.scorer.name

    @property
    def corrects(self) -> bool:
        """Whether it corrects the scores of the steps before it."""
        return "scores" in self.scorer.needs

    @property
    def adapts(self) -> bool:
        """Whether it draws only as many samples as a stopping rule asks for."""
        return getattr(self.scorer, "adapts", False) and self.source == "sample"

    @property
    def stops(self) -> bool:
        """Whether it stops comparing when a stopping rule says so."""
        return getattr(self.scorer, "stops", False) and self.source == "sample"

    @property
    def whole(self) -> bool:
        """Whether it scores the passage as a whole, or sentences by what stands around them.

        Such a step has to wait for the end of a response that is still being written.
        """
        return not getattr(self.scorer, "by_sentence", False)

    @property
    def by_text(self) -> bool:
        """Whether its passage score is of the whole text, with what in it is no sentence."""
        return getattr(self.scorer, "by_text", False)

    @property
    def foresees(self) -> bool:
        """Whether it can tell beforehand what it would make of scores."""
        return isinstance(self.scorer, Corrects)

    def corrected(self, scores: list[float | None]) -> list[float | None]:
        """Return what a correction would make of the scores of all sentences."""
        return self.scorer.corrected(scores) if isinstance(self.scorer, Corrects) else scores

    @property
    def source(self) -> EvidenceKind:
        """What the passage is compared with."""
        only_references = "references" in self.needs and "samples" not in self.needs
        return "reference" if only_references else "sample"

    @property
    def needs(self) -> frozenset[Need]:
        """What the scorer needs, references in place of samples where the policy says so."""
        needs = set(self.scorer.needs)
        if self._uses_references:
            needs.discard("samples")
            needs.add("references")
        return frozenset(needs)

    def view(self, evidence: Evidence, judge: Provider | None) -> Evidence:
        """Return the evidence as this step sees it.

        Args:
            evidence: All there is.
            judge: Who answers for this step's judges.
        """
        samples = evidence.references if self._uses_references else evidence.samples
        return replace(evidence, samples=samples, judge_provider=judge)

    async def skip(self, query: Query | None, passage: Passage) -> str | None:
        """Return why the policy's `when` leaves this step out, or None.

        Args:
            query: What the response answers.
            passage: The passage; its `sentences` are to be scored.
        """
        when = self.config.when
        if when is None:
            return None
        reason = when.before(query) or await when.after(query, passage)
        return reason and f"{self.name}: {reason}"

    async def run(self, passage: Passage, evidence: Evidence) -> Scores:
        """Score a passage; a scorer that breaks costs its scores and nothing else.

        Args:
            passage: The passage; its `sentences` are scored.
            evidence: The evidence as this step sees it.

        Returns:
            The scores; empty ones that say why in `inconclusive` when the scorer failed.
        """
        try:
            scores = await self.scorer.score(passage, evidence)
        # A method that breaks must not cost the user the answer, whoever wrote the method.
        except Exception as error:
            return Scores(inconclusive=f"it failed ({_what(error)})")
        if scores.sentences and len(scores.sentences) != len(passage.sentences):
            return Scores(inconclusive="it returned the wrong number of scores")
        return scores

    async def prepare(self) -> None:
        """Load what the scorer would otherwise load at its first use.

        Raises:
            ConfigurationError: It cannot be had as configured.
            ScorerError: It does not answer.
        """
        if isinstance(self.scorer, Prepares):
            await self.scorer.prepare()

    @property
    def contradicts(self) -> bool:
        """Whether the scorer says what contradicts a sentence."""
        return isinstance(self.scorer, Contradicts)

    async def contradiction(
        self, sentence: str, evidence: Evidence, scores: Sequence[float | None]
    ) -> Contradiction | None:
        """Return what the scorer says contradicts a sentence; see `Contradicts`."""
        if not isinstance(self.scorer, Contradicts):
            return None
        try:
            found = await self.scorer.contradiction(sentence, self.view(evidence, None), scores)
        # The verdict stands without it, and words are compared instead.
        except Exception:
            return None
        return found and replace(found, source=self.source)

    @property
    def _uses_references(self) -> bool:
        return isinstance(self.config, SampleConfig) and self.config.evidence == "references"


def _what(error: Exception) -> str:
    # Task groups wrap what happened in them; the first error inside is the telling one.
    inner: BaseException = error
    while nested := getattr(inner, "exceptions", ()):
        inner = nested[0]
    # Only our own messages are sure to hold no word of the response.
    told = isinstance(inner, (ConfigurationError, ScorerError))
    return f"{type(inner).__name__}: {inner}" if told else type(inner).__name__
