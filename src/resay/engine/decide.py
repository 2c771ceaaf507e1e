"""Turns the chain's scores into a verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from resay._internal.event_loops import stop_if_abandoned
from resay.core.claim_verdict import ClaimVerdict, Part
from resay.core.claims import Claim
from resay.core.contradiction import Contradiction, EvidenceKind
from resay.core.decision import FLAGGED, Band, Decision
from resay.core.failures import tally
from resay.core.grounds import Grounds
from resay.core.loops import find_loop
from resay.core.scores import digits_to_tell, over
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.step_record import StepRecord
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
from resay.engine.state import ClaimResult, RunState
from resay.engine.unscored import unscored_in, with_unscored
from resay.policy import Policy
from resay.scorers.evidence import Evidence
from resay.scorers.samples import Samples

TIMED_OUT = "it did not finish in time"
"""The note of a step stopped by the deadline."""


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
        self._compares = compares
        self._refers = refers
        self._structured = structured

    def flags(self, result: ClaimResult) -> bool:
        """Return whether a claim's score exceeds the threshold."""
        return over(result.score, self._policy.threshold.sentence)

    def undecided(self, state: RunState, evidence: Evidence) -> frozenset[int]:
        """Return the claims whose scores allow no decision."""
        if self._obstacle(state, evidence):
            return frozenset(i for i, claim in enumerate(state.claims) if claim.is_checkable)
        return self._in_doubt(state)

    def _in_doubt(self, state: RunState) -> frozenset[int]:
        """Return the claims without a reliable score.

        A flagged claim stays flagged without a second opinion.
        """
        waiting = (i for i in state.unconfirmed if not self.flags(state.results[i]))
        return state.undecided.union(waiting)

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
            names = self._names(state, evidence)
            claims = tuple(sorted((*claims, *names), key=lambda claim: claim.start))
        sentences = self.sentences(state, claims)
        decision, reason = self._decision(state, evidence, sentences, exhausted)
        if decision != "skipped":
            loop = None if self._structured else find_loop(state.passage, _question(evidence))
            if loop is not None and decision == "consistent":
                # A model that is caught in a loop is so again in its samples.
                decision, reason = "inconclusive", f"{loop.reason}; otherwise {reason}"
            elif loop is not None:
                reason = f"{reason}; {loop.reason}"
            remarks = [remark for remark in self._remarks(state) if remark not in reason]
            reason = "; ".join([reason, *remarks])
        unscored = self.unscored(state)
        # The reason already says why sentences could not be scored, or were skipped.
        everything = decision in {"skipped", "inconclusive"}
        undecided = state.sentences(self.undecided(state, evidence))
        explained = {
            sentences[i].start for i in (range(len(sentences)) if everything else undecided)
        }
        mean = state.names_score if state.score is None else state.score
        is_decided = decision in {"flagged", "consistent"}
        score, threshold = self._decisive_score(claims, mean) if is_decided else (None, None)
        return Verdict(
            decision=decision,
            score=score,
            reason=with_unscored(
                reason, (stretch for stretch in unscored if stretch.start not in explained)
            ),
            sentences=sentences,
            claims=() if self._structured else claims,
            samples=len(evidence.samples),
            steps=state.steps,
            unscored=unscored,
            references=evidence.sources if any(e.is_grounded for e in state.results) else (),
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
        limits = self._policy.threshold
        decided = [claim.score for claim in claims if claim.band is not None]
        worst = max((score for score in decided if score is not None), default=None)
        if worst is None or limits.sentence is None:
            return mean, None if mean is None else limits.passage
        if over(mean, limits.passage) and not over(worst, limits.sentence):
            return mean, limits.passage
        return worst, limits.sentence

    def _remarks(self, state: RunState) -> list[str]:
        second = self._policy.second_opinion
        if second is not None and self._structured:
            return [f"no second opinion: {second.model} is not asked about objects and calls"]
        return [step.verdict_reason for step in state.steps if step.verdict_reason]

    def unscored(self, state: RunState) -> tuple[Unscored, ...]:
        """Return the spans of a passage that were not scored."""
        if state.whole == "text":
            return ()
        # A repaired sentence that the documents do not cover has a reason instead of a score.
        silent = state.sentences(
            i
            for i, result in enumerate(state.results)
            if result.score is None and (result.reason is None or result.unanswered)
        )
        kind = "field" if self._structured else "sentence"
        return unscored_in(state.passage, () if state.whole else silent, kind)

    def _decision(
        self,
        state: RunState,
        evidence: Evidence,
        sentences: tuple[SentenceVerdict, ...],
        exhausted: str | None,
    ) -> tuple[Decision, str]:
        skipped = [step.skip_reason for step in state.steps if step.skip_reason]
        if state.results and skipped and len(skipped) == len(state.steps):
            return "skipped", skipped[0]
        nothing = _nothing_to_score(state)
        if nothing:
            return "skipped", nothing
        if exhausted:
            return "inconclusive", exhausted
        obstacle = self._obstacle(state, evidence)
        if obstacle:
            return "inconclusive", obstacle
        return self._decide(state, evidence, Counter(s.band for s in sentences))

    def _obstacle(self, state: RunState, evidence: Evidence) -> str | None:
        """Return why no decision at all is possible, or None."""
        if not state.results and state.names_score is None:
            return f"there is no {self._unit} to score in the response"
        if self._refers and not len(evidence.references):
            return "no references found to compare with"
        # Claims that references decided need no samples.
        left = [i for i, e in enumerate(state.results) if i not in state.kept and not e.is_grounded]
        problem = self._samples_problem(evidence) if self._compares and left else None
        # If samples are missing because time ran out, report the deadline.
        if problem and any(step.error == TIMED_OUT for step in state.steps):
            return self._timeout_reason(evidence)
        return problem

    def _samples_problem(self, evidence: Evidence) -> str | None:
        samples, least = evidence.samples, self._policy.sampling.min
        if len(samples) < least:
            failed = tally(type(error).__name__ for error in samples.failures)
            count = f"{len(samples)} usable sample{'' if len(samples) == 1 else 's'}"
            return f"only {count}; `sampling.min` is {least}" + (
                f"; failed: {failed}" if failed else ""
            )
        # Small objects may well be identical; prose may not.
        if samples.all_identical and (samples.are_fixed or not self._structured):
            return (
                f"all {len(samples)} samples are identical, so their agreement proves nothing;"
                " check for a cache, a fixed seed or greedy decoding, such as a temperature of 0"
            )
        return None

    def flagged(self, state: RunState, evidence: Evidence) -> list[int]:
        """Return the indices of the flagged claims."""
        undecided = self.undecided(state, evidence)
        return [i for i, e in enumerate(state.results) if self.flags(e) and i not in undecided]

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
                if (
                    contradiction is not None
                    and source == "second_opinion"
                    and self._policy.second_opinion
                ):
                    contradiction = replace(contradiction, model=self._policy.second_opinion.model)
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
                by_claim[i] = contradiction
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
                    parts=_with_contradiction(parts.get(i, ()), contradiction),
                )
            )
        return tuple(verdicts)

    def flags_names(self, names: Iterable[tuple[Claim, ClaimResult]], evidence: Evidence) -> bool:
        """Return whether any name in code is flagged, judging by the samples."""
        if not any(self.flags(result) for _, result in names):
            return False
        return not (self._compares and self._samples_problem(evidence))

    def _names(self, state: RunState, evidence: Evidence) -> Iterator[ClaimVerdict]:
        """Yield the verdicts on the names in code."""
        obstacle = self._obstacle(state, evidence)
        for name, result in state.names:
            decided = result.score if obstacle is None else None
            band = self._policy.threshold.band(decided, denied=result.contradiction is not None)
            yield _claim_verdict(
                name.without_name() if isinstance(name, NameClaim) else name,
                result,
                band=band,
                contradicted_by=result.contradiction if band == "contradicted" else None,
            )

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
        return tuple(
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
            for sentence, claim in (
                (sentence, worst[i]) for i, sentence in enumerate(state.passage.sentences)
            )
        )

    def _decide(
        self, state: RunState, evidence: Evidence, bands: Counter[Band | None]
    ) -> tuple[Decision, str]:
        in_doubt = self._in_doubt(state)
        # A flagged sentence is decided, whatever else it claims.
        undecided = state.sentences(in_doubt) - state.sentences(self.flagged(state, evidence))
        count, score = len(state.claiming), state.lowest_score(in_doubt)
        threshold = self._policy.threshold
        basis = self._basis(state, evidence)
        if state.names_score is not None:
            basis += f"; compared: {_count_of_names(state)} in code"
        gap = f"{len(undecided)} of {count} {self._unit}s could not be scored"
        gap += self._unanswered_reason(state)
        reasons: list[str] = []
        if threshold.passage is not None and over(score, threshold.passage):
            digits = digits_to_tell(score, threshold.passage)
            reasons.append(f"passage {score:.{digits}f} > {threshold.passage:.{digits}f}")
        if flagged := bands["unsupported"] + bands["contradicted"]:
            reasons.append(f"{flagged} of {count} {self._unit}s > {threshold.sentence:.2f}")
        names = sum(self.flags(result) and name.sentence < 0 for name, result in state.names)
        if names:
            reasons.append(
                f"{names} of {_count_of_names(state)} in code > {threshold.sentence:.2f}"
            )
        if reasons:
            return "flagged", ", ".join(reasons) + basis + (f"; {gap}" if undecided else "")
        if undecided:
            reason = self._undecided_reason(state.decisive, evidence)
            return "inconclusive", reason or self._unconfirmed_reason(state, evidence) or gap
        if state.score is None and state.names_score is None:
            return "inconclusive", "no method of the chain returned a score"
        doubtful = bands["doubtful"]
        doubt = f"; {doubtful} of {count} {self._unit}s doubtful" if doubtful else ""
        decision, reason = self._consistent(state, score, basis)
        return decision, reason + doubt

    def _consistent(self, state: RunState, score: float, basis: str) -> tuple[Decision, str]:
        threshold = self._policy.threshold
        scored = any(result.score is not None for result in state.results)
        only_names = not scored and state.names_score is not None
        limits = [
            f"{name} <= {limit:.2f}"
            for name, limit in (
                (f"passage {score:.2f}", None if state.score is None else threshold.passage),
                (f"every {self._unit}", threshold.sentence if scored else None),
                ("every name in code", threshold.sentence if only_names else None),
            )
            if limit is not None
        ]
        if not limits:
            return "inconclusive", (
                "the chain scored only the passage, and `threshold.passage` is null"
            )
        return "consistent", ", ".join(limits) + basis

    @property
    def _unit(self) -> str:
        return "field" if self._structured else "sentence"

    def _basis(self, state: RunState, evidence: Evidence) -> str:
        grounded = [e.is_grounded for e in state.results if e.score is not None]
        if any(grounded):
            count = len(evidence.sources)
            by = f" by {count} reference{'' if count == 1 else 's'}"
            return by if all(grounded) else by + self._by_samples(evidence)
        return self._by_samples(evidence)

    def _by_samples(self, evidence: Evidence) -> str:
        if not self._compares:
            return ""
        there, most = len(evidence.samples), evidence.samples.available
        return f" after {there} of {most} samples" if there < most else f" with {there} samples"

    def _undecided_reason(self, decisive: StepRecord | None, evidence: Evidence) -> str | None:
        if decisive is None or decisive.error is None:
            return None
        if decisive.error == TIMED_OUT:
            return self._timeout_reason(evidence)
        return f"{decisive.method}: {decisive.error}"

    def _unanswered_reason(self, state: RunState) -> str:
        """Return why questions about claims that samples do not mention have no answer."""
        unanswered = {i: result.unanswered for i, result in enumerate(state.results)}
        reasons = {reason for reason in unanswered.values() if reason is not None}
        if not reasons:
            return ""
        count = len(state.sentences(i for i, reason in unanswered.items() if reason is not None))
        return f": most samples do not mention {count} of them, and {', '.join(sorted(reasons))}"

    def _unconfirmed_reason(self, state: RunState, evidence: Evidence) -> str | None:
        """Return why claims have no second opinion, if nothing else is missing."""
        second_opinions = [record for step, record in state.done if step.is_second]
        if state.undecided or not second_opinions:
            return None
        return (
            self._undecided_reason(second_opinions[-1], evidence)
            or second_opinions[-1].verdict_reason
        )

    def _timeout_reason(self, evidence: Evidence) -> str:
        return (
            f"the check did not finish within {self._policy.limits.deadline_s:g} s"
            f" (`limits.deadline_s`); {len(evidence.samples)} samples had arrived"
        )


