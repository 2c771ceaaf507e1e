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

`Entailing` computes the same probabilities, by a classifier or by a judge, for methods based on
entailment between texts.

Cost: no calls; one classification per sentence and sample. Good at: plain contradictions of facts,
at the best quality of the methods without a judge. Bad at: numbers and names that differ little,
texts in languages the model does not know, and speed on a CPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from math import log, sqrt
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import anyio
from pydantic import Field

from resay._internal.event_loops import compute, stop_if_abandoned
from resay.core.passage import Passage
from resay.core.quoting import quotable
from resay.core.tokens import CachedTokenizer, InvertedIndex, tokenize
from resay.core.verdict import Contradiction, tally
from resay.errors import ConfigurationError
from resay.models import ModelField, config_of, pair_classifier
from resay.models.windows import cut, windows
from resay.scorers.base import Need, SampleConfig, ScorerConfig
from resay.scorers.common.answers import read_items
from resay.scorers.common.comparing import Column, SampleScorer
from resay.scorers.common.judge_words import VERDICTS, JudgeVerdict
from resay.scorers.common.judging import (
    JudgeConfig,
    ParsedAnswer,
    ask,
    judge_for,
    judge_model,
)
from resay.scorers.common.per_sample import ask_about
from resay.scorers.entailments import NEUTRAL, Entailed, Entailment, Pair
from resay.scorers.evidence import Evidence
from resay.scorers.samples import SPLITTING, Sample

if TYPE_CHECKING:
    from resay.models.base import Doubles


class Nearest:
    """A text's sentences, indexed to find those nearest to another sentence.

    Words weigh more the fewer of the text's sentences contain them, so that names and numbers count
    and "the" hardly does; nearness is the cosine of the weighted words.

    Args:
        sentences: The text's sentences.
    """

    def __init__(self, sentences: Sequence[str]) -> None:
        self._sentences = sentences
        runs, total = CachedTokenizer(), 1 + len(sentences)
        self._words = [runs.tokens(sentence) for sentence in sentences]
        self._shared = InvertedIndex(self._words, lambda count: log(total / count) ** 2)
        self._lengths = [sqrt(self._shared.weight(words)) for words in self._words]

    def to(self, sentence: str, count: int) -> list[str]:
        """Return the sentences nearest to a sentence.

        Args:
            sentence: The sentence to compare with.
            count: Number of sentences wanted, at least 1.

        Returns:
            At most `count` sentences, in the text's order; of equally near ones, the earlier.
        """
        stop_if_abandoned()
        words = set(tokenize(sentence))
        found, rest = self._shared.search(words)
        bounds = [(-(weight + rest) / self._lengths[i], i) for i, weight in found.items()]
        near = [i for _, i in self._shared.smallest(bounds)]
        best = sorted(near, key=lambda i: (-self._nearness(words, i), i))[:count]
        others = (i for i in range(len(self._sentences)) if i not in found)
        best += islice(others, count - len(best))
        return [self._sentences[i] for i in sorted(best)]

    def _nearness(self, words: set[str], other: int) -> float:
        """Return the cosine times the constant norm of the sentence that all are compared with."""
        return self._shared.weight(words & self._words[other]) / self._lengths[other]


