"""What the scores of a step have to decide, so that it compares no more samples than that takes."""

from __future__ import annotations

from collections.abc import Sequence

from resay.engine.step_run import StepRun
from resay.policy import Block, Policy
from resay.scorers import Step
from resay.scorers.stopping import Correction, Decisions, Stopping


def stopping_rule(run: StepRun, steps: Sequence[Step], policy: Policy) -> Stopping | None:
    """Return when a step has compared with enough samples; None if it compares with all of them.

    Args:
        run: The run of the step.
        steps: The steps of the chain.
        policy: The policy.
    """
    sampling, samples = policy.sampling, run.evidence.samples
    if sampling.confidence is None or not run.step.stops:
        return None
    decisions = _decisions(run, steps[steps.index(run.step) + 1 :], policy)
    if decisions is None:
        return None
    return Stopping(decisions, sampling.confidence, sampling.min, samples.available)


def _decisions(run: StepRun, later: Sequence[Step], policy: Policy) -> Decisions | None:
    """Return what a step's scores have to decide; None if that depends on all samples."""
    count = len(run.indices)
    settle = run.step.config.settle
    if settle is not None and not all(step.corrects for step in later):
        return Decisions((settle.thresholds,) * count)
    # The second model's answer is unknown, and more samples do not reveal it.
    corrections = [step for step in later if step.corrects and not step.is_second]
    if not all(step.can_precompute for step in corrections):
        return None
    threshold = policy.threshold
    thresholds = () if threshold.sentence is None else (threshold.sentence,)
    if run.alone:
        # The other sentences are not written yet, so nothing more is known of the passage.
        if threshold.passage_alone is not None:
            thresholds = (threshold.passage_alone, *thresholds)
        return Decisions((thresholds,) * count)
    own_claims = set(run.indices)
    settled_scores: list[float] = []
    for i, result in enumerate(run.state.results):
        if i not in own_claims and result.score is not None:
            settled_scores.append(result.score)
    # A method that scores the passage as a whole overrules this one.
    overruled = any(step.needs_whole_passage and not step.corrects for step in later)
    return Decisions(
        (thresholds,) * count,
        passage=None if overruled else threshold.passage,
        settled_scores=tuple(settled_scores),
        one_is_enough=isinstance(policy.action, Block),
        correction=_correction(run, corrections),
    )


def _correction(run: StepRun, corrections: Sequence[Step]) -> Correction | None:
    """Return what corrections make of a step's scores: its own sentences first, then the others."""
    if not corrections:
        return None
    results, indices = run.state.results, list(run.indices)
    order = dict.fromkeys((*indices, *range(len(results))))

    def correct(scores: Sequence[float | None]) -> Sequence[float | None]:
        merged = [result.score for result in results]
        for i, score in zip(indices, scores, strict=False):
            merged[i] = score
        for step in corrections:
            merged = step.corrected(merged)
        return [merged[i] for i in order]

    return correct
