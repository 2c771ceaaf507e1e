"""Searches for documents on behalf of one answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import anyio

from resay._internal.telemetry import span
from resay.core.documents import Document
from resay.core.editions import edition_of, newness
from resay.core.failures import tally
from resay.core.mentions import mention_score, mentions_name, mentions_similar
from resay.engine.regeneration.instructions import without_instructions
from resay.policy import Regenerate
from resay.retrieval import AdaptedRetriever, fused

# Fetch more: pages about products with similar names may rank before the right one.
_FURTHER, _MAX_FOUND = 10, 50


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search.

    Attributes:
        documents: The documents, best first, without instructions to a model.
        error: One line about failures, without content, or None.
        failures: The number of failed queries.
    """

    documents: tuple[Document, ...]
    error: str | None = None
    failures: int = 0


class DocumentSearch:
    """Searches on behalf of one answer, sending each query only once.

    Args:
        action: The limits of the search.
        retriever: The retriever.
        tenant: The tenant on whose behalf to search, if the application serves several.
    """

    def __init__(
        self, action: Regenerate, retriever: AdaptedRetriever, tenant: str | None = None
    ) -> None:
        self._action = action
        self._retriever = retriever
        self._tenant = tenant
        self._results: dict[str, Sequence[Document]] = {}
        self._failures: list[str] = []

    async def search(self, queries: Sequence[str], subjects: Sequence[str] = ()) -> SearchResult:
        """Run all queries concurrently.

        Args:
            queries: The distinct queries.
            subjects: The names of the subjects. Documents with more of those in a query come first
                in its results.

        Returns:
            The results of these queries and of all earlier ones.
        """
        self._failures.clear()
        async with anyio.create_task_group() as tasks:
            for query in queries:
                if query not in self._results:
                    names = [name for name in subjects if mentions_name(name, query)]
                    tasks.start_soon(self._search, query, names)
        latest = [self._results.get(query, ()) for query in queries]
        earlier = [result for query, result in self._results.items() if query not in queries]
        top_ids = [result[0].id for result in latest if result]
        documents = self._fitting([*fused(latest), *fused(earlier)], top_ids)
        error = None if documents else "nothing was found"
        if self._failures:
            failures = tally(self._failures)
            error = f"{len(self._failures)} of {len(queries)} searches failed: {failures}"
        return SearchResult(documents, error, len(self._failures))

    async def _search(self, query: str, names: Sequence[str]) -> None:
        k = min(self._action.k * _FURTHER, _MAX_FOUND) if names else self._action.k
        try:
            with span("resay.retrieve") as active_span, anyio.fail_after(self._action.timeout_s):
                documents = await self._retriever.retrieve(query, k=k, tenant=self._tenant)
                active_span.set({"resay.documents": len(documents)})
            self._results[query] = tuple(named_first(documents, names))[: self._action.k]
        # A failing retriever must not cost the user the answer.
        except Exception as error:
            self._failures.append(type(error).__name__)

    def _fitting(
        self, documents: Sequence[Document], top_ids: Collection[str]
    ) -> tuple[Document, ...]:
        """Drop duplicates, and documents beyond the limits of number and length.

        Args:
            documents: The results, best first.
            top_ids: The ids of the top results of the queries, which are kept before others.
        """
        texts: set[str] = set()
        fitting: dict[str, Document] = {}
        chars_left = self._action.max_chars
        for document in sorted(documents, key=lambda document: document.id not in top_ids):
            text = document.text.strip()
            is_too_long = len(text) > chars_left and bool(fitting)
            if is_too_long or len(fitting) == self._action.max_documents:
                continue
            if not text or text in texts or document.id in fitting:
                continue
            texts.add(text)
            shortened = replace(document, text=document.text[:chars_left])
            fitting[document.id] = without_instructions(shortened)
            chars_left -= len(text)
        ids = dict.fromkeys(document.id for document in documents)
        in_order = [fitting[id_] for id_ in ids if id_ in fitting]
        return newest_first(in_order, self._action.edition)


def named_first(documents: Sequence[Document], names: Sequence[str]) -> list[Document]:
    """Put documents first that contain more of the names, otherwise keeping the order.

    Documents about something else with a similar name, and none of these, are dropped.
    """
    counts = [
        sum(mention_score(name, full_text(document)) for name in names) for document in documents
    ]
    remaining: list[tuple[float, int]] = []
    for position, (count, document) in enumerate(zip(counts, documents, strict=True)):
        text = full_text(document)
        if count or not any(mentions_similar(name, text) for name in names):
            remaining.append((-count, position))
    return [documents[position] for _, position in sorted(remaining)]


def full_text(document: Document) -> str:
    """Return a document's text with the words of its metadata, such as its title."""
    further = (value for value in document.metadata.values() if isinstance(value, str))
    return "\n".join((document.text, *further))


def newest_first(documents: Sequence[Document], key: str | None) -> tuple[Document, ...]:
    """Sort documents that have an edition, newest first, keeping the others in place.

    Args:
        documents: Documents, best first.
        key: The metadata key of the edition; None for the usual keys.
    """
    editions = {d.id: e for d in documents if (e := edition_of(d.metadata, key))}
    ordered = sorted(
        (d for d in documents if d.id in editions),
        key=lambda d: newness(editions[d.id]),
        reverse=True,
    )
    following = iter(ordered)
    return tuple(next(following) if d.id in editions else d for d in documents)
