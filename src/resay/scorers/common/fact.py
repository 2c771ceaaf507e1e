"""The facts of a sentence, and the score that doubts about them add up to.

The score is the weighted quadratic mean of the doubts, so that one wrong fact outweighs a few
paraphrased words; see `resay.scorers.facts` for the formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from resay.core.quantities import Quantity
from resay.scorers.common.sentence_items import quadratic_mean

# Score of a sentence that all texts contradict.
_OPPOSITE = 0.75

FactKind = Literal["quantity", "name", "code", "quotation", "word", "relation"]


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact that a sentence states.

    Attributes:
        text: Its words.
        weight: Its weight.
        kind: What it is; a code is any text that is compared verbatim, a relation what the
            sentence says as a whole.
        support: By text, how much of it the text says, in [0, 1].
        mentioned: By text, whether it says it, whatever else counts as support; empty if only
            `reason` explains it.
        quantity: The quantity, if it is one.
        decides: Whether the sentence is wrong if this is, whatever else it says.
        rival: What texts say in its place, and how many do.
        reason: What to say if it is doubted, if there is a better one than how many say it.
        mentioned_in_part: How many texts say only a part of it.
        name: The name that the word belongs to, if it belongs to one.
        opposing_sentence: The index of a sentence that says the opposite, if one does.
    """

    text: str
    weight: float
    kind: FactKind
    support: list[float]
    mentioned: Sequence[bool] = ()
    quantity: Quantity | None = None
    decides: bool = False
    rival: tuple[str, int] | None = None
    reason: str | None = None
    mentioned_in_part: int = 0
    name: str = ""
    opposing_sentence: int | None = None


def pooled_score(facts: Sequence[Fact], doubts: Sequence[float], undoubted: float) -> float:
    """Return the score of a sentence: the weighted quadratic mean of the doubts in its facts.

    Args:
        facts: The facts of the sentence.
        doubts: How doubtful each of them is, from 0 to 1.
        undoubted: The weight of what the sentence says besides its facts.
    """
    weight = squares = worst = 0.0
    for fact, doubt in zip(facts, doubts, strict=True):
        weight += fact.weight
        squares += fact.weight * doubt * doubt
        if fact.decides:
            worst = max(worst, doubt)
    return max(quadratic_mean(squares, weight, undoubted), _OPPOSITE * worst)


def scores_by_text(facts: Sequence[Fact], count: int, undoubted: float) -> list[float]:
    """Return the score that each text would give by itself.

    Args:
        facts: The facts of a sentence.
        count: Number of texts.
        undoubted: The weight of what the sentence says besides its facts.
    """
    return [
        pooled_score(facts, [1 - fact.support[text] for fact in facts], undoubted)
        for text in range(count)
    ]
