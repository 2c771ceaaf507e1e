from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from resay.retrieval import FolderRetriever, index_folder
from support.folder import ids, write_all

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "query", ["LAMPS", "lámps", "la\u0301mps", "lamps?!", "ｌａｍｐｓ", '"lamps']
)
async def test_case_accents_and_punctuation_do_not_matter(guides: Path, query: str) -> None:
    assert await ids(guides, query) == ["bridge.md#2"]


@pytest.mark.parametrize("query", ["", " \n", "?!", '"', "zebra", "_", "\0", "\ud800"])
async def test_nothing_fits(guides: Path, query: str) -> None:
    assert await ids(guides, query) == []


@pytest.mark.parametrize(
    "query",
    [
        "lamps AND zebra",
        "NOT lamps",
        "zebra:lamps",
        "NEAR(lamps zebra)",
        "-lamps",
        "^lamps",
        "lamps*",
    ],
)
async def test_operators_are_words(guides: Path, query: str) -> None:
    assert "bridge.md#2" in await ids(guides, query)


@pytest.fixture
def indexed(guides: Path) -> Path:
    index_folder(guides)
    return guides


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.text(), st.text('ab"*(){}:^+-,\0 東สNEAR', max_size=20)))
@example("a b NEAR c")
@example("text : {title path} : x OR y AND")
@example("words " * 5000)
@example("東" * 1500)
@example(" ".join(map(str, range(5000))))
def test_any_text_is_a_search(indexed: Path, query: str) -> None:
    retriever = FolderRetriever(indexed, refresh=False)
    results = asyncio.run(retriever.retrieve(query, k=3))
    assert len(results) <= 3


UNSPACED = {
    "zh.txt": "悉尼海港大桥于1932年通车。iPhone手机很好用。",
    "ja.txt": "東京タワーは1958年に完成した。ﾗﾝﾌﾟは百個ある。",
    "th.txt": "สะพานเปิดใช้งานในปี ๑๙๓๒ มีโคมไฟสามสิบเอ็ดดวง",
    "ko.txt": "서울타워는 1975년에 완공되었다.",
    "hi.txt": "हिन्दी भाषा में लिखा हुआ पुल का विवरण।",
    "ar.txt": "افتتح الجسر في عام ١٩٣٢.",
    "km.txt": "ស្ពានបានបើកនៅឆ្នាំ១៩៣២",
}


@pytest.mark.parametrize(
    ("query", "file"),
    [
        ("海港大桥什么时候通车？", "zh.txt"),
        ("大桥", "zh.txt"),
        ("桥", "zh.txt"),
        ("好用", "zh.txt"),
        ("iphone", "zh.txt"),
        ("1932年", "zh.txt"),
        ("タワーの完成", "ja.txt"),
        ("塔は東京", "ja.txt"),
        ("京", "ja.txt"),
        ("ランプ", "ja.txt"),
        ("โคมไฟ", "th.txt"),
        ("สะพานเปิดเมื่อไร", "th.txt"),
        ("서울", "ko.txt"),
        ("타워", "ko.txt"),
        ("भाषा", "hi.txt"),
        ("الجسر", "ar.txt"),
        ("ស្ពាន", "km.txt"),
    ],
)
async def test_languages_without_spaces(tmp_path: Path, query: str, file: str) -> None:
    write_all(tmp_path, UNSPACED)
    assert (await ids(tmp_path, query))[:1] == [f"{file}#1"]


async def test_words_of_languages_with_vowel_marks_stay_whole(tmp_path: Path) -> None:
    write_all(tmp_path, UNSPACED)
    assert await ids(tmp_path, "ह न द") == []


async def test_names_of_files_without_spaces_are_searched_too(tmp_path: Path) -> None:
    write_all(tmp_path, {"返品規定.md": "三十日以内。", "b.md": "九十日。"})
    assert await ids(tmp_path, "返品") == ["返品規定.md#1"]
