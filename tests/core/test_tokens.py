from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.core.tokens import Runs, tokenize


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
        ("", []),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens


@given(st.text())
def test_nothing_but_space_is_lost(text: str) -> None:
    assert "".join(tokenize(text)) == "".join(c for c in text.lower() if not c.isspace())


@given(
    st.text()
    | st.lists(st.sampled_from(["Band's", "U.S.", "他在1932年", "a", "A-1"])).map(" ".join)
)
def test_counting_is_splitting(text: str) -> None:
    runs = Runs()
    # What was split before, for the other one too, is split as it was.
    for _ in range(2):
        assert runs.count([text]) == Counter(tokenize(text))
        assert runs.tokens(text) == set(tokenize(text))
    assert Runs().tokens(text) == set(tokenize(text))


def test_texts_are_counted_together() -> None:
    assert Runs().count(["It's a dam.", "A dam."]) == Counter(tokenize("It's a dam. A dam."))
