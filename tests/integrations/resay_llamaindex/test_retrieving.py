"""LlamaIndex's retrievers and indices as ours."""

from __future__ import annotations

import threading
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core import SimpleKeywordTableIndex, SummaryIndex, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent
from llama_index.core.llms import MockLLM
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

import resay
from resay.adapters import inside_guard
from resay.errors import ConfigurationError
from resay.retrieval import as_retriever as of_function
from resay_llamaindex import as_retriever

pytestmark = pytest.mark.anyio

TEXTS = ["The bridge opened in 1932.", "It is in Sydney.", "It is grey.", "Ships pass below it."]


@pytest.fixture
def nodes() -> list[TextNode]:
    return [TextNode(id_=f"n{i}", text=text, metadata={"page": i}) for i, text in enumerate(TEXTS)]


class Plain(BaseRetriever):
    """A retriever that knows only the synchronous way."""

    def __init__(self, nodes: list[TextNode]) -> None:
        super().__init__()
        self.nodes = nodes
        self.threads: list[str] = []
        self.inside: list[bool] = []

    def _found(self) -> list[NodeWithScore]:
        self.threads.append(threading.current_thread().name)
        self.inside.append(inside_guard())
        return [NodeWithScore(node=node, score=0.5) for node in self.nodes]

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._found()


class Async(Plain):
    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._found()


async def test_an_index_is_asked_for_as_many_as_are_wanted(nodes: list[TextNode]) -> None:
    many = [*nodes, *(TextNode(text=f"Part {i}.") for i in range(10))]
    index = VectorStoreIndex(many, embed_model=MockEmbedding(embed_dim=4))
    retriever = as_retriever(index)
    assert isinstance(retriever, resay.Retriever)
    for k in (1, 12):
        found = await retriever.retrieve("When did it open?", k=k)
        theirs = index.as_retriever(similarity_top_k=k).retrieve("When did it open?")
        assert len(found) == k
        assert [(d.id, d.score) for d in found] == [(n.node_id, n.score) for n in theirs]
        assert isinstance(found[0].score, float)


async def test_a_document_is_a_node_without_its_header(nodes: list[TextNode]) -> None:
    (found,) = await as_retriever(Plain(nodes)).retrieve("bridge", k=1)
    assert found == resay.Document("n0", TEXTS[0], 0.5, {"page": 0})


async def test_indices_of_other_kinds_are_asked(nodes: list[TextNode]) -> None:
    keywords = SimpleKeywordTableIndex(nodes, llm=MockLLM())
    assert [d.id for d in await as_retriever(keywords).retrieve("ships", k=3)] == ["n3"]
    found = await as_retriever(SummaryIndex(nodes)).retrieve("bridge", k=3)
    assert [(d.id, d.score) for d in found] == [("n0", None), ("n1", None), ("n2", None)]


@pytest.mark.parametrize("kind", [Plain, Async])
async def test_a_retriever_is_asked_and_cut(kind: type[Plain], nodes: list[TextNode]) -> None:
    retriever = kind([TextNode(text="  "), *nodes])
    found = await as_retriever(retriever).retrieve("bridge", k=2)
    assert [d.id for d in found] == ["n0", "n1"]
    here = threading.current_thread().name
    assert (retriever.threads == [here]) is (kind is Async)
    # Guards inside do nothing, on the event loop or in a thread.
    assert retriever.inside == [True]
    assert not inside_guard()


@pytest.mark.parametrize("kind", [Plain, Async])
async def test_a_search_is_seen_with_a_tag(
    kind: type[Plain], nodes: list[TextNode], seen: list[Any]
) -> None:
    await as_retriever(kind(nodes)).retrieve("bridge", k=1)
    (ended,) = [event for event in seen if isinstance(event, RetrievalEndEvent)]
    assert ended.tags == {"resay": "retrieval"}
    assert len(ended.nodes) == 4


async def test_what_a_retriever_raises_comes_as_it_is() -> None:
    class Broken(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            raise LookupError("no such index")

    with pytest.raises(LookupError, match="no such index"):
        await as_retriever(Broken()).retrieve("bridge", k=1)


async def test_what_is_of_no_framework_is_taken_too() -> None:
    found = await as_retriever(lambda query: TEXTS).retrieve("bridge", k=2)
    assert [d.text for d in found] == TEXTS[:2]
    with pytest.raises(ConfigurationError, match="is of the type 'list'; name a function"):
        as_retriever(TEXTS)


async def test_a_policy_can_name_one(nodes: list[TextNode]) -> None:
    # `package.module:name` of what `as_retriever` gave goes through this; of the retriever itself
    # it is refused with the way out.
    (found,) = await of_function(as_retriever(Plain(nodes))).retrieve("bridge", k=1)
    assert found.id == "n0"
    with pytest.raises(ConfigurationError, match="use `as_retriever` of resay_llamaindex"):
        of_function(Plain(nodes))
