"""SelfCheckGPT with NLI (`nli`).

Manakul, Liusie and Gales, "SelfCheckGPT: Zero-Resource Black-Box Hallucination Detection for
Generative Large Language Models", EMNLP 2023, section 5.4, equations 9 and 10: a natural language
inference classifier decides whether a sample contradicts a sentence. With z_e and z_c its logits of
entailment and contradiction, the neutral class left out,

    P(contradict | r_i, S^n) = exp(z_c) / (exp(z_e) + exp(z_c))        (Eq. 9)

and a sentence's score is the mean over the samples (Eq. 10).

A sample longer than the model's input is divided into windows of whole sentences. The greatest
probability of entailment and the greatest of contradiction over all windows go into Eq. 9: what one
window supports, another window about something else does not disprove. With one window that is the
paper's equation. A sentence that is itself too long is divided too, and is as contradicted as its
most contradicted part.

`premise: sentences` compares each sentence only with the nearest sentences of a sample: far fewer
tokens to compute, and a premise of the length such models were trained on. It ignores anything the
sample's other sentences say on the matter.

Cost: no calls; one classification per sentence and sample. Good at: plain contradictions of facts,
at the best quality of the methods without a judge. Bad at: numbers and names that differ little,
texts in languages the model does not know, and speed on a CPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from pydantic import Field

from resay._internal.event_loops import compute
from resay.core.contradiction import Contradiction
from resay.core.passage import Passage
from resay.errors import ConfigurationError
from resay.models import ModelField, config_of, pair_classifier
from resay.models.windows import cut, windows
from resay.scorers.base import SampleConfig
from resay.scorers.common.comparing import Column, SampleScorer
from resay.scorers.common.nearest_sentences import NearestSentences
from resay.scorers.entailments import Entailed, Entailment, Pair
from resay.scorers.evidence import Evidence
from resay.scorers.samples import SPLITTING, Sample

if TYPE_CHECKING:
    from resay.models.base import Doubles


PUBLISHED = "potsawee/deberta-v3-large-mnli"
"""The classifier of the paper."""
# Trained with the sentence first, as is the input of the code released with the paper.
_SENTENCE_FIRST = frozenset({PUBLISHED})

_ENTAILMENT = frozenset({"entailment", "entailed", "entails", "entail"})
_CONTRADICTION = frozenset({"contradiction", "contradictory", "contradicts", "contradict"})


_Parts: TypeAlias = Mapping[str, Sequence[str]]
"""A sentence, or the parts it is divided into, mapped to the windows of its premise."""


class Nli(SampleScorer):
    """Scores sentences by the classifier's probability that each sample contradicts them."""

    name: ClassVar[str] = "nli"

    class Config(SampleConfig):
        """Settings of `nli`."""

        method: Literal["nli"] = "nli"
        model: ModelField = Field(
            default=PUBLISHED,
            description="A classifier of premise and hypothesis with labels for entailment and"
            " contradiction: a folder or a model on the Hugging Face hub, or a mapping with"
            " settings.",
        )
        premise: Literal["passage", "sentences"] = Field(
            default="passage",
            description="The text to compare a sentence with: the whole sample, as published, or"
            " its nearest sentences, which is several times faster.",
        )
        nearest: int = Field(
            default=1,
            ge=1,
            le=20,
            description="With `premise: sentences`: the number of nearest sentences.",
        )
        order: Literal["auto", "premise_first", "sentence_first"] = Field(
            default="auto",
            description="Which text the model reads first; auto = the premise, but the sentence for"
            f" {PUBLISHED}, as released.",
        )

    def __init__(self, config: Nli.Config | None = None) -> None:
        self.config = config or self.Config()
        self._model = pair_classifier(self.config.model)
        name = config_of(self.config.model).name
        auto = "sentence_first" if name in _SENTENCE_FIRST else "premise_first"
        chosen = auto if self.config.order == "auto" else self.config.order
        self._sentence_first = chosen == "sentence_first"

    async def prepare(self) -> None:
        """Load the model.

        Raises:
            ConfigurationError: It cannot be loaded, or lacks labels for both classes.
            ScorerError: Its server does not respond.
        """
        await self._model.prepare()
        await self._outputs()

    async def compare(self, passage: Passage, sample: Sample, evidence: Evidence) -> Column:
        """Compare every sentence with one sample.

        Args:
            passage: The passage; its `sentences` are compared.
            sample: The sample.
            evidence: Not used.

        Returns:
            P(contradict) of each sentence.

        Raises:
            ConfigurationError: The model cannot be loaded, or has the wrong labels.
            ScorerError: The model failed.
        """
        premises = await compute(partial(self._premises, passage, sample))
        by_part = await self._by_part(await self._plan(premises))
        return Column(tuple(_contradicted(parts) for parts in by_part))

    async def contradiction(
        self, sentence: str, evidence: Evidence, scores: Sequence[float | None]
    ) -> Contradiction | None:
        """Return the strongest contradiction in the sample that contradicts the sentence most.

        Args:
            sentence: The flagged sentence.
            evidence: The samples.
            scores: P(contradict) by sample.

        Returns:
            The contradicting sentence; None if there is none.
        """
        index = max(range(len(scores)), key=lambda i: scores[i] or 0.0)
        sentences = evidence.samples.arrived[index].passage.sentences
        # If a model finds two equal sentences contradictory, that is not worth showing.
        texts = [other.text for other in sentences if other.text != sentence]
        texts = await self._fitting(texts, sentence)
        probabilities = await self._probabilities([(text, sentence) for text in texts])
        strongest: str | None = None
        greatest = 0.0
        for text, (entails, contradicts) in zip(texts, probabilities, strict=True):
            if contradicts > max(entails, greatest):
                strongest, greatest = text, contradicts
        if strongest is None:
            return None
        return Contradiction(source="sample", index=index, text=strongest)

    async def entailed(self, pairs: Sequence[Pair]) -> Entailed:
        """Return how the model relates premises to hypotheses, for the matrix of a check.

        As for scores, the greatest probabilities of entailment and of contradiction over the
        windows of a long premise count. A hypothesis that is too long is entailed as far as its
        least entailed part, and contradicted as far as its most contradicted one.

        Args:
            pairs: The premises and hypotheses.

        Raises:
            ConfigurationError: The model cannot be loaded, or has the wrong labels.
            ScorerError: The model failed.
        """
        texts = {premise for premise, _ in pairs}
        chars = SPLITTING * sum(map(len, texts))
        split = await compute(lambda: {text: Passage.of(text) for text in texts}, chars=chars)
        plan = await self._plan([(text, split[premise]) for premise, text in pairs])
        by_pair: dict[Pair, Entailment | None] = {}
        for pair, parts in zip(pairs, await self._by_part(plan), strict=True):
            entails = min(entails for entails, _ in parts.values())
            contradicts = max(contradicts for _, contradicts in parts.values())
            by_pair[pair] = _entailment(entails, contradicts)
        return Entailed(by_pair)

    def _premises(self, passage: Passage, sample: Sample) -> list[tuple[str, Passage]]:
        """Return each sentence with its premise."""
        whole = sample.passage
        sentences = [sentence.standalone for sentence in passage.sentences]
        if self.config.premise == "passage" or not whole.sentences:
            return [(sentence, whole) for sentence in sentences]
        nearest = NearestSentences([sentence.text for sentence in whole.sentences])
        premises: list[tuple[str, Passage]] = []
        for sentence in sentences:
            near = nearest.to(sentence, self.config.nearest)
            premises.append((sentence, Passage.from_sentences(near)))
        return premises

    async def _plan(self, premises: Sequence[tuple[str, Passage]]) -> list[_Parts]:
        """Divide sentences and premises that exceed the model's input."""
        room = await self._model.max_input_tokens()
        if room is None:
            return [{sentence: [premise.text.strip()]} for sentence, premise in premises]
        texts: dict[str, None] = {}
        for sentence, premise in premises:
            texts |= {sentence: None, premise.text.strip(): None}
        lengths = dict(zip(texts, await self._model.lengths(list(texts)), strict=True))
        plan: list[_Parts] = []
        for sentence, premise in premises:
            whole = premise.text.strip()
            size = lengths[sentence]
            if size + lengths[whole] <= room:
                plan.append({sentence: [whole]})
            else:
                plan.append(await self._divided(sentence, size, premise, room))
        return plan

    async def _divided(self, sentence: str, size: int, premise: Passage, room: int) -> _Parts:
        model = self._model
        parts = [sentence] if size <= room // 2 else await cut(sentence, room // 2, model)
        sizes = await model.lengths(parts)
        return {
            part: await windows(premise, room - size, model)
            for part, size in zip(parts, sizes, strict=True)
        }

    async def _fitting(self, texts: Sequence[str], sentence: str) -> list[str]:
        room = await self._model.max_input_tokens()
        if room is None:
            return list(texts)
        *lengths, length = await self._model.lengths([*texts, sentence])
        return [text for text, size in zip(texts, lengths, strict=True) if size + length <= room]

    async def _by_part(self, plan: Sequence[_Parts]) -> list[dict[str, tuple[float, float]]]:
        """Return the greatest P(entailment) and P(contradiction) of each part over its windows."""
        pairs: list[Pair] = []
        for parts in plan:
            for part, texts in parts.items():
                pairs += [(text, part) for text in texts]
        probabilities = await self._probabilities(pairs)
        by_part: list[dict[str, tuple[float, float]]] = []
        start = 0
        for parts in plan:
            greatest: dict[str, tuple[float, float]] = {}
            for part, texts in parts.items():
                entails, contradicts = probabilities[start : start + len(texts)].max(axis=0)
                greatest[part] = float(entails), float(contradicts)
                start += len(texts)
            by_part.append(greatest)
        return by_part

    async def _probabilities(self, pairs: Sequence[Pair]) -> Doubles:
        """Return P(entailment) and P(contradiction) of each pair as two columns."""
        outputs = await self._outputs()
        inputs = list(pairs)
        if self._sentence_first:
            inputs = [(sentence, premise) for premise, sentence in pairs]
        return (await self._model.classify(inputs))[:, outputs]

    async def _outputs(self) -> list[int]:
        labels = await self._model.labels()
        outputs = [_index_of(_ENTAILMENT, labels), _index_of(_CONTRADICTION, labels)]
        if -1 in outputs:
            raise ConfigurationError(
                f"{config_of(self.config.model).display_name!r} has the labels"
                f" {', '.join(labels)!r}; `nli` needs entailment and contradiction; use another"
                " model, or set the names with `labels` in the model's settings"
            )
        return outputs


def _contradicted(parts: Mapping[str, tuple[float, float]]) -> float:
    """Return P(contradict) of a sentence: that of its most contradicted part."""
    return max(_relative(entails, contradicts) for entails, contradicts in parts.values())


def _relative(entails: float, contradicts: float) -> float:
    """Return Eq. 9 for two probabilities."""
    either = entails + contradicts
    # Both probabilities can be 0 if a server rounds them; then it has no opinion.
    return contradicts / either if either else 0.5


def _entailment(entails: float, contradicts: float) -> Entailment:
    # The maxima may come from different windows and exceed 1 in total.
    total = max(entails + contradicts, 1.0)
    entails, contradicts = entails / total, contradicts / total
    return Entailment(entails, max(1.0 - entails - contradicts, 0.0), contradicts)


def _index_of(names: frozenset[str], labels: Sequence[str]) -> int:
    return next((i for i, label in enumerate(labels) if label in names), -1)
