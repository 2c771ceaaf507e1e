"""The simulated provider as a judge: it compares words with what it knows, and says what it sees.

Every form in which a judged method asks has its recogniser and its answer here. What a text is
compared with is what the question gives (`context`) or the facts of the world (the others). A
sentence is supported when the text has all its numbers and names and at least 60 % of its other
words.

    context     SelfCheckGPT with Prompt, also with tasks      Yes or No, for one sentence or a list
    knowledge   Direct Question                                Yes or No
                zero-shot                                      factual or non-factual
    examiner    cross-examination                              questions, answers, a conclusion
    search      Reverse Validation                             a name, a description, what is found
    exam        fill-in-the-blank exam                         blanks, filled sentences, points
    silence     SelfCheckGPT with Prompt, about what samples   questions, short answers, same or not
                leave out

Only an exam's answers hold anything made up, and differ from draw to draw.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast, get_args

from resay.core.passage import Passage
from resay.testing.tasks import STANDALONE_TASKS, find_task
from resay.testing.world import (
    FUNCTION_WORDS,
    MONTHS,
    SUPPORT,
    WORD,
    Invention,
    Subject,
    World,
    contradicts,
    exact,
    fold,
    stems,
    stranger,
    supports,
)

__all__ = [
    "KNOWLEDGE_FORMS",
    "Asked",
    "Expression",
    "Form",
    "Kind",
    "Question",
    "at_first_and_last",
    "at_last",
    "blanks",
    "expressions",
    "in_last",
    "knows",
    "knows_all",
    "numbered",
    "question_in",
    "recall",
    "sentences_of",
    "subject_end",
    "subject_in",
    "with_gaps",
]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and what there is to answer it with.

    Attributes:
        parts: What the question is made of, by the names its form gives them.
        world: What the simulated model knows.
        rng: Where it draws what it makes up from; an answer that makes nothing up leaves it alone.
    """

    parts: Mapping[str, str]
    world: World
    rng: random.Random


Recogniser = Callable[[Sequence[str]], "Mapping[str, str] | None"]
"""Takes the user's messages, oldest first, and returns the question's parts, or None."""


@dataclass(frozen=True, slots=True)
class Form:
    """A kind of question.

    Attributes:
        recognise: Finds its parts in the user's messages; None where they ask something else.
        answer: Answers it.
    """

    recognise: Recogniser
    answer: Callable[[Asked], str]


def in_last(pattern: str) -> Recogniser:
    """Recognise a question that stands somewhere in the last message.

    Args:
        pattern: A regular expression whose named groups are the parts; its dot matches everything.
    """
    compiled = re.compile(pattern, re.DOTALL | re.MULTILINE)
    return lambda said: _parts(compiled.search(said[-1]))


def at_last(pattern: str) -> Recogniser:
    """Recognise a question that is the whole of the last message; see `in_last`."""
    compiled = re.compile(pattern, re.DOTALL | re.MULTILINE)
    return lambda said: _parts(compiled.fullmatch(said[-1].strip()))


def at_first_and_last(first: str, last: str) -> Recogniser:
    """Recognise a conversation by the whole of its first and its last message; see `in_last`."""
    opening, closing = at_last(first), at_last(last)

    def recognise(said: Sequence[str]) -> Mapping[str, str] | None:
        began = opening(said[:1]) if len(said) > 1 else None
        ended = closing(said) if began is not None else None
        return None if began is None or ended is None else {**began, **ended}

    return recognise


def _parts(match: re.Match[str] | None) -> Mapping[str, str] | None:
    return None if match is None else match.groupdict("")


_NUMBERED = re.compile(r"\s*(\d+)\s*[.):]\s*(.*)")


def numbered(text: str) -> list[str]:
    """Return the items of a numbered list; a line without the next number continues an item."""
    items: list[str] = []
    for line in text.strip().splitlines():
        mark = _NUMBERED.match(line)
        if mark and int(mark[1]) == len(items) + 1:
            items.append(mark[2])
        elif items:
            items[-1] += "\n" + line
    # What stands behind an empty line after the last item is an instruction.
    return [*items[:-1], *(re.split(r"\n\s*\n", item)[0] for item in items[-1:])]


