from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.core.normalization import normalized
from resay.core.tokens import CachedTokenizer, tokenize


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The Band's 3rd album.", ["the", "band", "'s", "3rd", "album", "."]),
        ("J. R. Tolkien (1892–1973)", ["j.", "r.", "tolkien", "(", "1892-1973", ")"]),
        ("1,000 at 3.5%", ["1,000", "at", "3.5", "%"]),
        ("U.S. AT&T Pac-10 well-known", ["u.s.", "at&t", "pac-10", "well", "-", "known"]),
        ("O'Riordan’s", ["o'riordan", "'s"]),
        ("The band's 他", ["the", "band", "'s", "他"]),
        ("1946-1952", ["1946-1952"]),
        ("他在1932年。Bridge", ["他", "在", "1932", "年", "。", "bridge"]),
        ("दिल्ली भारत की राजधानी है।", ["दिल्ली", "भारत", "की", "राजधानी", "है", "।"]),
        ("சென்னை, 1996 தலைநகரம்.", ["சென்னை", ",", "1996", "தலைநகரம்", "."]),
        ("می‌شود", ["می", "شود"]),
        ("جدًّا\u200f محـمد", ["جدا", "محمد"]),
        ("cafe\u0301 café", ["café", "café"]),
        ("กรุงเทพ ๒๓๒๕ ปี", ["ก", "รุ", "ง", "เท", "พ", "2325", "ปี"]),
        ("ວຽງຈັນ", ["ວຽ", "ງ", "ຈັ", "ນ"]),
        ("ភ្នំពេញ៕", ["ភ្នំ", "ពេ", "ញ", "៕"]),
        ("မြန်မာနိုင်ငံ၏ ၂၀၀၅။", ["မြန်", "မာ", "နိုင်", "ငံ", "၏", "2005", "။"]),
        ("H₂O １９３２ ＡＢ，١٩٥٢ 10²", ["h2o", "1932", "ab", ",", "1952", "10²"]),
        ("", []),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens


WORDS = ["Band's", "U.S.", "他在1932年", "a", "A-1", "हिन्दी", "é", "กรุงเทพ", "៕ភ្នំ", "နိုင်ငံ၏", "၂၀"]
SCRIPTS = st.lists(st.sampled_from([*WORDS, *"".join(WORDS), " "])).map("".join)


@given(st.text() | SCRIPTS)
def test_nothing_but_space_is_lost(text: str) -> None:
    runs = (normalized(run).lower() for run in text.lower().split())
    assert "".join(tokenize(text)) == "".join("".join(runs).split())


def test_as_published_characters_stay_as_written() -> None:
    published = CachedTokenizer(as_published=True)
    assert published.tokenize("“It’s” 1946–1952, 1946-1952 cafe\u0301") == [
        *("“", "it", "’s", "”", "1946–1952", ",", "1946", "-", "1952", "café")
    ]


@given(st.text() | SCRIPTS)
def test_counting_is_splitting(text: str) -> None:
    runs = CachedTokenizer()
    # What was split before, for the other one too, is split as it was.
    for _ in range(2):
        assert runs.count([text]) == Counter(tokenize(text))
        assert runs.tokens(text) == set(tokenize(text))
    assert CachedTokenizer().tokens(text) == set(tokenize(text))


def test_texts_are_counted_together() -> None:
    assert CachedTokenizer().count(["It's a dam.", "A dam."]) == Counter(
        tokenize("It's a dam. A dam.")
    )
