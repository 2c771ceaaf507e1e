"""Questions of the judged methods besides `prompt`, and how the simulated provider answers them.

What a claim is compared with is the facts of the world:

    knowledge   Direct Question                                Yes or No
                zero-shot                                      factual or non-factual
                panel                                          a letter for each claim
    actions     what an agent says it did                      an empty list
    examiner    cross-examination                              questions, answers, a conclusion
    search      Reverse Validation                             a name, a description, a match
    exam        fill-in-the-blank exam                         blanks, filled sentences, points

Only an exam's answers contain anything invented, and differ from draw to draw.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, cast, get_args

from resay.core.passage import Passage
from resay.testing import tasks
from resay.testing.tasks import Task, items_in, numbered, restated_task
from resay.testing.world import (
    FUNCTION_WORDS,
    MONTHS,
    SUPPORT,
    WORD,
    Invention,
    Subject,
    World,
    exact,
    fold,
    stems,
    stranger,
    supports,
)

__all__ = ["find_task", "knows", "recall"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question to a judge, and what there is to answer it with.

    Attributes:
        parts: The parts of the question, by the names of its form.
        world: What the simulated model knows.
        rng: The source of inventions.
    """

    parts: Mapping[str, str]
    world: World
    rng: random.Random


@dataclass(frozen=True, slots=True)
class Form:
    """A form of question.

    Attributes:
        last: Matches the whole of the last message; its named groups are the question's parts.
        answer: Answers it.
        first: Matches the whole of an earlier, first message; None if there need not be one.
    """

    last: re.Pattern[str]
    answer: Callable[[Prompt], str]
    first: re.Pattern[str] | None = None

    def parts(self, texts: Sequence[str]) -> dict[str, str] | None:
        """Return the parts of a question of this form; None if the messages ask another."""
        last = self.last.fullmatch(texts[-1].strip())
        if last is None or self.first is None:
            return last and last.groupdict("")
        first = self.first.fullmatch(texts[0].strip()) if len(texts) > 1 else None
        return first and {**first.groupdict(""), **last.groupdict("")}


def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL | re.MULTILINE)


def _form(pattern: str, answer: Callable[[Prompt], str], *, first: str | None = None) -> Form:
    return Form(_pattern(pattern), answer, None if first is None else _pattern(first))


def find_task(texts: Sequence[str]) -> Task | None:
    """Return the task in the last user message; see `resay.testing.tasks.find_task`."""
    if not texts:
        return None
    for form in _FORMS:
        parts = form.parts(texts)
        if parts is not None:
            return Task("judge", partial(_answer_question, form, parts), parts)
    return tasks.find_task(texts) or restated_task(texts, find_task)


def _answer_question(form: Form, parts: Mapping[str, str], world: World, rng: random.Random) -> str:
    return form.answer(Prompt(parts, world, rng))


def _listed(text: str) -> list[str]:
    """Return the items of a numbered list, which ends at an empty line."""
    return items_in(re.split(r"\n\s*\n", text.strip())[0])


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
    listed: list[Expression] = []
    for match in WORD.finditer(sentence):
        kind = _kind(match[0])
        if kind is None:
            continue
        last = listed[-1] if listed else None
        if last and last.kind == kind == "name" and sentence[last.end : match.start()] == " ":
            listed[-1] = Expression(f"{last.text} {match[0]}", kind, last.start)
        else:
            listed.append(Expression(match[0], kind, match.start()))
    return listed


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


def subject_in(world: World, *texts: str) -> Subject | None:
    """Return the subject that the first of these texts names that names any."""
    return next(filter(None, map(world.find, texts)), None)


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
    topic = stems(WORD.findall(text)) - stems(WORD.findall(subject.name))
    shares = {fact: len(topic & stems(WORD.findall(" ".join(fact)))) for fact in subject.wordings}
    best = max(shares, key=lambda fact: shares[fact], default=())
    return best if best and shares[best] >= max(1.0, SUPPORT * len(topic)) else ()


def _affirm(prompt: Prompt) -> str:
    claim, context = prompt.parts["claim"], prompt.parts["context"]
    return "Yes" if knows(subject_in(prompt.world, claim, context), claim) else "No"


def _classify(prompt: Prompt) -> str:
    return "factual" if knows_all(prompt.world, prompt.parts["claim"]) else "non-factual"


def _choose(prompt: Prompt) -> str:
    """Choose a letter for each claim: A for one that is known, C for others."""
    subject = subject_in(prompt.world, prompt.parts["claims"])
    claims = items_in(prompt.parts["claims"])
    return numbered("A" if knows(subject, claim) else "C" for claim in claims)


