"""Searches for documents on behalf of one answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

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
        self._known: dict[str, Sequence[Document]] = {}
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
                if query not in self._known:
                    names = [name for name in subjects if mentions_name(name, query)]
                    tasks.start_soon(self._search, query, names)
        latest = [self._known.get(query, ()) for query in queries]
        earlier = [found for query, found in self._known.items() if query not in queries]
        documents = self._fitting([*fused(latest), *fused(earlier)], [f[0].id for f in latest if f])
        error = self._error(len(queries), bool(documents))
        return SearchResult(documents, error, len(self._failures))

    async def _search(self, query: str, names: Sequence[str]) -> None:
        wanted = min(self._action.k * _FURTHER, _MAX_FOUND) if names else self._action.k
        try:
            with span("resay.retrieve") as active_span, anyio.fail_after(self._action.timeout_s):
                found = await self._retriever.retrieve(query, k=wanted, tenant=self._tenant)
                active_span.set({"resay.documents": len(found)})
            self._known[query] = tuple(named_first(found, names))[: self._action.k]
        # A failing retriever must not cost the user the answer.
        except Exception as error:
            self._failures.append(type(error).__name__)

    def _fitting(
        self, documents: Sequence[Document], best: Collection[str]
    ) -> tuple[Document, ...]:
        """Drop duplicates, and documents beyond the limits of number and length.

        Args:
            documents: The results, best first.
            best: The ids of the top results of each query, which are kept before others.
        """
        order = {document.id: place for place, document in reversed([*enumerate(documents)])}
        documents = sorted(documents, key=lambda document: document.id not in best)
        texts: set[str] = set()
        kept: dict[str, Document] = {}
        left = self._action.max_chars
        for document in documents:
            text = document.text.strip()
            full = len(kept) == self._action.max_documents or (len(text) > left and kept)
            if full or not text or text in texts or document.id in kept:
                continue
            texts.add(text)
            kept[document.id] = without_instructions(_shortened(document, left))
            left -= len(text)
        in_order = sorted(kept.values(), key=lambda document: order[document.id])
        return newest_first(in_order, self._action.edition)

    def _error(self, asked: int, found: bool) -> str | None:
        if self._failures:
            return f"{len(self._failures)} of {asked} searches failed: {tally(self._failures)}"
        return None if found else "nothing was found"


def _shortened(document: Document, chars: int) -> Document:
    if len(document.text) <= chars:
        return document
    return Document(document.id, document.text[:chars], document.score, document.metadata)


def named_first(documents: Sequence[Document], names: Sequence[str]) -> list[Document]:
    """Put documents first that contain more of the names, otherwise keeping the order.

    Documents about something else with a similar name, and none of these, are dropped.
    """
    counts = [
        sum(mention_score(name, full_text(document)) for name in names) for document in documents
    ]
    about = [
        (-count, place)
        for place, (count, document) in enumerate(zip(counts, documents, strict=True))
        if count or not any(mentions_similar(name, full_text(document)) for name in names)
    ]
    return [documents[place] for _, place in sorted(about)]


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
