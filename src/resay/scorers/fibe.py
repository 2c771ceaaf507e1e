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

The prompts ask what the published ones ask, and for the same form of answer, in words and with
examples of our own. Which characters are blanked, and what a student sees in their place, is
decided here and deterministic.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise, zip_longest
from statistics import fmean
from typing import ClassVar, Literal

import anyio
from pydantic import Field

from resay.core.passage import Passage
from resay.core.verdict import Scores, tally
from resay.scorers.base import Need, ScorerTraits
from resay.scorers.common.answers import parse_named_scores
from resay.scorers.common.judging import (
    JudgedConfig,
    ParsedAnswer,
    ask,
    ask_together,
    judge_for,
)
from resay.scorers.evidence import Evidence
from resay.scorers.judge import Judge


@dataclass(frozen=True, slots=True)
class Blank:
    """An expression for students to fill in.

    Attributes:
        value: The expression, as it appears in the sentence.
        hypernym: The kind of thing it is; the hint students get.
    """

    value: str
    hypernym: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """A judge's list of expressions for one sentence.

    Attributes:
        subject: Its subject; nothing up to the end of it is blanked.
        blanks: The expressions to blank; those that do not appear in the sentence are ignored.
    """

    subject: str = ""
    blanks: tuple[Blank, ...] = ()


@dataclass(frozen=True, slots=True)
class Exam:
    """Sentences with variables in place of some of their words.

    Attributes:
        questions: The sentences as students see them.
        variables: For each sentence the variables in it, in order, each once. A variable is
            written with its quotes: `"$year_0"`.
        values: The words that each variable replaces.
    """

    questions: tuple[str, ...]
    variables: tuple[tuple[str, ...], ...]
    values: Mapping[str, str]

    @property
    def examined(self) -> tuple[int, ...]:
        """The sentences with a blank in them, counted from 0."""
        return tuple(i for i, names in enumerate(self.variables) if names)


def build_exam(sentences: Sequence[str], listings: Sequence[Listing | None]) -> Exam:
    """Replace the expressions that a judge listed by variables.

    Only text after the first occurrence of a sentence's subject is blanked, so that students write
    about the same thing (section 3.1); if the subject does not occur, the whole sentence is. Every
    occurrence of a blank as whole words becomes a variable, longer blanks before shorter ones.
    Equal strings share a variable in all sentences, with the hypernym of the first.

    Args:
        sentences: The sentences.
        listings: The expressions to blank in each; None leaves a sentence as it is.

    Returns:
        The exam. Replacing the variables by their values restores the sentences.
    """
    variables = _Variables(sentences)
    questions: list[str] = []
    used: list[tuple[str, ...]] = []
    for sentence, listing in zip(sentences, listings, strict=True):
        question, position = "", 0
        names: list[str] = []
        for start, end, hypernym in _masks(sentence, listing) if listing else ():
            names.append(variables.of(sentence[start:end], hypernym))
            question += sentence[position:start] + names[-1]
            position = end
        questions.append(question + sentence[position:])
        used.append(tuple(dict.fromkeys(names)))
    return Exam(tuple(questions), tuple(used), variables.values())


class _Variables:
    """Assigns one variable to each value."""

    def __init__(self, sentences: Sequence[str]) -> None:
        self._written = "\n".join(sentences)
        self._numbers = count()
        self._names: dict[str, str] = {}

    def of(self, value: str, hypernym: str) -> str:
        if value not in self._names:
            self._names[value] = f'"{self._new(_hint(value, hypernym))}"'
        return self._names[value]

    def _new(self, hint: str) -> str:
        # A sentence may itself mention variables; ours must be distinct from those.
        names = (f"${hint}_{number}" for number in self._numbers)
        return next(name for name in names if name not in self._written)

    def values(self) -> dict[str, str]:
        return {name: value for value, name in self._names.items()}


def _masks(sentence: str, listing: Listing) -> list[tuple[int, int, str]]:
    """Return the spans of a sentence's blanks in order, each with its hypernym."""
    start = _end_of(listing.subject, sentence)
    taken = bytearray(len(sentence))
    masks: list[tuple[int, int, str]] = []
    for blank in sorted(listing.blanks, key=lambda blank: -len(blank.value)):
        for begin, end in _occurrences(blank.value, sentence, start):
            if not any(taken[begin:end]):
                taken[begin:end] = b"\1" * (end - begin)
                masks.append((begin, end, blank.hypernym))
    return sorted(masks)


def _end_of(subject: str, sentence: str) -> int:
    # Judges write "he" for "He", so case is ignored if there is no exact match.
    for flags in (0, re.IGNORECASE):
        for _, end in _occurrences(subject, sentence, 0, flags):
            return end
    return 0


