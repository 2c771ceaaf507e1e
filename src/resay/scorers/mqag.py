"""SelfCheckGPT with question answering (`mqag`).

Manakul, Liusie and Gales, "SelfCheckGPT: Zero-Resource Black-Box Hallucination Detection for
Generative Large Language Models", EMNLP 2023, section 5.2 and appendix B, equations 2 to 6 and 14
to 21.

A first model writes questions about a sentence r_i of the response R, with their answers, and a
second one, given R, other options (Eq. 14). A third model chooses among the options, from R (Eq. 3)
and from each sample S^n (Eq. 4); a fourth estimates the probability alpha that the text answers the
question at all (Eq. 15). With N_m samples that choose as R does and N_n that do not, a question's
score is, by `scoring`,

    counting      N_n / (N_m + N_n)
    bayes         gamma2^N_n / (gamma1^N_m + gamma2^N_n)                    (Eq. 19)
    bayes_alpha   the same with counts weighted by alpha_n                  (Eq. 20 and 21)

where gamma1 = beta2 / (1 - beta1) and gamma2 = beta1 / (1 - beta2). A sentence's score is the mean
over its questions (Eq. 6).

For `counting` and `bayes`, samples with alpha_n under `answerable` do not count, and questions that
R itself does not answer are left out, as the paper says; the released code keeps those with a score
of 0.5. `bayes_alpha` leaves out neither. If no sample counts, a question's score is 0.5. The
released code always compares four options, repeating the last one if there are fewer; here options
are distinct, which gives the same choice, and a question with a single option is not asked.

The models are those of the paper: T5-large, fine-tuned on SQuAD and on RACE, and Longformer-large,
on RACE and SQuAD 2.0. Others need the same input and output format. Nothing is truncated: a text
longer than the Longformers' input is divided into windows of whole sentences, and a question is
answered from the window that most probably answers it.

Cost: no calls. Per sentence, up to 2 x `questions` texts of up to 128 tokens to generate; per
question and per text, R and the N samples, up to 4 forward passes to choose and 1 to judge. Good
at: showing exactly what the samples say otherwise. Bad at: speed, the slowest of all methods
without calls; sentences without a fact to ask for; languages other than English.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import exp, log
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import anyio
from pydantic import Field

from resay.core.passage import Passage
from resay.core.verdict import Scores, mean_score
from resay.errors import ConfigurationError
from resay.models import (
    Measure,
    ModelField,
    PairScorer,
    TextScorer,
    choice_scorer,
    text_generator,
    text_scorer,
)
from resay.models.windows import windows
from resay.scorers.base import Need, SampleConfig, ScorerTraits
from resay.scorers.evidence import Evidence
from resay.scorers.samples import Sample

if TYPE_CHECKING:
    from resay.models.base import Doubles
    from resay.models.generation import TextGenerator

_SEPARATOR = "<sep>"
# The second model was trained to write both.
_SEPARATORS = re.compile(r"<sep>|<extra_id_\d+>")
_DISTRACTORS = 3
_LEAST_CONTEXT = 16
# Text that T5 and Longformer would read as special tokens.
_SPECIAL = re.compile(r"<(?=(?:/?s|pad|unk|mask|sep|extra_id_\d+)>)")


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a sentence.

    Attributes:
        sentence: Index of the sentence, from 0.
        text: The question.
        options: At least two different options, the expected answer first.
    """

    sentence: int
    text: str
    options: tuple[str, ...]


def cleaned(passage: Passage) -> Passage:
    """Return a passage without special tokens that would steer a model."""
    text = _plain(passage.text)
    return passage if text == passage.text else Passage.of(text)


def _plain(text: str) -> str:
    return _SPECIAL.sub("< ", text)


def parse_question(written: str) -> tuple[str, str] | None:
    """Parse a question and its answer.

    Args:
        written: The text that the first model wrote.

    Returns:
        Both; None unless there are exactly two parts and neither is blank.
    """
    parts = [part.strip() for part in written.split(_SEPARATOR)]
    if len(parts) != 2 or not all(parts):
        return None
    return _plain(parts[0]), _plain(parts[1])


