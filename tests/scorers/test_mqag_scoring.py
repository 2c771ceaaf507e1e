"""The equations that make scores of answers."""

from __future__ import annotations

from functools import partial
from math import inf, nextafter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.scorers.mqag import ChosenOption, Scoring, ScoringRule

units = st.floats(0, 1)
answers = st.builds(ChosenOption, st.integers(0, 3), units)
rules = st.builds(
    ScoringRule,
    st.sampled_from(["counting", "bayes", "bayes_alpha"]),
    st.floats(nextafter(0.5, inf), 0.99),
    st.floats(nextafter(0.5, inf), 0.99),
    units,
)


@given(rules, answers, st.lists(answers, max_size=50))
def test_a_score_is_a_probability(
    rule: ScoringRule, own: ChosenOption, others: list[ChosenOption]
) -> None:
    assert 0.0 <= rule.score(own, others) <= 1.0


@given(rules, answers, st.lists(answers, max_size=20), units)
def test_whoever_answers_otherwise_raises_the_score(
    rule: ScoringRule, own: ChosenOption, others: list[ChosenOption], answerability: float
) -> None:
    before = rule.score(own, others)
    against = ChosenOption(own.choice + 1, answerability)
    after = rule.score(own, [*others, against])
    # With nothing counted before, one answer counts for all of `counting`.
    assert after >= before - 1e-12
    assert rule.score(own, [*others, ChosenOption(own.choice, answerability)]) <= before + 1e-12


@given(st.lists(answers, max_size=8), answers, st.floats(0.51, 0.9), st.floats(0.51, 0.9))
def test_bayes_is_what_the_equations_say(
    others: list[ChosenOption], own: ChosenOption, beta1: float, beta2: float
) -> None:
    same = [a.answerability for a in others if a.choice == own.choice]
    another = [a.answerability for a in others if a.choice != own.choice]
    counted: dict[Scoring, tuple[float, float]] = {
        "bayes_alpha": (sum(same), sum(another)),
        "bayes": (sum(a >= 0.3 for a in same), sum(a >= 0.3 for a in another)),
    }
    for scoring, (m, n) in counted.items():
        # Equations 16 to 18, before they are simplified.
        false = (1 - beta1) ** m * beta1**n
        true = beta2**m * (1 - beta2) ** n
        rule = ScoringRule(scoring, beta1, beta2, 0.3)
        assert rule.score(own, others) == pytest.approx(false / (false + true), rel=1e-9)


@pytest.mark.parametrize("scoring", ["bayes", "bayes_alpha"])
def test_any_number_of_samples_can_be_counted(scoring: Scoring) -> None:
    rule = ScoringRule(scoring)
    own = ChosenOption(0, 1.0)
    assert rule.score(own, [ChosenOption(1, 1.0)] * 100_000) == 1.0
    assert rule.score(own, [own] * 100_000) == 0.0
    assert rule.score(own, [own, ChosenOption(1, 1.0)] * 50_000) == pytest.approx(0.5)


def test_unanswerable_questions_count_little() -> None:
    own, against, vague = ChosenOption(0, 0.9), ChosenOption(1, 0.9), ChosenOption(1, 0.1)
    rigid: tuple[Scoring, ...] = ("counting", "bayes")
    for scoring in rigid:
        rule = partial(ScoringRule(scoring).score, own)
        assert rule([own, vague]) == rule([own]) < rule([own, against])
        assert rule([vague]) == 0.5
        assert not ScoringRule(scoring).asks(vague)
    soft = partial(ScoringRule("bayes_alpha").score, own)
    assert soft([own]) < soft([own, vague]) < soft([own, against])
    assert ScoringRule("bayes_alpha").asks(vague)


def test_a_question_counts_from_the_limit_on() -> None:
    rule, at, under = ScoringRule("counting"), ChosenOption(0, 0.5), ChosenOption(0, 0.49)
    assert (rule.asks(at), rule.asks(under)) == (True, False)
    assert ScoringRule("bayes_alpha").asks(under)
    against = ChosenOption(1, 0.5)
    assert rule.score(at, [at, at, against, under]) == pytest.approx(1 / 3)
