from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from resay import MissingDependencyError
from resay.adapters import Threshold
from resay_lab.calibration import Figure, Outcome, measure_figures

SOME = [
    Outcome(0.2, (0.1, 0.3), False, (False, False)),
    Outcome(0.6, (0.9, 0.3), True, (True, False)),
    Outcome(0.4, (0.8, None), True, (True, True)),
    Outcome(0.55, (), False),
]

items = st.lists(
    st.tuples(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.booleans()), min_size=2, max_size=40
)


def test_rates_are_those_of_the_decision():
    found = measure_figures(SOME, Threshold(), bootstrap=0, seed=0)
    assert found.passage_fpr == Figure(0.5)
    assert found.passage_recall == Figure(1.0)
    # Of the two correct ones with labels: 0 of 2, and 0 of 1 in the hallucinated one.
    assert found.sentence_fpr.value == 0.0
    assert found.sentence_recall.value == pytest.approx((1 + 1 / 2) / 2)


@given(items)
def test_areas_are_those_of_scikit_learn(pairs):
    wrong = [label for _, label in pairs]
    outcomes = [Outcome(score, (), label) for score, label in pairs]
    found = measure_figures(outcomes, Threshold(), bootstrap=0, seed=0)
    if len(set(wrong)) < 2:
        assert found.passage_roc_auc == Figure(None)
        return
    scores = [score for score, _ in pairs]
    assert found.passage_roc_auc.value == pytest.approx(roc_auc_score(wrong, scores))
    assert found.passage_average_precision.value == pytest.approx(
        average_precision_score(wrong, scores)
    )


def test_intervals_draw_whole_responses():
    """Ten copies of a sentence in one response tell no more than one."""
    one = [Outcome(0.5, (0.9 if i % 3 else 0.1,), None, (False,)) for i in range(30)]
    ten = [Outcome(0.5, o.sentences * 10, None, o.wrong * 10) for o in one]
    a, b = (measure_figures(o, Threshold(), bootstrap=500, seed=1) for o in (one, ten))
    assert a.sentence_fpr == b.sentence_fpr
    assert a.sentence_fpr.low < 0.6 < 0.7 < a.sentence_fpr.high


def test_an_interval_covers_the_rate_in_about_95_of_100():
    rng = np.random.default_rng(4)
    covered = 0
    for i in range(200):
        outcomes = [Outcome(float(x), (), False) for x in rng.random(80)]
        found = measure_figures(outcomes, Threshold(passage=0.7), bootstrap=200, seed=i)
        covered += found.passage_fpr.low <= 0.3 <= found.passage_fpr.high
    assert 0.88 <= covered / 200 <= 0.99


def test_the_same_seed_draws_the_same():
    a, b, c = (measure_figures(SOME, Threshold(), bootstrap=50, seed=s) for s in (1, 1, 2))
    assert a == b
    assert a.passage_roc_auc != c.passage_roc_auc or a.passage_fpr != c.passage_fpr


def test_without_numpy_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(MissingDependencyError, match=r"resay\[calibrate\]"):
        measure_figures(SOME, Threshold(), bootstrap=1, seed=0)
