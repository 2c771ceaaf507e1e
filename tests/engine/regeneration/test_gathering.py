"""Searches run together, and what they find is read once."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Document
from resay.engine.regeneration.search import Gathering, fused
from resay.policy import Regenerate
from resay.retrieval import as_retriever

pytestmark = pytest.mark.anyio

A, B, C = (Document(name, f"Text of {name}.") for name in "abc")


class Shelves:
    """A retriever with a shelf for each search."""

    def __init__(self, **shelves: Sequence[Document] | Exception) -> None:
        self._shelves = shelves
        self.searches: list[str] = []

    async def retrieve(self, query: str, *, k: int) -> Sequence[Document]:
        self.searches.append(query)
        found = self._shelves[query]
        if isinstance(found, Exception):
            raise found
        return found


async def test_what_several_searches_find_comes_first() -> None:
    shelves = Shelves(x=[A, B], y=[C, B])
    found = await Gathering(Regenerate(), as_retriever(shelves)).search(["x", "y"])

    assert [d.id for d in found.documents] == ["b", "a", "c"]
    assert found.note is None


async def test_searches_run_at_the_same_time() -> None:
    meeting = anyio.Event()
    waiting: list[str] = []

    class Meeting:
        async def retrieve(self, query: str, *, k: int) -> Sequence[Document]:
            waiting.append(query)
            if len(waiting) == 3:
                meeting.set()
            await meeting.wait()
            return [Document(query, query)]

    found = await Gathering(Regenerate(), as_retriever(Meeting())).search(["x", "y", "z"])
    assert {d.id for d in found.documents} == {"x", "y", "z"}


async def test_the_same_is_searched_for_once_and_nothing_found_is_forgotten() -> None:
    shelves = Shelves(x=[A], y=[B])
    gathering = Gathering(Regenerate(), as_retriever(shelves))
    await gathering.search(["x"])
    found = await gathering.search(["y", "x"])
    again = await gathering.search(["y"])

    assert shelves.searches == ["x", "y"]
    assert {d.id for d in found.documents} == {"a", "b"}
    assert [d.id for d in again.documents] == ["b", "a"]


async def test_a_search_that_fails_costs_only_itself() -> None:
    shelves = Shelves(x=[A], y=ValueError("with words of the answer"))
    found = await Gathering(Regenerate(), as_retriever(shelves)).search(["x", "y"])

    assert [d.id for d in found.documents] == ["a"]
    assert found.note == "1 of 2 searches failed: ValueError x1"


async def test_only_so_much_is_read_as_is_allowed() -> None:
    many = [Document(str(i), f"{i} " + "x" * 400) for i in range(9)]
    action = Regenerate(k=9, max_documents=9, max_chars=1000)
    found = await Gathering(action, as_retriever(Shelves(x=many))).search(["x"])
    assert [d.id for d in found.documents] == ["0", "1"]

    action = Regenerate(k=2, max_documents=2)
    found = await Gathering(action, as_retriever(Shelves(x=many, y=many[5:]))).search(["x", "y"])
    assert len(found.documents) == 2


async def test_a_document_longer_than_all_that_may_be_read_is_cut() -> None:
    action = Regenerate(max_chars=500)
    found = await Gathering(action, as_retriever(Shelves(x=[Document("a", "x" * 900)]))).search(
        ["x"]
    )
    assert [len(d.text) for d in found.documents] == [500]


async def test_what_is_there_twice_or_empty_is_left_out() -> None:
    twin = Document("twin", f" {A.text}\n")
    shelves = Shelves(x=[A, twin, Document("d", " \n"), B, A])
    found = await Gathering(Regenerate(k=9, max_documents=9), as_retriever(shelves)).search(["x"])
    assert [d.id for d in found.documents] == ["a", "b"]


@given(st.lists(st.lists(st.sampled_from([A, B, C]), unique_by=lambda d: d.id), max_size=5))
def test_every_document_is_in_the_fused_ranking_once(rankings: list[list[Document]]) -> None:
    ids = [document.id for document in fused(rankings)]
    assert sorted(ids) == sorted({d.id for ranking in rankings for d in ranking})
    if rankings and all(ranking == rankings[0] for ranking in rankings):
        assert ids == [d.id for d in rankings[0]]
