"""Checks what a judge says of samples by the words of the samples.

A sample may hold an order that a judge obeys: to find every claim supported, by all samples. What
words can disprove is not taken from the judge: that a sample supports a claim although it has
another number, date or name in the place of the claim's. By the score of `facts` for one claim and
one sample that is certain enough above 0.78: of 228 pairs of WikiBio GPT-3 that gemma4-31b finds
supported, none is above, and in half of those that it does not, the sample is silent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from resay.core.verdict import Scores, mean_score
from resay.scorers.common.comparing import Row

_DISPROVED = 0.78


def without_disproved(scores: Scores, by_words: Sequence[Row]) -> Scores:
    """Leave out the support of samples whose words say otherwise.

    A claim has no score if that is more than the evidence that is left.

    Args:
        scores: What the judge says, with a column for each sample.
        by_words: The scores of `facts`, with a column for each sample.
    """
    columns = [list(column) for column in scores.columns]
    disproved = [0] * len(scores.sentences)
    for column, words in zip(columns, by_words, strict=False):
        for claim, entry in enumerate(column):
            score = words[claim]
            if entry == 0.0 and score is not None and score >= _DISPROVED:
                column[claim] = None
                disproved[claim] += 1
    if not any(disproved):
        return scores
    sentences = list(scores.sentences)
    why = list(scores.why) or [None] * len(sentences)
    for claim, count in enumerate(disproved):
        if not count:
            continue
        entries = [column[claim] for column in columns if column[claim] is not None]
        if count > len(entries):
            entries = []
            for column in columns:
                column[claim] = None
        sentences[claim] = mean_score(entries)
        note = f"the words of {count} texts say otherwise than the judge"
        why[claim] = "; ".join(filter(None, (why[claim], note)))
    lost = {claim for claim, count in enumerate(disproved) if count and sentences[claim] is None}
    return replace(
        scores,
        sentences=tuple(sentences),
        columns=tuple(map(tuple, columns)),
        why=tuple(why),
        lost=tuple(sorted({*scores.undecided, *lost})),
    )
