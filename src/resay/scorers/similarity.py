"""Hypothesis-target similarity (`similarity`).

Markchom, Jung and Liang, "NU-RU at SemEval-2024 Task 6: Hallucination and Related Observable
Overgeneration Mistake Detection Using Hypothesis-Target Similarity and SelfCheckGPT", SemEval 2024,
section 4.1: with s the cosine of the embeddings of a text h and its target t, h is a hallucination
when

    s(e_h, e_t) < delta        (Eq. 1)

The paper takes sigma(s) for the probability of hallucination (Eq. 2), which grows with the
similarity: as printed it is inverted. The score here falls with the similarity, and is 0.5 if s is
delta, so that flagging scores over 0.5 is Eq. 1:

    score = 1 / 2 * (1 - s) / (1 - delta)            for s >= delta
    score = 1 - 1 / 2 * (1 + s) / (1 + delta)        for s < delta

Any falling function of s has the same rank correlation.

A passage score compares the whole texts, as published. A sentence is compared with each sentence
of the other text, and the most similar counts; with several references or samples, sentences and
passage get the mean over them.

Cost: no calls; one embedding of each distinct text and sentence. Good at: speed; short outputs with
a target, such as definitions, paraphrases and translations. Bad at: facts: two sentences with
different years, names or a "not" between them are very similar.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from resay.core.passage import Passage
from resay.models import ModelField, sentence_embedder
from resay.scorers.base import SampleConfig, ScorerTraits
from resay.scorers.common.comparing import Column, SampleScorer
from resay.scorers.evidence import Evidence
from resay.scorers.samples import Sample


class Similarity(SampleScorer):
    """Scores texts by how dissimilar their embeddings are to those of other texts."""

    name: ClassVar[str] = "similarity"
    # The passage score needs the whole text, which a stream has only at its end.
    traits: ScorerTraits = ScorerTraits(adapts=True, stops=True)

    class Config(SampleConfig):
        """Settings of `similarity`."""

        method: Literal["similarity"] = "similarity"
        evidence: Literal["auto", "samples", "documents", "references"] = Field(
            default="references",
            description="What to compare with: references that are passed, as published; documents"
            " of the request; or samples.",
        )
        model: ModelField = Field(
            default="sentence-transformers/paraphrase-MiniLM-L6-v2",
            description="A sentence embedding model: a folder or a model on the Hugging Face hub,"
            " or a mapping with settings.",
        )
        delta: float = Field(
            default=0.6,
            gt=-1,
            lt=1,
            description="The similarity below which a text counts as a hallucination; it"
            " corresponds to a score of 0.5.",
        )

    def __init__(self, config: Similarity.Config | None = None) -> None:
        self.config = config or self.Config()
        self._model = sentence_embedder(self.config.model)

    async def prepare(self) -> None:
        """Load the model.

        Raises:
            ConfigurationError: It cannot be loaded.
            ScorerError: Its server does not respond.
        """
        await self._model.prepare()

    async def compare(self, passage: Passage, sample: Sample, evidence: Evidence) -> Column:
        """Compare the passage and its sentences with one text.

        Args:
            passage: The passage.
            sample: The text.
            evidence: Not used.

        Returns:
            The scores of the sentences and of the passage.

        Raises:
            ConfigurationError: The model cannot be loaded.
            ScorerError: The model failed.
        """
        texts = [passage.text, *(sentence.text for sentence in passage.sentences)]
        sample_sentences = (await sample.split()).sentences
        others = [sample.text, *(sentence.text for sentence in sample_sentences)]
        rows = await self._model.embed([*texts, *others])
        from resay.models.arrays import cosines

        similarities = cosines(rows[: len(texts)], rows[len(texts) :])
        # A text without sentences, such as a heading, is compared as a whole.
        nearest = similarities[1:, 1 if len(others) > 1 else 0 :].max(axis=1)
        return Column(
            tuple(self._score(float(s)) for s in nearest),
            passage=self._score(float(similarities[0, 0])),
        )

    def _score(self, s: float) -> float:
        delta = self.config.delta
        if s < delta:
            return 1.0 - (1.0 + s) / (1.0 + delta) / 2
        return (1.0 - s) / (1.0 - delta) / 2
