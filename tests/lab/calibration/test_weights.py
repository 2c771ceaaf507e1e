from __future__ import annotations

import random
import sys
from math import exp, log

import anyio
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from resay import ConfigurationError, MissingDependencyError, Passage, Policy
from resay.adapters.methods import log_odds
from resay.plugins import Evidence, Samples, Step
from resay_lab.calibration.weights import (
    Learned,
    LearnedPart,
    LearnedSum,
    learn,
    learn_sum,
    learn_unweighted,
)


def made_up(passages, weights, *, context=0.0, seed=0):
    """Passages of random values, wrong with a probability by the weights of values and context."""
    rng = random.Random(seed)
    values, wrong = [], []
    for _ in range(passages):
        rows = [[rng.gauss(0, 1) for _ in weights] for _ in range(rng.randint(3, 10))]
        own = [sum(w * x for w, x in zip(weights, row, strict=True)) for row in rows]
        mean = sum(own) / len(own)
        odds = [(1 - context) * z + context * mean for z in own]
        values.append(rows)
        wrong.append([rng.random() < 1 / (1 + exp(-z)) for z in odds])
    return values, wrong


def flat(passages):
    return [row for rows in passages for row in rows]


def standardised(values, learned):
    return [
        [(x - p.mean) / p.deviation for x, p in zip(row, learned.parts, strict=True)]
        for row in flat(values)
    ]


def weights_of(learned):
    return [part.weight for part in learned.parts]


def test_without_lean_it_is_a_logistic_regression():
    values, wrong = made_up(80, (2.0, 0.7))
    learned = learn(values, wrong, leans=[0.0])
    theirs = LogisticRegression(C=1.0, tol=1e-10).fit(standardised(values, learned), flat(wrong))
    assert weights_of(learned) == pytest.approx(list(theirs.coef_[0]), abs=1e-4)
    assert learned.intercept == pytest.approx(theirs.intercept_[0], abs=1e-4)
    assert learned.lean == 0
    probabilities = theirs.predict_proba(standardised(values, learned))[:, 1]
    assert flat(map(learned.score, values)) == pytest.approx(list(probabilities), abs=1e-4)


def test_a_greater_ridge_makes_weights_smaller():
    values, wrong = made_up(40, (2.0, 0.7))
    loose, tight = (weights_of(learn(values, wrong, ridge=ridge)) for ridge in (1.0, 50.0))
    assert all(0 < b < a for a, b in zip(loose, tight, strict=True))


def test_weights_stay_finite_where_one_value_settles_everything():
    learned = learn([[[0.0], [1.0]]] * 3, [[False, True]] * 3)
    assert 0 < learned.parts[0].weight < 10


def test_what_points_the_wrong_way_counts_for_nothing():
    values, wrong = made_up(80, (2.0, -1.0))
    learned = learn(values, wrong)
    assert learned.parts[1].weight == 0
    alone = learn([[row[:1] for row in rows] for rows in values], wrong)
    assert learned.parts[0].weight == pytest.approx(alone.parts[0].weight, abs=1e-5)
    assert learned.intercept == pytest.approx(alone.intercept, abs=1e-5)


@pytest.mark.parametrize("context", [0.0, 0.5, 0.8])
def test_it_finds_how_far_sentences_lean_on_their_passage(context):
    values, wrong = made_up(600, (6.0,), context=context)
    assert learn(values, wrong).lean == pytest.approx(context, abs=0.1)


def test_the_lean_is_the_one_with_the_least_loss():
    values, wrong = made_up(60, (4.0,), context=0.5)
    best = learn(values, wrong)

    def loss(learned):
        pairs = zip(flat(map(learned.score, values)), flat(wrong), strict=True)
        likely = [score if label else 1 - score for score, label in pairs]
        return -sum(map(log, likely)) + sum(w * w for w in weights_of(learned)) / 2

    others = [learn(values, wrong, leans=[lean]) for lean in (0.0, 0.25, 0.5, 0.75, 0.95)]
    assert all(loss(best) <= loss(other) + 1e-6 for other in others)


def test_means_and_deviations_are_those_of_the_values():
    values = [[[1.0, 5.0], [3.0, None]], [[5.0, 7.0]]]
    first, second = learn(values, [[True, False], [True]]).parts
    assert (first.mean, first.deviation) == (3.0, pytest.approx((8 / 3) ** 0.5))
    assert (second.mean, second.deviation) == (6.0, 1.0)


def test_sentences_without_any_value_are_as_if_they_were_not_there():
    values, wrong = made_up(30, (2.0, 1.0), context=0.4)
    more = [[*rows, [None, None]] for rows in values]
    assert learn(more, [[*labels, True] for labels in wrong]) == learn(values, wrong)
    *_, nothing = learn(values, wrong).score(more[0])
    assert nothing is None


def test_a_value_that_is_missing_counts_as_the_mean():
    values, wrong = made_up(30, (2.0, 1.0))
    learned = learn(values, wrong)
    mean = learned.parts[1].mean
    assert learned.score([[0.3, None], [0.1, 0.2]]) == pytest.approx(
        learned.score([[0.3, mean], [0.1, 0.2]])
    )


