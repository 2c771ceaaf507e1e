"""The prompts of the exam.

They ask what the published ones ask, and for the same form of answer, in words and with examples of
our own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

STUDENTS = (
    *("Tom", "Amy", "Leo", "Ava", "Ben", "Eva", "Sam", "Zoe", "Ian", "Mia", "Kai", "Lea"),
    *("Jon", "Nia", "Tim", "Ida", "Dan", "Uma", "Ned", "Liz", "Roy", "Kim", "Gus", "Pia"),
)
"""Names of the students whose answers are scored, as published. None is also an English word."""
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
    """Return the prompt that asks for the blanks of sentences.

    Args:
        sentences: The sentences, each on one line.
        question: The question that the response answers; the context of the exam.
    """
    return _CREATE.format(
        context=_context(question),
        sentences=_numbered(sentences),
        ids=_ids(range(len(sentences))),
    )


def restate_create(sentences: int) -> str:
    """Return the restated format, for when the blanks of a sentence could not be parsed."""
    return _CREATE_RESTATED.format(last=sentences - 1)


def render_answer(questions: Sequence[str], question: str = "") -> str:
    """Return the exam as a prompt for a student.

    Args:
        questions: The sentences with variables, each on one line.
        question: The question that the response answers, the only context (appendix E.3.2).
    """
    return _ANSWER.format(
        context=_context(question), questions=_numbered(questions), last=len(questions) - 1
    )


def restate_answer(examined: Iterable[int]) -> str:
    """Return the restated format, for when an answer could not be parsed."""
    return _ANSWER_RESTATED.format(ids=_ids(examined))


def render_score(correct: str, answers: Mapping[str, str]) -> str:
    """Return the prompt that asks for the points of a sentence's answers.

    Args:
        correct: The sentence as it is in the response, on one line.
        answers: Each student's answer, on one line, by the student's name.
    """
    listed = "\n".join(f"[{name}] {answer}" for name, answer in answers.items())
    return _SCORE.format(correct=correct, answers=listed)


def restate_score(names: Collection[str]) -> str:
    """Return the restated format, for when the points of a student could not be parsed."""
    return _SCORE_RESTATED.format(names=", ".join(f"[{name}]" for name in names))


def _context(question: str) -> str:
    return f'"{question}"\n' if question else ""


def _numbered(sentences: Sequence[str]) -> str:
    return "\n".join(f"[s{i}] {sentence}" for i, sentence in enumerate(sentences))


def _ids(numbers: Iterable[int]) -> str:
    return ",".join(f"[s{i}]" for i in numbers)
