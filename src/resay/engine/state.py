"""The state of one run of a chain."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from types import MappingProxyType
from typing import Literal

from resay.core.claims import Claim
from resay.core.contradiction import Contradiction, EvidenceKind
from resay.core.grounds import Grounds
from resay.core.passage import Passage
from resay.core.scores import Scores, UnsupportedSpan, mean_score
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.step_record import StepRecord
from resay.scorers import Step


@dataclass(slots=True)
class ClaimResult:
    """The result for one claim so far.

    Attributes:
        score: In [0, 1]; None until a method returns a score.
        by: The method that gave the score.
        reason: One line of explanation.
        step: The step whose comparisons the score is based on.
        columns: The score against each sample.
        contradiction: The contradiction that a method found.
        scores: The score of each method, in the order in which they ran.
        grounds: The references that mention the claim.
        unsupported: The spans of it without support, if the method reports them.
        unanswered: Why it has no score until a question about it is answered, without content.
        denied: Whether a text that it was compared with says something else; None if the method
            does not tell that from saying nothing.
    """

    score: float | None = None
    by: str | None = None
    reason: str | None = None
    step: Step | None = None
    columns: tuple[float | None, ...] = ()
    contradiction: Contradiction | None = None
    scores: dict[str, float] = field(default_factory=dict[str, float])
    grounds: tuple[Grounds, ...] = ()
    unsupported: tuple[UnsupportedSpan, ...] = ()
    unanswered: str | None = None
    denied: bool | None = None

    @property
    def is_grounded(self) -> bool:
        """Whether the references decided this claim."""
        return self.step is not None and self.step.name == "references"

    @property
    def against(self) -> frozenset[int] | None:
        """The samples that do not support it; None if the method does not say."""
        if not self.columns:
            return None
        return frozenset(i for i, score in enumerate(self.columns) if (score or 0.0) > 0.5)

    @property
    def source(self) -> EvidenceKind:
        """What the claim was compared with."""
        return self.step.source if self.step else "sample"


@dataclass(slots=True)
class RunState:
    """The state of one run.

    Attributes:
        passage: The passage to score.
        claims: The claims of its sentences, in order.
        results: One for each claim.
        score: The passage score.
        done: The steps' records, in the order in which they ended.
        decisive: The record of the last step that was meant to decide.
        undecided: The claims without a reliable score, because calls failed or time ran out.
        unconfirmed: The claims for which the second model was needed but gave no answer.
        kept: The claims that were judged earlier or claim nothing, and are not scored.
        names: The names to compare in the response's code, each with its result so far.
        whole: The scope of the passage score if no claim has a score of its own: the sentences, or
            the text with everything in it.
    """

    passage: Passage
    claims: tuple[Claim, ...]
    results: list[ClaimResult]
    score: float | None = None
    done: list[tuple[Step, StepRecord]] = field(default_factory=list[tuple[Step, StepRecord]])
    decisive: StepRecord | None = None
    undecided: frozenset[int] = frozenset()
    unconfirmed: frozenset[int] = frozenset()
    kept: frozenset[int] = frozenset()
    names: Sequence[tuple[Claim, ClaimResult]] = ()
    whole: Literal["sentences", "text"] | None = None

    @classmethod
    def of(
        cls,
        passage: Passage,
        claims: Iterable[Claim],
        kept: Mapping[int, SentenceVerdict] = MappingProxyType({}),
    ) -> RunState:
        """Return a state without any results yet.

        Args:
            passage: The passage to score.
            claims: The claims of its sentences, in order, at least one for each.
            kept: Results of another check for some of its sentences, by sentence index.
        """
        in_order = tuple(claims)
        state = cls(passage, in_order, [_initial(claim, kept) for claim in in_order])
        state.kept = frozenset(
            i
            for i, claim in enumerate(in_order)
            if claim.sentence in kept or not claim.is_checkable
        )
        state.score = mean_score(state.scores)
        return state

    @classmethod
    def joined(cls, passage: Passage, states: Sequence[RunState]) -> RunState:
        """Return the state of a passage whose sentences were scored separately.

        Args:
            passage: The passage.
            states: One for each of its sentences, containing only that sentence.
        """
        claims = (replace(c, sentence=i) for i, b in enumerate(states) for c in b.claims)
        state = cls(passage, tuple(claims), [result for b in states for result in b.results])
        state.kept = frozenset(i for i, claim in enumerate(state.claims) if not claim.is_checkable)
        starts = [0, *accumulate(len(b.results) for b in states)]
        state.undecided = frozenset(
            start + i for start, b in zip(starts, states, strict=False) for i in b.undecided
        )
        decisive = [b.decisive for b in states if b.decisive is not None]
        in_doubt = [record for record in decisive if record.error is not None]
        state.decisive = next(iter(in_doubt or decisive), None)
        state.score = mean_score(state.scores)
        records: dict[int, list[tuple[Step, StepRecord]]] = {}
        for b in states:
            for step, record in b.done:
                records.setdefault(id(step), []).append((step, record))
        state.done = [
            (step_records[0][0], StepRecord.joined([record for _, record in step_records]))
            for step_records in records.values()
        ]
        return state

    @property
    def names_score(self) -> float | None:
        """The mean of the scores of the names in the code; None if none has a score."""
        return mean_score([result.score for _, result in self.names])

    def passage_for(self, indices: Iterable[int]) -> Passage:
        """Return the passage with the given claims in place of its sentences."""
        return self.passage.with_sentences(self.claims[i] for i in indices)

    @property
    def steps(self) -> tuple[StepRecord, ...]:
        """The steps' records, in the order in which they ended."""
        return tuple(record for _, record in self.done)

    @property
    def scores(self) -> tuple[float | None, ...]:
        """The score of each claim."""
        return tuple(result.score for result in self.results)

    def record(self, step: Step, indices: Sequence[int], scores: Scores, done: StepRecord) -> None:
        """Store a step's record. A correction does not hide an earlier failure."""
        self.done.append((step, done))
        if step.is_second:
            lost = range(len(indices)) if done.error is not None else scores.undecided
            self.unconfirmed = frozenset(() if done.skip_reason else (indices[i] for i in lost))
            return
        if done.skip_reason or (step.corrects and done.error is None):
            return
        self.decisive = done
        lost = range(len(indices)) if done.error is not None else scores.undecided
        # A sentence may have kept an earlier step's score; only a step without usable scores puts
        # that in doubt.
        self.undecided = frozenset(
            indices[i] for i in lost if done.error or self.results[indices[i]].score is None
        )

    def lowest_score(self, undecided: Collection[int]) -> float:
        """Return the passage score with undecided claims counted as supported."""
        if not undecided:
            return self.score or 0.0
        sure = (e.score or 0.0 for i, e in enumerate(self.results) if i not in undecided)
        return sum(sure) / sum(claim.is_checkable for claim in self.claims)

    def sentences(self, claims: Iterable[int]) -> frozenset[int]:
        """Return the indices of the sentences that the given claims belong to."""
        return frozenset(self.claims[i].sentence for i in claims)

    @property
    def claiming(self) -> frozenset[int]:
        """The indices of the sentences that claim something."""
        return self.sentences(i for i, claim in enumerate(self.claims) if claim.is_checkable)

    def write(self, step: Step, indices: Sequence[int], scores: Scores) -> None:
        """Replace earlier scores with a step's scores."""
        for position, i in enumerate(indices if scores.sentences else ()):
            self.results[i] = _updated(self.results[i], step, scores, position)
        # A sentence method's own passage score covers the sentences it saw. If some were settled
        # before it, only the mean over all of them (Eq. 12) represents the passage.
        if scores.passage is not None and (
            not scores.sentences or len(indices) == len(self.results)
        ):
            self.score = scores.passage
            self.whole = None if scores.sentences else "text" if step.by_text else "sentences"
        elif any(score is not None for score in scores.sentences):
            self.score, self.whole = mean_score(self.scores), None