Kind = Literal["year", "month", "number", "name"]

_ARTICLES = frozenset(["the", "a", "an"])
_GAP = "…"


@dataclass(frozen=True, slots=True)
class Expression:
    """A number, a part of a date or a name.

    Attributes:
        text: How it stands in the sentence.
        kind: What it is.
        start: Where it begins in the sentence, in code points.
    """

    text: str
    kind: Kind
    start: int

    @property
    def end(self) -> int:
        """Where it ends (exclusive), in code points."""
        return self.start + len(self.text)


def expressions(sentence: str) -> list[Expression]:
    """Return the numbers, months and names of a sentence, in order."""
    found: list[Expression] = []
    for match in WORD.finditer(sentence):
        kind = _kind(match[0])
        if kind is None:
            continue
        last = found[-1] if found else None
        if last and last.kind == kind == "name" and sentence[last.end : match.start()] == " ":
            found[-1] = Expression(f"{last.text} {match[0]}", kind, last.start)
        else:
            found.append(Expression(match[0], kind, match.start()))
    return found


def _kind(word: str) -> Kind | None:
    if word[0].isdigit():
        return "year" if word.isdecimal() and 1000 <= int(word) < 2100 else "number"
    if word in MONTHS:
        return "month"
    return "name" if word[0].isupper() and fold(word) not in FUNCTION_WORDS else None


def subject_end(sentence: str) -> int:
    """Return where the subject of a sentence ends: its first word, or the name it begins with."""
    first = WORD.search(sentence)
    if first is None:
        return 0
    names = (e for e in expressions(sentence) if e.kind == "name")
    name = next(names, None)
    begins = first.start() if fold(first[0]) not in _ARTICLES else first.end() + 1
    return name.end if name and name.start == begins else first.end()


def blanks(sentence: str) -> Iterator[Expression]:
    """Return the expressions behind the subject of a sentence."""
    end = subject_end(sentence)
    return (expression for expression in expressions(sentence) if expression.start >= end)


def with_gaps(sentence: str) -> str:
    """Return a sentence with gaps in the place of its blanks."""
    text, position = "", 0
    for blank in blanks(sentence):
        text += sentence[position : blank.start] + _GAP
        position = blank.end
    return text + sentence[position:]


def _judge_one(asked: Asked) -> str:
    return _yes_or_no(asked.parts["context"], asked.parts["sentence"])


def _judge_each(asked: Asked) -> str:
    """Answer with one line per claim: "1: supported"."""
    context, claims = asked.parts["context"], numbered(asked.parts["claims"])
    answers = ["supported" if supports(context, claim) else "contradicted" for claim in claims]
    return "\n".join(f"{number}: {answer}" for number, answer in enumerate(answers, 1))


def _hold_each(asked: Asked) -> str:
    """Answer with an object per claim: which documents support it."""
    documents = [(int(m["number"]), m["text"]) for m in _DOCUMENT.finditer(asked.parts["texts"])]
    found = [
        {
            "claim": place,
            "supported_by": [n for n, text in documents if supports(text, claim)],
            "contradicted_by": [n for n, text in documents if contradicts(text, claim)],
            "quote": "",
        }
        for place, claim in enumerate(numbered(asked.parts["claims"]), 1)
    ]
    return json.dumps(found)


_DOCUMENT = re.compile(
    r"<(?P<kind>document|sample)-(?P<code>\w+) number=\"(?P<number>\d+)\">\n(?P<text>.*?)\n"
    r"</(?P=kind)-(?P=code)>",
    re.DOTALL,
)


def _yes_or_no(context: str, sentence: str) -> str:
    return "Yes" if supports(context, sentence) else "No"


