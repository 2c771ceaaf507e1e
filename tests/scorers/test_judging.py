from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Query, ScorerError
from resay.evidence import Evidence
from resay.providers import ReplayProvider
from resay.scorers.judging import JudgeConfig, judge_for, read_numbered_answers, read_yes_no


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
        ("否", None),
    ],
)
def test_only_the_first_word_counts(text: str, answer: bool | None) -> None:
    assert read_yes_no(text) is answer


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    assert read_yes_no(text) in (True, False, None)
    assert len(read_numbered_answers(text, 3)) == 3


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
    assert read_numbered_answers(text, 3) == [True, False, True]


def test_what_is_missing_or_contradictory_is_undetermined() -> None:
    assert read_numbered_answers("1: Yes\n7: No", 2) == [True, None]
    assert read_numbered_answers("1: Yes\n1: No\n2: maybe", 2) == [None, None]
    assert read_numbered_answers("I cannot judge that.", 2) == [None, None]
    assert read_numbered_answers("2 of the 3 fail\n1: Yes\n2: No", 2) == [True, False]
    assert read_numbered_answers("[1, 2]", 2) == [None, None]


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_a_well_formed_answer_is_read_exactly(answers: list[bool]) -> None:
    words = ["Yes" if a else "No" for a in answers]
    lines = "\n".join(f"{i}: {word}" for i, word in enumerate(words, 1))
    assert read_numbered_answers(lines, len(answers)) == answers
    as_json = json.dumps({str(i): word for i, word in enumerate(words, 1)})
    assert read_numbered_answers(as_json, len(answers)) == answers


def test_the_own_model_is_asked_with_its_connection_and_nothing_else() -> None:
    query = Query.of("Who?", model="a/x", api_key="k", temperature=0.3, tools=[])
    judge = judge_for(None, Evidence(query=query, judge_provider=ReplayProvider({})))
    assert (judge.query.model, dict(judge.query.params)) == ("a/x", {"api_key": "k"})


def test_another_judge_never_gets_the_key() -> None:
    query = Query.of("Who?", model="a/x", api_key="k")
    evidence = Evidence(query=query, judge_provider=ReplayProvider({}))
    assert judge_for("b/y", evidence).query == Query((), "b/y", {})
    own = JudgeConfig(model="b/y", params={"api_key": "other"})
    assert dict(judge_for(own, evidence).query.params) == {"api_key": "other"}


def test_parameters_alone_keep_the_own_model() -> None:
    query = Query.of("Who?", model="a/x", api_key="k")
    evidence = Evidence(query=query, judge_provider=ReplayProvider({}))
    judge = judge_for(JudgeConfig(params={"temperature": 0}), evidence)
    assert (judge.query.model, dict(judge.query.params)) == (
        "a/x",
        {"api_key": "k", "temperature": 0},
    )


def test_with_nobody_to_ask_it_says_so() -> None:
    with pytest.raises(ScorerError, match="no judge"):
        judge_for("b/y", Evidence())
