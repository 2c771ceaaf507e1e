"""Sentences that say the opposite are found without comparing each with all others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from resay.core.passage import Sentence
from resay.plugins import Sample
from resay.scorers.common.contrast import Wording, parts_of
from resay.scorers.common.lists import Segments, shared_lists
from resay.scorers.common.opposition import Opposition
from resay.scorers.common.sample_index import Indexing, SampleIndex
from resay.scorers.common.statement import Statement
from resay.scorers.common.words import words_of

WORDS = st.sampled_from(
    [
        *("Ada", "Tom", "Linz", "Ulm", "beat", "beaten", "by", "owner", "of", "'s", "is", "was"),
        *(
            "older",
            "younger",
            "than",
            "not",
            "no",
            "legal",
            "illegal",
            "usual",
            "unusual",
            "before",
        ),
        *("after", "from", "to", "3-1", "1-3", "and", ",", ";", "red", "white", "blue", "mill"),
        *("größer", "naïve", "snake_case", "usual", "unusual"),
    ]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=9).map(" ".join)


def opposition_of(text: str, samples: list[str]) -> tuple[Opposition, Statement, SampleIndex]:
    index = Indexing("", "")([Sample(i, sample) for i, sample in enumerate(samples)])
    sentence = Sentence(text, 0, len(text))
    statement = Statement(
        sentence, text, index.question, index.language, with_links=True, parts_of_months=False
    )
    return Opposition(statement, index, with_answers=True), statement, index


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=4))
def test_no_sentence_that_says_the_opposite_is_missed(text: str, samples: list[str]) -> None:
    opposition, statement, index = opposition_of(text, samples)
    expected: dict[int, bool] = {}
    for position in opposition.comparable:
        other = index.sentences[position].text
        own_lists, other_lists = shared_lists(
            Segments.of(statement.text, statement.words),
            Segments.of(other, other.lower().split()),
        )
        own = Wording(statement.text, index.language, own_lists)
        is_opposite = own.contradicts(
            Wording(other, index.language, other_lists),
            index.question.wording if index.sentences[position].alone else None,
        )
        if is_opposite is not None:
            expected[position] = is_opposite
    opposing = [position for position, is_opposite in expected.items() if is_opposite]
    assert list(opposition.opposing) == opposing
    for sample, positions in enumerate(index.positions):
        if not any(expected.get(position) for position in positions):
            has_same = any(expected.get(position) is False for position in positions)
            assert opposition.agrees(sample) == has_same


@given(
    st.lists(
        st.sampled_from(
            [
                *("Ada", "won", ",", ";", ".", "!", "\n", "-", "–", "No.", "3", "etc.", "_and_"),
                *(
                    "and",
                    "but",
                    "und",
                    "während",
                    "et",
                    "tandis que",
                    "y",
                    "e",
                    "mas",
                    "en",
                    "maar",
                ),
                *("And", "mill", "größer", "水車"),
            ]
        ),
        max_size=9,
    ).map(" ".join)
)
def test_known_words_divide_a_sentence_like_the_sentence_alone(text: str) -> None:
    words = [word.lower() for word in words_of(text).findall(text)]
    assert parts_of(text, words=words) == parts_of(text)


def test_the_words_of_a_sample_are_compared_like_those_of_a_sentence() -> None:
    text = "Tamsin is the owner of Korvel."
    opposition, _, _ = opposition_of(text, ["Korvel is Tamsin's owner."])
    assert list(opposition.opposing) == [0]
