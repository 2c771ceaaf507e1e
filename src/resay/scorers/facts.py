"""Checks the facts of each sentence against samples (`facts`): numbers, dates, names, rare words.

A sentence is split into items: quantities (numbers, measures, dates), names, links, quotations, and
its other words without the commonest. Anything the question already says is not an item. Each item
i has the share v_i of samples that do not say it, and a weight w_i by its kind: 6 for a quantity,
which can hardly be paraphrased, for a name in code, a link and a quotation; 4 for a name, divided
among its words; up to 1 for another word, which may be paraphrased, by its length, since short
words are mostly grammar. The score is the weighted quadratic mean

    score = sqrt(sum_i w_i v_i^2 / (2 + sum_i w_i))

so that one wrong fact outweighs a few paraphrased words. The 2 stands for undoubted content: a
sentence of one common word says little (in a list item or a table row, 0.5). The other words weigh
3 at most in total.

Quantities are compared by value: "5 km" is "5,000 m", "about 42,000" is 41,870, and 1932-03-19 is
19 March 1932 (`resay.core.quantities`). A quantity counts in full if a sample has it in a sentence
that shares a word with the scored one, and half elsewhere. The yes or no that a question asks for
is an item of weight 12, since it is the whole answer.

A sample that is silent on the matter, because no sentence of it shares 40 % of the words that are
no names, counts as one that says a fifth of it: silence is weaker evidence than saying something
else. A sample of one or two sentences is never silent. If c samples confirm a quantity or a name,
and d deny it, one that does not mention it counts as saying c / (c + d + 1) of it. Words weigh less
if short samples share few of them: answers that are worded differently each time are poorly
compared by words. Among short samples the share v that has no word of the sentence is an item of
weight 6 v: that nobody else says anything of it is the strongest sign. A sentence that says no more
than the question is compared by the question's words.

The same words may say the opposite. If a share o of the samples contradicts the sentence, by the
opposites and roles that `resay.scorers.common.contrast` knows, by two values swapped, or by another
word between the same two words, the score is at least 0.75 o. A list in another order, "white, blue
and red", says the same (`resay.scorers.common.lists`), unless the question or the sentence says
that the order counts.

A sample of a few words supports what it says: "Paris." supports "The capital is Paris." In scripts
without capitals no word counts as a name, and in those without spaces pairs of characters count as
words.

`disagreement` mixes in how little the samples say of each other, which shows how well the model
knows the matter at all: the mean score of the sentences of the first five samples, each compared
with the other samples by the formula above, quantities by their meaning and words by their stems
alone.

Cost: no calls, no model. Good at: numbers, dates and names that samples do not repeat, short
answers. Bad at: paraphrase, and relations beyond its rules ("only if", "all but").
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import fmean
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from resay._internal.event_loops import compute
from resay.core.contradiction import Contradiction
from resay.core.passage import Passage
from resay.core.scores import Scores
from resay.scorers.base import (
    Need,
    SampleConfig,
    ScorerTraits,
    Unit,
    with_conversation_settled,
)
from resay.scorers.common.fact import Fact, pooled_score, scores_by_text
from resay.scorers.common.fact_comparison import (
    ELSEWHERE,
    FactComparison,
    Rival,
    compare_sentences,
    comparison_cost,
    index_texts,
)
from resay.scorers.common.grounded_claims import NAMES_SOURCES
from resay.scorers.common.sample_index import SampleIndex
from resay.scorers.evidence import Evidence
from resay.scorers.samples import Sample


class Facts:
    """Scores sentences by how many samples repeat their numbers, dates, names and words."""

    name: ClassVar[str] = "facts"
    needs: ClassVar[frozenset[Need]] = frozenset({"samples"})
    traits: ClassVar[ScorerTraits] = ScorerTraits(by_sentence=True)

    class Config(SampleConfig):
        """Settings of `facts`."""

        method: Literal["facts"] = "facts"
        # The settings are frozen, so narrowing the allowed values is safe.
        evidence: Literal["auto", "samples", "documents", "references", "conversation"] = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
            default="auto",
            description="What to compare with: references, then samples for what these leave open"
            " (auto); samples; all documents of the request together; only references that are"
            " passed; or the model's own earlier turns (conversation).",
        )
        disagreement: Unit = Field(
            default=0.1,
            description="The weight, in each sentence's score, of how little the samples say of"
            " each other: a model that answers differently each time does not know the answer.",
        )

        @model_validator(mode="before")
        @classmethod
        def _settles_contradictions(cls, data: object) -> object:
            return with_conversation_settled(data)

    def __init__(self, config: Facts.Config | None = None) -> None:
        self.config = config or self.Config()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Score sentences and passage; see the module docstring.

        Args:
            passage: The text; its `sentences` are scored.
            evidence: The samples, and the question, whose words are not facts of the answer.

        Returns:
            Scores in [0, 1] with a column for each sample; none without samples.
        """
        await evidence.samples.all()
        return await self.score_arrived(passage, evidence)

    async def score_arrived(self, passage: Passage, evidence: Evidence) -> Scores:
        """Like `score`, by the samples that have arrived."""
        index = await index_texts(evidence)
        if not index.count:
            return Scores(sentences=(None,) * len(passage.sentences))
        work = partial(self._score, passage, index, evidence.samples.arrived)
        return await compute(work, chars=comparison_cost(passage, index))

    def _score(self, passage: Passage, index: SampleIndex, samples: Sequence[Sample]) -> Scores:
        disagreement = self.config.disagreement
        scores: list[float | None] = []
        rows: list[Sequence[float | None]] = []
        reasons: list[str | None] = []
        contradictions: list[Contradiction | None] = []
        for comparison in compare_sentences(passage, index, with_answers=True):
            if comparison is None:
                scores.append(None)
                rows.append((None,) * index.count)
                reasons.append(NAMES_SOURCES)
                contradictions.append(None)
                continue
            facts = comparison.facts()
            doubts = [1 - fmean(fact.support) for fact in facts]
            score = pooled_score(facts, doubts, comparison.statement.undoubted)
            scores.append((1 - disagreement) * score + disagreement * index.disagreement)
            rows.append(scores_by_text(facts, index.count, comparison.statement.undoubted))
            worst = _most_doubtful(facts)
            rival = None if worst is None else _rival(comparison, worst)
            reasons.append(None if worst is None else _reason(comparison, worst, rival))
            contradiction = None
            opposing = None if worst is None else worst.opposing_sentence
            if opposing is None and rival is not None:
                opposing = rival.position
            if opposing is not None:
                sentence = index.sentences[opposing]
                contradiction = Contradiction(
                    source="sample",
                    index=samples[sentence.sample].index,
                    text=sentence.written.strip(),
                )
            contradictions.append(contradiction)
        return Scores(
            sentences=tuple(scores),
            columns=tuple(zip(*rows, strict=True)),
            reasons=tuple(reasons),
            contradictions=tuple(contradictions),
        )


