from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Guard
from resay.scorers.common.lists import Segments, has_separator, shared_lists
from resay.scorers.common.words import words_of

GUARD = Guard({"chain": [{"method": "facts"}], "cache": {"store": "none"}})


def decision(response: str, samples: list[str], question: str = "") -> str:
    return GUARD.check(response, samples=samples, question=question or None).decision


LISTS = [
    ("The flag is {}, {} and {}.", ("red", "white", "blue")),
    ("The primary colours are {}, {} and {}.", ("red", "green", "blue")),
    ("It was rebuilt in {}, {} and {}.", ("1932", "1941", "1967")),
    ("The office is open on {}, {} and {}.", ("Monday", "Wednesday", "Friday")),
    ("The clinic opens {}, {}, and {}.", ("Mondays", "Tuesdays", "Thursdays")),
    ("The states are {}, {}, {}.", ("New South Wales", "South Australia", "Western Australia")),
    ("The states are {}, {} and {}.", ("New South Wales", "South Australia", "Western Australia")),
    ("Australia's states are {}, {} and {}.", ("Victoria", "South Australia", "Western Australia")),
    ("Members are {}, {} & {}.", ("North Korea", "South Korea", "Japan")),
    ("It comes in {}, {} and {} mg.", ("5", "10", "20")),
    ("The rooms cost {}, {} and {} per night.", ("$20", "$30", "$40")),
    ("On {}, {} and {} the bridge closes.", ("3 May", "5 June", "7 July")),
    ("{}, {}, and {} are its colours.", ("Red", "Green", "Yellow")),
    ("The lines serve the {}, the {} and the {}.", ("north", "south", "east")),
    ("The ball is **{}**, **{}** and **{}**.", ("red", "white", "blue")),
    ("Die Flagge ist {}, {} und {}.", ("schwarz", "rot", "weiß")),
    ("Le drapeau est {}, {} et {}.", ("bleu", "blanc", "rouge")),
    ("Reformaron el puente en {}, {} y {}.", ("1932", "1941", "1967")),
    ("La bandiera è {}, {} e {}.", ("verde", "bianca", "rossa")),
]


@pytest.mark.parametrize(("form", "items"), LISTS)
def test_a_list_in_another_order_says_the_same(form: str, items: tuple[str, ...]) -> None:
    first, *others = permutations(items)
    assert decision(form.format(*first), [form.format(*order) for order in others]) == "consistent"


@pytest.mark.parametrize(
    "samples",
    [
        [
            "Rebuilding took place in 1967, 1941, and 1932.",
            "In 1967, 1941 and 1932 it was rebuilt.",
            "They rebuilt it in 1941, 1932 and 1967.",
        ],
        ["It was rebuilt in 1967, 1932, 1950 and 1941.", "It was rebuilt in 1967, 1941, 1932."] * 2,
    ],
)
def test_a_list_may_be_worded_differently_or_have_more_items(samples: list[str]) -> None:
    assert decision("It was rebuilt in 1932, 1941 and 1967.", samples) == "consistent"


EXCHANGED = [
    ("Ada was born in {} and Tom in {}.", ("1932", "1941")),
    ("Ada was born in {}, Tom in {} and Eve in {}.", ("1932", "1941", "1950")),
    ("The car is {} and the house is {}.", ("red", "blue")),
    ("The top is {}, the middle {} and the bottom {}.", ("red", "white", "blue")),
    ("Lunch is on {}, dinner on {} and tea on {}.", ("Monday", "Friday", "Sunday")),
    ("The shop is closed on {}, and the cafe on {}.", ("Monday", "Friday")),
    ("Ann, Bea and Cid are {}, {} and {}.", ("5", "6", "7")),
    ("Bread, milk and eggs cost {}, {} and {} euros.", ("2", "3", "4")),
    ("Paris has {} airports, Rome {} and Oslo {}.", ("2", "3", "1")),
    ("He has {} brothers and {} sisters.", ("two", "three")),
    ("Almonds have {} g protein and {} g fat.", ("21", "50")),
    ("From the top, the flag is {}, {} and {}.", ("red", "white", "blue")),
    ("It was {}, then {} and finally {}.", ("red", "white", "blue")),
]


@pytest.mark.parametrize(("form", "values"), EXCHANGED)
def test_exchanged_values_say_otherwise(form: str, values: tuple[str, ...]) -> None:
    exchanged = form.format(*values[1:], values[0])
    assert decision(form.format(*values), [exchanged] * 3) == "flagged"


@pytest.mark.parametrize(
    ("question", "form", "items"),
    [
        ("In what order are the flag's colours?", "Red, white and blue.", "White, blue and red."),
        (
            "Rank the years by size of the flood.",
            "It rose in 1932, 1941 and 1967.",
            "It rose in 1967, 1932 and 1941.",
        ),
        (
            "What are the steps?",
            "The steps are mixing, baking and cooling.",
            "The steps are cooling, mixing and baking.",
        ),
    ],
)
def test_an_order_that_was_asked_for_counts(question: str, form: str, items: str) -> None:
    assert decision(form, [items] * 3, question) == "flagged"


def test_other_items_say_otherwise() -> None:
    samples = ["The office is open on Tuesday, Thursday and Saturday."] * 3
    assert decision("The office is open on Monday, Wednesday and Friday.", samples) == "flagged"


def _segments(text: str) -> Segments:
    return Segments.of(text, text.lower().split())


@given(st.text(alphabet="ab ,;&", max_size=60), st.text(alphabet="ab ,;&", max_size=60))
def test_shared_lists_lie_within_their_sentences(one: str, other: str) -> None:
    mine, theirs = shared_lists(_segments(one), _segments(other))
    for spans, text in ((mine, one), (theirs, other)):
        assert all(0 <= start < end <= len(text) for start, end in spans)


PIECES = st.sampled_from(
    [
        *("red", "white", "blue", ",", ";", ", ", " and ", " or ", " as well as ", " und ", " et "),
        *(" e ", " & ", "&", "**,", "größer", "1,000", "\n", " ainsi que ", "sand", " ou"),
    ]
)


@given(st.lists(PIECES, max_size=9).map("".join))
def test_the_words_of_a_sentence_tell_whether_a_join_divides_it(text: str) -> None:
    words = words_of(text).findall(text.lower())
    segments = Segments.of(text, words)
    assert segments == Segments.of(text, [*words, "and"])
    assert has_separator(text, words) == (len(segments.words) > 1)
