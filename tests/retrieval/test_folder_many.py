"""Folders with so many documents that not all with a word of the search are ranked."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from resay import Document
from resay.retrieval import FolderRetriever, folder_search, index_folder

COUNT = 2600


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sections with words that more or fewer of them have."""
    folder = tmp_path_factory.mktemp("many")
    for half in ("old", "new"):
        sections = [
            f"## Part\n\nThe tower{' on a hill' * (i % 2)} has the number n{i} and"
            f"{' a harbour' * (i % 3 == 0)}{' lamps' * (1 + i % 5) * (i % 4 == 0)}"
            f"{' ferries' * (i % 97 == 0)}{' zebras' * (i % 1000 == 0)}."
            for i in range(half == "new", COUNT, 2)
        ]
        text = "\n\n".join(sections)
        (folder / f"{half}.md").write_text(f"---\nage: {half}\n---\n{text}\n")
    assert index_folder(folder).documents == COUNT
    return folder


def found(folder: Path, query: str, k: int = 6, **wanted: str) -> list[Document]:
    retriever = FolderRetriever(folder, refresh=False, filter=wanted)
    return list(asyncio.run(retriever.retrieve(query, k=k)))


@pytest.mark.parametrize(
    "query",
    [
        "Where is the harbour with zebras and lamps?",
        "a ferry at the harbour on the hill",
        "the harbour, zebra n2001 n2002 n2003",
        "lamps harbour hill",
    ],
)
@pytest.mark.parametrize("wanted", [{}, {"age": "new"}])
def test_the_ranking_is_that_of_all(
    many: Path, monkeypatch: pytest.MonkeyPatch, query: str, wanted: dict[str, str]
) -> None:
    some = found(many, query, **wanted)
    monkeypatch.setattr(folder_search, "_MANY_DOCUMENTS", 10 * COUNT)
    everything = found(many, query, **wanted)
    assert len(some) == 6
    assert [d.score for d in some] == [pytest.approx(d.score, rel=1e-3) for d in everything]
    assert [d.id for d in some[:3]] == [d.id for d in everything[:3]]


def test_where_the_rare_words_are_too_rare_others_fill_up(many: Path) -> None:
    ids = [document.id for document in found(many, "zebras in a harbour")]
    assert len(set(ids)) == 6
    # Three have zebras; none of the new ones has.
    assert all("zebras" in document.text for document in found(many, "zebras in a harbour", k=3))
    new = found(many, "zebras in a harbour", age="new")
    assert len(new) == 6
    assert all("harbour" in document.text for document in new)


def test_words_that_most_documents_have_find_nothing_beside_others(many: Path) -> None:
    assert len(found(many, "the tower zebras", k=50)) == 3
    assert len(found(many, "the tower", k=5)) == 5