def _contradicting_reference(result: ClaimResult, evidence: Evidence) -> Contradiction | None:
    """Return the reference sentence that was found to say otherwise."""
    against = (g for g in result.grounds if not g.supports and g.start is not None)
    for ground in against if result.is_grounded else ():
        text = evidence.sources[ground.reference].text if evidence.sources else ""
        held = next((r for r in evidence.references.arrived if r.text == text), None)
        for sentence in held.passage.sentences if held else ():
            if ground.start is not None and sentence.start <= ground.start < sentence.end:
                return Contradiction("reference", held.index if held else 0, sentence.text)
    return None


def _question(evidence: Evidence) -> str:
    query = evidence.user_query or evidence.query
    return query.question if query is not None else ""


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


def _nothing_to_score(state: RunState) -> str | None:
    """Return why a response contains nothing to score, or None."""
    if state.names_score is not None:
        return None
    if state.results and not state.claiming:
        kinds = sorted({claim.kind for claim in state.claims})
        return f"the response claims nothing ({', '.join(kinds)})"
    if not state.results and {piece.kind for piece in state.passage.unscored()} == {"code"}:
        return "the response is only code"
    return None


def _count_of_names(state: RunState) -> str:
    count = sum(result.score is not None for _, result in state.names)
    return f"{count} name{'' if count == 1 else 's'}"
