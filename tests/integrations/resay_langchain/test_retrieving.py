"""LangChain's retrievers and vector stores as ours."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import Any

import pytest
from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    BaseCallbackHandler,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from pydantic import Field

import resay
from resay.adapters import inside_guard, run_sync
from resay.errors import ConfigurationError
from resay.retrieval import as_retriever as of_function
from resay_langchain import as_retriever

pytestmark = pytest.mark.anyio

TEXTS = ["The bridge opened in 1932.", "It is in Sydney.", "It is grey.", "Ships pass below it."]


def documents() -> list[Document]:
    return [Document(text, id=f"d{i}", metadata={"page": i}) for i, text in enumerate(TEXTS)]


@pytest.fixture
def store() -> VectorStore:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    store.add_documents(documents())
    return store


class ByWords(BaseRetriever):
    """Ranks by the words a text shares with the query, as BM25 does by theirs."""

    found: list[Document]
    threads: list[str] = Field(default_factory=list)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        self.threads.append(threading.current_thread().name)
        words = set(query.lower().split())
        return sorted(self.found, key=lambda d: -len(words & set(d.page_content.lower().split())))


class ByWordsAsync(ByWords):
    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        await asyncio.sleep(0)
        return self._get_relevant_documents(query, run_manager=run_manager.get_sync())


class Unscored(VectorStore):
    """A store as old ones are: synchronous, and without scores."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.threads: list[str] = []

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        self.threads.append(threading.current_thread().name)
        return [Document(text) for text in self.texts[:k]]

    @classmethod
    def from_texts(cls, texts: list[str], *args: Any, **kwargs: Any) -> Unscored:
        return cls(texts)


async def test_a_vector_store_is_searched_with_its_scores(store: VectorStore) -> None:
    retriever = as_retriever(store)
    assert isinstance(retriever, resay.Retriever)
    for k in (1, 3, 9):
        found = await retriever.retrieve("When did it open?", k=k)
        theirs = store.similarity_search_with_score("When did it open?", k=k)
        assert len(found) == min(k, 4)
        assert found == [
            resay.Document(str(d.id), d.page_content, pytest.approx(score), d.metadata)
            for d, score in theirs
        ]


async def test_a_store_without_scores_and_without_an_async_side_is_searched_too() -> None:
    store = Unscored(TEXTS)
    found = await as_retriever(store).retrieve("bridge", k=2)
    assert [(d.text, d.score) for d in found] == [(TEXTS[0], None), (TEXTS[1], None)]
    assert threading.current_thread().name not in store.threads


@pytest.mark.parametrize("kind", [ByWords, ByWordsAsync])
async def test_a_retriever_is_asked_and_cut(kind: type[ByWords]) -> None:
    retriever = kind(found=documents())
    found = await as_retriever(retriever).retrieve("ships below", k=2)
    assert [d.id for d in found] == ["d3", "d0"]
    assert found[0] == resay.Document("d3", TEXTS[3], None, {"page": 3})
    if kind is ByWords:
        assert threading.current_thread().name not in retriever.threads


async def test_the_retriever_of_a_store_is_asked_for_as_many_as_are_wanted(
    store: VectorStore,
) -> None:
    many = [Document(f"Part {i}.", id=str(i)) for i in range(20)]
    store.add_documents(many)
    assert len(await as_retriever(store.as_retriever()).retrieve("part", k=12)) == 12
    mmr = store.as_retriever(search_type="mmr")
    assert len(await as_retriever(mmr).retrieve("part", k=12)) == 12
    own = store.as_retriever(search_kwargs={"k": 3})
    assert len(await as_retriever(own).retrieve("part", k=12)) == 3


async def test_documents_without_ids_get_stable_ones() -> None:
    found = [
        Document("One.", metadata={"id": 7}),
        Document("Two.", metadata={"source": "guide.md"}),
        Document("Three.", metadata={"source": "guide.md"}),
        Document("Four."),
        Document("  "),
        Document("Five."),
    ]
    retriever = as_retriever(ByWords(found=found))
    first = [d.id for d in await retriever.retrieve("part", k=9)]
    assert len(set(first)) == 5
    assert first[0] == "7"
    assert all(made.startswith("guide.md#") for made in first[1:3])
    assert first == [d.id for d in await retriever.retrieve("part", k=9)]


