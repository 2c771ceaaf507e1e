"""Fill-in-the-blank exam (`fibe`).

"A Multiple-Fill-in-the-Blank Exam Approach for Enhancing Zero-Resource Hallucination Detection in
Large Language Models", section 3.1 and appendices E.3.1 to E.3.3.

Samples of a long response soon tell another story, and then cannot be compared with it. An exam
keeps the story and asks for the facts: the judge names the concrete objects after the subject of
each sentence (create), they are replaced by variables, the judge fills them in N = `answers` times
(answer), and gives each answer 0 to 100 points for agreeing with the sentence (score):

    H_F(i) = 1 - 1/(100 N) * sum over j of score(a_i^j, r_i)

A sentence without such objects has no score.

Cost: 1 + N + |R| calls at most, 1 + 1 + |R| where the provider takes `n`; an answer that is the
sentence itself has 100 points without being asked about, and a sentence without blanks costs
nothing. The answers are asked for at the same time, and so are the points. In the paper
temperatures are 0.5 for the answers and 0 for the other two.

Good at: names, dates and numbers in the middle and at the end of long responses. Bad at: sentences
that are wrong in their subject or their verb, and errors that drew others after them, which the
exam repeats (`direct_question` and `snowballing` are the paper's cure).

The three questions of the fill-in-the-blank exam (`fibe`), and how each is asked once more.

"A Multiple-Fill-in-the-Blank Exam Approach for Enhancing Zero-Resource Hallucination Detection in
Large Language Models", appendices E.3.1 (create), E.3.2 (answer) and E.3.3 (score). What is asked
and the form of the answers are the published ones, in words and with examples of our own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar, Literal

import anyio
from pydantic import Field

from resay.core.passage import Passage
from resay.core.verdict import Scores, tally
from resay.scorers.base import Need
from resay.scorers.common.answers import read_named_scores
from resay.scorers.common.judging import JudgedConfig, Reading, ask, ask_together, judge_for
from resay.scorers.evidence import Evidence, Judge
from resay.scorers.fibe.exam import Exam, Listing, build_exam, read_exam_answers, read_listings

__all__ = [
    "STUDENTS",
    "Fibe",
    "render_answer",
    "render_create",
    "render_score",
    "restate_answer",
    "restate_create",
    "restate_score",
]

STUDENTS = (
    *("Tom", "Amy", "Leo", "Ava", "Ben", "Eva", "Sam", "Zoe", "Ian", "Mia", "Kai", "Lea"),
    *("Jon", "Nia", "Tim", "Ida", "Dan", "Uma", "Ned", "Liz", "Roy", "Kim", "Gus", "Pia"),
)
"""Whose answers are scored, by name, as published. None of them is an English word as well."""

_CREATE = (
    "You make up fill-in-the-blank questions that test what students know. For each numbered"
    " sentence of the texts, write down its subject and its blanks: the expressions that students"
    " will have to fill in.\n\n"
    "Rules:\n"
    "- A blank is one concrete expression: a time, a date, a place, a number or a proper noun.\n"
    "- Of a phrase of three words or more, take only the few that matter: in"
    ' "oceanography of polar seas" the blank is <oceanography:academic field>.\n'
    "- Leave out what more than one answer would fit, such as"
    ' "famous" or "large".\n'
    "- Give every subject and every blank its hypernym as a hint, after a colon:"
    " <Jane Doe:person>, <14:day>, <May:month>, <1996:year>, <Lima:city>, <Bavaria:state>,"
    " <Tour de France:cycling race>, <plumber:profession>, <6:number of bridges>.\n"
    "- Copy subjects and blanks letter by letter. Where there is nothing to blank, write Blanks="
    " and nothing after it.\n"
    "- Leave out no sentence, and keep to the form of the example.\n\n"
    "Texts:\n"
    '"Who is Ada Pemberton?"\n'
    "[s0] Ada Pemberton (3 June 1871 – 12 Oct. 1940) was the founder of Lumen.\n"
    "[s1] Her workshops stood in Norway and in Chile, three workshops in all.\n\n"
    "Fill-in-the-blank questions (from [s0],[s1]):\n"
    "Text=[s0] Ada Pemberton (3 June 1871 – 12 Oct. 1940) was the founder of Lumen.\n"
    "Subject=<Ada Pemberton:person>\n"
    "Blanks=<3:day>, <June:month>, <1871:year>, <12:day>, <Oct.:month>, <1940:year>,"
    " <Lumen:company>\n\n"
    "Text=[s1] Her workshops stood in Norway and in Chile, three workshops in all.\n"
    "Subject=<Her workshops:workshops>\n"
    "Blanks=<Norway:country>, <Chile:country>, <three:number of workshops>\n\n"
    "Texts:\n"
    "{context}{sentences}\n\n"
    "Fill-in-the-blank questions (from {ids}):"
)
_CREATE_RESTATED = (
    "Write three lines for each sentence from [s0] to [s{last}], and nothing else:\n"
    "Text=[sNUMBER] the sentence\n"
    "Subject=<subject:hypernym>\n"
    "Blanks=<value:hypernym>, <value:hypernym>\n"
    "Where there is nothing to blank, write Blanks= and nothing after it."
)

_ANSWER = (
    "You are the best student there is, and this is your fill-in-the-blank exam. Write the"
    " sentences of the last questions out with a concrete value in the place of every variable.\n\n"
    "Rules:\n"
    '- A variable is written "$HINT_NUMBER", such as "$date_0". The hint says what kind of thing'
    " it stands for.\n"
    "- A variable stands for the same value everywhere, and no two variables for the same one.\n"
    "- Leave every word that is no variable as it is.\n"
    "- Fill in every variable. Where you are not sure, give the answer you think likeliest.\n"
    "- Begin each sentence with its number, such as [s0] or [s3].\n\n"
    "Fill-in-the-blank questions:\n"
    '"Who is Ada Pemberton?"\n'
    '[s0] Ada Pemberton (born "$date_0") was the founder of "$company_1".\n'
    '[s1] It was a "$business_2" opened in "$city_3" in "$year_4".\n\n'
    "Fill-in-the-blank answers (up to [s1]):\n"
    "[s0] Ada Pemberton (born 3 June 1871) was the founder of Lumen.\n"
    "[s1] It was a lamp workshop opened in Bergen in 1902.\n\n"
    "Fill-in-the-blank questions:\n"
    "{context}{questions}\n\n"
    "Fill-in-the-blank answers (up to [s{last}]):"
)
_ANSWER_RESTATED = (
    "Write one line for each of {ids}, and nothing else: the number in square brackets and the"
    " whole sentence, with a concrete value in the place of every variable."
)

_SCORE = (
    "You grade a fill-in-the-blank exam. Compare each student's answer with the correct answer and"
    " give it 0 to 100 points.\n\n"
    "Rules:\n"
    "- 0 points for an answer that contradicts the correct answer completely.\n"
    "- 100 points for an answer that agrees with the correct answer completely.\n"
    "- Grade with great care: only the very best students are to pass.\n\n"
    "Correct answer: {correct}\n\n"
    "Student names (in square brackets) and answers:\n"
    "{answers}\n\n"
    "Answer with the name and the points of each student and nothing else, one student per line,"
    ' such as "[Pat] 50":'
)
_SCORE_RESTATED = (
    "Write one line for each of {names}, and nothing else: the name in square brackets and the"
    ' points from 0 to 100, such as "[Pat] 50".'
)


def render_create(sentences: Sequence[str], question: str = "") -> str:
    """Return the question that asks for the blanks of sentences.

    Args:
        sentences: The sentences, each on one line.
        question: What the response answers; it is the context of the exam.
    """
    return _CREATE.format(
        context=_context(question),
        sentences=_numbered(sentences),
        ids=_ids(range(len(sentences))),
    )


def restate_create(sentences: int) -> str:
    """Return what is said where the blanks of one of so many sentences could not be read."""
    return _CREATE_RESTATED.format(last=sentences - 1)


def render_answer(questions: Sequence[str], question: str = "") -> str:
    """Return the exam as a student gets it.

    Args:
        questions: The sentences with variables in them, each on one line.
        question: What the response answers; students get no other context (appendix E.3.2).
    """
    return _ANSWER.format(
        context=_context(question), questions=_numbered(questions), last=len(questions) - 1
    )


def restate_answer(examined: Iterable[int]) -> str:
    """Return what is said where the answer to one of these sentences could not be read."""
    return _ANSWER_RESTATED.format(ids=_ids(examined))


def render_score(correct: str, answers: Mapping[str, str]) -> str:
    """Return the question that asks for the points of a sentence's answers.

    Args:
        correct: The sentence as it is in the response, on one line.
        answers: Each student's answer, on one line, by the student's name.
    """
    listed = "\n".join(f"[{name}] {answer}" for name, answer in answers.items())
    return _SCORE.format(correct=correct, answers=listed)


def restate_score(names: Collection[str]) -> str:
    """Return what is said where the points of one of these students could not be read."""
    return _SCORE_RESTATED.format(names=", ".join(f"[{name}]" for name in names))


def _context(question: str) -> str:
    return f'"{question}"\n' if question else ""


def _numbered(sentences: Sequence[str]) -> str:
    return "\n".join(f"[s{i}] {sentence}" for i, sentence in enumerate(sentences))


def _ids(numbers: Iterable[int]) -> str:
    return ",".join(f"[s{i}]" for i in numbers)


_AGREES = 50.0


@dataclass(frozen=True, slots=True)
class _Graded:
    """The points of one sentence's answers.

    Attributes:
        answers: What each student answered; None where there is no answer.
        points: The points of each, in [0, 100]; None where there are none.
        reading: What the judge was asked for; None where nothing was to ask.
    """

    answers: tuple[str | None, ...]
    points: tuple[float | None, ...]
    reading: Reading[float] | None = None

    @property
    def known(self) -> list[float]:
        return [points for points in self.points if points is not None]

    @property
    def score(self) -> float | None:
        return 1.0 - fmean(self.known) / 100.0 if self.known else None

    @property
    def why(self) -> str:
        if not self.known:
            return "none of its exam answers has points"
        agree = sum(points >= _AGREES for points in self.known)
        text = f"{agree} of {len(self.known)} exam answers agree with it"
        if agree == len(self.known):
            return text
        pairs = zip(self.answers, self.points, strict=True)
        worst, _ = min(((a, p) for a, p in pairs if p is not None), key=lambda pair: pair[1])
        return f"{text}; one says: {worst}"


class Fibe:
    """Lets a judge sit an exam made of the response, and grades it."""

    name: ClassVar[str] = "fibe"
    needs: ClassVar[frozenset[Need]] = frozenset({"judge"})

    class Config(JudgedConfig):
        """Settings of `fibe`."""

        method: Literal["fibe"] = "fibe"
        answers: int = Field(
            default=5,
            ge=1,
            le=len(STUDENTS),
            description="How many times the exam is answered.",
        )
        temperature: float | None = Field(
            default=None,
            gt=0,
            le=2,
            description="The temperature of the exam answers (0.5 in the paper); null = the"
            " judge's own. Some models refuse the parameter.",
        )

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or self.Config()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Examine every sentence.

        Args:
            passage: The passage; its `sentences` make up the exam.
            evidence: The query, for its question, and who answers for the judge.

        Returns:
            Sentence scores; None where a sentence has nothing to blank, or too little could be
            read.

        Raises:
            ScorerError: There is no judge to ask.
        """
        judge = judge_for(self.config.judge, evidence)
        question = evidence.query.question if evidence.query else ""
        sentences = [" ".join(sentence.text.split()) for sentence in passage.sentences]
        if not sentences:
            return Scores()
        created = await self._create(judge, sentences, question)
        if not created.answered:
            problem = f"the exam could not be made ({tally(created.failures)})"
            return Scores(failures=created.failures, inconclusive=problem)
        exam = build_exam(sentences, created.slots)
        if not exam.examined:
            return _scores(self.config.answers, created, exam, (), {})
        students = await self._answer(judge, exam, question)
        graded = await self._grade_all(judge, sentences, exam, students)
        return _scores(self.config.answers, created, exam, students, graded)

    async def _create(
        self, judge: Judge, sentences: Sequence[str], question: str
    ) -> Reading[Listing]:
        count = len(sentences)
        return await ask(
            judge,
            render_create(sentences, question),
            lambda answer: read_listings(answer.text, count),
            restate_create(count) if self.config.restate else None,
        )

    async def _answer(self, judge: Judge, exam: Exam, question: str) -> tuple[Reading[str], ...]:
        return await ask_together(
            judge.varied(self.config.temperature),
            render_answer(exam.questions, question),
            lambda answer: read_exam_answers(answer.text, exam),
            restate_answer(exam.examined) if self.config.restate else None,
            self.config.answers,
        )

    async def _grade_all(
        self,
        judge: Judge,
        sentences: Sequence[str],
        exam: Exam,
        students: Sequence[Reading[str]],
    ) -> dict[int, _Graded]:
        graded: dict[int, _Graded] = {}

        async def grade(place: int, i: int) -> None:
            answers = tuple(student.slots[place] for student in students)
            graded[i] = await self._grade(judge, sentences[i], answers)

        async with anyio.create_task_group() as tasks:
            for place, i in enumerate(exam.examined):
                tasks.start_soon(grade, place, i)
        return graded

    async def _grade(self, judge: Judge, sentence: str, answers: tuple[str | None, ...]) -> _Graded:
        named = dict(zip(STUDENTS, answers, strict=False))
        points = {n: 100.0 for n, a in named.items() if a is not None and _same(a, sentence)}
        asked = {n: a for n, a in named.items() if a is not None and n not in points}
        reading = None
        if asked:
            names = list(asked)
            reading = await ask(
                judge,
                render_score(sentence, asked),
                lambda answer: read_named_scores(answer.text, names),
                restate_score(names) if self.config.restate else None,
            )
            given = {n: p for n, p in zip(names, reading.slots, strict=True) if p is not None}
            # With no word on the answers that differ, those that do not are no fair sample.
            points = points | given if given else {}
        return _Graded(answers, tuple(points.get(name) for name in named), reading)


