"""Turns the chain's scores into a verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from resay._internal.event_loops import stop_if_abandoned
from resay.core.claim_verdict import ClaimVerdict, Part
from resay.core.claims import Claim
from resay.core.contradiction import Contradiction, EvidenceKind
from resay.core.decision import FLAGGED, Band, Decision
from resay.core.grounds import Grounds
from resay.core.loops import find_loop
from resay.core.scores import over
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.unscored import Unscored
from resay.core.verdict import Verdict
from resay.engine.code_names import NameClaim
from resay.engine.contradictions import (
    INDEX_BUILDERS,
    AnalysisCache,
    ContradictionIndex,
    contradiction_of,
    stretches_in_doubt,
    with_difference,
    with_kind,
)
from resay.engine.decision_reasons import TIMED_OUT, DecisionReasons
from resay.engine.state import ClaimResult, RunState
from resay.engine.unscored import unscored_in, with_unscored
from resay.policy import Policy
from resay.scorers.evidence import Evidence
from resay.scorers.samples import Samples


def pool_of(source: EvidenceKind, evidence: Evidence) -> Samples:
    """Return the pool in which to search for contradictions."""
    if source == "reference":
        return evidence.references
    return evidence.second if source == "second_opinion" else evidence.samples


class Decider:
    """Decides according to a policy.

    Args:
        policy: The policy.
        compares: Whether the chain compares with samples.
        refers: Whether it compares with references.
        structured: Whether it checks the fields of objects.
    """

    def __init__(self, policy: Policy, *, compares: bool, refers: bool, structured: bool) -> None:
        self._policy = policy
        self._structured = structured
        self._reasons = DecisionReasons(
            policy=policy, compares=compares, refers=refers, structured=structured
        )

    def flags(self, result: ClaimResult) -> bool:
        """Return whether a claim's score exceeds the threshold."""
        return over(result.score, self._policy.threshold.sentence)

    def undecided(self, state: RunState, evidence: Evidence) -> frozenset[int]:
        """Return the claims whose scores allow no decision."""
        if self._reasons.obstacle(state, evidence):
            return self._left_open(state)
        return self._in_doubt(state)

    def _left_open(self, state: RunState) -> frozenset[int]:
        """Return the claims that have no decision where the samples allow none."""
        return self._in_doubt(state) | {
            i
            for i, claim in enumerate(state.claims)
            if claim.is_checkable and not state.results[i].needs_no_samples
        }

    def _in_doubt(self, state: RunState) -> frozenset[int]:
        """Return the claims without a reliable score.

        A flagged claim stays flagged without a second opinion, or a comparison with references.
        """
        lacking = state.unconfirmed | state.uncompared
        return state.undecided | {i for i in lacking if not self.flags(state.results[i])}

    def verdict(
        self,
        state: RunState,
        evidence: Evidence,
        contradictions: Mapping[int, Contradiction],
        parts: Mapping[int, tuple[Part, ...]] = MappingProxyType({}),
        exhausted: str | None = None,
    ) -> Verdict:
        """Return the verdict.

        Args:
            state: The chain's results.
            evidence: The evidence it used.
            contradictions: Contradictions of its flagged claims, by claim index.
            parts: The parts of its flagged claims, by claim index.
            exhausted: The limit that was reached, in words, or None.

        Returns:
            The verdict, without the check's usage and time.
        """
        claims = self.claims(state, evidence, contradictions, parts)
        if state.names:
            is_decided = self._reasons.obstacle(state, evidence) is None
            names = self.name_verdicts(state.names, is_decided=is_decided)
            claims = tuple(sorted((*claims, *names), key=lambda claim: claim.start))
        sentences = self.sentences(state, claims)
        decision, reason = self._decision(state, evidence, sentences, exhausted)
        if decision != "skipped":
            loop = None if self._structured else find_loop(state.passage, evidence.question)
            if loop is not None and decision == "consistent":
                # A model that is caught in a loop is so again in its samples.
                decision, reason = "inconclusive", f"{loop.reason}; otherwise {reason}"
            elif loop is not None:
                reason = f"{reason}; {loop.reason}"
            remarks = [r for r in self._remarks(state, exhausted) if r not in reason]
            reason = "; ".join([reason, *remarks])
        unscored = self.unscored(state)
        # The reason already says why sentences could not be scored, or were skipped.
        everything = decision in {"skipped", "inconclusive"}
        undecided = state.sentences(self.undecided(state, evidence))
        explained = range(len(sentences)) if everything else undecided
        explained_starts = {sentences[i].start for i in explained}
        mean = state.names_score if state.score is None else state.score
        is_decided = decision in {"flagged", "consistent"}
        is_grounded = any(result.is_grounded for result in state.results)
        score, threshold = self._decisive_score(claims, mean) if is_decided else (None, None)
        return Verdict(
            decision=decision,
            score=score,
            reason=with_unscored(
                reason, (span for span in unscored if span.start not in explained_starts)
            ),
            sentences=sentences,
            claims=() if self._structured else claims,
            samples=len(evidence.samples),
            steps=state.steps,
            unscored=unscored,
            references=evidence.sources if is_grounded else (),
            threshold=threshold,
            mean_score=mean if is_decided else None,
        )

    def _decisive_score(
        self, claims: Sequence[ClaimVerdict], mean: float | None
    ) -> tuple[float | None, float | None]:
        """Return the score that decides, and its threshold.

        Args:
            claims: The verdicts on the claims.
            mean: The mean of their scores, or the score of the whole answer.
        """
        threshold = self._policy.threshold
        scores = [c.score for c in claims if c.band is not None and c.score is not None]
        if not scores or threshold.sentence is None:
            return mean, None if mean is None else threshold.passage
        worst = max(scores)
        if over(mean, threshold.passage) and not over(worst, threshold.sentence):
            return mean, threshold.passage
        return worst, threshold.sentence

    def _remarks(self, state: RunState, exhausted: str | None) -> list[str]:
        second = self._policy.second_opinion
        if second is not None and self._structured:
            return [f"no second opinion: {second.model!r} is not asked about objects and calls"]
        remarks: list[str] = []
        for step in state.steps:
            # Whatever else decides, this step did not. The reason has limits and deadlines already.
            if step.error is not None and step.error != TIMED_OUT and exhausted is None:
                remarks.append(f"{step.method}: {step.error}")
            if step.verdict_reason:
                remarks.append(step.verdict_reason)
        return remarks

    def unscored(self, state: RunState) -> tuple[Unscored, ...]:
        """Return the spans of a passage that were not scored."""
        if state.whole == "text":
            return ()
        # A repaired sentence that the documents do not cover has a reason instead of a score.
        unscored_claims = [
            i
            for i, result in enumerate(state.results)
            if result.score is None and (result.reason is None or result.unanswered)
        ]
        sentences = () if state.whole else state.sentences(unscored_claims)
        return unscored_in(state.passage, sentences, self._reasons.unit)

    def _decision(
        self,
        state: RunState,
        evidence: Evidence,
        sentences: tuple[SentenceVerdict, ...],
        exhausted: str | None,
    ) -> tuple[Decision, str]:
        skip_reason = self._reasons.skip_reason(state)
        if skip_reason is not None:
            return "skipped", skip_reason
        obstacle = exhausted or self._reasons.obstacle(state, evidence)
        if obstacle is None:
            in_doubt, names = self._in_doubt(state), state.names
        else:
            in_doubt, names = self._left_open(state), ()
        flagged = [i for i, result in enumerate(state.results) if self.flags(result)]
        # What references or tool calls contradict stays so whatever became of the samples.
        if obstacle is not None and in_doubt.issuperset(flagged):
            return "inconclusive", obstacle
        decision, reason = self._reasons.decision(
            state,
            evidence,
            Counter(sentence.band for sentence in sentences),
            in_doubt=in_doubt,
            flagged=self.flagged(state, evidence),
            flagged_names=sum(self.flags(result) and name.sentence < 0 for name, result in names),
        )
        return decision, reason if obstacle is None else f"{reason}; {obstacle}"

    def flagged(self, state: RunState, evidence: Evidence) -> list[int]:
        """Return the indices of the flagged claims."""
        undecided = self.undecided(state, evidence)
        return [
            i for i, result in enumerate(state.results) if self.flags(result) and i not in undecided
        ]

    def contradictions(
        self, state: RunState, evidence: Evidence, parts: Mapping[int, Sequence[Part]]
    ) -> dict[int, Contradiction]:
        """Find contradictions of the flagged claims, the most expensive part of deciding.

        Args:
            state: The chain's results; contradictions reported by its methods are kept.
            evidence: The evidence it used.
            parts: The parts of the flagged claims, by claim index.

        Returns:
            The contradictions found, by claim index.
        """
        indexes: dict[EvidenceKind, ContradictionIndex] = {}
        analyses = AnalysisCache()
        by_claim: dict[int, Contradiction] = {}
        for i in self.flagged(state, evidence):
            stop_if_abandoned()
            result, claim = state.results[i], state.claims[i]
            if result.judged:
                # What a tool call says in its place, the method knows.
                if result.contradiction is not None:
                    by_claim[i] = result.contradiction
                continue
            contradiction = result.contradiction or _contradicting_reference(result, evidence)
            if contradiction is None:
                source = result.source
                if source not in indexes:
                    indexes[source] = pool_of(source, evidence).derived(INDEX_BUILDERS[source])
                contradiction = contradiction_of(
                    claim,
                    parts.get(i, ()),
                    indexes[source],
                    result.against,
                    analyses,
                    of_fields=self._structured,
                )
                second = self._policy.second_opinion
                if contradiction is not None and source == "second_opinion" and second is not None:
                    contradiction = replace(contradiction, model=second.model)
            elif contradiction.claim_span is not None:
                contradiction = with_kind(contradiction, claim, analyses)
            else:
                whole = (0, len(claim.text))
                doubted = stretches_in_doubt(claim.text, claim.start, parts.get(i, ()))
                contradiction = with_difference(
                    contradiction,
                    claim,
                    [*doubted, whole],
                    analyses,
                    of_fields=self._structured,
                )
            if contradiction is not None:
                by_claim[i] = _with_title(contradiction, evidence)
        return by_claim

    def claims(
        self,
        state: RunState,
        evidence: Evidence,
        contradictions: Mapping[int, Contradiction],
        parts: Mapping[int, tuple[Part, ...]] = MappingProxyType({}),
    ) -> tuple[ClaimVerdict, ...]:
        """Return the verdict on each claim.

        Args:
            state: The chain's results.
            evidence: The evidence it used.
            contradictions: Contradictions of the flagged claims, by claim index.
            parts: The parts of the flagged claims, by claim index.
        """
        undecided = self.undecided(state, evidence)
        verdicts: list[ClaimVerdict] = []
        for i, (claim, result) in enumerate(zip(state.claims, state.results, strict=True)):
            contradiction = contradictions.get(i)
            denied = _is_denied(result, contradiction)
            decided = None if i in undecided else result.score
            band = self._policy.threshold.band(decided, denied=denied)
            verdicts.append(
                _claim_verdict(
                    claim,
                    result,
                    band=band,
                    contradicted_by=None if result.denied is False else contradiction,
                    grounds=result.grounds,
                    parts=result.judged or _with_contradiction(parts.get(i, ()), contradiction),
                )
            )
        return tuple(verdicts)

    def flags_names(self, names: Iterable[tuple[Claim, ClaimResult]], evidence: Evidence) -> bool:
        """Return whether any name in code is flagged, judging by the samples."""
        return any(self.flags(result) for _, result in names) and self.decides_names(evidence)

    def decides_names(self, evidence: Evidence) -> bool:
        """Return whether the samples allow a decision about names in code."""
        return not (self._reasons.compares and self._reasons.samples_problem(evidence))

    def name_verdicts(
        self, names: Iterable[tuple[Claim, ClaimResult]], *, is_decided: bool
    ) -> tuple[ClaimVerdict, ...]:
        """Return the verdicts on names in code.

        Args:
            names: The names with their results.
            is_decided: Whether the evidence allows a decision.
        """
        verdicts: list[ClaimVerdict] = []
        for name, result in names:
            decided = result.score if is_decided else None
            band = self._policy.threshold.band(decided, denied=result.contradiction is not None)
            verdicts.append(
                _claim_verdict(
                    name.without_name() if isinstance(name, NameClaim) else name,
                    result,
                    band=band,
                    contradicted_by=result.contradiction if band == "contradicted" else None,
                )
            )
        return tuple(verdicts)

    def sentences(
        self, state: RunState, claims: Sequence[ClaimVerdict]
    ) -> tuple[SentenceVerdict, ...]:
        """Return the verdict on each sentence, which is that on its worst claim.

        Args:
            state: The chain's results.
            claims: The verdicts on its claims.
        """
        worst: dict[int, ClaimVerdict] = {}
        for claim in claims:
            worst_so_far = worst.get(claim.sentence)
            if worst_so_far is None or _severity(claim) > _severity(worst_so_far):
                worst[claim.sentence] = claim
        verdicts: list[SentenceVerdict] = []
        for i, sentence in enumerate(state.passage.sentences):
            claim = worst[i]
            verdicts.append(
                SentenceVerdict(
                    text=sentence.text,
                    start=sentence.start,
                    end=sentence.end,
                    score=claim.score,
                    flagged=claim.flagged,
                    by=claim.by,
                    reason=claim.reason,
                    contradicted_by=claim.contradicted_by,
                    scores=claim.scores,
                    band=claim.band,
                )
            )
        return tuple(verdicts)


