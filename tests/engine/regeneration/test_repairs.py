"""Sentences are replaced and removed; everything else stays byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Document, Passage
from resay.engine.regeneration.citations import parse_citations
from resay.engine.regeneration.replacements import RepairedText, Replacement, parse_replacement

DOCUMENTS = [Document("a", "One."), Document("b", "Two.")]
BITS = [
    "It opened in 1932.",
    "Why?",
    "Stahl trägt sie.",
    "橋は長い。",
    "**Bold** words here.",
    "| a | b |\n|---|---|\n",
    "```\nx\n```\n",
    "# Head\n\n",
    "\n\n",
    "\n",
    " ",
    "- ",
    "1. ",
    "> ",
]
PROSE = st.lists(st.sampled_from(BITS), max_size=14).map("".join)


@given(text=PROSE, data=st.data())
def test_only_the_chosen_sentences_change(text: str, data: st.DataObject) -> None:
    passage = Passage.of(text)
    places = range(len(passage.sentences))
    chosen = data.draw(st.sets(st.sampled_from(places)) if places else st.just(set[int]()))
    repairs = {i: Replacement(f"New {i}.") for i in chosen}

    repaired = RepairedText.of(passage, repairs)

    position = at = 0
    for i, sentence in enumerate(passage.sentences):
        start, end = repaired.spans[i]
        assert repaired.text[at:start] == text[position : sentence.start]
        assert repaired.text[start:end] == (f"New {i}." if i in chosen else sentence.text)
        position, at = sentence.end, end
    assert repaired.text[at:] == text[position:]


@given(text=PROSE, data=st.data())
def test_removing_takes_white_space_and_list_marks_at_the_most(
    text: str, data: st.DataObject
) -> None:
    passage = Passage.of(text)
    places = range(len(passage.sentences))
    chosen = data.draw(st.sets(st.sampled_from(places)) if places else st.just(set[int]()))

    repaired = RepairedText.of(passage, {i: Replacement("") for i in chosen})

    kept = [s.text for i, s in enumerate(passage.sentences) if i not in chosen]
    position = 0
    for words in kept:
        position = repaired.text.index(words, position) + len(words)
    gone = "".join(s.text for i, s in enumerate(passage.sentences) if i in chosen)
    lost = len("".join(text.split())) - len("".join(repaired.text.split()))
    # The row of a table has two bars, and stands in as many quotations as it likes.
    marks = 3 * len(chosen) + text.count(">")
    assert len("".join(gone.split())) <= lost <= len("".join(gone.split())) + marks


@given(text=PROSE, data=st.data())
def test_nothing_before_the_floor_changes(text: str, data: st.DataObject) -> None:
    passage = Passage.of(text)
    floor = data.draw(st.integers(0, len(text)))
    free = [i for i, s in enumerate(passage.sentences) if s.start >= floor]
    repaired = RepairedText.of(passage, {i: Replacement("") for i in free}, floor=floor)

    assert repaired.text.startswith(text[:floor])


@pytest.mark.parametrize(
    ("text", "removed", "left"),
    [
        ("One is here. Two is here. Three is here.", 1, "One is here. Three is here."),
        ("One is here. Two is here.", 1, "One is here."),
        ("One is here. Two is here.", 0, "Two is here."),
        ("One is here. Two is here.\n\nThree is here.", 1, "One is here.\n\nThree is here."),
        (
            "- One is here.\n- Two is here.\n- Three is here.\n",
            1,
            "- One is here.\n- Three is here.\n",
        ),
        ("1. One is here.\n2. Two is here. And more.", 1, "1. One is here.\n2. And more."),
        ("> One is here.\n\nTwo is here.", 0, "\nTwo is here."),
        ("# One is here #\n\nTwo is here.", 0, "\nTwo is here."),
        ("| a | b |\n|---|---|\n| c | 1 |\n| d | 2 |\n", 1, "| a | b |\n|---|---|\n| d | 2 |\n"),
    ],
)
def test_no_hole_stays(text: str, removed: int, left: str) -> None:
    assert RepairedText.of(Passage.of(text), {removed: Replacement("")}).text == left


@pytest.mark.parametrize(
    ("answer", "words", "named"),
    [
        ("It opened in 1932. [1]", "It opened in 1932.", ("a",)),
        (">>> It opened in 1932 [2][1]. <<<", "It opened in 1932.", ("b", "a")),
        ("It opened\n in 1932. [1, 2]", "It opened in 1932.", ("a", "b")),
        ("It has [3] lamps.", "It has [3] lamps.", ()),
        ("REMOVE", "", ()),
        ("remove.", "", ()),
        ("**REMOVE** [1]", "", ()),
        ("Remove the old lamp.", "Remove the old lamp.", ()),
    ],
)
def test_answers_are_read(answer: str, words: str, named: tuple[str, ...]) -> None:
    assert parse_replacement(answer, DOCUMENTS) == Replacement(words, named)


@pytest.mark.parametrize("answer", ["", " \n", ">>> <<<", "[1]"])
def test_an_answer_without_words_is_none(answer: str) -> None:
    assert parse_replacement(answer, DOCUMENTS) is None


@given(st.lists(st.sampled_from(["It is.", " [1]", "[2]", " [9]", "[x](u)", " [1](u)", "\n"])))
def test_marks_are_taken_out_and_nothing_else(parts: list[str]) -> None:
    written = parse_citations("".join(parts), 2)

    expected = "".join(part for part in parts if part not in {" [1]", "[2]"})
    # What stands before a link's bracket may be one of its own.
    if "".join(parts).find("[1](") < 0 and "".join(parts).find("[2](") < 0:
        assert written.text == expected
    assert all(0 <= at <= len(written.text) for at, _ in written.marks)
    assert {number for _, number in written.marks} <= {1, 2}
