"""The state of one run of a chain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from resay.core.claim_verdict import Part
from resay.core.claims import Claim
from resay.core.contradiction import Contradiction, EvidenceKind
from resay.core.grounds import Grounds
from resay.core.passage import Passage
from resay.core.scores import Scores, UnsupportedSpan, mean_score
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.step_record import StepRecord
from resay.scorers import Step
from resay.scorers.common.grounded_claims import NAMES_SOURCES


@dataclass(frozen=True, slots=True)
class WrongWords:
    """The words of a flagged claim that are wrong, as far as evidence tells.

    Attributes:
        parts: The words.
        source: The kind of the evidence.
        count: The number of its texts.
    """

    parts: tuple[Part, ...]
    source: EvidenceKind
    count: int


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
        judged: The parts that the method judges by themselves.
        unanswered: Why it has no score until a question about it is answered, without content.
        denied: Whether a text that it was compared with says something else; None if the method
            does not tell that from saying nothing.
        wrong_words: Its wrong words, once they were looked for. In a stream they are shown with the
            sentence, before the passage is decided.
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
    judged: tuple[Part, ...] = ()
    unanswered: str | None = None
    denied: bool | None = None
    wrong_words: WrongWords | None = None

    @property
    def is_grounded(self) -> bool:
        """Whether the references decided this claim."""
        # A score of another check has no step here.
        if self.step is None:
            return self.by == "references"
        by_documents = self.step.reads_documents and self.step.source == "reference"
        return by_documents or self.step.name == "references"

    @property
    def needs_no_samples(self) -> bool:
        """Whether references or tool calls decided this claim, whatever samples say."""
        by_calls = self.step is not None and self.step.source == "tool"
        return self.score is not None and (self.is_grounded or by_calls)

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
        uncompared: The claims that a judge failed to compare with the references, which other
            steps may flag but not acquit.
        excluded: The claims that were judged earlier or claim nothing, and are not scored.
        names: The names to compare in the response's code, each with its result so far.
        whole: The scope of the passage score if no claim has a score of its own: the sentences, or
            the text with everything in it.
        skips_sources: Whether entries of a list of sources, which claim nothing, are not scored.
    """

    passage: Passage
    claims: tuple[Claim, ...]
    results: list[ClaimResult]
    score: float | None = None
    done: list[tuple[Step, StepRecord]] = field(default_factory=list[tuple[Step, StepRecord]])
    decisive: StepRecord | None = None
    undecided: frozenset[int] = frozenset()
    unconfirmed: frozenset[int] = frozenset()
    uncompared: frozenset[int] = frozenset()
    excluded: frozenset[int] = frozenset()
    names: Sequence[tuple[Claim, ClaimResult]] = ()
    whole: Literal["sentences", "text"] | None = None
    skips_sources: bool = False

    @classmethod
    def of(
        cls,
        passage: Passage,
        claims: Iterable[Claim],
        earlier: Mapping[int, SentenceVerdict] = MappingProxyType({}),
        *,
        skips_sources: bool = False,
    ) -> RunState:
        """Return a state without any results yet.

        Args:
            passage: The passage to score.
            claims: The claims of its sentences, in order, at least one for each.
            earlier: Verdicts of another check on some of its sentences, by sentence index.
            skips_sources: Whether entries of a list of sources are not scored.
        """
        claims = tuple(claims)
        results = [_initial_result(claim, earlier.get(claim.sentence)) for claim in claims]
        excluded = [
            i
            for i, claim in enumerate(claims)
            if claim.sentence in earlier or not claim.is_checkable
        ]
        state = cls(
            passage,
            claims,
            results,
            excluded=frozenset(excluded),
            skips_sources=skips_sources,
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
        claims: list[Claim] = []
        results: list[ClaimResult] = []
        undecided: set[int] = set()
        uncompared: set[int] = set()
        # A plug-in's settings may not be hashable, and so its step.
        steps: dict[int, Step] = {}
        records: defaultdict[int, list[StepRecord]] = defaultdict(list)
        for sentence, state in enumerate(states):
            start = len(claims)
            undecided.update(start + i for i in state.undecided)
            uncompared.update(start + i for i in state.uncompared)
            claims += (replace(claim, sentence=sentence) for claim in state.claims)
            results += state.results
            for step, record in state.done:
                steps[id(step)] = step
                records[id(step)].append(record)
        excluded = frozenset(i for i, claim in enumerate(claims) if not claim.is_checkable)
        joined = cls(passage, tuple(claims), results, excluded=excluded)
        joined.undecided = frozenset(undecided)
        joined.uncompared = frozenset(uncompared)
        joined.score = mean_score(joined.scores)
        decisive = [state.decisive for state in states if state.decisive is not None]
        failed = [record for record in decisive if record.error is not None]
        joined.decisive = next(iter(failed or decisive), None)
        for key, of_step in records.items():
            joined.done.append((steps[key], StepRecord.joined(of_step)))
        return joined

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
        if step.name == "references":
            self.uncompared = self.undecided

    def lowest_score(self, undecided: Collection[int]) -> float:
        """Return the passage score with undecided claims counted as supported."""
        if not undecided:
            return self.score or 0.0
        scores = [e.score or 0.0 for i, e in enumerate(self.results) if i not in undecided]
        return sum(scores) / sum(claim.is_checkable for claim in self.claims)

    def sentences(self, claims: Iterable[int]) -> frozenset[int]:
        """Return the indices of the sentences that the given claims belong to."""
        return frozenset(self.claims[i].sentence for i in claims)

    @property
    def claiming(self) -> frozenset[int]:
        """The indices of the sentences that claim something."""
        return self.sentences(i for i, claim in enumerate(self.claims) if claim.is_checkable)

    def write(self, step: Step, indices: Sequence[int], scores: Scores) -> None:
        """Replace earlier scores with a step's scores."""
        if scores.sentences:
            for position, i in enumerate(indices):
                self.results[i] = _updated(self.results[i], step, scores, position)
            self._exclude_sources([indices[position] for position in scores.sources])
        # A sentence method's own passage score covers the sentences it saw. If some were settled
        # before it, only the mean over all of them (Eq. 12) represents the passage.
        if scores.passage is not None and (
            not scores.sentences or len(indices) == len(self.results)
        ):
            self.score = scores.passage
            self.whole = None if scores.sentences else "text" if step.by_text else "sentences"
        elif any(score is not None for score in scores.sentences):
            self.score, self.whole = mean_score(self.scores), None

    def _exclude_sources(self, entries: Collection[int]) -> None:
        """Take claims for what they are to the documents: entries of a list of sources."""
        if not self.skips_sources or not entries:
            return
        claims = list(self.claims)
        for i in entries:
            claims[i] = replace(claims[i], kind="source")
            self.results[i] = ClaimResult(reason=NAMES_SOURCES)
        self.claims = tuple(claims)
        self.excluded |= frozenset(entries)


def _initial_result(claim: Claim, earlier: SentenceVerdict | None) -> ClaimResult:
    if earlier is not None:
        return ClaimResult(
            score=earlier.score,
            by=earlier.by,
            reason=earlier.reason,
            scores=dict(earlier.scores),
        )
    if not claim.is_checkable:
        return ClaimResult(reason=f"claims nothing ({claim.kind})")
    return ClaimResult()


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
    method = (scores.methods[position] if scores.methods else None) or step.name
    by_method = {**before.scores, method: score}
    for method, parts in scores.parts.items():
        part = parts[position]
        if part is not None:
            by_method[method] = part
    if step.corrects and score == before.score:
        return replace(before, scores=by_method)
    reason = scores.reasons[position] if scores.reasons else None
    contradiction = scores.contradictions[position] if scores.contradictions else None
    denied = scores.denied[position] if scores.denied else None
    if not step.corrects:
        return ClaimResult(
            score=score,
            by=method,
            reason=reason,
            step=step,
            columns=tuple(column[position] for column in scores.columns),
            contradiction=contradiction,
            scores=by_method,
            grounds=grounds,
            unsupported=scores.spans[position] if scores.spans else (),
            judged=scores.judged[position] if scores.judged else (),
            denied=denied,
        )
    reasons = "; ".join(part for part in (before.reason, reason) if part)
    after = replace(before, score=score, by=step.name, reason=reasons or None, scores=by_method)
    if not step.is_second or (before.score is not None and score < before.score):
        return after
    # The claim is now flagged because of the second model, not because of the samples.
    return replace(after, step=step, columns=(), contradiction=contradiction, denied=denied)
