"""Guards whose policies may use LangChain's retrievers and vector stores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun
from langchain_core.documents import Document as TheirDocument
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever
from pydantic import PrivateAttr

from resay import Document, Guard, Policy, Retriever
from resay.adapters import Block, OnVerdict, Regenerate, id_of, marked
from resay.adapters.policies import PolicyLike, guard_of
from resay.plugins import as_retriever as of_function


def as_retriever(source: object) -> Retriever:
    """Return a retriever for regeneration from LangChain's retrievers or vector stores.

    Each search is a retriever run below the current one, visible to callbacks and traces; guards
    inside it are disabled.

    Args:
        source: A vector store of LangChain, which is asked for the wanted number of documents, with
            scores if it has them; or a retriever of LangChain, of whose documents the first ones
            are taken. `store.as_retriever()` is also asked for the wanted number, unless its
            `search_kwargs` have a `k`. Anything else is passed to `resay.retrieval.as_retriever`.

    Returns:
        A retriever. A document's id is LangChain's, or else the `id` in its metadata, or else its
        `source` with a hash of its text, or that hash alone.

    Raises:
        ConfigurationError: The source is of another kind.
    """
    if isinstance(source, (VectorStore, BaseRetriever)):
        return _Search(source)
    return of_function(source)


class _Search:
    def __init__(self, source: VectorStore | BaseRetriever) -> None:
        self._source = source

    def __repr__(self) -> str:
        return f"as_retriever({type(self._source).__name__})"

    async def retrieve(self, query: str, *, k: int) -> Sequence[Document]:
        """Find documents; see `Retriever`."""
        source = self._source
        scores: Iterable[float | None] = repeat(None)
        with marked():
            if isinstance(source, VectorStore):
                # Keep the store's own tags, by which traces recognise it.
                tags = source.as_retriever().tags
                search = _Scored(vectorstore=source, search_kwargs={"k": k}, tags=tags)
                documents = await search.ainvoke(query, {"run_name": "VectorStoreRetriever"})
                scores = search.scores
            elif isinstance(source, VectorStoreRetriever) and "k" not in source.search_kwargs:
                documents = await source.ainvoke(query, k=k)
            else:
                documents = await source.ainvoke(query)
        scored = zip(documents, scores, strict=False)
        return [_document(item, score) for item, score in scored if item.page_content.strip()][:k]


class _Scored(VectorStoreRetriever):
    """A search in a vector store that keeps the scores, which LangChain's retrievers drop."""

    _scores: list[float | None] = PrivateAttr(default_factory=list[float | None])

    @property
    def scores(self) -> Sequence[float | None]:
        """The scores of the documents found, in the same order."""
        return self._scores

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[TheirDocument]:
        store, search_kwargs = self.vectorstore, self.search_kwargs | kwargs
        try:
            scored = await store.asimilarity_search_with_score(query, **search_kwargs)
        except NotImplementedError:
            documents = await store.asimilarity_search(query, **search_kwargs)
            self._scores = [None] * len(documents)
            return documents
        self._scores = [float(score) for _, score in scored]
        return [document for document, _ in scored]


def _document(document: TheirDocument, score: float | None = None) -> Document:
    metadata: Mapping[str, Any] = document.metadata
    return Document(_id(document, metadata), document.page_content, score, dict(metadata))


def _id(document: TheirDocument, metadata: Mapping[str, Any]) -> str:
    own_id = document.id or metadata.get("id")
    if own_id not in (None, ""):
        return str(own_id)
    # Several parts of a text share one source.
    text_id, source = id_of(document.page_content), metadata.get("source")
    return f"{source}#{text_id}" if isinstance(source, str) and source else text_id


def guarding(
    policy: PolicyLike, retriever: object = None, on_verdict: OnVerdict | None = None
) -> Guard:
    """Return a guard as `guard_of` does, but accept LangChain's retrievers.

    Args:
        policy: The policy, or a guard.
        retriever: Finds documents for a policy that regenerates; see `as_retriever`.
        on_verdict: Called with each verdict.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: As for `guard_of`.
    """
    return guard_of(policy, retriever, on_verdict, convert=as_retriever)


def withholding(policy: Policy) -> Block | None:
    """Return how flagged answers are withheld, or None if they are not.

    A regenerated answer that is still flagged may be withheld too.
    """
    action = policy.action
    last = action.otherwise if isinstance(action, Regenerate) else action
    return last if isinstance(last, Block) else None
