from __future__ import annotations

import re
from collections import Counter
from unicodedata import digit, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.core.tokens import CachedTokenizer, tokenize


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The Band's 3rd album.", ["the", "band", "'s", "3rd", "album", "."]),
        ("J. R. Tolkien (1892–1973)", ["j.", "r.", "tolkien", "(", "1892–1973", ")"]),
        ("1,000 at 3.5%", ["1,000", "at", "3.5", "%"]),
        ("U.S. AT&T Pac-10 well-known", ["u.s.", "at&t", "pac-10", "well", "-", "known"]),
        ("O'Riordan’s", ["o'riordan", "’s"]),
        ("The band's 他", ["the", "band", "'s", "他"]),
        ("1946-1952", ["1946", "-", "1952"]),
        ("他在1932年。Bridge", ["他", "在", "1932", "年", "。", "bridge"]),
        ("दिल्ली भारत की राजधानी है।", ["दिल्ली", "भारत", "की", "राजधानी", "है", "।"]),
        ("சென்னை, 1996 தலைநகரம்.", ["சென்னை", ",", "1996", "தலைநகரம்", "."]),
        ("می‌شود", ["می", "شود"]),
        ("جدًّا\u200f محـمد", ["جدا", "محمد"]),
        ("cafe\u0301 café", ["café", "café"]),
        ("กรุงเทพ ๒๓๒๕ ปี", ["ก", "รุ", "ง", "เท", "พ", "๒๓๒๕", "ปี"]),
        ("ວຽງຈັນ", ["ວຽ", "ງ", "ຈັ", "ນ"]),
        ("ភ្នំពេញ៕", ["ភ្នំ", "ពេ", "ញ", "៕"]),
        ("မြန်မာနိုင်ငံ၏ ၂၀၀၅။", ["မြန်", "မာ", "နိုင်", "ငံ", "၏", "၂၀၀၅", "။"]),
        ("H₂O １９３２ ＡＢ，١٩٥٢ 10²", ["h2o", "1932", "ab", ",", "1952", "10²"]),
        ("", []),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens


UNSEEN = re.compile(r"[\u0640\u064b-\u0652\u0670\u0591-\u05c7\ufeff\u00ad\u200b-\u2069]")
WORDS = ["Band's", "U.S.", "他在1932年", "a", "A-1", "हिन्दी", "é", "กรุงเทพ", "៕ភ្នំ", "နိုင်ငံ၏", "၂၀"]
SCRIPTS = st.lists(st.sampled_from([*WORDS, *"".join(WORDS), " "])).map("".join)


def plain(text: str) -> str:
    """The text with the digits and letters that have another form in place of it."""
    wide = {chr(n) for n in range(0xFF01, 0xFF5F)}
    others = {chr(z + n) for z in (0x660, 0x6F0, 0x966, 0x2080) for n in range(10)}
    return "".join(normalize("NFKC", c).lower() if c in wide else digit_of(c, others) for c in text)


def digit_of(char: str, others: set[str]) -> str:
    return str(digit(char)) if char in others else char


@given(st.text() | SCRIPTS)
def test_nothing_but_space_and_what_nobody_sees_is_lost(text: str) -> None:
    runs = (normalize("NFC", run) for run in text.lower().split())
    left = "".join(plain(UNSEEN.sub("", run)) for run in runs)
    assert UNSEEN.sub("", "".join(tokenize(text))) == left


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