_PUBLISHED = "potsawee/deberta-v3-large-mnli"
# Trained with the sentence first, as is the input of the code released with the paper.
_SENTENCE_FIRST = frozenset({_PUBLISHED})

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
            default=_PUBLISHED,
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
            f" {_PUBLISHED}, as released.",
        )

    def __init__(self, config: Config | None = None) -> None:
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
        wanted = await compute(partial(self._premises, passage, sample))
        return Column(tuple(await self._contradicted(await self._plan(wanted))))

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
        found = await self._probabilities([(text, sentence) for text in texts])
        contradicting = [
            (contradicts, text)
            for text, (entails, contradicts) in zip(texts, found, strict=True)
            if contradicts > entails
        ]
        if not contradicting:
            return None
        return Contradiction("sample", index, max(contradicting, key=lambda pair: pair[0])[1])

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
        read = [tuple(parts.values()) for parts in await self._by_part(plan)]
        return Entailed(
            {
                pair: _entailment(min(e for e, _ in parts), max(c for _, c in parts))
                for pair, parts in zip(pairs, read, strict=True)
            }
        )

    def _premises(self, passage: Passage, sample: Sample) -> list[tuple[str, Passage]]:
        """Return each sentence with its premise."""
        text, sentences = sample.passage, [sentence.standalone for sentence in passage.sentences]
        if self.config.premise == "passage" or not text.sentences:
            return [(sentence, text) for sentence in sentences]
        near, count = Nearest([s.text for s in text.sentences]), self.config.nearest
        return [(s, Passage.from_sentences(near.to(s, count))) for s in sentences]

    async def _plan(self, wanted: Sequence[tuple[str, Passage]]) -> list[_Parts]:
        """Divide sentences and premises that exceed the model's input."""
        room = await self._model.max_input_tokens()
        if room is None:
            return [{sentence: [premise.text.strip()]} for sentence, premise in wanted]
        texts = list(dict.fromkeys(t for s, p in wanted for t in (s, p.text.strip())))
        lengths = dict(zip(texts, await self._model.lengths(texts), strict=True))
        plan: list[_Parts] = []
        for sentence, premise in wanted:
            whole = premise.text.strip()
            size = lengths[sentence]
            fits = size + lengths[whole] <= room
            plan.append(
                {sentence: [whole]} if fits else await self._divided(sentence, size, premise, room)
            )
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
        return [t for t, size in zip(texts, lengths, strict=True) if size + length <= room]

    async def _contradicted(self, plan: Sequence[_Parts]) -> list[float]:
        """Return P(contradict) of each sentence, the greatest over its parts."""
        found = await self._by_part(plan)
        return [max(_relative(e, c) for e, c in parts.values()) for parts in found]

    async def _by_part(self, plan: Sequence[_Parts]) -> list[dict[str, tuple[float, float]]]:
        """Return the greatest P(entailment) and P(contradiction) of each part over its windows."""
        pairs = [(w, part) for parts in plan for part, texts in parts.items() for w in texts]
        found = await self._probabilities(pairs)
        read: list[dict[str, tuple[float, float]]] = []
        start = 0
        for parts in plan:
            of_parts: dict[str, tuple[float, float]] = {}
            for part, texts in parts.items():
                entails, contradicts = found[start : start + len(texts)].max(axis=0)
                of_parts[part] = float(entails), float(contradicts)
                start += len(texts)
            read.append(of_parts)
        return read

    async def _probabilities(self, pairs: Sequence[Pair]) -> Doubles:
        """Return P(entailment) and P(contradiction) of each pair as two columns."""
        outputs = await self._outputs()
        read = [(b, a) for a, b in pairs] if self._sentence_first else list(pairs)
        return (await self._model.classify(read))[:, outputs]

    async def _outputs(self) -> list[int]:
        labels = await self._model.labels()
        found = [_place(labels, _ENTAILMENT), _place(labels, _CONTRADICTION)]
        if -1 in found:
            raise ConfigurationError(
                f"{config_of(self.config.model).display_name!r} has the labels"
                f" {', '.join(labels)!r}; `nli` needs entailment and contradiction; use another"
                " model, or set the names with `labels` in the model's settings"
            )
        return found


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


def _place(labels: Sequence[str], names: frozenset[str]) -> int:
    return next((i for i, label in enumerate(labels) if label in names), -1)


# The matrix of a check: entailment between texts, by a classifier or a judge.

_PAIR = """\
We are evaluating answers to the question "{question}"
Here are two possible answers:
Possible Answer 1: {premise}
Possible Answer 2: {hypothesis}
Does Possible Answer 1 semantically entail Possible Answer 2? Respond with entailment, \
contradiction, or neutral."""
_PAIR_AGAIN = "Respond with one word: entailment, contradiction, or neutral."
_ENTAILMENTS: Mapping[JudgeVerdict, Entailment] = {
    "supported": Entailment(1.0, 0.0, 0.0),
    "contradicted": Entailment(0.0, 0.0, 1.0),
    "not_mentioned": NEUTRAL,
}
# Maximum number of hypotheses in one call of a judge.
_MOST_AT_ONCE = 40


