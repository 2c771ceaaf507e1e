"""Searches run together, and what they find is read once."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Document
from resay.adapters import Regenerate
from resay.engine.regeneration.search import DocumentSearch
from resay.retrieval import as_retriever, fused

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


async def test_documents_of_several_searches_come_first() -> None:
    shelves = Shelves(x=[A, B], y=[C, B])
    found = await DocumentSearch(Regenerate(), as_retriever(shelves)).search(["x", "y"])

    assert [d.id for d in found.documents] == ["b", "a", "c"]
    assert found.error is None


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

    found = await DocumentSearch(Regenerate(), as_retriever(Meeting())).search(["x", "y", "z"])
    assert {d.id for d in found.documents} == {"x", "y", "z"}


async def test_the_same_is_searched_for_once_and_nothing_found_is_forgotten() -> None:
    shelves = Shelves(x=[A], y=[B])
    document_search = DocumentSearch(Regenerate(), as_retriever(shelves))
    await document_search.search(["x"])
    found = await document_search.search(["y", "x"])
    again = await document_search.search(["y"])

    assert shelves.searches == ["x", "y"]
    assert {d.id for d in found.documents} == {"a", "b"}
    assert [d.id for d in again.documents] == ["b", "a"]


async def test_a_search_that_fails_costs_only_itself() -> None:
    shelves = Shelves(x=[A], y=ValueError("with words of the answer"))
    found = await DocumentSearch(Regenerate(), as_retriever(shelves)).search(["x", "y"])

    assert [d.id for d in found.documents] == ["a"]
    assert found.error == "1 of 2 searches failed: ValueError x1"


async def test_only_so_much_is_read_as_is_allowed() -> None:
    many = [Document(str(i), f"{i} " + "x" * 400) for i in range(9)]
    action = Regenerate(k=9, max_documents=9, max_chars=1000)
    found = await DocumentSearch(action, as_retriever(Shelves(x=many))).search(["x"])
    assert [d.id for d in found.documents] == ["0", "1"]

    action = Regenerate(k=2, max_documents=2)
    found = await DocumentSearch(action, as_retriever(Shelves(x=many, y=many[5:]))).search(
        ["x", "y"]
    )
    assert len(found.documents) == 2


async def test_a_document_longer_than_all_that_may_be_read_is_cut() -> None:
    action = Regenerate(max_chars=500)
    found = await DocumentSearch(
        action, as_retriever(Shelves(x=[Document("a", "x" * 900)]))
    ).search(["x"])
    assert [len(d.text) for d in found.documents] == [500]


async def test_duplicate_and_empty_documents_are_left_out() -> None:
    twin = Document("twin", f" {A.text}\n")
    shelves = Shelves(x=[A, twin, Document("d", " \n"), B, A])
    found = await DocumentSearch(Regenerate(k=9, max_documents=9), as_retriever(shelves)).search(
        ["x"]
    )
    assert [d.id for d in found.documents] == ["a", "b"]


@given(st.lists(st.lists(st.sampled_from([A, B, C]), unique_by=lambda d: d.id), max_size=5))
def test_every_document_is_in_the_fused_ranking_once(rankings: list[list[Document]]) -> None:
    ids = [document.id for document in fused(rankings)]
    assert sorted(ids) == sorted({d.id for ranking in rankings for d in ranking})
    if rankings and all(ranking == rankings[0] for ranking in rankings):
        assert ids == [d.id for d in rankings[0]]


async def test_documents_that_name_the_subject_come_first() -> None:
    asked: list[int] = []

    def find(query: str, k: int) -> list[Document]:
        asked.append(k)
        others = [Document(f"o{i}", f"The A4 weighs {i} kg.") for i in range(9)]
        return [*others, Document("titled", "It weighs 3 kg.", metadata={"title": "X100"})][:k]

    action = Regenerate(k=2)
    found = await DocumentSearch(action, as_retriever(find)).search(["X100: It weighs"], ["X100"])

    assert [d.id for d in found.documents] == ["titled", "o0"]
    assert asked == [20]


@pytest.mark.parametrize(
    ("editions", "order"),
    [
        ([{"edition": 2021}, {}, {"edition": 2024}], "cba"),
        ([{"date": "2021-12-31"}, {"date": "2024-01-01"}, {}], "bac"),
        ([{"updated": "31.12.2021"}, {"updated": "01.02.2024"}, {"updated": "01.01.2024"}], "bca"),
        ([{"version": "v2.9"}, {"version": "v2.10"}, {"version": True}], "bac"),
        ([{"edition": 1, "stand": 5}, {"edition": 2, "stand": 4}, {}], "bac"),
    ],
)
async def test_the_newest_edition_comes_first(
    editions: list[dict[str, object]], order: str
) -> None:
    documents = [
        Document(name, f"Text of {name}.", metadata=metadata)
        for name, metadata in zip("abc", editions, strict=True)
    ]
    found = await DocumentSearch(Regenerate(), as_retriever(lambda _: documents)).search(["x"])
    assert "".join(d.id for d in found.documents) == order


async def test_the_edition_is_where_the_policy_says() -> None:
    documents = [
        Document("a", "Old.", metadata={"edition": 2, "stand": 4}),
        Document("b", "New.", metadata={"edition": 1, "stand": 5}),
    ]
    action = Regenerate(edition="stand")
    found = await DocumentSearch(action, as_retriever(lambda _: documents)).search(["x"])
    assert [d.id for d in found.documents] == ["b", "a"]


async def test_documents_about_similar_names_are_left_out() -> None:
    documents = [
        Document("other", "The Garmo X110 weighs 3 kg."),
        Document("bare", "It weighs 4 kg."),
        Document("both", "Unlike the Garmo X110, the Garmo X100 weighs 5 kg."),
    ]
    document_search = DocumentSearch(Regenerate(), as_retriever(lambda _: documents))
    found = await document_search.search(["Garmo X100: It weighs"], ["Garmo X100"])
    assert [d.id for d in found.documents] == ["both", "bare"]


async def test_top_results_of_each_search_are_included() -> None:
    shelves = Shelves(x=[A, B], y=[A, B], z=[C])
    action = Regenerate(k=2, max_documents=2)
    found = await DocumentSearch(action, as_retriever(shelves)).search(["x", "y", "z"])
    assert [d.id for d in found.documents] == ["a", "c"]
