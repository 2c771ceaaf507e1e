"""What the computed values of a claim decide about it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from resay.core.grounds import Grounds
from resay.core.scores import UnsupportedSpan
from resay.scorers.common.arithmetic.passage import CheckedNumbers
from resay.scorers.common.grounded_claims import GroundedClaim, named


def apply_numbers(claim: GroundedClaim, numbers: CheckedNumbers, owners: Sequence[int]) -> None:
    """Let what documents give for the computed values of a claim decide on it.

    Args:
        claim: The claim, compared without the values that documents bear out.
        numbers: What they give for its values.
        owners: By index of a record, the index of its document.
    """
    if numbers.wrong:
        _contradict(claim, numbers, owners)
        return
    if not numbers.right or claim.score is None:
        return
    reasons: list[str] = []
    for result in numbers.right:
        documents = _documents(result.records, owners)
        source = f", from {named(documents)}" if documents else ""
        reasons.append(f"{result.arithmetic}{source}")
    arithmetic = "; ".join(reasons)
    claim.reason = arithmetic if claim.supporting else f"{claim.reason}; {arithmetic}"


def _contradict(claim: GroundedClaim, numbers: CheckedNumbers, owners: Sequence[int]) -> None:
    """Flag a claim for whose values documents give something else."""
    reasons: list[str] = []
    spans: list[UnsupportedSpan] = []
    contradicting: set[int] = set()
    offset = numbers.sentence.start
    for result in numbers.wrong:
        documents = _documents(result.records, owners)
        contradicting.update(documents)
        if result.number is None:
            reasons.append(f"{named(documents)}: {result.arithmetic}")
            continue
        start, end = result.number
        spans.append(UnsupportedSpan(offset + start, offset + end, 1.0))
        gives = "gives" if len(documents) == 1 else "give"
        reasons.append(
            f"{named(documents)} {gives} {result.arithmetic}, the answer says {result.written!r}"
        )
    is_whole = claim.is_flagged and not claim.spans
    if is_whole or len(spans) < len(numbers.wrong):
        claim.spans = ()
    else:
        claim.spans = tuple(sorted({*claim.spans, *spans}, key=lambda span: span.start))
    claim.flag("; ".join(reasons))
    claim.grounds = tuple(Grounds(document, supports=False) for document in sorted(contradicting))


def _documents(records: Collection[int], owners: Sequence[int]) -> list[int]:
    return sorted({owners[record] for record in records})
