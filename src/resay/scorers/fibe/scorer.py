"""Fill-in-the-blank exam (`fibe`).

"A Multiple-Fill-in-the-Blank Exam Approach for Enhancing Zero-Resource Hallucination Detection in
Large Language Models", section 3.1 and appendices E.3.1 to E.3.3.

Samples of a long response soon diverge from it, and then cannot be compared with it. An exam keeps
the story and asks for the facts: the judge lists the concrete expressions after the subject of each
sentence (create), they are replaced by variables, the judge fills in the variables N = `answers`
times (answer), and gives each answer 0 to 100 points for agreeing with the sentence (score):

    H_F(i) = 1 - 1/(100 N) * sum over j of score(a_i^j, r_i)

A sentence without such expressions has no score.

Cost: at most 1 + N + |R| calls, or 1 + 1 + |R| if the provider supports `n`; an answer identical to
the sentence gets 100 points without a call, and a sentence without blanks costs nothing. All exam
answers are requested concurrently, and so are the points. In the paper temperatures are 0.5 for the
answers and 0 for the other two.

Good at: names, dates and numbers in the middle and at the end of long responses. Bad at: sentences
that are wrong in their subject or verb, and errors that caused later ones, which the exam repeats
(the paper's remedy is `direct_question` and `snowballing`).

Which characters are blanked, and what a student sees in their place, is decided in
`resay.scorers.fibe.exam` and deterministic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, ClassVar, Literal

import anyio
from pydantic import Field

from resay._internal.plurals import counted
from resay.core.failures import tally
from resay.core.passage import Passage
from resay.core.scores import Scores
from resay.scorers.base import Need, ScorerTraits
from resay.scorers.common.judge_calls import ParsedAnswer, ask, ask_together
from resay.scorers.common.judge_config import JudgedConfig, judge_for
from resay.scorers.common.named_scores import parse_named_scores
from resay.scorers.evidence import Evidence
from resay.scorers.fibe.exam import Exam, Listing, build_exam
from resay.scorers.fibe.judge_answers import parse_exam_answers, parse_listings
from resay.scorers.fibe.prompts import (
    STUDENTS,
    render_answer,
    render_create,
    render_score,
    restate_answer,
    restate_create,
    restate_score,
)
from resay.scorers.judge import Judge

_AGREES = 50.0
_TOKENS_OF_BLANKS = 256


@dataclass(frozen=True, slots=True)
class _Graded:
    """The points of one sentence's answers.

    Attributes:
        answers: Each student's answer; None if there is none.
        points: The points of each, in [0, 100]; None if there are none.
        parsed: The judge's parsed answer; None if no call was needed.
    """

    answers: tuple[str | None, ...]
    points: tuple[float | None, ...]
    parsed: ParsedAnswer[float] | None = None

    @property
    def known(self) -> list[float]:
        return [points for points in self.points if points is not None]

    @property
    def score(self) -> float | None:
        """H_F of the sentence."""
        return 1.0 - fmean(self.known) / 100.0 if self.known else None

    @property
    def reason(self) -> str:
        if not self.known:
            return "none of its exam answers has points"
        agree = sum(points >= _AGREES for points in self.known)
        text = f"{agree} of {len(self.known)} exam answers agree with it"
        if agree == len(self.known):
            return text
        worst, _ = min(
            (pair for pair in zip(self.answers, self.points, strict=True) if pair[1] is not None),
            key=lambda pair: pair[1] or 0.0,
        )
        return f"{text}; one says: {worst}"


class Fibe:
    """Has a judge take an exam made from the response, and grades the answers."""

    name: ClassVar[str] = "fibe"
    needs: ClassVar[frozenset[Need]] = frozenset({"judge"})
    traits: ClassVar[ScorerTraits] = ScorerTraits()

    class Config(JudgedConfig):
        """Settings of `fibe`."""

        method: Literal["fibe"] = "fibe"
        answers: int = Field(
            default=5,
            ge=1,
            le=len(STUDENTS),
            description="The number of times that the exam is answered.",
        )
        temperature: float | None = Field(
            default=None,
            gt=0,
            le=2,
            description="The temperature of the exam answers (0.5 in the paper); null = the"
            " judge's own. Some models refuse the parameter.",
        )

    def __init__(self, config: Fibe.Config | None = None) -> None:
        self.config = config or self.Config()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Examine every sentence.

        Args:
            passage: The passage; its `sentences` make up the exam.
            evidence: The request, for its question, and the judge's provider.

        Returns:
            Sentence scores; None if a sentence has nothing to blank, or too little could be parsed.

        Raises:
            ScorerError: No judge is available.
        """
        judge = judge_for(self.config.judge, evidence)
        question = evidence.quoted_question
        sentences = [" ".join(sentence.text.split()) for sentence in passage.sentences]
        if not sentences:
            return Scores()
        created = await self._create(judge, sentences, question)
        if not created.answered:
            problem = f"the exam could not be made ({tally(created.failures)})"
            return Scores(failures=created.failures, error=problem)
        exam = build_exam(sentences, created.slots)
        if not exam.examined:
            return _scores(self.config.answers, created, exam, (), {})
        students = await self._answer(judge, exam, question)
        graded = await self._grade_all(judge, sentences, exam, students)
        return _scores(self.config.answers, created, exam, students, graded)

    async def _create(
        self, judge: Judge, sentences: Sequence[str], question: str
    ) -> ParsedAnswer[Listing]:
        count = len(sentences)
        return await ask(
            judge,
            render_create(sentences, question),
            lambda answer: parse_listings(answer.text, count),
            restate_create(count) if self.config.restate else None,
            # It copies each sentence and lists what is blanked in it.
            tokens=2 * max(map(len, sentences)) + _TOKENS_OF_BLANKS,
        )

    async def _answer(
        self, judge: Judge, exam: Exam, question: str
    ) -> tuple[ParsedAnswer[str], ...]:
        return await ask_together(
            judge.varied(self.config.temperature),
            render_answer(exam.questions, question),
            lambda answer: parse_exam_answers(answer.text, exam),
            restate_answer(exam.examined) if self.config.restate else None,
            self.config.answers,
            tokens=max(map(len, exam.questions)),
        )

    async def _grade_all(
        self,
        judge: Judge,
        sentences: Sequence[str],
        exam: Exam,
        students: Sequence[ParsedAnswer[str]],
    ) -> dict[int, _Graded]:
        graded: dict[int, _Graded] = {}

        async def grade(position: int, sentence: int) -> None:
            answers = tuple(student.slots[position] for student in students)
            graded[sentence] = await self._grade(judge, sentences[sentence], answers)

        async with anyio.create_task_group() as tasks:
            for position, sentence in enumerate(exam.examined):
                tasks.start_soon(grade, position, sentence)
        return graded

    async def _grade(self, judge: Judge, sentence: str, answers: tuple[str | None, ...]) -> _Graded:
        answer_of = dict(zip(STUDENTS, answers, strict=False))
        points: dict[str, float] = {}
        to_grade: dict[str, str] = {}
        for student, answer in answer_of.items():
            if answer is None:
                continue
            if " ".join(answer.split()).casefold() == sentence.casefold():
                points[student] = 100.0
            else:
                to_grade[student] = answer
        parsed = None
        if to_grade:
            students = list(to_grade)
            parsed = await ask(
                judge.about([sentence]),
                render_score(sentence, to_grade),
                lambda answer: parse_named_scores(answer.text, students),
                restate_score(students) if self.config.restate else None,
            )
            slots = zip(students, parsed.slots, strict=True)
            graded = {student: slot for student, slot in slots if slot is not None}
            # Without points for the differing answers, the identical ones would bias the mean.
            points = points | graded if graded else {}
        return _Graded(
            answers=answers,
            points=tuple(points.get(student) for student in answer_of),
            parsed=parsed,
        )


