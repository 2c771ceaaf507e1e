"""The record of one step of the chain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from resay.core.scores import mean_score
from resay.core.usage import Usage


@dataclass(frozen=True, slots=True)
class StepRecord:
    """The record of one step of the chain.

    Attributes:
        method: The scorer's name.
        sentences: The number of sentences that it was given.
        score: Its passage score over those sentences.
        usage: The cost of its judge's answers and its probes. A retried call counts once here, and
            every time in the verdict's usage.
        elapsed_s: Wall-clock seconds, including the wait for samples.
        failures: Kinds of failed calls, with their counts.
        undetermined: Number of judge answers that could not be parsed.
        error: Why the step's scores were not used, or None.
        reason: The reason for a passage score in one line, or None. Contains words of the response.
        skip_reason: Why the step was skipped, by its `when` or because it had nothing to do; or
            None.
        verdict_reason: A phrase without content for the verdict's reason, or None.
    """

    method: str
    sentences: int
    score: float | None = None
    usage: Usage = field(default_factory=Usage)
    elapsed_s: float = 0.0
    failures: dict[str, int] = field(default_factory=dict[str, int])
    undetermined: int = 0
    error: str | None = None
    reason: str | None = None
    skip_reason: str | None = None
    verdict_reason: str | None = None

    @classmethod
    def joined(cls, records: Sequence[StepRecord]) -> StepRecord:
        """Merge the records of one step's concurrent runs, one for each sentence.

        Args:
            records: The records of the runs, at least one.
        """
        failures: Counter[str] = Counter()
        for record in records:
            failures.update(record.failures)
        skip_reasons = [record.skip_reason for record in records]
        all_reasons = [record.verdict_reason for record in records if record.verdict_reason]
        verdict_reasons = dict.fromkeys(all_reasons)
        return cls(
            method=records[0].method,
            sentences=sum(record.sentences for record in records),
            score=mean_score([record.score for record in records]),
            usage=sum((record.usage for record in records), Usage()),
            elapsed_s=max(record.elapsed_s for record in records),
            failures=dict(failures),
            undetermined=sum(record.undetermined for record in records),
            error=next((record.error for record in records if record.error is not None), None),
            skip_reason=skip_reasons[0] if all(skip_reasons) else None,
            verdict_reason="; ".join(verdict_reasons) or None,
        )
