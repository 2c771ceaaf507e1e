from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.scorers.common.named_scores import parse_named_scores
from resay.scorers.common.numbered_lines import parse_numbered
from resay.scorers.common.yes_no import parse_yes_no


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Yes", True),
        ("yes.", True),
        ("**Yes**, it is.", True),
        ("Answer: No", False),
        ("\n\nNo", False),
        ("Answer is: `no`", False),
        ('"No."', False),
        ("Final answer: yes", True),
        ("> Yes", True),
        ("YES, because no other way", True),
        ("Not sure", None),
        ("Nothing contradicts it, so yes", None),
        ("Yesterday", None),
        ("November", None),
        ("N/A", None),
        ("yes/no", None),
        ("I think the answer is yes", None),
        ("The sentence is supported. Yes", None),
        ("", None),
        ("   ", None),
        ("42", None),
        ("否", False),
        ("是的，支持", True),
        ("不是。", False),
        ("Oui.", True),
        ("Ja, das stimmt.", True),
        ("Nein", False),
        ("Sí, lo apoya", True),
        ("Si lo miramos bien", None),
        ("はい", True),
        ("いいえ、違います", False),
        ("아니요", False),
        ("Да.", True),
        ("Нет, не так", False),
        ("نعم", True),
        ("हाँ", True),
        ("नहीं", False),
        ("ไม่ใช่", False),
        ("ne", False),
        ("Ne quittez pas", None),
        ("Non", False),
        ("Non factual", None),
        ("Non-factual", None),
        ("The answer is no.", False),
        ("Verdict: **Yes**", True),
        ("I'm sorry, I can't help with that.", None),
        ("No-one can say", None),
    ],
)
def test_only_the_first_word_counts(text: str, answer: bool | None) -> None:
    assert parse_yes_no(text) is answer


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    assert parse_yes_no(text) in (True, False, None)
    assert len(parse_numbered(text, 3, parse_yes_no)) == 3


@pytest.mark.parametrize(
    "text",
    [
        "1: Yes\n2: No\n3: Yes",
        "1. yes\n2. **No**\n3. Yes",
        "- Sentence 1: Yes\n- Sentence 2: no, it differs\n- Sentence 3: Yes",
        "Here is what I found:\n\n1) Yes\n2) No\n3) Yes\n\nI hope this helps!",
        '{"1": "yes", "2": "no", "3": "Yes"}',
        '```json\n{"1": "Yes", "2": "No", "3": "Yes"}\n```',
        "3: Yes\n1: Yes\n2: No",
        "1 Yes\n2 No\n3 Yes",
    ],
)
def test_numbered_answers_are_read_in_many_forms(text: str) -> None:
    assert parse_numbered(text, 3, parse_yes_no) == [True, False, True]


def test_missing_and_contradictory_answers_are_undetermined() -> None:
    assert parse_numbered("1: Yes\n7: No", 2, parse_yes_no) == [True, None]
    assert parse_numbered("1: Yes\n1: No\n2: maybe", 2, parse_yes_no) == [None, None]
    assert parse_numbered("I cannot judge that.", 2, parse_yes_no) == [None, None]
    assert parse_numbered("2 of the 3 fail\n1: Yes\n2: No", 2, parse_yes_no) == [True, False]
    assert parse_numbered("[1, 2]", 2, parse_yes_no) == [None, None]


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_a_well_formed_answer_is_read_exactly(answers: list[bool]) -> None:
    words = ["Yes" if a else "No" for a in answers]
    lines = "\n".join(f"{i}: {word}" for i, word in enumerate(words, 1))
    assert parse_numbered(lines, len(answers), parse_yes_no) == answers
    as_json = json.dumps({str(i): word for i, word in enumerate(words, 1)})
    assert parse_numbered(as_json, len(answers), parse_yes_no) == answers