def _scores(
    count: int,
    created: ParsedAnswer[Listing],
    exam: Exam,
    students: Sequence[ParsedAnswer[str]],
    graded: dict[int, _Graded],
) -> Scores:
    parsed_answers: list[ParsedAnswer[Any]] = [created, *students]
    parsed_answers += [of_sentence.parsed for of_sentence in graded.values() if of_sentence.parsed]
    failures = tuple(failure for parsed in parsed_answers for failure in parsed.failures)
    scores: list[float | None] = []
    reasons: list[str] = []
    for sentence, listing in enumerate(created.slots):
        of_sentence = graded.get(sentence)
        scores.append(None if of_sentence is None else of_sentence.score)
        reasons.append(_not_scored_reason(listing) if of_sentence is None else of_sentence.reason)
    return Scores(
        sentences=tuple(scores),
        reasons=tuple(reasons),
        failures=failures,
        lost=tuple(i for i, slot in enumerate(created.slots) if _is_lost(slot, graded.get(i))),
        undetermined=sum(parsed.undetermined for parsed in parsed_answers),
        error=_inconclusive_reason(count, created, graded, failures),
    )


def _is_lost(listing: Listing | None, graded: _Graded | None) -> bool:
    return listing is None if graded is None else not graded.known


def _not_scored_reason(listing: Listing | None) -> str:
    if listing is None:
        return "what to blank in it could not be read"
    return "there is nothing to blank in it"


def _inconclusive_reason(
    count: int,
    created: ParsedAnswer[Listing],
    graded: dict[int, _Graded],
    failures: tuple[str, ...],
) -> str | None:
    unread = created.slots.count(None)
    if not unread and not graded:
        sentences = len(created.slots)
        return f"there is nothing to blank in {sentences} of {counted(sentences, 'sentence')}"
    if unread and not graded:
        return (
            f"the blanks of {unread} of {counted(len(created.slots), 'sentence')} could not be read"
        )
    total = count * (len(graded) + unread)
    lost = total - sum(len(of_sentence.known) for of_sentence in graded.values())
    # As with samples: if most answers are lost, the mean of the others is not the method's score.
    if lost * 2 <= total:
        return None
    kinds = tally(failures) if failures else "they could not be read"
    return f"{lost} of {total} exam answers have no points ({kinds})"
