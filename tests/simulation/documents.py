"""What the simulated model writes when it is shown documents and told to go by them.

Asked to answer by documents, it says the sentences of theirs that answer the question. Asked to
correct a sentence by documents, it says the one of theirs that speaks of the same, or `REMOVE`.
Each sentence has the numbers of its documents behind it. What the documents do not say, it does not
say either, and what they tell a model to say it leaves out (see `simulation.documents`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from resay.core.passage import Passage
from resay.testing.world import FUNCTION_WORDS, SUPPORT, WORD, World, exact, fold, stems, supports

__all__ = [
    "Correction",
    "Gullible",
    "Shown",
    "Writing",
    "is_order",
    "ordered",
    "outside",
    "shown_in",
    "writing_in",
]

# Only a mark with the code of the first one ends a document; whoever wrote it cannot know that.
_FENCED = re.compile(
    r"<document-(?P<code>\w+) number=\"(?P<number>\d+)\">\n(?P<text>.*?)\n</document-(?P=code)>",
    re.DOTALL,
)
# A first line that is short and no sentence, or a heading, with text right below.
_TITLES = re.compile(r"(?:\A[^\n.!?:]{1,60}|^#{1,6} [^\n]*)(?=\n\S)", re.MULTILINE)
# A line that goes on in the next, where that begins nothing of its own.
_WRAPPED = re.compile(r"(?<![.!?:\n])\n(?![\s#>|]|[-*+•]\s|\d+[.)]\s)")
_LEFT_OUT = "[…]"
_SENTENCE = re.compile(r".*\w.*[.!?][\"'”’»)\]]*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Shown:
    """A document that a prompt shows.

    Attributes:
        number: Its number.
        text: What it says, its title in the first line where it has one.
    """

    number: int
    text: str

    @property
    def sentences(self) -> list[str]:
        """Its sentences, each on one line, without titles and headings."""
        text = self.text.replace(_LEFT_OUT, "\n\n").strip()
        text = _WRAPPED.sub(" ", _TITLES.sub(r"\g<0>\n", text))
        lines = (" ".join(sentence.text.split()) for sentence in Passage.of(text).sentences)
        return [line for line in lines if _SENTENCE.fullmatch(line)]


def shown_in(text: str) -> tuple[Shown, ...]:
    """Return the documents that a prompt shows, in order."""
    return tuple(Shown(int(m["number"]), m["text"].strip()) for m in _FENCED.finditer(text))


def outside(text: str) -> str:
    """Return a prompt without the documents that it shows."""
    return _FENCED.sub("\n", text)


Gullible = bool | Literal["everywhere"]
"""Whether a model obeys orders that do not stand in a document: in none, or even there."""

_ORDER = re.compile(
    r"""
    (?: \b(?:ignore|disregard|forget)\b .{0,200}?
        \b(?:say|reply|respond|answer|write|output|print|state)\b
      | \b(?:reply|respond) (?= \s+ (?:(?:only|exactly|just|simply)\s+)? with\b ) )
    (?: \s+ (?:only|exactly|just|simply|with|that|this|the\s+(?:words?|text|sentence)) \b )*
    \s* :? \s*
    (?P<what> " [^"]+ " | “ [^”]+ ” | « [^»]+ » | ' [^'\n]+ ' (?!\w)
      | \S .*? (?: [.!?](?=\s|$) | (?=\n\s*\n) | \Z ) )
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_QUOTES = "\"'“”«» "


def is_order(text: str) -> bool:
    """Return whether a text tells a model what to say in place of what it was asked for."""
    return _ORDER.search(text) is not None


def ordered(texts: Iterable[str], gullible: Gullible) -> str | None:
    """Return what the first order tells a gullible model to say.

    Args:
        texts: What the model reads.
        gullible: Which orders it obeys.

    Returns:
        The words, beginning in upper case; None where it obeys no order.
    """
    if not gullible:
        return None
    heard = texts if gullible == "everywhere" else map(outside, texts)
    order = next((found for text in heard if (found := _ORDER.search(text))), None)
    if order is None:
        return None
    said = " ".join(order["what"].strip(_QUOTES).split())
    return said[:1].upper() + said[1:]


_MOST = 6
_HALF = 0.5
_REMOVE = "REMOVE"
_UNCONFIRMED = ("This could not be confirmed.", "That could not be confirmed.")
# Where a whole prompt of this kind stands in a question to a judge, more text follows.
_ANSWER = re.compile(
    r"(?P<question>.*?)^[ \t]*Answer by these documents:[ \t]*\n(?P<documents>.*)\n\s*"
    r"Rules:\n(?:\d+\. [^\n]*\n?)+\s*",
    re.DOTALL | re.MULTILINE,
)
_CORRECT = re.compile(
    r"\s*A sentence of an answer is in doubt\.\s+The question:\n(?P<question>.*?)\n\n"
    r"The answer around the sentence:\n(?P<around>.*?)\n\n"
    r"Documents from a search:\n(?P<documents>.*)",
    re.DOTALL,
)
_DOUBTED = re.compile(r">>>\s*(.*?)\s*<<<", re.DOTALL)
# What a question asks for, whatever it is about.
_ASKING_LISTED = """answer briefly compare describe detail explain fact find get give good great
happen hello hey hi history inform information introduce know list long many much name nice now ok
overview paragraph say sentence short show something story summarise summarize summary thank use
want write yes"""
_ASKING = stems(_ASKING_LISTED.split())


