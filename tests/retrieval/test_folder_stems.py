from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from resay import ConfigurationError, MissingDependencyError
from resay.retrieval import FolderConfig, FolderRetriever, index_folder, open_retriever
from resay.retrieval import folder_languages as languages_module
from resay.retrieval.folder_languages import FolderLanguage
from support.folder import INDEX, find, ids, write_all

pytestmark = pytest.mark.anyio

ENGLISH = {
    "exact.txt": "The bridge was opened there.",
    "other.txt": "The bridges were opened there.",
    "none.txt": "The tower was closed there.",
}


@pytest.fixture
def without_snowball(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "snowballstemmer", None)
    monkeypatch.setattr(languages_module, "find_spec", lambda _: None)
    languages_module.has_stems.cache_clear()
    yield
    languages_module.has_stems.cache_clear()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("bridge", ["exact.txt#1", "other.txt#1"]),
        ("Bridges", ["other.txt#1", "exact.txt#1"]),
        ("opening bridges", ["other.txt#1", "exact.txt#1"]),
        ("towers", ["none.txt#1"]),
    ],
)
async def test_inflected_words_are_found_and_exact_ones_come_first(
    tmp_path: Path, query: str, found: list[str]
) -> None:
    write_all(tmp_path, ENGLISH)
    assert await ids(tmp_path, query) == found


async def test_an_exact_word_comes_first_among_many(tmp_path: Path) -> None:
    texts = {f"{i}.txt": "The bridges were opened there." for i in range(40)}
    write_all(tmp_path, {**texts, "zz.txt": "The bridge was opened there."})
    assert await ids(tmp_path, "bridge", k=1) == ["zz.txt#1"]
    texts = {f"{i}.txt": "The bridge was opened there." for i in range(40)}
    write_all(tmp_path, {**texts, "zz.txt": "The bridges were opened there."})
    assert await ids(tmp_path, "bridges", k=1) == ["zz.txt#1"]


async def test_headings_and_names_of_files_are_inflected_too(tmp_path: Path) -> None:
    write_all(tmp_path, {"refunds.md": "# Bridges\n\nThat is the text of it."})
    assert await ids(tmp_path, "bridge") == await ids(tmp_path, "refund") == ["refunds.md#1"]


async def test_a_stem_is_no_word(tmp_path: Path) -> None:
    write_all(tmp_path, {"a.txt": "The cans were opened there."})
    # A stop word, which has no stem itself.
    assert await ids(tmp_path, "can") == []
    assert await ids(tmp_path, "cans") == ["a.txt#1"]


async def test_words_as_they_stand(tmp_path: Path) -> None:
    write_all(tmp_path, ENGLISH)
    retriever = FolderRetriever(tmp_path, language="none")
    assert [d.id for d in await retriever.retrieve("bridge", k=5)] == ["exact.txt#1"]


async def test_an_index_for_another_language_is_made_anew(tmp_path: Path) -> None:
    write_all(tmp_path, ENGLISH)
    assert len(index_folder(tmp_path, language="none").added) == 3
    assert len(index_folder(tmp_path).added) == 3
    before = (tmp_path / INDEX).read_bytes()
    assert index_folder(tmp_path).added == ()
    assert (tmp_path / INDEX).read_bytes() == before
    # Who only searches takes the index as it is.
    as_it_is = FolderRetriever(tmp_path, refresh=False, language="none")
    assert len(await as_it_is.retrieve("bridge", k=5)) == 2


async def test_texts_without_stop_words_can_be_said_to_be_in_a_language(tmp_path: Path) -> None:
    write_all(tmp_path, {"a.txt": "Bridges: 31 lamps."})
    assert await ids(tmp_path, "bridge") == []
    retriever = FolderRetriever(tmp_path, language="en")
    assert [d.id for d in await retriever.retrieve("bridge", k=5)] == ["a.txt#1"]


