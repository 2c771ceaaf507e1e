from __future__ import annotations

from resay.core.claims import Claim, Rules, is_single_sentence
from resay.core.passage import Passage


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
