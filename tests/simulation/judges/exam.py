"""The fill-in-the-blank exam: it is made, sat and graded."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import cast, get_args

from resay.testing.world import WORD, Invention, exact, fold, stems
from simulation.judges.blanks import Kind, blanks, expressions, subject_end
from simulation.judges.form import Asked, Form, at_last
from simulation.judges.knowledge import recall, subject_in

__all__ = ["FORMS"]

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
        return values.setdefault(variable[0], _make_up(_kind(variable), asked.rng))

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
        fitting = [e for e in left if e.kind == _kind(variable)]
        if fitting and variable[0] not in values:
            values[variable[0]] = fitting[0].text
            left.remove(fitting[0])
    return values


def _kind(variable: re.Match[str]) -> Kind:
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


FORMS = (
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
