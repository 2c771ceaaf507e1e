"""Puts what does not exist into a verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from resay.core.claim_verdict import ClaimVerdict, Part
from resay.core.claims import Claim
from resay.core.failures import described
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.step_record import StepRecord
from resay.core.verdict import Verdict
from resay.engine.lookups.lookup import Lookup
from resay.engine.lookups.mentions import Mention, MentionKind
from resay.policy import Policy

METHOD: Final = "lookups"
"""The method's name in verdicts."""
_NOUNS: Final[dict[MentionKind, tuple[str, str]]] = {
    "package": ("package", "packages"),
    "link": ("link", "links"),
    "doi": ("DOI", "DOIs"),
}


@dataclass(frozen=True, slots=True)
class Findings:
    """What the look-ups of an answer came to.

    Attributes:
        lookups: What each has shown.
        failure: Why there are none; its message may hold anything.
        elapsed_s: How long they took.
    """

    lookups: Sequence[Lookup] = ()
    failure: Exception | None = None
    elapsed_s: float = 0.0


def with_findings(verdict: Verdict, findings: Findings, policy: Policy) -> Verdict:
    """Return a verdict in which what does not exist is flagged.

    Args:
        verdict: The verdict without look-ups.
        findings: What they came to.
        policy: The policy.
    """
    lookups = findings.lookups
    if findings.failure is not None:
        record = StepRecord(
            method=METHOD,
            sentences=0,
            elapsed_s=findings.elapsed_s,
            error=f"it failed ({described(findings.failure)})",
        )
        return replace(verdict, steps=(*verdict.steps, record))
    if not lookups:
        return verdict
    missing = [lookup.mention for lookup in lookups if lookup.exists is False]
    problems = Counter(lookup.problem for lookup in lookups if lookup.problem is not None)
    record = StepRecord(
        method=METHOD,
        sentences=len(lookups),
        score=1.0 if missing else None,
        elapsed_s=findings.elapsed_s,
        failures={f"not checked: {problem}": count for problem, count in problems.items()},
        verdict_reason=_reason(missing, len(lookups)) if missing else None,
    )
    verdict = replace(verdict, steps=(*verdict.steps, record))
    if not missing:
        return verdict
    claims, sentences = list(verdict.claims), list(verdict.sentences)
    for mention in missing:
        _flag(mention, claims, sentences)
    threshold = policy.threshold.sentence
    return replace(
        verdict,
        decision="flagged",
        score=1.0,
        threshold=policy.threshold.passage if threshold is None else threshold,
        reason=f"{_reason(missing, len(lookups))}; {verdict.reason}",
        claims=tuple(claims),
        sentences=tuple(sentences),
    )


def _reason(missing: Sequence[Mention], count: int) -> str:
    counts: Counter[MentionKind] = Counter(mention.kind for mention in missing)
    named = [f"{number} {_NOUNS[kind][number > 1]}" for kind, number in counts.items()]
    verb = "does" if len(missing) == 1 else "do"
    return f"{' and '.join(named)} of {count} looked up {verb} not exist"


def _flag(mention: Mention, claims: list[ClaimVerdict], sentences: list[SentenceVerdict]) -> None:
    """Flag the claim that a name is in, or the name itself if it is in none."""
    part = Part(
        start=mention.start,
        end=mention.end,
        band="contradicted",
        kind="name" if mention.kind == "package" else "link",
        score=1.0,
    )
    reason = f"this {_NOUNS[mention.kind][0]} does not exist ({mention.source}: 404)"
    for index, claim in enumerate(claims):
        if claim.unit != "code" and claim.start <= mention.start < claim.end:
            claims[index] = _flagged(claim, part, reason)
            _flag_sentence(claim.sentence, reason, sentences)
            return
    own = Claim(
        text=mention.name,
        start=mention.start,
        end=mention.end,
        unit="code",
        completed_text=_statement(mention),
        sentence=-1,
    )
    claims[:] = [
        claim
        for claim in claims
        if claim.unit != "code" or (claim.start, claim.end) != (mention.start, mention.end)
    ]
    claims.append(_flagged(ClaimVerdict(claim=own), part, reason))


def _flagged(claim: ClaimVerdict, part: Part, reason: str) -> ClaimVerdict:
    # Where all of it is in doubt already, a part would say less.
    has_no_parts = claim.flagged and not claim.flagged_parts
    others = [other for other in claim.parts if other.end <= part.start or part.end <= other.start]
    parts = sorted([*others, part], key=lambda each: each.start)
    return replace(
        claim,
        score=1.0,
        flagged=True,
        by=METHOD,
        reason=reason,
        contradicted_by=None,
        scores={**claim.scores, METHOD: 1.0},
        band="contradicted",
        parts=() if has_no_parts else tuple(parts),
    )


def _flag_sentence(index: int, reason: str, sentences: list[SentenceVerdict]) -> None:
    if not 0 <= index < len(sentences):
        return
    sentence = sentences[index]
    sentences[index] = replace(
        sentence,
        score=1.0,
        flagged=True,
        by=METHOD,
        reason=reason,
        contradicted_by=None,
        scores={**sentence.scores, METHOD: 1.0},
        band="contradicted",
    )


def _statement(mention: Mention) -> str:
    if mention.kind == "package":
        return f"The code installs the package {mention.name}."
    return f"There is {mention.name}."
