"""Searches for what is in doubt, and puts together what is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from resay._internal.telemetry import span
from resay.core.verdict import Document, tally
from resay.engine.regeneration.fencing import disarmed
from resay.policy import Regenerate
from resay.retrieval import AdaptedRetriever

__all__ = ["Found", "Gathering", "fused"]

_RANK_OFFSET = 60


@dataclass(frozen=True, slots=True)
class Found:
    """What a search gave.

    Attributes:
        documents: The documents, best first, without instructions to a model.
        note: What went wrong, in one line without content, or None.
    """

    documents: tuple[Document, ...]
    note: str | None = None


class Gathering:
    """Searches on behalf of one answer. The same is searched for once.

    Args:
        action: How much is searched for, and for how long.
        retriever: Who finds it.
        tenant: On whose behalf, where the application serves several.
    """

    def __init__(
        self, action: Regenerate, retriever: AdaptedRetriever, tenant: str | None = None
    ) -> None:
        self._action = action
        self._retriever = retriever
        self._tenant = tenant
        self._known: dict[str, Sequence[Document]] = {}
        self._failures: list[str] = []

    async def search(self, queries: Sequence[str]) -> Found:
        """Search for all at the same time.

        Args:
            queries: What to search for, none twice.

        Returns:
            What was found, for these queries and for those before them.
        """
        self._failures.clear()
        async with anyio.create_task_group() as tasks:
            for query in queries:
                if query not in self._known:
                    tasks.start_soon(self._search, query)
        latest = [self._known.get(query, ()) for query in queries]
        earlier = [found for query, found in self._known.items() if query not in queries]
        documents = self._fitting([*fused(latest), *fused(earlier)])
        return Found(documents, self._note(len(queries), bool(documents)))

    async def _search(self, query: str) -> None:
        try:
            with span("resay.retrieve") as around, anyio.fail_after(self._action.timeout_s):
                found = await self._retriever.retrieve(query, k=self._action.k, tenant=self._tenant)
                around.set({"resay.documents": len(found)})
            self._known[query] = tuple(found)[: self._action.k]
        # Whoever wrote the retriever, it must not cost the user the answer.
        except Exception as error:
            self._failures.append(type(error).__name__)

    def _fitting(self, documents: Sequence[Document]) -> tuple[Document, ...]:
        """Leave out what is there twice, or too much to read."""
        texts: set[str] = set()
        kept: dict[str, Document] = {}
        left = self._action.max_chars
        for document in documents:
            text = document.text.strip()
            full = len(kept) == self._action.max_documents or (len(text) > left and kept)
            if full or not text or text in texts or document.id in kept:
                continue
            texts.add(text)
            kept[document.id] = disarmed(_cut(document, left))
            left -= len(text)
        return tuple(kept.values())

    def _note(self, asked: int, found: bool) -> str | None:
        if self._failures:
            return f"{len(self._failures)} of {asked} searches failed: {tally(self._failures)}"
        return None if found else "nothing was found"


def _cut(document: Document, chars: int) -> Document:
    if len(document.text) <= chars:
        return document
    return Document(document.id, document.text[:chars], document.score, document.metadata)


def fused(rankings: Sequence[Sequence[Document]]) -> list[Document]:
    """Put several rankings together, by the sum of 1 / (60 + rank) over them.

    Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank
    Learning Methods", SIGIR 2009.

    Args:
        rankings: Documents, best first, of each search.

    Returns:
        Each document once, best first.
    """
    weights: dict[str, float] = {}
    documents: dict[str, Document] = {}
    for ranking in rankings:
        for rank, document in enumerate(ranking, 1):
            documents.setdefault(document.id, document)
            weights[document.id] = weights.get(document.id, 0.0) + 1 / (_RANK_OFFSET + rank)
    return [documents[key] for key in sorted(weights, key=lambda key: -weights[key])]