KNOWLEDGE_FORMS = (
    _form(
        r"You are a machine-learning model that responds using only your prior knowledge\."
        r"(?P<context>.*)^Claim: (?P<claim>.*)\n\s*Is the above claim true\?.*",
        _affirm,
    ),
    _form(
        r"I want you to act as a claim judge\..*?^Claim: (?P<claim>.*)\n\s*"
        r"Answer factual or non-factual:",
        _classify,
    ),
    _form(
        r"Judge the claims of an answer by what you know\..*"
        r"<claims-(?P<code>\w+)>\n(?P<claims>.*)\n</claims-(?P=code)>.*",
        _choose,
    ),
)

# It answers questions, and says of no answer that it claims an action.
ACTION_FORMS = (_form(r"Find out whether an agent did what its answer says\..*", lambda _: "[]"),)


_UNKNOWN = "I don't know."
_QUOTED = re.compile(r'"(.*)"', re.DOTALL)


def _question(prompt: Prompt) -> str:
    """Ask about every sentence of the claim, with gaps in the place of what is to be verified."""
    sentences = sentences_of(prompt.parts["claim"])
    subject = subject_in(prompt.world, prompt.parts["claim"])
    name = (subject or stranger(" ".join(sentences[:1]))).name
    questions = [f'About {name}: how do you fill the gaps of "{with_gaps(s)}"?' for s in sentences]
    return "\n".join(f"{number}. {question}" for number, question in enumerate(questions, 1))


def _examine(prompt: Prompt) -> str:
    """Answer each question with the fact it is about."""
    answers = [_answer(prompt, question) for question in _listed(prompt.parts["questions"])]
    lines = [f"{number}. {answer}" for number, answer in enumerate(answers, 1)]
    return "\n".join(lines) or _UNKNOWN


def _answer(prompt: Prompt, question: str) -> str:
    subject = subject_in(prompt.world, question)
    quoted = _QUOTED.search(question)
    facts = recall(subject, quoted[1] if quoted else question) if subject else ()
    return facts[0] if facts else _UNKNOWN


def _conclude(prompt: Prompt) -> str:
    return "correct" if knows_all(prompt.world, prompt.parts["claim"]) else "incorrect"


_OPENING = (
    r"Your goal is to find out whether the following claim is correct\.\s*"
    r"Claim: (?P<claim>.*)\n\s*Gather what you need .*"
)

