from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import ConfigurationError
from resay_lab.benchmarks.ensemble import out_of_fold, random_folds
from resay_lab.calibration.weights import learn


class Remembers:
    """Scores a sentence 1 where it was learned from, and else 0."""

    def __init__(self, passages, wrong):
        self.seen = {
            row[0]: label
            for p, w in zip(passages, wrong, strict=True)
            for row, label in zip(p, w, strict=True)
        }

    def score(self, values):
        return [float(row[0] in self.seen) for row in values]


@given(st.lists(st.integers(0, 3), min_size=2, max_size=12))
def test_no_passage_is_learned_from_and_scored(folds):
    passages = [[[2.0 * i], [2.0 * i + 1]] for i in range(len(folds))]
    wrong = [[True, False]] * len(folds)
    assert out_of_fold(Remembers, passages, wrong, folds) == [[0.0, 0.0]] * len(folds)


def test_each_fold_is_learned_once_from_all_others():
    learned_from = []

    def learner(passages, wrong):
        learned_from.append(([p[0][0] for p in passages], wrong))
        return Remembers(passages, wrong)

    passages, wrong = [[[0.0]], [[1.0]], [[2.0]], [[3.0]]], [[True], [False], [True], [True]]
    out_of_fold(learner, passages, wrong, [0, 1, 0, 2])
    assert learned_from == [
        ([1.0, 3.0], [[False], [True]]),
        ([0.0, 2.0, 3.0], [[True], [True], [True]]),
        ([0.0, 1.0, 2.0], [[True], [False], [True]]),
    ]


def test_the_labels_of_a_passage_do_not_change_its_own_scores():
    passages = [[[i + 0.1 * j] for j in range(3)] for i in range(6)]
    wrong = [[i > 2, True, False] for i in range(6)]
    folds = [0, 1, 2, 0, 1, 2]
    before = out_of_fold(learn, passages, wrong, folds)
    after = out_of_fold(learn, passages, [[False, False, True], *wrong[1:]], folds)
    assert (after[0], after[3]) == (before[0], before[3])
    assert after[1] != before[1]


@given(st.integers(1, 60), st.integers(1, 7), st.integers(0, 99))
def test_random_folds_are_even_and_the_same_for_the_same_seed(passages, folds, seed):
    assigned = random_folds(passages, folds, seed)
    assert assigned == random_folds(passages, folds, seed)
    sizes = Counter(assigned)
    assert len(assigned) == passages
    assert set(sizes) == set(range(min(folds, passages)))
    assert max(sizes.values()) - min(sizes.values()) <= 1


def test_another_seed_is_another_assignment():
    assert len({tuple(random_folds(30, 5, seed)) for seed in range(20)}) == 20


def test_random_folds_are_the_same_on_every_machine():
    assert random_folds(10, 3, 0) == [0, 1, 0, 0, 2, 2, 2, 1, 1, 0]


def test_a_fold_without_others_cannot_be_learned():
    with pytest.raises(ConfigurationError, match="no sentence to learn from"):
        out_of_fold(learn, [[[1.0]]], [[True]], [0])
