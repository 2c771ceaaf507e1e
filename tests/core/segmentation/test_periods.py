"""Periods behind ordinary words are recognised without reading what is around them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from resay.core.segmentation.periods import ends_after_period, is_abbreviation
from resay.core.segmentation.sentence_words import ABBREVIATIONS, BEFORE_NUMBER
from resay.core.segmentation.terminators import TERMINATOR, Terminator

WORDS = st.sampled_from(
    [
        *("town", "Haus", "1932", "193", "19", "I", "x", "iv", "XIV", "A", "U.S", "z", "(town"),
        *("Hauptstr", "größe", "Mühle", "5th", "e-mail", "don't", "*bold", "3", "12:30", "St-Jean"),
        *sorted(ABBREVIATIONS | BEFORE_NUMBER),
        *(word.capitalize() for word in sorted(ABBREVIATIONS)),
    ]
)
ENDS = st.sampled_from([" The", " 3", " the", "", " ", "\n", '" He', " Oktober", " (see", " -"])


@given(st.lists(WORDS, min_size=1, max_size=3), ENDS)
def test_an_abbreviation_is_told_as_by_all_that_is_around_it(words: list[str], end: str) -> None:
    before = " ".join(words)
    text = f"{before}.{end}"
    match = TERMINATOR.match(text, len(before))
    assert match is not None
    period = Terminator.of(text, match, match.end())
    assert is_abbreviation(text, len(before)) == (not ends_after_period(text, period, 0))