CONTEXT_FORMS = (
    Form(
        in_last(
            r"Context:(?P<context>.*)\n\s*Sentence:(?P<sentence>.*?)\n\s*"
            r"Is the sentence supported by the context above\?"
        ),
        _judge_one,
    ),
    Form(
        in_last(
            r"<context-(?P<code>\w+)>\n(?P<context>.*)\n</context-(?P=code)>\s*"
            r"<claims-(?P=code)>\n(?P<claims>.*)\n</claims-(?P=code)>"
        ),
        _judge_each,
    ),
    Form(
        in_last(
            r"<(?P<kind>documents|samples)-(?P<code>\w+)>\n(?P<texts>.*)\n</(?P=kind)-(?P=code)>\s*"
            r"<claims-(?P=code)>\n(?P<claims>.*)\n</claims-(?P=code)>"
        ),
        _hold_each,
    ),
)


def subject_in(world: World, *texts: str) -> Subject | None:
    """Return the subject that the first of these texts names that names any."""
    return next((found for text in texts if (found := world.find(text))), None)


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text, each on one line."""
    return [" ".join(sentence.text.split()) for sentence in Passage.of(text).sentences]


def knows(subject: Subject | None, sentence: str) -> bool:
    """Return whether the facts of a subject support a sentence about it."""
    if subject is None:
        return False
    names = (subject.name, *subject.aliases)
    return supports("\n".join((*names, *sum(subject.wordings, ()))), sentence)


def knows_all(world: World, claim: str) -> bool:
    """Return whether every sentence of a claim is known of what the claim is about."""
    subject, sentences = world.find(claim), sentences_of(claim)
    return bool(sentences) and all(knows(subject, sentence) for sentence in sentences)


def recall(subject: Subject, text: str) -> tuple[str, ...]:
    """Return the wordings of the fact that a text speaks of.

    Args:
        subject: What the text is about; its name alone does not tell one fact from another.
        text: A question, or a sentence with gaps.

    Returns:
        The wordings; none where no fact has enough of the text's words.
    """
    wanted = stems(WORD.findall(text)) - stems(WORD.findall(subject.name))
    shares = {fact: len(wanted & stems(WORD.findall(" ".join(fact)))) for fact in subject.wordings}
    best = max(shares, key=lambda fact: shares[fact], default=())
    return best if best and shares[best] >= max(1.0, SUPPORT * len(wanted)) else ()


def _affirm(asked: Asked) -> str:
    claim, context = asked.parts["claim"], asked.parts["context"]
    return "Yes" if knows(subject_in(asked.world, claim, context), claim) else "No"


def _classify(asked: Asked) -> str:
    return "factual" if knows_all(asked.world, asked.parts["claim"]) else "non-factual"


KNOWLEDGE_FORMS = (
    Form(
        at_last(
            r"You are a machine-learning model that responds using only your prior knowledge\."
            r"(?P<context>.*)^Claim: (?P<claim>.*)\n\s*Is the above claim true\?.*"
        ),
        _affirm,
    ),
    Form(
        at_last(
            r"I want you to act as a claim judge\..*?^Claim: (?P<claim>.*)\n\s*"
            r"Answer factual or non-factual:"
        ),
        _classify,
    ),
)


_UNKNOWN = "I don't know."
_QUOTED = re.compile(r'"(.*)"', re.DOTALL)


def _question(asked: Asked) -> str:
    """Ask about every sentence of the claim, with gaps in the place of what is to be verified."""
    sentences = sentences_of(asked.parts["claim"])
    subject = subject_in(asked.world, asked.parts["claim"])
    name = (subject or stranger(" ".join(sentences[:1]))).name
    questions = [f'About {name}: how do you fill the gaps of "{with_gaps(s)}"?' for s in sentences]
    return "\n".join(f"{number}. {question}" for number, question in enumerate(questions, 1))


def _examine(asked: Asked) -> str:
    """Answer each question with the fact it is about."""
    answers = [_answer(asked, question) for question in numbered(asked.parts["questions"])]
    lines = [f"{number}. {answer}" for number, answer in enumerate(answers, 1)]
    return "\n".join(lines) or _UNKNOWN


def _answer(asked: Asked, question: str) -> str:
    subject = subject_in(asked.world, question)
    quoted = _QUOTED.search(question)
    facts = recall(subject, quoted[1] if quoted else question) if subject else ()
    return facts[0] if facts else _UNKNOWN


def _conclude(asked: Asked) -> str:
    return "correct" if knows_all(asked.world, asked.parts["claim"]) else "incorrect"


_OPENING = (
    r"Your goal is to find out whether the following claim is correct\.\s*"
    r"Claim: (?P<claim>.*)\n\s*Gather what you need .*"
)

EXAMINER_FORMS = (
    Form(at_last(_OPENING), _question),
    Form(at_last(r"Please answer the following questions:\n(?P<questions>.*)"), _examine),
    Form(at_first_and_last(_OPENING, r".*Do you have any follow-up questions\?.*"), lambda _: "No"),
    Form(at_first_and_last(_OPENING, r"What are the follow-up questions\?"), _question),
    Form(at_first_and_last(_OPENING, r".*is the claim correct or incorrect\?.*"), _conclude),
)


_SENTENCE = re.compile(r"^\[s(\d+)\] (.*)$", re.MULTILINE)
_ANSWER = re.compile(r"^\[([^\]\n]+)\] (.*)$", re.MULTILINE)
_VARIABLE = re.compile(r'"\$([^"\n]*?)_\d+"')
_MADE_UP = {
    "year": (Invention("{year}"),),
    "month": (Invention("{month}"),),
    "number": (Invention("{number}"),),
    "name": (Invention("{person}"), Invention("{place}")),
}


def _create(asked: Asked) -> str:
    """List the subject and the blanks of every sentence."""
    return "\n\n".join(_listing(m[1], m[2]) for m in _SENTENCE.finditer(asked.parts["texts"]))


def _listing(number: str, sentence: str) -> str:
    listed = ", ".join(f"<{blank.text}:{blank.kind}>" for blank in blanks(sentence))
    subject = sentence[: subject_end(sentence)]
    return f"Text=[s{number}] {sentence}\nSubject=<{subject}:subject>\nBlanks={listed}".rstrip()


def _sit(asked: Asked) -> str:
    """Fill every variable in, with what is known and else with something made up."""
    texts = asked.parts["texts"]
    questions = {m[1]: m[2] for m in _SENTENCE.finditer(texts)}
    subject = subject_in(asked.world, texts)
    values: dict[str, str] = {}
    for question in questions.values():
        known = sum(subject.wordings, ()) if subject else ()
        related = recall(subject, _VARIABLE.sub(" ", question)) if subject else ()
        for variable, value in _known_values(question, known, related).items():
            values.setdefault(variable, value)

    def fill(variable: re.Match[str]) -> str:
        return values.setdefault(variable[0], _make_up(_kind_of(variable), asked.rng))

    lines = (f"[s{n}] {_VARIABLE.sub(fill, question)}" for n, question in questions.items())
    return "\n".join(lines)


def _known_values(question: str, known: Sequence[str], related: Sequence[str]) -> dict[str, str]:
    """Return what belongs in the place of a question's variables, as far as facts tell."""
    for fact in known:
        values = _values_in(question, fact)
        if values:
            return values
    return _values_by_kind(question, related[0]) if related else {}