def _occurrences(
    value: str, sentence: str, start: int, flags: int = 0
) -> Iterator[tuple[int, int]]:
    if not any(map(str.isalnum, value)):
        return
    pattern = re.compile(re.escape(value), flags)
    match = pattern.search(sentence, start)
    while match:
        begin, end = match.span()
        whole = not (_inside_word(sentence, begin) or _inside_word(sentence, end))
        if whole:
            yield begin, end
        match = pattern.search(sentence, end if whole else begin + 1)


def _inside_word(text: str, at: int) -> bool:
    """Whether cutting a text at this offset would split a word or a number."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if _is_mark(after):
        return True
    if before in ".,":
        return text[at - 2 : at - 1].isdigit() and after.isdigit()
    if after in ".,":
        return before.isdigit() and text[at + 1 : at + 2].isdigit()
    return _joins(before) and _joins(after)


def _joins(character: str) -> bool:
    # Letters without case ("Lo") are those of scripts that put no space between words, or attach
    # particles to names, so that word boundaries cannot be seen.
    if _is_mark(character):
        return True
    return character.isalnum() and unicodedata.category(character) != "Lo"


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


def _hint(value: str, hypernym: str) -> str:
    # A hypernym that contains the value would give the answer away.
    if set(_words(value)) <= set(_words(hypernym)):
        return "term"
    return "_".join(_words(hypernym)) or "term"


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


# A line that begins with a sentence's number: `[s0]`, `Text=[s0]`, `- **[s0]**`, `2. s0:`.
_EDGE = r"(?:[^\w\n]|_)*"
_HEADER = re.compile(
    rf"^{_EDGE}(?:[0-9]{{1,3}}[.)]{_EDGE})?(?:text\b{_EDGE})?"
    r"s([0-9]{1,4})(?:[\])]|[:.](?=\s))[*_`]*[:：]?[*_`]*",
    re.IGNORECASE | re.MULTILINE,
)
_FIELD = re.compile(
    rf"^{_EDGE}(subject|blanks?)\b[^\w<\n=:：]*[=:：]", re.IGNORECASE | re.MULTILINE
)
_NOTHING = re.compile(r"(?:none|no|nothing|empty|n/a)\b", re.IGNORECASE)
_LAST_COLON = re.compile(r"[:：]([^:：]*)$")
_LETTER = re.compile(r"[^\W\d_]")
_PARAGRAPH_END = re.compile(r"\n\s*\n")


def parse_listings(text: str, sentences: int) -> list[Listing | None]:
    """Parse a judge's list of subjects and blanks.

    Accepts the three lines per sentence that are asked for (`Text=[s0] …`,
    `Subject=<Alice:person>`, `Blanks=<21:day>, <March:month>`), with sentences in any order, with
    decoration, and without the text. Without any numbers, lists are matched in order if there is
    one for each sentence. Of two lists for one sentence, the first counts.

    Args:
        text: The judge's answer.
        sentences: Number of sentences it was given, numbered from 0.

    Returns:
        One entry per sentence; None if it could not be parsed.
    """
    parts = _numbered_parts(text) or _parts_in_order(text, sentences)
    found: dict[int, Listing] = {}
    for number, part in parts:
        listing = _listing(part)
        if listing is not None:
            found.setdefault(number, listing)
    return [found.get(i) for i in range(sentences)]


def parse_exam_answers(text: str, exam: Exam) -> list[str | None]:
    """Parse a student's answers.

    Args:
        text: The student's answer: each sentence after its number, `[s0] …`.
        exam: The exam.

    Returns:
        One entry for each sentence of `exam.examined`, on one line; None if it is missing, or still
        contains one of its variables.
    """
    found: dict[int, str] = {}
    for number, part in _numbered_parts(text):
        sentence = " ".join(_first_paragraph(part).split())
        if sentence and number in exam.examined and _is_filled(sentence, exam.variables[number]):
            found.setdefault(number, sentence)
    return [found.get(i) for i in exam.examined]


def _is_filled(sentence: str, variables: Sequence[str]) -> bool:
    # Students may omit the quotes.
    return not any(re.search(re.escape(v.strip('"')) + r"(?![0-9])", sentence) for v in variables)


def _numbered_parts(text: str) -> list[tuple[int, str]]:
    return [(int(number), part) for number, part in _parts(_HEADER, text)]


def _parts_in_order(text: str, sentences: int) -> list[tuple[int, str]]:
    starts = [f.start() for f in _FIELD.finditer(text) if f[1].casefold() == "subject"]
    if len(starts) != sentences:
        return []
    return [(i, text[a:b]) for i, (a, b) in enumerate(pairwise([*starts, len(text)]))]


def _parts(mark: re.Pattern[str], text: str) -> list[tuple[str, str]]:
    """Return the group of each mark, with the text up to the next mark."""
    marks = list(mark.finditer(text))
    ends = [following.start() for following in marks[1:]]
    return [(m[1], text[m.end() : e]) for m, e in zip_longest(marks, ends)]


def _listing(part: str) -> Listing | None:
    fields: dict[str, str] = {}
    for name, field in _parts(_FIELD, part):
        fields.setdefault(name.casefold().rstrip("s"), _first_paragraph(field))
    blanks = _blanks(fields["blank"]) if "blank" in fields else None
    if blanks is None:
        return None
    subject = fields.get("subject", "")
    named = _bracketed(subject) or [subject.strip("<>")]
    return Listing(_blank(named[0]).value, blanks)


def _blanks(field: str) -> tuple[Blank, ...] | None:
    """Parse `<value:hypernym>, …`; None if it is neither that nor a word such as "none"."""
    items = _bracketed(field)
    if items:
        return tuple(map(_blank, items))
    line = field.strip("\n\t *_`\"'()[]{}<>-–—.")
    return () if not line or _NOTHING.match(line) else None


def _bracketed(field: str) -> list[str]:
    start, end = field.find("<"), field.rfind(">")
    # Anything but these brackets may separate items; an item may contain a single bracket.
    items = re.split(r">[^<>]*<", field[start + 1 : end]) if 0 <= start < end else []
    return [item for item in items if item.strip()]


def _first_paragraph(text: str) -> str:
    return _PARAGRAPH_END.split(text.strip(), maxsplit=1)[0]


def _blank(item: str) -> Blank:
    colon = _LAST_COLON.search(item)
    # In `<10:30>` the colon belongs to the value.
    if colon is None or not _LETTER.search(colon[1]):
        return Blank(_bare(item))
    return Blank(_bare(item[: colon.start()]), colon[1].strip())


def _bare(value: str) -> str:
    return " ".join(value.split()).strip("*_` ")


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
        return 1.0 - fmean(self.known) / 100.0 if self.known else None

    @property
    def reason(self) -> str:
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

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or self.Config()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Examine every sentence.

        Args:
            passage: The passage; its `sentences` make up the exam.
            evidence: The query, for its question, and the judge's provider.

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
        parsed = None
        if asked:
            names = list(asked)
            parsed = await ask(
                judge,
                render_score(sentence, asked),
                lambda answer: parse_named_scores(answer.text, names),
                restate_score(names) if self.config.restate else None,
            )
            given = {n: p for n, p in zip(names, parsed.slots, strict=True) if p is not None}
            # Without points for the differing answers, the identical ones would bias the mean.
            points = points | given if given else {}
        return _Graded(answers, tuple(points.get(name) for name in named), parsed)


def _same(answer: str, sentence: str) -> bool:
    return " ".join(answer.split()).casefold() == sentence.casefold()


def _scores(
    count: int,
    created: ParsedAnswer[Listing],
    exam: Exam,
    students: Sequence[ParsedAnswer[str]],
    graded: dict[int, _Graded],
) -> Scores:
    parsed_answers = [created, *students, *(g.parsed for g in graded.values() if g.parsed)]
    failures = tuple(failure for parsed in parsed_answers for failure in parsed.failures)
    places = range(len(created.slots))
    return Scores(
        sentences=tuple(graded[i].score if i in graded else None for i in places),
        reasons=tuple(
            graded[i].reason if i in graded else _why_not(created.slots[i]) for i in places
        ),
        failures=failures,
        lost=tuple(i for i in places if _is_lost(created.slots[i], graded.get(i))),
        undetermined=sum(parsed.undetermined for parsed in parsed_answers),
        error=_why_inconclusive(count, created, graded, failures),
    )


def _is_lost(listing: Listing | None, graded: _Graded | None) -> bool:
    return listing is None if graded is None else not graded.known


def _why_not(listing: Listing | None) -> str:
    if listing is None:
        return "what to blank in it could not be read"
    return "there is nothing to blank in it"


def _why_inconclusive(
    count: int,
    created: ParsedAnswer[Listing],
    graded: dict[int, _Graded],
    failures: tuple[str, ...],
) -> str | None:
    unread = created.slots.count(None)
    if not unread and not graded:
        sentences = len(created.slots)
        return f"there is nothing to blank in {sentences} of {sentences} sentences"
    if unread and not graded:
        return f"the blanks of {unread} of {len(created.slots)} sentences could not be read"
    wanted = count * (len(graded) + unread)
    lost = wanted - sum(len(g.known) for g in graded.values())
    # As with samples: if most answers are lost, the mean of the rest is not the method's score.
    if lost * 2 <= wanted:
        return None
    kinds = tally(failures) if failures else "they could not be read"
    return f"{lost} of {wanted} exam answers have no points ({kinds})"
