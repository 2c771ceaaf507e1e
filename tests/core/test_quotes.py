"""Quotations are found as people and models write them, unless they say something else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.core.quotes import find_quote

TEXT = (
    "The Kessel bridge was opened in 1932. Its deck is 412 metres long, and it has six lanes for"
    " cars.\n\nThe members may not sell their shares before the end of the year. Harold Finch drew"
    " the arch; “Ada Novak” painted it."
)


@pytest.mark.parametrize(
    "quote",
    [
        "The Kessel bridge was opened in 1932.",
        "the kessel BRIDGE was  opened\nin 1932",
        "The Kessel bridge … opened in 1932.",
        "The Kessel bridge ... its deck is 412 metres long",
        "The Kessel bridge [...] six lanes for cars",
        "...opened in 1932...",
        "The Kessel bridge" + " " * 50_000 + "was opened in 1932",
        "+" * 50_000 + ". The Kessel bridge was opened in 1932",
        "The Kessel bridge opened in 1932.",
        "The Kessel bridge was inaugurated in 1932",
        "its deck is 412 metres long and has six lanes for cars",
        '"Ada Novak" painted it',
        "The members may not sell any shares before the end of the year",
        "Its deck is 412\u00a0metres long",
    ],
)
def test_a_quotation_is_found(quote: str) -> None:
    span = find_quote(quote, TEXT)
    assert span is not None
    assert 0 <= span[0] < span[1] <= len(TEXT)


@pytest.mark.parametrize(
    "quote",
    [
        "",
        "…",
        "The Kessel bridge was opened in 1931.",
        "The Kessel bridge was opened in 1932 and 1933",
        "Its deck is 380 metres long, and it has six lanes",
        "and it has eight lanes for cars",
        "The members may sell their shares before the end of the year",
        "Walter Finch drew the arch",
        "opened in 1932 … The Kessel bridge",
        "The … Kessel … bridge … 1933",
        "The members may never ever and under no circumstances sell",
        "It is painted red",
    ],
)
def test_texts_with_other_facts_are_no_quotations(quote: str) -> None:
    assert find_quote(quote, TEXT) is None


@pytest.mark.parametrize(
    ("quote", "text", "words"),
    [
        ("£46", "In 1946 it was free; now it costs £46 a year.", "£46"),
        ("82 %", "That is 82 % of the replies.", "82 %"),
        ("6,40 €", "Zone 1+2: 6,40€ am Tag", "6,40€"),
        ("-5 °C", "It fell to -5 °C.", "-5 °C"),
        ("(£46)", "It costs £46.", "£46"),
        ("£ 46", "It costs 46 pounds.", "46"),
        ("$46", "It costs US$46.", "US$46"),
        ("46", "It costs US$46.", "US$46"),
        ("46", "It costs £46, not 46.", "£46"),
        ("46 a day", "Custa R$ 46 a day.", "R$ 46 a day"),
        ("46.50", "A ticket is C$46.50 now", "C$46.50"),
        ("costs US$46", "It costs US$46.", "costs US$46"),
        ("46", "Line B takes 46 minutes.", "46"),
        ("rat", "The rating of a rat.", "rat"),
        ("마감일", "마감일은 금요일입니다", "마감일"),
        ("2024", "2024年に開業", "2024"),
        ("में", "वह दिल्ली में रहता है।", "में"),
        ("रहता है", "वह दिल्ली में रहता है।", "रहता है"),
    ],
)
def test_the_words_and_symbols_of_a_quotation_are_found_whole(
    quote: str, text: str, words: str
) -> None:
    span = find_quote(quote, text)
    assert span is not None
    assert text[slice(*span)] == words


@pytest.mark.parametrize("text", ["In 1946.", "1,946 seats", "It weighs 3.46 kg.", "46.5 metres"])
def test_a_number_is_not_quoted_from_another(text: str) -> None:
    assert find_quote("46", text) is None


@given(st.text(max_size=60), st.text(max_size=200))
def test_a_span_is_always_in_the_text(quote: str, text: str) -> None:
    span = find_quote(quote, text)
    assert span is None or 0 <= span[0] < span[1] <= len(text)


@given(st.text(max_size=80), st.text("abc 1.", min_size=1, max_size=40), st.text(max_size=80))
def test_a_part_of_a_text_is_found_in_it(before: str, part: str, after: str) -> None:
    found = find_quote(part, f"{before} {part} {after}")
    assert (found is not None) == any(map(str.isalnum, part))


def test_long_texts_are_searched_in_little_time() -> None:
    text = "The bridge was opened by the mayor of the town. " * 5_000
    assert find_quote("The bridge was shut by the mayor of the village in the rain", text) is None
