"""Cross-examination: an examiner who has read the claim, and an examinee who has not."""

from __future__ import annotations

import re

from resay.testing.world import stranger
from simulation.judges.blanks import with_gaps
from simulation.judges.form import Asked, Form, at_first_and_last, at_last, numbered
from simulation.judges.knowledge import knows_all, recall, sentences_of, subject_in

__all__ = ["FORMS"]

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

FORMS = (
    Form(at_last(_OPENING), _question),
    Form(at_last(r"Please answer the following questions:\n(?P<questions>.*)"), _examine),
    Form(at_first_and_last(_OPENING, r".*Do you have any follow-up questions\?.*"), lambda _: "No"),
    Form(at_first_and_last(_OPENING, r"What are the follow-up questions\?"), _question),
    Form(at_first_and_last(_OPENING, r".*is the claim correct or incorrect\?.*"), _conclude),
)