@given(
    st.lists(
        st.lists(
            st.tuples(st.floats(-50, 50), st.floats(0, 1), st.booleans()), min_size=1, max_size=6
        ),
        min_size=2,
        max_size=8,
    )
)
def test_scores_lie_in_the_unit_interval_and_keep_the_order_within_a_passage(passages):
    values = [[[x, y] for x, y, _ in rows] for rows in passages]
    wrong = [[label for _, _, label in rows] for rows in passages]
    assume(len(set(flat(wrong))) == 2)
    for column in zip(*flat(values), strict=True):
        assume(max(column) - min(column) > 0.1)
    learned = learn(values, wrong, leans=(0.0, 0.5))
    assert min(weights_of(learned)) >= 0
    assert learned.lean in (0.0, 0.5)
    plain = Learned(learned.parts, learned.intercept)
    for rows in values:
        scores, unleaned = learned.score(rows), plain.score(rows)
        assert all(0 <= score <= 1 for score in scores)
        for i in range(len(rows)):
            for j in range(len(rows)):
                assert not (scores[i] > scores[j] + 1e-9 and unleaned[i] < unleaned[j] - 1e-9)


def test_the_same_data_give_the_same_parameters():
    values, wrong = made_up(30, (2.0, 1.0))
    assert learn(values, wrong) == learn(values, wrong)


def test_rounding_keeps_two_digits_and_a_mean_as_exact_as_its_deviation():
    part = LearnedPart(mean=7.5176, deviation=0.81987, weight=0.6112)
    learned = Learned((part, LearnedPart(1234.5, 160.9, 24.02)), 1.2881, 0.6000000000000001)
    assert learned.rounded() == Learned(
        (LearnedPart(7.52, 0.82, 0.61), LearnedPart(1230.0, 160.0, 24.0)), 1.3, 0.6
    )


def test_unweighted_is_the_sum_of_standardised_values():
    learned = learn_unweighted([[[1.0, 10.0]], [[3.0, 30.0]]])
    assert learned == Learned((LearnedPart(2.0, 1.0, 1.0), LearnedPart(20.0, 10.0, 1.0)))
    assert learned.score([[2.0, 20.0], [3.0, 30.0]]) == [0.5, pytest.approx(1 / (1 + exp(-2)))]


def test_least_squares_weights():
    values = [[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[0.0, 0.0], [None, 1.0]]]
    wrong = [[True, False, True], [False, True]]
    # The last sentence is left out, so the second score only ever comes with an accurate one or
    # beside the first.
    assert learn_sum(values, wrong).weights == pytest.approx((1.0, 0.0))


PASSAGE = Passage.of("Ada was born in London. She wrote a long program. She sang in Oslo.")
EVIDENCE = Evidence(
    Samples(["Ada was born in London in 1815. She sang.", "She wrote a program in London."])
)
SCORERS = ({"method": "ngram"}, {"method": "ngram", "pool": "average", "n": 2})


def scores_of(step):
    (config,) = Policy.of({"chain": [step]}).chain
    return anyio.run(Step.of(config).scorer.score, PASSAGE, EVIDENCE)


def columns(of):
    return [list(row) for row in zip(*(of(scores_of(scorer)) for scorer in SCORERS), strict=True)]


def test_scores_are_those_of_the_policys_combination():
    learned = Learned((LearnedPart(2.1, 0.7, 1.4), LearnedPart(0.3, 1.9, 0.5)), -0.4, 0.35)
    step = learned.step(SCORERS, ["raw", "log_odds"])
    values = [
        [x, log_odds(y)]
        for x, y in zip(scores_of(SCORERS[0]).raw, scores_of(SCORERS[1]).sentences, strict=True)
    ]
    assert learned.score(values) == list(scores_of(step).sentences)


@pytest.mark.parametrize("weights", [(0.5, 0.3), (1.0, 0.9)])
def test_sums_are_those_of_the_policys_ensemble(weights):
    pairs = zip(SCORERS, weights, strict=True)
    step = {"method": "ensemble", "parts": [{"scorer": s, "weight": w} for s, w in pairs]}
    expected = list(scores_of(step).sentences)
    assert LearnedSum(weights).score(columns(lambda scores: scores.sentences)) == expected


def test_a_sum_goes_by_what_is_there():
    scores = LearnedSum((0.5, 0.3)).score([[0.5, None], [None, None]])
    assert scores == [pytest.approx(0.4), None]
    assert LearnedSum((0.5, 0.0)).score([[None, 1.0]]) == [None]


@pytest.mark.parametrize(
    ("values", "wrong", "message"),
    [
        ([[[1.0], [2.0]]], [[True, True]], "of 2 labelled sentences 2 are wrong"),
        ([[[1.0], [2.0]]], [[False, False]], "of 2 labelled sentences 0 are wrong"),
        ([[[1.0, 0.1], [2.0, 0.1]]], [[True, False]], "every sentence the same score"),
        (
            [[[1.0, None], [2.0, None]]],
            [[True, False]],
            "every sentence the same score",
        ),
        ([[[None]]], [[True]], "no sentence to learn from"),
        ([], [], "no sentence to learn from"),
    ],
)
def test_what_nothing_can_be_learned_from(values, wrong, message):
    with pytest.raises(ConfigurationError, match=message):
        learn(values, wrong)


def test_a_sum_needs_a_sentence_with_all_scores():
    with pytest.raises(ConfigurationError, match="no sentence has a score of every part"):
        learn_sum([[[1.0, None], [None, 1.0]]], [[True, False]])


def test_without_scipy_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    values, wrong = made_up(10, (2.0,))
    with pytest.raises(MissingDependencyError, match=r"resay\[calibrate\]"):
        learn(values, wrong)
