"""Reverse Validation: what a text is about, a description of it, and the search by that."""

from __future__ import annotations

import re

from resay.testing.world import WORD, Subject, exact, stems, stranger
from simulation.judges.blanks import expressions
from simulation.judges.form import Asked, Form, at_last, numbered
from simulation.judges.knowledge import knows, sentences_of, subject_in

__all__ = ["FORMS"]

_UNKNOWN = "I do not know such an entity."
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
    return max(names, key=lambda name: name.count(" "), default=_UNKNOWN)


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
    return found.name if found else _UNKNOWN


def _match(asked: Asked) -> str:
    found, share = _search(asked, numbered(asked.parts["requirements"]))
    return f"{found.name} meets {100 * share:.0f}% of the requirements." if found else _UNKNOWN


def _search(asked: Asked, requirements: list[str]) -> tuple[Subject | None, float]:
    """Return the subject that meets the most of several requirements, and the share it meets."""
    telling = [_THE_ENTITY.sub("it", r) for r in requirements if _tells(r)]
    best, most = None, 0
    for subject in asked.world.subjects:
        met = sum(knows(subject, requirement) for requirement in telling)
        if met > most:
            best, most = subject, met
    return best, most / len(telling) if best else 0.0


FORMS = (
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
