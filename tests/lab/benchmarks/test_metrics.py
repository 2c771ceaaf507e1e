from __future__ import annotations

import sys
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

from resay import MissingDependencyError
from resay_lab.benchmarks import metrics

DETECTION = [metrics.auc_pr, metrics.average_precision, metrics.roc_auc]
DECISION = [metrics.precision, metrics.recall, metrics.f1]
CORRELATION = [metrics.pearson, metrics.spearman]


@pytest.mark.parametrize("figure", DETECTION)
def test_a_perfect_order_is_100(figure):
    assert figure([False, True, True], [0.1, 0.2, 0.9]) == pytest.approx(100)


def test_a_score_that_says_nothing_shows_how_the_trapezoid_flatters_ties():
    positive, scores = [True, False, False, False], [0.5] * 4
    assert metrics.average_precision(positive, scores) == pytest.approx(25)
    assert metrics.auc_pr(positive, scores) == pytest.approx((25 + 100) / 2)
    assert metrics.roc_auc(positive, scores) == pytest.approx(50)


def test_figures_computed_by_hand():
    # From the greatest score down: right, wrong, right, wrong.
    positive, scores = [True, False, True, False], [0.9, 0.8, 0.3, 0.1]
    assert metrics.average_precision(positive, scores) == pytest.approx(50 * (1 + 2 / 3))
    # Recall and precision at the points: 0, 1; .5, 1; .5, 1/2; 1, 2/3; 1, 1/2 (adds nothing).
    assert metrics.auc_pr(positive, scores) == pytest.approx(50 + 50 * (1 / 2 + 2 / 3) / 2)
    assert metrics.roc_auc(positive, scores) == pytest.approx(75)


def test_spearman_sees_ranks_and_pearson_the_values():
    scores, truth = [1.0, 2.0, 3.0, 100.0], [0.0, 0.25, 0.5, 1.0]
    assert metrics.spearman(scores, truth) == pytest.approx(100)
    assert metrics.pearson(scores, truth) == pytest.approx(100 * 55.625 / sqrt(7205 * 0.546875))
    assert metrics.spearman([-s for s in scores], truth) == pytest.approx(-100)


@pytest.mark.parametrize("figure", DETECTION)
@pytest.mark.parametrize("positive", [[], [True, True], [False, False]])
def test_without_both_classes_there_is_no_figure(figure, positive):
    assert figure(positive, [0.1 * i for i in range(len(positive))]) is None


@pytest.mark.parametrize("figure", CORRELATION)
@pytest.mark.parametrize(
    ("scores", "truth"), [([], []), ([0.5], [1.0]), ([0.5, 0.5], [0.0, 1.0]), ([0.0, 1.0], [1, 1])]
)
def test_what_does_not_vary_has_no_correlation(figure, scores, truth):
    assert figure(scores, truth) is None


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.25, 0.5, 1.0])), max_size=12))
def test_detection_figures_are_percentages(items):
    positive, scores = [p for p, _ in items], [s for _, s in items]
    for figure in DETECTION:
        value = figure(positive, scores)
        assert (value is None) == (len(set(positive)) < 2)
        assert value is None or 0 <= value <= 100 + 1e-9


def test_what_is_flagged_is_counted():
    positive = [True, True, True, False, False]
    flagged = [True, False, False, True, False]
    assert metrics.precision(positive, flagged) == pytest.approx(50)
    assert metrics.recall(positive, flagged) == pytest.approx(100 / 3)
    assert metrics.f1(positive, flagged) == pytest.approx(40)
    assert metrics.accuracy(positive, flagged) == pytest.approx(40)


@pytest.mark.parametrize("figure", DECISION)
def test_flagging_nothing_finds_nothing(figure):
    assert figure([True, False], [False, False]) == 0
    assert figure([False, False], [True, False]) is None
    assert figure([], []) is None


def test_accuracy_needs_no_positive_items():
    assert metrics.accuracy([False, False], [True, False]) == 50
    assert metrics.accuracy([], []) is None


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=12))
def test_decisions_are_counted_as_scikit_learn_counts_them(items):
    positive, flagged = [p for p, _ in items], [f for _, f in items]
    assert metrics.accuracy(positive, flagged) == pytest.approx(
        100 * accuracy_score(positive, flagged)
    )
    expected = precision_recall_fscore_support(
        positive, flagged, average="binary", zero_division=0
    )[:3]
    for figure, value in zip(DECISION, expected, strict=True):
        found = figure(positive, flagged)
        assert found == (pytest.approx(100 * value) if any(positive) else None)


@pytest.mark.parametrize(
    ("module", "package"), [("sklearn.metrics", "scikit-learn"), ("scipy.stats", "scipy")]
)
def test_what_is_missing_is_named_with_its_extra(monkeypatch, module, package):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=r"resay\[bench\]") as error:
        metrics.require()
    assert error.value.package == package