def _with_title(contradiction: Contradiction, evidence: Evidence) -> Contradiction:
    """Return a contradiction with the title of the reference that it comes from."""
    if contradiction.source != "reference":
        return contradiction
    titles = {reference.text: reference.title for reference in evidence.sources}
    for reference in evidence.references.arrived:
        if reference.index == contradiction.index:
            return replace(contradiction, title=titles.get(reference.text))
    return contradiction


def _contradicting_reference(result: ClaimResult, evidence: Evidence) -> Contradiction | None:
    """Return the reference sentence that was found to say otherwise."""
    if not result.is_grounded:
        return None
    for ground in result.grounds:
        if ground.supports or ground.start is None:
            continue
        text = evidence.sources[ground.reference].text if evidence.sources else ""
        for reference in evidence.references.arrived:
            if reference.text != text:
                continue
            for sentence in reference.passage.sentences:
                if sentence.start <= ground.start < sentence.end:
                    return Contradiction("reference", reference.index, sentence.text)
            break
    return None


def _claim_verdict(
    claim: Claim,
    result: ClaimResult,
    *,
    band: Band | None,
    contradicted_by: Contradiction | None,
    grounds: tuple[Grounds, ...] = (),
    parts: tuple[Part, ...] = (),
) -> ClaimVerdict:
    """Return what the verdict says of a claim, or of a name in code."""
    return ClaimVerdict(
        claim=claim,
        score=result.score,
        flagged=band in FLAGGED,
        by=result.by,
        reason=result.reason,
        contradicted_by=contradicted_by,
        scores=result.scores,
        band=band,
        grounds=grounds,
        parts=parts,
    )


def _with_contradiction(
    parts: Sequence[Part], contradiction: Contradiction | None
) -> tuple[Part, ...]:
    """Return parts, of which those that a statement contradicts say so."""
    if contradiction is None or contradiction.claim_span is None:
        return tuple(parts)
    start, end = contradiction.claim_span
    marked: list[Part] = []
    for part in parts:
        if part.flagged and part.start < end and start < part.end:
            part = replace(part, band="contradicted")
        marked.append(part)
    return tuple(marked)


def _is_denied(result: ClaimResult, contradiction: Contradiction | None) -> bool:
    """Return whether a text says something else than a claim, as opposed to nothing.

    Of methods that do not tell these apart, the sentence that comes nearest decides: whether it has
    another number, date or name, or a negation.
    """
    if result.denied is not None:
        return result.denied
    if contradiction is None:
        return False
    return result.contradiction is not None or contradiction.kind != "other"


def _severity(claim: ClaimVerdict) -> tuple[bool, float]:
    return claim.flagged, -1.0 if claim.score is None else claim.score
