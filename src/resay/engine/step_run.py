"""One step of a chain, running on some of the claims."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from resay._internal.plurals import counted
from resay._internal.telemetry import AttributeValue
from resay.core.scores import Scores
from resay.core.step_record import StepRecord
from resay.core.usage import Usage
from resay.engine.decision_reasons import TIMED_OUT
from resay.engine.state import RunState
from resay.providers.metering import Metered
from resay.scorers import Step
from resay.scorers.base import TEXTS_COMPARED
from resay.scorers.evidence import Evidence
from resay.scorers.judge_problems import JudgeProblems

_FOR_UNREAD = "name a larger model as the `judge`, or use `chain: [facts]`, which asks none"


class StepRun:
    """One step of a chain, running on some of the claims.

    Args:
        step: The step.
        state: The state of the chain's run.
        indices: The indices of the claims to score.
        evidence: The evidence of the check.
        alone: Whether they are those of one sentence, scored before the response is complete.

    Attributes:
        meter: Measures the usage of its judge.
        probe_meter: Measures the usage of its probes.
        unfinished: The partial results that a stopped scorer leaves.
        judge_problems: Why answers of its judges could not be used.
        skipped: Why the step is skipped, or None.
        completed: The scorer's result; None until it has returned.
    """

    def __init__(
        self, step: Step, state: RunState, indices: Sequence[int], evidence: Evidence, alone: bool
    ) -> None:
        self.alone = alone
        self.step = step
        self.state = state
        self.indices = indices
        self.evidence = evidence
        self.meter = Metered(evidence.judge_provider) if evidence.judge_provider else None
        self.probe_meter = Metered(evidence.prober.provider) if evidence.prober else None
        self.unfinished: list[Scores] = []
        self.judge_problems = JudgeProblems()
        self.skip_reason: str | None = None
        self.completed: Scores | None = None
        self._started = time.perf_counter()

    @property
    def scores(self) -> Scores:
        """The step's result; the partial result if it was stopped."""
        if self.completed is not None:
            return self._with_problems(self.completed)
        left = self.unfinished[-1] if self.unfinished else Scores()
        # A judge that gives no readable answer would give none in more time either.
        if left.error is not None and left.undetermined:
            return self._with_problems(left)
        return replace(left, error=TIMED_OUT)

    def _with_problems(self, scores: Scores) -> Scores:
        """Return scores that say what was wrong with the judges."""
        problems = self.judge_problems
        if scores.skip_reason is not None:
            return scores
        if scores.error is not None and scores.undetermined and problems.are_cuts:
            # Answers that end too early are not the judge's way of writing.
            cuts = [problem.reason for problem in problems.distinct()]
            return replace(scores, error="; ".join(cuts))
        lacks_scores = scores.error is not None or bool(scores.undecided)
        text = scores.error or scores.verdict_reason or ""
        reasons = [text] if text else []
        # A judge that never answers is named even where others answered in its place. The second
        # model's step says itself what it lacks.
        lasting = self.step.is_second or not lacks_scores
        for problem in problems.distinct(lasting=lasting):
            is_counted = scores.error is not None and problem.is_about_answer
            if is_counted and not problem.was_cut:
                continue
            reason = problem.reason_after(text)
            if reason is not None:
                reasons.append(reason)
        if scores.error is not None:
            if scores.undetermined and self.meter is not None and "samples" in self.step.needs:
                # One call is about many comparisons.
                reasons[0] += f" in {counted(self.meter.usage.calls, 'call')} of the judge"
                reasons.append(_FOR_UNREAD)
            return replace(scores, error="; ".join(reasons))
        return replace(scores, verdict_reason="; ".join(reasons) or None)

    @property
    def usage(self) -> Usage:
        """The usage of its judge's answers and its probes."""
        meters = (self.meter, self.probe_meter)
        return sum((meter.usage for meter in meters if meter is not None), Usage())

    @property
    def attributes(self) -> Mapping[str, AttributeValue]:
        """The attributes of its span."""
        usage, scores = self.usage, self.scores
        return {
            "resay.score": scores.passage_score,
            "resay.sentences": len(self.indices),
            "resay.skipped": self.skip_reason is not None,
            "resay.samples": len(self.evidence.samples),
            "resay.calls": usage.calls,
            "resay.cost_usd": usage.cost_usd,
            "resay.failures": len(scores.failures),
        }

    def record(self, scores: Scores) -> StepRecord:
        """Return the record of the step in the verdict.

        Args:
            scores: The step's result.
        """
        skip_reason = self.skip_reason
        if scores.skip_reason is not None:
            skip_reason = f"{self.step.name}: {scores.skip_reason}"
        return StepRecord(
            method=self.step.name,
            sentences=len(self.indices),
            score=scores.passage_score,
            usage=self.usage,
            elapsed_s=time.perf_counter() - self._started,
            failures=dict(Counter(scores.failures)),
            undetermined=scores.undetermined,
            error=scores.error,
            reason=scores.passage_reason,
            skip_reason=skip_reason,
            verdict_reason=scores.verdict_reason,
        )


def write_results(runs: Sequence[StepRun]) -> None:
    """Write the results of steps to the state of their run, in order."""
    for run in runs:
        result = run.scores
        scores = _with_evidence_named(result, run.step)
        run.state.write(run.step, run.indices, scores)
        run.state.record(run.step, run.indices, scores, run.record(result))


def _with_evidence_named(scores: Scores, step: Step) -> Scores:
    """Return scores whose reasons say what a step compared with, which its scorer does not know."""
    noun = "references" if step.compares_with_references else "samples"
    reasons = [reason and reason.replace(TEXTS_COMPARED, noun) for reason in scores.reasons]
    return replace(scores, reasons=tuple(reasons))
