"""Answers that may be returned in place of a flagged one, and what is compared of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

from resay._internal.event_loops import compute
from resay.core.passage import Passage
from resay.core.scores import over
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.verdict import Verdict
from resay.engine.regeneration.replacements import Replacement
from resay.policy import Policy, Threshold
from resay.scorers.samples import SPLITTING

_RANKS = {"consistent": 0, "flagged": 1, "inconclusive": 2, "skipped": 2}


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer that may be returned.

    Attributes:
        passage: The answer.
        verdict: The verdict on it.
        citations_by_sentence: Its sentences that were written from documents, by index, with the
            ids of the documents that the model cited for each.
        repairs: Replacements of the draft's sentences, by their indices there.
        spans: The spans of the draft's sentences in it, if it is a repaired draft.
        abstains: Its sentences that say that the documents have no answer, and claim nothing.
        attempt: The attempt that wrote it, from 0; None for the draft.
        removed: The sentences of the draft that were removed because no document mentions them.
        is_abstention: Whether it claims nothing at all.
    """

    passage: Passage
    verdict: Verdict
    citations_by_sentence: Mapping[int, tuple[str, ...]] = field(
        default_factory=dict[int, tuple[str, ...]]
    )
    repairs: Mapping[int, Replacement] = field(default_factory=dict[int, Replacement])
    spans: tuple[tuple[int, int], ...] = ()
    abstains: frozenset[int] = frozenset()
    attempt: int | None = None
    removed: frozenset[int] = frozenset()
    is_abstention: bool = False

    @property
    def rank(self) -> tuple[int, int, float]:
        """The sort key, best first: decision, flagged sentences, passage score."""
        verdict = self.verdict
        if self.is_abstention:
            return 0, 0, 1.0
        score = 1.0 if verdict.score is None else verdict.score
        return _RANKS[verdict.decision], len(verdict.flagged_sentences), score


def in_doubt(verdict: Verdict, threshold: Threshold) -> tuple[int, ...]:
    """Return the sentences of a flagged answer to repair.

    If none is flagged by itself, those over the passage threshold; failing that, all.
    """
    sentences = verdict.sentences
    flagged = tuple(i for i, s in enumerate(sentences) if s.flagged)
    above = tuple(i for i, s in enumerate(sentences) if over(s.score, threshold.passage))
    return flagged or above or tuple(range(len(sentences)))


def unchanged_verdicts(
    passage: Passage, earlier: Verdict, doubtful: Collection[int]
) -> dict[int, SentenceVerdict]:
    """Return the sentences of an answer that need no second check.

    Args:
        passage: The answer.
        earlier: The verdict on another version of it.
        doubtful: The sentences of that version that are in doubt.

    Returns:
        The verdicts on the sentences that the other version contains and that were not in doubt
        there, by sentence index.
    """
    undoubted = {sentence.text: sentence for sentence in earlier.sentences}
    for i in doubtful:
        undoubted.pop(earlier.sentences[i].text, None)
    verdicts: dict[int, SentenceVerdict] = {}
    for i, sentence in enumerate(passage.sentences):
        verdict = undoubted.get(sentence.text)
        if verdict is not None:
            verdicts[i] = verdict
    return verdicts


async def split_text(text: str, policy: Policy) -> Passage:
    """Split an answer into sentences, as the policy says."""
    split = partial(Passage.of, text, splitter=policy.splitter)
    return await compute(split, chars=SPLITTING * len(text))