def parse_options(answer: str, written: str) -> tuple[str, ...] | None:
    """Parse the options of a question.

    The released code repeats the last option until there are four. A repeated option is never
    chosen over its first mention, so it is left out here.

    Args:
        answer: The expected answer.
        written: The other options as the second model wrote them.

    Returns:
        The answer and up to three other distinct options; None if there are no others, because
        then every text would give the same answer.
    """
    others = [_plain(part.strip()) for part in _SEPARATORS.split(written) if part.strip()]
    options = tuple(dict.fromkeys([answer, *others[:_DISTRACTORS]]))
    return options if len(options) > 1 else None


async def write_questions(
    passage: Passage, first: TextGenerator, second: TextGenerator, count: int, seed: int
) -> list[Question]:
    """Write questions about every sentence of a passage.

    Args:
        passage: The passage; its `sentences` are asked about.
        first: Writes question and answer.
        second: Writes the other options.
        count: Number of questions to try for each sentence.
        seed: Seed of the models' sampling.

    Returns:
        The well-formed questions, in the order of the sentences. A question that was drawn several
        times appears as often.

    Raises:
        ConfigurationError: A model cannot be loaded as configured.
        ScorerError: A model failed.
    """
    sentences = [_plain(sentence.text) for sentence in passage.sentences]
    written = await first.generate(sentences, n=count, seed=seed)
    asked = [
        (place, *parts)
        for place, texts in enumerate(written)
        for parts in map(parse_question, texts)
        if parts is not None
    ]
    asked, prompts = await _prompts(passage, sentences, asked, second)
    others = [text for (text,) in await second.generate(prompts, seed=seed)]
    options = [parse_options(a, o) for (_, _, a), o in zip(asked, others, strict=True)]
    return [
        Question(place, question, choices)
        for (place, question, _), choices in zip(asked, options, strict=True)
        if choices is not None
    ]


_Asked: TypeAlias = "tuple[int, str, str]"
"""The index of a sentence, a question about it, and the answer."""


async def _prompts(
    passage: Passage, sentences: Sequence[str], asked: Sequence[_Asked], model: TextGenerator
) -> tuple[list[_Asked], list[str]]:
    """Return the second model's input: question, answer and passage.

    A question so long that it leaves no room for the passage is left out.
    """
    heads = [f"{question} {_SEPARATOR} {answer} {_SEPARATOR} " for _, question, answer in asked]
    context = cleaned(passage)
    room = await model.max_input_tokens()
    if room is None:
        return list(asked), [head + context.text for head in heads]
    kept: list[_Asked] = []
    prompts: list[str] = []
    for one, head, length in zip(asked, heads, await model.lengths(heads), strict=True):
        if room - length >= _LEAST_CONTEXT:
            parts = await windows(context, room - length, model)
            kept.append(one)
            prompts.append(head + _around(sentences[one[0]], parts))
    return kept, prompts


def _around(sentence: str, contexts: Sequence[str]) -> str:
    """Return the part of the passage that contains a sentence."""
    return next((context for context in contexts if sentence in context), contexts[0])


