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

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import anyio
from pydantic import Field

from resay.core.passage import Passage
from resay.core.scores import Scores, mean_score
from resay.models import ModelField, choice_scorer, text_generator, text_scorer
from resay.scorers.base import TEXTS_COMPARED, Need, SampleConfig, ScorerTraits
from resay.scorers.evidence import Evidence
from resay.scorers.mqag.examinee import Examinee, Questionnaire
from resay.scorers.mqag.questions import ChoiceQuestion, write_questions
from resay.scorers.mqag.scoring import ChosenOption, Scoring, ScoringRule
from resay.scorers.samples import Sample


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

    def __init__(self, config: Mqag.Config | None = None) -> None:
        self.config = config or self.Config()
        self._first = text_generator(self.config.question)
        self._second = text_generator(self.config.distractor)
        self._examinee = Examinee(
            choice_scorer(self.config.answering), text_scorer(self.config.answerability)
        )
        self._rule = ScoringRule(
            scoring=self.config.scoring,
            beta1=self.config.beta1,
            beta2=self.config.beta2,
            answerable=self.config.answerable,
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
        answers_by_sample: dict[int, list[ChosenOption]] = {}
        marks: list[_Mark] = []
        if questions:
            questionnaire = await self._examinee.questionnaire(questions)
            own = await self._examinee.answer(questionnaire, passage)
            answers_by_sample = await self._ask_samples(questionnaire, evidence)
            marks = self._marks(questions, own, answers_by_sample)
        return _scores(len(passage.sentences), questions, marks, len(answers_by_sample))

    async def _ask_samples(
        self, questionnaire: Questionnaire, evidence: Evidence
    ) -> dict[int, list[ChosenOption]]:
        """Return the answers of each sample, by its index."""
        answers: dict[int, list[ChosenOption]] = {}

        async def ask(sample: Sample) -> None:
            passage = await sample.split()
            answers[sample.index] = await self._examinee.answer(questionnaire, passage)

        async with anyio.create_task_group() as tasks:
            async for sample in evidence.samples:
                tasks.start_soon(ask, sample)
        return answers

    def _marks(
        self,
        questions: Sequence[ChoiceQuestion],
        own_answers: Sequence[ChosenOption],
        answers_by_sample: Mapping[int, Sequence[ChosenOption]],
    ) -> list[_Mark]:
        rule = self._rule
        marks: list[_Mark] = []
        for number, (question, own) in enumerate(zip(questions, own_answers, strict=True)):
            others = tuple(answers_by_sample[i][number] for i in sorted(answers_by_sample))
            if others and rule.asks(own):
                mark = _Mark(
                    question=question,
                    own=own,
                    others=others,
                    score=rule.score(own, others),
                    alone=tuple(rule.score(own, [other]) for other in others),
                )
                marks.append(mark)
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

    question: ChoiceQuestion
    own: ChosenOption
    others: tuple[ChosenOption, ...]
    score: float
    alone: tuple[float, ...]

    @property
    def reason(self) -> str:
        """A sentence that describes the answers."""
        options = self.question.options
        ((choice, times),) = Counter(other.choice for other in self.others).most_common(1)
        count = f"{times} of {len(self.others)} {TEXTS_COMPARED}"
        asked, own_answer = f"asked {self.question.text!r}", options[self.own.choice]
        if choice == self.own.choice:
            return f"{asked}, the response and {count} say {own_answer!r}"
        return f"{asked}, the response says {own_answer!r}, {count} {options[choice]!r}"


def _scores(
    sentences: int, questions: Sequence[ChoiceQuestion], marks: Sequence[_Mark], samples: int
) -> Scores:
    marks_by_sentence: list[list[_Mark]] = [[] for _ in range(sentences)]
    for mark in marks:
        marks_by_sentence[mark.question.sentence].append(mark)
    asked = {question.sentence for question in questions}

    def column(sample: int) -> tuple[float | None, ...]:
        return tuple(mean_score([m.alone[sample] for m in own]) for own in marks_by_sentence)

    return Scores(
        sentences=tuple(mean_score([mark.score for mark in own]) for own in marks_by_sentence),
        columns=tuple(column(sample) for sample in range(samples)),
        reasons=tuple(_reason(own, i in asked, samples) for i, own in enumerate(marks_by_sentence)),
    )


def _reason(marks: Sequence[_Mark], asked: bool, samples: int) -> str | None:
    if marks:
        return max(marks, key=lambda mark: mark.score).reason
    if not asked:
        return "no well-formed question could be written about it"
    return "the response itself answers no question about it" if samples else None
