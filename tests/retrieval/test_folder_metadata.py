from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from resay import ConfigurationError, Guard
from resay.retrieval import FolderConfig, FolderRetriever, index_folder, open_retriever
from resay.retrieval.front_matter import front_matter
from support.folder import documents, ids, write_all

pytestmark = pytest.mark.anyio

MATTER = """\
---
title: Warranty
product: X100
edition: 2024
url: https://example.org/x100
tags: [returns, "2 years"]
valid_from: 2024-03-01
final: true
rate: 0.5
owner: {name: Ann}
note: null
---
"""


async def test_front_matter_becomes_metadata(tmp_path: Path) -> None:
    write_all(tmp_path, {"x100.md": f"{MATTER}\n# Terms\n\nIt lasts two years.\n"})
    (document,) = await documents(tmp_path, "lasts")
    assert document.text == "# Terms\n\nIt lasts two years."
    start = len(MATTER) + 1
    assert document.metadata == {
        "title": "Warranty > Terms",
        "path": "x100.md",
        "start": start,
        "end": start + len(document.text),
        "product": "X100",
        "edition": 2024,
        "url": "https://example.org/x100",
        "tags": ["returns", "2 years"],
        "valid_from": "2024-03-01",
        "final": True,
        "rate": 0.5,
    }
    assert json.loads(json.dumps(document.metadata)) == document.metadata


async def test_front_matter_is_not_searched_but_for_its_title(tmp_path: Path) -> None:
    write_all(tmp_path, {"a.md": f"{MATTER}\nIt lasts.", "b.txt": f"{MATTER}\nIt ends."})
    assert set(await ids(tmp_path, "warranty")) == {"a.md#1", "b.txt#1"}
    assert await ids(tmp_path, "product X100 Ann edition") == []
    assert {d.text for d in await documents(tmp_path, "warranty")} == {"It lasts.", "It ends."}


@pytest.mark.parametrize(
    "body",
    [
        "title: [unclosed",
        "title: a\nwhen: 2024-13-45",
        "title: !!python/object/apply:os.getcwd []",
        f"title: a\nlong: {'x ' * 9000}",
        f"title: {'[' * 5000}",
        f"title: {'{a: ' * 5000}",
        "title:\n" + "- " * 5000 + "a",
        f"title: {'9' * 6000}",
    ],
)
async def test_front_matter_that_cannot_be_read_is_text(tmp_path: Path, body: str) -> None:
    text = f"---\n{body}\nzebra: a\n---\n\nIt lasts."
    write_all(tmp_path, {"a.md": text})
    assert index_folder(tmp_path).skipped == ()
    results = await documents(tmp_path, "zebra lasts", k=50)
    assert set(results[0].metadata) == {"title", "path", "start", "end"}
    assert any("zebra: a" in document.text for document in results)


async def test_front_matter_cannot_say_where_a_document_is(tmp_path: Path) -> None:
    write_all(tmp_path, {"a.md": "---\npath: /etc\nstart: 9\nend: 9\n---\nIt lasts."})
    (document,) = await documents(tmp_path, "lasts")
    metadata = {"path": "a.md", "start": 35, "end": 44, "title": "a"}
    assert document.metadata == metadata


async def test_a_file_of_front_matter_only_has_no_document(tmp_path: Path) -> None:
    write_all(tmp_path, {"a.md": MATTER, "b.txt": MATTER})
    assert index_folder(tmp_path).documents == 0


EDITIONS = {
    "x100-2023.md": ("product: X100\nedition: 2023", "It lasts one year."),
    "x100-2024.md": ("product: X100\nedition: 2024", "It lasts two years, says the maker."),
    "x200-2024.md": ("product: X200\nedition: '2024'", "It lasts. It lasts. It lasts long."),
    "all.md": ("product: [X100, X200]\ndraft: true", "It lasts, in all, rather long for a thing."),
}