@dataclass(frozen=True, slots=True)
class Writing:
    """A question that is to be answered by documents.

    Attributes:
        question: The question.
        documents: What to answer it by.
        topic: The names of what it is about, in stems; a document that has less than half of them
            is about something else.
    """

    question: str
    documents: tuple[Shown, ...]
    topic: frozenset[str]

    def answer(self, world: World, rng: random.Random) -> str:
        """Say the sentences that answer the question, six at most.

        Those with the names of what it is about come first, since the pronouns of the others need
        them before; otherwise they keep their order.

        Args:
            world: Knows other wordings of some sentences.
            rng: Where a wording is drawn from.
        """
        about = _about(self.topic, self.documents)
        sentences = _numbered(about)
        wanted = _telling(self.question) - _names(self.question) - _ASKING
        if wanted:
            sentences = _best(sentences, wanted, 1 if self.topic else _HALF * len(wanted))
        ordered = sorted(sentences, key=lambda text: not _names_half(self.topic, text))
        picked = [_marked(_worded(text, world, rng), sentences[text]) for text in ordered[:_MOST]]
        return " ".join(picked) or rng.choice(_UNCONFIRMED)


@dataclass(frozen=True, slots=True)
class Correction:
    """A sentence that is to be corrected by documents.

    Attributes:
        sentence: The sentence.
        question: What it is part of an answer to.
        documents: What to correct it by.
    """

    sentence: str
    question: str
    documents: tuple[Shown, ...]

    def answer(self, world: World, rng: random.Random) -> str:
        """Say what is right in its place: a sentence of the documents, itself, or `REMOVE`.

        Args:
            world: Not looked at.
            rng: Not drawn from.
        """
        del world, rng
        topic = _names(self.question)
        about = _about(topic, self.documents)
        agreeing = [shown.number for shown in about if supports(shown.text, self.sentence)]
        if agreeing:
            return _marked(self.sentence, agreeing)
        # Names and numbers are what may be wrong with it.
        said = WORD.findall(self.sentence)
        kept = stems([word for word in said if fold(word) not in exact(said)])
        wanted = kept - _telling(self.question) or kept
        best = _best(_numbered(about), wanted, max(1.0, SUPPORT * len(wanted)))
        return next((_marked(text, numbers) for text, numbers in best.items()), _REMOVE)


def writing_in(said: Sequence[str]) -> Writing | Correction | None:
    """Recognise what Resay asks for when it writes a flagged answer again.

    Args:
        said: The user's messages, oldest first.

    Returns:
        What the last message asks for; None where that is something else.
    """
    if not said:
        return None
    doubt = _CORRECT.match(said[-1])
    doubted = _DOUBTED.search(doubt["around"]) if doubt else None
    if doubt and doubted:
        return Correction(doubted[1], doubt["question"], shown_in(doubt["documents"]))
    asked = _ANSWER.fullmatch(said[-1])
    if asked is None:
        return None
    question = asked["question"].strip()
    spoken_of = (_names(text) for text in (question, *reversed(said[:-1])))
    topic = frozenset(next(filter(None, spoken_of), ()))
    return Writing(question, shown_in(asked["documents"]), topic)


def _names(text: str) -> set[str]:
    said = (word for word in WORD.findall(text) if word[0].isupper())
    return stems([word for word in said if fold(word) not in FUNCTION_WORDS]) - _ASKING


def _telling(text: str) -> set[str]:
    words = WORD.findall(text)
    return stems(words) | {fold(word) for word in words if word[0].isdigit()}


def _about(topic: set[str] | frozenset[str], documents: Sequence[Shown]) -> list[Shown]:
    return [shown for shown in documents if _names_half(topic, shown.text)]


def _names_half(topic: set[str] | frozenset[str], text: str) -> bool:
    return len(topic & _telling(text)) >= _HALF * len(topic)


def _numbered(documents: Sequence[Shown]) -> dict[str, list[int]]:
    """Return the sentences of documents, with the numbers of those that have them."""
    found: dict[str, list[int]] = {}
    for shown in documents:
        for sentence in dict.fromkeys(shown.sentences):
            if not is_order(sentence):
                found.setdefault(sentence, []).append(shown.number)
    return found


def _best(
    sentences: Mapping[str, list[int]], wanted: set[str], need: float
) -> dict[str, list[int]]:
    """Return the sentences with most of some words, where that is enough."""
    shares = {sentence: len(wanted & _telling(sentence)) for sentence in sentences}
    most = max(shares.values(), default=0)
    if most < need:
        return {}
    return {text: numbers for text, numbers in sentences.items() if shares[text] == most}


def _worded(sentence: str, world: World, rng: random.Random) -> str:
    """Say a sentence in one of the wordings that the world has for it."""
    facts = (fact for subject in world.subjects for fact in subject.wordings)
    return rng.choice(next((fact for fact in facts if sentence in fact), (sentence,)))


def _marked(sentence: str, numbers: Sequence[int]) -> str:
    return f"{sentence} {''.join(f'[{number}]' for number in numbers)}"