def _values_in(question: str, fact: str) -> dict[str, str]:
    """Return the values that make the very words of a fact out of a question."""
    variables = [variable[0] for variable in _VARIABLE.finditer(question)]
    literal = map(re.escape, _VARIABLE.sub("\n", question).split("\n"))
    match = re.fullmatch("(.+?)".join(literal), fact)
    return dict(zip(variables, match.groups(), strict=True)) if match else {}


def _values_by_kind(question: str, fact: str) -> dict[str, str]:
    """Return the values of the same kinds, in order, that a fact in other words has."""
    left = [e for e in expressions(fact) if e.text not in question]
    values: dict[str, str] = {}
    for variable in _VARIABLE.finditer(question):
        fitting = [e for e in left if e.kind == _kind_of(variable)]
        if fitting and variable[0] not in values:
            values[variable[0]] = fitting[0].text
            left.remove(fitting[0])
    return values


def _kind_of(variable: re.Match[str]) -> Kind:
    return cast("Kind", variable[1]) if variable[1] in get_args(Kind) else "name"


def _make_up(kind: Kind, rng: random.Random) -> str:
    return rng.choice(_MADE_UP[kind]).say(rng)


def _grade(asked: Asked) -> str:
    """Give each student's answer its points."""
    answers = _ANSWER.finditer(asked.parts["answers"])
    correct = asked.parts["correct"]
    return "\n".join(f"[{m[1]}] {_points(m[2], correct)}" for m in answers)


