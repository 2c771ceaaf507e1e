from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.core.normalization import NormalizedText, normalized
from resay.core.quantities import quantities

# Each of two or more forms of one text.
SAME = [
    "A-12-9|A‐12‐9|A‑12‑9|A‒12‒9|A–12–9|A−12−9|Ａ－１２－９",
    "1946-1952|1946–1952|1946‑1952",
    "built in 1889 - and tall|built in 1889 — and tall",
    "built - and tall|built—and tall",
    "Zoë Müller|Zoe\u0308 Mu\u0308ller",
    "CO2 and H2O|CO₂ and H₂O",
    "Paris 1932|Ｐａｒｉｓ　１９３２|𝐏𝐚𝐫𝐢𝐬 𝟏𝟗𝟑𝟐|Pa\u00adris 19\u200b32|\ufeffPa\u2060ris\u00a01932",
    "5 000 km|5\u202f000\u00a0km|5\u2009000\u2007km",
    "O'Brien's \"Dog\"|O’Brien’s “Dog”|Oʼ\u200dBrien‘s «Dog»|O'Brien's „Dog‟",
    "5'10\"|5′10″|5’10”",
    "final office|ﬁnal oﬃce",
    "2 1/2 cups|2½ cups|2 ½ cups|2¹⁄₂ cups|2 1⁄2 cups",
    "3/8|⅜|3⁄8",
    "Chapter IV|Chapter Ⅳ",
    "20 m² at 5 °C ...|20 ㎡ at 5 ℃ …",
    "the 19th|the 19ᵗʰ",
    "iPhone|iPhone®|iPhone™",
    "1932 and 3.5%|١٩٣٢ and ٣٫٥٪|१९३२ and ३.५%",
    "ガス|ｶﾞｽ",
    "你好, 世界: 是? 1,000|你好，世界：是？１，０００",
    "10-20|10～20|１０〜２０",
    "أحمد|أحـمد|أَحْمَد",
    "한국|\u1112\u1161\u11ab\u1100\u116e\u11a8",
]
# Two texts that differ in meaning.
DIFFERENT = [
    ("10²", "102"),
    ("2ⁿ", "2n"),
    ("2½", "21/2"),
    ("20 m²", "20 m2"),
    ("Polish", "polish"),
    ("Köln", "Koln"),
    ("-5", "5"),
    ("①", "1"),
    ("µg", "mg"),
    ("Straße", "Strase"),
]


@pytest.mark.parametrize("forms", SAME)
def test_forms_of_one_text_are_one(forms: str) -> None:
    assert len({normalized(form) for form in forms.split("|")}) == 1


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_texts_of_different_meaning_stay_different(one: str, other: str) -> None:
    assert normalized(one) != normalized(other)


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_stays(text: str) -> None:
    assert normalized(text) == text


COMMON = st.text(
    st.sampled_from(
        list("aé1 -.½²⁄₂‑–—“’\u0301\u00ad\u200b\u200c\u202f，？１ｶﾞﬁ㎞…東یᵗʰ™\u0e33\u1112\u1161")
    )
)


@given(st.text() | COMMON)
def test_offsets_are_of_the_text(text: str) -> None:
    comparable = NormalizedText.of(text)
    length = len(comparable.text)
    assert comparable.written == text
    spans = [comparable.span(i, i + 1) for i in range(length)]
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(a <= c and b <= d for (a, b), (c, d) in pairwise(spans))
    for i, (start, end) in enumerate(spans):
        # A part has the normal form that it has in the whole, but for a space that separates it.
        if end - start == 1 and text[start].isascii():
            assert comparable.text[i] == text[start]
        assert comparable.as_written(i, i + 1) == text[start:end]
    outside = set(range(len(text))).difference(*(range(*span) for span in spans))
    assert not any(text[i].isascii() for i in outside)


@given(st.text() | COMMON)
def test_a_normal_form_has_only_characters_of_its_own(text: str) -> None:
    plain = normalized(text)
    assert not any(unicodedata.category(c) in ("Zl", "Zp") for c in plain)
    assert all(c in " " for c in plain if unicodedata.category(c) == "Zs")
    assert all(c.isascii() for c in plain if unicodedata.category(c) in ("Nd", "Pd"))


def test_accents_without_end_take_no_longer_than_as_many_letters() -> None:
    signs = "\u0301\u0316" * 20_000
    # Sorted as one sequence, they would take minutes.
    assert len(normalized(f"a{signs}")) >= len(signs)


@pytest.mark.parametrize("forms", SAME)
def test_quantities_are_where_they_are_written(forms: str) -> None:
    for form in forms.split("|"):
        comparable = NormalizedText.of(form)
        plain = quantities(comparable.text)
        assert [q.meaning for q in quantities(form)] == [q.meaning for q in plain]
        spans = [comparable.span(q.start, q.end) for q in plain]
        assert [(q.start, q.end) for q in quantities(form)] == spans
