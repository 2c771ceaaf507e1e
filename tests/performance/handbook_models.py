"""Who plays the model and its judge in the bench over a handbook.

The main model knows nothing: it gives the flawed answers of the questions. Everything else it is
asked, it answers by what stands in the prompt: as a judge it compares the statements of claims and
of documents, as a writer it says what the documents say. It knows what sentences about launches,
weights and the like look like, and no value of any product.

What a prompt leaves out, it does not know either: a claim whose product the prompt does not tell is
supported by any product's page. A value that stands alone is understood by the question, if the
prompt has it. Where several documents say something else, it writes by the newest edition, if the
prompt says which one that is, and otherwise by the first.
"""

from __future__ import annotations

import importlib
import json
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio.lowlevel

from performance.handbook_world import ATTRIBUTES, PRODUCT, Handbook, Question
from performance.skipping import SkippedError
from resay import Request, Usage
from resay.adapters import Message
from resay.errors import ProviderError
from resay.plugins import Completion, Completions
from resay.testing.tasks import (
    STANDALONE_TASKS,
    documents_in,
    find_task,
    items_in,
    writing_task,
)
from simulation import World

__all__ = [
    "HandbookModel",
    "Reads",
    "Statement",
    "attributes_in",
    "by_reader",
    "by_statements",
    "by_words",
    "statements",
]

Reads = Callable[[Sequence[Message]], "str | None"]
"""Answers what Resay asks a model, by the messages alone; None where it does not understand."""

