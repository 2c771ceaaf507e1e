"""Which decision the scores of a chain lead to, and the reason for it in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from resay._internal.plurals import counted
from resay.core.decision import Band, Decision
from resay.core.failures import failure_kind, tally
from resay.core.scores import digits_to_tell, over
from resay.core.step_record import StepRecord
from resay.engine.state import RunState
from resay.policy import Policy
from resay.scorers.evidence import Evidence

TIMED_OUT = "it did not finish in time"
"""The error of a step stopped by the deadline."""


@dataclass(frozen=True, slots=True)
class DecisionReasons:
    """The decisions on responses by a policy, with their reasons.

    Attributes:
        policy: The policy.
        compares: Whether the chain compares with samples.
        refers: Whether it compares with references.
        structured: Whether it checks the fields of objects.
    """

    policy: Policy
    compares: bool
    refers: bool
    structured: bool

    def decision(
        self,
        state: RunState,
        evidence: Evidence,
        bands: Counter[Band | None],
        *,
        in_doubt: Collection[int],
        flagged: Collection[int],
        flagged_names: int,
    ) -> tuple[Decision, str]:
        """Return the decision on a response whose scores allow one, and the reason.

        Args:
            state: The chain's results.
            evidence: The evidence it used.
            bands: How many sentences are in each band.
            in_doubt: The claims without a reliable score.
            flagged: The flagged claims.
            flagged_names: How many names in code are flagged.
        """
        # A flagged sentence is decided, whatever else it claims.
        undecided = state.sentences(in_doubt) - state.sentences(flagged)
        score = state.lowest_score(in_doubt)
        basis = self._basis(state, evidence)
        lack = "scored"
        if undecided and undecided <= state.sentences(state.uncompared):
            lack = "compared with the references"
        units = counted(len(state.claiming), self.unit)
        gap = f"{len(undecided)} of {units} could not be {lack}"
        gap += self._unanswered(state)
        exceeded = self._exceeded(state, score, bands, flagged_names)
        if exceeded:
            return "flagged", ", ".join(exceeded) + basis + (f"; {gap}" if undecided else "")
        if undecided:
            reason = self._undecided(state.decisive, evidence)
            return "inconclusive", reason or self._unconfirmed(state, evidence) or gap
        if state.score is None and state.names_score is None:
            return "inconclusive", "no method of the chain returned a score"
        met = self._met(state, score)
        if not met:
            decision, reason = (
                "inconclusive",
                "the chain scored only the passage, and `threshold.passage` is null",
            )
        else:
            decision, reason = "consistent", ", ".join(met) + basis
        doubtful = bands["doubtful"]
        if doubtful:
            reason += f"; {doubtful} of {units} doubtful"
        return decision, reason

    def _exceeded(
        self, state: RunState, score: float, bands: Counter[Band | None], flagged_names: int
    ) -> list[str]:
        """Return the thresholds that are exceeded."""
        threshold = self.policy.threshold
        exceeded: list[str] = []
        if threshold.passage is not None and over(score, threshold.passage):
            digits = digits_to_tell(score, threshold.passage)
            exceeded.append(f"passage {score:.{digits}f} > {threshold.passage:.{digits}f}")
        flagged = bands["unsupported"] + bands["contradicted"]
        if flagged:
            units = counted(len(state.claiming), self.unit)
            exceeded.append(f"{flagged} of {units} > {threshold.sentence:.2f}")
        if flagged_names:
            names = _count_of_names(state)
            exceeded.append(f"{flagged_names} of {names} in code > {threshold.sentence:.2f}")
        return exceeded

    def _met(self, state: RunState, score: float) -> list[str]:
        """Return the thresholds that nothing exceeds, of those that something is compared with."""
        threshold = self.policy.threshold
        met: list[str] = []
        if state.score is not None and threshold.passage is not None:
            met.append(f"passage {score:.2f} <= {threshold.passage:.2f}")
        if threshold.sentence is None:
            return met
        if any(result.score is not None for result in state.results):
            met.append(f"every {self.unit} <= {threshold.sentence:.2f}")
        elif state.names_score is not None:
            met.append(f"every name in code <= {threshold.sentence:.2f}")
        return met

    @property
    def unit(self) -> Literal["field", "sentence"]:
        """What is scored, in words."""
        return "field" if self.structured else "sentence"

    def skip_reason(self, state: RunState) -> str | None:
        """Return why a response was not worth checking, or None."""
        reasons = [step.skip_reason for step in state.steps if step.skip_reason]
        if state.results and reasons and len(reasons) == len(state.steps):
            return reasons[0]
        if state.names_score is not None:
            return None
        kinds = sorted({claim.kind for claim in state.claims})
        # An answer that does nothing but name sources answers by that.
        if state.results and not state.claiming and "source" not in kinds:
            return f"the response claims nothing ({', '.join(kinds)})"
        if not state.results and {piece.kind for piece in state.passage.unscored()} == {"code"}:
            return "the response is only code"
        return None

    def obstacle(self, state: RunState, evidence: Evidence) -> str | None:
        """Return why no decision at all is possible, or None."""
        if not state.results and state.names_score is None:
            return f"there is no {self.unit} to score in the response"
        if self.refers and not len(evidence.references):
            return "no references found to compare with"
        # Claims that references decided need no samples.
        needs_samples = self.compares and any(
            i not in state.excluded and not result.needs_no_samples
            for i, result in enumerate(state.results)
        )
        problem = self.samples_problem(evidence) if needs_samples else None
        # If samples are missing because time ran out, report the deadline.
        if problem and any(step.error == TIMED_OUT for step in state.steps):
            return self._timeout(evidence)
        return problem

    def samples_problem(self, evidence: Evidence) -> str | None:
        """Return why the samples prove nothing, or None."""
        samples, minimum = evidence.samples, self.policy.sampling.min
        if len(samples) < minimum:
            usable = counted(len(samples), "usable sample")
            problem = f"only {usable}; `sampling.min` is {minimum}"
            failures = tally(failure_kind(error) for error in samples.failures)
            return f"{problem}; failed: {failures}" if failures else problem
        # Small objects may well be identical; prose may not.
        if samples.all_identical and (samples.are_fixed or not self.structured):
            return (
                f"all {len(samples)} samples are identical, so their agreement proves nothing;"
                " check for a cache, a fixed seed or greedy decoding, such as a temperature of 0"
            )
        return None

    def _basis(self, state: RunState, evidence: Evidence) -> str:
        """Return what the response was compared with."""
        by_samples = ""
        if self.compares:
            count, available = len(evidence.samples), evidence.samples.available
            by_samples = f" with {counted(count, 'sample')}"
            if count < available:
                by_samples = f" after {count} of {available} samples"
        scored = [result for result in state.results if result.score is not None]
        if scored and all(result.needs_no_samples for result in scored):
            by_samples = ""
        basis = by_samples
        if any(result.is_grounded for result in scored):
            count = len(evidence.sources)
            basis = f" by {counted(count, 'reference')}{by_samples}"
        if state.names_score is not None:
            basis += f"; compared: {_count_of_names(state)} in code"
        return basis

    def _undecided(self, decisive: StepRecord | None, evidence: Evidence) -> str | None:
        """Return what went wrong in the step that was meant to decide, or None."""
        if decisive is None or decisive.error is None:
            return None
        if decisive.error == TIMED_OUT:
            return self._timeout(evidence)
        return f"{decisive.method}: {decisive.error}"

    def _unanswered(self, state: RunState) -> str:
        """Return why questions about claims that samples do not mention have no answer."""
        reasons: set[str] = set()
        claims: list[int] = []
        for i, result in enumerate(state.results):
            if result.unanswered is not None:
                reasons.add(result.unanswered)
                claims.append(i)
        if not reasons:
            return ""
        count = len(state.sentences(claims))
        return f": most samples do not mention {count} of them, and {', '.join(sorted(reasons))}"

    def _unconfirmed(self, state: RunState, evidence: Evidence) -> str | None:
        """Return why claims have no second opinion, if nothing else is missing."""
        records = [record for step, record in state.done if step.is_second]
        if state.undecided or not records:
            return None
        record = records[-1]
        return self._undecided(record, evidence) or record.verdict_reason

    def _timeout(self, evidence: Evidence) -> str:
        arrived = counted(len(evidence.samples), "sample")
        return (
            f"the check did not finish within {self.policy.limits.deadline_s:g} s"
            f" (`limits.deadline_s`); {arrived} had arrived"
        )


def _count_of_names(state: RunState) -> str:
    count = sum(result.score is not None for _, result in state.names)
    return counted(count, "name")