OTHERS: dict[FolderLanguage, tuple[str, str]] = {
    "de": ("Die Brücken wurden von der Stadt gebaut und sind offen.", "Brücke"),
    "fr": ("Les ponts sont ouverts depuis que la ville les a construits.", "ouverte"),
    "es": ("Los puentes fueron abiertos en el año de la paz.", "puente"),
    "it": ("I ponti della città sono stati costruiti con la pietra.", "ponte"),
    "nl": ("De bruggen zijn door het bestuur van de stad geopend.", "brug"),
    "pt": ("As pontes foram abertas pelo governo, e não são novas.", "ponte"),
}


@pytest.mark.parametrize("language", OTHERS)
async def test_other_languages(tmp_path: Path, language: FolderLanguage) -> None:
    pytest.importorskip("snowballstemmer")
    text, query = OTHERS[language]
    # Beside others, whose stems are looked for as well.
    write_all(tmp_path, {"a.txt": text, "b.txt": ENGLISH["none.txt"], "c.txt": "Rien 31."})
    assert await ids(tmp_path, query) == ["a.txt#1"]
    alone = FolderRetriever(tmp_path, index=tmp_path / "alone", language=language)
    assert [d.id for d in await alone.retrieve(query, k=5)] == ["a.txt#1"]
    assert await ids(tmp_path, "tower") == await ids(tmp_path, "towers") == ["b.txt#1"]


async def test_composed_and_decomposed_accents(tmp_path: Path) -> None:
    pytest.importorskip("snowballstemmer")
    write_all(tmp_path, {"a.txt": "Die Bru\u0308cken wurden von der Stadt gebaut."})
    assert await ids(tmp_path, "Brücke") == ["a.txt#1"]


@pytest.mark.usefixtures("without_snowball")
async def test_without_the_package_other_languages_stand_as_they_are(tmp_path: Path) -> None:
    write_all(tmp_path, {"a.txt": OTHERS["de"][0], **ENGLISH})
    assert await ids(tmp_path, "Brücke") == []
    assert await ids(tmp_path, "Brücken") == ["a.txt#1"]
    assert await ids(tmp_path, "towers") == ["none.txt#1"]
    assert index_folder(tmp_path).added == ()
    for make in (
        lambda: FolderRetriever(tmp_path, language="de"),
        lambda: index_folder(tmp_path, language="de"),
        lambda: open_retriever(FolderConfig(path=str(tmp_path), language="de")),
    ):
        with pytest.raises(MissingDependencyError, match=r"resay\[stemming\]"):
            make()


def test_what_was_installed_since_is_used(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("snowballstemmer")
    write_all(tmp_path, {"a.txt": OTHERS["de"][0]})
    with monkeypatch.context() as patch:
        patch.setattr(languages_module, "find_spec", lambda _: None)
        languages_module.has_stems.cache_clear()
        index_folder(tmp_path)
    languages_module.has_stems.cache_clear()
    assert find(tmp_path, "Brücke") == []
    assert index_folder(tmp_path).added == ("a.txt",)
    assert [d.id for d in find(tmp_path, "Brücke")] == ["a.txt#1"]
    # And an index with stems can be read where they cannot be made.
    request.getfixturevalue("without_snowball")
    assert [d.id for d in find(tmp_path, "Brücken")] == ["a.txt#1"]
    assert index_folder(tmp_path).added == ()


def test_an_unknown_language_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="language"):
        FolderConfig.model_validate({"path": str(tmp_path), "language": "xx"})


def test_an_index_of_the_version_before_is_made_anew(tmp_path: Path) -> None:
    write_all(tmp_path, ENGLISH)
    connection = sqlite3.connect(tmp_path / INDEX)
    for statement in (
        "CREATE TABLE about (folder TEXT NOT NULL)",
        "CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE)",
        "CREATE TABLE chunks (id INTEGER PRIMARY KEY, file INTEGER NOT NULL)",
        "CREATE VIRTUAL TABLE words USING fts5 (path, title, text, pieces, stems)",
        "PRAGMA application_id = 0x52657361",
        "PRAGMA user_version = 2",
    ):
        connection.execute(statement)
    connection.close()
    with pytest.raises(ConfigurationError, match="run `resay index"):
        find(tmp_path, "bridge")
    assert index_folder(tmp_path).documents == 3
    assert len(find(tmp_path, "bridge")) == 2