def _points(answer: str, correct: str) -> int:
    """Return 100 for the same words, 0 for other numbers or names, else the share in common."""
    given, wanted = WORD.findall(answer), WORD.findall(correct)
    if sorted(map(fold, given)) == sorted(map(fold, wanted)):
        return 100
    if exact(given) != exact(wanted):
        return 0
    mine, right = stems(given), stems(wanted)
    return round(100 * len(mine & right) / max(1, len(mine | right)))


def _form(pattern: str, answer: Callable[[Asked], str]) -> Form:
    return Form(at_last(pattern), answer)


EXAM_FORMS = (
    _form(
        r"You make up fill-in-the-blank questions.*^Texts:\n(?P<texts>.*)\n\s*"
        r"Fill-in-the-blank questions \(from [^\n]*\):",
        _create,
    ),
    _form(
        r"You are the best student.*^Fill-in-the-blank questions:\n(?P<texts>.*)\n\s*"
        r"Fill-in-the-blank answers \(up to [^\n]*\):",
        _sit,
    ),
    _form(
        r"You grade a fill-in-the-blank exam\..*^Correct answer: (?P<correct>[^\n]*)\n\s*"
        r"Student names[^\n]*:\n(?P<answers>.*)\n\s*Answer with the name and the points .*",
        _grade,
    ),
)


_NO_SUCH_ENTITY = "I do not know such an entity."
# What a description calls what it describes.
_THE_ENTITY = re.compile(r"\b(?:the|this) entity\b", re.IGNORECASE)
_ENDS = re.compile(r"[.!]+$")


def _name(asked: Asked) -> str:
    """Say what a text is about; a name is a name, known or not."""
    question, text = asked.parts["question"], asked.parts["text"]
    subject = subject_in(asked.world, question, text)
    if subject:
        return subject.name
    if question:
        return stranger(question).name
    names = [e.text for e in expressions(text) if e.kind == "name"]
    # Of one word it may be any word that begins a sentence.
    return max(names, key=lambda name: name.count(" "), default=_NO_SUCH_ENTITY)


def _describe(asked: Asked) -> str:
    """Ask one question that has everything in it that is said of the entity."""
    said = (_ENDS.sub("", feature) for feature in _features(asked))
    return f"Which is it: {'; '.join(said)}?"


def _list(asked: Asked) -> str:
    """List everything that is said of the entity."""
    said = (feature[0].upper() + feature[1:] for feature in _features(asked))
    return "\n".join(f"{number}. {feature}" for number, feature in enumerate(said, 1))


def _features(asked: Asked) -> list[str]:
    entity = asked.parts["entity"]
    subject = subject_in(asked.world, entity)
    names = (entity, subject.name) if subject else (entity,)
    aliases = subject.aliases if subject else ()
    sentences = sentences_of(asked.parts["information"])
    # "Canberra is the capital of Australia": without both names of it nothing would be said.
    return [
        said if _tells(said := _unnamed(sentence, *names, *aliases)) else _unnamed(sentence, *names)
        for sentence in sentences
    ]


def _unnamed(sentence: str, *names: str) -> str:
    """Return a sentence with a pronoun in the place of names."""
    listed = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    pattern = rf"(?:\bthe\s+)?(?<!\w)(?:{listed})(?!\w)(['’]s\b)?"
    return re.sub(pattern, lambda n: "its" if n[1] else "it", sentence, flags=re.IGNORECASE)


def _tells(text: str) -> bool:
    words = WORD.findall(_THE_ENTITY.sub("it", text))
    return bool(exact(words) or stems(words))


