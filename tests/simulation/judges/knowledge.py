"""Questions about a claim that is judged by what the model knows: Direct Question and zero-shot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resay.core.passage import Passage
from resay.testing.world import SUPPORT, WORD, stems, supports
from simulation.judges.form import Asked, Form, at_last

if TYPE_CHECKING:
    from resay.testing.world import Subject, World

__all__ = ["FORMS", "knows", "knows_all", "recall", "sentences_of", "subject_in"]


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


FORMS = (
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
