from __future__ import annotations

import random
from math import exp

import pytest

from resay import ConfigurationError
from resay.scorers.common.nearest_first import Estimate
from research.estimate import fit_estimate


def simulate(estimate, sentences=1500, samples=15, seed=3):
    rng = random.Random(seed)
    overlaps, answers = [], []
    for _ in range(sentences):
        overlap = [min(max(rng.gauss(rng.random(), 0.2), 0), 1) for _ in range(samples)]
        shift = estimate.spread * rng.gauss(0, 1)
        odds = [o + shift for o in estimate.log_odds(overlap)]
        overlaps.append(overlap)
        answers.append([float(rng.random() < 1 / (1 + exp(-o))) for o in odds])
    return overlaps, answers


def test_coefficients_of_simulated_answers_are_recovered():
    truth = Estimate(intercept=3, overlap=-4, mean_overlap=-1.5, spread=1)
    fitted = fit_estimate(*simulate(truth), spread=1)
    assert fitted.spread == 1
    assert fitted.intercept == pytest.approx(3, abs=0.3)
    assert fitted.overlap == pytest.approx(-4, abs=0.4)
    assert fitted.mean_overlap == pytest.approx(-1.5, abs=0.6)


def test_failed_calls_and_shorter_rows_are_left_out():
    overlaps, answers = simulate(Estimate(), sentences=200)
    complete = fit_estimate(overlaps, answers)
    # One more sample, whose call failed, moves only the mean overlap of its sentence.
    overlaps[0].append(0.5)
    answers[0].append(None)
    assert fit_estimate(overlaps, answers).overlap == pytest.approx(complete.overlap, abs=0.1)


@pytest.mark.parametrize(
    ("overlaps", "answers", "message"),
    [
        ([[0.5]], [[1.0]], "all alike"),
        ([[0.5, 0.1]], [[None, None]], "all alike"),
        ([], [], "all alike"),
        ([[0.5]], [[1.0, 0.0]], "not one answer for each overlap"),
    ],
)
def test_an_estimate_needs_answers_of_both_kinds(overlaps, answers, message):
    with pytest.raises(ConfigurationError, match=message):
        fit_estimate(overlaps, answers)
