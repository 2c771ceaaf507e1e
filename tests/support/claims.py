from __future__ import annotations

from typing import Any

from resay import ClaimVerdict, Passage
from resay.core.claims import Rules, is_single_sentence
from resay.plugins import Claim


def claims_of(
    passage: Passage, question: str = "", *, splits: bool = True, skips: bool = True
) -> tuple[Claim, ...]:
    """Find the claims of a whole response by rules.

    Args:
        passage: The response.
        question: The question it answers; empty if unknown.
        splits: Whether to split sentences into claims; otherwise each is one claim.
        skips: Whether to tell greetings, refusals, labels and the like from claims.

    Returns:
        The claims in order, at least one for each sentence.
    """
    rules = Rules(question, splits=splits, skips=skips)
    alone = is_single_sentence(passage)
    return tuple(c for i, s in enumerate(passage.sentences) for c in rules.read(s, i, alone=alone))


def claim_verdict(text: str, start: int, end: int, **fields: Any) -> ClaimVerdict:
    """Return a verdict on a claim.

    Args:
        text: The words of the claim.
        start: Their start in the response.
        end: Their end.
        fields: Other fields of the claim, and of the verdict.
    """
    of_claim = {name: fields.pop(name) for name in ("unit", "kind", "sentence") if name in fields}
    return ClaimVerdict(Claim(text, start, end, **of_claim), **fields)