EXAMINER_FORMS = (
    _form(_OPENING, _question),
    _form(r"Please answer the following questions:\n(?P<questions>.*)", _examine),
    _form(r".*Do you have any follow-up questions\?.*", lambda _: "No", first=_OPENING),
    _form(r"What are the follow-up questions\?", _question, first=_OPENING),
    _form(r".*is the claim correct or incorrect\?.*", _conclude, first=_OPENING),
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


def _create(prompt: Prompt) -> str:
    """List the subject and the blanks of every sentence."""
    return "\n\n".join(_listing(m[1], m[2]) for m in _SENTENCE.finditer(prompt.parts["texts"]))


def _listing(number: str, sentence: str) -> str:
    listed = ", ".join(f"<{blank.text}:{blank.kind}>" for blank in blanks(sentence))
    subject = sentence[: subject_end(sentence)]
    return f"Text=[s{number}] {sentence}\nSubject=<{subject}:subject>\nBlanks={listed}".rstrip()


def _sit(prompt: Prompt) -> str:
    """Fill every variable in, with what is known and else with something made up."""
    texts = prompt.parts["texts"]
    questions = {m[1]: m[2] for m in _SENTENCE.finditer(texts)}
    subject = subject_in(prompt.world, texts)
    values: dict[str, str] = {}
    for question in questions.values():
        known = sum(subject.wordings, ()) if subject else ()
        related = recall(subject, _VARIABLE.sub(" ", question)) if subject else ()
        for variable, value in _known_values(question, known, related).items():
            values.setdefault(variable, value)

    def fill(variable: re.Match[str]) -> str:
        return values.setdefault(variable[0], _make_up(_kind_of(variable), prompt.rng))

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


def _grade(prompt: Prompt) -> str:
    """Give each student's answer its points."""
    answers = _ANSWER.finditer(prompt.parts["answers"])
    correct = prompt.parts["correct"]
    return "\n".join(f"[{m[1]}] {_points(m[2], correct)}" for m in answers)


def _points(answer: str, correct: str) -> int:
    """Return 100 for the same words, 0 for other numbers or names, else the share in common."""
    words, correct_words = WORD.findall(answer), WORD.findall(correct)
    if sorted(map(fold, words)) == sorted(map(fold, correct_words)):
        return 100
    if exact(words) != exact(correct_words):
        return 0
    shared, either = stems(words) & stems(correct_words), stems(words) | stems(correct_words)
    return round(100 * len(shared) / max(1, len(either)))


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


def _name(prompt: Prompt) -> str:
    """Say what a text is about; a name is a name, known or not."""
    question, text = prompt.parts["question"], prompt.parts["text"]
    subject = subject_in(prompt.world, question, text)
    if subject:
        return subject.name
    if question:
        return stranger(question).name
    names = [e.text for e in expressions(text) if e.kind == "name"]
    # Of one word it may be any word that begins a sentence.
    return max(names, key=lambda name: name.count(" "), default=_NO_SUCH_ENTITY)


def _describe(prompt: Prompt) -> str:
    """Ask one question with all features of the entity."""
    features = (_ENDS.sub("", feature) for feature in _features(prompt))
    return f"Which is it: {'; '.join(features)}?"


def _list(prompt: Prompt) -> str:
    """List all features of the entity."""
    features = (feature[0].upper() + feature[1:] for feature in _features(prompt))
    return "\n".join(f"{number}. {feature}" for number, feature in enumerate(features, 1))


def _features(prompt: Prompt) -> list[str]:
    entity = prompt.parts["entity"]
    subject = subject_in(prompt.world, entity)
    names = (entity, subject.name) if subject else (entity,)
    aliases = subject.aliases if subject else ()
    sentences = sentences_of(prompt.parts["information"])
    features: list[str] = []
    for sentence in sentences:
        feature = _unnamed(sentence, *names, *aliases)
        # "Canberra is the capital of Australia": without both of its names, nothing would be left.
        features.append(feature if _tells(feature) else _unnamed(sentence, *names))
    return features


def _unnamed(sentence: str, *names: str) -> str:
    """Return a sentence with a pronoun in the place of names."""
    listed = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    pattern = rf"(?:\bthe\s+)?(?<!\w)(?:{listed})(?!\w)(['’]s\b)?"
    return re.sub(pattern, lambda n: "its" if n[1] else "it", sentence, flags=re.IGNORECASE)


def _tells(text: str) -> bool:
    words = WORD.findall(_THE_ENTITY.sub("it", text))
    return bool(exact(words) or stems(words))


def _find(prompt: Prompt) -> str:
    match, _ = _search(prompt, re.split(r"[;?]", prompt.parts["question"]))
    return match.name if match else _NO_SUCH_ENTITY


def _match(prompt: Prompt) -> str:
    match, share = _search(prompt, _listed(prompt.parts["requirements"]))
    return (
        f"{match.name} meets {100 * share:.0f}% of the requirements." if match else _NO_SUCH_ENTITY
    )


def _search(prompt: Prompt, requirements: list[str]) -> tuple[Subject | None, float]:
    """Return the subject that meets the most of several requirements, and the share it meets."""
    features = [_THE_ENTITY.sub("it", r) for r in requirements if _tells(r)]
    best, max_met = None, 0
    for subject in prompt.world.subjects:
        met = sum(knows(subject, feature) for feature in features)
        if met > max_met:
            best, max_met = subject, met
    return best, max_met / len(features) if best else 0.0


SEARCH_FORMS = (
    _form(
        r"(?:Question: (?P<question>.*?)\n\n)?Text: (?P<text>.*)\n\n"
        r"Which entity .* mainly about\? Answer with its name and nothing else\.",
        _name,
    ),
    _form(
        r"I will give you some information about an entity\..*"
        r"^Entity: (?P<entity>[^\n]*)\nInformation: (?P<information>.*)\nQuestion:",
        _describe,
    ),
    _form(
        r"(?P<information>.*)\n\nPlease list every feature of (?P<entity>.*) that is mentioned"
        r" above, as a numbered list\. Do not name .*",
        _list,
    ),
    _form(r"Answer the following question as briefly as possible\.\s*(?P<question>.*)", _find),
    _form(
        r"Find an entity that meets the following requirements:\s*(?P<requirements>.*)\n\s*"
        r"If none meets all of them, .*",
        _match,
    ),
)


_FORMS = (
    *KNOWLEDGE_FORMS,
    *ACTION_FORMS,
    *EXAMINER_FORMS,
    *EXAM_FORMS,
    *SEARCH_FORMS,
)
