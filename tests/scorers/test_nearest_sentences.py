from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.scorers.common.nearest_sentences import NearestSentences

SAMPLE = [
    "The bridge is in the city.",
    "It was designed by John Bradfield.",
    "The bridge was opened in 1932.",
    "Workers were paid.",
]


def test_names_and_numbers_count_more_than_the() -> None:
    assert NearestSentences(SAMPLE).to("The bridge was finished in 1932.", 1) == [SAMPLE[2]]
    assert NearestSentences(SAMPLE).to("Bradfield was the designer.", 1) == [SAMPLE[1]]


def test_a_sentence_that_holds_more_of_it_is_nearer_than_one_with_its_rarest_word() -> None:
    sample = ["The lamp, the bridge.", "The lamp.", "The rivet, the city.", "The bridge."]
    assert NearestSentences(sample).to("bridge, lamp, city", 1) == sample[:1]
    assert NearestSentences(sample[:1]).to("bridge", 1) == sample[:1]


def test_a_rare_word_weighs_the_square_of_its_logarithm() -> None:
    sample = ["City lamp", "Dome bell", "Lamp", "City lamp"]
    # The second: log(5)² / sqrt(2 log(5)⁴) = 1.14; the first: 2 log(5 / 2)² / sqrt(2 ...) = 1.05.
    assert NearestSentences(sample).to("City bell lamp", 1) == ["Dome bell"]


def test_a_search_ends_where_nobody_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def abandoned() -> None:
        raise TimeoutError

    nearest = NearestSentences(SAMPLE)
    monkeypatch.setattr("resay.scorers.common.nearest_sentences.stop_if_abandoned", abandoned)
    with pytest.raises(TimeoutError):
        nearest.to("The bridge was finished in 1932.", 1)


def test_nearest_sentences_keep_the_order_of_the_text() -> None:
    assert NearestSentences(SAMPLE).to("Bradfield designed the bridge in 1932.", 2) == [
        SAMPLE[1],
        SAMPLE[2],
    ]


def test_where_nothing_is_shared_the_first_are_taken() -> None:
    assert NearestSentences(SAMPLE).to("Nothing alike", 2) == SAMPLE[:2]


@given(st.text(max_size=20), st.lists(st.text(max_size=20), max_size=6), st.integers(1, 8))
def test_at_most_so_many_each_once(sentence: str, others: list[str], count: int) -> None:
    nearest = NearestSentences(others).to(sentence, count)
    assert len(nearest) == min(count, len(others))
    remaining = iter(others)
    assert all(text in remaining for text in nearest)
