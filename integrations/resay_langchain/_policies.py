"""The guard that does what a policy says, with LangChain's retrievers and vector stores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun
from langchain_core.documents import Document as TheirDocument
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever
from pydantic import PrivateAttr

from resay._internal.nesting import marked
from resay.adapters.policies import PolicyLike, guard_of
from resay.core.references import Document
from resay.core.verdict import OnVerdict
from resay.guard import Guard
from resay.policy import Block, Policy, Regenerate
from resay.retrieval import Retriever
from resay.retrieval import as_retriever as of_function
from resay.retrieval.base import id_of


def as_retriever(source: object) -> Retriever:
    """Make what LangChain retrieves with find the documents that answers are repaired by.

    Each search is a run of a retriever, below the one it is made in, where callbacks and traces see
    it; guards inside it do nothing.

    Args:
        source: A vector store of LangChain's, which is asked for as many documents as are wanted,
            with scores where it has them; or a retriever of LangChain's, which gives as many as it
            gives, and of those the first are taken. `store.as_retriever()` is asked for as many as
            are wanted too, unless its `search_kwargs` have a `k`. Anything else goes to
            `resay.retrieval.as_retriever`.

    Returns:
        A retriever. The id of a document is LangChain's, or else the `id` in its metadata, or else
        its `source` with a part that is made of its text, or that part alone.

    Raises:
        ConfigurationError: It is nothing of that kind.
    """
    known = isinstance(source, (VectorStore, BaseRetriever))
    return _Search(source) if known else of_function(source)


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
                # With its own tags, by which traces know it.
                tags = source.as_retriever().tags
                search = _Scored(vectorstore=source, search_kwargs={"k": k}, tags=tags)
                found = await search.ainvoke(query, {"run_name": "VectorStoreRetriever"})
                scores = search.scores
            elif isinstance(source, VectorStoreRetriever) and "k" not in source.search_kwargs:
                found = await source.ainvoke(query, k=k)
            else:
                found = await source.ainvoke(query)
        scored = zip(found, scores, strict=False)
        return [_document(item, score) for item, score in scored if item.page_content.strip()][:k]


class _Scored(VectorStoreRetriever):
    """One search in a vector store, which keeps the scores that LangChain's retrievers drop."""

    _scores: list[float | None] = PrivateAttr(default_factory=list[float | None])

    @property
    def scores(self) -> Sequence[float | None]:
        """The scores of what was found, in its order."""
        return self._scores

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[TheirDocument]:
        asked = self.search_kwargs | kwargs
        try:
            found = await self.vectorstore.asimilarity_search_with_score(query, **asked)
        except NotImplementedError:
            found = [(d, None) for d in await self.vectorstore.asimilarity_search(query, **asked)]
        self._scores = [None if score is None else float(score) for _, score in found]
        return [document for document, _ in found]


def _document(found: TheirDocument, score: float | None = None) -> Document:
    metadata: Mapping[str, Any] = found.metadata
    return Document(_id(found, metadata), found.page_content, score, dict(metadata))


def _id(found: TheirDocument, metadata: Mapping[str, Any]) -> str:
    known = found.id or metadata.get("id")
    if known not in (None, ""):
        return str(known)
    # Many parts of a text have one source.
    made, source = id_of(found.page_content), metadata.get("source")
    return f"{source}#{made}" if isinstance(source, str) and source else made


def guarding(
    policy: PolicyLike, retriever: object = None, on_verdict: OnVerdict | None = None
) -> Guard:
    """Return a guard as `guard_of` does; its retriever may be one of LangChain's.

    Args:
        policy: The policy, or a guard.
        retriever: Where documents are found, for a policy that regenerates; see `as_retriever`.
        on_verdict: Who is notified of verdicts.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: As for `guard_of`.
    """
    return guard_of(policy, retriever, on_verdict, convert=as_retriever)


def withholding(policy: Policy) -> Block | None:
    """Return how flagged answers are withheld; None where they are not.

    What is regenerated may be withheld when it is flagged still.
    """
    action = policy.action
    last = action.otherwise if isinstance(action, Regenerate) else action
    return last if isinstance(last, Block) else None