class Runs(BaseCallbackHandler):
    def __init__(self) -> None:
        self.parents: dict[Any, Any] = {}
        self.names: dict[Any, str] = {}
        self.tags: dict[Any, Any] = {}
        self.metadata: dict[Any, Any] = {}
        self.found: list[str] = []

    def _started(self, run_id: Any, parent_run_id: Any, name: str, **told: Any) -> None:
        self.parents[run_id], self.names[run_id] = parent_run_id, name
        self.tags[run_id], self.metadata[run_id] = told["tags"], told["metadata"]

    def on_chain_start(self, serialized: Any, inputs: Any, **told: Any) -> None:
        self._started(**told)

    def on_retriever_start(self, serialized: Any, query: str, **told: Any) -> None:
        self._started(**told)

    def on_retriever_end(self, documents: Any, **told: Any) -> None:
        self.found += [document.page_content for document in documents]


NO_CONTEXT = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="LangChain hands runs to no async function before 3.11"
)


@pytest.mark.parametrize("side", ["sync", pytest.param("async", marks=NO_CONTEXT)])
@pytest.mark.parametrize("kind", ["store", "retriever"])
async def test_a_search_is_a_run_among_those_around_it(
    store: VectorStore, side: str, kind: str
) -> None:
    retriever = as_retriever(store if kind == "store" else ByWords(found=documents()))

    def step(query: str) -> str:
        return run_sync(retriever.retrieve, query, k=1)[0].text

    async def astep(query: str) -> str:
        return (await retriever.retrieve(query, k=1))[0].text

    runs = Runs()
    chain = RunnableLambda(step, astep)
    if side == "sync":
        text = chain.invoke("bridge", {"callbacks": [runs]})
    else:
        text = await chain.ainvoke("bridge", {"callbacks": [runs]})
    (around, search) = runs.parents
    assert runs.parents[search] == around
    assert runs.found[0] == text
    assert len(runs.found) == (1 if kind == "store" else 4)
    if kind == "store":
        assert runs.names[search] == "VectorStoreRetriever"
        assert "InMemoryVectorStore" in runs.tags[search]
        assert runs.metadata[search]["ls_vector_store_provider"] == "InMemoryVectorStore"
    else:
        assert runs.names[search] == "ByWords"


async def test_guards_inside_do_nothing() -> None:
    seen: list[bool] = []

    class Asking(BaseRetriever):
        def _get_relevant_documents(self, query: str, **kwargs: Any) -> list[Document]:
            seen.append(inside_guard())
            return []

    assert await as_retriever(Asking()).retrieve("bridge", k=1) == []
    assert seen == [True]
    assert not inside_guard()


async def test_searches_at_the_same_time_keep_their_scores(store: VectorStore) -> None:
    retriever = as_retriever(store)
    queries = [f"question {i}" for i in range(8)]
    together = await asyncio.gather(*(retriever.retrieve(q, k=2) for q in queries))
    assert together == [await retriever.retrieve(q, k=2) for q in queries]


async def test_what_a_retriever_raises_comes_as_it_is() -> None:
    class Broken(BaseRetriever):
        def _get_relevant_documents(self, query: str, **kwargs: Any) -> list[Document]:
            raise LookupError("no such index")

    with pytest.raises(LookupError, match="no such index"):
        await as_retriever(Broken()).retrieve("bridge", k=1)


async def test_what_is_of_no_framework_is_taken_too() -> None:
    found = await as_retriever(lambda query: TEXTS).retrieve("bridge", k=2)
    assert [d.text for d in found] == TEXTS[:2]
    with pytest.raises(ConfigurationError, match="is of the type 'list'; name a function"):
        as_retriever(TEXTS)


async def test_a_policy_can_name_one(store: VectorStore) -> None:
    # `package.module:name` of what `as_retriever` gave goes through this.
    (found,) = await of_function(as_retriever(store)).retrieve("bridge", k=1)
    assert found.text in TEXTS
