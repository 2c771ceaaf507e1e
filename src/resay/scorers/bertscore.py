"""SelfCheckGPT with BERTScore (`bertscore`).

Manakul, Liusie and Gales, "SelfCheckGPT: Zero-Resource Black-Box Hallucination Detection for
Generative Large Language Models", EMNLP 2023, section 5.1: with B the BERTScore of two sentences,

    S(i) = 1 - 1/N sum_n max_k B(r_i, s_k^n)        (Eq. 1)

over the sentences s_k^n of each sample.

B is F1 of a greedy matching (Zhang et al., "BERTScore: Evaluating Text Generation with BERT", ICLR
2020, section 3): each token of one sentence is matched with the token of the other that has the
most similar contextual embedding; precision and recall are the means of those similarities, and F1
their harmonic mean. Rarer tokens weigh no more than others (no idf), as in the code released with
the paper. Special tokens are left out on both sides, whereas the `bert_score` package lets a word
match one. With a baseline b, the mean for unrelated sentences, B is rescaled to
(F1 - b) / (1 - b).

A rescaled B can be below 0: `raw` keeps S as it is, the score is clipped to [0, 1]. Sample
sentences of three tokens or fewer, the full stop included, are left out, as in the released code.

Cost: no calls; each distinct sentence is embedded once. Good at: speed among the neural methods,
paraphrase. Bad at: names and numbers that differ little, negation; of the published methods, it is
the weakest at finding made-up sentences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from resay._internal.event_loops import compute
from resay.core.passage import Passage
from resay.core.scores import Scores
from resay.core.tokens import tokenize
from resay.errors import ConfigurationError
from resay.models import ModelField, config_of, token_embedder
from resay.scorers.base import SampleConfig
from resay.scorers.common.comparing import Column, SampleScorer
from resay.scorers.evidence import Evidence
from resay.scorers.samples import Sample

if TYPE_CHECKING:
    from resay.models.base import Floats

_MIN_TOKENS = 4

# The layer whose embeddings correlate best with human judgement, as published with BERTScore.
_LAYERS: Mapping[str, int] = {
    "bert-base-multilingual-cased": 9,
    "bert-base-uncased": 9,
    "distilroberta-base": 5,
    "microsoft/deberta-base-mnli": 9,
    "microsoft/deberta-large-mnli": 18,
    "microsoft/deberta-v3-base": 9,
    "microsoft/deberta-v3-large": 12,
    "microsoft/deberta-v3-xsmall": 10,
    "microsoft/deberta-xlarge-mnli": 40,
    "roberta-base": 10,
    "roberta-large": 17,
    "roberta-large-mnli": 19,
    "xlm-roberta-large": 17,
}
# The mean F1 of unrelated English sentences at that layer, as published with BERTScore.
_BASELINES: Mapping[str, float] = {
    "bert-base-multilingual-cased": 0.63146895,
    "bert-base-uncased": 0.35219112,
    "distilroberta-base": 0.8473319,
    "microsoft/deberta-base-mnli": 0.52866036,
    "microsoft/deberta-large-mnli": 0.45173016,
    "microsoft/deberta-xlarge-mnli": 0.5150192,
    "roberta-base": 0.814463,
    "roberta-large": 0.83122575,
    "roberta-large-mnli": 0.6896288,
    "xlm-roberta-large": 0.8525485,
}


class Bertscore(SampleScorer):
    """Scores sentences by how well the best sentence of each sample matches them."""

    name: ClassVar[str] = "bertscore"

    class Config(SampleConfig):
        """Settings of `bertscore`."""

        method: Literal["bertscore"] = "bertscore"
        model: ModelField = Field(
            default="roberta-large",
            description="An encoder: a folder or a model on the Hugging Face hub, or a mapping with"
            " settings.",
        )
        layer: int | None = Field(
            default=None,
            ge=1,
            description="The layer whose output gives the embeddings; null = the published one for"
            " models that have one, else the last.",
        )
        rescale: bool | float = Field(
            default=True,
            description="The baseline to rescale with; true = the published one for models that"
            " have one, else none; false = none.",
        )

    def __init__(self, config: Bertscore.Config | None = None) -> None:
        self.config = config or self.Config()
        model = (config_of(self.config.model).name or "").removeprefix("FacebookAI/")
        layer = self.config.layer or _LAYERS.get(model)
        self._baseline = self._chosen_baseline(model)
        self._model = token_embedder(self.config.model, layer)

    def _chosen_baseline(self, model: str) -> float:
        chosen = self.config.rescale
        if isinstance(chosen, bool):
            published = self.config.layer in (None, _LAYERS.get(model))
            return _BASELINES.get(model, 0.0) if chosen and published else 0.0
        if chosen >= 1.0:
            raise ConfigurationError(f"`rescale` must be under 1, not {chosen!r}")
        return chosen

    async def prepare(self) -> None:
        """Load the model.

        Raises:
            ConfigurationError: It cannot be loaded.
            ScorerError: Its server does not respond.
        """
        await self._model.prepare()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Compare with samples as they arrive; see `SampleScorer.score`.

        Args:
            passage: The passage; its `sentences` are scored.
            evidence: The samples and the stopping rule.

        Returns:
            Sentence scores, with the reason if no sample has a sentence that is long enough.
        """
        scores = await super().score(passage, evidence)
        entries = [entry for column in scores.columns for entry in column]
        if scores.error is None and entries and all(entry is None for entry in entries):
            samples = len(scores.columns)
            return replace(
                scores,
                error=f"{samples} of {samples} samples have no sentence of more than three words",
            )
        return scores

    async def compare(self, passage: Passage, sample: Sample, evidence: Evidence) -> Column:
        """Compare every sentence with one sample.

        Args:
            passage: The passage; its `sentences` are compared.
            sample: The sample.
            evidence: Not used.

        Returns:
            For each sentence 1 - max_k B, unbounded in `raw`, and clipped to [0, 1]; None for all
            if the sample has no sentence of more than three tokens.

        Raises:
            ConfigurationError: The model cannot be loaded.
            ScorerError: The model failed.
        """
        texts = [sentence.text for sentence in passage.sentences]
        others = await compute(partial(_long_sentences, sample))
        if not others:
            return Column((None,) * len(texts))
        embedded = await self._model.embed_tokens([*texts, *others])
        best = await compute(partial(_best_matches, embedded[: len(texts)], embedded[len(texts) :]))
        raw = [1.0 - (f1 - self._baseline) / (1.0 - self._baseline) for f1 in best]
        return Column(tuple(min(max(value, 0.0), 1.0) for value in raw), raw=tuple(raw))


def _long_sentences(sample: Sample) -> list[str]:
    return [s.text for s in sample.passage.sentences if len(tokenize(s.text)) >= _MIN_TOKENS]


def _best_matches(sentences: Sequence[Floats], others: Sequence[Floats]) -> list[float]:
    """Return max_k F1 of each sentence."""
    from resay.models.arrays import f1

    return [float(value) for value in f1(sentences, others).max(axis=1)]