def _most_doubtful(facts: Sequence[Fact]) -> Fact | None:
    """Return the fact that decides, or else the one that adds most to the score."""
    if not facts:
        return None
    deciding = [fact for fact in facts if fact.decides and fmean(fact.support) < ELSEWHERE]
    if deciding:
        return min(deciding, key=lambda fact: fmean(fact.support))
    return max(facts, key=lambda fact: fact.weight * (1 - fmean(fact.support)) ** 2)


def _rival(comparison: FactComparison, worst: Fact) -> Rival | None:
    """Return the value that samples give in place of the most doubtful fact, if it is a number."""
    if worst.reason is not None or not worst.quantity or fmean(worst.support) >= ELSEWHERE:
        return None
    return comparison.rival_of(worst.quantity)


def _reason(comparison: FactComparison, worst: Fact, rival: Rival | None) -> str:
    """Explain the most doubtful fact: in how many samples it is, and what they say instead.

    Args:
        comparison: The sentence, compared with the samples.
        worst: The fact.
        rival: The value that samples give in its place, if it is a quantity.
    """
    if worst.reason is not None:
        return worst.reason
    reason = comparison.explain(worst)
    if worst.mentioned_in_part:
        reason = f"{reason}, and a part of it in {worst.mentioned_in_part}"
    instead = worst.rival
    if rival is not None:
        instead = rival.written, rival.count
    if instead is None:
        return reason
    words, times = instead
    if 2 * times > len(worst.support):
        return f"{reason}; most of them say {words!r}"
    return f"{reason}; {times} of them {'says' if times == 1 else 'say'} {words!r}"