def _initial(claim: Claim, kept: Mapping[int, SentenceVerdict]) -> ClaimResult:
    earlier = kept.get(claim.sentence)
    if earlier is not None:
        return ClaimResult(earlier.score, earlier.by, earlier.reason, scores=dict(earlier.scores))
    return (
        ClaimResult()
        if claim.is_checkable
        else ClaimResult(reason=f"claims nothing ({claim.kind})")
    )


def _updated(before: ClaimResult, step: Step, scores: Scores, position: int) -> ClaimResult:
    score = scores.sentences[position]
    grounds = scores.grounds[position] if scores.grounds else before.grounds
    if score is None:
        unanswered = scores.unanswered[position] if scores.unanswered else None
        if unanswered is None or before.score is not None:
            return replace(before, grounds=grounds)
        return replace(
            before, grounds=grounds, reason=scores.reasons[position], unanswered=unanswered
        )
    parts = {name: row[position] for name, row in scores.parts.items()}
    by_method = {**before.scores, step.name: score}
    by_method.update((name, part) for name, part in parts.items() if part is not None)
    if step.corrects and score == before.score:
        return replace(before, scores=by_method)
    reason = scores.reasons[position] if scores.reasons else None
    if not step.corrects:
        columns = tuple(column[position] for column in scores.columns)
        spans = scores.spans[position] if scores.spans else ()
        return ClaimResult(
            score,
            step.name,
            reason,
            step,
            columns,
            contradiction=scores.contradictions[position] if scores.contradictions else None,
            scores=by_method,
            grounds=grounds,
            unsupported=spans,
            denied=scores.denied[position] if scores.denied else None,
        )
    reasons = "; ".join(part for part in (before.reason, reason) if part)
    after = replace(before, score=score, by=step.name, reason=reasons or None, scores=by_method)
    if not step.is_second or (before.score is not None and score < before.score):
        return after
    # The claim is now flagged because of the second model, not because of the samples.
    instead = scores.contradictions[position] if scores.contradictions else None
    return replace(
        after,
        step=step,
        columns=(),
        contradiction=instead,
        denied=scores.denied[position] if scores.denied else None,
    )