class EntailingConfig(ScorerConfig):
    """Base class of the settings of methods based on entailment between texts."""

    by: Literal["nli", "judge"] = Field(
        default="nli",
        description="How to determine whether a text entails another: with a classifier, or with an"
        " LLM.",
    )
    model: ModelField = Field(
        default=_PUBLISHED,
        description="With `by: nli`: a classifier of premise and hypothesis with labels for"
        " entailment and contradiction: a folder or a model on the Hugging Face hub, or a mapping"
        " with settings.",
    )
    judge: str | JudgeConfig | None = Field(
        default=None,
        description="With `by: judge`: the model to ask; null = the model that wrote the response.",
    )
    form: Literal["together", "published"] = Field(
        default="together",
        description="With `by: judge`: one call for each premise, about all texts that are compared"
        " with it, with the prompt of the method `prompt`; or the published question about each"
        " pair.",
    )
    restate: bool = Field(
        default=True,
        description="Whether to ask once more, with the format restated, if an answer cannot be"
        " parsed.",
    )
    conversation_chars: int = Field(
        default=4000,
        ge=0,
        description="With `by: judge` and `form: together`: the number of characters that the judge"
        " reads from the end of the conversation; 0 = none.",
    )

    @property
    def asks_response_model(self) -> bool:
        """Whether the judge is the model that wrote the response."""
        # Not by `named_judge`: a method that also asks another model names that one there.
        return self.by == "judge" and judge_model(self.judge) is None

    @property
    def named_judge(self) -> str | None:
        """The judge's model, or None for the model that wrote the response."""
        return judge_model(self.judge) if self.by == "judge" else None


class Entailing:
    """Computes entries of a check's entailment matrix, each once.

    Args:
        config: The classifier or judge to use.

    Attributes:
        needs: The evidence this requires.
    """

    def __init__(self, config: EntailingConfig) -> None:
        self._config = config
        self._nli = Nli(Nli.Config(model=config.model)) if config.by == "nli" else None
        self.needs: frozenset[Need] = frozenset({"judge"} if config.by == "judge" else ())
        asked = {"by", "model"} if self._nli else {"by", "judge", "form", "conversation_chars"}
        self._source = config.model_dump_json(include=asked)

    async def prepare(self) -> None:
        """Load the classifier, if one is used."""
        if self._nli is not None:
            await self._nli.prepare()

    async def find(self, pairs: Iterable[Pair], evidence: Evidence) -> Entailed:
        """Return how premises relate to hypotheses; see `Entailments.find`.

        Raises:
            ConfigurationError: The model cannot be loaded, or has the wrong labels.
            ScorerError: The model failed, or no judge is available.
        """
        ask_for = self._nli.entailed if self._nli else partial(self._ask, evidence=evidence)
        return await evidence.entailments.find(self._source, pairs, ask_for)

    async def _ask(self, pairs: Sequence[Pair], evidence: Evidence) -> Entailed:
        config, judge = self._config, judge_for(self._config.judge, evidence)
        question = evidence.quoted_question
        conversation = evidence.conversation(config.conversation_chars)
        found: dict[Pair, Entailment | None] = {}
        failures: list[str] = []
        most = 1 if config.form == "published" else _MOST_AT_ONCE

        async def ask_one(premise: str, hypotheses: Sequence[str]) -> None:
            parsed: ParsedAnswer[JudgeVerdict]
            if config.form == "published":
                parsed = await ask(
                    judge,
                    render_pair(quotable(premise), hypotheses[0], question),
                    lambda answer: read_items(answer.text, 1, VERDICTS),
                    _PAIR_AGAIN if config.restate else None,
                )
            else:
                parsed = await ask_about(
                    judge, hypotheses, quotable(premise), conversation, restate=config.restate
                )
            failures.extend(parsed.failures)
            if parsed.answered:
                for hypothesis, slot in zip(hypotheses, parsed.slots, strict=True):
                    found[premise, hypothesis] = None if slot is None else _ENTAILMENTS[slot]

        by_premise: dict[str, list[str]] = {}
        for premise, hypothesis in pairs:
            by_premise.setdefault(premise, []).append(hypothesis)
        async with anyio.create_task_group() as tasks:
            for premise, hypotheses in by_premise.items():
                for start in range(0, len(hypotheses), most):
                    tasks.start_soon(ask_one, premise, hypotheses[start : start + most])
        return Entailed(found, tuple(failures))


def render_pair(premise: str, hypothesis: str, question: str = "") -> str:
    """Return the published question about two answers."""
    return _PAIR.format(question=question, premise=premise, hypothesis=hypothesis)


def why_unknown(pairs: Sequence[Pair], entailed: Entailed) -> str | None:
    """Return why too few entries of the matrix are known, or None."""
    failed = sum(pair not in entailed.by_pair for pair in pairs)
    if failed * 2 > len(pairs):
        return f"{failed} of {len(pairs)} comparisons failed ({tally(entailed.failures)})"
    unread = entailed.undetermined(pairs)
    if (failed + unread) * 2 > len(pairs):
        return f"{unread} of {len(pairs)} judge answers could not be read"
    return None
