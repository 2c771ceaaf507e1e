"""A model that makes up one sentence, and documents that contradict it."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import anyio.lowlevel

from resay import Document, Guard, ProviderError, Request, Usage
from resay.plugins import Chunk, Completion, Completions

__all__ = [
    "CROSSES",
    "DESIGNED",
    "DOCUMENTS",
    "DRAFT",
    "MADE_UP",
    "QUESTION",
    "TRACKS",
    "Model",
    "Shelf",
    "guard_of",
    "policy_of",
]

QUESTION = "Tell me about the Kessel Bridge."
CROSSES = "The Kessel Bridge crosses the Oder."
MADE_UP = "It was designed by Marta Vogel in 1931."
TRACKS = "It carries a road and two tracks."
DRAFT = f"{CROSSES} {MADE_UP}\n\n{TRACKS}\n"
DESIGNED = "It was designed by Hans Lindner in 1928."

DOCUMENTS = (
    Document("bridges.md#1", f"The Kessel Bridge. {DESIGNED} It opened in 1930.", 9.5),
    Document("rivers.md#4", "The Oder rises in the Czech Republic.", 2.0, {"title": "Rivers"}),
)

Answers = Callable[[str], str | None]


class Model:
    """Writes a draft, samples that differ in the made-up sentence, and the repairs it is asked for.

    As a judge it supports what the context says word for word.

    Args:
        draft: Its first answer.
        repairs: Returns the answer to a request for one sentence, by the prompt; None is a failure.
        rewritten: Returns the answer to a request for a whole answer, in the same way.
        standalone: Returns the answer to a request to write a question so that it stands alone.
        made_up: The sentence of the draft that the samples differ in.
        judges: Whether it answers questions about documents.
    """

    def __init__(
        self,
        draft: str = DRAFT,
        *,
        repairs: Answers = lambda prompt: f"{DESIGNED} [1]",
        rewritten: Answers = lambda prompt: f"{CROSSES} {DESIGNED} [1]",
        standalone: Answers = lambda prompt: None,
        made_up: str = MADE_UP,
        judges: bool = True,
    ) -> None:
        self.draft = draft
        self._repairs = repairs
        self._rewritten = rewritten
        self._standalone = standalone
        self._made_up = made_up
        self._judges = judges
        self._numbers: Iterator[int] = count(1)
        self.asked: list[Request] = []

    @property
    def prompts(self) -> list[str]:
        """The requests to write from documents."""
        written = ("in doubt" in q.question or "Answer by these" in q.question for q in self.asked)
        return [q.question for q, writes in zip(self.asked, written, strict=True) if writes]

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        await anyio.lowlevel.checkpoint()
        self.asked.append(request)
        answer = self._answer(request.question)
        if answer is None:
            raise ProviderError("out of order")
        return Completions((Completion(answer),), Usage(1, 10, 5, 0.001))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        self.asked.append(request)

        async def words() -> AsyncGenerator[Chunk]:
            for word in re.findall(r"\S+\s*|\s+", self.draft):
                await anyio.lowlevel.checkpoint()
                yield Chunk(word)

        yield words()

    def _answer(self, question: str) -> str | None:
        if question.startswith("Context:"):
            return self._judged(question)
        if "A sentence of an answer is in doubt." in question:
            return self._repairs(question)
        if "Answer by these documents:" in question:
            return self._rewritten(question)
        if "</question-" in question and "</answer-" not in question:
            return self._standalone(question)
        number = next(self._numbers)
        sample = self.draft.replace(self._made_up, f"{number} built it.")
        return self.draft if number == 1 else f"{sample} Take {number}."

    def _judged(self, question: str) -> str | None:
        context, _, rest = question.partition("Sentence: ")
        if not self._judges and "built it" not in context and CROSSES not in context:
            return None
        return "Yes" if rest.partition("\n")[0].strip() in context else "No"


class Shelf:
    """A retriever that returns the same documents for every search.

    Args:
        documents: The documents, or an exception to raise in their place.
    """

    def __init__(self, documents: Sequence[Document] | Exception = DOCUMENTS) -> None:
        self._documents = documents
        self.searches: list[tuple[str, int]] = []

    async def retrieve(self, query: str, *, k: int) -> Sequence[Document]:
        await anyio.lowlevel.checkpoint()
        self.searches.append((query, k))
        if isinstance(self._documents, Exception):
            raise self._documents
        return self._documents[:k]


def policy_of(action: dict[str, Any] | None = None, **further: Any) -> dict[str, Any]:
    """Return a policy that regenerates."""
    return {
        "chain": [{"method": "prompt", "form": "published"}],
        "sampling": {"max": 3, "confidence": None},
        "action": {"do": "regenerate", **(action or {})},
        "cache": {"store": "none"},
        "limits": {"retries": 0},
        **further,
    }


def guard_of(
    model: Model,
    shelf: Any = None,
    action: dict[str, Any] | None = None,
    **further: Any,
) -> Guard:
    """Return a guard that asks a model and searches a shelf."""
    return Guard(policy_of(action, **further), provider=model, retriever=shelf or Shelf())
