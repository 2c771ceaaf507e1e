"""An answer that may be given, with what is known of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from resay.core.passage import Passage
from resay.core.verdict import SentenceVerdict, Verdict, over
from resay.engine.regeneration.repairs import Replacement
from resay.policy import Threshold

__all__ = ["Candidate", "in_doubt", "kept_in"]

_RANKS = {"consistent": 0, "flagged": 1, "inconclusive": 2, "skipped": 2}


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer that may be given.

    Attributes:
        passage: The answer.
        verdict: What is known of it.
        named: Which of its sentences were written from documents, by their places, with the ids of
            those that the model named for each.
        repairs: What stands in place of sentences of the draft, by their places there.
        places: Where each sentence of the draft stands in it, where it is a repaired draft.
        abstains: Which of its sentences say what the documents do not tell, and claim nothing.
        attempt: Which attempt wrote it, from 0; None for the draft.
    """

    passage: Passage
    verdict: Verdict
    named: Mapping[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])
    repairs: Mapping[int, Replacement] = field(default_factory=dict[int, Replacement])
    places: tuple[tuple[int, int], ...] = ()
    abstains: frozenset[int] = frozenset()
    attempt: int | None = None

    @property
    def rank(self) -> tuple[int, int, float]:
        """What to order by, best first: decision, flagged sentences, passage score."""
        verdict = self.verdict
        score = 1.0 if verdict.score is None else verdict.score
        return _RANKS[verdict.decision], len(verdict.flagged_sentences), score


def in_doubt(verdict: Verdict, threshold: Threshold) -> tuple[int, ...]:
    """Return which sentences of a flagged answer are to be mended.

    Where none is flagged by itself, those over the threshold of the passage; where there is none
    either, all.
    """
    sentences = verdict.sentences
    flagged = tuple(i for i, s in enumerate(sentences) if s.flagged)
    above = tuple(i for i, s in enumerate(sentences) if over(s.score, threshold.passage))
    return flagged or above or tuple(range(len(sentences)))


def kept_in(
    passage: Passage, known: Verdict, doubtful: Collection[int]
) -> dict[int, SentenceVerdict]:
    """Return which sentences of an answer need not be looked at again.

    Args:
        passage: The answer.
        known: What was found of another version of it.
        doubtful: The sentences of that version that are in doubt.

    Returns:
        By their places, the sentences that stood in the other version and were not in doubt there,
        with what was found of them.
    """
    sure = {s.text: s for i, s in enumerate(known.sentences) if i not in doubtful}
    for i in doubtful:
        sure.pop(known.sentences[i].text, None)
    return {i: sure[s.text] for i, s in enumerate(passage.sentences) if s.text in sure}
