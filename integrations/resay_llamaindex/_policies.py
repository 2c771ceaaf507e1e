"""Guards whose policies may use LlamaIndex's retrievers and indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import anyio.to_thread
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.indices.base import BaseIndex
from llama_index.core.schema import MetadataMode, NodeWithScore
from llama_index_instrumentation.dispatcher import active_instrument_tags, instrument_tags

from resay import Document, Guard, Policy, Retriever
from resay.adapters import OnVerdict, Regenerate, marked
from resay.adapters.policies import PolicyLike, guard_of
from resay.plugins import as_retriever as of_function
from resay_llamaindex._callers import TAG

_ASYNC_HOOK = "_aretrieve"
"""The method that an asynchronous retriever overrides."""


def as_retriever(source: object) -> Retriever:
    """Return a retriever for regeneration from one of LlamaIndex's retrievers or indices.

    Spans and events of a search have the instrumentation tag `resay`, with the value `retrieval`;
    guards inside it are disabled. A retriever without an asynchronous method runs in a thread.

    Args:
        source: An index of LlamaIndex, whose retriever is asked for the wanted number of nodes
            (`similarity_top_k`); or a retriever of LlamaIndex, of whose nodes the first ones are
            taken. Anything else is passed to `resay.retrieval.as_retriever`.

    Returns:
        A retriever. Each node becomes a document with its id, its text without metadata, and its
        score.

    Raises:
        ConfigurationError: The source is of another kind.
    """
    if isinstance(source, (BaseRetriever, BaseIndex)):
        return _Search(cast("BaseRetriever | BaseIndex[Any]", source))
    return of_function(source)


class _Search:
    def __init__(self, source: BaseRetriever | BaseIndex[Any]) -> None:
        self._source = source

    def __repr__(self) -> str:
        return f"as_retriever({type(self._source).__name__})"

    async def retrieve(self, query: str, *, k: int) -> Sequence[Document]:
        """Find documents; see `Retriever`."""
        source = self._source
        if isinstance(source, BaseIndex):
            source = source.as_retriever(similarity_top_k=k)
        with marked(), instrument_tags({**active_instrument_tags.get(), TAG: "retrieval"}):
            nodes = await _nodes(source, query)
        documents = [_document(node) for node in nodes]
        return [document for document in documents if document.text.strip()][:k]


async def _nodes(retriever: BaseRetriever, query: str) -> list[NodeWithScore]:
    if getattr(type(retriever), _ASYNC_HOOK) is not getattr(BaseRetriever, _ASYNC_HOOK):
        return await retriever.aretrieve(query)
    # The default asynchronous method would block the event loop.
    return await anyio.to_thread.run_sync(retriever.retrieve, query, abandon_on_cancel=True)


def _document(scored: NodeWithScore) -> Document:
    node = scored.node
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    return Document(node.node_id, text, scored.score, dict(node.metadata))


def guarding(
    policy: PolicyLike,
    retriever: object = None,
    on_verdict: OnVerdict | None = None,
    *,
    own: object = None,
) -> Guard:
    """Like `guard_of`, but accept LlamaIndex's retrievers.

    Args:
        policy: The policy, or a guard.
        retriever: Finds documents for a policy that regenerates; see `as_retriever`.
        on_verdict: Called with each verdict.
        own: The retriever to fall back on.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: As for `guard_of`.
    """
    if retriever is None and own is not None and not isinstance(policy, Guard):
        policy = Policy.of(policy)
        action = policy.action
        if isinstance(action, Regenerate) and action.retriever is None:
            retriever = own
    return guard_of(policy, retriever, on_verdict, convert=as_retriever)
