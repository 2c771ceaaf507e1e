from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.scorers.reverse_validation.aliases import stated_aliases


@pytest.mark.parametrize(
    ("text", "aliases"),
    [
        ("Acer negundo, also known as the box elder, is a maple.", ("box elder",)),
        ("Vitamin C (commonly called ascorbic acid) is a nutrient.", ("ascorbic acid",)),
        (
            "Istanbul, formerly known as Constantinople, lies on two continents.",
            ("Constantinople",),
        ),
        ('It is often referred to as "the Iron Lady".', ("Iron Lady",)),
        ("The bridge is popularly nicknamed the Coathanger.", ("Coathanger",)),
        (
            "Cyprian, also known as Cyprian of Antioch, was also called Cyprian the Martyr.",
            ("Cyprian of Antioch", "Cyprian the Martyr"),
        ),
        ("He is also known for his paintings.", ()),
        ("She is widely known as one of the best.", ()),
        ("It is known as a resort.", ()),
        ("It is also known to be shy.", ()),
        ("", ()),
    ],
)
def test_aliases_are_what_the_response_calls_so(text: str, aliases: tuple[str, ...]) -> None:
    assert stated_aliases(text) == aliases


def test_only_the_opening_defines() -> None:
    late = "It has a history. " * 40 + "The square is also known as Red Square."
    assert stated_aliases(late) == ()


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    assert all(alias and alias in text for alias in stated_aliases(f"X, also known as {text}"))
