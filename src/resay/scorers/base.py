"""What a scorer is, and the base of those that compare with one sample at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Protocol, runtime_checkable

import anyio
from pydantic import BaseModel, ConfigDict, Field, model_validator

from resay.evidence import Evidence, Sample
from resay.passage import Passage
from resay.verdict import Scores, mean_score, tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from resay.verdict import Contradiction

__all__ = [
    "Column",
    "Contradicts",
    "Need",
    "Prepares",
    "SampleConfig",
    "SampleScorer",
    "Scorer",
    "ScorerConfig",
    "Settle",
]

Need = Literal["samples", "judge", "references", "logprobs", "query", "scores"]
"""What a scorer must find in the evidence. One that needs `scores` corrects what the steps before
it found, and sees every sentence of the passage, settled or not."""

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

    @property
    def method_name(self) -> str:
        """The method's name, as in the policy."""
        return type(self).model_fields["method"].default

    @property
    def asks_response_model(self) -> bool:
        """Whether the step's judge is the model that wrote the response."""
        return False


class SampleConfig(ScorerConfig):
    """The base of steps that compare the passage with samples."""

    evidence: Literal["samples", "references"] = Field(
        default="samples",
        description="What the passage is compared with: the model's own samples, or the references"
        " supplied with the check in their place (SelfCheckGPT, section 7.3).",
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


@dataclass(frozen=True, slots=True)
class Column:
    """What comparing the passage with one sample gave.

    Attributes:
        scores: One score per sentence in [0, 1]; None where the comparison failed.
        failures: Kinds of failed calls, one per call.
        undetermined: Judge answers that could not be read.
        raw: The method's own unbounded entries where it has any, None where `scores` has it.
        passage: The score of the passage as a whole where the method has one.
    """

    scores: tuple[float | None, ...]
    failures: tuple[str, ...] = ()
    undetermined: int = 0
    raw: tuple[float | None, ...] = ()
    passage: float | None = None


class SampleScorer(ABC):
    """The base for methods that compare the passage with one sample at a time.

    A sentence's score is the mean of its entries over the samples' columns; where those have
    unbounded ones, the mean of these, clipped to [0, 1].
    """

    name: ClassVar[str]
    needs: frozenset[Need] = frozenset({"samples"})

    @abstractmethod
    async def compare(self, passage: Passage, sample: Sample, evidence: Evidence) -> Column:
        """Compare every sentence of the passage with one sample.

        Args:
            passage: The passage; its `sentences` are compared.
            sample: The sample.
            evidence: Everything else there is.

        Returns:
            One column, as long as `passage.sentences`.
        """

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Compare with every sample as it lands and average the columns.

        Args:
            passage: The passage; its `sentences` are scored.
            evidence: The samples, and whatever `compare` needs.

        Returns:
            Sentence scores and the columns they are the means of, in the samples' order.
        """
        columns: dict[int, Column] = {}

        async def compare_with(sample: Sample) -> None:
            columns[sample.index] = await self.compare(passage, sample, evidence)

        async with anyio.create_task_group() as tasks:
            async for sample in evidence.samples:
                tasks.start_soon(compare_with, sample)
        return _average([columns[i] for i in sorted(columns)], len(passage.sentences))


def _average(columns: list[Column], sentences: int) -> Scores:
    rows = [[column.scores[i] for column in columns] for i in range(sentences)]
    failures = tuple(failure for column in columns for failure in column.failures)
    undetermined = sum(column.undetermined for column in columns)
    means = [mean_score(row) for row in rows]
    raw = _raw_means(columns, sentences)
    if raw:
        means = [min(max(value, 0.0), 1.0) for value in raw]
    return Scores(
        sentences=tuple(means),
        passage=mean_score([column.passage for column in columns]),
        raw=raw,
        columns=tuple(column.scores for column in columns),
        why=tuple(_why(row) for row in rows),
        failures=failures,
        undetermined=undetermined,
        inconclusive=_why_inconclusive(rows, failures, undetermined),
    )


def _raw_means(columns: list[Column], sentences: int) -> tuple[float, ...]:
    means = [mean_score([c.raw[i] for c in columns if c.raw]) for i in range(sentences)]
    known = tuple(mean for mean in means if mean is not None)
    return known if len(known) == sentences else ()


def _why(row: list[float | None]) -> str | None:
    known = [score for score in row if score is not None]
    if not known:
        return None
    against = sum(score > 0.5 for score in known)
    return f"not supported by {against} of {len(known)} texts compared"


def _why_inconclusive(
    rows: list[list[float | None]], failures: tuple[str, ...], undetermined: int
) -> str | None:
    cells = [score for row in rows for score in row]
    # Without failures a missing entry means that the method has nothing to say there.
    missing = sum(score is None for score in cells) if failures else 0
    # With half of the comparisons gone, the mean of the rest is not the score of the method.
    if missing * 2 > len(cells):
        return f"{missing} of {len(cells)} comparisons failed ({tally(failures)})"
    if undetermined * 2 > len(cells):
        return f"{undetermined} of {len(cells)} judge answers were neither yes nor no"
    return None