def _same(answer: str, sentence: str) -> bool:
    return " ".join(answer.split()).casefold() == sentence.casefold()


def _scores(
    count: int,
    created: Reading[Listing],
    exam: Exam,
    students: Sequence[Reading[str]],
    graded: dict[int, _Graded],
) -> Scores:
    readings = [created, *students, *(g.reading for g in graded.values() if g.reading)]
    failures = tuple(failure for reading in readings for failure in reading.failures)
    places = range(len(created.slots))
    return Scores(
        sentences=tuple(graded[i].score if i in graded else None for i in places),
        why=tuple(graded[i].why if i in graded else _why_not(created.slots[i]) for i in places),
        failures=failures,
        lost=tuple(i for i in places if _is_lost(created.slots[i], graded.get(i))),
        undetermined=sum(reading.undetermined for reading in readings),
        inconclusive=_why_inconclusive(count, created, graded, failures),
    )


def _is_lost(listing: Listing | None, graded: _Graded | None) -> bool:
    return listing is None if graded is None else not graded.known


def _why_not(listing: Listing | None) -> str:
    if listing is None:
        return "what to blank in it could not be read"
    return "there is nothing to blank in it"


def _why_inconclusive(
    count: int, created: Reading[Listing], graded: dict[int, _Graded], failures: tuple[str, ...]
) -> str | None:
    unread = created.slots.count(None)
    if unread and not graded:
        return f"the blanks of {unread} of {len(created.slots)} sentences could not be read"
    wanted = count * (len(graded) + unread)
    lost = wanted - sum(len(g.known) for g in graded.values())
    # As with samples: with most answers gone, the mean of the rest is not the score of the method.
    if lost * 2 <= wanted:
        return None
    kinds = tally(failures) if failures else "they could not be read"
    return f"{lost} of {wanted} exam answers have no points ({kinds})"