@pytest.mark.parametrize(
    "text",
    [
        "[Tom] 50\n[Amy] 100",
        "[Amy] 100\n[Tom] 50",
        "Tom: 50\nAmy: 100",
        "tom 50, AMY 100",
        "Tom: 50 Amy: 100",
        "[Tom] 50 [Amy] 100",
        "1. **Tom**: 50\n2. **Amy**: 100",
        "- **[Tom]** 50/100\n- **[Amy]** 100/100",
        "[Tom] **50**\n[Amy] `100`",
        "Tom - 50 points\nAmy – 100 pts.",
        "[Tom] (50)\n[Amy] [100]",
        "[Tom] 50 out of 100\n[Amy] 100 of 100",
        "[Tom] 50%\n[Amy] 100 %",
        "[Tom]\n50\n[Amy]\n100",
        "| Student | Points |\n|---|---|\n| Tom | 50 |\n| Amy | 100 |",
        "Here are the scores:\n\n[Tom] 50 because the year differs\n[Amy] 100 (the same)\n\nBye!",
        "[Tom] 50\n[Amy] 100\n[Tom] 50",
        "[Tom] 50\n[Zed] 7\n[Amy] 100",
        '{"Tom": 50, "Amy": 100}',
        '```json\n{"[Tom]": "50/100", "Amy": 100.0}\n```',
    ],
)
def test_named_scores_are_read_in_many_forms(text: str) -> None:
    assert parse_named_scores(text, ["Tom", "Amy"]) == [50.0, 100.0]


@pytest.mark.parametrize(
    ("said", "score"),
    [
        ("0", 0.0),
        ("87.5", 87.5),
        ("87,5", 87.5),
        ("101", None),
        ("1,000", None),
        ("-5", None),
        ("- 5", 5.0),
        ("7/10", None),
        ("5 out of 5", None),
        ("50-60", None),
        ("fifty", None),
        ("50 people came, so 0", None),
        ("2 lanes: 100", None),
        ("In 1932 it opened", None),
        ("50\n[Tom] 60", None),
        ("50\n[Tom] 7/10", None),
        ("", None),
    ],
)
def test_a_score_that_is_none_is_left_out(said: str, score: float | None) -> None:
    assert parse_named_scores(f"[Tom] {said}\n[Amy] 3", ["Tom", "Amy"]) == [score, 3.0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I'm sorry, but I cannot grade these answers.",
        "Tomas: 50",
        "Atom 50",
        '{"Tom": true}',
        '{"Tom": null}',
        '{"Tom": NaN}',
        '{"Tom": [50]}',
        '{"Tom": "about 50"}',
        '{"Tom": 1' + "0" * 400 + "}",
        '[{"name": "Tom"}]',
        "Tom " + "9" * 5000,
        "Tom 5/" + "9" * 5000,
    ],
)
def test_answers_without_a_score_are_left_out(text: str) -> None:
    assert parse_named_scores(text, ["Tom"]) == [None]


@given(st.text())
def test_any_text_can_be_read_for_scores(text: str) -> None:
    for answer in (text, f"[Tom] {text}"):
        (score,) = parse_named_scores(answer, ["Tom"])
        assert score is None or 0 <= score <= 100


@given(st.lists(st.integers(0, 100), min_size=1, max_size=5))
def test_well_formed_scores_are_read_exactly(points: list[int]) -> None:
    names = ["Tom", "Amy", "Leo", "Ava", "Ben"][: len(points)]
    given_points = dict(zip(names, points, strict=True))
    lines = "\n".join(f"[{name}] {score}" for name, score in given_points.items())
    assert parse_named_scores(lines, names) == points
    assert parse_named_scores(json.dumps(given_points), names) == points


def test_numbers_no_list_can_have_are_passed_over() -> None:
    digits = "1" * 5000
    assert parse_numbered(f"{digits}: Yes\n1: No", 1, parse_yes_no) == [False]
    assert parse_numbered(json.dumps({digits: "Yes", "1": "No"}), 1, parse_yes_no) == [False]