@pytest.fixture
def editions(tmp_path: Path) -> Path:
    texts = {path: f"---\n{matter}\n---\n{text}" for path, (matter, text) in EDITIONS.items()}
    return write_all(tmp_path / "editions", {**texts, "bare.txt": "It lasts."})


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, {*EDITIONS, "bare.txt"}),
        ({"product": "X100"}, {"x100-2023.md", "x100-2024.md", "all.md"}),
        ({"product": "X100", "edition": [2023, 2024]}, {"x100-2023.md", "x100-2024.md"}),
        ({"edition": 2024}, {"x100-2024.md", "x200-2024.md"}),
        ({"edition": "2024"}, {"x100-2024.md", "x200-2024.md"}),
        ({"edition": [2024.0]}, {"x100-2024.md", "x200-2024.md"}),
        ({"draft": True}, {"all.md"}),
        ({"product": "x100"}, set()),
        ({"product": "X' OR 1=1 --"}, set()),
        ({"colour": "red"}, set()),
    ],
)
async def test_a_filter(editions: Path, wanted: Mapping[str, Any], found: set[str]) -> None:
    config = FolderConfig.model_validate({"path": str(editions), "filter": wanted})
    retrieved = await open_retriever(config).retrieve("it lasts", k=10)
    assert {document.metadata["path"] for document in retrieved} == found


async def test_a_filter_comes_before_the_best_are_taken(editions: Path) -> None:
    best = FolderRetriever(editions)
    assert (await best.retrieve("lasts", k=1))[0].id != "x100-2023.md#1"
    filtered = FolderRetriever(editions, filter={"edition": 2023})
    assert [d.id for d in await filtered.retrieve("lasts", k=1)] == ["x100-2023.md#1"]


async def test_changed_front_matter_is_found(editions: Path) -> None:
    index_folder(editions)
    (editions / "x100-2023.md").write_text("---\nedition: 2025\n---\nIt lasts three years.")
    index_folder(editions)
    (editions / "all.md").unlink()
    index_folder(editions)

    async def found(**conditions: int | bool) -> list[str]:
        retriever = FolderRetriever(editions, refresh=False, filter=conditions)
        return [document.id for document in await retriever.retrieve("lasts", k=9)]

    assert await found(edition=2023) == await found(draft=True) == []
    assert await found(edition=2025) == ["x100-2023.md#1"]


@pytest.mark.parametrize("wanted", [{"edition": []}, {"": 1}, {"edition": None}, {"a": {"b": 1}}])
def test_a_filter_that_says_nothing_is_refused(tmp_path: Path, wanted: Mapping[str, Any]) -> None:
    retriever = {"kind": "folder", "path": str(tmp_path), "filter": wanted}
    with pytest.raises(ConfigurationError, match="filter"):
        Guard(
            {
                "chain": [{"method": "prompt"}],
                "action": {"do": "regenerate", "retriever": retriever},
            }
        )


def test_a_policy_has_a_filter(tmp_path: Path) -> None:
    retriever = {"kind": "folder", "path": str(tmp_path), "filter": {"edition": [2023, "2024"]}}
    config = FolderConfig.model_validate(retriever)
    assert asyncio.run(open_retriever(config).retrieve("lasts", k=1)) == []


KEYS = st.sampled_from(["title", "tags", "x-y", "k_9", "on", "Yes", "n", "null", "A"])
VALUES = st.sampled_from(
    [
        *("even", "two words", "A. B, c/d", "on the way", "no way", "(x)", "a (b)", "a - b", "-"),
        *("yes", "No", "TRUE", "off", "y", "null", "NULL", "~", "", ".inf", "nan", "=", "<<"),
        *("0", "7", "2024", "01", "0x1f", "1_000", "12:30", "1e5", "1 2", "12345678901234567890"),
        *(
            "a: b",
            "a:",
            "a #b",
            "a#b",
            "a:b",
            "# a",
            "'q'",
            "*a",
            "&a b",
            "!x",
            "é",
            "a  b",
            "a\tb",
        ),
        *("2024-03-01", "2024-02-30", "[a]", "{a: 1}", "x" * 300),
    ]
)
LINES = st.tuples(KEYS, st.sampled_from([" ", "  ", "\t", ""]), VALUES).map(
    lambda line: f"{line[0]}:{line[1]}{line[2]}\n"
)


@given(st.lists(LINES, min_size=1, max_size=4).map("".join))
def test_front_matter_is_read_as_yaml_reads_it(body: str) -> None:
    matter = front_matter(f"---\n{body}---\nText.\n")
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        values: object = yaml.load(body, Loader=loader)
    except (yaml.YAMLError, ValueError):
        values = None
    if not isinstance(values, dict):
        assert matter.metadata is None
        return
    expected = {
        str(key): str(value) if isinstance(value, date) else value
        for key, value in cast("dict[object, object]", values).items()
    }
    assert matter.metadata is not None
    for key, value in matter.metadata.items():
        if not isinstance(value, tuple):
            assert (type(value), value) == (type(expected[key]), expected[key])
    plain = {key for key, value in expected.items() if isinstance(value, (str, int))}
    assert plain <= matter.metadata.keys()