_RELATIONS = {key: re.compile(a.relation, re.IGNORECASE) for key, a in ATTRIBUTES.items()}
_VALUES = {key: re.compile(a.value) for key, a in ATTRIBUTES.items()}
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_EDITION = re.compile(
    r"\bedition\W{1,3}((?:19|20)\d\d)\b|\b((?:19|20)\d\d)-\d\d-\d\d\b", re.IGNORECASE
)
_CONVERSATION = re.compile(
    r"<conversation-(?P<code>\w+)>\n(?P<text>.*?)\n</conversation-(?P=code)>", re.DOTALL
)
_QUESTION = re.compile(r"<question-(?P<code>\w+)>\n(?P<text>.*?)\n</question-(?P=code)>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Statement:
    """What a sentence says.

    Attributes:
        product: Of which product; None where that is not to be known.
        attribute: What of it.
        value: The value.
        sentence: The sentence.
    """

    product: str | None
    attribute: str
    value: str
    sentence: str

    def about(self, other: Statement) -> bool:
        """Return whether both may be about the same thing."""
        same = self.product is None or other.product is None or self.product == other.product
        return same and self.attribute == other.attribute


def attributes_in(text: str) -> list[str]:
    """Return what a text speaks of, whether it says it or asks for it."""
    return [key for key, relation in _RELATIONS.items() if relation.search(text)]


def statements(text: str, question: str = "") -> list[Statement]:
    """Return what a text says of products.

    Args:
        text: The text.
        question: What was said before it, whose last product is meant where the text names none,
            and what was asked, by which values that stand alone are understood.
    """
    found: list[Statement] = []
    last = next(reversed(PRODUCT.findall(question)), None)
    asked = attributes_in(question)
    for sentence in filter(None, (part.strip() for part in _SENTENCE_END.split(text))):
        named = PRODUCT.findall(sentence)
        last = named[0] if named else last
        if sentence.startswith("#") or sentence.endswith("?"):
            continue
        related = attributes_in(sentence)
        bare = len(sentence.split()) <= 3 and not related
        found += [
            Statement(last, key, value[0], sentence)
            for key in (asked if bare else related)
            if (value := _VALUES[key].search(sentence))
        ]
    return found


def by_words(messages: Sequence[Message]) -> str | None:
    """Answer as the simulated provider does, which compares words."""
    said = _said(messages)
    task = find_task(said)
    # The generator decides what a pretended model says; nothing is secret about it.
    return task.answer(World(()), random.Random(said[-1])) if task else None


def by_statements(messages: Sequence[Message]) -> str | None:
    """Answer by comparing statements, about the same product and of the same kind."""
    said = _said(messages)
    if said and said[-1].startswith(STANDALONE_TASKS):
        return _standalone(said[-1])
    task = find_task(said)
    if task is None:
        return None
    if "documents" not in task.parts:
        return _judged(task.parts, said[-1])
    documents = documents_in(task.parts["documents"])
    question = task.parts["question"].strip()
    if "sentence" in task.parts:
        return _corrected(task.parts["sentence"], question, documents)
    return _written(" ".join(said[:-1]), question, documents)


def _said(messages: Sequence[Message]) -> list[str]:
    users = (message for message in messages if message.get("role") == "user")
    return [str(message.get("content") or "") for message in users]


def _standalone(prompt: str) -> str | None:
    """Return a question with the product named last before it in place of "it"."""
    conversation, question = _CONVERSATION.search(prompt), _QUESTION.search(prompt)
    if not conversation or not question:
        return None
    products = PRODUCT.findall(conversation["text"])
    if not products or PRODUCT.search(question["text"]):
        return question["text"]
    return re.sub(r"\bit\b", f"the {products[-1]}", question["text"], count=1)


def _judged(parts: Mapping[str, str], prompt: str) -> str | None:
    talk = _CONVERSATION.search(prompt)
    before = talk["text"] if talk else ""
    claims = items_in(parts["claims"]) if "claims" in parts else [parts.get("sentence", "")]
    if "texts" in parts:
        # Another answer is about what was asked, too; a document has its own title.
        about = before if parts["kind"] == "samples" else ""
        held = (_held(claim, documents_in(parts["texts"]), before, about) for claim in claims)
        return json.dumps([{"claim": i, **found} for i, found in enumerate(held, 1)])
    if "context" not in parts:
        return None
    # Another answer is about what was asked, too; a document has its own title.
    texts = [(text, "") for _, text in documents_in(parts["context"])] or [
        (parts["context"], before)
    ]
    found = [_against(claim, texts, before) for claim in claims]
    if "sentence" in parts:
        return "Yes" if found == ["supported"] else "No"
    return "\n".join(f"{i}: {word}" for i, word in enumerate(found, 1))


def _against(claim: str, texts: Sequence[tuple[str, str]], before: str) -> str:
    each = [_compared(claim, before, text, about) for text, about in texts]
    for supports, word in ((True, "supported"), (False, "contradicted")):
        if any(found and found[0] is supports for found in each):
            return word
    return "not_mentioned"


def _held(claim: str, shown: Sequence[tuple[int, str]], before: str, about: str) -> dict[str, Any]:
    found = {number: _compared(claim, before, text, about) for number, text in shown}
    told = {number: each for number, each in found.items() if each is not None}
    supports = [number for number, (does, _) in told.items() if does]
    against = [number for number, (does, _) in told.items() if not does]
    quote = next((told[number][1] for number in (*supports, *against)), "")
    return {"supported_by": supports, "contradicted_by": against, "quote": quote}


def _compared(claim: str, before: str, text: str, about: str = "") -> tuple[bool, str] | None:
    """Return whether a text says a claim, and in which sentence; None where it says neither.

    Args:
        claim: The claim.
        before: What was said before it.
        text: The text.
        about: What was said before that.
    """
    claimed, there = statements(claim, before), statements(text, about)
    pairs = [(own, other) for own in claimed for other in there if own.about(other)]
    same = [(own, other) for own, other in pairs if own.value == other.value]
    if claimed and {own for own, _ in same} == set(claimed):
        return True, same[0][1].sentence
    against = [other for own, other in pairs if own not in {one for one, _ in same}]
    return (False, against[0].sentence) if against else None


def _newest(documents: Iterable[tuple[int, str]], like: Statement) -> tuple[str, list[int]] | None:
    """Return the value that documents give, and the numbers of those that do."""
    found = [
        (_edition(text), number, other.value)
        for number, text in documents
        for other in statements(text)
        if like.about(other)
    ]
    if not found:
        return None
    _, _, value = max(found, key=lambda each: (each[0], -each[1]))
    return value, sorted({number for _, number, other in found if other == value})


def _edition(text: str) -> int:
    match = _EDITION.search(text)
    return int(match[1] or match[2]) if match else 0


_REMOVE = "REMOVE"


def _corrected(sentence: str, question: str, documents: Sequence[tuple[int, str]]) -> str:
    claimed = statements(sentence, question)
    text, marks = sentence, set[int]()
    for own in claimed:
        newest = _newest(documents, own)
        if newest is None:
            return _REMOVE
        text = text.replace(own.value, newest[0])
        marks.update(newest[1])
    return f"{text} {_marks(marks)}" if claimed else _REMOVE


def _written(before: str, question: str, documents: Sequence[tuple[int, str]]) -> str:
    product = next(reversed(PRODUCT.findall(f"{before} {question}")), None)
    told: list[str] = []
    for key, attribute in ATTRIBUTES.items():
        if not _RELATIONS[key].search(question):
            continue
        newest = _newest(documents, Statement(product, key, "", ""))
        if newest is None:
            told.append(f"The documents do not say what was asked about its {key}. [?]")
            continue
        sentence = attribute.wordings[0].format(s=f"the {product}", v=newest[0])
        told.append(f"{sentence[0].upper()}{sentence[1:]} {_marks(newest[1])}")
    return " ".join(told) or "The documents do not say it. [?]"


def _marks(numbers: Iterable[int]) -> str:
    return "".join(f"[{number}]" for number in sorted(numbers))


def by_reader(folder: Path, world: Handbook) -> Reads:
    """Return a judge from elsewhere, which reads prompts by code of its own.

    It plays no writer, so that what is written is by statements.

    Args:
        folder: Where its modules `prompts` and `facts` are.
        world: What its table of facts is made of.

    Raises:
        SkippedError: It is not there.
    """
    if not (folder / "prompts.py").is_file():
        raise SkippedError(f"there is no reader in {str(folder)!r}")
    sys.path.insert(0, str(folder))
    try:
        prompts, facts = importlib.import_module("prompts"), importlib.import_module("facts")
    finally:
        sys.path.remove(str(folder))
    facts.FACTS[:] = [facts.Fact.of(row) for row in facts_of(world)]
    facts.find.cache_clear()

    def read(messages: Sequence[Message]) -> str | None:
        *before, prompt = _said(messages)
        if writing_task(prompt, before):
            return by_statements(messages)
        return prompts.read([dict(message) for message in messages], {})

    return read


def facts_of(world: Handbook) -> Iterator[dict[str, Any]]:
    """Yield the table of that reader: each thing that is said of a product by anybody."""
    said: dict[tuple[str, str], dict[str, None]] = {}
    for known in (world.values, world.old):
        for place, value in known.items():
            said.setdefault(place, {})[value] = None
    for question in world.questions:
        for claim in question.claims:
            values = said.setdefault((question.product, claim.attribute), {})
            values[claim.said] = None
            for sample in question.samples:
                values |= dict.fromkeys(
                    each.value
                    for each in statements(sample, question.messages[-1]["content"])
                    if each.attribute == claim.attribute
                )
    for (product, attribute), values in said.items():
        yield {
            "subject": [product],
            "relation": [ATTRIBUTES[attribute].relation],
            "values": [[re.escape(value)] for value in values],
            "say": ATTRIBUTES[attribute].wordings[0].replace("{s}", "The {s}", 1),
        }


class HandbookModel:
    """The provider of the bench: the main model, and whoever reads the rest.

    Args:
        questions: What the main model is asked.
        reads: Who answers everything else.
    """

    def __init__(self, questions: Iterable[Question], reads: Reads) -> None:
        self._questions = {_key(question.messages): question for question in questions}
        self._reads = reads
        self.misunderstood: list[str] = []
        """The prompts that nobody understood."""

    async def takes_n(self, request: Request) -> bool:
        """Return that one request may ask for several answers."""
        return True

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Answer a question, or what Resay asks about its answer."""
        await anyio.lowlevel.checkpoint()
        question = self._questions.get(_key(request.messages))
        if question is None:
            texts = [self._read(request)] * n
        elif request.varied:
            count = len(question.samples)
            texts = [question.samples[(request.index + i) % count] for i in range(n)]
        else:
            texts = [question.draft] * n
        read = sum(len(str(message.get("content"))) for message in request.messages) // 4
        written = sum(map(len, texts)) // 4
        return Completions(tuple(map(Completion, texts)), Usage(1, read, written))

    def _read(self, request: Request) -> str:
        answer = self._reads(request.messages)
        if answer is None:
            self.misunderstood.append(request.question)
            raise ProviderError("the model does not understand what it is asked")
        return answer


def _key(messages: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(str(message.get("content")) for message in messages)
