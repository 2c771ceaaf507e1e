"""The simulated model and judge of the bench over a handbook.

As the main model it gives the flawed answers of the questions. Everything else it answers from the
prompt alone: as a judge it compares the statements of claims with those of documents, as a writer
it repeats the statements of the documents. It recognises sentences about launches, weights and
other attributes, and knows no value of any product.

It does not know what a prompt leaves out: a claim whose product the prompt does not name is
supported by any product's page. A bare value is understood by the question, if the prompt has it.
Where documents differ, it writes what the newest edition says, if the prompt has the editions, and
otherwise what the first document says.
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
from typing import Any, NamedTuple

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
"""Answers a request of Resay from its messages alone; None where it does not understand it."""

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
    """A value that a sentence states.

    Attributes:
        product: The product; None where it is unknown.
        attribute: The attribute, a key of `ATTRIBUTES`.
        value: The value.
        sentence: The sentence.
    """

    product: str | None
    attribute: str
    value: str
    sentence: str

    def about(self, other: Statement) -> bool:
        """Return whether both may be about the same attribute of the same product."""
        same = self.product is None or other.product is None or self.product == other.product
        return same and self.attribute == other.attribute


def attributes_in(text: str) -> list[str]:
    """Return the attributes that a text mentions, in statements or in questions."""
    return [key for key, relation in _RELATIONS.items() if relation.search(text)]


def statements(text: str, question: str = "") -> list[Statement]:
    """Return the statements of a text about products.

    Args:
        text: The text.
        question: The question and what was said before it. Its last product is meant where the text
            names none, and its attributes are meant where a value stands alone.
    """
    result: list[Statement] = []
    product = next(reversed(PRODUCT.findall(question)), None)
    in_question = attributes_in(question)
    for part in _SENTENCE_END.split(text):
        sentence = part.strip()
        products = PRODUCT.findall(sentence)
        product = products[0] if products else product
        if not sentence or sentence.startswith("#") or sentence.endswith("?"):
            continue
        attributes = attributes_in(sentence)
        if not attributes and len(sentence.split()) <= 3:
            attributes = in_question
        for attribute in attributes:
            match = _VALUES[attribute].search(sentence)
            if match:
                result.append(Statement(product, attribute, match[0], sentence))
    return result


def by_words(messages: Sequence[Message]) -> str | None:
    """Answer as the simulated provider does, which compares words."""
    prompts = _user_texts(messages)
    task = find_task(prompts)
    # The generator decides what a simulated model says; nothing is secret about it.
    return task.answer(World(()), random.Random(prompts[-1])) if task else None


def by_statements(messages: Sequence[Message]) -> str | None:
    """Answer by comparing statements, about the same product and of the same kind."""
    prompts = _user_texts(messages)
    if prompts and prompts[-1].startswith(STANDALONE_TASKS):
        return _standalone(prompts[-1])
    task = find_task(prompts)
    if task is None:
        return None
    if "documents" not in task.parts:
        return _judgement(task.parts, prompts[-1])
    documents = documents_in(task.parts["documents"])
    question = task.parts["question"].strip()
    if "sentence" in task.parts:
        return _corrected(task.parts["sentence"], question, documents)
    return _written(" ".join(prompts[:-1]), question, documents)


def _user_texts(messages: Sequence[Message]) -> list[str]:
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


def _judgement(parts: Mapping[str, str], prompt: str) -> str | None:
    """Return the judge's answer to a prompt about claims."""
    match = _CONVERSATION.search(prompt)
    conversation = match["text"] if match else ""
    claims = items_in(parts["claims"]) if "claims" in parts else [parts.get("sentence", "")]
    if "texts" in parts:
        # A sample answers the conversation, too; a document has its own title.
        about = conversation if parts["kind"] == "samples" else ""
        texts = documents_in(parts["texts"])
        judgements: list[dict[str, Any]] = []
        for number, claim in enumerate(claims, 1):
            judgements.append({"claim": number, **_support(claim, texts, conversation, about)})
        return json.dumps(judgements)
    if "context" not in parts:
        return None
    contexts = [(text, "") for _, text in documents_in(parts["context"])]
    if not contexts:
        contexts = [(parts["context"], conversation)]
    labels = [_label(claim, contexts, conversation) for claim in claims]
    if "sentence" in parts:
        return "Yes" if labels == ["supported"] else "No"
    return "\n".join(f"{number}: {label}" for number, label in enumerate(labels, 1))


def _label(claim: str, contexts: Sequence[tuple[str, str]], conversation: str) -> str:
    """Return the label of a claim by contexts, each with what was said before it."""
    contradicted = False
    for text, about in contexts:
        comparison = _compare(claim, conversation, text, about)
        if comparison and comparison.supports:
            return "supported"
        contradicted = contradicted or comparison is not None
    return "contradicted" if contradicted else "not_mentioned"


def _support(
    claim: str, texts: Sequence[tuple[int, str]], conversation: str, about: str
) -> dict[str, Any]:
    """Return the numbers of the texts that support and contradict a claim, and a quote."""
    comparisons: dict[int, Comparison] = {}
    for number, text in texts:
        comparison = _compare(claim, conversation, text, about)
        if comparison:
            comparisons[number] = comparison
    supports = [number for number, comparison in comparisons.items() if comparison.supports]
    contradicts = [number for number in comparisons if number not in supports]
    quotes = [comparisons[number].sentence for number in (*supports, *contradicts)]
    return {
        "supported_by": supports,
        "contradicted_by": contradicts,
        "quote": quotes[0] if quotes else "",
    }


