"""The structured results of the tools."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, Field

from resay import ClaimVerdict, Contradiction, Verdict
from resay.adapters import Decision
from resay.adapters.terminal import counted
from resay_mcp._sessions import Session

Band = Literal["supported", "doubtful", "unsupported", "contradicted"]
_WORST_FIRST: Sequence[Band] = ("contradicted", "unsupported", "doubtful", "supported")
# What a guard's reasons call documents: "references 1 and 3", "no reference", "2 references".
_REFERENCES = re.compile(r"(?<!['\w])reference(s?)\b(?: (\d+(?:(?:, | and )\d+)*))?")


class ContraryStatement(BaseModel):
    """A statement that says something else than a claim."""

    text: str = Field(description="The statement.")
    source: str = Field(description="Who makes it: `sample 2`, a document's name, or a model.")


class CheckedClaim(BaseModel):
    """A claim of the answer."""

    text: str = Field(description="The claim, written out so that it stands alone.")
    start: int = Field(description="The offset of its first character in the answer.")
    end: int = Field(description="The offset after its last character.")
    verdict: Band | None = Field(description="The verdict on it; null if it was not decided.")
    score: float | None = Field(description="From 0, supported, to 1; null without an opinion.")
    reason: str | None = Field(description="The reason for the score.")
    contradicted_by: ContraryStatement | None = Field(
        description="The statement that contradicts it, if there is one."
    )
    supported_by: list[str] = Field(description="The names of the documents that support it.")


class UncheckedPart(BaseModel):
    """A part of the answer that no method compared, such as code."""

    text: str = Field(description="The part.")
    kind: str = Field(description="What it is, such as `code` or `table`.")


class CheckUsage(BaseModel):
    """What calls of models have cost."""

    calls: int = Field(description="The number of calls.")
    tokens: int = Field(description="Prompt and completion tokens.")
    cost_usd: float | None = Field(description="Dollars; null if a price is unknown.")


class SessionUsage(CheckUsage):
    """What the checks of this session have used so far."""

    checking_s: float = Field(description="The seconds that the checks took together.")
    limit_reached: str | None = Field(
        description="The limit that is reached, so that further checks are not or only partly"
        " made; null if none is."
    )


class CheckResult(BaseModel):
    """The result of a check."""

    decision: Decision = Field(
        description="`flagged`: something in the answer looks made up. `consistent`: supported by"
        " what it was compared with, which is not proof. `inconclusive`: not decided. `skipped`:"
        " nothing to check."
    )
    score: float | None = Field(description="From 0, supported, to 1; null without a decision.")
    reason: str = Field(description="The reason for the decision.")
    claims: list[CheckedClaim] = Field(description="The claims of the answer, in order.")
    unchecked: list[UncheckedPart] = Field(description="The parts that were not compared.")
    samples: int = Field(description="The number of other answers that it was compared with.")
    usage: CheckUsage = Field(description="What this check has cost.")
    session: SessionUsage


class ClaimResult(BaseModel):
    """The result for one claim."""

    verdict: Band | Literal["undecided"] = Field(
        description="`supported`, `doubtful`, `unsupported` (nothing says it), `contradicted`"
        " (something says otherwise), or `undecided`."
    )
    score: float | None = Field(description="From 0, supported, to 1; null if undecided.")
    reason: str = Field(description="The reason.")
    compared_with: str = Field(
        description="What the claim was compared with: the documents, or answers that the model"
        " gave when it was asked about the claim (`samples`)."
    )
    contradicted_by: ContraryStatement | None = Field(
        description="The statement that contradicts it, if there is one."
    )
    supported_by: list[str] = Field(description="The names of the documents that support it.")
    usage: CheckUsage = Field(description="What this check has cost.")
    session: SessionUsage


def check_result(verdict: Verdict, documents: Mapping[str, str], session: Session) -> CheckResult:
    """Return a verdict as the result of a check.

    Args:
        verdict: The verdict.
        documents: The names of the documents that were compared with, by their places.
        session: The session, with this check counted.
    """
    return CheckResult(
        decision=verdict.decision,
        score=verdict.score,
        reason=_with_names(verdict.reason, verdict, documents),
        claims=[_checked_claim(claim, verdict, documents) for claim in verdict.claims],
        unchecked=[UncheckedPart(text=part.text, kind=part.kind) for part in verdict.unscored],
        samples=verdict.samples,
        usage=_check_usage(verdict),
        session=_session_usage(session),
    )


def claim_result(verdict: Verdict, documents: Mapping[str, str], session: Session) -> ClaimResult:
    """Return the verdict on a text that is one claim: that on the worst of its claims.

    Args:
        verdict: The verdict.
        documents: The names of the documents that were compared with, by their places.
        session: The session, with this check counted.
    """
    worst = _worst_claim(verdict)
    checked = None if worst is None else _checked_claim(worst, verdict, documents)
    return ClaimResult(
        verdict=(checked and checked.verdict) or "undecided",
        score=checked and checked.score,
        reason=(checked and checked.reason) or _with_names(verdict.reason, verdict, documents),
        compared_with=_compared_with(verdict, documents),
        contradicted_by=checked and checked.contradicted_by,
        supported_by=[] if checked is None else checked.supported_by,
        usage=_check_usage(verdict),
        session=_session_usage(session),
    )


def _worst_claim(verdict: Verdict) -> ClaimVerdict | None:
    """Return the first of the claims with the worst verdict; None if nothing was decided."""
    if verdict.decision not in ("flagged", "consistent"):
        return None
    for band in _WORST_FIRST:
        for claim in verdict.claims:
            if claim.band == band:
                return claim
    return None


def _checked_claim(
    claim: ClaimVerdict, verdict: Verdict, documents: Mapping[str, str]
) -> CheckedClaim:
    supporting = [
        _name_of(verdict, grounds.reference, documents)
        for grounds in claim.grounds
        if grounds.supports
    ]
    return CheckedClaim(
        text=claim.text,
        start=claim.start,
        end=claim.end,
        verdict=claim.band,
        score=claim.score,
        reason=None if claim.reason is None else _with_names(claim.reason, verdict, documents),
        contradicted_by=_contrary_statement(claim.contradicted_by, verdict, documents),
        supported_by=supporting,
    )


def _contrary_statement(
    contradiction: Contradiction | None, verdict: Verdict, documents: Mapping[str, str]
) -> ContraryStatement | None:
    if contradiction is None:
        return None
    source = contradiction.speaker
    if contradiction.source == "reference":
        source = _name_of(verdict, contradiction.index, documents)
    return ContraryStatement(text=contradiction.text, source=source)


def _compared_with(verdict: Verdict, documents: Mapping[str, str]) -> str:
    if documents:
        return counted(len(documents), "document")
    if not verdict.samples:
        return "nothing"
    return f"{counted(verdict.samples, 'answer')} of the model, asked about the claim"


def _with_names(reason: str, verdict: Verdict, documents: Mapping[str, str]) -> str:
    """Return a reason with the names of documents where it has numbers of references."""
    if not documents:
        return reason

    def named(match: re.Match[str]) -> str:
        plural, numbers = match.groups()
        if numbers is None:
            return f"document{plural}"
        names = [
            _name_of(verdict, int(number) - 1, documents) for number in re.findall(r"\d+", numbers)
        ]
        last = names.pop()
        return f"{', '.join(names)} and {last}" if names else last

    return _REFERENCES.sub(named, reason)


def _name_of(verdict: Verdict, index: int, documents: Mapping[str, str]) -> str:
    """Return the name of a reference: its document's, or its place in the question."""
    if index >= len(verdict.references):
        return f"document {index + 1}"
    place = verdict.references[index].source
    return documents.get(place, place)


def _check_usage(verdict: Verdict) -> CheckUsage:
    usage = verdict.usage
    return CheckUsage(calls=usage.calls, tokens=usage.tokens, cost_usd=usage.cost_usd)


def _session_usage(session: Session) -> SessionUsage:
    return SessionUsage(
        calls=session.usage.calls,
        tokens=session.usage.tokens,
        cost_usd=session.usage.cost_usd,
        checking_s=round(session.checking_s, 3),
        limit_reached=session.reached,
    )