def _find(asked: Asked) -> str:
    found, _ = _search(asked, re.split(r"[;?]", asked.parts["question"]))
    return found.name if found else _NO_SUCH_ENTITY


def _match(asked: Asked) -> str:
    found, share = _search(asked, numbered(asked.parts["requirements"]))
    return (
        f"{found.name} meets {100 * share:.0f}% of the requirements." if found else _NO_SUCH_ENTITY
    )


def _search(asked: Asked, requirements: list[str]) -> tuple[Subject | None, float]:
    """Return the subject that meets the most of several requirements, and the share it meets."""
    telling = [_THE_ENTITY.sub("it", r) for r in requirements if _tells(r)]
    best, most = None, 0
    for subject in asked.world.subjects:
        met = sum(knows(subject, requirement) for requirement in telling)
        if met > most:
            best, most = subject, met
    return best, most / len(telling) if best else 0.0


SEARCH_FORMS = (
    Form(
        at_last(
            r"(?:Question: (?P<question>.*?)\n\n)?Text: (?P<text>.*)\n\n"
            r"Which entity .* mainly about\? Answer with its name and nothing else\."
        ),
        _name,
    ),
    Form(
        at_last(
            r"I will give you some information about an entity\..*"
            r"^Entity: (?P<entity>[^\n]*)\nInformation: (?P<information>.*)\nQuestion:"
        ),
        _describe,
    ),
    Form(
        at_last(
            r"(?P<information>.*)\n\nPlease list every feature of (?P<entity>.*) that is mentioned"
            r" above, as a numbered list\. Do not name .*"
        ),
        _list,
    ),
    Form(
        at_last(r"Answer the following question as briefly as possible\.\s*(?P<question>.*)"), _find
    ),
    Form(
        at_last(
            r"Find an entity that meets the following requirements:\s*(?P<requirements>.*)\n\s*"
            r"If none meets all of them, .*"
        ),
        _match,
    ),
)


# What a response says inside of a question may look like a question; forms that take the whole
# message stand before those that look for themselves inside of it.
def _about_silence(said: Sequence[str]) -> Mapping[str, str] | None:
    """Recognise what is asked about claims that samples leave out, as `resay.testing` does."""
    begins = ("Prepare a quiz", "Compare two short answers", *STANDALONE_TASKS)
    if said[-1].startswith(begins) or "<questions-" in said[-1]:
        return {"said": said[-1]} if find_task(said[-1:]) else None
    return None


def _as_resay_does(asked: Asked) -> str:
    task = find_task([asked.parts["said"]])
    return task.answer(asked.world, asked.rng) if task else ""


SILENCE_FORMS = (Form(_about_silence, _as_resay_does),)


_FORMS: tuple[Form, ...] = (
    *SILENCE_FORMS,
    *KNOWLEDGE_FORMS,
    *EXAMINER_FORMS,
    *EXAM_FORMS,
    *SEARCH_FORMS,
    *CONTEXT_FORMS,
)
# A judge whose answer could not be read is told the form of the answer once more.
_RESTATED = re.compile(r"\s*(?:Answer with|Write) ")


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a judge.

    Attributes:
        form: What kind of question it is.
        parts: What it is made of.
        restated: Whether it was answered before and is asked once more.
    """

    form: Form
    parts: Mapping[str, str]
    restated: bool = False

    def answer(self, world: World, rng: random.Random) -> str:
        """Answer honestly.

        Args:
            world: What the judge knows.
            rng: Where it draws what it makes up from.
        """
        return self.form.answer(Asked(self.parts, world, rng))


def question_in(said: Sequence[str]) -> Question | None:
    """Recognise a question to a judge.

    Args:
        said: The user's messages, oldest first.

    Returns:
        The question that the last message asks, or asks once more; None when it is none.
    """
    if not said:
        return None
    for form in _FORMS:
        parts = form.recognise(said)
        if parts is not None:
            return Question(form, parts)
    again = question_in(said[:-1]) if _RESTATED.match(said[-1]) else None
    return replace(again, restated=True) if again else None
