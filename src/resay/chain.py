"""Runs the policy's chain over a passage and decides."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import anyio
import anyio.to_thread

from resay.contradiction import Contradictions
from resay.evidence import Evidence
from resay.passage import Passage
from resay.policy import Policy
from resay.providers.layers import Metered
from resay.scorers import Need, Step
from resay.verdict import (
    Contradiction,
    Decision,
    EvidenceKind,
    Scores,
    SentenceVerdict,
    StepRecord,
    Usage,
    Verdict,
    mean_score,
    tally,
)

__all__ = ["Chain"]

_OVERDUE = "it did not finish in time"


@dataclass(slots=True)
class _Entry:
    """What is known of one sentence so far."""

    score: float | None = None
    by: str | None = None
    why: str | None = None
    step: Step | None = None
    columns: tuple[float | None, ...] = ()
    contradiction: Contradiction | None = None

    @property
    def against(self) -> frozenset[int] | None:
        """The samples that do not support it; None where the method does not say."""
        if not self.columns:
            return None
        return frozenset(i for i, score in enumerate(self.columns) if (score or 0.0) > 0.5)

    @property
    def source(self) -> EvidenceKind:
        """What it was compared with."""
        return self.step.source if self.step else "sample"


@dataclass(slots=True)
class _Board:
    """The state of one run.

    Attributes:
        passage: What is scored.
        entries: One for each sentence.
        score: The passage score.
        steps: What the steps did.
        decisive: The last step that was to decide.
        doubtful: The sentences without a score to rely on, because calls failed or time was up.
    """

    passage: Passage
    entries: list[_Entry]
    score: float | None = None
    steps: list[StepRecord] = field(default_factory=list[StepRecord])
    decisive: StepRecord | None = None
    doubtful: frozenset[int] = frozenset()

    def record(self, step: Step, indices: Sequence[int], scores: Scores, done: StepRecord) -> None:
        """Keep what a step did. A correction hides nothing that went wrong before it."""
        self.steps.append(done)
        if step.corrects and done.note is None:
            return
        self.decisive = done
        lost = range(len(indices)) if done.note is not None else scores.doubtful
        # A sentence may have kept the score of an earlier step; only a step without usable scores
        # puts that in doubt.
        self.doubtful = frozenset(
            indices[i] for i in lost if done.note or self.entries[indices[i]].score is None
        )

    def lowest_score(self, doubtful: Collection[int]) -> float:
        """Return the passage score with doubtful sentences counted as supported."""
        if not doubtful:
            return self.score or 0.0
        sure = (e.score or 0.0 for i, e in enumerate(self.entries) if i not in doubtful)
        return sum(sure) / len(self.entries)

    def write(self, step: Step, indices: Sequence[int], scores: Scores) -> None:
        for place, i in enumerate(indices if scores.sentences else ()):
            self.entries[i] = _entry(self.entries[i], step, scores, place)
        # A sentence method's own passage score is about the sentences it saw. Once some were
        # settled before it, only the mean over all of them (Eq. 12) speaks for the passage.
        if scores.passage is not None and (
            not scores.sentences or len(indices) == len(self.entries)
        ):
            self.score = scores.passage
        elif any(score is not None for score in scores.sentences):
            self.score = mean_score([e.score for e in self.entries])


def _entry(before: _Entry, step: Step, scores: Scores, place: int) -> _Entry:
    score = scores.sentences[place]
    if score is None or (step.corrects and score == before.score):
        return before
    why = scores.why[place] if scores.why else None
    if not step.corrects:
        return _Entry(score, step.name, why, step, tuple(c[place] for c in scores.columns))
    reasons = "; ".join(reason for reason in (before.why, why) if reason)
    return replace(before, score=score, by=step.name, why=reasons or None)


class Chain:
    """The scorers of a policy, in order.

    Each step scores the sentences that no step before it settled; its scores replace theirs. A
    step that corrects scores sees those of all sentences. A chain keeps no state between runs.

    Args:
        policy: The policy.

    Raises:
        ConfigurationError: A step has no registered scorer.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._steps = tuple(Step.of(config) for config in policy.chain)

    def needing(self, need: Need) -> str | None:
        """Return the name of the first method that needs this, or None."""
        return next((s.scorer.name for s in self._steps if need in s.needs), None)

    @property
    def asking_response_model(self) -> str | None:
        """The first method whose judge is the model that wrote the response, or None."""
        return next((s.scorer.name for s in self._steps if s.config.asks_response_model), None)

    async def prepare(self) -> None:
        """Load what the steps would otherwise load at their first use.

        Raises:
            ConfigurationError: A model cannot be had as configured.
            ScorerError: A model's server does not answer.
        """
        for step in self._steps:
            await step.prepare()

    async def run(self, passage: Passage, evidence: Evidence, deadline: float) -> Verdict:
        """Score a passage and decide.

        Args:
            passage: The text under examination.
            evidence: What there is to go by.
            deadline: When to stop, on the event loop's clock (`anyio.current_time`); what was
                found until then stands in the verdict.

        Returns:
            The verdict, without the check's usage and time: those are the guard's to add.
        """
        board = _Board(passage, [_Entry() for _ in passage.sentences])
        with anyio.CancelScope(deadline=deadline):
            await self._run_steps(board, evidence)
            await self._find_contradictions(board, evidence)
        return await anyio.to_thread.run_sync(self._verdict, board, evidence)

    async def _run_steps(self, board: _Board, evidence: Evidence) -> None:
        everything = list(range(len(board.entries)))
        pending = everything
        for step in self._steps:
            seen = everything if step.corrects else pending
            if not seen:
                continue
            await _run_step(board, step, seen, evidence)
            settle = step.config.settle
            if settle is not None:
                pending = [i for i in pending if not settle.settles(board.entries[i].score)]

    async def _find_contradictions(self, board: _Board, evidence: Evidence) -> None:
        """Let the methods that flagged sentences say what contradicts them."""
        doubtful = self._doubtful(board, self._obstacle(board, evidence))

        async def find(i: int, step: Step) -> None:
            entry, sentence = board.entries[i], board.passage.sentences[i]
            entry.contradiction = await step.contradiction(sentence.text, evidence, entry.columns)

        async with anyio.create_task_group() as tasks:
            for i, entry in enumerate(board.entries):
                if entry.step is not None and self._flags(entry) and i not in doubtful:
                    tasks.start_soon(find, i, entry.step)

    def _flags(self, entry: _Entry) -> bool:
        limit = self._policy.threshold.sentence
        return limit is not None and entry.score is not None and entry.score > limit

    def _doubtful(self, board: _Board, obstacle: str | None) -> frozenset[int]:
        return frozenset(range(len(board.entries))) if obstacle else board.doubtful

    def _verdict(self, board: _Board, evidence: Evidence) -> Verdict:
        obstacle = self._obstacle(board, evidence)
        doubtful = self._doubtful(board, obstacle)
        sentences = self._sentences(board, evidence, doubtful)
        decision: Decision
        if obstacle:
            decision, reason = "inconclusive", obstacle
        else:
            flagged = sum(s.flagged for s in sentences)
            decision, reason = self._decide(board, evidence, doubtful, flagged)
        return Verdict(
            decision,
            board.score,
            reason,
            sentences,
            samples=len(evidence.samples),
            steps=tuple(board.steps),
        )

    def _obstacle(self, board: _Board, evidence: Evidence) -> str | None:
        """Return why nothing at all can be decided, or None."""
        if not board.entries:
            return "there is no sentence to score in the response"
        problem = self._samples_problem(evidence) if self.needing("samples") else None
        # Samples that are missing because time was up are reported as that.
        if problem and board.steps[-1].note == _OVERDUE:
            return self._overdue(evidence)
        return problem

    def _samples_problem(self, evidence: Evidence) -> str | None:
        samples, least = evidence.samples, self._policy.sampling.min
        if len(samples) < least:
            failed = tally(type(error).__name__ for error in samples.failures)
            return f"{len(samples)} usable samples are fewer than the {least} of `sampling.min`" + (
                f"; failed: {failed}" if failed else ""
            )
        if samples.identical:
            return (
                f"all {len(samples)} samples are the same text, as from a cache, a seed or a"
                " temperature of 0; their agreement means nothing"
            )
        return None

    def _sentences(
        self, board: _Board, evidence: Evidence, doubtful: Collection[int]
    ) -> tuple[SentenceVerdict, ...]:
        flags = [self._flags(e) and i not in doubtful for i, e in enumerate(board.entries)]
        found: dict[EvidenceKind, Contradictions] = {}
        if any(flags):
            found["sample"] = Contradictions(evidence.samples.landed)
            found["reference"] = Contradictions(evidence.references.landed, "reference")
        return tuple(
            SentenceVerdict(
                sentence.text,
                sentence.start,
                sentence.end,
                entry.score,
                flagged,
                entry.by,
                entry.why,
                _contradiction(entry, sentence.text, found) if flagged else None,
            )
            for sentence, entry, flagged in zip(
                board.passage.sentences, board.entries, flags, strict=True
            )
        )

    def _decide(
        self, board: _Board, evidence: Evidence, doubtful: Collection[int], flagged: int
    ) -> tuple[Decision, str]:
        count, score = len(board.entries), board.lowest_score(doubtful)
        threshold = self._policy.threshold
        basis = f" with {len(evidence.samples)} samples" if self.needing("samples") else ""
        gap = f"{len(doubtful)} of {count} sentences could not be scored"
        reasons: list[str] = []
        if threshold.passage is not None and score > threshold.passage:
            reasons.append(f"passage {score:.2f} > {threshold.passage:.2f}")
        if flagged:
            reasons.append(f"{flagged} of {count} sentences > {threshold.sentence:.2f}")
        if reasons:
            return "flagged", ", ".join(reasons) + basis + (f"; {gap}" if doubtful else "")
        if doubtful:
            return "inconclusive", self._why_doubtful(board.decisive, evidence) or gap
        if board.score is None:
            return "inconclusive", "no method of the chain had anything to say"
        scored = any(entry.score is not None for entry in board.entries)
        limits = [
            f"{name} <= {limit:.2f}"
            for name, limit in (
                (f"passage {score:.2f}", threshold.passage),
                ("every sentence", threshold.sentence if scored else None),
            )
            if limit is not None
        ]
        if not limits:
            return "inconclusive", (
                "the chain scored only the passage, and `threshold.passage` is null"
            )
        return "consistent", ", ".join(limits) + basis

    def _why_doubtful(self, decisive: StepRecord | None, evidence: Evidence) -> str | None:
        if decisive is None or decisive.note is None:
            return None
        if decisive.note == _OVERDUE:
            return self._overdue(evidence)
        return f"{decisive.method}: {decisive.note}"

    def _overdue(self, evidence: Evidence) -> str:
        return (
            f"the check did not finish within {self._policy.limits.deadline_s:g} s"
            f" (`limits.deadline_s`); {len(evidence.samples)} samples had arrived"
        )


def _contradiction(
    entry: _Entry, sentence: str, found: Mapping[EvidenceKind, Contradictions]
) -> Contradiction | None:
    return entry.contradiction or found[entry.source].of(sentence, entry.against)


async def _run_step(board: _Board, step: Step, indices: Sequence[int], evidence: Evidence) -> None:
    started = time.perf_counter()
    meter = Metered(evidence.judge_provider) if evidence.judge_provider else None
    scores = Scores(inconclusive=_OVERDUE)
    view = replace(
        step.view(evidence, meter), scores=tuple(board.entries[i].score for i in indices)
    )
    try:
        scores = await step.run(board.passage.only(indices), view)
        board.write(step, indices, scores)
    finally:
        board.record(
            step,
            indices,
            scores,
            StepRecord(
                method=step.scorer.name,
                sentences=len(indices),
                score=scores.passage_score,
                usage=meter.usage if meter else Usage(),
                elapsed_s=time.perf_counter() - started,
                failures=dict(Counter(scores.failures)),
                undetermined=scores.undetermined,
                note=scores.inconclusive,
                why=scores.why_passage,
            ),
        )