class Comparison(NamedTuple):
    """What a text says about a claim.

    Attributes:
        supports: Whether it supports the claim; else it contradicts it.
        sentence: The sentence that does so.
    """

    supports: bool
    sentence: str


def _compare(claim: str, conversation: str, text: str, about: str = "") -> Comparison | None:
    """Compare a claim with a text; None where the text does not mention it.

    Args:
        claim: The claim.
        conversation: What was said before the claim.
        text: The text.
        about: What was said before the text.
    """
    in_claim = statements(claim, conversation)
    in_text = statements(text, about)
    supported: set[Statement] = set()
    support: Statement | None = None
    for own in in_claim:
        for other in in_text:
            if own.about(other) and own.value == other.value:
                supported.add(own)
                support = support or other
    if support and supported == set(in_claim):
        return Comparison(supports=True, sentence=support.sentence)
    for own in in_claim:
        for other in in_text:
            if own not in supported and own.about(other):
                return Comparison(supports=False, sentence=other.sentence)
    return None


def _newest(
    documents: Iterable[tuple[int, str]], statement: Statement
) -> tuple[str, list[int]] | None:
    """Return the value in the newest of the documents, and the numbers of those that have it."""
    matches: list[tuple[int, int, str]] = []
    for number, text in documents:
        edition = _edition(text)
        values = [item.value for item in statements(text) if statement.about(item)]
        matches += [(edition, number, value) for value in values]
    if not matches:
        return None
    _, _, newest = max(matches, key=lambda match: (match[0], -match[1]))
    return newest, sorted({number for _, number, value in matches if value == newest})


def _edition(text: str) -> int:
    match = _EDITION.search(text)
    return int(match[1] or match[2]) if match else 0


_REMOVE = "REMOVE"


def _corrected(sentence: str, question: str, documents: Sequence[tuple[int, str]]) -> str:
    """Return a sentence with the values of documents, and their citation marks."""
    in_sentence = statements(sentence, question)
    text = sentence
    cited: set[int] = set()
    for statement in in_sentence:
        newest = _newest(documents, statement)
        if newest is None:
            return _REMOVE
        value, numbers = newest
        text = text.replace(statement.value, value)
        cited.update(numbers)
    return f"{text} {_citation_marks(cited)}" if in_sentence else _REMOVE


def _written(before: str, question: str, documents: Sequence[tuple[int, str]]) -> str:
    """Return an answer with the values of documents, and their citation marks."""
    product = next(reversed(PRODUCT.findall(f"{before} {question}")), None)
    sentences: list[str] = []
    for key in attributes_in(question):
        newest = _newest(documents, Statement(product, key, "", ""))
        if newest is None:
            sentences.append(f"The documents do not say what was asked about its {key}. [?]")
            continue
        value, numbers = newest
        sentence = ATTRIBUTES[key].wordings[0].format(s=f"the {product}", v=value)
        sentences.append(f"{sentence[0].upper()}{sentence[1:]} {_citation_marks(numbers)}")
    return " ".join(sentences) or "The documents do not say it. [?]"


def _citation_marks(numbers: Iterable[int]) -> str:
    return "".join(f"[{number}]" for number in sorted(numbers))


def by_reader(folder: Path, world: Handbook) -> Reads:
    """Return a judge from another project, which reads prompts by code of its own.

    It does not write: what is written comes from `by_statements`.

    Args:
        folder: The folder with its modules `prompts` and `facts`.
        world: The handbook that its table of facts is made of.

    Raises:
        SkippedError: The folder has no such modules.
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
        *before, prompt = _user_texts(messages)
        if writing_task(prompt, before):
            return by_statements(messages)
        return prompts.read([dict(message) for message in messages], {})

    return read


def facts_of(world: Handbook) -> Iterator[dict[str, Any]]:
    """Yield the table of that judge: all values of pages, claims and samples, by product."""
    # Dictionaries in place of sets, which have no order.
    table: dict[tuple[str, str], dict[str, None]] = {}
    for page_values in (world.values, world.old):
        for product_attribute, value in page_values.items():
            table.setdefault(product_attribute, {})[value] = None
    for question in world.questions:
        for claim in question.claims:
            values = table.setdefault((question.product, claim.attribute), {})
            values[claim.value] = None
            for sample in question.samples:
                for statement in statements(sample, question.messages[-1]["content"]):
                    if statement.attribute == claim.attribute:
                        values[statement.value] = None
    for (product, attribute), values in table.items():
        yield {
            "subject": [product],
            "relation": [ATTRIBUTES[attribute].relation],
            "values": [[re.escape(value)] for value in values],
            "say": ATTRIBUTES[attribute].wordings[0].replace("{s}", "The {s}", 1),
        }


class HandbookModel:
    """The provider of the bench: the main model and the judge.

    Args:
        questions: The questions that the main model answers.
        reads: Answers everything else.

    Attributes:
        misunderstood: The prompts that `reads` did not understand.
    """

    def __init__(self, questions: Iterable[Question], reads: Reads) -> None:
        self._questions = {_key(question.messages): question for question in questions}
        self._reads = reads
        self.misunderstood: list[str] = []

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