Scoring: TypeAlias = Literal["counting", "bayes", "bayes_alpha"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A text's answer to a question.

    Attributes:
        choice: Index of the chosen option, from 0.
        answerability: Probability that the text answers the question at all (Eq. 15).
    """

    choice: int
    answerability: float


@dataclass(frozen=True, slots=True)
class Rule:
    """Turns answers into a score.

    Attributes:
        scoring: `counting` is N_n / (N_m + N_n), `bayes` Eq. 19, `bayes_alpha` Eq. 21.
        beta1: P(another answer | the sentence is not factual), over 0.5.
        beta2: P(the same answer | the sentence is factual), over 0.5.
        answerable: Answers with a lower answerability do not count, except for `bayes_alpha`.
    """

    scoring: Scoring = "bayes_alpha"
    beta1: float = 0.8
    beta2: float = 0.8
    answerable: float = 0.5

    def asks(self, own: Answer) -> bool:
        """Return whether a question is usable: whether the response itself answers it."""
        return self.scoring == "bayes_alpha" or own.answerability >= self.answerable

    def score(self, own: Answer, others: Sequence[Answer]) -> float:
        """Score a question.

        Args:
            own: The answer from the response.
            others: The answers from the compared texts.

        Returns:
            S_QA(i, q) in [0, 1]; 0.5 if no text counts.
        """
        same = sum(self._weight(a) for a in others if a.choice == own.choice)
        another = sum(self._weight(a) for a in others if a.choice != own.choice)
        if self.scoring == "counting":
            return another / (same + another) if same + another else 0.5
        gamma1 = self.beta2 / (1.0 - self.beta1)
        gamma2 = self.beta1 / (1.0 - self.beta2)
        # gamma2^n / (gamma1^m + gamma2^n), in logarithms because the powers soon overflow.
        return _sigmoid(another * log(gamma2) - same * log(gamma1))

    def _weight(self, answer: Answer) -> float:
        if self.scoring == "bayes_alpha":
            return answer.answerability
        return float(answer.answerability >= self.answerable)


def _sigmoid(x: float) -> float:
    power = exp(-abs(x))
    return 1.0 / (1.0 + power) if x >= 0 else power / (1.0 + power)


# Joining two texts may add a token for the space between them.
_SEAMS = 4
# The least room into which a text can be divided, in tokens.
_LEAST = 4


@dataclass(frozen=True, slots=True)
class Exam:
    """Questions, with the longest text each can be asked about at once.

    Attributes:
        questions: The questions, at least one.
        token_limits: For each, how many tokens of a text fit beside it; None = any number, for all.
    """

    questions: tuple[Question, ...]
    token_limits: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Examinee:
    """The two models that answer.

    Attributes:
        chooser: Returns one logit per option, to be compared among the options of a question.
        judge: Returns one logit for whether a text answers a question.
    """

    chooser: PairScorer
    judge: TextScorer

    async def prepare(self) -> None:
        """Load the models.

        Raises:
            ConfigurationError: One cannot be loaded, or has the wrong outputs.
        """
        await self.chooser.prepare()
        await self.judge.prepare()
        await self._answerability([_judged("Who?", "Nobody.")])

    async def exam(self, questions: Sequence[Question]) -> Exam:
        """Return the questions with the room they leave for a text."""
        limits = [await self.chooser.max_input_tokens(), await self.judge.max_input_tokens()]
        known = [limit for limit in limits if limit is not None]
        if not known:
            return Exam(tuple(questions), None)
        measure = _Longer(self.chooser, self.judge)
        heads = await measure.lengths([_asked("", question.text) for question in questions])
        token_limits: list[int] = []
        for question, head in zip(questions, heads, strict=True):
            option = max(await measure.lengths(question.options))
            token_limits.append(max(min(known) - head - option - _SEAMS, _LEAST))
        return Exam(tuple(questions), tuple(token_limits))

    async def answer(self, exam: Exam, passage: Passage) -> list[Answer]:
        """Answer questions from a text.

        A text longer than the models' input is divided into windows of whole sentences, and the
        window that most probably answers a question does so.

        Args:
            exam: The questions.
            passage: The text.

        Returns:
            An answer to each question.

        Raises:
            ConfigurationError: A model cannot be loaded, or has the wrong outputs.
            ScorerError: A model failed, or a question alone exceeds its input.
        """
        texts = await self._windows(exam, cleaned(passage))
        judged = [
            _judged(question.text, text)
            for question, found in zip(exam.questions, texts, strict=True)
            for text in found
        ]
        answerable = _cut(await self._answerability(judged), list(map(len, texts)))
        best = [int(values.argmax()) for values in answerable]
        pairs = [
            (_asked(found[place], question.text), option)
            for question, found, place in zip(exam.questions, texts, best, strict=True)
            for option in question.options
        ]
        sizes = [len(question.options) for question in exam.questions]
        logits = _cut((await self.chooser.logits(pairs))[:, 0], sizes)
        return [
            Answer(int(options.argmax()), float(values[place]))
            for options, values, place in zip(logits, answerable, best, strict=True)
        ]

    async def _windows(self, exam: Exam, passage: Passage) -> list[list[str]]:
        """Return for each question the windows of a text to ask it about."""
        if exam.token_limits is None:
            return [[passage.text.strip()]] * len(exam.questions)
        measure = _Longer(self.chooser, self.judge)
        found = {min(exam.token_limits): await windows(passage, min(exam.token_limits), measure)}
        for room in dict.fromkeys(exam.token_limits):
            # A text that fits beside the longest question fits beside all.
            if room not in found and len(found[min(exam.token_limits)]) > 1:
                found[room] = await windows(passage, room, measure)
        return [found.get(room, found[min(exam.token_limits)]) for room in exam.token_limits]

    async def _answerability(self, texts: Sequence[str]) -> Doubles:
        """Return P_U(answerable | question, text), of shape (texts,)."""
        logits = await self.judge.logits(texts)
        if logits.shape[1] != 1:
            raise ConfigurationError(
                f"the model for `answerability` returns {logits.shape[1]!r} values; use a model"
                " that returns one, such as the published one"
            )
        import numpy as np

        # 1 / (1 + exp(-x)), without overflow.
        return 0.5 * (1.0 + np.tanh(0.5 * logits[:, 0]))


@dataclass(frozen=True, slots=True)
class _Longer:
    """Counts tokens by the tokenizer, of two models, that yields more."""

    one: Measure
    other: Measure

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        counts = zip(await self.one.lengths(texts), await self.other.lengths(texts), strict=True)
        return [max(pair) for pair in counts]

    async def max_input_tokens(self) -> int | None:
        """Return None, because the room depends on the question."""
        return None


def _asked(text: str, question: str) -> str:
    """Return text and question in the input format of the answering model."""
    return f"{text} <s> {question}"


def _judged(question: str, text: str) -> str:
    """Return question and text in the input format of the answerability model."""
    return f"{question} </s> {text}"


def _cut(values: Doubles, sizes: Sequence[int]) -> list[Doubles]:
    ends = list(accumulate(sizes))
    return [values[end - size : end] for size, end in zip(sizes, ends, strict=True)]


class Mqag:
    """Asks samples questions about each sentence, and compares the answers with the response's."""

    name: ClassVar[str] = "mqag"
    needs: ClassVar[frozenset[Need]] = frozenset({"samples"})
    traits: ClassVar[ScorerTraits] = ScorerTraits()

    class Config(SampleConfig):
        """Settings of `mqag`."""

        method: Literal["mqag"] = "mqag"
        question: ModelField = Field(
            default="potsawee/t5-large-generation-squad-QuestionAnswer",
            description="The model that writes a question and its answer from a sentence.",
        )
        distractor: ModelField = Field(
            default="potsawee/t5-large-generation-race-Distractor",
            description="The model that writes the other options from question, answer and"
            " response.",
        )
        answering: ModelField = Field(
            default="potsawee/longformer-large-4096-answering-race",
            description="The model that answers a question by choosing among the options.",
        )
        answerability: ModelField = Field(
            default="potsawee/longformer-large-4096-answerable-squad2",
            description="The model that estimates whether a text answers a question at all.",
        )
        questions: int = Field(
            default=5, ge=1, le=50, description="The number of questions to try for each sentence."
        )
        scoring: Scoring = Field(
            default="bayes_alpha",
            description="How to compute a score from the answers: Eq. 21 (bayes_alpha, the best as"
            " published), Eq. 19 (bayes), or the share of answers that differ (counting).",
        )
        beta1: float = Field(
            default=0.8,
            gt=0.5,
            lt=1,
            description="For bayes: P(a sample answers otherwise | the sentence is not factual).",
        )
        beta2: float = Field(
            default=0.8,
            gt=0.5,
            lt=1,
            description="For bayes: P(a sample answers the same | the sentence is factual).",
        )
        answerable: float = Field(
            default=0.5,
            ge=0,
            le=1,
            description="For counting and bayes: ignore answers with a lower answerability than"
            " this.",
        )
        seed: int = Field(default=0, ge=0, description="The random seed for generating questions.")

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or self.Config()
        self._first = text_generator(self.config.question)
        self._second = text_generator(self.config.distractor)
        self._examinee = Examinee(
            choice_scorer(self.config.answering), text_scorer(self.config.answerability)
        )
        self._rule = Rule(
            self.config.scoring, self.config.beta1, self.config.beta2, self.config.answerable
        )

    async def prepare(self) -> None:
        """Load the four models.

        Raises:
            ConfigurationError: One cannot be loaded, or has the wrong outputs.
        """
        await self._first.prepare()
        await self._second.prepare()
        await self._examinee.prepare()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Write questions while samples are drawn, and ask each sample as it arrives.

        Args:
            passage: The response; its `sentences` are asked about.
            evidence: The samples.

        Returns:
            Sentence scores. Each column holds the scores that its sample alone would give.

        Raises:
            ConfigurationError: A model cannot be loaded, or has the wrong outputs.
            ScorerError: A model failed.
        """
        await self.prepare()
        config = self.config
        questions = await write_questions(
            passage, self._first, self._second, config.questions, config.seed
        )
        answers_by_sample: dict[int, list[Answer]] = {}
        marks: list[_Mark] = []
        if questions:
            exam = await self._examinee.exam(questions)
            own = await self._examinee.answer(exam, passage)
            await self._ask_all(exam, evidence, answers_by_sample)
            marks = self._marks(questions, own, answers_by_sample)
        return _scores(len(passage.sentences), questions, marks, len(answers_by_sample))

    async def _ask_all(
        self, exam: Exam, evidence: Evidence, answers_by_sample: dict[int, list[Answer]]
    ) -> None:
        async def ask(sample: Sample) -> None:
            answers_by_sample[sample.index] = await self._examinee.answer(
                exam, await sample.split()
            )

        async with anyio.create_task_group() as tasks:
            async for sample in evidence.samples:
                tasks.start_soon(ask, sample)

    def _marks(
        self,
        questions: Sequence[Question],
        own: Sequence[Answer],
        answers_by_sample: Mapping[int, Sequence[Answer]],
    ) -> list[_Mark]:
        rule = self._rule
        marks: list[_Mark] = []
        for place, question in enumerate(questions):
            others = tuple(answers_by_sample[i][place] for i in sorted(answers_by_sample))
            if others and rule.asks(own[place]):
                alone = tuple(rule.score(own[place], [other]) for other in others)
                score = rule.score(own[place], others)
                marks.append(_Mark(question, own[place], others, score, alone))
        return marks


@dataclass(frozen=True, slots=True)
class _Mark:
    """The answers to one question, with their score.

    Attributes:
        question: The question.
        own: The response's answer.
        others: The samples' answers.
        score: The question's score.
        alone: The score that each sample alone would give.
    """

    question: Question
    own: Answer
    others: tuple[Answer, ...]
    score: float
    alone: tuple[float, ...]

    def say(self) -> str:
        """Return a sentence that describes the answers."""
        options = self.question.options
        ((choice, times),) = Counter(other.choice for other in self.others).most_common(1)
        count = f"{times} of {len(self.others)} texts compared"
        asked, own_answer = f"asked {self.question.text!r}", options[self.own.choice]
        if choice == self.own.choice:
            return f"{asked}, the response and {count} say {own_answer!r}"
        return f"{asked}, the response says {own_answer!r}, {count} {options[choice]!r}"


def _scores(
    sentences: int, questions: Sequence[Question], marks: Sequence[_Mark], samples: int
) -> Scores:
    of_each = [[m for m in marks if m.question.sentence == i] for i in range(sentences)]
    asked = {question.sentence for question in questions}
    return Scores(
        sentences=tuple(mean_score([m.score for m in found]) for found in of_each),
        columns=tuple(
            tuple(mean_score([m.alone[n] for m in found]) for found in of_each)
            for n in range(samples)
        ),
        reasons=tuple(_why(found, i in asked, samples) for i, found in enumerate(of_each)),
    )


def _why(marks: Sequence[_Mark], asked: bool, samples: int) -> str | None:
    if marks:
        return max(marks, key=lambda mark: mark.score).say()
    if not asked:
        return "no well-formed question could be written about it"
    return "the response itself answers no question about it" if samples else None
